"""Everything comes under a new encryption key, once, whatever happens meanwhile."""

import itertools
import secrets

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.db import models

from tests.admin.rows import a_connection, an_alert_service
from tests.commands.running import run, run_json
from verification.core import caching, crypto
from verification.models import Message, Project, Provider, Session, TestLogin, WebhookSecret
from verification.models.project_settings import SECRETS
from verification.services.delivery.receipts import find_provider
from verification.services.maintenance import reencryption
from verification.services.projects.settings import seal_secret, secret_of
from verification.services.projects.test_logins import code_of
from verification.services.projects.webhook_secrets import issue_webhook_secret, live_webhook_secrets
from verification.services.providers.accounts import add_provider, hook_secret_of, stored_secrets
from verification.services.users import second_factor

pytestmark = pytest.mark.django_db

NO_CIPHERTEXTS = {
    "apikey.digest",
    "recoverycode.digest",
    "session.code_digest",
    "verifytoken.digest",
    "idempotentrequest.body_digest",
    "usedchallenge.digest",
    "spentform.digest",
    "verifytoken.used_key",
    "wrongcode.guess",
    "invitation.digest",
    "hostedpage.logo",
    "securitykey.credential",
    "securitykey.public_key",
}
OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
REVIEWER = "reviewer@example.com"
REPEATED = {"idempotency-key": "order-1"}
HEADERS = "Authorization: Bearer 123"


@pytest.fixture
def ring(settings):
    """Set the ring of keys, and forget it with the test."""

    def use(*keys):
        settings.ENCRYPTION_KEYS = list(keys)
        caching.clear_all()

    use(OLD)
    return use


@pytest.fixture
def stored(ring, api, project):
    """One ciphertext in every column, under the old key (the project itself came with a webhook secret)."""
    WebhookSecret.objects.all().delete()
    issue_webhook_secret(project=project.row)
    an_alert_service(project.row)
    a_connection(project.row)
    project.set(**{name: seal_secret(project.row, name, "of the vendor") for name in SECRETS})
    second_factor.begin(User.objects.create_user("ann"))
    api.create()
    api.manual_send("+4915112345679", headers=REPEATED)
    project.test_login(REVIEWER, "424242")
    return add_provider(
        project=project.row,
        channel="sms",
        provider_type="http",
        name="Gateway",
        values={"url": "http://127.0.0.1:9/send", "headers": HEADERS},
    )


def reencrypted(report):
    return {name: count["reencrypted"] for name, count in report["columns"].items()}


def of_each():
    """Count the ciphertexts by column, and require one in each."""
    counted = {column.name: column.rows().count() for column in reencryption.COLUMNS}
    assert all(counted.values())
    return counted


def test_every_column_of_bytes_is_a_known_ciphertext_or_none():
    """A new encrypted column must be listed, or dropping an old key would lose what it holds."""
    found = {
        f"{model._meta.model_name}.{field.name}"
        for model in apps.get_app_config("verification").get_models()
        for field in model._meta.get_fields()
        if isinstance(field, models.BinaryField)
    }
    assert found == {column.name for column in reencryption.COLUMNS} | NO_CIPHERTEXTS


@pytest.mark.requirement(94)
def test_everything_comes_under_the_newest_key_and_can_be_read_without_the_old_one(ring, stored, project, outbox, api):
    ring(NEW, OLD)
    answered = api.manual_send("+4915112345679", headers=REPEATED).data
    report = run_json("reencrypt")
    assert reencrypted(report) == of_each()
    new, old = (key.hex() for key in crypto.key_ids())
    assert report["ciphertexts"] == {new: sum(of_each().values()), old: 0}
    assert (report["newest"], report["droppable"]) == (new, [old])
    ring(NEW)
    stored.refresh_from_db()
    assert stored_secrets(stored)["headers"] == HEADERS
    assert find_provider(str(stored.uuid), hook_secret_of(stored), client_address="") == stored
    assert code_of(TestLogin.objects.get()) == "424242"
    assert secret_of(Project.objects.get(pk=project.id), "challenge_secret") == "of the vendor"
    assert live_webhook_secrets(project.row)[0][0].startswith("whsec_")
    assert api.manual_send("+4915112345679", headers=REPEATED).data == answered
    assert [len(outbox.code) for _ in outbox.messages] == [6, 6]


def test_a_second_run_finds_nothing_to_do_and_writes_nothing(ring, stored):
    ring(NEW, OLD)
    run("reencrypt")
    before = bytes(Provider.objects.get(pk=stored.pk).secrets)
    assert set(reencrypted(run_json("reencrypt")).values()) == {0}
    assert bytes(Provider.objects.get(pk=stored.pk).secrets) == before


def test_a_run_that_was_broken_off_is_taken_up_where_it_ended(ring, project, monkeypatch):
    WebhookSecret.objects.all().delete()
    for _ in range(7):
        issue_webhook_secret(project=project.row)
    ring(NEW, OLD)
    monkeypatch.setattr(reencryption, "BATCH", 2)
    column = next(column for column in reencryption.COLUMNS if column.model is WebhookSecret)
    calls, write = itertools.count(1), reencryption._reencrypt_row

    def dies_at_the_fourth(*arguments):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return write(*arguments)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(reencryption, "_reencrypt_row", dies_at_the_fourth)
        reencryption.reencrypt(column)
    new, old = crypto.key_ids()
    assert [column.rows().filter(key_id=key).count() for key in (new, old)] == [3, 4]
    assert reencryption.reencrypt(column) == reencryption.Count(reencrypted=4, changed_meanwhile=0, unreadable=0)
    assert len(live_webhook_secrets(project.row)) == 7


def test_a_change_made_meanwhile_is_not_lost(ring, stored, monkeypatch):
    ring(NEW, OLD)
    decrypt = crypto.decrypt

    def owner_saves_meanwhile(ciphertext, *, binding):
        Provider.objects.filter(pk=stored.pk).update(secrets=crypto.encrypt('{"headers": "X: new"}', binding=binding))
        return decrypt(ciphertext, binding=binding)

    with monkeypatch.context() as patched:
        patched.setattr(crypto, "decrypt", owner_saves_meanwhile)
        count = reencryption.reencrypt(reencryption.COLUMNS[0])
    assert (count.reencrypted, count.changed_meanwhile) == (0, 1)
    stored.refresh_from_db()
    assert stored_secrets(stored)["headers"] == "X: new"


def test_a_code_that_was_wiped_meanwhile_stays_wiped(ring, stored, monkeypatch):
    ring(NEW, OLD)
    decrypt = crypto.decrypt

    def message_ends_meanwhile(ciphertext, *, binding):
        Message.objects.update(code_encrypted=None)
        return decrypt(ciphertext, binding=binding)

    with monkeypatch.context() as patched:
        patched.setattr(crypto, "decrypt", message_ends_meanwhile)
        reencryption.reencrypt(next(column for column in reencryption.COLUMNS if column.model is Message))
    assert not Message.objects.filter(code_encrypted__isnull=False).exists()


def test_what_no_key_opens_is_left_and_told_of(ring, stored):
    ring(NEW)
    with pytest.raises(CommandError, match=f"{sum(of_each().values())} ciphertexts"):
        run("reencrypt")
    ring(NEW, OLD)
    assert reencrypted(run_json("reencrypt")) == of_each()


def test_a_ciphertext_of_another_row_is_not_carried_over(ring, stored, project):
    """Otherwise re-encrypting would bless what an attacker has copied."""
    Session.objects.update(code_encrypted=crypto.encrypt("123456", binding="session:another:code"))
    ring(NEW, OLD)
    column = next(column for column in reencryption.COLUMNS if column.model is Session)
    assert reencryption.reencrypt(column).unreadable == 1


def test_it_tells_people_which_keys_can_go(ring, stored):
    ring(NEW, OLD)
    new, old = (key.hex() for key in crypto.key_ids())
    text = run("reencrypt")
    assert f"{old}  0 ciphertexts, can go" in text
    assert f"{new}  {sum(of_each().values())} ciphertexts, the newest" in text
