"""``addconnection``, ``listconnections`` and ``removeconnection``."""

import pytest
from django.core.management import CommandError

from tests.commands.running import run, run_json
from verification.contrib.connections import registry
from verification.models import AuditEntry, IdentityConnection

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("system", list(registry.all_systems()))
def test_it_makes_a_connection_of_each_system(project, system):
    needed = [f"--set={name}={value}" for name, value in NEEDED.get(system, {}).items()]
    made = run_json("addconnection", str(project.id), "--system", system, *needed)
    row = IdentityConnection.objects.get()
    assert made == {
        "connection": row.pk,
        "url": f"http://testserver/connect/{row.public_id}",
        "secret": made["secret"],
    }
    assert registry.system_class(system).clean_secret(made["secret"]) == made["secret"]
    assert row.channel == ""


NEEDED: dict[str, dict[str, str]] = {}


def test_it_keeps_the_country_of_numbers_without_a_plus(project):
    run("addconnection", str(project.id), "--system", "okta", "--country", "Morocco")
    assert IdentityConnection.objects.get().options == {"country": "MA"}


def test_it_prints_what_to_paste(project):
    printed = run("addconnection", str(project.id), "--system", "logto", "--name", "Our Logto", "--channel", "sms")
    assert "Paste these into Our Logto" in printed and "Authorization token  Bearer " in printed


def test_it_takes_a_secret_of_the_systems_own_from_a_file(project, tmp_path):
    (tmp_path / "key").write_text("wX1QvV7gAqhTJ0dDCZ7aXbG5rE2sYk9P\n")
    secret = f"@{tmp_path / 'key'}"
    made = run_json("addconnection", str(project.id), "--system", "zitadel", "--secret", secret)
    assert made["secret"] == "wX1QvV7gAqhTJ0dDCZ7aXbG5rE2sYk9P"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--system", "okta", "--channel", "email"], "submits no codes for the channel email"),
        (["--system", "okta", "--secret", "short"], "16 to 200 visible ASCII"),
        (["--system", "supabase_sms", "--secret", "whsec_abc"], "v1,whsec_"),
        (["--system", "logto", "--set", "to=x"], "has no option 'to'. It has none."),
        (["--system", "okta", "--country", "Atlantis"], "'Atlantis' is not a country"),
        (["--system", "logto", "--country", "US"], "has no option 'country'"),
        (["--system", "generic", "--set", "to"], "write it as NAME=VALUE"),
        (["--system", "generic", "--set", "to=a b"], "'a b' is not the name of a field"),
        (["--system", "generic", "--set", "header=a:b"], "'a:b' is not the name of a header"),
        (["--system", "keycloak", "--set", "pattern=no place"], "write {code} once"),
        (["--system", "logto", "--name", "x" * 81], "at most 80 characters"),
    ],
)
def test_it_says_what_is_wrong(project, arguments, words):
    with pytest.raises(CommandError) as error:
        run("addconnection", str(project.id), *arguments)
    assert words in str(error.value)
    assert not IdentityConnection.objects.exists()


def test_a_project_has_a_bounded_number_of_them(project, monkeypatch):
    from verification.models import bounds

    monkeypatch.setattr(bounds, "MAX_IDENTITY_CONNECTIONS", 1)
    run("addconnection", str(project.id), "--system", "logto")
    with pytest.raises(CommandError, match="at most 1 connections"):
        run("addconnection", str(project.id), "--system", "logto")


def test_they_are_listed_without_their_secrets_and_removed(project):
    made = run_json("addconnection", str(project.id), "--system", "okta", "--channel", "voice")
    [listed] = run_json("listconnections", str(project.id))["connections"]
    assert listed == {
        "id": made["connection"],
        "project": project.row.name,
        "system": "okta",
        "channel": "voice",
        "name": "Okta, telephony inline hook",
        "last_used_at": None,
        "url": made["url"],
    }
    assert made["secret"] not in run("listconnections")
    assert run_json("removeconnection", str(made["connection"])) == {"removed": made["connection"]}
    assert run("listconnections").strip() == "There are none."
    with pytest.raises(CommandError, match="no such connection"):
        run("removeconnection", str(made["connection"]))


def test_the_audit_log_has_it_without_the_secret(project):
    made = run_json("addconnection", str(project.id), "--system", "logto")
    entries = AuditEntry.objects.filter(object_type="verification.identityconnection")
    assert entries.count() == 1
    assert made["secret"] not in str(entries.values())
