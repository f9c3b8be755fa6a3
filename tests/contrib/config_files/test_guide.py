"""The page about the file: its example is applied, and what it says of commands is so."""

import re
from pathlib import Path

import pytest

from tests.commands.running import run
from tests.contrib.config_files.files import document, needs_connections, needs_hosted_page
from tests.snippets import block, commands
from verification.contrib.config_files import plan
from verification.contrib.config_files.schema import schema
from verification.models import Project, Provider
from verification.services.providers.accounts import stored_secrets

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "configuration-file.md").read_text()
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


@needs_connections
@needs_hosted_page
@pytest.mark.django_db
def test_the_example_has_every_part_is_applied_and_then_holds():
    secrets = {
        "shop_gateway_password": "hunter2",
        "shop_team_chat": "https://hooks.slack.example/1",
        "shop_okta": "the-secret-of-okta-0",
    }.get
    plan.apply(document(EXAMPLE), find_secret=secrets)
    project = Project.objects.get(name="Shop")
    assert project.countries == ["DE", "AT", "NO"]
    assert [entry.value for entry in project.list_entries.order_by("value")] == ["+1900", "KP", "shop.example"]
    assert plan.plan(document(EXAMPLE), find_secret=secrets).is_empty
    assert set(document(EXAMPLE)["projects"]["Shop"]) == set(schema()["$defs"]["project"]["properties"])


@needs_connections
@needs_hosted_page
@pytest.mark.django_db
def test_a_set_up_is_written_shown_and_brought_back_with_its_secrets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "docs/configuration-file.md"
    (tmp_path / "shop.yaml").write_text(block(page, "yaml"))
    export, *changes = commands(block(page, "sh", "--dry-run"))
    by_variable, by_folder = commands(block(page, "sh", "--secrets"))
    [(name, _)] = re.findall(r"^(WATCHWORD_SECRET_\w+)=(\S+) manage", block(page, "sh", "--secrets"), re.MULTILINE)
    monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("WATCHWORD_SECRET_SHOP_TEAM_CHAT", "https://hooks.slack.example/1")
    monkeypatch.setenv("WATCHWORD_SECRET_SHOP_OKTA", "the-secret-of-okta-0")
    with pytest.raises(SystemExit) as ended:
        run(*changes[0][1:])
    assert ended.value.code == 2  # as the page says of --dry-run
    run(*by_variable[1:], "--yes")
    gateway = Provider.objects.get(name="Gateway")
    assert stored_secrets(gateway)["password"] == "hunter2"

    monkeypatch.delenv(name)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "shop_gateway_password").write_text("hunter3\n")
    run(*(str(secrets) if word == "/run/secrets/watchword" else word for word in by_folder[1:]), "--yes")
    gateway.refresh_from_db()
    assert stored_secrets(gateway)["password"] == "hunter3"

    (tmp_path / "again.yaml").write_text(run(*export[1:]))
    run("apply", "again.yaml", "--dry-run")  # would end with 2 where anything differed
    run(*changes[1][1:])  # asks nobody, as there is nothing to change


@pytest.mark.django_db
def test_the_file_asks_for_the_events_that_the_command_asks_for():
    run("createproject", "Shop")
    plan.apply(document(block("docs/events.md", "yaml")))
    shop = Project.objects.get(name="Shop")
    command = block("docs/events.md", "bash", "setproject")
    assert f"events={','.join(shop.events)} event_url={shop.event_url}\n" in command
