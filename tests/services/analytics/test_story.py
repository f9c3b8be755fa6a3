"""The story of a verification: one sentence, what to do next, and the events in their order."""

from datetime import timedelta

import pytest
from django.utils import timezone

from providers.errors import Outcome
from tests.factories import a_message, a_session
from verification.core.addresses import mask
from verification.models import (
    CircuitBreaker,
    Decision,
    DeliveryAttempt,
    EventType,
    FallbackStep,
    Message,
    Recipient,
    Session,
    VerifyToken,
    WebhookAttempt,
    WebhookEvent,
    WrongCode,
)
from verification.services.analytics.timeline import diagnosis as diagnosis_module
from verification.services.analytics.timeline.read import in_brief, read_timeline
from verification.services.analytics.timeline.words import ANSWERS

pytestmark = pytest.mark.django_db

ADDRESS = "+4915112345678"
BEGAN = timezone.now().replace(microsecond=0) - timedelta(minutes=20)


def after(seconds):
    return BEGAN + timedelta(seconds=seconds)


class Making:
    """A verification in the making: rows at given seconds after its beginning."""

    def __init__(self, project, began=BEGAN, **fields):
        self.project, self.began = project, began
        self.recipient = Recipient.objects.create(project=project.row, address=ADDRESS)
        self.session = self._session(**{"channel": "sms", **fields}) if fields.pop("has_session", True) else None

    def at(self, seconds):
        return self.began + timedelta(seconds=seconds)

    def _session(self, **fields):
        return a_session(self.recipient, language="de", created_at=self.began, **fields)

    def message(self, at=0, *, channel="sms", status="success", **fields):
        return a_message(
            self.recipient,
            session=self.session,
            channel=channel,
            language="de",
            status=status,
            created_at=self.at(at),
            expires_at=self.at(180),
            **{"error": "", "finished_at": None, "claims": 1, **fields},
        )

    def attempt(self, message, outcome, at, *, provider=None, **fields):
        provider = provider or self.project.row.providers.filter(channel=message.channel).order_by("pk").first()
        made = DeliveryAttempt.objects.create(
            message=message,
            provider=provider,
            provider_name=provider.name,
            outcome=outcome,
            latency_ms=40,
            created_at=self.at(at),
            **fields,
        )
        if outcome == "accepted":
            Message.objects.filter(pk=message.pk).update(provider=provider)
        return made

    def delivered(self, at=4, **fields):
        message = self.message(sent_at=self.at(1), finished_at=self.at(at), **fields)
        self.attempt(message, "accepted", 1)
        return message

    def verified(self, at=30, used_at=31):
        Session.objects.filter(pk=self.session.pk).update(verified_at=self.at(at), is_open=False, attempts=1)
        VerifyToken.objects.create(
            digest=self.session.pk.encode()[:26],
            project=self.project.row,
            session=self.session,
            recipient=self.recipient,
            subnet="203.0.113.0/24",
            created_at=self.at(at),
            expires_at=self.at(at + 60),
            used_at=self.at(used_at) if used_at else None,
        )

    def wrong_codes(self, number, at=20):
        Session.objects.filter(pk=self.session.pk).update(attempts=number)
        for place in range(number):
            WrongCode.objects.create(
                session=self.session,
                recipient=self.recipient,
                project=self.project.row,
                subnet="203.0.113.0/24",
                created_at=self.at(at + place),
            )

    def told(self):
        row = self.session or self.recipient.messages.get()
        return read_timeline(type(row).objects.get(pk=row.pk))


@pytest.fixture
def making(project):
    project.row.providers.filter(channel="sms").update(name="FastSMS")
    return lambda **fields: Making(project, **fields)


def texts(story):
    return [event.text for event in story.events]


def advised(story):
    return " ".join(advice.text for advice in story.diagnosis.advice)


def test_a_verification_that_went_well_is_told_from_the_request_to_the_token(making):
    made = making()
    made.delivered()
    made.wrong_codes(1)
    made.verified()
    story = made.told()
    assert story.diagnosis.sentence == "Verified by SMS after 30 s, and confirmed by your server."
    assert texts(story) == [
        "Your app requested a code",
        "SMS chosen",
        "FastSMS accepted the message, after 40 ms",
        "Provider reported: delivered",
        "Wrong code, 1 of 5",
        "Correct code",
        "Your server confirmed the verification",
    ]
    assert (story.diagnosis.tone, story.diagnosis.advice) == ("good", [])
    assert "203.0.113.0/24" in story.events[4].detail and "Language: German" in story.events[0].detail


def test_a_token_that_nobody_redeemed_is_told_with_the_remedy(making):
    made = making()
    made.delivered()
    made.verified(used_at=None)
    story = made.told()
    assert story.diagnosis.sentence.endswith("but your server never redeemed the verify token.")
    assert "session/verify" in advised(story) and texts(story)[-1] == "Verify token expired"


def test_a_provider_that_failed_before_the_next_one_took_it_is_told(making):
    made = making()
    second = made.project.provider(name="BackupSMS", created_at=after(-60))
    message = made.message(sent_at=made.at(2), finished_at=made.at(3))
    made.attempt(message, "temporary", 1, error="HTTP 500")
    made.attempt(message, "accepted", 2, provider=second, choice="next")
    made.verified()
    story = made.told()
    assert "Failed first: FastSMS." in story.diagnosis.sentence
    failed, accepted = story.events[2:4]
    assert failed.text == "FastSMS failed; nothing was sent, after 40 ms" and failed.detail == "HTTP 500."
    assert accepted.detail == "Why this provider: another provider had not accepted it."
    assert not [text for text in texts(story) if "not asked" in text]


def test_of_a_code_that_no_provider_took_the_sentence_says_why_and_what_to_do(making):
    made = making()
    message = made.message(status="failed", error="bad sender", finished_at=made.at(2))
    made.attempt(message, "misconfigured", 1, error="bad sender")
    story = made.told()
    assert story.diagnosis.sentence == "No code was sent by SMS: FastSMS rejected the message: bad sender."
    assert "Check credentials" in advised(story)
    assert story.diagnosis.advice[0].row.name == "FastSMS"


@pytest.mark.parametrize(
    ("fields", "breaker", "why"),
    [
        ({"is_enabled": False}, None, "It is off."),
        ({"except_prefixes": ["+49"]}, None, "It does not serve numbers with this prefix."),
        ({"only_prefixes": ["+43"]}, None, "It does not serve numbers with this prefix."),
        (
            {},
            {"opened_at": after(-60), "open_until": after(60), "reason": "HTTP 503"},
            "after repeated failures: HTTP 503.",
        ),
        ({}, {"opened_at": after(-600), "open_until": after(-300)}, "The reason was not recorded"),
        ({}, None, "The reason was not recorded"),
    ],
)
def test_a_provider_that_was_passed_over_is_told_with_the_reason(making, fields, breaker, why):
    made = making()
    other = made.project.provider(name="BackupSMS", created_at=after(-3600), **fields)
    if breaker:
        CircuitBreaker.objects.create(provider=other, **breaker)
    message = made.message(status="failed", finished_at=made.at(2))
    made.attempt(message, "temporary", 1)
    (event,) = [event for event in made.told().events if event.text == "BackupSMS was skipped"]
    assert why in event.detail and event.row == other


@pytest.mark.parametrize("outcome", ["accepted", "refused", "no_account"])
def test_a_provider_that_was_not_needed_is_not_told(making, outcome):
    made = making()
    made.project.provider(name="BackupSMS", created_at=after(-3600), priority=900)
    message = made.message(status="failed", finished_at=made.at(2))
    made.attempt(message, outcome, 1)
    assert "BackupSMS was skipped" not in texts(made.told())


def test_a_fall_back_is_told_with_both_channels(making):
    made = making(channel="email")
    first = made.message(status="failed", error="no route", finished_at=made.at(2))
    made.attempt(first, "declined", 2, error="no route")
    second = made.message(at=30, channel="email", sent_at=made.at(31), finished_at=made.at(33))
    made.attempt(second, "accepted", 31)
    made.verified(at=60, used_at=61)
    story = made.told()
    assert "Earlier attempts by SMS did not work." in story.diagnosis.sentence
    (sent,) = [event for event in story.events if event.text == "Also sent by E-mail"]
    assert sent.detail == "SMS had not worked, so the user chose E-mail."
    FallbackStep.objects.create(project=made.project.row, channel="email")
    assert "or the project's fallback chose" in str(made.told().events)


def test_the_first_channel_is_told_with_what_speaks_for_it(making):
    made = making()
    made.delivered()
    assert "the default channel for this recipient" in made.told().events[1].detail
    Recipient.objects.update(verified_at=after(-3600), verified_channel="sms")
    assert "the channel by which the recipient was last verified" in made.told().events[1].detail


@pytest.mark.parametrize(
    ("fields", "sentence", "remedy"),
    [
        ({"refusal": "guarded"}, "No code sent: the traffic guard blocked", "lift the block"),
        (
            {"refusal": "over_budget"},
            "No code sent: the channel's message limit or",
            "Raise the limit on the channel's page",
        ),
        ({"refusal": "channel_timeout"}, "No code sent: another code was requested on the same channel", "countdown"),
        (
            {"awaited_channel": "messenger_a"},
            "No code sent: the user did not start the Telegram bot.",
            "Make the Telegram link prominent",
        ),
        ({}, "No code sent: the app opened the session without requesting a code.", ""),
    ],
)
def test_a_session_without_a_message_tells_why(making, fields, sentence, remedy):
    story = making(channel="", **fields).told()
    assert story.diagnosis.sentence.startswith(sentence)
    assert remedy in advised(story)
    assert texts(story)[-1] == "Session expired"


def test_a_session_whose_messages_are_gone_says_so(making):
    assert making().told().diagnosis.sentence == "Not verified. The session's messages have been deleted."


def test_what_the_guard_sent_another_way_is_told(making):
    made = making(channel="email", refusal="guarded")
    made.delivered(channel="email")
    assert "The traffic guard blocked SMS and calls" in made.told().events[1].detail


def test_a_code_that_arrived_and_was_not_entered(making):
    made = making()
    made.delivered()
    assert made.told().diagnosis.sentence == "Delivered by SMS (FastSMS) after 4.0 s; nobody entered the code."


def test_wrong_codes_alone(making):
    made = making()
    made.delivered()
    made.wrong_codes(2)
    assert made.told().diagnosis.sentence.endswith("the user entered 2 wrong codes and gave up.")


def test_wrong_codes_that_locked_it(making):
    made = making()
    made.delivered()
    made.wrong_codes(5)
    story = made.told()
    assert story.diagnosis.sentence == "Not verified: session locked after 5 wrong codes."
    assert "Wrong code, 5 of 5: the session is locked" in texts(story)


def test_while_the_user_may_still_enter_the_code_it_says_how_long(making):
    made = making(began=timezone.now() - timedelta(seconds=30))
    made.delivered()
    story = made.told()
    assert "the user has 2 min" in story.diagnosis.sentence and "Session expired" not in texts(story)


def test_a_receipt_that_never_came(making):
    made = making()
    late = {"sent_at": made.at(1), "finished_at": made.at(600), "error": "No delivery receipt came in time."}
    made.attempt(made.message(status="expired", **late), "accepted", 1)
    story = made.told()
    assert "Accepted by SMS (FastSMS), but no delivery receipt came in time; nobody" in story.diagnosis.sentence
    assert "No delivery report received" in texts(story) and "Ask the provider" in advised(story)


def test_a_message_that_no_worker_took(making):
    made = making(began=timezone.now() - timedelta(seconds=100))
    made.message(status="queued", claims=0)
    story = made.told()
    assert story.diagnosis.sentence == "Waiting for 1 min 40 s: no worker has picked up the message."
    assert "manage.py health" in advised(story)


def test_a_claim_that_was_lost_is_told(making):
    made = making()
    made.message(status="expired", lost_leases=2, finished_at=made.at(180), error="Its time ended.")
    assert "Worker interrupted 2 times" in texts(made.told())


def test_a_test_login_says_that_nothing_was_sent(making):
    made = making(is_test=True)
    made.message(is_test=True, finished_at=made.at(0))
    assert made.told().diagnosis.sentence == "A test login: nothing was sent, and its code was not entered."


def test_refusals_of_the_same_hour_are_told_with_the_masks_doubt(making):
    made = making()
    made.delivered()
    hour = made.began.replace(minute=0, second=0)
    about = {"project": made.project.row, "rule": "channel_timeout", "hour": hour, "count": 3}
    Decision.objects.create(**about, subject=mask(ADDRESS), first_at=made.at(5), last_at=made.at(9))
    Decision.objects.create(**about, subject="+4366******99", first_at=made.at(5), last_at=made.at(9))
    (refused,) = [event for event in made.told().events if event.text.startswith("Refused")]
    assert refused.text == "Refused: resent within 60 seconds, 3 times within an hour"
    assert mask(ADDRESS) in refused.detail and "other numbers" in refused.detail


@pytest.mark.parametrize(
    ("status", "due", "delivered", "ending"),
    [
        (200, None, True, "shop.example responded with HTTP 200 after 40 ms"),
        (500, None, False, "Callback failed after 2 attempts"),
        (None, after(3600), False, "Callback waiting for the next retry"),
    ],
)
def test_a_manual_message_is_told_to_the_callback(making, status, due, delivered, ending):
    made = making(has_session=False)
    message = made.delivered(callback_url="https://shop.example/secret-path")
    callback = WebhookEvent.objects.create(
        type=EventType.MESSAGE_FINISHED,
        message=message,
        project=made.project.row,
        url=message.callback_url,
        tries=2,
        due_at=due,
        delivered_at=made.at(6) if delivered else None,
        created_at=made.at(5),
    )
    WebhookAttempt.objects.create(event=callback, status=status, latency_ms=40, created_at=made.at(6))
    story = made.told()
    assert story.diagnosis.sentence.startswith("Delivered by SMS (FastSMS) after 4.0 s.")
    assert ("the webhook" in story.diagnosis.sentence) is not delivered
    assert delivered or ("a 2xx status" in advised(story) and story.diagnosis.advice[-1].row == callback)
    assert texts(story)[0] == "Sent as a test by SMS" and texts(story)[-1] == ending
    assert "secret-path" not in str(story.events)


def test_a_message_that_a_request_asked_for_is_the_servers(making):
    made = making(has_session=False)
    message = made.delivered(caller_request="order-7")
    assert texts(read_timeline(message))[0] == "Your server sent a message by SMS"


def test_a_wrong_url_is_named(making):
    made = making()
    message = made.message(status="failed", error="no", finished_at=made.at(2))
    provider = made.project.row.providers.first()
    type(provider).objects.filter(pk=provider.pk).update(type="http")
    made.attempt(message, "misconfigured", 1, error="nothing here (HTTP 404)", provider_status="404")
    story = made.told()
    asked = story.events[2]
    assert asked.text == "FastSMS rejected the request after 40 ms (HTTP 404)" and "Response" not in asked.detail
    assert [each.text for each in story.diagnosis.advice] == [
        "The URL answers 404 (not found). Check the URL of FastSMS."
    ]


def test_the_only_provider_is_said_to_be_the_only_one(making):
    made = making()
    message = made.message(sent_at=made.at(1), finished_at=made.at(3))
    made.attempt(message, "accepted", 1, choice="only")
    assert made.told().events[2].detail == "Why this provider: it was the only provider available."


def test_the_vendors_own_url_is_not_the_owners_to_check(making):
    made = making()
    message = made.message(status="failed", error="no", finished_at=made.at(2))
    made.attempt(message, "misconfigured", 1, error="nothing here (HTTP 404)")
    assert "Check credentials" in advised(made.told())


def test_quotation_marks_are_those_of_the_language(making, monkeypatch):
    made = making()
    message = made.message(status="failed", error="no", finished_at=made.at(2))
    made.attempt(message, "unknown", 1, error="HTTP 502")
    monkeypatch.setattr(diagnosis_module, "_", lambda text: text.replace("“", "«").replace("”", "»"))
    assert "FastSMS («HTTP 502»)" in made.told().diagnosis.sentence


def test_a_message_of_a_session_tells_the_story_of_the_session(making):
    made = making()
    message = made.delivered()
    made.verified()
    assert read_timeline(Message.objects.get(pk=message.pk)).diagnosis == made.told().diagnosis


def test_many_stories_take_as_many_statements_as_one(making, django_assert_num_queries):
    made = making()
    made.delivered()
    made.verified()
    for began in (after(200), after(400)):
        a_session(made.recipient, language="de", is_open=False, created_at=began)
    with django_assert_num_queries(11):
        told = in_brief(Session.objects.all(), [])
    assert [rows.began_at for rows, _ in told] == [after(400), after(200), BEGAN]


def test_every_outcome_has_its_words():
    assert set(ANSWERS) == {outcome.value for outcome in Outcome}


@pytest.mark.parametrize(
    "fields, told",
    [
        ({"segments": 2, "price": "0.09", "currency": "USD"}, "2 SMS, 0.09 USD."),
        ({"segments": 1, "price": "0.03330000", "currency": "EUR"}, "1 SMS, 0.0333 EUR."),
        ({"segments": 3, "price": "1200", "currency": "UZS"}, "3 SMS, 1,200.00 UZS."),
        ({"segments": 1}, "1 SMS, price unknown."),
        ({}, ""),
    ],
)
def test_an_attempt_tells_its_size_and_price(project, fields, told):
    making = Making(project)
    message = making.message(0)
    making.attempt(message, "accepted", 1, **fields)
    (event,) = [event for event in read_timeline(making.session).events if "accepted the message" in event.text]
    assert event.detail == told


# --- where it went wrong, the story says so and what helps ----------------------------------------------------------


def test_of_providers_that_all_failed_each_one_s_answer_is_told_and_no_further_one_is_advised(making):
    made = making()
    second = made.project.provider(name="BackupSMS", created_at=after(-60))
    message = made.message(status="failed", error="HTTP 503", finished_at=made.at(2))
    made.attempt(message, "temporary", 1, error="HTTP 500")
    made.attempt(message, "temporary", 2, provider=second, error="HTTP 503")
    story = made.told()
    assert "FastSMS (“HTTP 500”) and BackupSMS (“HTTP 503”) did not accept the message." in story.diagnosis.sentence
    assert "Several providers failed at once" in advised(story) and "Add a second" not in advised(story)


def test_a_code_that_may_have_gone_out_is_not_said_to_be_lost(making):
    made = making()
    message = made.message(status="expired", error="No provider took it in time.", finished_at=made.at(180))
    made.attempt(message, "unknown", 1, error="timed out")
    assert made.told().diagnosis.sentence.startswith("It is unknown whether a code was sent by SMS: FastSMS")


def test_a_code_without_a_receipt_is_not_said_to_have_arrived(making):
    made = making()
    made.attempt(made.message(status="sent", sent_at=made.at(1)), "accepted", 1)
    assert "Delivery was never confirmed" in advised(made.told())


def test_the_words_of_a_receipt_are_quoted_as_the_provider_s(making):
    made = making()
    message = made.message(status="failed", error="absent subscriber", sent_at=made.at(1), finished_at=made.at(9))
    made.attempt(message, "accepted", 1)
    assert "reported it as not delivered (“Absent subscriber”)" in made.told().diagnosis.sentence


def test_who_gave_up_after_wrong_codes_is_told_with_what_may_help(making):
    made = making()
    made.delivered()
    made.wrong_codes(2)
    assert "whether your form alters the input" in advised(made.told())


@pytest.mark.parametrize("rule", ["daily_budget", "country"])
def test_a_refusal_stands_once_among_the_events(making, rule):
    made = making(channel="", refusal="over_budget")
    Decision.objects.create(
        project=made.project.row, rule=rule, subject=mask(ADDRESS), hour=BEGAN.replace(minute=0, second=0),
        first_at=BEGAN, last_at=BEGAN,
    )  # fmt: skip
    assert texts(made.told()).count("Refused: channel limit") == 1


def test_a_bot_that_the_user_has_to_start_is_an_event(making):
    made = making(channel="", awaited_channel="messenger_a")
    assert "Telegram chosen: the user has to start the bot first" in texts(made.told())


# --- waiting for a provider that is set aside -------------------------------------------------------------------------


def aside(provider, *, until=60, reason="HTTP 500"):
    now = timezone.now().replace(microsecond=0)
    return CircuitBreaker.objects.create(
        provider=provider,
        opened_at=now - timedelta(seconds=90),
        open_until=now + timedelta(seconds=until),
        reason=reason,
    )


def waiting(making):
    """A message a minute old that every claim gave back, as its provider was set aside."""
    made = making(began=timezone.now().replace(microsecond=0) - timedelta(seconds=72))
    made.message(status="queued", claims=4)
    return made, made.project.row.providers.get(channel="sms")


def test_a_message_that_waits_for_a_provider_set_aside_says_until_when_and_what_helps(making):
    made, gateway = waiting(making)
    until = f"{aside(gateway).open_until:%H:%M:%S} UTC"
    told = made.told()
    assert told.diagnosis.sentence == f"Waiting: FastSMS is paused until {until}; there is no other SMS provider."
    assert [each.text for each in told.diagnosis.advice] == [ANSWERS[Outcome.TEMPORARY].remedy.format(name="FastSMS")]
    (step,) = [event for event in told.events if event.text.startswith("Waiting: ")]
    assert until in step.text and "after repeated failures: HTTP 500." in step.detail and step.row == gateway


def test_a_message_that_waits_for_several_names_the_one_that_is_back_first(making):
    made, gateway = waiting(making)
    other = made.project.provider(name="BackupSMS", created_at=after(-3600))
    aside(gateway, until=60)
    first = aside(other, until=20).open_until
    expected = f"Waiting: all SMS providers are paused, BackupSMS until {first:%H:%M:%S} UTC."
    assert made.told().diagnosis.sentence == expected


def test_while_another_provider_could_take_it_nobody_is_waited_for(making):
    made, gateway = waiting(making)
    made.project.provider(name="BackupSMS", created_at=after(-3600))
    aside(gateway)
    assert made.told().diagnosis.sentence.endswith("no provider has been tried yet.")


def test_without_an_attempt_no_story_says_that_it_is_tried_again(making):
    made, _ = waiting(making)
    ((_, brief),) = in_brief([Session.objects.get()], [])
    for diagnosis in (made.told().diagnosis, brief):
        assert "tried again" not in diagnosis.sentence
        assert "no provider has been tried yet" in diagnosis.sentence


def test_what_a_system_provider_answered_others_is_not_told_to_who_waits_for_it(making):
    made, gateway = waiting(making)
    aside(gateway)
    type(gateway).objects.filter(pk=gateway.pk).update(project=None)
    (step,) = [event for event in made.told().events if event.text.startswith("Waiting: ")]
    assert "HTTP 500" not in step.detail
