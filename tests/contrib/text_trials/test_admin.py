"""The page of a trial: its start, what came of both texts, and its end."""

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.admin.test_delivery import errors
from tests.admin.texts.test_page import LIST, about
from verification.models import MessageTemplate, Provider, TextVariant
from verification.models.prices import ALWAYS
from verification.services.providers import price_lists
from verification.services.providers.price_lists import PriceLine

pytestmark = pytest.mark.django_db

VARIANT = reverse("admin:verification_text_variant")


def variant_page(panel, **values):
    return reverse("admin:verification_text_variant", query=about(panel, **values))


def start_trial(panel, **values):
    sent = {"text": "{code}: new from {project}", "share": "40"} | values
    return panel.as_("owner").post(variant_page(panel, language="de"), sent)


def test_a_text_is_tried_and_taken(panel):
    assert start_trial(panel).status_code == 302
    trial = TextVariant.objects.get()
    assert (trial.text, trial.share) == ("{code}: new from {project}", 40)
    shown = panel.as_("owner").get(variant_page(panel, language="de")).content.decode()
    assert "Not enough data yet" in shown and "471836: new from Ours" in shown and "471836 ist Ihr Code." in shown

    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for is_variant, verified in ((False, 600), (True, 900)):
        trial.figures.create(hour=hour, is_variant=is_variant, sessions=1_000, verified=verified)
    shown = panel.as_("owner").get(variant_page(panel, language="de")).content.decode()
    assert "The new text converts better." in shown and "30.0 points" in shown

    panel.as_("owner").post(variant_page(panel, language="de"), {"end": "take"})
    assert MessageTemplate.objects.get(language="de").text == "{code}: new from {project}"
    assert not TextVariant.objects.exists()


def test_prices_that_both_texts_have_are_shown_once(panel):
    price_lists.replace(panel.rows[Provider], [PriceLine("", ALWAYS, Decimal("0.05"), "EUR", "segment")], number=0)
    start_trial(panel)
    shown = panel.as_("owner").get(variant_page(panel, language="de")).content.decode()
    assert shown.count("1,000 codes with") == 1
    TextVariant.objects.update(text="{code}: new from {project} " + "x" * 200)
    shown = panel.as_("owner").get(variant_page(panel, language="de")).content.decode()
    assert shown.count("1,000 codes with") == 2


def test_a_trial_that_is_refused_says_why_beside_the_text(panel):
    response = start_trial(panel, text="evil.example", share="40")
    shown = response.content.decode()
    assert response.status_code == 200 and "evil.example looks like a link" in shown and "{code} is missing" in shown
    assert not TextVariant.objects.exists()


def test_the_present_text_stays_while_another_is_tried(panel):
    start_trial(panel)
    row, client = panel.rows[MessageTemplate], panel.as_("owner")
    change = reverse("admin:verification_messagetemplate_change", args=(row.pk,))
    assert "End it first" in str(errors(client.post(change, {"text": "{code}!"})))
    assert client.post(f"{change.removesuffix('change/')}delete/", {"post": "yes"}).status_code == 403
    row.refresh_from_db()
    assert row.text == "{code} ist Ihr Code."


def test_a_stranger_neither_sees_nor_ends_a_trial(panel):
    start_trial(panel)
    for method in ("get", "post"):
        response = getattr(panel.as_("stranger"), method)(variant_page(panel, language="de"), {"end": "take"})
        assert response.status_code == 404
    assert panel.as_("owner").get(VARIANT).status_code == 404
    assert TextVariant.objects.exists()


def test_the_matrix_says_where_a_text_is_tried(panel):
    start_trial(panel)
    assert "A/B test running" in panel.as_("owner").get(LIST).content.decode()
