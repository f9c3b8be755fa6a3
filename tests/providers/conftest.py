from __future__ import annotations

import gc

import pytest

from providers import registry
from providers.http import tls
from providers.http.client import HttpClient
from tests.fakes.certificates import make_certificate
from tests.fakes.http_server import FakeHttpServer
from tests.fakes.store import FakeStore

LOOPBACK = ("127.0.0.0/8",)


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """Some bodies nest 60,000 levels deep. A finalizer that runs while one is read has no stack left, and pytest tells
    it as an error of the test.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def server():
    with FakeHttpServer() as running:
        yield running


@pytest.fixture
def store():
    return FakeStore()


@pytest.fixture
def build(request, server, store):
    """Makes the adapter of the test's module: its TYPE with its SETTINGS, as if ``server`` were the vendor."""

    def make(**changes):
        raw = {**request.module.SETTINGS, "base_url": server.url, **changes}
        settings = registry.clean_settings(request.module.TYPE, raw, LOOPBACK)
        return registry.build(request.module.TYPE, settings, http=HttpClient(LOOPBACK), store=store)

    return make


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A certificate for gateway.test that this process trusts."""
    made = make_certificate(tmp_path, "gateway.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    tls.context.cache_clear()
    yield made
    tls.context.cache_clear()
