"""The schema of set-up files: made from the declarations, published, and the same as what is taken."""

import json

import pytest
from jsonschema import Draft202012Validator

from providers import registry
from tests import factories
from verification.contrib.config_files import export, sections
from verification.contrib.config_files.dump import SCHEMA_PATH, write
from verification.contrib.config_files.load import read
from verification.contrib.config_files.schema import schema
from verification.models.project_settings import SETTABLE


def test_it_is_a_schema():
    Draft202012Validator.check_schema(schema())


def test_every_setting_is_in_it_but_the_name_and_the_switch():
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


def test_no_field_of_a_person_a_key_or_a_ciphertext_is_in_it():
    names = {
        name
        for fields in (sections.CHANNEL, sections.PROVIDER, sections.TEXT, sections.SENDER, sections.ENTRY)
        for name in fields
    }
    assert not names & {"project", "secrets", "hook_secret", "uuid", "id", "created_at", "settings"}
    assert "recipient" not in json.dumps(sections.SUBJECTS)


@pytest.mark.django_db
def test_what_is_exported_fits_it():
    project = factories.project(channels=("sms", "email", "voice", "messenger_a"))
    file = read(write(export.file_of(project.row, factories.project("Other: shop #2").row)))
    assert list(Draft202012Validator(schema()).iter_errors(file.value)) == []
    assert list(file.value["projects"]) == [project.row.name, "Other: shop #2"]


@pytest.mark.django_db
def test_it_is_published_where_the_files_say(client):
    answer = client.get(SCHEMA_PATH)
    assert answer.json() == json.loads(json.dumps(schema()))
    assert client.get(SCHEMA_PATH, headers={"if-none-match": answer["ETag"]}).status_code == 304
    assert write({"watchword": 1, "projects": {}}).startswith("# yaml-language-server: $schema=http")
