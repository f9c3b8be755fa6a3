"""Keys, webhook secrets and providers' credentials: shown when they should be, and nowhere else."""

import re
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import PROVIDER_SECRET, form_values, sent_once, values_on
from verification.admin.base.current_project import section_address
from verification.core.errors import ApiError
from verification.models import ApiKey, AuditEntry, Membership, Provider, Role
from verification.services.projects.keys import authenticate
from verification.services.projects.webhook_secrets import live_webhook_secrets
from verification.services.providers.accounts import stored_secrets

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def owner_sees_addresses(panel):
    Membership.objects.filter(project=panel.project).update(sees_addresses=True)


def page_of(name, row):
    return reverse(f"admin:verification_{name}", args=(row.pk,))


def issue(panel, **values):
    client = panel.as_("owner")
    response = sent_once(client, page_of("project_issue_key", panel.project), **{"kind": "api", **values})
    [(_, text, _)] = response.context["secrets"]
    return client, response, text


@pytest.mark.parametrize(("kind", "prefix"), [("api", "ww_api_"), ("secret", "ww_secret_")])
def test_a_key_is_shown_in_the_answer_to_the_post_and_works(panel, kind, prefix):
    _, response, text = issue(panel, kind=kind)
    assert text.startswith(prefix)
    assert text in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert authenticate(text).project.name == "Ours"


@pytest.mark.requirement(3)
def test_a_key_is_shown_once(panel):
    client, _, text = issue(panel)
    key = ApiKey.objects.latest("pk")
    for address in (
        page_of("project_issue_key", panel.project),
        page_of("project_change", panel.project),
        page_of("project_history", panel.project),
        page_of("apikey_change", key),
        reverse("admin:verification_apikey_changelist"),
        reverse("admin:index"),
    ):
        assert text not in client.get(address, follow=True).content.decode()
    assert not LogEntry.objects.filter(change_message__contains=text).exists()
    assert text not in str([session.get_decoded() for session in BrowserSession.objects.all()])
    assert text not in str(client.cookies)


@pytest.mark.requirement(3)
def test_loading_the_answer_again_issues_no_second_key(panel):
    client, page = panel.as_("owner"), page_of("project_issue_key", panel.project)
    form = {"kind": "api", "_once": client.get(page).context["once"]}
    assert client.post(page, form).context["secrets"]
    before = ApiKey.objects.count()
    again = client.post(page, form, follow=True)
    assert "already submitted" in again.content.decode() and "ww_api_" not in str(again.context["messages"])
    assert ApiKey.objects.count() == before


def test_loading_the_answer_again_rotates_nothing_twice(panel):
    client, key = panel.as_("owner"), panel.rows[ApiKey]
    page, values = page_of("apikey_rotate", key), {"overlap": "86400", "lifetime": ""}
    values["_once"] = client.get(page).context["once"]
    counts = [client.post(page, values).status_code and ApiKey.objects.count() for _ in range(2)]
    page = page_of("project_webhook_secret", panel.project)
    values = {"step": "rotate", "_once": client.get(page).context["once"]}
    counts += [client.post(page, values).status_code and len(live_webhook_secrets(panel.project)) for _ in range(2)]
    assert (counts[0], counts[2]) == (counts[1], counts[3])


@pytest.mark.parametrize("who", ["owner", "root"])
def test_a_form_without_its_text_or_with_that_of_another_issues_nothing(panel, who):
    page, before = page_of("project_issue_key", panel.project), ApiKey.objects.count()
    text = panel.as_("stranger" if who == "owner" else "owner").get(page).context or {}
    answer = panel.as_(who).post(page, {"kind": "api", "_once": text.get("once", "made up")}, follow=True)
    assert "submit it again" in answer.content.decode()
    assert ApiKey.objects.count() == before


@pytest.mark.parametrize("who", ["issue", "rotate"])
@pytest.mark.parametrize("sees", [True, False])
def test_only_who_sees_addresses_gets_a_secret_key(panel, sees, who):
    Membership.objects.filter(project=panel.project).update(sees_addresses=sees, role=Role.DEVELOPER)
    key = panel.rows[ApiKey]
    page, values = {
        "issue": (page_of("project_issue_key", panel.project), {"kind": "secret"}),
        "rotate": (page_of("apikey_rotate", key), {"overlap": "86400", "lifetime": ""}),
    }[who]
    before = ApiKey.objects.count()
    answer = sent_once(panel.as_("owner"), page, **values)
    assert (ApiKey.objects.count() > before) is sees
    assert ("ww_secret_" in str(answer.context and answer.context.get("secrets"))) is sees
    key.refresh_from_db()
    assert (key.expires_at is not None) is (sees and who == "rotate")


def test_opening_the_page_issues_nothing(panel):
    before = ApiKey.objects.count()
    panel.as_("owner").get(page_of("project_issue_key", panel.project), {"kind": "api"})
    assert ApiKey.objects.count() == before


def test_a_key_needs_the_csrf_token(panel):
    client, before = Client(enforce_csrf_checks=True), ApiKey.objects.count()
    client.force_login(User.objects.get(username="owner"))
    assert client.post(page_of("project_issue_key", panel.project), {"kind": "api"}).status_code == 403
    assert ApiKey.objects.count() == before


def test_a_key_can_have_a_lifetime(panel):
    issue(panel, lifetime=str(7 * 86_400))
    left = ApiKey.objects.latest("pk").expires_at - timezone.now()
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


@pytest.mark.parametrize(
    "values", [{"kind": "root"}, {"kind": "api", "lifetime": "-1"}, {"kind": "api", "lifetime": "x"}]
)
def test_a_key_of_another_kind_or_lifetime_is_refused(panel, values):
    before = ApiKey.objects.count()
    response = panel.as_("owner").post(page_of("project_issue_key", panel.project), values)
    assert response.context["form"].errors
    assert ApiKey.objects.count() == before


def rotate(panel, key, **values):
    values = {"overlap": str(86_400), "lifetime": "", **values}
    return sent_once(panel.as_("owner"), page_of("apikey_rotate", key), **values)


def test_rotating_a_key_shows_the_new_one_and_ends_the_old_one_later(panel):
    _, _, text = issue(panel, kind="secret")
    old = ApiKey.objects.latest("pk")
    response = rotate(panel, old)
    [(_, new_text, _)] = response.context["secrets"]
    assert "no-store" in response["Cache-Control"]
    assert authenticate(text).key_id != authenticate(new_text).key_id
    new = ApiKey.objects.latest("pk")
    assert (new.kind, new.project, new.expires_at) == ("secret", panel.project, None)
    old.refresh_from_db()
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)


def test_rotating_does_not_prolong_a_key(panel):
    issue(panel, lifetime=str(86_400))
    old = ApiKey.objects.latest("pk")
    rotate(panel, old, overlap=str(7 * 86_400))
    assert ApiKey.objects.get(pk=old.pk).expires_at == old.expires_at


def test_a_revoked_key_cannot_be_rotated(panel):
    key = panel.rows[ApiKey]
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    before = ApiKey.objects.count()
    assert rotate(panel, key).status_code == 302
    assert ApiKey.objects.count() == before


@pytest.mark.parametrize("values", [{"overlap": "0"}, {"overlap": ""}, {"lifetime": "-1"}])
def test_an_odd_overlap_rotates_nothing(panel, values):
    before = ApiKey.objects.count()
    assert rotate(panel, panel.rows[ApiKey], **values).context["form"].errors
    assert ApiKey.objects.count() == before


def test_a_stranger_rotates_nothing(panel):
    before = ApiKey.objects.count()
    panel.as_("stranger").post(page_of("apikey_rotate", panel.rows[ApiKey]), {"overlap": "86400"})
    assert ApiKey.objects.count() == before


def test_revoking_asks_first_and_then_holds(panel):
    client, _, text = issue(panel)
    key = ApiKey.objects.latest("pk")
    assert "cannot be undone" in client.get(page_of("apikey_revoke", key)).content.decode()
    assert authenticate(text)
    client.post(page_of("apikey_revoke", key), {"confirmed": "yes"})
    key.refresh_from_db()
    assert key.revoked_at
    from verification.core import caching

    caching.clear_all()
    with pytest.raises(ApiError):
        authenticate(text)


def test_the_list_of_keys_leads_to_where_they_are_created(panel):
    shown = panel.as_("owner").get(reverse("admin:verification_apikey_changelist"))
    assert f'href="{section_address(panel.project, "keys")}"' in shown.content.decode()


def test_the_revoke_action_asks_first(panel):
    client, key = panel.as_("owner"), panel.rows[ApiKey]
    page = reverse("admin:verification_apikey_changelist")
    chosen = {"action": "revoke_selected", ACTION_CHECKBOX_NAME: [key.pk]}
    assert "cannot be undone" in client.post(page, chosen).content.decode()
    assert not ApiKey.objects.filter(revoked_at__isnull=False).exists()
    client.post(page, chosen | {"confirmed": "yes"})
    assert [revoked.pk for revoked in ApiKey.objects.filter(revoked_at__isnull=False)] == [key.pk]


def test_the_digest_of_a_key_is_on_no_page(panel):
    key = panel.rows[ApiKey]
    for address in (page_of("apikey_change", key), reverse("admin:verification_apikey_changelist")):
        page = panel.as_("root").get(address).content.decode()
        assert bytes(key.digest).hex() not in page
        assert "digest" not in page


def test_the_webhook_secret_is_shown_on_request_only(panel):
    client, page = panel.as_("owner"), page_of("project_webhook_secret", panel.project)
    assert "whsec_" not in client.get(page).content.decode()
    assert "whsec_" not in client.get(page_of("project_change", panel.project)).content.decode()
    response = client.post(page, {"step": "reveal"})
    assert "whsec_" in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert not LogEntry.objects.filter(change_message__contains="whsec_").exists()


def test_rotating_leaves_the_old_webhook_secret_for_a_day(panel):
    [(old, _)] = live_webhook_secrets(panel.project)
    sent_once(panel.as_("owner"), page_of("project_webhook_secret", panel.project), step="rotate")
    (new, new_end), (kept, kept_end) = live_webhook_secrets(panel.project)
    assert (kept, new_end) == (old, None)
    assert new != old
    assert timedelta(hours=23) < kept_end - timezone.now() <= timedelta(hours=24)


def test_rotating_twice_does_not_prolong_the_first_secret(panel):
    page = page_of("project_webhook_secret", panel.project)
    for _ in range(2):
        sent_once(panel.as_("owner"), page, step="rotate")
    ends = [end for _, end in live_webhook_secrets(panel.project)]
    assert len(ends) == 3
    assert ends.count(None) == 1
    assert ends[2] <= ends[1]


@pytest.mark.requirement(84)
def test_a_providers_secret_is_not_in_its_form(panel):
    page = panel.as_("root").get(page_of("provider_change", panel.rows[Provider])).content.decode()
    assert "provider-secret" not in page
    assert "Leave empty to keep it" in page


def test_a_blank_secret_keeps_what_is_stored(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = page_of("provider_change", provider)
    values = values_on(client, page) | {"name": "Renamed", "setting_method": "PUT"}
    assert client.post(page, values).status_code == 302
    provider.refresh_from_db()
    assert (provider.name, provider.settings["method"]) == ("Renamed", "PUT")
    assert stored_secrets(provider)["headers"] == PROVIDER_SECRET


@pytest.mark.requirement(88)
def test_saving_a_form_as_it_is_leaves_no_line_in_the_audit_log(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page, before = page_of("provider_change", provider), AuditEntry.objects.count()
    assert client.post(page, values_on(client, page)).status_code == 302
    assert client.post(page, values_on(client, page) | {"setting_headers": PROVIDER_SECRET}).status_code == 302
    assert AuditEntry.objects.count() == before


@pytest.mark.requirement(84)
def test_a_new_secret_replaces_the_stored_one_and_stays_out_of_the_history(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = page_of("provider_change", provider)
    client.post(page, values_on(client, page) | {"setting_headers": "X-Key: another-secret"})
    provider.refresh_from_db()
    assert stored_secrets(provider)["headers"] == "X-Key: another-secret"
    entry = LogEntry.objects.latest("pk")
    assert "Headers" in entry.get_change_message()
    assert "another-secret" not in entry.change_message
    assert "another-secret" not in client.get(page_of("provider_history", provider), follow=True).content.decode()


def test_an_optional_secret_can_be_removed(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = page_of("provider_change", provider)
    client.post(page, values_on(client, page) | {"forget_headers": "on"})
    provider.refresh_from_db()
    assert stored_secrets(provider)["headers"] == ""


def test_a_refused_form_does_not_repeat_the_secret(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = page_of("provider_change", provider)
    values = values_on(client, page) | {"setting_headers": "X-Key: typed-secret", "setting_url": "not a url"}
    response = client.post(page, values)
    assert response.status_code == 200
    assert "setting_url" in response.context["adminform"].form.errors
    assert "typed-secret" not in response.content.decode()


def test_secrets_that_no_key_opens_are_named_and_not_a_crash(panel):
    provider = panel.rows[Provider]
    Provider.objects.filter(pk=provider.pk).update(secrets=b"\x01broken")
    client, page = panel.as_("owner"), page_of("provider_change", provider)
    shown = client.get(page)
    assert shown.status_code == 200
    assert "Enter them again" in client.post(page, form_values(shown)).content.decode()
    check = client.post(page_of("provider_check_credentials", provider))
    assert "cannot be decrypted" in check.content.decode()


@pytest.mark.requirement(84)
def test_no_page_saves_a_copy_that_would_take_the_secrets_along():
    assert [model for model, page in admin.site._registry.items() if page.save_as] == []


@pytest.mark.parametrize(
    ("url", "goes"),
    [("http://127.0.0.1:9/other", True), ("http://127.0.0.1:10/send", False), ("http://127.0.0.2:9/send", False)],
)
def test_a_stored_secret_does_not_follow_an_address_to_another_server(panel, url, goes):
    """A member who cannot read it could else have it sent to a server of their own."""
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = page_of("provider_change", provider)
    values = values_on(client, page) | {"setting_url": url}
    response = client.post(page, values)
    assert (response.status_code == 302) is goes
    if not goes:
        assert "a different server" in str(response.context["adminform"].form.errors["setting_headers"])
        assert client.post(page, values | {"setting_headers": "X-Key: typed again"}).status_code == 302
    provider.refresh_from_db()
    assert provider.settings["url"] == url
    assert stored_secrets(provider)["headers"] == (PROVIDER_SECRET if goes else "X-Key: typed again")


def test_of_a_users_password_the_page_tells_only_whether_there_is_one(panel):
    owner = User.objects.get(username="owner")
    page, client = reverse("admin:auth_user_change", args=(owner.pk,)), panel.as_("root")
    assert "Not set." in client.get(page).content.decode()
    owner.set_password("correct horse battery")
    owner.save()
    shown = client.get(page).content.decode()
    assert "Set. <a" in shown and reverse("admin:auth_user_password_change", args=(owner.pk,)) in shown
    algorithm, *_, salt, digest = owner.password.split("$")
    assert not re.search(rf"\b{algorithm}\b", shown)  # a word: its three letters may stand in a token, too
    assert not [part for part in (salt[:6], digest[:6]) if part in shown]
