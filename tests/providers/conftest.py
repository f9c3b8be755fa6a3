from __future__ import annotations

import pytest

from providers import tls
from tests.fakes.certificates import make_certificate
from tests.fakes.http_server import FakeHttpServer
from tests.fakes.memory import FakeMemory


@pytest.fixture
def server():
    with FakeHttpServer() as running:
        yield running


@pytest.fixture
def memory():
    return FakeMemory()


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A certificate for gateway.test that this process trusts."""
    made = make_certificate(tmp_path, "gateway.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    tls.context.cache_clear()
    yield made
    tls.context.cache_clear()
