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
from django.core.cache import cache, caches
from django.core.checks import Tags, run_checks
from django.db import IntegrityError, OperationalError, connection
from django_redis import get_redis_connection

from config import sentry
from tests.conftest import ROOT
from verification import sql
from verification.checks import start
from verification.core import client_address

PRODUCTION = {
    "PATH": os.environ["PATH"],
    "DATABASE_URL": "postgres://watchword:password@127.0.0.1:1/nowhere",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "SECRET_KEY": secrets.token_urlsafe(48),
    "ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
    "BASE_URL": "https://codes.example.com",
    "ALLOWED_HOSTS": "codes.example.com",
    "TRUSTED_PROXIES": "1",
    "EMAIL_URL": "smtp+tls://user:password@mail.example.com:587",
}


def run(*program, **values):
    """A process with the settings of production, and these beside or in place of them. None takes one away."""
    environment = {name: value for name, value in {**PRODUCTION, **values}.items() if value is not None}
    return subprocess.run([sys.executable, *program], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.requirement(90, 106)
def test_the_deployment_check_finds_nothing():
    done = run("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("System check identified no issues")


def ids(found):
    return [message.id for message in found]


@pytest.mark.requirement(106)
@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ({"ALLOWED_HOSTS": ["codes.example.com", "*"]}, ["watchword.W006"]),
        ({"ALLOWED_HOSTS": ["example.com"]}, ["watchword.W002"]),
        ({"ALLOWED_HOSTS": [".example.com"]}, []),
        ({"TRUSTED_PROXIES": 0}, ["watchword.W005"]),
        ({"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}, ["watchword.W007"]),
        ({"SHOW_CODES_TO_OPERATORS": True}, ["watchword.W008"]),
        ({"BASE_URL": "http://codes.example.com"}, ["watchword.W001"]),
        ({}, []),
    ],
)
def test_what_production_should_not_have_is_told(settings, wrong, found):
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://codes.example.com", ["codes.example.com"]
    settings.TRUSTED_PROXIES, settings.SHOW_CODES_TO_OPERATORS = 1, False
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    for name, value in wrong.items():
        setattr(settings, name, value)
    cache.delete(client_address.UNREAD_KEY)  # another test may have come through a proxy
    told = run_checks(tags=[Tags.security], include_deployment_checks=True)
    assert [message.id for message in told if message.id.startswith("watchword.")] == found


LOOSE = "from django.conf import settings as s; print(s.IS_EMBEDDED, s.IS_SECOND_FACTOR_REQUIRED)"


@pytest.mark.requirement(106)
@pytest.mark.parametrize(
    ("urls", "said"),
    [
        ({"REDIS_URL": None}, "REDIS_URL not set. Production needs both addresses; EMBEDDED=true runs what is"),
        ({"DATABASE_URL": ""}, "DATABASE_URL not set. "),
        ({"DATABASE_URL": None, "REDIS_URL": None, "EMBEDDED": "no"}, "DATABASE_URL and REDIS_URL not set. "),
        ({"REDIS_URL": None, "EMBEDDED": "ture"}, "EMBEDDED is one of: true, false."),
    ],
)
def test_one_address_that_is_missing_loosens_nothing(tmp_path, urls, said):
    done = run("manage.py", "check", WATCHWORD_HOME=str(tmp_path / "var"), **urls)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"watchword: {said}")
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize(
    ("urls", "shown"),
    [
        ({}, "False True"),
        ({"REDIS_URL": None, "EMBEDDED": "true"}, "True False"),
        ({"DATABASE_URL": None, "REDIS_URL": None}, "True False"),
    ],
)
def test_the_rules_for_development_are_chosen_by_name_or_by_no_address_at_all(tmp_path, urls, shown):
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "WATCHWORD_HOME": str(tmp_path / "var")}
    assert run("-c", LOOSE, **environment, **urls).stdout.strip() == shown


@pytest.mark.parametrize(
    ("holder", "given", "shown"),
    [
        ("pid {own}, http://127.0.0.1:8431", None, "http://127.0.0.1:8431"),
        ("pid {own}, http://127.0.0.1:8431", "https://codes.example.com", "https://codes.example.com"),
        ("pid 4194305, http://127.0.0.1:8431", None, "http://127.0.0.1:8000"),  # more than a pid can be
        ("", None, "http://127.0.0.1:8000"),
    ],
)
def test_commands_know_the_port_of_the_up_that_runs(tmp_path, holder, given, shown):
    (tmp_path / "up.lock").write_text(holder.format(own=os.getpid()))
    embedded = {"DATABASE_URL": None, "REDIS_URL": None, "WATCHWORD_HOME": str(tmp_path), "BASE_URL": given}
    done = run("-c", "from config import settings; print(settings.BASE_URL)", **embedded)
    assert done.stdout.strip() == shown, done.stderr


BROWSERS = (
    "from django.conf import settings as s;"
    "print(s.SECURE_HSTS_SECONDS, s.SECURE_HSTS_INCLUDE_SUBDOMAINS, s.SECURE_HSTS_PRELOAD, s.SECURE_SSL_REDIRECT)"
)


@pytest.mark.requirement(90)
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({}, "31536000 False False True"),
        ({"HSTS_SECONDS": "300", "HSTS_INCLUDE_SUBDOMAINS": "true"}, "300 True False True"),
        ({"HSTS_SECONDS": "0"}, "0 False False True"),
        ({"BASE_URL": "http://codes.example.com"}, "0 False False False"),
        ({"TRUSTED_PROXIES": "0"}, "31536000 False False False"),
    ],
)
def test_browsers_are_bound_to_https_on_this_host_alone_and_sent_there_only_where_it_is_known(values, shown):
    assert run("-c", BROWSERS, DJANGO_SETTINGS_MODULE="config.settings", **values).stdout.strip() == shown


@pytest.mark.parametrize(("version", "found"), [(140_022, ["watchword.E003"]), (150_000, [])])
def test_an_old_postgresql_stops_the_migration(db, monkeypatch, version, found):
    monkeypatch.setattr(connection, "pg_version", version)
    assert ids(start.postgresql_is_new_enough(databases=["default"])) == found
    assert start.postgresql_is_new_enough() == []


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
    monkeypatch.setattr(start, "get_redis_connection", lambda: Redis(answer))
    assert ids(start.valkey_is_new_enough(databases=["default"])) == found
    assert start.valkey_is_new_enough() == []


def test_the_valkey_of_these_tests_is_new_enough():
    assert start.valkey_is_new_enough(databases=["default"]) == []


def test_the_log_tells_why_a_connection_failed_and_quotes_no_row():
    away = OperationalError("x")
    away.__cause__ = psycopg.OperationalError("connection failed: password authentication failed\n\tmore")
    assert sql.reason(away) == "connection failed: password authentication failed"
    refused = IntegrityError("x")
    refused.__cause__ = psycopg.errors.UniqueViolation("Key (address)=(+4915112345678) already exists.")
    assert sql.reason(refused) == "UniqueViolation (23505)"


def test_the_first_request_finds_everything_loaded():
    """An upgrade replaces the files under running processes."""
    paths = [
        path for folder in ("providers/adapters", "verification/api") for path in (ROOT / folder).glob("[a-z]*.py")
    ]
    script = "import sys, config.wsgi; print(*sys.modules)"
    done = run("-c", script)
    ours = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    assert ours - set(done.stdout.split()) == set()


@pytest.mark.requirement(97)
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


@pytest.mark.requirement(99)
def test_whoever_writes_to_valkey_runs_nothing_here():
    cache, connection = caches["default"], get_redis_connection()
    connection.set(cache.make_key("bomb"), pickle.dumps(Bomb()), ex=10)
    with pytest.raises(ValueError):
        cache.get("bomb")
    assert not (ROOT / "var" / "a-bomb-went-off").exists()
    assert type(dramatiq.get_encoder()) is dramatiq.JSONEncoder
