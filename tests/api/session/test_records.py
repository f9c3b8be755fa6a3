"""Sessions as the customer's own server reads, lists and cancels them."""

import pytest

from providers.base import Outcome, Result
from tests import clock, factories
from tests.api.calls import WRONG, Api, problem, wrong_fields
from verification.models import Message, Session
from verification.services.delivery import sweep
from verification.services.maintenance import forgetting
from verification.services.sessions import session_records

pytestmark = pytest.mark.django_db

PHONE, JANE = "+4915112345678", "jane@example.com"
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
MEMBERS = {
    *("session_id", "state", "recipient", "channel", "reference", "language", "is_test", "attempts", "created_at"),
    *("expires_at", "verified_at", "redeemed_at", "cancelled_at", "messages"),
}


@pytest.fixture
def session_id(api):
    return api.create(reference="login-1").data["session_id"]


@pytest.fixture
def stranger(client):
    other = factories.project()
    return Api(client, other.api_key, other.secret_key)


def listed(response):
    assert response.status_code == 200, response.data
    return [each["session_id"] for each in response.data["sessions"]]


# --- reading ---------------------------------------------------------------------------------------------------------


def test_an_open_session_tells_what_is_known_of_it(api, session_id):
    told = api.read(session_id).data
    assert set(told) == MEMBERS
    assert [told[name] for name in ("session_id", "state", "recipient", "channel", "reference")] == [
        *(session_id, "open", PHONE, "sms", "login-1")
    ]
    assert [told[name] for name in ("is_test", "attempts", "verified_at", "redeemed_at", "cancelled_at")] == [
        *(False, 0, None, None, None)
    ]


def test_its_messages_tell_what_became_of_them(api, outbox, session_id):
    outbox.answer("sms first", Result(Outcome.REFUSED, error="There is no such number."))
    outbox.deliver()
    api.send(session_id, "voice")
    first, second = api.read(session_id).data["messages"]
    assert set(first) == {"id", "channel", "status", "error", "created_at", "finished_at"}
    assert (first["channel"], first["status"], bool(first["error"]), bool(first["finished_at"])) == (
        *("sms", "failed", True, True),
    )
    assert (second["channel"], second["status"], second["error"], second["finished_at"]) == (
        *("voice", "queued", None, None),
    )


def test_it_tells_neither_code_nor_link(api, outbox, session_id):
    answer = api.read(session_id)
    assert outbox.code.encode() not in answer.content
    assert Session.objects.get().link_payload.encode() not in answer.content


def test_it_tells_when_it_was_verified_and_redeemed(api, outbox, session_id):
    api.check(session_id, WRONG)
    token = api.check(session_id, outbox.code).data["verify_token"]
    told = api.read(session_id).data
    assert (told["state"], told["attempts"], bool(told["verified_at"]), told["redeemed_at"]) == (
        *("verified", 2, True, None),
    )
    api.verify(token)
    assert api.read(session_id).data["redeemed_at"] >= told["verified_at"]


def test_a_session_that_sent_nothing_has_no_channel(api):
    told = api.read(api.create(send=False).data["session_id"]).data
    assert (told["channel"], told["reference"], told["messages"]) == (None, None, [])


def test_a_locked_and_an_expired_session_are_told_apart(api, outbox, session_id):
    for _ in range(5):
        api.check(session_id, WRONG)
    assert api.read(session_id).data["state"] == "locked"
    clock.forward(180)
    assert api.read(session_id).data["state"] == "expired"


def test_a_test_login_is_told(api, project):
    project.test_login(PHONE, "424242")
    told = api.read(api.create().data["session_id"]).data
    assert (told["is_test"], told["messages"][0]["status"]) == (True, "success")


def test_of_a_recipient_who_was_forgotten_no_address_is_told(api, outbox, project, session_id):
    outbox.deliver()  # what was sent counts for a day, and so its session is kept as long
    forgetting.forget(project=project.row, to=PHONE)
    told = api.read(session_id).data
    assert (told["recipient"], told["reference"], told["state"]) == (None, None, "expired")


@pytest.mark.parametrize("path", ["", "/cancel"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_projects_session_does_not_exist(api, stranger, session_id, path, method):
    answers = [
        stranger.call(method, f"/session/{each}{path}", key=stranger.secret_key) for each in (session_id, UNKNOWN)
    ]
    assert problem(answers[0]) == problem(answers[1])
    assert answers[0].status_code == (404 if (method, path) in (("GET", ""), ("POST", "/cancel")) else 405)
    assert api.read(session_id).data["state"] == "open"


@pytest.mark.parametrize("path", ["/session", f"/session/{UNKNOWN}"])
def test_an_api_key_reads_no_session(api, path):
    assert problem(api.call("GET", path, key=api.api_key)) == (403, "wrong_key_kind")


@pytest.mark.parametrize("word", ["x", UNKNOWN.lower(), UNKNOWN + "0", "sessions", "%00"])
def test_a_word_that_is_no_id_is_nothing(api, word):
    assert problem(api.read(word)) == (404, "not_found")


def test_no_page_of_another_origin_may_read_it(api, project, session_id):
    project.set(origins=["https://shop.example"])
    headers = {"Origin": "https://shop.example"}
    for path in ("/session", f"/session/{session_id}"):
        answer = api.call("GET", path, key=api.secret_key, headers=headers)
        assert "Access-Control-Allow-Origin" not in answer
        assert answer["Cache-Control"] == "no-store" and answer["X-Request-Id"]


# --- the reference ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["", 7, "x" * 256, "a\nb", "a\x7fb", "a\x85b", ["x"]])
def test_a_reference_is_a_short_text_without_control_characters(api, reference):
    assert wrong_fields(api.create(reference=reference)) == ["reference"]
    assert not Session.objects.exists()


@pytest.mark.parametrize("reference", ["x" * 255, "Вход № 1", " ", "a%20b&c=d"])
def test_any_other_text_is_told_as_it_was_given(api, reference):
    session_id = api.create(reference=reference).data["session_id"]
    assert api.read(session_id).data["reference"] == reference
    assert listed(api.sessions(reference=reference)) == [session_id]


def test_a_create_that_returns_the_live_session_replaces_its_reference(api, session_id):
    assert api.create(reference=None).data["session_id"] == session_id
    assert api.read(session_id).data["reference"] == "login-1"
    api.create(reference="login-2")
    assert api.read(session_id).data["reference"] == "login-2"


def test_a_refused_create_changes_no_reference(api, project, session_id):
    project.set(sends_per_10_minutes=1)
    assert api.create(reference="other", channel="voice").status_code == 429
    assert api.read(session_id).data["reference"] == "login-1"


# --- the list --------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(api):
    """Three sessions, the newest first."""
    made = [api.create(to, reference=name).data["session_id"] for to, name in ((PHONE, "a"), (JANE, "b"))]
    clock.forward(180)
    return [api.create(PHONE, reference="a", send=False).data["session_id"], *reversed(made)]


def test_the_newest_comes_first(api, three, stranger):
    stranger.create()
    answer = api.sessions()
    assert listed(answer) == three
    assert (answer.data["has_more"], answer.data["after"]) == (False, None)
    assert set(answer.data["sessions"][0]) == MEMBERS


@pytest.mark.parametrize("query", [{}, {"state": "expired"}, {"reference": "a"}, {"to": PHONE}])
def test_pages_follow_each_other(api, three, query):
    found, after = [], {}
    for _ in range(4):
        answer = api.sessions(limit=1, **query, **after)
        found += listed(answer)
        after = {"after": answer.data["after"]}
        if not answer.data["has_more"]:
            break
    assert found == listed(api.sessions(**query))
    assert len(found) == (3 if not query else 2)


def test_it_is_of_one_recipient(api, three, stranger):
    assert listed(api.sessions(to="+49 151 12345678")) == [three[0], three[2]]
    assert listed(api.sessions(to="+4915112345679")) == []
    assert listed(stranger.sessions(to=PHONE)) == []


def test_it_is_of_one_reference(api, three, stranger):
    assert listed(api.sessions(reference="b")) == [three[1]]
    assert listed(api.sessions(reference="c")) == []
    assert listed(stranger.sessions(reference="b")) == []
    assert listed(api.sessions(reference="a", to=PHONE, state="open")) == [three[0]]


def test_it_is_of_one_state(api, three):
    assert listed(api.sessions(state="open")) == [three[0]]
    assert listed(api.sessions(state="expired")) == three[1:]
    assert listed(api.sessions(state="verified")) == []
    api.cancel(three[0])
    assert listed(api.sessions(state="cancelled")) == [three[0]]


def test_behind_many_of_other_states_there_is_more(api, three, monkeypatch):
    monkeypatch.setattr(session_records, "LOOK", 2)
    answer = api.sessions(state="verified")
    assert (listed(answer), answer.data["has_more"]) == ([], True)
    answer = api.sessions(state="verified", after=answer.data["after"])
    assert (listed(answer), answer.data["has_more"]) == ([], False)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=1.5", "limit"),
        ("limit=" + "9" * 5_000, "limit"),
        ("state=canceled", "state"),
        ("state=", "state"),
        ("to=", "to"),
        ("to=12345", "to"),
        ("reference=", "reference"),
        ("reference=%0A", "reference"),
        ("after=x", "after"),
        ("limit=1&limit=2", "limit"),
    ],
)
def test_a_wrong_parameter_is_named(api, query, field):
    assert wrong_fields(api.call("GET", f"/session?{query}", key=api.secret_key)) == [field]


def test_a_place_in_another_projects_list_is_unknown(api, stranger, session_id):
    assert problem(stranger.sessions(after=session_id)) == (404, "session_not_found")
    assert problem(stranger.sessions(after=UNKNOWN)) == (404, "session_not_found")


# --- cancelling ------------------------------------------------------------------------------------------------------


def test_a_cancelled_session_is_over_for_everybody(api, outbox, session_id):
    code = outbox.code
    told = api.cancel(session_id).data
    assert set(told) == MEMBERS and told["state"] == "cancelled"
    assert told["cancelled_at"] == told["expires_at"]
    assert problem(api.check(session_id, code)) == (410, "session_expired")
    assert problem(api.send(session_id, "voice")) == (410, "session_expired")
    assert problem(api.channels(session_id)) == (410, "session_expired")


def test_it_can_be_repeated(api, session_id):
    first = api.cancel(session_id)
    clock.forward(300)
    again = api.cancel(session_id)
    assert again.status_code == 200 and again.data["state"] == "cancelled"
    assert again.data["attempts"] == first.data["attempts"]


def test_what_waits_is_not_sent(api, outbox, session_id):
    api.cancel(session_id)
    assert outbox.messages == []
    sweep.expire_messages()
    assert Message.objects.get().status == "expired"


def test_a_create_opens_another_one(api, session_id):
    api.cancel(session_id)
    assert api.create(send=False).data["session_id"] != session_id


def test_a_locked_session_can_be_cancelled(api, session_id):
    for _ in range(5):
        api.check(session_id, WRONG)
    assert api.cancel(session_id).data["state"] == "cancelled"


def test_what_is_verified_or_over_cannot_be_cancelled(api, outbox, session_id):
    api.check(session_id, outbox.code)
    assert problem(api.cancel(session_id)) == (409, "session_verified")
    other = api.create(JANE).data["session_id"]
    clock.forward(180)
    assert problem(api.cancel(other)) == (410, "session_expired")
    assert api.read(other).data["state"] == "expired"


def test_the_body_may_be_anything(api, session_id):
    answer = api.call("POST", f"/session/{session_id}/cancel/", {"why": "logged out"}, key=api.secret_key)
    assert answer.status_code == 200
