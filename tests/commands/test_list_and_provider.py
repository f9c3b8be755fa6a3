"""list, provider."""

import pytest
from django.core.management import CommandError

from tests.commands.running import run, run_json
from tests.factories import a_message
from verification.models import AuditEntry, Message, Provider, Recipient
from verification.services.providers import editing
from verification.services.providers.accounts import hook_url, stored_secrets

pytestmark = pytest.mark.django_db


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
    assert "nothing changed" in run("provider", "set", str(row.pk), "priority=5")


def test_a_provider_is_disabled_enabled_and_removed(shop):
    number = str(shop["provider"])
    run("provider", "disable", number, "--reason", "It leaks.")
    assert not Provider.objects.get().is_enabled
    assert AuditEntry.objects.filter(action="stopped: It leaks.").exists()
    run("provider", "enable", number)
    assert Provider.objects.get().is_enabled
    with pytest.raises(CommandError, match="Pass --yes to confirm"):
        run("provider", "remove", number)
    run("provider", "remove", number, "--yes")
    assert not Provider.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("show", "999999"), "There is no provider '999999'. To see their ids: manage.py list providers"),
        (("show", "ID", "priority=5"), "Only set accepts values"),
        (("set", "ID"), "Pass at least one NAME=VALUE"),
        (("set", "ID", "colour=red"), "There is no name 'colour'. Names: name, priority, weight"),
        (("set", "ID", "is_enabled=false"), "There is no name 'is_enabled'"),
        (("set", "ID", "priority=first"), "priority: enter a whole number"),
        (("set", "ID", "priority=-1"), "priority: "),
        (("set", "ID", "only_prefixes=x"), "only_prefixes: .*is not a phone number prefix"),
        (("set", "ID", "--set", "colour=red"), "colour: there is no such setting"),
        (
            ("set", "ID", "--set", "url=https://other.example/"),
            "password: enter it again, because it would be sent to a different",
        ),
        (("enable", "ID"), "is not stopped"),
    ],
)
def test_a_provider_is_not_changed_where_something_is_wrong(shop, arguments, complaint):
    before = Provider.objects.values().get()
    with pytest.raises(CommandError, match=complaint):
        run("provider", *(str(shop["provider"]) if each == "ID" else each for each in arguments))
    assert Provider.objects.values().get() == before


def test_a_provider_with_much_traffic_is_removed_in_batches(shop, monkeypatch):
    monkeypatch.setattr(editing, "BATCH", 2)
    row = Provider.objects.get()
    recipient = Recipient.objects.create(project=row.project, address="+4915112345678")
    for number in range(5):
        message = a_message(recipient, provider=row)
        message.attempts.create(provider=row, provider_name="Gateway", outcome="accepted", latency_ms=number)
    run("provider", "remove", str(row.pk), "--yes")
    assert not Provider.objects.exists()
    assert Message.objects.filter(provider=None, attempts__provider=None).count() == 5
