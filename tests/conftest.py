"""One private PostgreSQL and Valkey for each test process, unless the environment names others."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROCESS = os.environ.get("PYTEST_XDIST_WORKER", "main")
HOME = ROOT / "var" / "tests" / f"{os.getpid()}-{PROCESS}"

# Before the settings are read. Nothing of a developer's own configuration may leak into a run.
os.environ.update(
    WATCHWORD_HOME=str(HOME),
    EMBEDDED_DURABLE="false",
    DJANGO_SETTINGS_MODULE="config.settings",
    BASE_URL="http://testserver",
    ALLOWED_HOSTS="testserver,127.0.0.1,localhost",
)
os.environ.pop("SENTRY_DSN", None)


def pytest_configure(config):
    if PROCESS == "main" and getattr(config.option, "numprocesses", 0):
        return  # xdist's controller runs no test
    from django.conf import settings

    settings.EMBEDDED.start()


def pytest_unconfigure(config):
    from django.conf import settings
    from django.db import connections

    connections.close_all()
    settings.EMBEDDED.release()
    outside = (HOME / "postgres").resolve()  # where the data of a closed checkout is kept
    shutil.rmtree(outside, ignore_errors=True)
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def fresh_memory(request):
    """What a process remembers for a moment (keys, providers, counts) must not outlive the test that made it."""
    if "django_db_setup" not in request.fixturenames and "db" not in request.fixturenames:
        yield
        return
    from verification.api import middleware
    from verification.services import keys, limits, providers

    keys._callers.clear()
    providers._live.clear()
    middleware._listed = (float("-inf"), frozenset())
    limits._shared_counter().limiter.storage.reset()
    yield


@pytest.fixture
def project(db):
    """A project with channels for SMS, voice and e-mail, each served by a provider that collects what it is given."""
    from tests import factories

    return factories.project(channels=("sms", "voice", "email"))


@pytest.fixture
def api(client, project):
    """Calls the API as the project's app and as its server."""
    from tests.api.calls import Api

    return Api(client, project.api_key, project.secret_key)


@pytest.fixture
def outbox():
    """Delivers what is due and collects it, so that tests read the code from there like a user."""
    from tests.fakes.collector import Outbox

    collected = Outbox()
    collected.open()
    yield collected
    collected.close()
