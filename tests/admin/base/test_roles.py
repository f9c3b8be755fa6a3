"""The roles of members: every page and every button, tried with each role."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import reverse

from config import urls  # noqa: F401  # loads the pages, by which the tests are made
from tests.admin.rows import PROVIDER_SECRET, make_panel
from tests.conftest import ROOT
from verification.admin.apps import discover
from verification.admin.base.permissions import Who
from verification.models import RIGHTS, GuardBlock, Membership, Message, Project, Right, Role, Suppression, WebhookEvent

pytestmark = pytest.mark.django_db
DOCS = ROOT / "docs" / "people.md"
ROLES = [role.value for role in Role]
discover()
PAGES = [model for model in admin.site._registry if model is not User]
REFUSED = (302, 403, 404)


@pytest.fixture
def panel(db):
    made = make_panel()
    for role in ROLES:
        user = User.objects.create_user(role + "s", is_staff=True)
        Membership.objects.create(project=made.project, user=user, role=role)
    return made


def url(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def may(role, who):
    return isinstance(who, Right) and who in RIGHTS[Role(role)]


@pytest.mark.requirement(83)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("model", PAGES)
def test_a_page_opens_for_the_roles_that_have_its_right(panel, model, role):
    page, client = admin.site._registry[model], panel.as_(role + "s")
    assert page.viewers is not Who.NOBODY
    shown = client.get(url(model, "changelist"))
    assert shown.status_code == (200 if may(role, page.viewers) else 403)
    row = panel.rows.get(model)
    if row is None:
        return
    opened = client.get(url(model, "change", row.pk))
    assert opened.status_code == 200 if may(role, page.viewers) else opened.status_code in REFUSED
    assert PROVIDER_SECRET not in opened.content.decode()
    changed = client.post(url(model, "change", row.pk), {})
    assert changed.status_code in ((200, 302) if may(role, page.changers) else (302, 403))
    if changed.status_code == 302 and not may(role, page.changers):
        assert changed.url == reverse("admin:index"), "what the user does not see is not there"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("model", PAGES)
def test_adding_and_deleting_take_the_right_of_the_page(panel, model, role):
    page, client = admin.site._registry[model], panel.as_(role + "s")
    assert client.get(url(model, "add")).status_code == (200 if may(role, page.adders) else 403)
    if row := panel.rows.get(model):
        deleting = client.get(url(model, "delete", row.pk))
        assert (deleting.status_code == 200) is may(role, page.deleters)


@pytest.mark.requirement(83)
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("model", PAGES)
def test_every_button_asks_for_the_right_that_it_names(panel, model, role):
    page, client, row = admin.site._registry[model], panel.as_(role + "s"), panel.rows.get(model)
    rights = {"view": page.viewers, "change": page.changers, "delete": page.deleters, "act": page.actors}
    for name in page.actions_detail if row else ():
        asked = getattr(page, name).allowed_permissions
        answer = client.get(reverse(f"admin:verification_{model._meta.model_name}_{name}", args=(row.pk,)))
        if all(may(role, rights.get(each)) for each in asked):
            assert answer.status_code not in (403, 404), name
        else:
            assert answer.status_code == 403, name


@pytest.mark.parametrize("role", ROLES)
def test_the_menu_leads_to_pages_that_open(panel, role):
    client = panel.as_(role + "s")
    menu = [
        item["link"]
        for group in client.get(reverse("admin:index")).context["sidebar_navigation"]
        for item in group["items"]
    ]
    assert len(menu) > 4 and [client.get(link).status_code for link in menu] == [200] * len(menu)


@pytest.mark.parametrize("page", ["index", "verification_figures", "verification_costs"])
def test_an_analyst_sees_figures_without_a_link_to_anybodys_code(panel, page):
    shown = panel.as_("analysts").get(reverse(f"admin:{page}")).content.decode()
    for sums in ("figures", "costs"):
        shown = shown.replace(reverse(f"admin:verification_{sums}"), "")
    for name in ("message", "session", "recipient", "decision", "alert", "guardblock"):
        assert f"/verification/{name}/" not in shown
    assert panel.as_("analysts").get(reverse("admin:verification_find")).status_code == 403
    assert panel.as_("analysts").get(reverse("admin:verification_inbox")).status_code == 403
    assert panel.as_("supports").get(reverse("admin:verification_inbox")).status_code == 403


@pytest.mark.parametrize(
    ("model", "action", "role", "works"),
    [
        (Suppression, "lift_selected", "developer", False),
        (Suppression, "lift_selected", "support", True),
        (GuardBlock, "lift_selected", "developer", False),
        (GuardBlock, "lift_selected", "support", True),
        (WebhookEvent, "send_again_selected", "support", False),
        (WebhookEvent, "send_again_selected", "developer", True),
    ],
)
def test_an_action_on_selected_rows_takes_the_right_of_its_button(panel, model, action, role, works):
    client, row = panel.as_(role + "s"), panel.rows[model]
    values = {"action": action, "_selected_action": [row.pk], "confirmed": "yes"}
    client.post(url(model, "changelist"), values)
    before = {name: getattr(row, name) for name in ("lifted_at", "due_at") if hasattr(row, name)}
    row.refresh_from_db()
    assert (before != {name: getattr(row, name) for name in before}) is works


@pytest.mark.parametrize("text", ["abc", "\0", "²", "1e5", "-1", "9" * 30])
def test_a_selected_id_that_is_none_is_refused(panel, text):
    """Django would look it up as it stands, and fail."""
    values = {"action": "lift_selected", "_selected_action": [text], "confirmed": "yes"}
    assert panel.as_("root").post(url(GuardBlock, "changelist"), values).status_code in (302, 400)


@pytest.mark.requirement(83)
def test_a_role_counts_in_its_own_project_alone(panel):
    """An owner of one project who is an analyst in another sees no message of the other, nor changes it."""
    owner = User.objects.get(username="owners")
    Membership.objects.create(project=panel.other, user=owner, role=Role.ANALYST)
    client = panel.as_("owners")
    assert client.get(url(Project, "change", panel.other.pk)).status_code == 200
    theirs = panel.other.channels.get(type="sms")
    assert client.post(url(type(theirs), "change", theirs.pk), {}).status_code == 403
    Message.objects.filter(pk=panel.rows[Message].pk).update(project=panel.other)
    assert client.get(url(Message, "change", panel.rows[Message].pk)).status_code in REFUSED
    form = client.get(url(type(theirs), "add")).context["adminform"].form
    assert list(form.fields["project"].queryset) == [panel.project]


@pytest.mark.parametrize("model", PAGES)
def test_every_button_asks_for_the_right_in_the_project_of_its_row(panel, model):
    """A developer of one project who is an analyst in another uses no button of the other that takes more."""
    Membership.objects.create(project=panel.other, user=User.objects.get(username="analysts"), role=Role.DEVELOPER)
    page, client, row = admin.site._registry[model], panel.as_("analysts"), panel.rows.get(model)
    rights = {"view": page.viewers, "change": page.changers, "delete": page.deleters, "act": page.actors}
    messages = Message.objects.count()
    for name in page.actions_detail if row else ():
        if all(may("analyst", rights.get(each)) for each in getattr(page, name).allowed_permissions):
            continue
        address = url(model, name, row.pk)
        assert client.get(address).status_code == 403, name
        for values in ({}, {"to": "+4915112345688"}, {"url": "https://shop.example/hook"}):
            assert client.post(address, values).status_code == 403, name
    assert Message.objects.count() == messages


@pytest.mark.parametrize("page", admin.site._registry.values(), ids=lambda page: page.opts.model_name)
def test_the_function_of_a_button_has_the_name_of_the_button(page):
    """Unfold asks for the right in the row's project only where its list of a page's buttons has the function's name.

    With another name it asks whether the user has the right in any project. A list's row asks so always.
    """
    of_rows = [*page._extract_action_names(page.actions_detail), *page._extract_action_names(page.actions_submit_line)]
    assert [getattr(page, name).__name__ for name in of_rows] == of_rows
    assert set(page._extract_action_names(page.actions_row)) <= set(page._extract_action_names(page.actions_detail))


def test_a_role_that_is_taken_away_is_gone_with_the_next_click(panel):
    client = panel.as_("developers")
    assert client.get(url(Message, "changelist")).status_code == 200
    Membership.objects.filter(user__username="developers").update(role=Role.ANALYST)
    assert client.get(url(Message, "changelist")).status_code == 403


def test_the_guide_shows_the_table_of_the_code():
    table = [line for line in DOCS.read_text().splitlines() if line.startswith("|")]
    head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert [each.lower() for each in head[1:]] == ROLES
    told = {line[0]: [cell == "yes" for cell in line[1:]] for line in lines}
    assert told == {right.value: [right in RIGHTS[role] for role in Role] for right in Right}
