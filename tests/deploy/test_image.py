"""The image and compose.yaml: the files that go into it and into git, and what each container is handed."""

import re
import subprocess

import pytest
import yaml

from tests.conftest import ROOT
from tests.servers.postgres import PostgresServer

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = ("web", "worker", "connections", "migrate")
# What only a service with servers of its own reads, and what is decided when the image is made.
NOT_IN_CONTAINERS = {"EMBEDDED", "EMBEDDED_DURABLE", "WATCHWORD_HOME", "STATIC_ROOT", "DEBUG", "PUBLIC_DEMO"}


def settings_that_are_read():
    texts = [path.read_text() for path in (ROOT / "config").glob("*.py")]
    return {name for text in texts for name in re.findall(r'\benv\.\w+\(\s*"([A-Z_]+)"', text)}


def settings_that_are_told():
    names = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE)
    assert len(names) == len(set(names))
    return set(names)


def test_the_page_of_settings_has_all_that_are_read_and_no_others():
    assert settings_that_are_told() == settings_that_are_read()


@pytest.mark.parametrize("service", OURS)
def test_compose_passes_every_setting_on(service):
    given = {name.removesuffix("_FILE") for name in COMPOSE["services"][service]["environment"]}
    assert given == settings_that_are_told() - NOT_IN_CONTAINERS


def test_compose_has_no_password_of_its_own_and_takes_every_needed_secret_as_a_file_too():
    text = (ROOT / "compose.yaml").read_text()
    assert text.count("_PASSWORD:?") == text.count("${DATABASE_PASSWORD") + text.count("${VALKEY_PASSWORD") > 0
    for name in ("SECRET_KEY", "ENCRYPTION_KEYS"):
        assert COMPOSE["services"]["web"]["environment"][name].startswith(f"${{{name}:-${{{name}_FILE:?")


def test_compose_lets_nobody_go_around_the_proxy():
    ports = {name: each.get("ports", []) for name, each in COMPOSE["services"].items() if name != "proxy"}
    assert ports.pop("web") == ["127.0.0.1:8000:8000"]
    assert not any(ports.values())


def test_compose_serves_no_caller_whose_address_docker_hides():
    """A network without IPv6 is reached over IPv6 from Docker's own private address, which no limit counts."""
    assert not COMPOSE.get("networks")
    assert COMPOSE["services"]["proxy"]["ports"] == ["0.0.0.0:80:80", "0.0.0.0:443:443"]


def test_no_container_fills_the_disk_with_its_log_or_takes_the_database_s_memory():
    services = COMPOSE["services"]
    assert all(each["logging"]["options"] == {"max-size": "10m", "max-file": "5"} for each in services.values())
    assert [name for name, each in services.items() if "mem_limit" not in each] == ["postgres"]


def test_each_container_that_serves_is_probed():
    services = COMPOSE["services"]
    assert {name for name, each in services.items() if "healthcheck" not in each} == {"web", "proxy"}
    assert "/readyz" in (ROOT / "Dockerfile").read_text()
    for name in ("worker", "connections"):
        [file] = re.findall(r"find (\S+) -mmin -1", services[name]["healthcheck"]["test"][1])
        assert services[name]["command"][-2:] == ["--alive-file", file]


def test_the_database_is_ready_once_it_answers_where_the_migrations_ask():
    """While it is set up it answers over its socket alone, and stops once more: a migration that starts then fails."""
    probe = COMPOSE["services"]["postgres"]["healthcheck"]["test"]
    assert probe[:4] == ["CMD", "pg_isready", "-h", "127.0.0.1"]


@pytest.mark.parametrize("service", OURS)
def test_a_container_that_stops_has_the_time_that_a_unit_has(service):
    unit = (ROOT / "deploy" / "systemd" / "watchword-worker.service").read_text()
    (seconds,) = re.findall(r"(?m)^TimeoutStopSec=(\d+)$", unit)
    assert COMPOSE["services"][service]["stop_grace_period"] == f"{seconds}s"


def test_the_service_s_role_owns_its_database_and_the_superuser_has_no_password():
    database = COMPOSE["services"]["postgres"]
    assert database["configs"] == [{"source": "role", "target": "/docker-entrypoint-initdb.d/role.sql"}]
    script = COMPOSE["configs"]["role"]["content"]
    with PostgresServer() as server:
        server.execute("DROP DATABASE watchword", "DROP ROLE watchword", "CREATE DATABASE watchword")
        server.execute("ALTER ROLE postgres PASSWORD 'of both'")  # as the image's entry point does
        done = subprocess.run(
            [server.binaries() / "psql", "-X", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(server.port)],
            env={"PGUSER": "postgres", "PGDATABASE": "watchword", "POSTGRES_PASSWORD": "of both"},
            input=script,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        roles = "SELECT rolname, rolsuper, rolpassword IS NOT NULL FROM pg_authid WHERE rolcanlogin ORDER BY 1"
        assert server.execute(roles) == [("postgres", True, False), ("watchword", False, True)]
        owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"
        assert server.execute(owner, database="watchword") == [("watchword",)]


def test_files_that_a_strict_umask_hides_are_read_in_the_image(tmp_path):
    (command,) = re.findall(r"(?m)^    && (find \. .*) \\$", (ROOT / "Dockerfile").read_text())
    folder, seen = tmp_path / "providers", tmp_path / "manage.py"
    folder.mkdir(mode=0o750)
    (folder / "base.py").touch(mode=0o640)
    seen.touch(mode=0o755)
    tmp_path.chmod(0o700)
    before = seen.stat().st_ctime_ns
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path, folder, folder / "base.py")]
    assert modes == [0o755, 0o755, 0o644]
    assert seen.stat().st_ctime_ns == before  # the image holds no second copy of what was readable


@pytest.mark.requirement(109)
@pytest.mark.parametrize(
    ("file", "names"),
    [
        (".dockerignore", {"**/.env", "**/.env.*", "**/*.env", ".git", "var"}),
        (".gitignore", {".env", ".env.*", "*.env", "var/"}),
    ],
)
def test_secrets_in_a_checkout_go_neither_into_the_image_nor_into_git(file, names):
    lines = (ROOT / file).read_text().splitlines()
    assert names <= set(lines)
    assert [line for line in lines if line.startswith("!")] == []  # nothing is let back in
