"""The channel's page: the choice of the provider."""

from django.urls import reverse

from tests.admin.rows import values_on
from verification.models import Channel
from verification.services.providers import accounts


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


def test_a_new_channel_comes_last(panel):
    Channel.objects.filter(project=panel.project, type__in=("voice", "email")).delete()
    page = reverse("admin:verification_channel_add", query={"project": panel.project.pk})
    for channel in ("voice", "email"):
        client = panel.as_("owner")
        typed = values_on(client, page) | {"project": panel.project.pk, "type": channel}
        assert client.post(page, typed).status_code == 302, channel
    types = list(Channel.objects.filter(project=panel.project).order_by("position").values_list("type", flat=True))
    positions = set(Channel.objects.filter(project=panel.project).values_list("position", flat=True))
    assert types[-2:] == ["voice", "email"] and len(positions) >= 3
    Channel.objects.filter(project=panel.project, type="voice").delete()
    accounts.add_provider(project=panel.project, channel="voice", provider_type="inbox", name="Calls", values={})
    last = Channel.objects.filter(project=panel.project).order_by("position").last()
    assert last.type == "voice"


def test_what_is_spent_is_counted_as_soon_as_there_is_a_cost_limit(panel, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        save(panel, monthly_cost_budget="600")
    shown = panel.as_("owner").get(reverse("admin:verification_channel_changelist")).content.decode()
    assert "of 600" in shown and "being counted" not in shown
