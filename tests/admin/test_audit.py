"""The audit log: everything that changes configuration is on it, and nothing takes it off."""

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import ADDRESS, make_panel, page_with, values_on
from verification.models import (
    ApiKey,
    AuditEntry,
    Channel,
    ListEntry,
    Membership,
    Message,
    Project,
    Provider,
    SenderRule,
    TestLogin,
    WebhookSecret,
)
from verification.models.audit import WATCHED
from verification.services.maintenance import retention
from verification.services.projects import keys, test_logins, webhook_secrets
from verification.services.providers import accounts
from verification.services.records import audit

pytestmark = pytest.mark.django_db


@pytest.fixture
def panel(db):
    return make_panel()  # of its own: here some tests commit


def last(**fields):
    return AuditEntry.objects.filter(**fields).first()


def test_a_saved_form_is_on_record_with_user_address_and_values(panel):
    page = page_with(panel.project, "sends_per_day")
    client = panel.as_("owner")
    client.post(page, values_on(client, page) | {"sends_per_day": 7}, REMOTE_ADDR="192.0.2.7")
    entry = last(object_type="verification.project")
    assert (entry.who, entry.address, entry.action) == ("owner", "192.0.2.7", "Changed")
    assert entry.changes == {"sends_per_day": [20, 7]}
    assert (entry.project, entry.object_label) == (panel.project, "Ours")


def test_a_change_in_bulk_is_on_record(panel):
    with audit.acting("somebody", "2001:db8::1"):
        keys.revoke_key(panel.rows[ApiKey].pk)
        webhook_secrets.rotate_webhook_secret(panel.project)
        Channel.objects.filter(project=panel.project).update(is_active=False)
    revoked = last(object_type="verification.apikey")
    assert (revoked.who, revoked.address, list(revoked.changes)) == ("somebody", "2001:db8::1", ["revoked_at"])
    rotated = AuditEntry.objects.filter(object_type="verification.webhooksecret", who="somebody")
    assert [entry.action for entry in rotated] == ["Created", "Changed"]
    assert last(object_type="verification.channel").changes == {"is_active": [True, False]}


def test_what_no_user_did_names_the_process(panel):
    keys.revoke_key(panel.rows[ApiKey].pk)
    assert last().who == connection.settings_dict["OPTIONS"]["application_name"]


@pytest.mark.django_db(transaction=True)
def test_somebody_acts_only_as_long_as_they_do(panel):
    with audit.acting("somebody", None):
        Channel.objects.filter(project=panel.project).update(is_active=False)
    Channel.objects.filter(project=panel.project).update(is_active=True)
    assert [entry.who for entry in AuditEntry.objects.all()[:2]] == [
        connection.settings_dict["OPTIONS"]["application_name"],
        "somebody",
    ]


def test_a_change_that_is_rolled_back_is_not_on_record(panel):
    before = AuditEntry.objects.count()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        panel.rows[Channel].delete()
        raise ZeroDivisionError
    assert AuditEntry.objects.count() == before


@pytest.mark.requirement(88)
def test_no_secret_is_in_the_log(panel):
    provider = panel.rows[Provider]
    accounts.store_settings(provider, {"url": "http://127.0.0.1:9/other", "headers": "Authorization: another-secret"})
    provider.save()
    User.objects.get(username="owner").set_password("a-new-password")
    user = User.objects.get(username="owner")
    user.set_password("a-new-password")
    user.save()
    issued = keys.issue_key(project=panel.project, kind="api")
    test_logins.add_test_login(project=panel.project, to="reviewer@example.com", code="654321")
    assert last(object_type="verification.provider").changes["secrets"] == ["(hidden)", "(hidden)"]
    assert last(object_type="auth.user").changes == {"password": ["(hidden)", "(hidden)"]}
    assert last(object_type="verification.testlogin").changes == {"code_encrypted": ["(hidden)", "(hidden)"]}
    written = str(list(AuditEntry.objects.values_list("object_label", "changes")))
    for secret in (
        "another-secret",
        "a-new-password",
        issued.text,
        "654321",
        "123456",
        user.password,
        accounts.hook_secret_of(provider),
    ):
        assert secret not in written
    for stored in (ApiKey.objects.latest("pk").digest, provider.hook_secret, TestLogin.objects.get().code_encrypted):
        assert bytes(stored).hex() not in written


def test_every_column_that_sounds_secret_is_hidden():
    words = ("secret", "password", "digest", "code", "token")
    fine = {"code_length", "code_digits", "code_letters", "new_code_on_send", "code_in_subject", "wrong_codes_per_day"}
    fine |= {"wrong_codes_per_15_minutes", "secret_key_networks", "alert_digest", "risk_camara_token_url"}
    for name, watch in WATCHED.items():
        for field in apps.get_model(name)._meta.concrete_fields:
            if any(word in field.name for word in words) and field.name not in fine:
                assert field.name in watch.secret or field.get_internal_type() == "BinaryField", f"{name}.{field.name}"


def test_what_is_noted_all_day_is_not_on_record(panel):
    before = AuditEntry.objects.count()
    ApiKey.objects.update(last_used_at=timezone.now())
    User.objects.update(last_login=timezone.now())
    panel.rows[Channel].save()  # unchanged
    panel.rows[Message].save()
    assert AuditEntry.objects.count() == before


def test_a_line_belongs_to_the_project_also_by_way_of_a_provider(panel):
    SenderRule.objects.create(provider=panel.rows[Provider], prefix="+49", sender="Ours")
    assert last().project == panel.project
    assert last().object_label == "+49"
    membership = Membership.objects.get(project=panel.project)
    membership.delete()
    assert (last().object_label, last().project) == ("owner", panel.project)


def test_the_log_outlives_its_project(panel):
    number = panel.project.pk
    panel.project.delete()
    entry = last(object_type="verification.project")
    assert (entry.action, entry.object_label, entry.project_id) == ("Deleted", "Ours", number)
    page = panel.as_("root").get(reverse("admin:verification_auditentry_changelist"))
    assert page.status_code == 200


@pytest.mark.requirement(88)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE verification_auditentry SET who = 'nobody'",
        "DELETE FROM verification_auditentry",
        "SET LOCAL watchword.truncate_audit = 'off'; TRUNCATE verification_auditentry",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET watchword.truncate_audit', current_database()); END $$;"
        "SET LOCAL watchword.truncate_audit = 'on'; TRUNCATE verification_auditentry",
        "SET LOCAL watchword.purge_audit = 'on'; DELETE FROM verification_auditentry",
        "SELECT purge_audit(now() + interval '1 minute')",
    ],
)
def test_the_database_refuses_to_change_the_log(panel, statement):
    with pytest.raises(DatabaseError, match="only be added to"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_purge_takes_what_is_older_than_a_year(panel):
    old = AuditEntry.objects.create(who="root", action="Changed", at=timezone.now() - retention.AUDIT_KEPT * 1.01)
    kept = AuditEntry.objects.create(who="root", action="Changed", at=timezone.now() - retention.AUDIT_KEPT * 0.99)
    assert retention.purge()["audit_entries"] == 1
    assert set(AuditEntry.objects.filter(pk__in=[old.pk, kept.pk])) == {kept}


@pytest.mark.parametrize("who", ["root", "owner"])
@pytest.mark.parametrize("page", ["add", "change", "delete"])
def test_nobody_adds_changes_or_deletes_in_the_panel(panel, who, page):
    entry = last(project=panel.project)
    address = reverse(f"admin:verification_auditentry_{page}", args=() if page == "add" else (entry.pk,))
    assert panel.as_(who).post(address, {"who": "nobody", "post": "yes"}).status_code == 403
    assert last(pk=entry.pk).who == entry.who


@pytest.mark.requirement(88)
def test_a_member_reads_the_lines_of_their_projects_only(panel):
    panel.rows[Provider].delete()
    AuditEntry.objects.create(who="root", action="Logged in")
    address = reverse("admin:verification_auditentry_changelist")
    seen = {who: set(panel.as_(who).get(address).context["cl"].queryset) for who in ("root", "owner", "stranger")}
    assert seen["owner"] == set(AuditEntry.objects.filter(project=panel.project))
    assert seen["stranger"] == set(AuditEntry.objects.filter(project=panel.other))
    assert seen["root"] > seen["owner"] | seen["stranger"]


def test_an_address_in_the_log_is_shown_masked(panel):
    test_logins.add_test_login(project=panel.project, to=ADDRESS, code="123456")
    entry = last(object_type="verification.testlogin")
    for page in ("changelist", "change"):
        address = reverse(f"admin:verification_auditentry_{page}", args=() if page == "changelist" else (entry.pk,))
        content = panel.as_("owner").get(address).content.decode()
        assert ADDRESS not in content
        assert "verification" in content


@pytest.mark.parametrize(
    ("subject", "value", "name"),
    [
        ("recipient", "+4915112345678", "+4915******78"),
        ("recipient", "j@example.com", "***@e***.com"),
        ("prefix", "+4915", "+4915"),
        ("prefix", "+49151123", "+49******23"),
        ("domain", "example.com", "example.com"),
        ("country", "MA", "Morocco (MA)"),
        ("client", "203.0.113.0/24", "203.0.113.0/24"),
    ],
)
def test_a_list_entry_is_named_by_its_value_but_for_a_recipient(panel, subject, value, name):
    ListEntry.objects.create(project=panel.project, kind="block", subject=subject, value=value)
    entry = last(object_type="verification.listentry")
    for page in ("changelist", "change"):
        address = reverse(f"admin:verification_auditentry_{page}", args=() if page == "changelist" else (entry.pk,))
        content = panel.as_("owner").get(address).content.decode()
        assert f"List entry {name}" in content
        assert subject != "recipient" or value not in content


@pytest.mark.requirement(89)
def test_a_value_in_the_log_is_escaped(panel):
    Project.objects.filter(pk=panel.project.pk).update(name="<script>alert(1)</script>")
    page = reverse("admin:verification_auditentry_change", args=(last().pk,))
    content = panel.as_("owner").get(page).content.decode()
    assert "<script>alert(1)" not in content
    assert "&lt;script&gt;alert(1)" in content


def test_looking_at_the_webhook_secret_is_on_record(panel):
    page = reverse("admin:verification_project_webhook_secret", args=(panel.project.pk,))
    panel.as_("owner").post(page, {"step": "reveal"})
    entry = last()
    assert (entry.who, entry.action, entry.project) == ("owner", "Viewed the webhook secret", panel.project)
    assert WebhookSecret.objects.filter(project=panel.project).count() == 1
