"""The block and safe lists of a project in the panel."""

import pytest
from django.urls import reverse

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
