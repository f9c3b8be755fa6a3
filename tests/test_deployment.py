"""The settings as production gets them, and what they rest on."""

import base64
import os
import pickle
import secrets
import subprocess
import sys

import dramatiq
import psycopg
import pytest
import redis
from django.core.cache import caches
from django.db import IntegrityError, OperationalError, connection
from django_redis import get_redis_connection

from config import sentry
from tests.conftest import ROOT
from verification import checks, sql

PRODUCTION = {
    "PATH": os.environ["PATH"],
    "DATABASE_URL": "postgres://watchword:password@127.0.0.1:1/nowhere",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "SECRET_KEY": secrets.token_urlsafe(48),
    "ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
    "BASE_URL": "https://codes.example.com",
    "ALLOWED_HOSTS": "codes.example.com",
    "TRUSTED_PROXIES": "1",
}


def test_the_deployment_check_finds_nothing():
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=PRODUCTION,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("System check identified no issues")


def ids(found):
    return [message.id for message in found]


@pytest.mark.parametrize(
    ("hosts", "found"),
    [(["codes.example.com"], []), ([".example.com"], []), (["*"], []), (["example.com"], ["watchword.W002"])],
)
def test_a_public_address_that_is_not_served_is_told(settings, hosts, found):
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://codes.example.com", hosts
    assert ids(checks.base_url_is_served()) == found


@pytest.mark.parametrize(("version", "found"), [(140_022, ["watchword.E003"]), (150_000, [])])
def test_an_old_postgresql_stops_the_migration(db, monkeypatch, version, found):
    monkeypatch.setattr(connection, "pg_version", version)
    assert ids(checks.postgresql_is_new_enough(databases=["default"])) == found
    assert checks.postgresql_is_new_enough() == []


class Redis:
    def __init__(self, answer):
        self.answer = answer

    def info(self, section):
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"redis_version": self.answer}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("6.0.16", ["watchword.E004"]),
        ("7.0.15", []),
        (redis.AuthenticationError("invalid password"), ["watchword.W004"]),
        (redis.ConnectionError("refused"), ["watchword.W004"]),
        (redis.exceptions.NoPermissionError("no INFO"), ["watchword.W003"]),
    ],
)
def test_an_old_redis_is_refused_and_one_that_is_away_told(monkeypatch, answer, found):
    monkeypatch.setattr(checks, "get_redis_connection", lambda: Redis(answer))
    assert ids(checks.valkey_is_new_enough(databases=["default"])) == found
    assert checks.valkey_is_new_enough() == []


def test_the_valkey_of_these_tests_is_new_enough():
    assert checks.valkey_is_new_enough(databases=["default"]) == []


def test_the_log_tells_why_a_connection_failed_and_quotes_no_row():
    away = OperationalError("x")
    away.__cause__ = psycopg.OperationalError("connection failed: password authentication failed\n\tmore")
    assert sql.reason(away) == "connection failed: password authentication failed"
    refused = IntegrityError("x")
    refused.__cause__ = psycopg.errors.UniqueViolation("Key (address)=(+4915112345678) already exists.")
    assert sql.reason(refused) == "UniqueViolation"


def test_the_first_request_finds_everything_loaded():
    """An upgrade replaces the files under running processes."""
    paths = [
        path for folder in ("providers/adapters", "verification/api") for path in (ROOT / folder).glob("[a-z]*.py")
    ]
    script = "import sys, config.rsgi; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=PRODUCTION, capture_output=True, text=True, check=True
    )
    ours = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    assert ours - set(done.stdout.split()) == set()


def test_a_report_to_sentry_tells_the_place_and_nothing_that_was_there():
    secret = "+4915112345678"
    frame = {"function": "open_session", "lineno": 40}
    event = {
        "level": "error",
        "exception": {"values": [{"type": "IntegrityError", "value": secret, "stacktrace": {"frames": [frame]}}]},
        "request": {"method": "POST", "url": f"https://codes.example.com/hooks/1/{secret}", "headers": {"a": secret}},
        "transaction": f"/hooks/1/{secret}",
        "breadcrumbs": {"values": [{"message": f"SELECT '{secret}'"}]},
        "extra": {"sys.argv": [secret]},
        "user": {"username": secret},
    }
    sent = sentry.scrub(event)
    assert secret not in str(sent)
    assert sent["exception"]["values"][0]["type"] == "IntegrityError"
    assert sent["exception"]["values"][0]["stacktrace"]["frames"] == [frame]
    assert sent["request"] == {"method": "POST"}


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (str(ROOT / "var" / "a-bomb-went-off"),))


def test_whoever_writes_to_valkey_runs_nothing_here():
    cache, connection = caches["default"], get_redis_connection()
    connection.set(cache.make_key("bomb"), pickle.dumps(Bomb()), ex=10)
    with pytest.raises(ValueError):
        cache.get("bomb")
    assert not (ROOT / "var" / "a-bomb-went-off").exists()
    assert type(dramatiq.get_encoder()) is dramatiq.JSONEncoder
