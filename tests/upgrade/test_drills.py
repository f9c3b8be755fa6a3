"""The page on upgrades, backups and keys, followed command by command against one live service."""

from __future__ import annotations

import base64
import json
import re
import secrets
import signal

import psycopg
import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.fakes.http_server import FakeHttpServer
from tests.faults.shop import Shop, add_gateway, recipient
from tests.live import ROOT, LiveService, free_port, wait_until
from tests.servers.postgres import PostgresServer
from tests.upgrade.guide import Operator, block, commands

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("drills"),
    pytest.mark.timeout(600),  # of the first test, which may wait for all migrations
]

PAGE = "upgrade.md"
NAME = "My shop"


@pytest.fixture(scope="module")
def database():
    with PostgresServer(is_migrated=True) as server:
        yield server


@pytest.fixture(scope="module")
def service(tmp_path_factory, database):
    live = LiveService(
        tmp_path_factory.mktemp("service"),
        is_embedded=False,
        web_processes=1,
        BASE_URL=f"http://127.0.0.1:{free_port()}",
        DATABASE_URL=database.url,
    )
    try:
        live.servers.start()
        live.start_web()
        live.start_worker()
        yield live
    finally:
        live.stop()


@pytest.fixture(scope="module")
def shop(service):
    made = service.json("createproject", NAME)
    with FakeHttpServer() as gateway:
        opened = Shop(service, gateway, made["project"], made["api_key"], made["secret_key"])
        add_gateway(opened, gateway)
        yield opened


@pytest.fixture(scope="module")
def operator(service, tmp_path_factory):
    return Operator(service, tmp_path_factory.mktemp("operator"))


def restart(service, **changed):
    """Give a service other settings; None takes one away."""
    for name in ("web", "worker0"):
        service.kill(name, signal.SIGTERM)
    for name, value in changed.items():
        if value is None:
            del service.environment[name]
        else:
            service.environment[name] = value
    service.start_web()
    service.start_worker()


def some_key():
    return base64.b64encode(secrets.token_bytes(32)).decode()


def assert_somebody_verifies(shop):
    status, body, _ = shop.verify(shop.token_for(recipient()))
    assert status == 200, body


def signers(request, names):
    """Return which of the secrets a callback is signed with."""
    found = []
    for secret in names:
        try:
            Webhook(secret).verify(request.body, request.headers)
            found.append(secret)
        except WebhookVerificationError:
            pass
    return found


def test_a_key_of_a_project_is_replaced(shop, operator):
    issue, show, revoke = commands(PAGE, "Keys of a project")
    before = shop.secret_key
    ids = {row["prefix"]: row["id"] for row in json.loads(operator.type(f"{show} --json"))["keys"]}
    (old,) = [key for prefix, key in ids.items() if before.startswith(prefix)]
    shop.secret_key = json.loads(operator.type(f"{issue} --json"))["secret_key"]
    assert_somebody_verifies(shop)
    operator.type(revoke.replace("12", str(old)))
    shop.secret_key, new = before, shop.secret_key
    wait_until(lambda: shop.verify("x")[0] == 401, "the old key is refused")
    shop.secret_key = new
    assert_somebody_verifies(shop)


@pytest.mark.requirement(78)
def test_the_secret_of_callbacks_is_replaced_with_a_day_of_both(shop, operator):
    (rotate,) = commands(PAGE, "The secret of callbacks")
    made = [json.loads(operator.type(f"{rotate} --json"))["webhook_secret"] for _ in range(2)]
    with FakeHttpServer() as receiver:
        status, body, _ = shop.send(recipient(), code="4242", callback_url=f"{receiver.url}/called")
        assert status == 200, body
        (called,) = wait_until(lambda: list(receiver.requests), "the callback comes")
    assert signers(called, made) == made


def test_the_webhook_address_of_a_provider_is_replaced(shop, service, operator):
    (renew,) = commands(PAGE, "The webhook address of a provider")
    (provider,) = service.json("list", "providers", NAME)["providers"]
    before = service.json("provider", "show", str(provider["id"]))["hook_url"]
    after = json.loads(operator.type(f"{renew.replace('12', str(provider['id']))} --json"))["hook_url"]
    assert before != after
    old, new = (address.partition("/hooks")[2] for address in (before, after))
    wait_until(lambda: service.call("POST", f"/hooks{old}", {})[0] == 404, "the old address is refused")
    assert service.call("POST", f"/hooks{new}", {})[0] != 404


@pytest.mark.requirement(94)
def test_encryption_keys_are_replaced(shop, service, operator):
    old, new = service.environment["ENCRYPTION_KEYS"], some_key()
    to = recipient()
    session = shop.open_session(to)
    restart(service, ENCRYPTION_KEYS=f"{old},{new}")
    assert_somebody_verifies(shop)
    restart(service, ENCRYPTION_KEYS=f"{new},{old}")
    assert_somebody_verifies(shop)
    assert "can go" in operator.type("manage.py reencrypt")
    restart(service, ENCRYPTION_KEYS=new)
    assert shop.check(session, shop.code_for(to))[0] == 200  # what was under way is not lost
    assert_somebody_verifies(shop)
    assert json.loads(operator.type("manage.py reencrypt --json"))["droppable"] == []


@pytest.mark.requirement(95)
def test_the_secret_key_is_replaced(shop, service):
    old, new = service.environment["SECRET_KEY"], secrets.token_urlsafe(48)
    once = {"headers": {"idempotency-key": "before"}, "code": "4242"}
    to = recipient()
    first = shop.send(to, **once)
    assert first[0] == 200
    restart(service, SECRET_KEY_FALLBACKS=new)
    waits = recipient()
    session = shop.open_session(waits)
    code = shop.code_for(waits)
    restart(service, SECRET_KEY=new, SECRET_KEY_FALLBACKS=old)
    status, checked, _ = shop.check(session, code)
    assert status == 200, checked
    assert shop.verify(checked["verify_token"])[0] == 200
    assert_somebody_verifies(shop)
    assert shop.send(to, **once)[:2] == first[:2]
    restart(service, SECRET_KEY_FALLBACKS=None)
    assert_somebody_verifies(shop)
    assert shop.send(to, **once)[0] == 409


def test_one_person_is_exported_and_erased(shop, operator):
    to = recipient()
    shop.verify(shop.token_for(to))
    erase, export = (
        re.sub(r"ada@example\.com|\+4915112345678", to, text) for text in commands("operate.md", "One person's data")
    )
    shown = json.loads(operator.type(export))
    assert to in json.dumps(shown) and shop.code_for(to) not in json.dumps(shown)
    operator.type(erase)
    assert json.loads((operator.folder / "ada.json").read_text()).keys() == shown.keys()
    assert shop.messages_to(to) == []


@pytest.mark.requirement(96)
def test_a_dump_is_restored_on_another_machine_and_a_user_verifies_there(
    shop, service, operator, database, tmp_path_factory
):
    to = recipient()
    assert shop.verify(shop.token_for(to))[0] == 200
    database.execute("CREATE DATABASE watchword_trial OWNER watchword")
    operator.environment |= {"BACKUP_KEY": "age1of-the-drill", "TRIAL_URL": database.url + "_trial"}
    operator.environment["WATCHWORD"] = "manage.py"
    folder = operator.folder / "backups"
    folder.mkdir()
    typed = block(PAGE, "Backups").replace("/var/backups/watchword", str(folder))
    told = operator.type(typed.replace("deploy/backup", f"{ROOT}/deploy/backup"), path=database.binaries())
    assert ", restored: " in told
    (backup,) = folder.glob("watchword-*.dump.age")
    lists = "SELECT (SELECT count(*) FROM verification_recipient), (SELECT count(*) FROM pg_trigger), (SELECT count(*)"
    lists += " FROM pg_proc WHERE pronamespace = 'public'::regnamespace)"
    before, sent = service.query(lists), shop.messages_to(to)
    with PostgresServer() as other:
        other.execute("DROP DATABASE watchword")
        kept = {name: service.environment[name] for name in ("SECRET_KEY", "ENCRYPTION_KEYS", "BASE_URL")}
        machine = LiveService(
            tmp_path_factory.mktemp("other"), is_embedded=False, web_processes=1, DATABASE_URL=other.url, **kept
        )
        try:
            machine.servers.start()
            postgres = {"PGHOST": "127.0.0.1", "PGPORT": str(other.port), "PGUSER": "postgres", "BACKUP": str(backup)}
            there = Operator(machine, tmp_path_factory.mktemp("there"), **postgres)
            told = there.type(block(PAGE, "Backups", 1), path=other.binaries())
            assert "All rows are consistent." in told
            assert machine.query(lists) == before
            with pytest.raises(psycopg.Error, match="audit"):
                machine.query("DELETE FROM verification_auditentry RETURNING id")
            machine.start_web()
            machine.start_worker()
            restored = Shop(machine, shop.gateway, shop.id, shop.api_key, shop.secret_key)
            assert restored.messages_to(to) == sent
            assert_somebody_verifies(restored)
        finally:
            machine.stop()
