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
