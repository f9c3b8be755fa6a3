"""A second text against the present one: who gets which, what is counted, and how it ends."""

from datetime import timedelta

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from tests import factories
from tests.factories import a_message, a_session
from tests.services.delivery.test_lock_order import held
from verification import sql
from verification.contrib.text_trials import trials
from verification.contrib.text_trials.draw import draw
from verification.core import caching
from verification.core.errors import UserError
from verification.core.ids import generate_session_id
from verification.models import AuditEntry, MessageTemplate, Recipient, TextVariant
from verification.services.analytics import rollups
from verification.services.texts.rendering import Style, render_message

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    return factories.project().row


@pytest.fixture
def trial(project):
    made = trials.start(project=project, channel="sms", language="en", text="New: {code} {project}", share=30)
    caching.clear_all()
    return made


def render(project, session_id, language="en", channel="sms"):
    style = Style(name="Shop")
    return render_message(
        channel=channel, language=language, code="123456", project_id=project.pk, project=style, minutes=3,
        session_id=session_id,
    ).text  # fmt: skip


def is_drawn(trial, session_id):
    return draw(trial.pk, session_id) < trial.share


def test_the_database_draws_as_we_do(db):
    for number in range(200):
        session = generate_session_id()
        assert sql.value("text_draw", variant=number, session=session) == draw(number, session)


def test_the_draw_gives_each_text_its_share_and_other_trials_other_sessions():
    sessions = [generate_session_id() for _ in range(20_000)]
    first, second = ({each for each in sessions if draw(trial, each) < 30} for trial in (1, 2))
    assert abs(len(first) - 6_000) < 400 and abs(len(second) - 6_000) < 400
    assert abs(len(first & second) - 1_800) < 300


def test_a_session_gets_one_of_the_two_texts_and_keeps_it(project, trial):
    for session in (generate_session_id() for _ in range(60)):
        got = render(project, session)
        assert got.startswith("New: 123456") is is_drawn(trial, session)
        assert render(project, session) == got


def test_only_the_tried_channel_and_language_have_two_texts(project, trial):
    session = next(each for each in iter(generate_session_id, "") if is_drawn(trial, each))
    assert render(project, session).startswith("New")
    assert not render(project, session, language="en-GB").startswith("New")
    assert not render(project, session, channel="messenger_a").startswith("New")
    assert not render(project, None).startswith("New")


def test_the_counts_are_those_of_the_rows(project, trial):
    """Exact to the row: sessions that are over, that the text was sent to, since the trial began."""
    began = timezone.now() - timedelta(hours=2)
    TextVariant.objects.filter(pk=trial.pk).update(since=began)
    expected = {False: [0, 0], True: [0, 0]}
    for number in range(40):
        is_over, is_sent, is_verified, is_english = number % 7 > 0, number % 5 > 0, number % 3 > 0, number % 11 > 0
        recipient = Recipient.objects.create(project=project, address=f"+49151123450{number:02}")
        session = a_session(recipient, is_open=False)
        now = timezone.now()
        times = {
            "created_at": now - timedelta(minutes=number),
            "expires_at": now + timedelta(minutes=-1 if is_over else 2),
        }
        if is_verified:
            times |= {"verified_at": now, "code_digest": None, "code_encrypted": None}
        type(session).objects.filter(pk=session.pk).update(**times)
        sent_at = now if is_sent else None
        for _ in range(2):  # a message that was sent again makes no second session
            a_message(recipient, session=session, language="en" if is_english else "de", sent_at=sent_at)
        if is_over and is_sent and is_english:
            expected[is_drawn(trial, session.pk)][0] += 1
            expected[is_drawn(trial, session.pk)][1] += is_verified
    for _ in range(2):  # counted again, they stay as they are
        rollups.count_since(began)
        present, tried = trials.arms(trial)
        assert [[present.sessions, present.verified], [tried.sessions, tried.verified]] == [
            expected[False],
            expected[True],
        ]


def test_a_session_from_before_the_trial_does_not_count(project, trial):
    recipient = Recipient.objects.create(project=project, address="+4915112345099")
    session = a_session(recipient, is_open=False)
    now = timezone.now()
    type(session).objects.filter(pk=session.pk).update(expires_at=now)
    a_message(recipient, session=session, sent_at=now)
    rollups.count_since(now - timedelta(hours=1))
    assert [arm.sessions for arm in trials.arms(trial)] == [0, 0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"share": 0}, "between 1 and 90"),
        ({"share": 91}, "between 1 and 90"),
        ({"text": "no code"}, "{code} is missing"),
        (
            {"text": "{code} is your {project} code. Valid for {minutes} min. Don't share it."},
            "the current text",
        ),
    ],
)
def test_a_trial_that_would_tell_nothing_is_refused(project, values, said):
    usual = {"project": project, "channel": "sms", "language": "en", "text": "{code}", "share": 50}
    with pytest.raises(UserError, match=said):
        trials.start(**usual | values)


def test_one_trial_runs_for_a_channel_and_language(project, trial):
    with pytest.raises(UserError, match="already running"):
        trials.start(project=project, channel="sms", language="en", text="{code}", share=50)


@pytest.mark.parametrize("is_taken", [True, False])
def test_the_end_takes_one_text_and_says_so_on_record(project, trial, is_taken):
    trials.end(trial, is_taken=is_taken)
    caching.clear_all()
    assert render(project, generate_session_id()).startswith("New") is is_taken
    assert MessageTemplate.objects.filter(project=project).exists() is is_taken
    assert AuditEntry.objects.filter(action__contains="present 0 of 0, new 0 of 0", project=project).exists()
    with pytest.raises(UserError, match="has ended"):
        trials.end(trial, is_taken=is_taken)


@pytest.mark.parametrize(("language", "is_kept"), [("en", True), ("de", False), ("en-GB", False)])
def test_the_present_text_is_kept_while_another_is_tried(project, trial, language, is_kept):
    assert trials.is_tried(project, "sms", language) is is_kept
    assert not trials.is_tried(project, "email", language)


def test_a_trial_in_a_region_keeps_the_text_of_its_language(project):
    trials.start(project=project, channel="sms", language="pt-BR", text="{code} {project}!", share=50)
    assert trials.is_tried(project, "sms", "pt") and trials.is_tried(project, "sms", "pt-BR")


@pytest.mark.django_db(transaction=True)
def test_a_text_is_not_judged_while_a_trial_begins(project):
    lock = "SELECT FROM verification_project WHERE id = %s FOR NO KEY UPDATE"
    with held(lock, project.pk), pytest.raises(OperationalError, match="lock timeout"), transaction.atomic():
        trials.require_untried(project, "sms", "en")
