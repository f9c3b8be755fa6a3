"""Risk checks: who is asked before a paid send, what follows, and what an owner reads of it."""

from datetime import timedelta

import pytest
from django.db.models import Sum
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from tests import clock, factories
from tests.api.calls import problem
from tests.fakes.risk import RiskService
from tests.providers.challenges.test_altcha import solve
from verification.core import caching
from verification.core.errors import UserError
from verification.models import (
    Decision,
    GuardedSend,
    HourlyCosts,
    ListEntry,
    Message,
    Project,
    Recipient,
    RiskVerdict,
    Session,
)
from verification.services.analytics import rollups
from verification.services.analytics.timeline.read import read_timeline
from verification.services.projects.projects import set_project
from verification.services.projects.settings import secret_of
from verification.services.projects.webhook_secrets import live_webhook_secrets

pytestmark = pytest.mark.django_db
NUMBER = "+4915112345678"
ALLOW, CHALLENGE, DENY = ({"verdict": verdict} for verdict in ("allow", "challenge", "deny"))


@pytest.fixture
def asking(project):
    """A function that has the project ask a server, which gives these answers, before each SMS."""
    services = []

    def start(*answers, **settings):
        service = RiskService(*answers)
        services.append(service.__enter__())
        return service, project.set(risk_sms=["callback"], risk_callback_url=f"{service.url}/risk", **settings)

    yield start
    for service in services:
        service.__exit__()


def send(api, to=NUMBER, **body):
    return api.create(to, type="sms", **body)


def test_a_number_that_the_check_allows_gets_its_code(api, asking, outbox):
    shop, _ = asking(ALLOW)
    assert send(api).status_code == 200
    assert len(outbox.messages) == 1
    assert shop.asked[0].json() == {
        "to": NUMBER,
        "channel": "sms",
        "country": "DE",
        "network": "",
        "known": False,
    }
    row = RiskVerdict.objects.get()
    assert (row.check_name, row.verdict, row.message) == ("callback", "allow", Message.objects.get())


def test_a_denied_number_gets_none_and_the_message_fails_with_the_reason(api, asking, outbox):
    asking(DENY | {"reason": "a burner phone"})
    assert send(api).status_code == 200  # the request does not wait for it
    assert outbox.messages == []
    message = Message.objects.get()
    assert (message.status, message.error) == ("failed", "A risk check (Your server) denied it: a burner phone.")
    assert not message.is_counted and not GuardedSend.objects.exists()
    story = read_timeline(Session.objects.get())
    assert story.diagnosis.sentence == "No code was sent by SMS: a risk check (Your server) denied it: a burner phone."
    assert [advice.page for advice in story.diagnosis.advice] == ["project"]
    assert not any("skipped" in event.text for event in story.events)
    noted = Decision.objects.get(rule="risk_check")
    assert noted.figures == {"check": "callback", "verdict": "deny", "reason": "a burner phone"}


def test_nobody_is_asked_inside_a_request(api, asking):
    shop, _ = asking(DENY)
    send(api)
    assert shop.asked == [] and not RiskVerdict.objects.exists()
    assert Message.objects.get().status == "queued"


def test_the_call_is_signed_as_a_callback(api, asking, outbox):
    shop, project = asking(ALLOW)
    send(api)
    assert outbox.messages
    request = shop.asked[0]
    [(secret, _)] = live_webhook_secrets(project.row)
    assert Webhook(secret).verify(request.body, request.headers)["to"] == NUMBER


def test_a_verdict_holds_for_a_day(api, asking, outbox):
    shop, _ = asking(ALLOW, DENY)
    for _ in range(2):
        send(api)
        assert outbox.messages
        factories.expire_everything()
        caching.clear_all()
    assert len(shop.asked) == 1
    RiskVerdict.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    sent = len(outbox.messages)
    send(api)
    assert len(outbox.messages) == sent and len(shop.asked) == 2


@pytest.mark.parametrize("fails_open", [True, False])
@pytest.mark.parametrize("answer", [None, (500, {}), {"verdict": "perhaps"}])
def test_where_there_is_no_answer_the_owner_has_chosen(api, asking, outbox, answer, fails_open):
    asking(answer, risk_fails_open=fails_open)
    send(api)
    assert len(outbox.messages) == fails_open
    assert RiskVerdict.objects.get().verdict == "unknown"
    if not fails_open:
        assert Message.objects.get().error.startswith("A risk check (Your server) gave no answer: ")


def test_a_known_number_and_one_on_the_safe_list_are_not_asked_about(api, asking, outbox):
    shop, project = asking(DENY)
    now = timezone.now()
    Recipient.objects.create(project=project.row, address=NUMBER, known_at=now, known_since=now)
    ListEntry.objects.create(project=project.row, kind="safe", subject="prefix", value="+336")
    caching.clear_all()
    send(api)
    send(api, "+33612345678")
    assert len(outbox.messages) == 2 and shop.asked == []


def test_other_channels_are_not_asked_about(api, asking, outbox, project):
    shop, _ = asking(DENY)
    api.create(NUMBER, type="voice")
    api.create("ann@example.com")
    assert len(outbox.messages) == 2 and shop.asked == []


@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_a_reason_that_no_column_can_hold_is_mended(api, asking, outbox, character):
    asking(DENY | {"reason": f"a{character}b"})
    send(api)
    assert outbox.messages == []
    assert Message.objects.get().error == "A risk check (Your server) denied it: a\ufffdb."
    assert Decision.objects.get(rule="risk_check").figures["reason"] == "a\ufffdb"


def test_the_first_that_denies_decides_and_the_others_are_spared(api, project, outbox):
    with RiskService({"access_token": "t0ken"}, {"swapped": True}) as network, RiskService(ALLOW) as shop:
        set_project(
            project=project.row,
            values={
                "risk_sms": "camara_sim_swap,callback",
                "risk_callback_url": shop.url,
                "risk_camara_url": f"{network.url}/sim-swap/v2",
                "risk_camara_token_url": f"{network.url}/token",
                "risk_camara_client": "shop",
                "risk_camara_secret": "hush",
            },
        )
        caching.clear_all()
        send(api)
        assert outbox.messages == [] and shop.asked == []
    assert (
        Message.objects.get().error == "A risk check (CAMARA SIM Swap) denied it: the SIM was changed within 72 hours."
    )


def test_who_is_to_pass_a_challenge_is_asked_for_one_and_then_gets_the_code(api, asking, outbox, project):
    asking(CHALLENGE, challenge_mode="suspicion", challenge_provider="altcha")
    send(api)
    assert outbox.messages == []
    assert Message.objects.get().error == "A risk check (Your server) asks for a challenge first."
    assert problem(send(api))[1] == "challenge_required"
    answer = solve(api.puzzle(project.row.public_id).data)
    assert send(api, challenge_token=answer).status_code == 200
    assert len(outbox.messages) == 1


def test_beyond_the_checks_of_a_day_none_is_asked(api, asking, outbox):
    shop, _ = asking(ALLOW, risk_checks_per_day=1, risk_fails_open=False)
    send(api)
    send(api, "+33612345678")
    assert len(outbox.messages) == 1 and len(shop.asked) == 1
    failed = Message.objects.get(status="failed")
    assert failed.error == "A risk check (Your server) gave no answer: the checks of the day are used up."
    clock.forward(clock.DAY + 1)
    send(api, "+436641234567")
    assert outbox.messages and len(shop.asked) == 2


def test_price_and_verdict_are_in_the_story_and_the_price_in_the_costs(api, asking, outbox):
    asking(ALLOW | {"reason": "a good customer"}, risk_prices=["callback 0.025 USD"])
    session = Session.objects.get(pk=send(api).data["session_id"])
    assert outbox.messages
    told = {event.text.split(" (")[0]: event.detail for event in read_timeline(session).events}
    assert told["Your server allowed the number"] == "A good customer. 0.025 USD"
    rollups.count_due()
    assert HourlyCosts.objects.filter(currency="USD").aggregate(cost=Sum("amount"), sends=Sum("sends")) == {
        "cost": RiskVerdict.objects.get().price,
        "sends": 0,
    }


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"risk_sms": "twilio_lookup"}, "Twilio Lookup needs risk_twilio_account, risk_twilio_secret first."),
        ({"risk_sms": "astrology"}, "'astrology' is not a risk check."),
        ({"risk_prices": "twilio_lookup cheap"}, "Enter it like twilio_lookup 0.025 USD."),
        ({"risk_callback_url": "http://10.0.0.1/"}, "risk_callback_url: "),
        ({"risk_vonage_key": "no key"}, "The Vonage private key is not an RSA key in a PEM file."),
    ],
)
def test_what_could_ask_nobody_is_refused(project, values, fault):
    with pytest.raises(UserError, match=fault.replace("(", r"\(").replace(".", r"\.")):
        set_project(project=project.row, values=values)
    assert not Project.objects.get(pk=project.id).risk_sms


def test_a_secret_is_stored_encrypted(project):
    values = {"risk_twilio_account": "AC0", "risk_twilio_secret": "hush", "risk_prices": "Twilio_Lookup=0.025 usd"}
    set_project(project=project.row, values=values | {"risk_voice": "twilio_lookup"})
    row = Project.objects.get(pk=project.id)
    assert b"hush" not in bytes(row.risk_twilio_secret) and secret_of(row, "risk_twilio_secret") == "hush"
    assert row.risk_prices == ["twilio_lookup 0.025 USD"]
