"""The x-api-key header: who may call what, and until when."""

import re
import time
from types import SimpleNamespace

import pytest
from django.db import connection

from tests import clock, factories
from tests.api.calls import Api, problem
from tests.fakes.outage import database_away
from verification.core import caching
from verification.core.crypto import stored_digest
from verification.models import Alert, ApiKey, Decision, KeyKind, Message, Session
from verification.services.projects import keys
from verification.services.projects.keys import issue_key, revoke_key
from verification.services.records.decisions import RULES

pytestmark = pytest.mark.django_db

STRANGER = "198.41.0.4"  # a public address


def unknown_key():
    """One with a right checksum that was never issued."""
    from verification.services.projects.keys import _checksum

    random = "0" * 32
    return f"ww_api_{random}{_checksum(random)}"


def mistyped(key):
    return key[:-1] + ("a" if key[-1] != "a" else "b")


def settings_with(api, key, **environ):
    api.client.defaults.update(environ)
    return api.call("GET", "/session/settings", key=key)


# --- the two kinds ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement(1)
def test_a_refused_kind_has_no_effect(api):
    api.secret_key, api.api_key = api.api_key, api.secret_key
    api.create()
    api.manual_send()
    assert not Session.objects.exists() and not Message.objects.exists()


# --- keys that are none ----------------------------------------------------------------------------------------------


def expired(project, kind):
    key = issue_key(project=project.row, kind=kind, expires_in=100)
    clock.forward(100)
    return key.text


def revoked(project, kind):
    key = issue_key(project=project.row, kind=kind)
    revoke_key(key.id)
    return key.text


def of_a_disabled_project(project, kind):
    key = issue_key(project=project.row, kind=kind)
    project.set(is_enabled=False)
    return key.text


@pytest.mark.requirement(7)
@pytest.mark.parametrize("make", [expired, revoked, of_a_disabled_project])
@pytest.mark.parametrize("kind", KeyKind)
def test_a_key_that_is_over_looks_like_an_unknown_one(api, project, make, kind):
    path = "/session/settings" if kind is KeyKind.API else "/manual/channels"
    over = api.call("GET", path, key=make(project, kind))
    unknown = api.call("GET", path, key=unknown_key())
    del over.data["request_id"], unknown.data["request_id"]
    assert problem(over) == (401, "invalid_api_key")
    assert over.data == unknown.data


@pytest.mark.requirement(6)
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda key: key.upper(), id="capitals"),
        pytest.param(lambda key: key.lower(), id="small"),
        pytest.param(lambda key: f"Bearer {key}", id="Bearer"),
        pytest.param(lambda key: f"{key},{key}", id="two"),
        pytest.param(lambda key: f"{key}, {key}", id="two headers"),
        pytest.param(lambda key: f" {key}", id="space before"),
        pytest.param(lambda key: f"{key} ", id="space after"),
        pytest.param(lambda key: key[:-1], id="shorter"),
        pytest.param(lambda key: key + "0", id="longer"),
        pytest.param(lambda key: key.removeprefix("ww_"), id="no prefix"),
        pytest.param(lambda key: key.replace("ww_api_", "ww_secret_"), id="other prefix"),
        pytest.param(lambda key: key + "é", id="not ASCII"),
        pytest.param(lambda key: "\u00ff" * 45, id="Latin"),
        pytest.param(lambda key: "ww_api_" + "\u0660" * 38, id="other digits"),
        pytest.param(lambda key: "x" * 8192, id="8 KiB"),
        pytest.param(lambda key: "' OR 1=1 --", id="SQL"),
        pytest.param(lambda key: "null", id="null"),
        pytest.param(mistyped, id="mistyped"),
    ],
)
def test_an_odd_value_is_refused(api, spoil):
    assert problem(api.call("GET", "/session/settings", key=spoil(api.api_key))) == (401, "invalid_api_key")


@pytest.mark.requirement(2, 4)
@pytest.mark.django_db(transaction=True)
def test_a_mistyped_key_is_refused_without_asking_the_database(api):
    with database_away():
        assert problem(api.call("GET", "/session/settings", key=mistyped(api.api_key))) == (401, "invalid_api_key")


# --- nowhere but in the header ---------------------------------------------------------------------------------------


@pytest.mark.requirement(6)
@pytest.mark.parametrize("name", ["x-api-key", "api_key", "apikey", "key"])
def test_a_key_in_the_query_is_ignored(api, name):
    assert problem(api.call("GET", f"/session/settings?{name}={api.api_key}")) == (401, "missing_api_key")


def test_a_key_in_the_body_is_ignored(api):
    body = {"to": "+4915112345678", "x-api-key": api.api_key, "api_key": api.api_key}
    assert problem(api.call("POST", "/session/create", body)) == (401, "missing_api_key")


def test_a_key_in_another_header_is_ignored(api):
    headers = {"authorization": f"Bearer {api.api_key}", "cookie": f"x-api-key={api.api_key}", "api-key": api.api_key}
    answer = api.call("GET", "/session/settings", headers=headers)
    assert problem(answer) == (401, "missing_api_key")
    assert answer.json()["detail"] == "Send your key in the x-api-key header; it is not read from Authorization."


# --- what a key is ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement(2)
def test_a_key_tells_its_kind_at_first_sight(project):
    assert re.fullmatch(r"ww_api_[0-9A-Za-z]{38}", project.api_key)
    assert re.fullmatch(r"ww_secret_[0-9A-Za-z]{38}", project.secret_key)


@pytest.mark.requirement(3)
def test_of_a_key_only_a_digest_and_a_prefix_are_kept(project):
    row = ApiKey.objects.get(project=project.row, kind="api")
    assert bytes(row.digest) == stored_digest(project.api_key, kind="key")
    assert project.api_key.startswith(row.prefix) and len(row.prefix) <= len("ww_api_") + 4


@pytest.mark.requirement(5)
def test_a_project_has_any_number_of_keys_of_a_kind(api, project):
    keys = [issue_key(project=project.row, kind=KeyKind.API).text for _ in range(3)]
    assert {api.call("GET", "/session/settings", key=key).status_code for key in [api.api_key, *keys]} == {200}


def test_revoking_one_key_leaves_the_others(api, project):
    revoked(project, KeyKind.API)
    assert api.settings().status_code == 200


def test_an_expiring_key_works_until_then(api, project):
    api.api_key = issue_key(project=project.row, kind=KeyKind.API, expires_in=100).text
    clock.forward(90)
    assert api.settings().status_code == 200


@pytest.mark.requirement(5)
def test_the_last_use_is_noted(api):
    api.settings()
    used = ApiKey.objects.get(kind="api").last_used_at
    assert used is not None
    assert ApiKey.objects.get(kind="secret").last_used_at is None


@pytest.mark.parametrize(("seconds", "is_rewritten"), [(50, False), (61, True)])
def test_the_last_use_is_kept_to_the_minute(api, seconds, is_rewritten):
    api.settings()
    clock.forward(seconds)
    caching.clear_all()
    before = ApiKey.objects.get(kind="api").last_used_at
    api.settings()
    assert (ApiKey.objects.get(kind="api").last_used_at > before) is is_rewritten


# --- every change holds within a second, with nobody told of it ------------------------------------------------------


def revoke(project):
    ApiKey.objects.filter(project=project.row).update(revoked_at="2020-01-01T00:00:00Z")


def expire(project):
    ApiKey.objects.filter(project=project.row).update(
        created_at="2020-01-01T00:00:00Z", expires_at="2020-01-02T00:00:00Z"
    )


def disable(project):
    type(project.row).objects.filter(pk=project.id).update(is_enabled=False)


@pytest.mark.parametrize("end", [revoke, expire, disable])
def test_a_key_that_is_over_is_refused_within_a_second(api, project, end):
    assert api.settings().status_code == 200
    end(project)
    time.sleep(1)
    assert problem(api.settings()) == (401, "invalid_api_key")


def test_the_second_began_when_the_database_was_asked_not_when_it_answered(api, project, monkeypatch):
    now, call = [1000.0], keys.sql.call

    def slow(function, **arguments):
        row = call(function, **arguments)
        now[0] += 0.9
        return row

    for module in (keys, caching):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(keys, "sql", SimpleNamespace(call=slow))
    assert api.settings().status_code == 200
    revoke(project)
    now[0] += 0.1
    assert problem(api.settings()) == (401, "invalid_api_key")


def test_a_changed_setting_holds_within_a_second(api, project):
    assert api.settings().data["code"]["length"] == 6
    type(project.row).objects.filter(pk=project.id).update(code_length=4)
    time.sleep(1)
    assert api.settings().data["code"]["length"] == 4


def test_a_switched_off_provider_is_left_alone_within_a_second(api, outbox, project):
    project.provider("sms", name="second", priority=200)
    api.create()
    assert outbox.names == ["sms first"]
    project.row.providers.filter(name="sms first").update(is_enabled=False)
    time.sleep(1)
    api.create("+4915112345679")
    assert outbox.names == ["sms first", "second"]


# --- secret keys from the project's networks only -----------------------------------------------------------------


def as_server(api, address, path="/manual/channels", headers=None):
    return api.call("GET", path, key=api.secret_key, headers=headers, REMOTE_ADDR=address)


@pytest.mark.requirement(8)
@pytest.mark.parametrize(
    ("networks", "address", "is_allowed"),
    [
        (["198.41.0.0/24"], STRANGER, True),
        (["198.41.0.4/32"], STRANGER, True),
        (["198.41.1.0/24", "198.41.0.0/24"], STRANGER, True),
        (["198.41.0.0/24"], f"::ffff:{STRANGER}", True),
        (["2001:500:2::/48"], "2001:500:2:0:1::1", True),
        (["0.0.0.0/0"], STRANGER, True),
        ([], STRANGER, True),
        (["198.41.1.0/24"], STRANGER, False),
        (["2001:500:2::/48"], STRANGER, False),
        (["0.0.0.0/0"], "2001:500:2::1", False),
        (["198.41.0.0/24"], "127.0.0.1", False),
        (["198.41.0.0/24"], "", False),
    ],
)
def test_a_secret_key_is_taken_from_the_listed_networks_only(api, project, networks, address, is_allowed):
    project.set(secret_key_networks=networks)
    response = as_server(api, address)
    assert response.status_code == 200 if is_allowed else problem(response) == (401, "invalid_api_key")


@pytest.mark.requirement(7)
def test_from_elsewhere_a_secret_key_looks_like_an_unknown_one(api, project):
    project.set(secret_key_networks=["198.41.1.0/24"])
    for path in ("/manual/channels", "/session/settings"):  # of the wrong kind too
        stolen = as_server(api, STRANGER, path)
        unknown = api.call("GET", path, key=unknown_key(), REMOTE_ADDR=STRANGER)
        del stolen.data["request_id"], unknown.data["request_id"]
        assert problem(stolen) == (401, "invalid_api_key")
        assert stolen.data == unknown.data


def test_from_elsewhere_a_secret_key_counts_as_an_unknown_one(api, project):
    project.set(secret_key_networks=["198.41.1.0/24"])
    answers = [problem(as_server(api, STRANGER)) for _ in range(31)]
    assert answers == [(401, "invalid_api_key")] * 30 + [(429, "rate_limited")]


@pytest.mark.requirement(98)
def test_the_owner_reads_from_where_a_secret_key_was_refused(api, project):
    project.set(secret_key_networks=["198.41.1.0/24"])
    as_server(api, STRANGER)
    noted = Decision.objects.get(project=project.row)
    assert (noted.rule, noted.subject) == ("secret_key_network", STRANGER)
    assert noted.rule in RULES


@pytest.mark.requirement(104)
@pytest.mark.parametrize(("method", "path"), [("GET", "/manual/channels"), ("GET", "/session/settings")])
def test_a_secret_key_in_a_browser_alerts_its_owner_once(api, project, method, path):
    for _ in range(2):
        api.call(method, path, key=api.secret_key, headers={"origin": "https://shop.example"})
    alert = Alert.objects.get(project=project.row)
    assert alert.kind == "secret_key_in_browser"
    assert "'https://shop.example'" in alert.detail
    assert api.secret_key not in alert.detail


def test_an_api_key_in_a_browser_and_a_secret_key_on_a_server_alert_nobody(api):
    api.call("GET", "/session/settings", key=api.api_key, headers={"origin": "https://shop.example"})
    api.call("GET", "/manual/channels", key=api.secret_key)
    assert not Alert.objects.exists()


def test_that_a_key_was_refused_for_its_network_is_logged_without_the_key(api, project, caplog):
    project.set(secret_key_networks=["198.41.1.0/24"])
    as_server(api, STRANGER)
    [line] = [record.getMessage() for record in caplog.records if record.name == "verification.services.projects.keys"]
    assert f"project {project.id} " in line and STRANGER in line
    assert api.secret_key not in line


def test_the_api_key_is_taken_from_anywhere(api, project):
    project.set(secret_key_networks=["198.41.1.0/24"])
    assert settings_with(api, api.api_key, REMOTE_ADDR=STRANGER).status_code == 200


@pytest.mark.parametrize(("proxies", "status"), [(0, 401), (1, 200)])
def test_the_network_is_judged_on_what_our_own_proxies_say(api, project, settings, proxies, status):
    """Without a trusted proxy anybody could write the address that is allowed."""
    settings.TRUSTED_PROXIES = proxies
    project.set(secret_key_networks=["198.41.0.0/24"])
    response = as_server(api, "203.0.113.9", headers={"x-forwarded-for": f"10.9.9.9, {STRANGER}"})
    assert response.status_code == status


# --- unknown keys are counted by address -----------------------------------------------------------------------------


def exhaust(api, **environ):
    for _ in range(30):
        assert settings_with(api, mistyped(api.api_key), **environ).status_code == 401


@pytest.mark.requirement(8)
def test_after_30_unknown_keys_in_a_minute_further_ones_are_held_off(api):
    exhaust(api)
    refused = settings_with(api, mistyped(api.api_key))
    assert problem(refused) == (429, "rate_limited")
    assert 1 <= refused.data["retry_after"] <= 60
    assert refused["Retry-After"] == str(refused.data["retry_after"])


def test_a_valid_key_passes_all_the_same(api):
    exhaust(api)
    assert api.settings().status_code == 200


def test_a_valid_key_that_this_process_has_not_seen_passes_too(api, project):
    exhaust(api)
    settings_with(api, unknown_key())
    caching.clear_all()
    assert api.settings().status_code == 200


@pytest.mark.requirement(8)
def test_who_is_held_off_costs_the_database_no_look_up_for_a_key(api, project):
    exhaust(api)
    settings_with(api, unknown_key())
    assert settings_with(api, unknown_key()).status_code == 429
    with connection.cursor() as cursor:  # from here on each look-up of a key is a 500
        cursor.execute("SELECT pg_get_functiondef('load_caller(bytea,bigint)'::regprocedure)")
        [definition] = cursor.fetchone()
        head = definition[: definition.index("LANGUAGE")]
        cursor.execute(f"{head} LANGUAGE plpgsql AS $$ BEGIN RAISE 'asked'; END $$")
    assert [settings_with(api, unknown_key()).status_code for _ in range(5)] == [429] * 5


def test_missing_and_wrong_kinds_of_keys_do_not_count(api):
    for _ in range(31):
        api.call("GET", "/session/settings")
        api.call("GET", "/session/settings", key=api.secret_key)
    assert settings_with(api, mistyped(api.api_key)).status_code == 401


def test_another_address_is_not_held_off(api):
    exhaust(api, REMOTE_ADDR=STRANGER)
    assert settings_with(api, mistyped(api.api_key), REMOTE_ADDR="198.41.0.5").status_code == 401


@pytest.mark.requirement(8)
@pytest.mark.parametrize(
    ("address", "status"), [("2001:500:2::ffff", 429), ("2001:500:2:0:1:2:3:4", 429), ("2001:500:2:1::", 401)]
)
def test_an_ipv6_caller_is_counted_by_its_network_of_64_bits(api, address, status):
    exhaust(api, REMOTE_ADDR="2001:500:2::1")
    assert settings_with(api, mistyped(api.api_key), REMOTE_ADDR=address).status_code == status


def test_the_count_is_the_callers_whatever_the_project(api):
    exhaust(api)
    other = Api(api.client, factories.project().api_key, "")
    assert settings_with(other, mistyped(other.api_key)).status_code == 429
