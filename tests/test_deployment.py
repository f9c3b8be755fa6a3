"""The settings as production gets them, and what they rest on."""

import base64
import os
import pickle
import secrets
import subprocess
import sys

import dramatiq
import pytest
from django.core.cache import caches
from django_redis import get_redis_connection

from config import sentry
from tests.conftest import ROOT


def test_the_deployment_check_finds_nothing():
    production = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": "postgres://watchword:password@127.0.0.1:1/nowhere",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "BASE_URL": "https://codes.example.com",
        "ALLOWED_HOSTS": "codes.example.com",
        "TRUSTED_PROXIES": "1",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=production,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("System check identified no issues")


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
