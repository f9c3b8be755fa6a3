"""The doctor: each fault that is sown here is found, by its name, and told with a remedy."""

from __future__ import annotations

import dataclasses
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core import checks
from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from tests import factories
from tests.fakes.outage import database_away
from verification.checks import database, machine, mail, secrets
from verification.checks.doctor import examine
from verification.checks.registry import SUBJECTS, Aims
from verification.core import caching, client_address
from verification.models import (
    CircuitBreaker,
    DeliveryAttempt,
    Message,
    Project,
    Provider,
    WebhookAttempt,
    WebhookEvent,
    Worker,
)
from verification.services.maintenance import health
from verification.services.projects.webhook_secrets import issue_webhook_secret
from verification.services.protection.guard import findings as guard_findings
from verification.services.records import workers

AIMS = Aims(url="http://127.0.0.1:9")  # a port at which nobody listens


def names(*subjects, **aims):
    """The names of what is found wrong with these subjects."""
    caching.clear_all()
    return {each.id for each in examine(dataclasses.replace(AIMS, **aims), subjects)}


def execute(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


@pytest.fixture
def worker(db):
    row = workers.introduce(threads=8, holds_connections=False)
    row.save(force_insert=True)
    guard_findings.sweep()
    return row


@pytest.fixture
def production(settings):
    """The settings of an installation behind a proxy, without a fault."""
    cache.delete(client_address.UNREAD_KEY)  # which another test has left
    settings.IS_EMBEDDED = False
    settings.BASE_URL = "https://codes.example.com"
    settings.ALLOWED_HOSTS = ["codes.example.com"]
    settings.TRUSTED_PROXIES = 1
    settings.SHOW_CODES_TO_OPERATORS = False
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_SSL_REDIRECT = True
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    return settings


@pytest.mark.django_db
def test_a_project_whose_alerts_reach_nobody_is_found(production, project):
    look = mail.alerts_reach_somebody
    assert [finding.id for finding in look(AIMS)] == ["alerts-reach-nobody"]
    project.set(alert_emails=["ann@example.com"])
    assert list(look(AIMS)) == []
    production.EMAIL_BACKEND = mail.SILENT_CONNECTIONS[0]
    assert [finding.id for finding in look(AIMS)] == ["alerts-reach-nobody"]
    project.set(alert_url="https://shop.example/alerts")
    assert list(look(AIMS)) == []


@pytest.mark.django_db
class TestSettings:
    def test_sound_ones_are_no_finding(self, production):
        assert names("settings") == set()

    def test_what_the_system_checks_find_is_a_finding(self, production):
        production.TRUSTED_PROXIES = 0
        production.OUTBOUND_ALLOWED_NETWORKS = ["everywhere"]
        assert names("settings") == {"watchword.W005", "watchword.E002"}
        production.SILENCED_SYSTEM_CHECKS = [*production.SILENCED_SYSTEM_CHECKS, "watchword.W005"]
        assert names("settings") == {"watchword.E002"}

    def test_debug_is_found_in_the_embedded_mode_too(self, settings):
        settings.DEBUG = True
        assert names("settings") == {"debug"}


@pytest.mark.django_db
class TestSecrets:
    @pytest.mark.parametrize(
        ("name", "url", "found"),
        [
            ("DATABASE_URL", "postgres://shop:shop@db.internal/shop", {"weak-password"}),
            ("DATABASE_URL", "postgres://shop:kF9-2hVb_x8QmTz1@db.internal/shop", set()),
            ("DATABASE_URL", "postgres://shop:shop@127.0.0.1/shop", set()),
            ("REDIS_URL", "redis://valkey:6379/0", {"server-without-password"}),
            ("REDIS_URL", "redis://:changeme-changeme@valkey:6379/0", {"weak-password"}),
        ],
    )
    def test_passwords_that_are_guessed_first_are_found_and_not_told(self, settings, name, url, found):
        setattr(settings, name, url)
        assert names("secrets") == found
        assert "changeme" not in "".join(finding.msg for finding in secrets.servers_have_passwords(AIMS))

    def test_a_token_of_the_metrics_that_is_no_random_one_is_found(self, settings):
        settings.METRICS_TOKEN = "ab" * 20
        assert names("secrets") == {"weak-password"}

    def test_a_file_of_secrets_that_all_can_read_is_found(self, settings, tmp_path, monkeypatch):
        path = tmp_path / "key"
        path.write_text("a secret")
        monkeypatch.setenv("SECRET_KEY_FILE", str(path))
        path.chmod(0o600)
        assert names("secrets") == set()
        path.chmod(0o644)
        assert names("secrets") == {"secret-file-open"}

    def test_a_lost_encryption_key_is_found(self, project, settings):
        assert names("secrets") == set()
        earlier, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, [os.urandom(32)]
        assert names("secrets") == {"encryption-keys-wrong"}
        assert "database-not-migrated" not in names("database")
        caching.clear_all()
        issue_webhook_secret(project=project.row)
        assert names("secrets") == {"encryption-key-missing"}
        settings.ENCRYPTION_KEYS += earlier
        assert names("secrets") == set()

    def test_a_superuser_without_a_second_factor_is_found(self, admin_user, production):
        production.IS_SECOND_FACTOR_REQUIRED = True
        assert names("secrets") == set()
        production.IS_SECOND_FACTOR_REQUIRED = False
        assert names("secrets") == {"superuser-without-second-factor"}


@pytest.mark.django_db
class TestDatabase:
    def test_a_sound_one_is_no_finding(self):
        assert names("database", "functions", "pooler") == set()

    @pytest.mark.django_db(transaction=True)
    def test_a_database_that_is_away_is_found_and_nothing_else_is_asked_of_it(self):
        with database_away():
            found = names(*SUBJECTS)
        assert found >= {"database-away", "not-reachable"}
        assert not found & {"check-failed", "database-refuses", "degraded-workers"}

    def test_a_migration_that_was_not_run_is_found(self):
        last = sorted(name for app, name in health.expected_migrations() if app == database.APP)[-1]
        execute("DELETE FROM django_migrations WHERE app = %s AND name = %s", database.APP, last)
        assert names("database", "functions") == {"database-not-migrated"}

    def test_a_migration_of_a_later_version_is_found(self):
        execute("INSERT INTO django_migrations (app, name, applied) VALUES ('verification', '9999_later', now())")
        assert names("database") == {"database-newer"}

    def test_another_clock_is_found(self, monkeypatch):
        monkeypatch.setattr(
            "verification.services.maintenance.degradation.time.time", lambda: timezone.now().timestamp() + 60
        )
        assert names("database") == {"clock-differs"}

    def test_a_setting_of_the_server_that_harms_is_found(self):
        execute("SET LOCAL log_statement = 'all'")
        assert names("database") == {"database-setting"}

    def test_a_role_that_may_do_all_is_found(self, production):
        assert "database-superuser" in names("database")

    def test_a_function_that_is_missing_is_found(self):
        execute("DROP FUNCTION judge_stranger")
        assert names("functions") == {"function-missing"}

    def test_a_function_that_somebody_changed_is_found(self):
        execute(
            "CREATE OR REPLACE FUNCTION purge_audit(p_before timestamptz, OUT deleted bigint) LANGUAGE sql"
            " AS 'SELECT 0::bigint'"
        )
        assert names("functions") == {"function-differs"}

    def test_a_function_without_its_options_is_found(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'open_session'")
            for (function,) in cursor.fetchall():
                cursor.execute(f"ALTER FUNCTION {function} RESET ALL")
        assert names("functions") == {"function-unplanned"}

    def test_a_trigger_of_the_audit_log_that_is_off_is_found(self):
        execute("ALTER TABLE verification_apikey DISABLE TRIGGER audit_change")
        assert names("functions") == {"audit-trigger-missing"}

    def test_an_audit_log_that_may_be_emptied_is_found(self, production):
        assert names("functions") == {"audit-may-be-emptied"}  # the tests' own database is such a one

    def test_every_function_of_the_files_is_read(self):
        texts = [path.read_text() for path in database.install.FOLDER.rglob("*.sql")]
        assert len(database.functions_in_files()) == sum(text.count("CREATE OR REPLACE FUNCTION") for text in texts)

    def test_a_pooler_that_is_only_announced_is_found(self, settings):
        settings.DATABASE_POOLER = "transaction"
        assert names("pooler") == {"pooler-not-there"}


class TestQueue:
    def test_workers_that_work_are_no_finding(self, worker):
        assert names("queue") == set()

    @pytest.mark.django_db
    def test_no_worker_is_found(self):
        assert names("queue") == {"degraded-workers"}

    def test_a_worker_of_another_version_is_found(self, worker):
        Worker.objects.update(version="0.0.9")
        assert names("queue") == {"worker-version-differs"}

    def test_a_provider_whose_connection_nobody_holds_is_found(self, worker, project):
        factories.provider(project=project.row, channel="sms", type="smpp", name="Gateway")
        assert names("queue") == {"no-connections-worker"}
        Worker.objects.update(kinds=["messages", "connections"])
        assert names("queue") == set()


class TestProviders:
    def test_sound_ones_are_no_finding(self, project):
        assert names("providers", "callbacks") == set()

    def test_an_account_that_does_not_work_is_found(self, project):
        factories.provider(project=project.row, channel="sms", type="gone", name="Gone")
        assert names("providers") == {"provider-fails"}

    def test_a_provider_that_is_set_aside_is_found(self, project):
        row = Provider.objects.filter(project=project.row).first()
        until = timezone.now() + timedelta(minutes=5)
        CircuitBreaker.objects.create(
            provider=row, opened_at=timezone.now(), open_until=until, openings=1, reason="timeout"
        )
        assert names("providers") == {"provider-aside"}
        Provider.objects.filter(pk=row.pk).update(is_enabled=False)
        assert "provider-aside" not in names("providers")

    def test_a_channel_that_nobody_serves_is_found(self, project):
        Provider.objects.filter(channel="voice").update(is_enabled=False)
        assert names("providers") == {"channel-unserved"}
        Project.objects.update(is_enabled=False)
        assert names("providers") == set()

    def test_a_vendor_that_reports_nothing_is_found(self, project, monkeypatch):
        row = factories.provider(project=project.row, channel="sms", type="twilio", name="Twilio")
        to = factories.Recipient.objects.create(project=project.row, address="+15005550006")
        for number in range(20):
            fields = {"recipient": to, "channel": "sms", "language": "en", "expires_at": timezone.now()}
            message = Message.objects.create(id=number + 1, project=project.row, status="sent", **fields)
            DeliveryAttempt.objects.create(
                message=message, provider=row, provider_name=row.name, outcome="accepted", latency_ms=1
            )
        DeliveryAttempt.objects.update(created_at=timezone.now() - timedelta(hours=2))
        assert "receipts-missing" in names("providers")
        DeliveryAttempt.objects.filter(message_id=1).update(provider_status="delivered")
        assert "receipts-missing" not in names("providers")

    def test_a_customers_server_that_fails_is_found(self, project):
        to = factories.Recipient.objects.create(project=project.row, address="ann@example.com")
        fields = {"recipient": to, "channel": "email", "language": "en", "expires_at": timezone.now()}
        message = Message.objects.create(id=1, project=project.row, **fields)
        callback = WebhookEvent.objects.create(
            tries=1, type="message.finished", message=message, project=project.row, url="https://shop.example.com/"
        )
        for _ in range(5):
            WebhookAttempt.objects.create(event=callback, status=500, latency_ms=1)
        assert names("callbacks") == {"callbacks-fail"}
        WebhookEvent.objects.update(due_at=None)
        assert names("callbacks") == {"callbacks-fail", "callbacks-given-up"}


class TestMachine:
    def test_a_disk_that_is_nearly_full_is_found(self, tmp_path):
        assert list(machine.check_disk(tmp_path, 20, 100)) == []
        assert [each.level for each in machine.check_disk(tmp_path, 9, 100)] == [checks.WARNING]
        assert [each.level for each in machine.check_disk(tmp_path, 1, 100)] == [checks.CRITICAL]

    def test_the_disk_of_the_metrics_is_looked_at(self, settings, tmp_path, monkeypatch):
        """One of another device, of which nothing is free: a disk that only reads says so of itself."""
        settings.METRICS_TOKEN, settings.METRICS_DIR = "a-token", Path("/sys/kernel/metrics")
        looked_at = []
        monkeypatch.setattr(machine, "check_disk", lambda folder, *_: looked_at.append(folder) or [])
        names("machine")
        assert [folder for folder in looked_at if str(folder).startswith("/sys")]

    def test_a_backup_of_last_night_is_no_finding(self, tmp_path):
        backup(tmp_path / "night")
        assert names("backups", backups=tmp_path) == set()

    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({"hours": 30}, "backup-old"),
            ({"size": 0}, "backup-empty"),
            ({"size": 400}, "backup-shrunken"),
            ({"mode": 0o644}, "backup-open"),
        ],
    )
    def test_a_backup_with_a_fault_is_found(self, tmp_path, fields, found):
        backup(tmp_path / "before", hours=48)
        backup(tmp_path / "night", **fields)
        assert names("backups", backups=tmp_path) == {found}

    def test_no_backup_at_all_is_found(self, tmp_path):
        assert names("backups", backups=tmp_path / "none") == {"no-backup"}

    def test_a_backup_may_be_a_folder(self, tmp_path):
        (tmp_path / "night").mkdir(mode=0o700)
        backup(tmp_path / "night" / "toc.dat", hours=30)
        assert names("backups", backups=tmp_path) == {"backup-old"}


def backup(path, *, hours=1, size=1000, mode=0o600):
    path.write_bytes(b"x" * size)
    path.chmod(mode)
    at = timezone.now().timestamp() - hours * 3600
    os.utime(path, (at, at))


@pytest.mark.django_db
def test_a_check_that_fails_is_a_finding_and_stops_no_other(monkeypatch):
    def broken(aims):
        raise ZeroDivisionError("with a secret in it")
        yield

    monkeypatch.setitem(SUBJECTS, "machine", [broken])
    found = examine(AIMS, ["machine", "queue"])
    assert {each.id for each in found} == {"check-failed", "degraded-workers"}
    assert "with a secret in it" not in str(found)


@pytest.mark.requirement(112)
@pytest.mark.django_db
def test_no_finding_tells_a_secret(production, project):
    production.DATABASE_URL = "postgres://shop:hunter2@db.internal/shop"
    production.METRICS_TOKEN = "password" * 5
    told = str(examine(AIMS, ["settings", "secrets", "database", "providers", "queue"]))
    keys = [django_settings.SECRET_KEY, project.api_key, project.secret_key, "hunter2", "password" * 5]
    assert [key for key in keys if key in told] == []


# --- codes -----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_project_of_four_digits_is_told_and_one_of_six_is_not():
    short = factories.project()
    assert names("codes") == set()
    short.set(code_length=4)
    assert names("codes") == {"short-codes"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("channels", "settings", "found"),
    [
        (("sms",), {}, {"nist-sim"}),
        (("sms",), {"risk_sms": ["callback"], "risk_callback_url": "https://shop.example/risk"}, set()),
        (("messenger_b",), {}, set()),
        (("messenger_b", "email"), {}, {"nist-email"}),
        (("voice",), {"code_length": 4}, {"nist-codes", "short-codes"}),
        (("voice",), {"session_seconds": 900}, {"nist-codes"}),
    ],
)
def test_where_a_project_falls_short_of_nists_standard_it_is_told(channels, settings, found):
    factories.project(channels=channels).set(assurance="nist", **settings)
    assert names("codes") == found


@pytest.mark.django_db
def test_a_channel_that_makes_sessions_live_longer_than_nist_allows_is_told():
    factories.project(channels=("voice",), assurance="nist").channel("voice", session_seconds=601)
    assert names("codes") == {"nist-life"}
