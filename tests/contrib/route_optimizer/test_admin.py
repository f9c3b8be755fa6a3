"""The channel's page: the choice of the best provider, and what it would have saved."""

from django.db.models import F
from django.urls import reverse

from tests.admin.test_channels import routing, save
from tests.contrib.route_optimizer.test_backtest import counted
from verification.core import caching
from verification.models import Channel, Price, Provider


def page_of(panel):
    return reverse("admin:verification_channel_change", args=(panel.rows[Channel].pk,))


def test_the_best_for_the_money_is_refused_without_prices_and_says_whose(panel):
    provider = panel.rows[Provider]
    answer = save(panel, routing="best_price")
    assert "needs prices, and" in answer.content.decode()
    assert provider.name in answer.content.decode().partition("needs prices, and")[2][:100]
    assert routing(panel) == "fixed"
    for each in Provider.objects.serving(panel.project).filter(channel="sms"):
        Price.objects.create(provider=each, amount="0.05", currency="USD", per="message")
    save(panel, routing="best_price")
    assert routing(panel) == "best_price"


def test_no_more_than_a_fifth_explores(panel):
    save(panel, routing="best_time", explore_percent="21")
    assert routing(panel) == "fixed"


def test_the_page_says_what_to_do_where_nothing_can_be_compared(panel):
    text = panel.as_("owner").get(page_of(panel)).content.decode()
    assert "Nothing to compare yet" in text


def test_the_page_tells_what_would_have_been_saved_as_an_estimate(panel):
    first = panel.rows[Provider]
    second = Provider.objects.create(
        project=panel.project, channel="sms", type=first.type, name="Cheaper", settings=first.settings,
        secrets=None, hook_secret=first.hook_secret,
    )  # fmt: skip
    for provider, amount in ((first, "0.10"), (second, "0.04")):
        Price.objects.create(provider=provider, amount=amount, currency="USD", per="message")
        counted(panel.rows[Channel], provider.name, asked=100, verified=80)
    Provider.objects.update(price_list=F("price_list") + 1)
    caching.clear_all()
    text = panel.as_("owner").get(page_of(panel)).content.decode()
    assert "An estimate from the last 30 full days" in text
    assert "Cheapest per verified user: USD" in text
    assert panel.as_("stranger").get(page_of(panel)).status_code != 200
