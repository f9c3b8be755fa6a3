"""The schema of set-up files: made from the declarations, published, and the same as what is taken."""

import json

import pytest
from django.apps import apps
from jsonschema import Draft202012Validator

from providers import registry
from tests import factories
from verification.contrib.config_files import export
from verification.contrib.config_files.export import SCHEMA_PATH
from verification.contrib.config_files.load import read
from verification.contrib.config_files.schema import schema
from verification.models.audit import WATCHED
from verification.models.project_settings import SETTABLE

APPS = {"connections": "verification.contrib.connections", "hosted_page": "verification.contrib.hosted"}
PARTS = {
    "verification.AlertService": "alerts",
    "verification.Channel": "channels",
    "verification.FallbackStep": "fallback",
    "verification.HostedPage": "hosted_page",
    "verification.IdentityConnection": "connections",
    "verification.ListEntry": "lists",
    "verification.MessageTemplate": "texts",
    "verification.Project": "settings",
    "verification.Provider": "providers",
    "verification.SenderRule": "providers",
}
IN_NO_FILE = {
    "auth.User": "a person",
    "verification.ApiKey": "a key is shown once, where it was made",
    "verification.ExchangeRate": "the operator's, for all projects",
    "verification.GuardBlock": "happened; a file would lift it again and again",
    "verification.Invitation": "a person",
    "verification.KillSwitch": "the operator's, and never resumed by a file",
    "verification.Membership": "a person's right",
    "verification.Platform": "the operator's, for all projects",
    "verification.RoutingRule": "answers what happens now, and is undone from its list",
    "verification.Suppression": "about a recipient, who is a person",
    "verification.TestLogin": "about a recipient, who is a person, with a code that lets in",
    "verification.TextVariant": "a trial has a beginning, an end and figures; applied again it would begin anew",
    "verification.WebhookSecret": "a secret that is drawn, and shown to the owner",
}


def test_every_setting_is_in_it_but_the_name_and_the_switch():
    Draft202012Validator.check_schema(schema())
    settings = schema()["$defs"]["project"]["properties"]["settings"]["properties"]
    assert set(settings) == set(SETTABLE) - {"name", "is_enabled"}
    assert settings["code_length"]["enum"] == [4, 6]
    assert settings["guard_country_percent"]["maximum"] == 100
    assert settings["challenge_secret"]["properties"] == {
        "secret": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]{0,99}$"}
    }


def test_every_type_of_provider_is_in_it_with_its_settings():
    found = {}
    for channel in ("sms", "email", "voice", "messenger_a", "messenger_b"):
        for rule in schema()["$defs"][f"provider_{channel}"]["allOf"]:
            found[rule["if"]["properties"]["type"]["const"]] = set(rule["then"]["properties"]["settings"]["properties"])
    assert found == {
        name: {each.name for each in registry.adapter_class(name).declared} for name in registry.all_types()
    }


def test_every_model_that_people_set_up_has_its_part_or_a_reason():
    assert {*PARTS, *IN_NO_FILE} == {*WATCHED} and not PARTS.keys() & IN_NO_FILE.keys()
    absent = {part for part, app in APPS.items() if not apps.is_installed(app)}
    assert {*PARTS.values()} - absent == {*schema()["$defs"]["project"]["properties"]}


@pytest.mark.django_db
def test_what_is_exported_fits_it():
    project = factories.project(channels=("sms", "email", "voice", "messenger_a"))
    file = read(export.write(export.file_of(project.row, factories.project("Other: shop #2").row)))
    assert list(Draft202012Validator(schema()).iter_errors(file)) == []
    assert list(file["projects"]) == [project.row.name, "Other: shop #2"]


@pytest.mark.django_db
def test_it_is_published_where_the_files_say(client):
    answer = client.get(SCHEMA_PATH)
    assert answer.json() == json.loads(json.dumps(schema()))
    assert client.get(SCHEMA_PATH, headers={"if-none-match": answer["ETag"]}).status_code == 304
    assert export.write({"watchword": 1, "projects": {}}).startswith("# yaml-language-server: $schema=http")
