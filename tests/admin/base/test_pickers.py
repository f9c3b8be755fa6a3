"""Fields that pick countries, languages and time zones, as a page without JavaScript has them."""

import json

import pytest
from django.urls import reverse

from tests.admin.rows import page_with, values_on
from verification.models import Channel, Price, Provider

pytestmark = pytest.mark.django_db


def save(panel, field, value):
    client, page = panel.as_("owner"), page_with(panel.project, field)
    response = client.post(page, values_on(client, page) | {field: value})
    panel.project.refresh_from_db()
    return response


def test_countries_are_taken_by_name_and_code(panel):
    assert save(panel, "countries", "Morocco, de\nUnited Kingdom").status_code == 302
    assert panel.project.countries == ["MA", "DE", "GB"]


def test_what_is_no_country_is_named(panel):
    errors = save(panel, "countries", "Morocco, Atlantis").context["adminform"].form.errors
    assert "Atlantis" in str(errors["countries"])
    assert panel.project.countries == []


def test_the_list_of_countries_shows_what_an_sms_costs_by_the_projects_own_lists(panel):
    provider = panel.rows[Provider]
    Provider.objects.filter(pk=provider.pk).update(channel="sms", price_list=1, is_enabled=True)
    for place, amount in (("DE", "0.0750"), ("+212", "0.11"), ("", "0.5")):
        Price.objects.create(provider=provider, place=place, amount=amount, currency="EUR", per="segment")
    page = panel.as_("owner").get(page_with(panel.project, "countries"))
    shown = json.loads(page.context["adminform"].form.fields["countries"].widget.attrs["data-prices"])
    assert (shown["DE"], shown["MA"]) == ("0.075 EUR", "0.11 EUR")
    assert "FR" not in shown  # the price of everywhere else is none of the country's own


def test_languages_and_zones_are_suggested_with_their_names(panel):
    codes = panel.as_("owner").get(page_with(panel.project, "language")).content.decode()
    assert '<option value="de">German</option>' in codes and 'data-picker="language"' in codes
    quiet_hours = reverse("admin:verification_alert_settings", args=(panel.project.pk, "quiet"))
    zones = panel.as_("owner").get(quiet_hours).content.decode()
    assert '<option value="Asia/Kolkata">UTC+05:30</option>' in zones and "Etc/" not in zones


def test_a_channel_narrows_by_names_too(panel):
    channel = panel.rows[Channel]
    client, page = panel.as_("owner"), f"/admin/verification/channel/{channel.pk}/change/"
    assert client.post(page, values_on(client, page) | {"countries": "Morocco"}).status_code == 302
    channel.refresh_from_db()
    assert channel.countries == ["MA"]
