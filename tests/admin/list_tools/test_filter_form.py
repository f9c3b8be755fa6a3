"""The one form of a list's filters: a field for each, and the ways to drop what is used."""

import pytest
from django.contrib import admin
from django.urls import reverse

pytestmark = pytest.mark.django_db
LIST = reverse("admin:verification_message_changelist")


def form_of(page):
    return page.context["cl"].filter_form


def test_each_filter_is_a_field_with_its_choices(panel):
    fields = {each.name: each for each in form_of(panel.as_("owner").get(LIST)).fields}
    assert list(fields)[:4] == ["between", "provider", "country", "status"]
    assert ("failed", "Failed") in fields["status"].options
    assert ("sms", "SMS") in fields["channel__exact"].options
    assert fields["between"].kind == "range" and fields["country"].kind == "country"


def test_what_the_form_leaves_empty_is_in_no_address(panel):
    given = {"status": "failed", "channel__exact": "", "since": "", "country": "", "from": "", "to": ""}
    page = panel.as_("owner").get(LIST, given, follow=True)
    assert page.redirect_chain[-1][0] == f"{LIST}?status=failed"


def test_every_list_with_filters_has_a_field_for_each(panel):
    client = panel.as_("root")
    for model in admin.site._registry:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        page = client.get(address, follow=True)
        if "cl" not in page.context:
            continue  # the ceilings: one row, whose page stands in place of a list
        for field in form_of(page).fields:
            assert field.kind == "range" or field.options, (model, field.name)
            if field.options:
                value = field.options[0][0]
                answer = client.get(address, {field.name: value, "project": "all"}, follow=True)
                assert answer.status_code == 200, (model, field.name, value)


@pytest.mark.parametrize(
    ("between", "shown"),
    [
        ("2026-11-21T00..2026-11-28T00", "21 Nov 2026 – 27 Nov 2026 UTC"),
        ("2026-11-27T00..2026-11-28T00", "27 Nov 2026 UTC"),
        ("2026-11-27T00..2026-11-27T12", "27 Nov 2026, 00:00 – 27 Nov 2026, 12:00 UTC"),
    ],
)
def test_a_range_of_whole_days_is_shown_by_its_first_and_last_day(panel, between, shown):
    [period] = form_of(panel.as_("owner").get(LIST, {"between": between})).used
    assert period.shown == shown
