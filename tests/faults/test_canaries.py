"""A whole day of a shop with marked secrets, and then a search for them wherever the service leaves something.

The search covers what the processes print, the servers' logs, and a dump of every table. It also covers every command
that Valkey was given, and what it still holds.
"""

import base64
import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import psycopg
import pytest
import redis

from tests.fakes.http_server import FakeHttpServer, answer, hang
from tests.faults.conftest import METRICS_TOKEN
from tests.faults.shop import Shop, end_leases
from tests.live import ROOT, at_once, free_port, wait_until
from tests.providers.challenges.test_altcha import solve
from verification.core.caching import MAX_AGE_SECONDS

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live")]

PASSWORD, HEADER, RECEIPT_SECRET = "canary-password", "canary-header-token", "canary-receipt-secret"
MANUAL_CODE = "580137"
CUSTOMER_TOKEN = "canary-callback-token"  # in the query of the callback's address
GATEWAY_TOKEN = "canary-url-token"  # in the query of a gateway's address
PHONES = ["+4915190017301", "+4915290128412", "+4915790239523", "+4916090350634", "+4917090461745", "+4917690683967"]
STRANGER = "+4915190572856"  # whose row the database refuses
TESTER, TEST_CODE = "canary.tester@example.com", "7QXV2K"  # a test login
MAIL = "canary.recipient@example.com"
ADDRESSES = (*PHONES, STRANGER, MAIL)


@pytest.fixture(scope="module")
def seen(service, gateway):
    """Live the day. It tells what to look for, by name, and every command that Valkey was given meanwhile."""
    with FakeHttpServer() as customer, Monitor(service.servers.redis_url) as monitor:
        day = Day(service, gateway, customer)
        try:
            day.live()
        finally:
            day.clean_up()
        day.commands = monitor.text()
    return day


class Monitor:
    """Reads along with Valkey, so that nothing escapes by living shortly."""

    END = "the end of the day"

    def __init__(self, url):
        self.client = redis.Redis.from_url(url)
        self.lines = []

    def __enter__(self):
        self.connection = self.client.connection_pool.get_connection()
        self.connection.send_command("MONITOR")
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def _read(self):
        with contextlib.suppress(redis.RedisError, OSError, ValueError):  # at its end the connection is closed
            while True:
                self.lines.append(self.connection.read_response(timeout=None).decode())

    def __exit__(self, *_):
        self.connection.disconnect()
        self.client.close()

    def text(self):
        self.client.echo(self.END)
        wait_until(lambda: any(self.END in line for line in list(self.lines)), "the last command was read")
        return "\n".join(self.lines)


class Day:
    def __init__(self, service, gateway, customer):
        self.service, self.gateway, self.customer = service, gateway, customer
        self.codes = {MANUAL_CODE, TEST_CODE}
        self.secrets = {
            "password": PASSWORD,
            "header": HEADER,
            "receipt secret": RECEIPT_SECRET,
            "token": GATEWAY_TOKEN,
        }
        self.sessions = set()
        self.commands = ""

    def live(self):
        self.open()
        self.sell()
        self.misuse()
        self.send_by_hand()
        self.break_down()

    def open(self):
        values = {
            "username": "shop",
            "password": PASSWORD,
            "headers": f"x-token: {HEADER}",
            "body": '{"to":"{to}","code":"{code}","text":"{text}","id":"{message_id}","hook":"{hook_url}"}',
            "has_receipts": True,
            "receipt_id_field": "id",
            "receipt_status_field": "status",
            "receipt_success": "delivered",
            "receipt_secret": RECEIPT_SECRET,
        }
        gateways = [
            ("sms", {**values, "url": f"{self.gateway.url}/sms"}),
            ("sms", {**values, "url": f"http://127.0.0.1:{free_port()}/sms?token={{secret}}", "secret": GATEWAY_TOKEN}),
            ("email", {"url": f"{self.gateway.url}/mail"}),
        ]
        made = run_inside(self.service, OPEN_SHOP, {"gateways": gateways, "test login": [TESTER, TEST_CODE]})
        self.shop = Shop(self.service, self.gateway, made["project"], made["API key"], made["secret key"])
        self.public_id, self.over_key = made["public_id"], made["revoked key"]
        self.secrets |= {name: made[name] for name in ("API key", "secret key", "revoked key", "webhook secret")}
        self.secrets |= {f"path of {name}": secret for name, secret in made["hook secrets"].items()}

    def ask_for_challenges(self, mode):
        """And let every process know."""
        self.service.query(
            "UPDATE verification_project SET challenge_mode = %s WHERE id = %s RETURNING id", mode, self.shop.id
        )

        def is_asked(_):
            return self.shop.as_app("GET", "/session/settings")[1]["challenge"]["enabled"]

        time.sleep(MAX_AGE_SECONDS)  # for so long a process that none of the calls below reaches may go by the old mode
        wait_until(lambda: set(at_once(12, is_asked)) == {mode == "always"}, "every process knows")

    def open_session(self, to, **fields):
        status, body, _ = self.shop.create(to, **fields)
        assert status == 200, body
        self.sessions.add(body["session_id"])
        return body["session_id"]

    def code_for(self, to):
        code = self.shop.code_for(to)
        self.codes.add(code)
        return code

    def sell(self):
        """The usual way, a gateway that repeats what it was sent, and the next one that cannot be reached."""
        self.gateway.script(echo(503))
        session_id = self.open_session(PHONES[0])
        for path in ("/session/channels", "/session/settings"):
            assert self.shop.as_app("GET", f"{path}?session_id={session_id}")[0] == 200
        assert self.shop.check(session_id, "QQQQQQ")[0] == 400
        assert self.shop.check(session_id, self.code_for(PHONES[0]))[0] == 200
        assert self.shop.check(self.open_session(TESTER), TEST_CODE)[0] == 200
        token = self.token_for(PHONES[1])
        assert self.shop.verify(token)[0] == 200
        assert self.shop.verify(token)[0] == 410
        wait_until(lambda: self.shop.messages_to(PHONES[1]) == ["sent"], "the gateway has it")
        assert self.report(PHONES[1], RECEIPT_SECRET) == 200
        assert self.report(PHONES[1], "canary-forged-secret") == 401
        self.secrets["forged secret"] = "canary-forged-secret"
        self.gateway.script(echo(400))
        self.open_session(MAIL)
        self.code_for(MAIL)
        wait_until(lambda: self.shop.messages_to(MAIL) == ["failed"], "the gateway refuses it")

    def token_for(self, to):
        status, body, _ = self.shop.check(self.open_session(to), self.code_for(to))
        assert status == 200, body
        self.secrets[f"token {len(self.secrets)}"] = body["verify_token"]
        return body["verify_token"]

    def report(self, to, secret):
        sent = self.shop.sent_to(to)[-1]
        path = urllib.parse.urlsplit(sent["hook"]).path
        content = {"id": sent["id"], "status": "delivered"}
        return self.service.call("POST", path, content, headers={"x-receipt-secret": secret})[0]

    def misuse(self):
        """Try what must not work, each time with something in it that must not be repeated."""
        unknown = self.shop.secret_key[:-7] + "Canary7"
        self.secrets["unknown key"] = unknown
        for key in (self.over_key, unknown, "ww_api_canary-that-is-no-key"):
            assert self.service.call("GET", "/session/settings", key=key)[0] in (401, 429)
        assert self.shop.as_app("GET", f"/session/settings?api_key={self.shop.secret_key}")[0] == 200
        session_id = next(iter(self.sessions))
        assert self.shop.as_app("POST", f"/session/nowhere?session_id={session_id}", {})[0] == 404
        assert self.shop.as_server("POST", "/session/check", {"session_id": session_id, "code": MANUAL_CODE})[0] == 403
        assert self.shop.as_app("POST", "/session/create", b'{"to": "%s", ' % PHONES[0].encode())[0] == 400
        assert self.service.call("GET", f"/docs/{session_id}?key={self.shop.secret_key}")[0] == 404
        assert self.shop.verify(self.secrets["header"])[0] == 400
        self.ask_for_challenges("always")
        assert self.shop.create(PHONES[2])[0] == 403
        answered = solve(self.service.call("GET", f"/session/challenge?project={self.public_id}")[1])
        self.secrets["challenge token"] = answered
        self.open_session(PHONES[2], challenge_token=answered)
        assert self.shop.create(PHONES[2], challenge_token=answered)[0] == 403
        self.code_for(PHONES[2])
        self.ask_for_challenges("off")

    def send_by_hand(self):
        """Send twice under one key, with a callback that fails first and repeats what it was sent."""
        self.customer.script(echo(500))
        self.callback_url = f"{self.customer.url}/done?token={CUSTOMER_TOKEN}"
        fields = {"code": MANUAL_CODE, "callback_url": self.callback_url}
        headers = {"idempotency-key": "canary-idempotency-key"}
        first = self.shop.send(PHONES[3], headers, **fields)
        assert first[0] == 200, first
        assert self.shop.send(PHONES[3], headers, **fields)[1] == first[1]
        wait_until(lambda: self.shop.messages_to(PHONES[3]) == ["sent"], "it is sent")
        assert self.report(PHONES[3], RECEIPT_SECRET) == 200
        wait_until(lambda: self.tries_of(first[1]["message_id"]), "the customer was told")
        self.shop.gateway.script(hang())
        self.shop.send(PHONES[4], code=MANUAL_CODE)
        wait_until(lambda: self.shop.sent_to(PHONES[4]), "a worker asks the gateway")

    def tries_of(self, message_id):
        return self.service.query(
            "SELECT attempt.status FROM verification_webhookattempt AS attempt"
            " JOIN verification_webhookevent AS event ON event.id = attempt.event_id WHERE event.message_id = %s",
            message_id,
        )

    def break_down(self):
        """A worker dies, the database refuses rows and names them, and a worker tells all that it can."""
        self.service.kill("worker0")
        with Refusing(self.service, "verification_recipient"):
            status, body, _ = self.shop.create(STRANGER)
            assert (status, body["code"]) == (500, "internal_error")
        session_id = self.open_session(PHONES[5])
        assert self.shop.send(PHONES[1], code=MANUAL_CODE, callback_url=self.callback_url)[0] == 200
        self.keys_while_queued = keyspace(self.service)
        self.service.environment["LOG_LEVEL"] = "DEBUG"
        with Refusing(self.service, "verification_message"):
            self.service.start_worker("worker-canary")
            wait_until(lambda: "delivery failed" in self.service.output("worker-canary"), "the database refused")
        end_leases(self.service)
        assert self.shop.check(session_id, self.code_for(PHONES[5]))[0] == 200
        wait_until(lambda: set(self.shop.messages_to(PHONES[4])) == {"sent"}, "the dead worker's message is sent again")

    def clean_up(self):
        self.service.environment.pop("LOG_LEVEL", None)
        if "worker-canary" in self.service.processes:
            self.service.kill("worker-canary")
        if "worker0" not in self.service.processes:
            self.service.start_worker()


# Letters, so that what looks like a code is one. One process in place of seven commands, for its speed.
OPEN_SHOP = """
import json, sys
from verification.services.providers import accounts as providers
from verification.services.projects import keys, projects, test_logins
given = json.load(sys.stdin)
new = projects.create_project(name="Canary shop")
project = new.project
project.code_digits, project.code_letters = False, True
project.save()
over = keys.issue_key(project=project, kind="api")
keys.revoke_key(over.id)
made = [
    providers.add_provider(
        project=project, channel=channel, provider_type="http", name=f"Gateway {number}", values=values, priority=number
    )
    for number, (channel, values) in enumerate(given["gateways"])
]
to, code = given["test login"]
test_logins.add_test_login(project=project, to=to, code=code)
print(json.dumps({
    "project": project.pk, "public_id": str(project.public_id), "API key": new.api_key, "secret key": new.secret_key,
    "revoked key": over.text, "webhook secret": new.webhook_secret.removeprefix("whsec_"),
    "hook secrets": {each.name: providers.hook_secret_of(each) for each in made},
}))
"""


def run_inside(service, script, argument):
    """Run a script with the service's own code and return what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", script],
        cwd=ROOT,
        env=service.environment,
        input=json.dumps(argument),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Refusing:
    """A table that takes no rows; PostgreSQL's error holds the row."""

    def __init__(self, service, table):
        self.service, self.table = service, table

    def __enter__(self):
        self._alter("ADD CONSTRAINT canary CHECK (false) NOT VALID")

    def __exit__(self, *_):
        self._alter("DROP CONSTRAINT canary")

    def _alter(self, change):
        with psycopg.connect(self.service.servers.database_url, autocommit=True) as connection:
            connection.execute(f"ALTER TABLE {self.table} {change}")


def echo(status):
    """An answer that repeats all that it was asked, credentials included."""

    def behave(server, connection):
        asked = server.asked
        said = f"{asked.method} {asked.target} {dict(asked.headers)} {asked.body.decode()}"
        return answer(status, {"error": said, "id": said[:40]})(server, connection)

    return behave


# --- where to look ------------------------------------------------------------------------------------------------


def logs(service):
    """Return what was printed and logged, by file, without the embedded servers' database and secrets."""
    files = [*service.home.glob("*.out"), *service.home.glob("*.log*")]
    assert {"web.out", "worker0.out", "worker-canary.out", "postgres.log"} <= {file.name for file in files}
    return {file.name: file.read_text(errors="replace") for file in files}


def keyspace(service):
    client = redis.Redis.from_url(service.servers.redis_url)
    readers = {b"string": client.get, b"list": lambda key: client.lrange(key, 0, -1), b"hash": client.hgetall}
    readers |= {b"set": client.smembers, b"zset": lambda key: client.zrange(key, 0, -1, withscores=True)}
    readers |= {b"stream": client.xrange}
    found = {key: readers[client.type(key)](key) for key in client.scan_iter() if client.exists(key)}
    client.close()
    return str(found)


def dump(service):
    """Every row of every table as text, by table; what is stored as bytes is there as hexadecimal digits."""
    with psycopg.connect(service.servers.database_url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        tables = {}
        for (name,) in names:
            with connection.cursor().copy(f'COPY "{name}" TO STDOUT') as rows:
                tables[name] = b"".join(rows).decode()
    assert "verification_session" in tables
    return tables


def stands_in(needle, text):
    """Return whether the needle is there, plainly or encoded."""
    forms = {needle, needle.encode().hex(), urllib.parse.quote(needle, safe=""), json.dumps(needle)[1:-1]}
    forms |= {base64.b64encode(needle.encode()).decode().rstrip("=")}
    return any(form in text for form in forms)


def is_code_in(code, text):
    """Apart from the fractions of seconds and the longer words that happen to hold it."""
    return bool(re.search(rf"(?<![0-9A-Za-z.+/]){code}(?![0-9A-Za-z+/=])", text)) or code.encode().hex() in text


def hits(day, text, *, with_addresses=True, with_sessions=True):
    """The names of what was found."""
    found = {name for name, needle in day.secrets.items() if stands_in(needle, text)}
    found |= {f"code {code}" for code in day.codes if is_code_in(code, text)}
    if with_addresses:
        found |= {address for address in ADDRESSES if stands_in(address, text) or address[1:] in text}
    if with_sessions:
        found |= {f"session {session}" for session in day.sessions if stands_in(session, text)}
        found |= {CUSTOMER_TOKEN} if CUSTOMER_TOKEN in text else set()
    return found


# --- the search ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement(23, 97)
def test_no_log_holds_a_secret_a_code_an_address_or_a_session(service, seen):
    assert {name: found for name, text in logs(service).items() if (found := hits(seen, text))} == {}


def test_what_was_to_be_logged_was_logged(service, seen):
    """Otherwise the search above would find nothing in nothing."""
    assert "IntegrityError" in service.output("web")
    assert "delivery failed" in service.output("worker-canary")
    assert "canary" in logs(service)["postgres.log"]  # the constraint's name, and nothing of the row


@pytest.mark.requirement(112)
def test_no_metric_holds_a_secret_a_code_an_address_or_a_session(service, seen):
    asked = urllib.request.Request(f"http://127.0.0.1:{service.port}/metrics")
    asked.add_header("authorization", f"Bearer {METRICS_TOKEN}")
    with urllib.request.urlopen(asked) as answer:
        text = answer.read().decode()
    counted = ("request_seconds", "outcomes", "provider_to_receipt_seconds", "callback_tries", "refusals", "claims")
    assert [name for name in counted if f"\nwatchword_{name}" not in text] == []
    assert hits(seen, text) == set()


@pytest.mark.requirement(112)
def test_no_span_holds_a_secret_a_code_an_address_or_a_session(traces, seen):
    wait_until(lambda: {"deliver", "ask provider", "receipt", "callback"} <= traces.names(), "the spans arrive")
    assert hits(seen, traces.text()) == set()


@pytest.mark.requirement(19, 97)
def test_nothing_that_valkey_was_given_or_holds_is_a_secret_a_code_or_an_address(service, seen):
    assert "watchword:wake:messages" in seen.commands and "watchword:wake:messages" in seen.keys_while_queued
    for text in (seen.commands, seen.keys_while_queued, keyspace(service)):
        assert hits(seen, text) == set()


@pytest.mark.requirement(3, 97)
def test_no_table_holds_a_secret_or_a_code(service, seen):
    tables = dump(service)
    found = {name: hits(seen, text, with_addresses=False, with_sessions=False) for name, text in tables.items()}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.requirement(97)
def test_an_address_stands_in_the_table_of_recipients_alone(service, seen):
    holders = {
        name
        for name, text in dump(service).items()
        if any(stands_in(address, text) or address[1:] in text for address in ADDRESSES)
    }
    assert holders == {"verification_recipient"}
