"""The API's description: valid, complete, and in step with what the service answers."""

import ast
import gzip
import json
import re
import subprocess
import sys

import pytest
import yaml
from django.core.management import call_command
from django.http import QueryDict
from openapi_spec_validator import validate

from tests.conftest import ROOT
from verification.api.parsers import StrictJSONParser
from verification.api.reference.schema import CALLBACK_HEADERS
from verification.api.reference.views import description
from verification.api.urls import urlpatterns
from verification.core.error_codes import CATALOGUE
from verification.core.errors import ApiError
from verification.core.numbers import MAX_ID
from verification.models import SESSION_EVENTS, ChannelType, EventType, KeyKind, MessageStatus
from verification.models.messages import FINAL

OPERATIONS = {
    ("post", "/session/create", "ApiKey"),
    ("post", "/session/send", "ApiKey"),
    ("get", "/session/channels", "ApiKey"),
    ("post", "/session/check", "ApiKey"),
    ("get", "/session/settings", "ApiKey"),
    ("get", "/session/challenge", None),
    ("get", "/session/delivery", "ApiKey"),
    ("post", "/session/verify", "SecretKey"),
    ("get", "/session", "SecretKey"),
    ("get", "/session/{session_id}", "SecretKey"),
    ("post", "/session/{session_id}/cancel", "SecretKey"),
    ("post", "/manual/send", "SecretKey"),
    ("get", "/manual/message/{id}", "SecretKey"),
    ("post", "/manual/verified", "SecretKey"),
    ("get", "/manual/channels", "SecretKey"),
    ("get", "/events", "SecretKey"),
    ("get", "/events/{id}", "SecretKey"),
}
# In a process of its own, as only the first generation in a process finds the extensions.
GENERATE_AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
sys.setswitchinterval(1e-5)
from config.wsgi import application
from verification.api.reference.views import description
start = Barrier(4)
def generate(_):
    start.wait()
    return len(description()["paths"])
print(set(ThreadPoolExecutor(4).map(generate, range(4))))
"""
NO_SESSION = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
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


def resolved(example):
    """An example, which may stand among the components."""
    reference = example.get("$ref", "")
    return description()["components"]["examples"][reference.rpartition("/")[2]] if reference else example


def schemas():
    return description()["components"]["schemas"]


def test_each_operation_names_the_kind_of_key_that_its_view_takes():
    for pattern in urlpatterns:
        view = pattern.callback.cls
        if view.schema is None:
            continue
        kinds = {KeyKind.API: {"ApiKey": []}, KeyKind.SECRET: {"SecretKey": []}}
        kind = [kinds[permission.kind] for permission in view.permission_classes]
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        assert [item["security"] for item in description()["paths"][path].values()] == [kind], path


def test_it_is_valid():
    validate(description())
    assert description()["openapi"].startswith("3.1")


def test_it_is_generated_without_a_warning(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "openapi.yaml"))


def test_the_first_callers_of_a_process_may_ask_at_once():
    done = subprocess.run([sys.executable, "-c", GENERATE_AT_ONCE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{ {len(description()['paths'])} }\n", done.stderr


def test_it_is_served_as_json_and_yaml(client):
    as_json = client.get("/docs/openapi.json")
    as_yaml = client.get("/docs/openapi.yaml")
    assert as_json["Content-Type"] == "application/json"
    assert as_yaml["Content-Type"] == "application/yaml"
    assert json.loads(as_json.content) == yaml.safe_load(as_yaml.content) == description()


@pytest.mark.parametrize("name", ["json", "yaml"])
def test_it_is_served_compressed_to_who_can_read_that(client, name):
    plain = client.get(f"/docs/openapi.{name}")
    compressed = client.get(f"/docs/openapi.{name}", headers={"accept-encoding": "br, gzip"})
    assert compressed["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.content) == plain.content
    assert "Accept-Encoding" in compressed["Vary"] and "Accept-Encoding" in plain["Vary"]


def test_it_is_not_sent_again_to_who_has_it(client):
    etag = client.get("/docs/openapi.json")["ETag"]
    again = client.get("/docs/openapi.json", headers={"if-none-match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/docs/openapi.json", headers={"if-none-match": '"another"'}).status_code == 200


def test_it_has_its_operations_each_behind_its_kind_of_key():
    found = {
        (method, path, *(scheme or [None]))
        for method, path, item in operations()
        for scheme in item["security"] or [{}]
    }
    assert found == OPERATIONS


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
                    example = resolved(example)
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
                example = resolved(example)
                assert (CATALOGUE[code].status, CATALOGUE[code].title) == (status, example["value"]["title"])
                assert example["value"]["type"].endswith(f"/docs/errors/{code}/")


def test_every_error_is_one_problem_so_that_clients_get_one_type():
    schemes = [media["schema"] for *_, item in operations() for media in problems(item).values()]
    assert schemes == [{"$ref": "#/components/schemas/Problem"}] * len(schemes)
    assert schemas()["ErrorCode"]["enum"] == list(CATALOGUE)


def test_every_id_has_64_bits():
    def integers(node, name=""):
        if isinstance(node, dict):
            if node.get("type") in ("integer", ["integer", "null"]) and node.get("maximum") == MAX_ID:
                yield node
            for value in node.values():
                yield from integers(value)
        elif isinstance(node, list):
            for value in node:
                yield from integers(value)

    found = list(integers(description()))
    assert len(found) == 9
    assert all(schema["format"] == "int64" for schema in found)


def test_generators_find_a_whole_type_for_each_request():
    """A bare choice of what is required makes `Any` of the whole body, or nothing required."""
    for name, schema in schemas().items():
        if name.endswith("Request"):
            assert not schema.keys() & {"anyOf", "oneOf", "allOf"} and schema["properties"], name
    assert schemas()["SessionSendRequest"]["required"] == ["session_id", "type"]


def test_it_lists_the_values_that_the_service_knows():
    assert set(schemas()["Channel"]["enum"]) == set(ChannelType.values)
    assert schemas()["MessageStatus"]["enum"] == MessageStatus.values
    assert schemas()["ChallengeProvider"]["enum"] == ["altcha", "turnstile", "hcaptcha", "recaptcha"]
    assert schemas()["CodeLength"]["enum"] == [4, 6]


def test_the_callback_is_there_with_its_signature():
    (callback,) = description()["paths"]["/manual/send"]["post"]["callbacks"].values()
    called = callback["{$request.body#/callback_url}"]["post"]
    assert [header["name"] for header in called["parameters"]] == [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ]
    assert schemas()["ManualMessageFinished"]["required"] == ["channel", "error", "finished_at", "id", "status"]
    finished = schemas()["ManualMessageFinished"]["properties"]["status"]
    assert finished["enum"] == [status.value for status in FINAL]
    assert called["operationId"] == "messageFinished" and called["security"] == []


def test_each_event_of_sessions_is_a_webhook_with_its_signature_and_an_example_of_its_schema():
    document = description()
    assert set(document["webhooks"]) == {each.value for each in EventType}
    shape = document["components"]["schemas"]["SessionEvent"]
    for name in SESSION_EVENTS:
        told = document["webhooks"][name]["post"]
        assert {parameter["name"] for parameter in told["parameters"]} == set(CALLBACK_HEADERS)
        media = told["requestBody"]["content"]["application/json"]
        assert media["schema"]["allOf"][1]["properties"]["type"] == {"const": name}
        (example,) = media["examples"].values()
        assert example["value"]["type"] == name and set(example["value"]) == set(shape["properties"])
        data = document["components"]["schemas"]["SessionEventData"]
        assert set(example["value"]["data"]) == set(data["properties"]) == set(data["required"])


# --- in step with what is read and written ---------------------------------------------------------------------------


class Recording(dict):
    """The fields of a request, which remembers those that were asked for."""

    def __init__(self, fields, read):
        super().__init__(fields)
        self.read = read

    def get(self, name, default=None):
        self.read.add(name)
        return super().get(name, default)

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)


@pytest.fixture
def read(monkeypatch):
    """The names of the fields that the service looked at, of bodies and queries."""
    names = set()
    parse, plain = StrictJSONParser.parse, QueryDict.dict
    monkeypatch.setattr(StrictJSONParser, "parse", lambda *arguments: Recording(parse(*arguments), names))
    monkeypatch.setattr(QueryDict, "dict", lambda query: Recording(plain(query), names))
    return names


@pytest.mark.django_db
def test_every_field_that_is_read_is_described_and_every_described_one_is_read(api, read):
    for method, path, item in operations():
        query = {parameter["name"] for parameter in item["parameters"] if parameter["in"] == "query"}
        reference = item.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        body = schemas()[reference["$ref"].rpartition("/")[2]]["properties"].keys() if reference else set()
        key = api.key("secret" if item["security"] == [{"SecretKey": []}] else "api") if item["security"] else ""
        read.clear()
        path_of_one = path.replace("{id}", "1").replace("{session_id}", NO_SESSION)
        api.call(method.upper(), path_of_one, {} if body else None, key=key)
        assert read == query | body, path


@pytest.mark.django_db
def test_every_answer_has_the_members_that_are_described(api, outbox, project):
    project.set(challenge_mode="always")
    told = {
        "/session/settings": api.settings(),
        "/session/challenge": api.puzzle(project.row.public_id),
        "/session/channels": api.channels(),
    }
    project.set(challenge_mode="off", events=[each.value for each in SESSION_EVENTS])
    told["/session/create"] = session = api.create(send=False)
    told["/session/send"] = api.send(session.data["session_id"])
    told["/session/delivery"] = api.delivery(session.data["session_id"])
    told["/session/check"] = checked = api.check(session.data["session_id"], outbox.code)
    told["/session/verify"] = api.verify(checked.data["verify_token"])
    told["/session"] = api.sessions()
    told["/session/{session_id}"] = api.read(session.data["session_id"])
    told["/session/{session_id}/cancel"] = api.cancel(api.create("ada@example.com").data["session_id"])
    told["/manual/send"] = sent = api.manual_send()
    told["/manual/message/{id}"] = api.manual_message(sent.data["message_id"])
    told["/manual/verified"] = api.report_verified(message_id=sent.data["message_id"])
    told["/manual/channels"] = api.manual_channels()
    told["/events"] = listed = api.events("0")
    told["/events/{id}"] = api.event(listed.data["events"][0]["id"])
    for _, path, item in operations():
        assert told[path].status_code == 200
        schema = item["responses"]["200"]["content"]["application/json"]["schema"]
        assert_described(told[path].data, schema, path)
    assert told["/events"].data["events"]


def assert_described(value, schema, path):
    """Every member is described, and none that is described as always there is missing."""
    if "$ref" in schema:
        schema = schemas()[schema["$ref"].rpartition("/")[2]]
    schema = schema["allOf"][0] if "allOf" in schema else schema
    if "$ref" in schema:
        schema = schemas()[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "array":
        assert value, path
        for item in value:
            assert_described(item, schema["items"], path)
    elif "properties" in schema:
        described = schema["properties"]
        assert set(schema.get("required", ())) <= set(value) <= set(described), path
        for name, member in value.items():
            assert_described(member, described[name], f"{path} {name}")


def test_a_refusal_says_nothing_that_is_not_described():
    """A member that a service tells with a refusal, and that ``Problem`` does not know, would be lost."""
    given = set()
    for path in (ROOT / "verification").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == ApiError.__name__:
                given |= {keyword.arg for keyword in node.keywords} - {"decision", "detail"}
    assert given >= {"retry_after", "attempts_left", "provider", "api_key", "link"}
    assert given <= set(schemas()["Problem"]["properties"])
