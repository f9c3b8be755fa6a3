"""The columns of a list by choice: remembered for each user and list, and named by an address."""

import csv

import pytest
from django.urls import reverse

from verification.models import ColumnChoice

pytestmark = pytest.mark.django_db
LIST = reverse("admin:verification_message_changelist")
TOOLS = reverse("admin:list_tools", args=("verification", "message"))


def choose(client, *columns, **more):
    return client.post(TOOLS, {"step": "columns", "column": columns, "here": "status=failed", **more}, follow=True)


def shown(page):
    return page.context["cl"].list_display


def test_the_choice_is_remembered_for_this_user_and_list(panel):
    client = panel.as_("owner")
    page = choose(client, "masked", "took")
    assert shown(page) == ("short_id", "masked", "took") and page.context["cl"].filter_form.used
    assert shown(client.get(LIST)) == ("short_id", "masked", "took")
    assert "took" not in shown(panel.as_("root").get(LIST, follow=True))
    assert "took" not in shown(client.get(reverse("admin:verification_session_changelist")))


@pytest.mark.parametrize("given", [{}, {"column": ["took"], "usual": "yes"}])
def test_none_and_the_usual_ones_are_the_lists_own(panel, given):
    client = panel.as_("owner")
    choose(client, "masked", "took")
    assert "status_label" in shown(choose(client, *given.get("column", ()), **({"usual": "yes"} if given else {})))
    assert ColumnChoice.objects.count() == 0


def test_an_address_names_columns_and_nothing_that_is_none(panel):
    client = panel.as_("owner")
    choose(client, "masked", "took")
    assert shown(client.get(LIST, {"columns": "status_label,code_encrypted,delete"})) == ("short_id", "status_label")
    assert "status_label" in shown(client.get(LIST, {"columns": "code_encrypted"}))
    assert ColumnChoice.objects.get().columns == ["short_id", "masked", "took"]


def test_columns_chosen_leave_the_address_which_would_win(panel):
    page = choose(panel.as_("owner"), "kind", here="columns=took&status=failed")
    assert page.redirect_chain[0][0] == f"{LIST}?status=failed" and shown(page) == ("short_id", "kind")


def test_a_file_has_the_columns_that_the_list_shows_and_then_what_a_sheet_is_for(panel):
    answer = panel.as_("owner").get(LIST, {"csv": "1", "columns": "status_label,masked"})
    head = next(csv.reader(b"".join(answer.streaming_content).decode().splitlines()))
    assert head[:4] == ["Message", "Recipient", "Status", "Session"] and "Cost" in head and "Kind" not in head


def test_all_columns_of_all_lists_can_be_shown(panel):
    from django.contrib import admin

    from verification.admin.list_tools.columns import offered_columns

    client = panel.as_("root")
    for model, page in admin.site._registry.items():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        answer = client.get(address, {"columns": ",".join(offered_columns(page))}, follow=True)
        assert answer.status_code == 200, model
