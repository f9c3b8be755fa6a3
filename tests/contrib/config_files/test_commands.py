"""exportproject, apply."""

import io
import json
import sys
from contextlib import nullcontext

import pytest
from django.core.management import CommandError, call_command

from tests.commands.running import run, run_json
from tests.contrib.config_files.files import file_with, text_of
from tests.factories import a_message
from verification.models import Project, Provider, Recipient
from verification.services.providers import editing
from verification.services.providers.accounts import stored_secrets

pytestmark = pytest.mark.django_db
GATEWAY = {
    "type": "http",
    "settings": {"url": "https://sms.example/send", "username": "shop", "password": {"secret": "sms_password"}},
}
SHOP = {"Shop": {"settings": {"code_length": 4}, "providers": {"sms": {"Gateway": GATEWAY}}}}


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Writes a file of these projects, and returns its path. The environment knows the one secret."""
    monkeypatch.setenv("WATCHWORD_SECRET_SMS_PASSWORD", "hunter2")

    def write(projects=SHOP):
        path = tmp_path / "shop.yaml"
        path.write_text(projects if isinstance(projects, str) else text_of(file_with(projects)))
        return str(path)

    return write


def status_of(*arguments):
    """Run a command that exits; return its status and what it printed."""
    output = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(*arguments, stdout=output)
    return ended.value.code, output.getvalue()


def test_apply_makes_what_the_file_says_and_then_has_nothing_to_do(file):
    status, text = status_of("apply", file(), "--dry-run")
    assert (status, Project.objects.count()) == (2, 0)
    assert "+ providers.sms.Gateway" in text and "Nothing changed" in text
    first = run("apply", file(), "--yes")
    assert "Shop (new)" in first and "~ settings.code_length: 6 → 4" in first and "settings.username: shop\n" in first
    assert "Shop is new and has no keys: create them with manage.py issuekey." in first
    assert stored_secrets(Provider.objects.get())["password"] == "hunter2"
    assert run("apply", file(), "--yes").startswith("Everything matches ")
    assert "nothing to change" in run("apply", file(), "--dry-run")
    assert "hunter2" not in first


def test_apply_tells_everything_as_json(file):
    done = run_json("apply", file(), "--yes")
    (shop,) = done["projects"]
    assert (done["applied"], shop["project"], shop["is_new"], shop["kept_secrets"]) == (True, "Shop", True, [])
    assert {"path": "settings.code_length", "before": 6, "after": 4} in shop["changes"]
    unchanged = {"project": "Shop", "is_new": False, "changes": [], "kept_secrets": []}
    assert run_json("apply", file(), "--yes") == {"applied": False, "projects": [unchanged]}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stdin", "outcome"),
    [
        (Terminal("y\n"), ""),
        (Terminal("\n"), "Nothing changed"),
        (Terminal("no\n"), "Nothing changed"),
        (io.StringIO("y\n"), "Pass --yes"),
    ],
)
def test_apply_asks_at_a_terminal_and_does_not_go_on_where_nobody_can_be_asked(file, monkeypatch, stdin, outcome):
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(CommandError, match=outcome) if outcome else nullcontext():
        assert "Applied." in run("apply", file())
    assert Project.objects.exists() is not bool(outcome)


def test_apply_reads_secrets_from_a_folder(file, tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "sms_password").write_text("from-a-file\n")
    run("apply", file(), "--yes", "--secrets", str(folder))
    assert stored_secrets(Provider.objects.get())["password"] == "from-a-file"


@pytest.mark.requirement(84)
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("SECRET_KEY", "the secret SECRET_KEY was not provided, and none is stored"),
        *((path, "enter a name of up to 100 letters") for path in ("../sms_password", "/etc/hostname", ".")),
    ],
)
@pytest.mark.parametrize("folder", [False, True])
def test_apply_reads_no_variable_but_those_for_it_and_no_file_beside_the_folder(
    file, tmp_path, monkeypatch, name, complaint, folder
):
    monkeypatch.setenv("SECRET_KEY", "the-installations")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "sms_password").write_text("beside")
    wanted = {**GATEWAY, "settings": {**GATEWAY["settings"], "password": {"secret": name}}}
    options = ("--secrets", str(tmp_path / "secrets")) if folder else ()
    with pytest.raises(CommandError, match=complaint):
        run("apply", file({"Shop": {"providers": {"sms": {"Gateway": wanted}}}}), "--yes", *options)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("/nowhere.yaml",), "/nowhere.yaml: it cannot be read: No such file"),
        (("/nowhere.yaml", "--yes", "--dry-run"), "leave out --yes"),
        (("/nowhere.yaml", "--secrets", "/nowhere"), "--secrets: there is no folder /nowhere"),
    ],
)
def test_apply_says_what_is_wrong_with_its_arguments_and_its_file(file, arguments, complaint):
    with pytest.raises(CommandError, match=complaint):
        run("apply", *arguments)
    with pytest.raises(CommandError, match="shop.yaml: projects.Shop.settings.code_length: enter one of 4, 6"):
        run("apply", file({"Shop": {"settings": {"code_length": 5}}}), "--yes")


def test_what_exportproject_prints_is_what_apply_takes(file, tmp_path):
    run("apply", file(), "--yes")
    (tmp_path / "again.yaml").write_text(run("exportproject", "Shop"))
    (tmp_path / "again.json").write_text(run("exportproject", "--all", "--json"))
    assert "hunter2" not in (tmp_path / "again.yaml").read_text()
    for name in ("again.yaml", "again.json"):
        assert "nothing to change" in run("apply", str(tmp_path / name), "--dry-run")


@pytest.mark.parametrize("arguments", [(), ("Shop", "--all"), ("Shop", "--schema")])
def test_exportproject_wants_one_thing(arguments):
    assert json.loads(run("exportproject", "--schema"))["title"] == "Set-up of Watchword's projects"
    with pytest.raises(CommandError, match="Pass projects, or --all, or --schema"):
        run("exportproject", *arguments)


def test_a_provider_with_much_traffic_is_not_removed_by_a_file(file, monkeypatch):
    monkeypatch.setattr(editing, "MOST_ATTEMPTS", 3)
    run("apply", file(), "--yes")
    row = Provider.objects.get()
    recipient = Recipient.objects.create(project=row.project, address="+4915112345678")
    for number in range(5):
        message = a_message(recipient, provider=row)
        message.attempts.create(provider=row, provider_name="Gateway", outcome="accepted", latency_ms=number)
    with pytest.raises(CommandError, match=f"more than 3 messages .* manage.py provider remove {row.pk} --yes"):
        run("apply", file({"Shop": {"providers": {}}}), "--dry-run")
    assert Provider.objects.exists()
