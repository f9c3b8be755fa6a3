"""The cache and the wake-ups by Valkey and by Redis, with a password, in clear text and by TLS."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.config.test_deployment import run
from tests.fakes.certificates import make_certificate
from tests.servers.valkey import ValkeyServer

REDIS = shutil.which("redis-server") or ""
VALKEY = shutil.which("valkey-server") or ""  # since Debian 13; the wheel's has no TLS
NEEDS_REDIS = pytest.mark.skipif(not REDIS, reason="Debian's package redis-server is not installed.")
NEEDS_VALKEY = pytest.mark.skipif(not VALKEY, reason="Debian's package valkey-server is not installed.")
USE = """
import json, django
django.setup()
from django.conf import settings
from django.core.cache import cache
from django_redis import get_redis_connection
from verification.checks import start
from verification.worker import broker

found = [message.id for message in start.valkey_is_new_enough(databases=["default"])]
if not found:
    cache.set("a", {"b": 1}, 60)
    made = broker.ListBroker(settings.BROKER_URL, timeout=5, middleware=[])
    made.wake("of one test", 7)
    woken = len(made.pop("of one test", 1, seconds=5))
    info = get_redis_connection().info("server")
    name = "valkey" if "valkey_version" in info else "redis"
    found = [cache.get("a"), woken, name]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), "localhost")


@pytest.mark.parametrize(
    ("name", "program", "has_tls"),
    [
        ("valkey", "", False),
        pytest.param("valkey", VALKEY, True, marks=NEEDS_VALKEY),
        pytest.param("redis", REDIS, False, marks=NEEDS_REDIS),
        pytest.param("redis", REDIS, True, marks=NEEDS_REDIS),
    ],
    ids=["valkey", "valkey-by-tls", "redis", "redis-by-tls"],
)
def test_the_cache_and_the_wake_ups_work_by(name, program, has_tls, certificate, tmp_path):
    with ValkeyServer(program=program, tls=certificate if has_tls else None) as server:
        trusted = {"SSL_CERT_FILE": str(certificate.certificate)} if has_tls else {}
        environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "WATCHWORD_HOME": str(tmp_path)}
        done = run("-c", USE, REDIS_URL=server.url, **trusted, **environment)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [{"b": 1}, 1, name]
        if has_tls:
            stranger = run("-c", USE, REDIS_URL=server.url, **environment)
            assert json.loads(stranger.stdout) == ["watchword.W004"]
