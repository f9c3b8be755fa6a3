"""Forged requests: rows of others, fields that the form lacks, ids that no action was offered on."""

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.urls import reverse

from tests.admin.rows import form_values, values_on
from verification.models import ApiKey, Channel, Membership, Project, Provider, TestLogin
from verification.services.projects import kill_switch

pytestmark = pytest.mark.django_db


@pytest.mark.requirement(82)
def test_a_channel_cannot_be_put_into_another_project(panel):
    response = panel.as_("owner").post(
        reverse("admin:verification_channel_add"),
        {"project": panel.other.pk, "type": "voice", "position": 1, "is_active": "on"},
    )
    assert "project" in response.context["adminform"].form.errors
    assert not Channel.objects.filter(project=panel.other, type="voice").exists()


def test_a_channel_is_added_to_an_own_project(panel):
    response = panel.as_("owner").post(
        reverse("admin:verification_channel_add"),
        {
            "project": panel.project.pk,
            "type": "voice",
            "position": 1,
            "is_active": "on",
            "routing": "fixed",
            "explore_percent": 5,
        },  # fmt: skip
    )
    assert response.status_code == 302
    assert Channel.objects.filter(project=panel.project, type="voice").exists()


def test_the_project_and_type_of_a_channel_stay_as_they_are(panel):
    channel = panel.rows[Channel]
    page = reverse("admin:verification_channel_change", args=(channel.pk,))
    client = panel.as_("owner")
    forged = values_on(client, page) | {"project": panel.other.pk, "type": "voice", "name": "Text message"}
    assert client.post(page, forged).status_code == 302
    channel.refresh_from_db()
    assert (channel.project, channel.type, channel.name) == (panel.project, "sms", "Text message")


@pytest.mark.requirement(77)
@pytest.mark.parametrize("field", ["image_url", "link"])
@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "http://shop.example/a.png",
    ],
)
def test_what_apps_load_and_open_is_an_https_address(panel, field, address):
    channel = panel.rows[Channel]
    page = reverse("admin:verification_channel_change", args=(channel.pk,))
    client = panel.as_("owner")
    response = client.post(page, values_on(client, page) | {field: address})
    assert field in response.context["adminform"].form.errors
    assert client.post(page, values_on(client, page) | {field: "https://shop.example/a"}).status_code == 302
    assert getattr(Channel.objects.get(pk=channel.pk), field) == "https://shop.example/a"


def test_a_test_login_cannot_be_put_into_another_project(panel):
    response = panel.as_("owner").post(
        reverse("admin:verification_testlogin_add"),
        {"project": panel.other.pk, "to": "a@example.com", "code": "1234"},
    )
    assert "project" in response.context["adminform"].form.errors
    assert not TestLogin.objects.filter(project=panel.other).exists()


@pytest.mark.parametrize("project", ["other", "system", "", "999999", "x"])
def test_an_owner_adds_a_provider_to_an_own_project_only(panel, project):
    chosen = panel.other.pk if project == "other" else project
    page = f"{reverse('admin:verification_provider_add')}?project={chosen}&as=sms/inbox"
    client, before = panel.as_("owner"), Provider.objects.count()
    assert client.get(page).template_name == "admin/verification/provider/choose.html"
    client.post(page, {"name": "Forged", "is_enabled": "on", "priority": 1, "weight": 1})
    assert Provider.objects.count() == before


def test_an_owner_sees_no_system_provider(panel):
    provider = Provider.objects.create(channel="sms", type="inbox", name="Shared inbox of the house")
    client = panel.as_("owner")
    assert (
        "Shared inbox of the house"
        not in client.get(reverse("admin:verification_provider_changelist")).content.decode()
    )
    assert client.get(reverse("admin:verification_provider_change", args=(provider.pk,))).status_code == 302
    assert client.get(reverse("admin:verification_provider_check_credentials", args=(provider.pk,))).status_code == 403


@pytest.mark.requirement(83)
def test_members_are_neither_shown_to_members_nor_taken_from_them(panel):
    page = reverse("admin:verification_project_change", args=(panel.project.pk,))
    client, stranger = panel.as_("owner"), User.objects.get(username="stranger")
    shown = client.get(page)
    assert "memberships-0" not in shown.content.decode()
    forged = form_values(shown) | {
        "memberships-TOTAL_FORMS": 1,
        "memberships-INITIAL_FORMS": 0,
        "memberships-0-user": stranger.pk,
        "members": stranger.pk,
    }
    assert client.post(page, forged).status_code == 302
    assert not Membership.objects.filter(project=panel.project, user=stranger).exists()


def test_a_superuser_adds_a_member(panel):
    client, stranger = panel.as_("root"), User.objects.get(username="stranger")
    page = reverse("admin:auth_user_change", args=(stranger.pk,))
    values = values_on(client, page) | {"memberships-TOTAL_FORMS": 2, "memberships-1-project": panel.project.pk}
    values["memberships-1-role"] = "support"
    assert client.post(page, values).status_code == 302
    assert Membership.objects.filter(project=panel.project, user=stranger, role="support").exists()


def test_a_project_that_the_operator_stopped_stays_stopped_whatever_its_owner_posts(panel):
    kill_switch.stop(f"project:{panel.project.pk}")
    page = reverse("admin:verification_project_change", args=(panel.project.pk,))
    client = panel.as_("owner")
    forged = values_on(client, page) | {"is_enabled": "on", "site_url": "https://kept.example"}
    assert client.post(page, forged).status_code == 302
    panel.project.refresh_from_db()
    assert (panel.project.is_enabled, panel.project.site_url) == (False, "https://kept.example")


def test_an_owner_creates_and_deletes_no_project(panel):
    client = panel.as_("owner")
    assert client.post(reverse("admin:verification_project_add"), {"name": "Mine"}).status_code == 403
    delete = reverse("admin:verification_project_delete", args=(panel.project.pk,))
    assert client.post(delete, {"post": "yes"}).status_code == 403
    assert Project.objects.filter(pk=panel.project.pk).exists()


@pytest.mark.parametrize("model", [Channel, Provider, TestLogin])
def test_the_delete_action_leaves_ids_of_others_alone(panel, model):
    name, row = model._meta.model_name, panel.rows[model]
    panel.as_("stranger").post(
        reverse(f"admin:verification_{name}_changelist"),
        {"action": "delete_selected", ACTION_CHECKBOX_NAME: [row.pk], "post": "yes"},
    )
    assert model.objects.filter(pk=row.pk).exists()


def test_the_revoke_action_leaves_ids_of_others_alone(panel):
    key = panel.rows[ApiKey]
    panel.as_("stranger").post(
        reverse("admin:verification_apikey_changelist"),
        {"action": "revoke_selected", ACTION_CHECKBOX_NAME: [key.pk], "confirmed": "yes"},
    )
    key.refresh_from_db()
    assert key.revoked_at is None


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("project_issue_key", Project),
        ("project_webhook_secret", Project),
        ("apikey_revoke", ApiKey),
        ("provider_check_credentials", Provider),
    ],
)
def test_an_action_on_the_row_of_another_is_refused(panel, name, model):
    page = reverse(f"admin:verification_{name}", args=(panel.rows[model].pk,))
    before = ApiKey.objects.count()
    for method in ("get", "post"):
        response = getattr(panel.as_("stranger"), method)(page, {"kind": "api", "step": "rotate"})
        assert response.status_code in (403, 404)
        assert getattr(panel.as_("anonymous"), method)(page).status_code == 302
    assert ApiKey.objects.count() == before
    assert panel.project.webhook_secrets.count() == 1
    assert not ApiKey.objects.filter(revoked_at__isnull=False).exists()


@pytest.mark.parametrize("key", ["%00", "\u00b2", "9" * 30, "x"])
def test_a_row_by_an_impossible_key_is_not_there(panel, key):
    client = panel.as_("owner")
    for name in ("session", "alert", "recipient"):
        page = reverse(f"admin:verification_{name}_change", args=("KEY",)).replace("KEY", key)
        assert client.get(page).url == reverse("admin:index")


@pytest.mark.parametrize("number", ["9" * 5_000, "9" * 30, "²"])
def test_a_project_by_what_is_no_id_is_not_there(panel, number):
    page = panel.as_("root").get(reverse("admin:verification_channel_changelist"), {"project": number})
    assert page.status_code == 404
