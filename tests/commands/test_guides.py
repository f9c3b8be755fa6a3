"""The commands of the pages do what the pages say, typed word for word into this process.

Commands that reach the outside, go on for ever or belong to another drill are checked in
tests/docs/test_snippets.py alone.
"""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import get_user_model

from tests import factories
from tests.commands.running import run
from tests.fakes.http_server import FakeHttpServer
from tests.snippets import PAGES, block, blocks, commands
from verification.management.commands import sendtest
from verification.models import ApiKey, Project, Provider, Recipient
from verification.services.providers.accounts import stored_secrets

pytestmark = pytest.mark.django_db

# What ends by itself and works on the database alone.
EXECUTED = {
    *("addprovider", "addtestlogin", "checkintegrity", "createproject", "forget", "issuekey", "list"),
    *("provider", "reencrypt", "revokekey", "setproject"),
}
OWNER = "me@example.com"
SMTP = ("host=mail.example.com", "from_email=codes@example.com", "username=shop", "password=old")
MAIL = ("addprovider", "Demo", "--channel", "email", "--type", "smtp", "--name", "Mail")


def executed(text):
    """Return the commands of a shell's text that are executed here."""
    return [arguments for program, *arguments in commands(text) if program and arguments[0] in EXECUTED]


SHOWN = [each for page in PAGES for each in blocks(page) if executed(each.text)]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """An operator's folder, with the files that pages name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnstile-secret.txt").write_text("0x4AAAAAAASecret")
    (tmp_path / "twilio-secret.txt").write_text("the-secret-of-an-account")
    (tmp_path / "password.txt").write_text("hunter2")
    return tmp_path


def prepare(typed):
    """Make what the commands take for granted: the project, its owner, and the rows that are named by an id."""
    get_user_model().objects.create_user("me", OWNER)
    made = {arguments[1] for arguments in typed if arguments[0] == "createproject"}
    for name in {"Shop", "My shop", "Demo"} - made:
        owner = factories.project(name).row
        for arguments in typed:
            if arguments[0] == "forget":
                Recipient.objects.create(project=owner, address=arguments[2])
    if any(arguments[:2] == ["provider", "set"] for arguments in typed):
        run(
            *MAIL, *(part for setting in SMTP for part in ("--set", setting))
        )  # the newest, which has a password to set
    for arguments in typed:
        if arguments[:2] == ["provider", "enable"]:
            run(*MAIL, *(part for setting in SMTP for part in ("--set", setting)))
            Provider.objects.filter(pk=Provider.objects.last().pk).update(is_enabled=False)
    ids = {"revokekey": ApiKey, "provider": Provider}
    return [
        [str(ids[arguments[0]].objects.last().pk) if word.isdecimal() else word for word in arguments]
        if arguments[0] in ids
        else arguments
        for arguments in typed
    ]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_the_commands_are_carried_out(shown, machine):
    for arguments in prepare(executed(shown.text)):
        run(*(word.replace("…", "secret") for word in arguments))


def test_what_is_asked_of_a_project_then_holds(machine):
    factories.project("Shop")
    for arguments in executed(block("docs/events.md", "bash", "setproject")):
        run(*arguments)
    shop = Project.objects.get(name="Shop")
    assert (shop.events, shop.event_url) == (
        ["session.verified", "session.refused"],
        "https://shop.example/watchword",
    )


def test_the_http_gateway_is_called_as_its_page_says(monkeypatch):
    monkeypatch.setattr(sendtest, "WORKER_SECONDS", 0)
    monkeypatch.setattr(sendtest, "WAIT_SECONDS", 1)
    run("createproject", "Shop")
    [arguments] = executed(block("docs/providers/http.md", "sh", "addprovider"))
    with FakeHttpServer() as gateway:
        run(*(word.replace("https://gateway.example", gateway.url).replace("…", "a&b") for word in arguments))
        run("sendtest", "Shop", "+4915112345678", "--channel", "sms")
        [asked] = gateway.requests
    assert asked.method == "GET" and "authorization" not in asked.headers
    assert re.match(r"/send\?user=shop&password=a%26b&to=4915112345678&text=\d{4,10}(\+|%20)", asked.target)


def test_the_message_centre_is_set_up_as_its_page_says():
    run("createproject", "My shop")
    [arguments] = executed(block("docs/providers/smpp.md", "sh", "addprovider"))
    run(*(word.replace("…", "hunter2") for word in arguments))
    made = Provider.objects.get()
    assert {"host": "smsc.example.net", "port": 3550, "system_id": "shop", "sender": "Shop"}.items() <= (
        made.settings.items()
    )
    assert (made.settings["tls"], stored_secrets(made)["password"]) == (True, "hunter2")
