"""The channel's page: the choice of the provider."""

from django.urls import reverse

from verification.models import Channel


def save(panel, **values):
    page = reverse("admin:verification_channel_change", args=(panel.rows[Channel].pk,))
    typed = {"name": "", "is_active": "on", "position": "0", "image_url": "", "link": "", "daily_budget": ""}
    typed |= {"countries": "", "routing": "fixed", "explore_percent": "5"} | values
    return panel.as_("owner").post(page, typed)


def routing(panel):
    return Channel.objects.get(pk=panel.rows[Channel].pk).routing


def test_a_channel_goes_by_its_fixed_order_until_somebody_says_otherwise(panel):
    assert routing(panel) == "fixed"
    save(panel, routing="shares")
    assert routing(panel) == "shares"
