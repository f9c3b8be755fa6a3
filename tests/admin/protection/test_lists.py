"""The block and safe lists of a project in the panel."""

from html import unescape

import pytest
from django.urls import reverse

from verification.admin.base.current_project import section_address
from verification.models import ListEntry

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("matches", "value", "hint"),
    [
        ("recipient", "Morocco", "Or choose Country under Matches."),
        ("recipient", "+212", "Or choose Number prefix under Matches."),
        ("country", "example.com", "Or choose E-mail domain under Matches."),
    ],
)
def test_a_value_that_fits_another_choice_is_refused_with_that_choice(panel, matches, value, hint):
    values = {"project": panel.project.pk, "kind": "block", "subject": matches, "value": value}
    answer = panel.as_("owner").post(reverse("admin:verification_listentry_add"), values)
    [said] = answer.context["adminform"].form.errors["value"]
    assert said.endswith(hint) and not ListEntry.objects.filter(kind="block", value__icontains=value).exists()


def test_a_country_that_is_none_is_refused_with_the_ways_to_write_one(panel):
    values = {"project": panel.project.pk, "kind": "block", "subject": "country", "value": "Marocco"}
    answer = panel.as_("owner").post(reverse("admin:verification_listentry_add"), values)
    [said] = answer.context["adminform"].form.errors["value"]
    assert "a country's name in English, or its two letters, such as Morocco or MA" in said


def test_the_allowed_countries_lead_to_the_form_that_blocks_one(panel):
    client = panel.as_("owner")
    page = client.get(section_address(panel.project, "countries")).content.decode()
    address = (
        f"{reverse('admin:verification_listentry_add')}?project={panel.project.pk}&amp;kind=block&amp;subject=country"
    )
    assert f'href="{address}"' in page
    form = client.get(unescape(address)).context["adminform"].form
    assert {name: form.get_initial_for_field(form.fields[name], name) for name in ("kind", "subject")} == {
        "kind": "block",
        "subject": "country",
    }
