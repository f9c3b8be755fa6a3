"""One project at a time: the switcher of the menu, the address, what lists show and forms begin with."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from tests import factories
from tests.admin.rows import values_on
from tests.factories import a_message
from verification.admin.auth.session import BY_ITSELF
from verification.admin.base.current_project import section_address
from verification.models import Channel, Membership, Message, MessageTemplate, Project, Provider, Recipient, Role

pytestmark = pytest.mark.django_db


@pytest.fixture
def second(panel):
    """Another project of the owner, with a message of its own."""
    project = factories.project("Second", channels=("sms",)).row
    Membership.objects.create(project=project, user=User.objects.get(username="owner"))
    a_message(Recipient.objects.create(project=project, address="+4915199999999"))
    return project


def page_of(name, **query):
    return reverse(f"admin:verification_{name}", query=query)


def switcher(response):
    return response.context["switcher"]


def ids(response):
    return {row.project_id for row in response.context["cl"].result_list}


def test_a_user_of_one_project_has_no_switcher(panel):
    page = panel.as_("owner").get(page_of("message_changelist"))
    assert not switcher(page)
    assert "ww-switcher" not in page.content.decode()


def test_a_user_of_several_sees_all_until_they_choose(panel, second):
    page = panel.as_("owner").get(page_of("message_changelist"))
    assert ids(page) == {panel.project.pk, second.pk}
    assert [each.project.name for each in switcher(page).choices] == ["Ours", "Second"]
    assert switcher(page).all.is_current and switcher(page).current is None


def test_the_address_chooses_and_the_session_remembers(panel, second):
    client = panel.as_("owner")
    assert ids(client.get(page_of("message_changelist", project=second.pk))) == {second.pk}
    page = client.get(page_of("channel_changelist"), follow=True)
    assert page.redirect_chain == [(page_of("channel_changelist", project=second.pk), 302)]
    assert ids(page) == {second.pk}
    assert switcher(page).current == second
    assert ids(client.get(page_of("channel_changelist", project="all"))) == {panel.project.pk, second.pk}
    assert client.get(page_of("message_changelist")).status_code == 200, "all are shown again"


def test_the_filters_of_an_address_stay_when_the_project_is_added(panel, second):
    client = panel.as_("owner")
    client.get(reverse("admin:index", query={"project": second.pk}))
    way = client.get(page_of("message_changelist", status="failed", since="day"))
    assert way.url == page_of("message_changelist", status="failed", since="day", project=second.pk)


@pytest.mark.parametrize(
    "name", ["index", "verification_figures", "verification_inbox", "verification_message_changelist"]
)
def test_a_project_that_is_not_the_users_does_not_exist(panel, second, name):
    client = panel.as_("owner")
    for named in (panel.other.pk, 999_999_999, "shop", "1e3"):
        assert client.get(reverse(f"admin:{name}", query={"project": named})).status_code == 404
    assert switcher(client.get(reverse("admin:index"))).current is None


def test_every_list_shows_the_chosen_project_alone(panel, second):
    client = panel.as_("root")
    for model, row in panel.rows.items():
        if model in (
            Project,
            MessageTemplate,
        ):  # no lists of rows by project
            continue
        name = f"{model._meta.model_name}_changelist"
        for project in (panel.project, second):
            rows = client.get(page_of(name, project=project.pk)).context["cl"].queryset
            assert rows.filter(pk=row.pk).exists() is (project == panel.project), name


def test_the_texts_are_those_of_the_chosen_project(panel, second):
    page = panel.as_("owner").get(page_of("messagetemplate_changelist", project=second.pk))
    assert page.context["matrix"].project == second


def test_a_list_of_one_project_has_no_column_of_it_and_no_filter(panel, second):
    page = panel.as_("owner").get(page_of("message_changelist", project=second.pk))
    assert "project" not in page.context["cl"].list_display
    assert not page.context["cl"].has_active_filters
    assert "show all" not in page.content.decode()
    assert "project" in panel.as_("owner").get(page_of("message_changelist")).context["cl"].list_display


def test_the_system_providers_stand_with_those_of_a_project_for_the_operator(panel, second):
    system = Provider.objects.create(channel="sms", type="console", name="System's")
    for who, sees in (("root", True), ("owner", False)):
        page = panel.as_(who).get(page_of("provider_changelist", project=second.pk))
        assert (system in page.context["cl"].result_list) is sees


def test_forms_begin_with_the_chosen_project(panel, second):
    client = panel.as_("owner")
    client.get(reverse("admin:index", query={"project": second.pk}))
    for name in ("channel_add", "listentry_add", "alertservice_add", "testlogin_add", "apikey_add"):
        page = client.get(page_of(name))
        if page.status_code == 200:
            assert page.context["adminform"].form["project"].value() == second.pk, name
    assert client.get(page_of("provider_add")).context["chosen"] == str(second.pk)


def test_the_page_of_a_row_leads_the_menu_to_its_project(panel, second):
    client = panel.as_("owner")
    row = reverse("admin:verification_message_change", args=(panel.rows[Message].pk,))
    assert switcher(client.get(row)).current is None, "all projects are looked at"
    client.get(reverse("admin:index", query={"project": second.pk}))
    page = client.get(row)
    assert switcher(page).current == panel.project
    links = [item["link"] for group in page.context["sidebar_navigation"] for item in group["items"]]
    assert page_of("message_changelist", project=panel.project.pk) in links


def test_the_page_of_a_project_chooses_it(panel, second):
    client = panel.as_("owner")
    assert switcher(client.get(reverse("admin:verification_project_change", args=(second.pk,)))).current == second
    assert ids(client.get(page_of("message_changelist"), follow=True)) == {second.pk}


def test_the_switcher_leads_to_the_same_page_of_the_other_project(panel, second):
    client = panel.as_("owner")
    page = client.get(page_of("message_changelist", project=panel.project.pk, since="day", provider=7))
    assert [each.link for each in switcher(page).choices if each.project == second] == [
        page_of("message_changelist", project=second.pk, since="day")
    ]
    row = client.get(reverse("admin:verification_channel_change", args=(panel.rows[Channel].pk,)))
    assert page_of("channel_changelist", project=second.pk) in [each.link for each in switcher(row).choices]
    own = client.get(reverse("admin:verification_project_change", args=(panel.project.pk,)))
    assert reverse("admin:verification_project_change", args=(second.pk,)) in [e.link for e in switcher(own).choices]


@pytest.mark.parametrize("page", ["show_people", "show_code", "show_file"])
def test_the_switcher_stays_on_the_page_of_a_project_where_the_role_opens_it(panel, second, page):
    client = panel.as_("owner")
    address = reverse(f"admin:verification_project_{page}", args=(panel.project.pk,))
    same = reverse(f"admin:verification_project_{page}", args=(second.pk,))
    assert same in [each.link for each in switcher(client.get(address)).choices]
    assert client.get(same).status_code == 200
    Membership.objects.filter(project=second).update(role=Role.ANALYST)
    links = [each.link for each in switcher(client.get(address)).choices]
    assert same not in links and reverse("admin:verification_project_change", args=(second.pk,)) in links


def test_the_switcher_stays_on_the_section_of_the_settings(panel, second):
    page = section_address(panel.project, "limits")
    assert section_address(second, "limits") in [e.link for e in switcher(panel.as_("owner").get(page)).choices]


def test_the_menu_follows_the_role_in_the_chosen_project(panel, second):
    Membership.objects.filter(project=second).update(role=Role.ANALYST)
    client = panel.as_("owner")
    page = client.get(page_of("message_changelist", project=panel.project.pk))
    assert reverse("admin:index", query={"project": second.pk}) in [each.link for each in switcher(page).choices]
    menu = client.get(reverse("admin:index", query={"project": second.pk})).context["sidebar_navigation"]
    links = [item["link"] for group in menu for item in group["items"]]
    assert not any("/message/?" in link or "/apikey/" in link for link in links)
    assert [client.get(link).status_code for link in links] == [200] * len(links)


def test_a_project_that_was_taken_away_is_chosen_no_more(panel, second):
    client = panel.as_("owner")
    client.get(reverse("admin:index", query={"project": second.pk}))
    Membership.objects.filter(project=second).delete()
    page = client.get(page_of("message_changelist"))
    assert ids(page) == {panel.project.pk}
    assert not switcher(page)


def test_a_page_that_reloads_itself_does_not_prolong_the_session(panel, second):
    client = panel.as_("owner")
    client.get(page_of("message_changelist", project=panel.project.pk))
    message = reverse("admin:verification_message_change", args=(panel.rows[Message].pk,))
    for page in (message, page_of("inbox", project=panel.project.pk)):
        assert settings.SESSION_COOKIE_NAME in client.get(page).cookies
        assert (
            settings.SESSION_COOKIE_NAME not in client.get(page, {"project": panel.project.pk, BY_ITSELF: ""}).cookies
        )


def test_saving_leads_back_to_the_page_that_the_form_was_opened_from(panel, second):
    client = panel.as_("owner")
    project = reverse("admin:verification_project_change", args=(panel.project.pk,))
    form = reverse("admin:verification_channel_change", args=(panel.rows[Channel].pk,), query={"next": project})
    assert client.post(form, values_on(client, form)).url == project
    elsewhere = form.replace("next=%2F", "next=https%3A%2F%2Fevil.example%2F")
    assert "evil" in elsewhere
    assert client.post(elsewhere, values_on(client, form)).url.startswith(page_of("channel_changelist"))


def test_the_checklist_leads_to_a_form_that_leads_back(panel, second):
    client = panel.as_("owner")
    project = reverse("admin:verification_project_change", args=(second.pk,))
    Provider.objects.filter(project=second).delete()
    steps = client.get(project).context["first_steps"]
    assert page_of("provider_add", project=second.pk, next=project) in [step.link for step in steps]
    chooser = client.get(page_of("provider_add", project=second.pk, next=project)).content.decode()
    assert f'name="next" value="{project}"' in chooser


def test_the_history_of_a_system_row_is_found_whichever_project_is_chosen(panel, second):
    system = Provider.objects.create(channel="sms", type="console", name="System's")
    client = panel.as_("root")
    client.get(reverse("admin:index", query={"project": second.pk}))
    page = client.get(reverse("admin:verification_provider_history", args=(system.pk,)), follow=True)
    assert page.context["cl"].result_count == 1


def test_figures_and_overview_count_the_chosen_project_alone(panel, second):
    client = panel.as_("owner")
    figures = client.get(page_of("figures", project=second.pk))
    assert figures.context["choice"].ids == [second.pk]
    assert set(client.get(page_of("figures", project="all")).context["choice"].ids) == {panel.project.pk, second.pk}
    overview = client.get(reverse("admin:index", query={"project": second.pk}))
    assert {each.channel.project for each in overview.context["budgets"]} == {second}
    assert overview.context["unread_alerts"] == 0
