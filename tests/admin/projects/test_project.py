"""The project's page: its fields, what is cleaned, what is warned of."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from tests.admin.rows import page_with, values_on
from tests.api.calls import Api
from verification.admin import alert_destinations
from verification.admin.base.current_project import section_address
from verification.admin.projects.sections import SECTIONS
from verification.models import ApiKey, Membership, Message, Project, Role
from verification.models.project_settings import SECRETS, SETTABLE
from verification.services.projects import deletion
from verification.services.projects.settings import secret_of
from verification.services.projects.webhook_secrets import live_webhook_secrets

pytestmark = pytest.mark.django_db


def change(panel, **values):
    """Save values of one section."""
    page = page_with(panel.project, next(iter(values)))
    client = panel.as_("owner")
    response = client.post(page, values_on(client, page) | values, follow=True)
    panel.project.refresh_from_db()
    return response


@pytest.mark.requirement(119)
@pytest.mark.parametrize("sees", [True, False])
def test_only_who_sees_addresses_lets_events_tell_them(panel, sees):
    Membership.objects.filter(project=panel.project).update(sees_addresses=sees, role=Role.DEVELOPER)
    page = change(panel, event_recipients="on").content.decode()
    assert panel.project.event_recipients is sees
    assert ("Only members who can see full addresses may turn this on." in page) is not sees


def test_who_does_not_see_addresses_changes_what_else_there_is_and_switches_them_off(panel):
    Project.objects.filter(pk=panel.project.pk).update(event_recipients=True)
    Membership.objects.filter(project=panel.project).update(role=Role.DEVELOPER)
    change(panel, code_length=4)
    assert (panel.project.code_length, panel.project.event_recipients) == (4, True)
    change(panel, event_recipients="")
    assert not panel.project.event_recipients


def test_who_does_not_see_addresses_turns_events_that_tell_them_to_no_other_server(panel):
    Project.objects.filter(pk=panel.project.pk).update(event_recipients=True, event_url="https://shop.example/events")
    page = change(panel, event_url="https://mine.example/events").content.decode()
    assert panel.project.event_url == "https://shop.example/events"
    assert "only members who can see them may change this" in page
    change(panel, event_url="")
    assert panel.project.event_url == ""


def test_everything_that_a_command_sets_is_on_the_page():
    fieldsets = [fieldset for section in SECTIONS for fieldset in section.fieldsets]
    shown = [name for _, options in fieldsets for name in options["fields"]]
    shown += [name for _title, fields in alert_destinations.FORMS.values() for name in fields]
    assert set(SETTABLE) - set(SECRETS) <= set(shown)
    assert {f"new_{name}" for name in SECRETS} <= set(shown)
    assert len(shown) == len(set(shown))


def sections(response):
    return {line.link: line for _, lines in response.context["sections"] for line in lines}


def test_each_section_opens_and_is_the_current_one_in_the_list_beside_it(panel):
    client = panel.as_("owner")
    for section in SECTIONS:
        if section.changed_in:
            continue
        page = section_address(panel.project, section.slug)
        response = client.get(page)
        assert [line.title for line in sections(response).values() if line.is_current] == [section.title]
        assert f"<h2>{escape(section.title)}</h2>" in response.content.decode()
        assert set(response.context["adminform"].form.fields) <= {
            *section.all_fields,
            *(f"new_{name}" for name in SECRETS),
            "preset",
        }


def test_the_list_leads_to_what_the_role_may_open(panel):
    titles = {}
    for role in (Role.OWNER, Role.ANALYST):
        Membership.objects.filter(project=panel.project).update(role=role)
        page = panel.as_("owner").get(section_address(panel.project))
        titles[role] = {str(line.title) for line in sections(page).values()}
    assert titles[Role.OWNER] - titles[Role.ANALYST] == {
        "Alert destinations",
        "API keys",
        "Connections",
        "Example code",
        "Hosted page",
        "Configuration file",
    }
    assert "People" in titles[Role.ANALYST]


def test_alerts_are_set_in_the_list_of_destinations_alone(panel):
    client = panel.as_("owner")
    [address] = [
        link
        for link, line in sections(client.get(section_address(panel.project))).items()
        if line.title == "Alert destinations"
    ]
    assert address == reverse("admin:verification_alertservice_changelist", query={"project": panel.project.pk})
    beside = sections(client.get(address))
    assert [link for link, line in beside.items() if line.is_current] == [address]
    assert "alert_emails" not in client.get(section_address(panel.project, "alerts")).content.decode()


def test_a_section_has_one_way_to_save_and_leads_back_to_itself(panel):
    client, page = panel.as_("owner"), page_with(panel.project, "sends_per_day")
    shown = client.get(page).content.decode()
    assert 'name="_save"' in shown and "_continue" not in shown and "_addanother" not in shown
    assert client.post(page, values_on(client, page)).url == page


def test_lists_are_written_by_line_or_comma(panel):
    change(
        panel,
        origins="https://App.example.com\n https://b.example.com, https://b.example.com",
    )
    change(panel, languages="en\nde")
    change(panel, server_addresses="192.0.2.1, 2001:db8::1")
    assert panel.project.origins == ["https://app.example.com", "https://b.example.com"]
    assert panel.project.languages == ["en", "de"]
    assert panel.project.server_addresses == ["192.0.2.1", "2001:db8::1"]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("origins", "app.example.com/path"),
        ("languages", "german!"),
        ("server_addresses", "192.0.2.999"),
        ("secret_key_networks", "192.0.2.1/24"),
    ],
)
def test_a_wrong_entry_of_a_list_is_refused_on_its_field(panel, field, text):
    response = change(panel, **{field: text})
    assert field in response.context["adminform"].form.errors
    assert getattr(panel.project, field) == []


@pytest.mark.requirement(17)
def test_codes_of_4_are_warned_of(panel):
    response = change(panel, code_length="4")
    assert "codes of length 4: lower security" in response.content.decode()
    page = panel.as_("owner").get(page_with(panel.project, "code_length"))
    assert "Lower security: codes of length 4." in page.content.decode()


@pytest.mark.requirement(17)
def test_a_code_needs_an_alphabet(panel):
    page = page_with(panel.project, "code_digits")
    client = panel.as_("owner")
    values = values_on(client, page)
    values.pop("code_digits")
    assert client.post(page, values).context["adminform"].form.errors


def test_a_project_of_the_panel_starts_with_what_createproject_gives(panel, client):
    response = panel.as_("root").post(
        reverse("admin:verification_project_add"), {"name": "New one", "site_url": "", "language": "en"}
    )
    project = Project.objects.get(name="New one")
    shown = {name: text for name, text, _ in response.context["secrets"]}
    assert shown["Webhook secret"] == live_webhook_secrets(project)[0][0]
    api = Api(client, shown["API key"], shown["Secret key"])
    assert api.settings().data["project"]["name"] == "New one"
    assert api.manual_channels().status_code == 200
    assert "no-store" in response["Cache-Control"]


def test_the_first_keys_of_a_project_are_shown_once(panel):
    root, page = panel.as_("root"), reverse("admin:verification_project_add")
    values = {"name": "New one", "site_url": "", "language": "en"}
    root.post(page, values)
    again = root.post(page, values)
    assert "already exists" in str(again.context["adminform"].form.errors["name"])
    assert ApiKey.objects.filter(project__name="New one").count() == 2


def test_names_are_escaped(panel):
    Project.objects.filter(pk=panel.project.pk).update(name="<script>alert(1)</script>")
    client = panel.as_("owner")
    for name, args in (("project_changelist", ()), ("message_changelist", ()), ("project_change", (panel.project.pk,))):
        assert "<script>alert(1)" not in client.get(reverse(f"admin:verification_{name}", args=args)).content.decode()


TURNSTILE = {"challenge_mode": "always", "challenge_provider": "turnstile", "challenge_site_key": "0x4AAA"}


def test_the_secret_of_challenges_is_kept_and_shown_nowhere(panel):
    page = change(panel, **TURNSTILE, new_challenge_secret="0x4AAA-hush")
    assert secret_of(panel.project, "challenge_secret") == "0x4AAA-hush"
    assert "hush" not in page.content.decode()
    again = change(panel, challenge_min_score="0.7")
    assert secret_of(panel.project, "challenge_secret") == "0x4AAA-hush"
    assert "hush" not in again.content.decode()
    history = panel.as_("owner").get(
        reverse("admin:verification_project_history", args=(panel.project.pk,)), follow=True
    )
    assert "hush" not in history.content.decode()


def test_a_secret_that_was_just_typed_is_not_written_back_into_the_page(panel):
    refused = change(panel, **(TURNSTILE | {"challenge_site_key": ""}), new_challenge_secret="0x4AAA-hush")
    assert "challenge_mode" in refused.context["adminform"].form.errors
    assert "hush" not in refused.content.decode()


def test_challenges_of_a_vendor_need_their_keys(panel):
    response = change(panel, **TURNSTILE)
    errors = response.context["adminform"].form.errors["challenge_mode"]
    assert errors == ["Cloudflare Turnstile challenges need a site key and a secret."]
    assert panel.project.challenge_mode == "off"


def test_deleting_a_project_takes_its_name_and_no_row_of_its_traffic(panel):
    page, client = reverse("admin:verification_project_delete", args=(panel.project.pk,)), panel.as_("root")
    assert "The name does not match" in client.post(page, {"name": "Theirs", "post": "yes"}).content.decode()
    panel.project.refresh_from_db()
    assert panel.project.is_enabled and panel.project.deleted_at is None
    with CaptureQueriesContext(connection) as asked:
        answer = client.post(page, {"name": "Ours"}, follow=True)
    assert "stopped and hidden" in answer.content.decode()
    assert not [each["sql"] for each in asked if 'FROM "verification_message"' in each["sql"]]
    assert Message.objects.filter(project=panel.project).exists()


def test_only_the_operator_deletes_a_project(panel):
    page, named = reverse("admin:verification_project_delete", args=(panel.project.pk,)), {"name": "Ours"}
    answers = {who: panel.as_(who).post(page, named) for who in ("anonymous", "stranger", "owner")}
    assert answers["anonymous"].url.split("?")[0] == reverse("admin:login")
    assert answers["stranger"].status_code == 404
    assert answers["owner"].status_code == 403
    panel.project.refresh_from_db()
    assert panel.project.is_enabled and panel.project.deleted_at is None


def test_a_project_that_is_being_deleted_is_shown_to_nobody(panel):
    deletion.mark(panel.project, typed_name="Ours")
    for who in ("root", "owner"):
        client = panel.as_(who)
        assert "Ours" not in client.get(reverse("admin:verification_project_changelist")).content.decode()
        page = reverse("admin:verification_project_change", args=(panel.project.pk,))
        assert client.get(page).url == reverse("admin:index")
    page = reverse("admin:verification_message_change", args=(panel.rows[Message].pk,))
    assert panel.as_("owner").get(page).status_code == 403


@pytest.mark.requirement(93)
def test_a_name_that_phones_make_a_link_of_leads_to_the_projects_site(panel):
    assert "looks like a link" in change(panel, name="evil.com").content.decode()
    assert panel.project.name == "Ours"
    change(panel, name="shop.example", site_url="https://shop.example/")
    assert panel.project.name == "shop.example"


@pytest.mark.requirement(9)
def test_a_new_name_tells_nothing_of_other_tenants(panel):
    change(panel, name="Theirs")
    assert panel.project.name == "Theirs"


def test_two_projects_of_one_member_have_two_names(panel):
    second = Project.objects.create(name="Second")
    Membership.objects.create(project=second, user=User.objects.get(username="owner"))
    response = change(panel, name="Second")
    assert "already exists" in str(response.context["adminform"].form.errors["name"])
    assert panel.project.name == "Ours"


def test_a_project_with_traffic_does_not_become_a_test_project(panel):
    errors = change(panel, is_sandbox="on").context["adminform"].form.errors
    assert "no longer be changed" in str(errors["is_sandbox"])
    assert not panel.project.is_sandbox
