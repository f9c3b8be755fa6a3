"""The API's description: valid, complete, and in step with what the service answers."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from openapi_spec_validator import validate

from verification.api.docs_views import description
from verification.errors import CATALOGUE
from verification.models import ChannelType, MessageStatus
from verification.models.messages import FINAL

OPERATIONS = {
    ("post", "/session/create", "ApiKey"),
    ("post", "/session/send", "ApiKey"),
    ("get", "/session/channels", "ApiKey"),
    ("post", "/session/check", "ApiKey"),
    ("get", "/session/settings", "ApiKey"),
    ("get", "/session/challenge", None),
    ("post", "/session/verify", "SecretKey"),
    ("post", "/manual/send", "SecretKey"),
    ("get", "/manual/message/{id}", "SecretKey"),
    ("get", "/manual/channels", "SecretKey"),
}
OUTSIDE = {"method_not_allowed"}  # answered where no operation is


def operations():
    return [(method, path, item) for path, items in description()["paths"].items() for method, item in items.items()]


def problems(operation):
    """The codes that an operation may answer, by status."""
    return {
        int(status): response["content"]["application/problem+json"]
        for status, response in operation["responses"].items()
        if status != "200"
    }


def schemas():
    return description()["components"]["schemas"]


def test_it_is_valid():
    validate(description())
    assert description()["openapi"].startswith("3.1")


def test_it_is_generated_without_a_warning(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "openapi.yaml"))


def test_it_is_served_as_json_and_yaml(client):
    as_json = client.get("/docs/openapi.json")
    as_yaml = client.get("/docs/openapi.yaml")
    assert as_json["Content-Type"] == "application/json"
    assert as_yaml["Content-Type"] == "application/yaml"
    assert json.loads(as_json.content) == yaml.safe_load(as_yaml.content) == description()


def test_it_has_its_operations_each_behind_its_kind_of_key():
    found = {
        (method, path, *(scheme or [None]))
        for method, path, item in operations()
        for scheme in item.get("security", [{}])
    }
    assert found == OPERATIONS


def test_it_has_the_version_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert description()["info"]["version"] == project["version"]


@pytest.mark.parametrize("kind", ["requestBody", "200"])
def test_every_operation_has_an_example(kind):
    for _, path, item in operations():
        described = item.get("requestBody") if kind == "requestBody" else item["responses"]["200"]
        if described:
            assert described["content"]["application/json"]["examples"], path


def test_every_example_fits_its_schema():
    from openapi_schema_validator import OAS31Validator

    for _, path, item in operations():
        for described in [item.get("requestBody"), *item["responses"].values()]:
            for media in (described or {"content": {}})["content"].values():
                schema = {**media["schema"], "components": description()["components"]}
                for name, example in media["examples"].items():
                    errors = list(OAS31Validator(schema).iter_errors(example["value"]))
                    assert not errors, (path, name, errors[0].message)


def test_every_field_is_described():
    for name, schema in schemas().items():
        for field, described in schema.get("properties", {}).items():
            assert described.get("description"), f"{name}.{field}"


def test_every_parameter_is_described():
    for _, path, item in operations():
        for parameter in item["parameters"]:
            assert parameter["description"], f"{path} {parameter['name']}"


def test_every_code_of_the_catalogue_stands_at_an_operation():
    documented = {code for *_, item in operations() for media in problems(item).values() for code in media["examples"]}
    assert documented == CATALOGUE.keys() - OUTSIDE


def test_every_error_stands_under_its_own_status():
    for *_, item in operations():
        for status, media in problems(item).items():
            for code, example in media["examples"].items():
                assert CATALOGUE[code] == (status, example["value"]["title"])
                assert example["value"]["type"].endswith(f"/docs/errors/#{code}")


def test_an_error_may_hold_only_the_codes_of_its_examples():
    _, narrowed = description()["paths"]["/session/check"]["post"]["responses"]["400"]["content"][
        "application/problem+json"
    ]["schema"]["allOf"]
    assert narrowed["properties"]["code"]["enum"] == [
        "parse_error",
        "validation_error",
        "invalid_code",
        "host_not_allowed",
    ]


def test_it_lists_the_values_that_the_service_knows():
    assert set(schemas()["Channel"]["enum"]) == set(ChannelType.values)
    assert schemas()["MessageStatus"]["enum"] == MessageStatus.values
    assert schemas()["ChallengeProvider"]["enum"] == ["altcha", "turnstile", "hcaptcha", "recaptcha"]
    assert schemas()["CodeLength"]["enum"] == [4, 6]


def test_sent_to_may_be_null_and_says_so():
    sent_to = schemas()["SessionCreateResponse"]["properties"]["sent_to"]
    assert {"$ref": "#/components/schemas/Null"} in sent_to["oneOf"]
    assert schemas()["Null"] == {"type": "null"}
    assert "null when none has yet" in sent_to["description"]


def test_the_limits_of_the_specification_are_there():
    timeout = schemas()["SessionChannel"]["properties"]["timeout"]
    assert (timeout["minimum"], timeout["maximum"]) == (0, 60)
    assert "provider" not in schemas()["SessionSettingsChallenge"]["required"]
    verified = schemas()["SessionVerifyResponse"]
    assert (verified["minProperties"], verified["maxProperties"]) == (1, 1)


def test_the_headers_are_there():
    named = {parameter["name"] for *_, item in operations() for parameter in item["parameters"]}
    assert {"Accept-Language", "X-Request-Id", "Idempotency-Key"} <= named
    answered = {
        header for *_, item in operations() for each in item["responses"].values() for header in each["headers"]
    }
    assert answered == {"X-Request-Id", "Cache-Control", "Retry-After", "X-Test-Login"}


def test_the_callback_is_there_with_its_signature():
    (callback,) = description()["paths"]["/manual/send"]["post"]["callbacks"].values()
    called = callback["{$request.body#/callback_url}"]["post"]
    assert [header["name"] for header in called["parameters"]] == [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ]
    assert schemas()["ManualMessageFinished"]["required"] == ["channel", "error", "finished_at", "id", "status"]
    assert schemas()["FinalStatus"]["enum"] == [status.value for status in FINAL]
