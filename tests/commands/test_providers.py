"""addprovider, checkproviders, sendtest, provider prices."""

import io
import sys
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.commands.running import run, run_json
from verification.management.commands import sendtest
from verification.models import Channel, CircuitBreaker, Message, Provider
from verification.services.providers.accounts import hook_url, stored_secrets

pytestmark = pytest.mark.django_db
GATEWAY = ("--channel", "sms", "--type", "http", "--name", "Gateway", "--set", "url=https://sms.example/send")


def test_addprovider_makes_the_channel_too():
    project = run_json("createproject", "Shop")["project"]
    made = run_json("addprovider", "Shop", *GATEWAY, "--priority", "5")
    provider = Provider.objects.get(pk=made["provider"])
    assert (provider.project_id, provider.priority) == (project, 5)
    assert provider.settings["url"] == "https://sms.example/send"
    assert provider.project.channels.get().type == "sms"


def test_addprovider_tells_the_webhook_address_of_a_service_that_reports_back():
    made = run_json("addprovider", "--system", *GATEWAY)
    assert made["hook_url"] == hook_url(Provider.objects.get(pk=made["provider"]))
    assert "/hooks/" in run("addprovider", "--system", *GATEWAY, "--name", "Other")
    assert "hook_url" not in run_json(
        *("addprovider", "--system", "--channel", "sms", "--type", "inbox", "--name", "Box")
    )


def test_addprovider_sets_the_channels_budget_and_else_leaves_it():
    run("createproject", "Shop")
    seen = []
    for number, options in enumerate(([], ["--daily-budget", "50"], [], ["--daily-budget", "0"])):
        run("addprovider", "Shop", *GATEWAY, "--name", f"Gateway {number}", *options)
        seen.append(Channel.objects.values_list("effective_budget", flat=True).get())
    assert seen == [1000, 50, 50, None]


def test_a_providers_name_writes_nothing_to_the_operators_terminal():
    run("createproject", "Shop")
    run("addprovider", "Shop", *GATEWAY)
    Provider.objects.update(name="A\x1b]0;x\x07\n7  Shop  sms\u202e")
    text = run("list", "providers")
    assert len(text.splitlines()) == 2 and "A?]0;x??7  Shop  sms?" in text


def test_addprovider_adds_a_system_provider():
    made = run_json("addprovider", "--system", *GATEWAY)
    assert Provider.objects.get(pk=made["provider"]).is_system


def test_addprovider_reads_a_secret_from_a_file_or_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "password"
    path.write_text("s3cret\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("x-token: abc\n"))
    given = ("--set", f"password=@{path}", "--set", "username=@@me", "--set", "headers=-")
    made = run_json("addprovider", "--system", *GATEWAY, *given)
    provider = Provider.objects.get(pk=made["provider"])
    assert provider.settings["username"] == "@me"
    assert "password" not in provider.settings
    assert {"password": "s3cret", "headers": "x-token: abc"}.items() <= stored_secrets(provider).items()


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (GATEWAY, "either a PROJECT or --system"),
        (("Shop", "--system", *GATEWAY), "either a PROJECT or --system"),
        (("--system", *GATEWAY[:6]), "url: this setting is required"),
        (("--system", *GATEWAY, "--set", "colour=red"), "colour: there is no such setting"),
        (("--system", *GATEWAY, "--set", "url"), "--set: write NAME=VALUE"),
        (("--system", *GATEWAY, "--set", "url=https://b.example"), "url appears twice"),
        (("--system", *GATEWAY, "--set", "password=@/nowhere"), "--set password: cannot read @/nowhere"),
        (("--system", "--channel", "fax", *GATEWAY[2:]), "There is no channel 'fax'"),
        (("--system", *GATEWAY, "--priority", "-1"), "--priority"),
        (("--system", *GATEWAY, "--daily-budget", "5"), "A budget belongs to a project"),
        (("--system", *GATEWAY, "--priority", "9" * 12), "--priority: a whole number from 0 to 2147483647 is expected"),
        (
            ("--system", *GATEWAY[:4], "--name", "n" * 81, *GATEWAY[6:]),
            "A provider's name must have 1 to 80 characters.",
        ),
        (
            ("--system", *GATEWAY[:-1], "url=https://10.0.0.1/send"),
            "not a public one. Name a network of your own in OUTBOUND_ALLOWED_NETWORKS",
        ),
    ],
)
def test_addprovider_refuses_and_then_adds_nothing(arguments, complaint):
    with pytest.raises(CommandError, match=complaint):
        run("addprovider", *arguments)
    assert not Provider.objects.exists()


def test_addprovider_connects_nothing_that_shows_codes_in_production(settings):
    settings.SHOW_CODES_TO_OPERATORS = False
    with pytest.raises(
        CommandError, match="shows codes to the people who run the service.*SHOW_CODES_TO_OPERATORS=true"
    ):
        run("addprovider", "--system", "--channel", "sms", "--type", "console", "--name", "Screen")
    assert not Provider.objects.exists()


def test_checkproviders_asks_each_one(project):
    found = run_json("checkproviders", str(project.id))
    assert found["is_ok"] is True
    assert [item["channel"] for item in found["providers"]] == ["email", "sms", "voice"]
    assert "sms first" in run("checkproviders")


def test_checkproviders_fails_where_one_fails(project):
    Provider.objects.filter(channel="sms").update(type="gone")
    output = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("checkproviders", stdout=output)
    assert ended.value.code == 1
    assert "FAILS" in output.getvalue() and "This installation has no adapter 'gone'." in output.getvalue()


@pytest.fixture
def no_patience(monkeypatch):
    monkeypatch.setattr(sendtest, "WORKER_SECONDS", 0)
    monkeypatch.setattr(sendtest, "WAIT_SECONDS", 1)


def test_sendtest_delivers_from_here_where_no_worker_runs(project, outbox, no_patience):
    done = run_json("sendtest", str(project.id), "+4915112345678", "--channel", "sms")
    message = Message.objects.get(pk=done["message"])
    assert (done["status"], done["error"], done["delivered_here"]) == (message.status, None, True)
    assert done["attempts"][0]["provider"] == "sms first"
    assert done["attempts"][0]["outcome"] == "accepted"


def test_sendtest_names_the_providers_that_are_set_aside(project, no_patience):
    now = timezone.now()
    row = Provider.objects.get(project=project.row, channel="sms")
    until = now + timedelta(minutes=5)
    CircuitBreaker.objects.create(provider=row, opened_at=now, open_until=until, openings=1, reason="HTTP 500")
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("sendtest", str(project.id), "+4915112345678", "--channel", "sms", stdout=out)
    assert f"Paused after repeated failures: {row.name} until " in out.getvalue()
    assert "HTTP 500" in out.getvalue() and "--connections" not in out.getvalue()


def test_sendtest_to_a_test_login_sends_nothing(project, no_patience):
    project.test_login("ann@example.com", "1234")
    done = run_json("sendtest", str(project.id), "ann@example.com", "--channel", "email")
    assert (done["status"], done["attempts"]) == ("success", [])


@pytest.mark.parametrize(
    "to, complaint", [("12", "a phone number with a plus"), ("ann@example.com", "no active channel sms")]
)
def test_sendtest_says_what_is_wrong_with_the_recipient(project, to, complaint):
    with pytest.raises(CommandError, match=complaint):
        run("sendtest", str(project.id), to, "--channel", "sms")


def test_addprovider_takes_no_name_twice_in_one_channel(project):
    given = ("addprovider", str(project.id), "--type", "inbox", "--name", "Inbox")
    run(*given, "--channel", "sms")
    run(*given, "--channel", "email")
    with pytest.raises(CommandError, match="This channel already has a provider named 'Inbox'. Choose another name."):
        run(*given, "--channel", "sms")


# --- provider prices

PRICES = "to,price,currency,per,from\ndefault,0.12,EUR,segment,\nDE,0.075,EUR,segment,\n"


@pytest.fixture
def gateway(project):
    return project.provider(name="Gateway")


def prices_file(tmp_path, text):
    path = tmp_path / "prices.csv"
    path.write_text(text)
    return str(path)


def test_prices_shows_the_difference_and_replaces_the_list(gateway, tmp_path):
    file = prices_file(tmp_path, PRICES)
    said = run("provider", "prices", str(gateway.pk), file, "--yes")
    assert "+ DE: 0.075 EUR segment" in said and "Gateway now has 2 prices." in said
    assert run("provider", "prices", str(gateway.pk)) == PRICES
    file = prices_file(tmp_path, "to,price,currency,per\nDE,0.08,EUR,segment\n")
    told = run_json("provider", "prices", str(gateway.pk), file, "--yes")
    assert told["changed"] == [["DE: 0.075 EUR segment", "DE: 0.08 EUR segment"]]
    assert told["removed"] == ["default: 0.12 EUR segment"] and told["applied"]
    assert "nothing to change" in run("provider", "prices", str(gateway.pk), file)


def test_prices_changes_nothing_that_nobody_agreed_to_or_that_is_wrong(gateway, tmp_path):
    with pytest.raises(CommandError, match="Pass --yes"):
        run("provider", "prices", str(gateway.pk), prices_file(tmp_path, PRICES))
    with pytest.raises(CommandError, match="Line 3: 'free' is not a price"):
        run("provider", "prices", str(gateway.pk), prices_file(tmp_path, PRICES.replace("0.075", "free")), "--yes")
    gateway.refresh_from_db()
    assert (gateway.price_list, gateway.prices.count()) == (0, 0)


def test_newhook_gives_a_provider_another_webhook_address(client):
    made = run_json("addprovider", "--system", *GATEWAY)
    former = made["hook_url"]
    told = run_json("provider", "newhook", str(made["provider"]))
    assert told["hook_url"] == hook_url(Provider.objects.get(pk=made["provider"])) != former
    assert client.head(former.partition("testserver")[2]).status_code == 404
    assert client.head(told["hook_url"].partition("testserver")[2]).status_code == 200
    box = run_json("addprovider", "--system", "--channel", "sms", "--type", "inbox", "--name", "Box")
    with pytest.raises(CommandError, match="has no webhook address"):
        run("provider", "newhook", str(box["provider"]))


# --- provider set: what is taken away --------------------------------------------------------------------------------


def test_a_login_is_taken_away():
    run("createproject", "Shop")
    mail = ("--channel", "email", "--type", "smtp", "--name", "Mail", "--set", "host=mail.example")
    login = ("--set", "from_email=codes@shop.example", "--set", "username=shop", "--set", "password=of the shop")
    made = str(run_json("addprovider", "Shop", *mail, *login)["provider"])
    with pytest.raises(CommandError, match="enter both a username and a password"):
        run("provider", "set", made, "--unset", "username")
    assert "Changed Mail" in run("provider", "set", made, "--unset", "username", "--unset", "password")
    row = Provider.objects.get(pk=made)
    assert (row.settings["username"], stored_secrets(row).get("password") or "") == ("", "")
    assert "nothing changed" in run("provider", "set", made, "--unset", "username", "--unset", "password")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--unset", "host"), "required"),
        (("--unset", "colour"), "colour"),
        (("--unset", "host", "--set", "host=x.example"), "at once"),
    ],
)
def test_what_cannot_be_taken_away_is_refused(options, says):
    run("createproject", "Shop")
    mail = ("--channel", "email", "--type", "smtp", "--name", "Mail", "--set", "host=mail.example")
    made = str(run_json("addprovider", "Shop", *mail, "--set", "from_email=codes@shop.example")["provider"])
    with pytest.raises(CommandError, match=says):
        run("provider", "set", made, *options)
