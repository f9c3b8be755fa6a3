"""One private PostgreSQL and Valkey for each test process, unless the environment names others."""

import os
import shutil
import sys
import textwrap
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROCESS = os.environ.get("PYTEST_XDIST_WORKER", "main")
HOME = ROOT / "var" / "tests" / f"{os.getpid()}-{PROCESS}"

# Before the settings are read. Nothing of a developer's own configuration may leak into a run.
os.environ.update(
    WATCHWORD_HOME=str(HOME),
    EMBEDDED_DURABLE="false",
    BASE_URL="http://testserver",
    ALLOWED_HOSTS="testserver,127.0.0.1,localhost",
)
for name in ("SENTRY_DSN", "OTEL_EXPORTER_OTLP_ENDPOINT", "DATABASE_STATEMENT_TIMEOUT"):
    os.environ.pop(name, None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of the many processes of a run compiles every module again
sys.dont_write_bytecode = False  # as this one does, and pytest rewrites the assertions of every file


def pytest_addoption(parser):
    parser.addoption(
        "--rounds",
        type=int,
        default=30,
        help="sequences of calls, histories, and requests of an operation that are made up",
    )


def pytest_configure(config):
    """The settings are named only here: named any earlier, pytest-django would read them before this file."""
    if is_controller(config):
        return
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    from django.conf import settings

    from tests.cluster import with_migrations
    from verification.core.catalogues import compile_catalogues

    compile_catalogues()
    # The real one takes half a second for a password, on purpose.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True  # looks for a file when it is requested: each client makes a chain anew
    if not settings.DATABASE_URL:
        with_migrations(settings.EMBEDDED)
        settings.DATABASES["default"]["TEST"] = {"TEMPLATE": settings.DATABASES["default"]["NAME"]}
    settings.EMBEDDED.start()


# What CI may leave out, by the reason that the test gives: servers of which Debian 12 has no version or an older one.
# Any other skip there is a test that nobody runs.
MAY_BE_SKIPPED = (
    "This version of PgBouncer knows no prepared statements.",
    "Debian's package valkey-server is not installed.",
)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """In CI a skip that nobody allowed fails the run."""
    if PROCESS != "main" or not os.environ.get("CI"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reporter.stats.get("skipped", ()))
    for reason in sorted(reasons.keys() - set(MAY_BE_SKIPPED)):
        reporter.write_line(f"{reasons[reason]} tests were skipped, which CI does not allow: {reason}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(items):
    """Each file is a group of its own, as are those that share a service that is slow to start. The longest first, so
    that no worker waits at the end for the other's: shared services, then files of many tests."""
    if PROCESS == "main":
        return
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.get_closest_marker("xdist_group") is None, -sizes[item.path]))
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(ROOT).as_posix()))


def load_application():
    """Return the application that the web server calls. Its module sets up the environment of a web process, which the
    programs that other tests start do not inherit."""
    with mock.patch.dict(os.environ):
        from config.wsgi import application
    return application


def is_controller(config):
    """Return whether this is xdist's own process, which runs no test."""
    return PROCESS == "main" and bool(getattr(config.option, "numprocesses", 0))


def pytest_unconfigure(config):
    if is_controller(config):
        return
    from django.conf import settings
    from django.db import connections

    connections.close_all()
    settings.EMBEDDED.release()
    outside = (HOME / "postgres").resolve()  # where the data of a closed checkout is kept
    shutil.rmtree(outside, ignore_errors=True)
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Between tests the tables are emptied, which the audit log allows only where the database says so."""
    from django.db import connection

    with django_db_blocker.unblock(), connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} SET watchword.truncate_audit = 'on'")
        connection.close()


@pytest.fixture(autouse=True)
def fresh_memory(request):
    """Clear the process's memory, and the counts in the cache, so that they do not outlive the test that made them."""
    from verification.core import caching

    caching.clear_all()
    if "django_db_setup" in request.fixturenames or "db" in request.fixturenames:
        from tests.fakes.outage import lose_counts

        lose_counts()


@pytest.fixture
def project(db):
    """A project with channels for SMS, voice and e-mail, each served by a provider that collects what it is given."""
    from tests import factories

    return factories.project(channels=("sms", "voice", "email"))


@pytest.fixture(scope="module")
def around_all_tests(django_db_setup, django_db_blocker):
    """A transaction to which each test of a file is rolled back: what is written in it once, all of them find. For
    files whose tests commit nothing."""
    from django.db import transaction

    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def shared_project(around_all_tests):
    """A ``project`` that is made once for a file, whose tests leave it as it is."""
    from tests import factories

    return factories.project(channels=("sms", "voice", "email"))


@pytest.fixture
def api(client, project):
    """Calls the API as the project's app and as its server."""
    from tests.api.calls import Api

    return Api(client, project.api_key, project.secret_key)


@pytest.fixture
def long_second(monkeypatch):
    """The limits of a second count over an hour: on a busy machine two requests may take longer than a second."""
    from limits import RateLimitItemPerHour

    from verification.services.protection import limits

    monkeypatch.setattr(limits, "RateLimitItemPerSecond", RateLimitItemPerHour)


@pytest.fixture
def outbox():
    """Delivers what is due and collects it, so that tests read the code from there like a user."""
    from tests.fakes.collector import Outbox

    collected = Outbox()
    collected.open()
    yield collected
    collected.close()


@pytest.fixture
def drop(tmp_path, monkeypatch):
    """Puts an adapter file into a folder that the registry reads as well."""
    from providers import adapters, registry

    def write(name, source):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        registry.reload()

    monkeypatch.setattr(adapters, "__path__", [*adapters.__path__, str(tmp_path)])
    yield write
    monkeypatch.undo()
    registry.reload()
