"""The files that Docker and git take from a checkout, and the settings that compose hands to each container."""

import re

import pytest
import yaml

from tests.conftest import ROOT

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = ("web", "worker", "connections", "migrate")
# What only a service with servers of its own reads, and what is decided when the image is made.
NOT_IN_CONTAINERS = {"EMBEDDED", "EMBEDDED_DURABLE", "WATCHWORD_HOME", "STATIC_ROOT", "DEBUG"}


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
    assert set(COMPOSE["services"][service]["environment"]) == settings_that_are_told() - NOT_IN_CONTAINERS


def test_compose_lets_nobody_go_around_the_proxy():
    ports = {name: each.get("ports", []) for name, each in COMPOSE["services"].items() if name != "proxy"}
    assert ports.pop("web") == ["127.0.0.1:8000:8000"]
    assert not any(ports.values())


def test_each_container_that_serves_is_probed():
    services = COMPOSE["services"]
    assert {name for name, each in services.items() if "healthcheck" not in each} == {"web", "proxy"}
    assert "/readyz" in (ROOT / "Dockerfile").read_text()
    assert services["worker"]["healthcheck"]["test"][1:] == ["python", "manage.py", "health", "--worker"]


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
