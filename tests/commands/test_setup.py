"""exportproject, apply, list, provider."""

import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command

from tests.admin.rows import a_message
from tests.commands.running import run, run_json
from tests.services.config_files.files import file_with, text_of
from verification.models import AuditEntry, Message, Project, Provider, Recipient
from verification.services.providers import editing
from verification.services.providers.accounts import hook_url, stored_secrets

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
    first = run("apply", file(), "--yes")
    assert "Shop (new)" in first and "~ settings.code_length: 6 → 4" in first
    assert "Shop is new and has no keys: manage.py issuekey makes them." in first
    assert stored_secrets(Provider.objects.get())["password"] == "hunter2"
    assert run("apply", file(), "--yes").startswith("Everything is as ")
    assert "hunter2" not in first


def test_apply_with_dry_run_changes_nothing_and_tells_by_its_status(file):
    status, text = status_of("apply", file(), "--dry-run")
    assert (status, Project.objects.count()) == (2, 0)
    assert "+ providers.sms.Gateway" in text and "Nothing was changed" in text
    run("apply", file(), "--yes")
    assert "nothing to change" in run("apply", file(), "--dry-run")


def test_apply_tells_everything_as_json(file):
    done = run_json("apply", file(), "--yes")
    assert done["applied"] is True
    (shop,) = done["projects"]
    assert (shop["project"], shop["is_new"], shop["kept_secrets"]) == ("Shop", True, [])
    assert {"path": "settings.code_length", "before": 6, "after": 4} in shop["changes"]
    assert run_json("apply", file(), "--yes") == {
        "applied": False,
        "projects": [{"project": "Shop", "is_new": False, "changes": [], "kept_secrets": []}],
    }


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "made"), [("y\n", 1), ("\n", 0), ("no\n", 0)])
def test_apply_asks_at_a_terminal(file, monkeypatch, answer, made):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    if made:
        assert "Applied." in run("apply", file())
    else:
        with pytest.raises(CommandError, match="Nothing was changed"):
            run("apply", file())
    assert Project.objects.count() == made


def test_apply_does_not_go_on_where_nobody_can_be_asked(file, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(CommandError, match="Give --yes"):
        run("apply", file())
    assert not Project.objects.exists()


def test_apply_reads_secrets_from_a_folder(file, tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "sms_password").write_text("from-a-file\n")
    run("apply", file(), "--yes", "--secrets", str(folder))
    assert stored_secrets(Provider.objects.get())["password"] == "from-a-file"


@pytest.mark.parametrize("name", ["SECRET_KEY", "sms_other"])
def test_apply_reads_no_variable_but_those_for_it(file, monkeypatch, name):
    monkeypatch.setenv("SECRET_KEY", "the-installations")
    wanted = {**GATEWAY, "settings": {**GATEWAY["settings"], "password": {"secret": name}}}
    with pytest.raises(CommandError, match=f"the secret {name} is not given, and none is stored"):
        run("apply", file({"Shop": {"providers": {"sms": {"Gateway": wanted}}}}), "--yes")


@pytest.mark.parametrize("name", ["../sms_password", "/etc/hostname", "."])
def test_apply_reads_no_file_beside_the_folder(file, tmp_path, name):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "sms_password").write_text("beside")
    wanted = {**GATEWAY, "settings": {**GATEWAY["settings"], "password": {"secret": name}}}
    with pytest.raises(CommandError, match="write a name of up to 100 letters"):
        run("apply", file({"Shop": {"providers": {"sms": {"Gateway": wanted}}}}), "--yes", "--secrets", str(tmp_path))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (
            "watchword: 1\nprojects:\n  Shop:\n    settings:\n      code_length: 5\n",
            "line 5: projects.Shop.settings.code",
        ),
        ("watchword: 1\nwatchword: 2\n", "line 2: watchword: this stands here twice"),
    ],
)
def test_apply_refuses_with_file_and_line(file, content, complaint):
    with pytest.raises(CommandError, match=f"shop.yaml: {complaint}"):
        run("apply", file(content), "--yes")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("/nowhere.yaml",), "/nowhere.yaml: it cannot be read: No such file"),
        (("/nowhere.yaml", "--yes", "--dry-run"), "leave out --yes"),
        (("/nowhere.yaml", "--secrets", "/nowhere"), "--secrets: there is no folder /nowhere"),
    ],
)
def test_apply_says_what_is_wrong_with_its_arguments(arguments, complaint):
    with pytest.raises(CommandError, match=complaint):
        run("apply", *arguments)


def test_what_exportproject_prints_is_what_apply_takes(file, tmp_path):
    run("apply", file(), "--yes")
    (tmp_path / "again.yaml").write_text(run("exportproject", "Shop"))
    (tmp_path / "again.json").write_text(run("exportproject", "--all", "--json"))
    assert "hunter2" not in (tmp_path / "again.yaml").read_text()
    for name in ("again.yaml", "again.json"):
        assert "nothing to change" in run("apply", str(tmp_path / name), "--dry-run")


def test_exportproject_prints_the_schema():
    assert json.loads(run("exportproject", "--schema"))["title"] == "Set-up of Watchword's projects"


@pytest.mark.parametrize("arguments", [(), ("Shop", "--all"), ("Shop", "--schema")])
def test_exportproject_wants_one_thing(arguments):
    run("createproject", "Shop")
    with pytest.raises(CommandError, match="Give projects, or --all, or --schema"):
        run("exportproject", *arguments)


# --- lists ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def shop():
    made = run_json("createproject", "Shop")
    run("createproject", "Other")
    made["provider"] = run_json(
        *("addprovider", "Shop", "--channel", "sms", "--type", "http", "--name", "Gateway"),
        *("--set", "url=https://sms.example/send", "--set", "username=shop", "--set", "password=hunter2"),
    )["provider"]
    run("addtestlogin", "Shop", "+15550100001", "471836")
    return made


def test_everything_is_listed_for_one_project_or_all(shop):
    assert [row["name"] for row in run_json("list", "projects")["projects"]] == ["Other", "Shop"]
    assert {row["kind"] for row in run_json("list", "keys", "Shop")["keys"]} == {"api", "secret"}
    assert len(run_json("list", "keys")["keys"]) == 4
    (provider,) = run_json("list", "providers", "Shop")["providers"]
    assert (provider["id"], provider["type"], provider["enabled"]) == (shop["provider"], "http", True)
    (channel,) = run_json("list", "channels", "Shop")["channels"]
    assert (channel["channel"], channel["daily_budget"], channel["served_by"]) == ("sms", 1000, ["Gateway"])
    (login,) = run_json("list", "testlogins")["testlogins"]
    assert (login["to"], login["works"]) == ("+15550100001", True)


@pytest.mark.parametrize("what", ["projects", "keys", "providers", "channels", "testlogins"])
def test_a_list_is_a_table_without_secrets(shop, what):
    text, as_json = run("list", what), run("list", what, "--json")
    assert text.splitlines()[0].isupper() and len(text.splitlines()) >= 2
    for secret in (shop["api_key"], shop["secret_key"], shop["webhook_secret"], "hunter2", "471836"):
        assert secret not in text + as_json
    assert run("list", what, "Other").strip()


def test_a_list_that_is_empty_says_so():
    assert run("list", "providers") == "There are none.\n"


# --- one provider --------------------------------------------------------------------------------------------------


def test_a_provider_is_shown_without_its_secrets(shop):
    row = Provider.objects.get()
    shown = run_json("provider", "show", str(row.pk))
    assert (shown["name"], shown["stored_secrets"], shown["hook_url"]) == ("Gateway", ["password"], hook_url(row))
    assert "hunter2" not in run("provider", "show", str(row.pk))


def test_a_provider_is_changed_and_what_is_not_named_stays(shop):
    run(
        *(
            "provider",
            "set",
            str(shop["provider"]),
            "priority=5",
            "only_prefixes=+49, 43",
            "--set",
            "success_status=200",
        )
    )
    row = Provider.objects.get()
    assert (row.priority, row.only_prefixes, row.settings["success_status"]) == (5, ["+49", "+43"], "200")
    assert (row.settings["username"], stored_secrets(row)["password"]) == ("shop", "hunter2")
    assert "nothing is changed" in run("provider", "set", str(row.pk), "priority=5")


def test_a_provider_is_disabled_enabled_and_removed(shop):
    number = str(shop["provider"])
    run("provider", "disable", number, "--reason", "It leaks.")
    assert not Provider.objects.get().is_enabled
    assert AuditEntry.objects.filter(action="stopped: It leaks.").exists()
    run("provider", "enable", number)
    assert Provider.objects.get().is_enabled
    with pytest.raises(CommandError, match="Give --yes to remove it"):
        run("provider", "remove", number)
    run("provider", "remove", number, "--yes")
    assert not Provider.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("show", "999999"), "There is no provider '999999'. manage.py list providers tells their ids"),
        (("show", "ID", "priority=5"), "Only set takes values"),
        (("set", "ID"), "Give at least one NAME=VALUE"),
        (("set", "ID", "colour=red"), "There is no name 'colour'. Names: name, priority, weight"),
        (("set", "ID", "is_enabled=false"), "There is no name 'is_enabled'"),
        (("set", "ID", "priority=first"), "priority: write a whole number"),
        (("set", "ID", "priority=-1"), "priority: "),
        (("set", "ID", "only_prefixes=x"), "only_prefixes: .*does not begin a phone number"),
        (("set", "ID", "--set", "colour=red"), "colour: there is no such setting"),
        (("set", "ID", "--set", "url=https://other.example/"), "password: enter it again, as it would go to another"),
        (("enable", "ID"), "is not stopped"),
    ],
)
def test_a_provider_is_not_changed_where_something_is_wrong(shop, arguments, complaint):
    before = Provider.objects.values().get()
    with pytest.raises(CommandError, match=complaint):
        run("provider", *(str(shop["provider"]) if each == "ID" else each for each in arguments))
    assert Provider.objects.values().get() == before


def test_a_provider_with_much_traffic_is_removed_in_batches_and_not_by_a_file(shop, file, monkeypatch):
    monkeypatch.setattr(editing, "MOST_ATTEMPTS", 3)
    monkeypatch.setattr(editing, "BATCH", 2)
    row = Provider.objects.get()
    recipient = Recipient.objects.create(project=row.project, address="+4915112345678")
    for number in range(5):
        message = a_message(row.project, recipient, provider=row)
        message.attempts.create(provider=row, provider_name="Gateway", outcome="accepted", latency_ms=number)
    with pytest.raises(CommandError, match=f"more than 3 messages .* manage.py provider remove {row.pk} --yes"):
        run("apply", file({"Shop": {"providers": {}}}), "--dry-run")
    run("provider", "remove", str(row.pk), "--yes")
    assert not Provider.objects.exists()
    assert Message.objects.filter(provider=None, attempts__provider=None).count() == 5
