"""The model and the service side by side: Hypothesis calls both, and shrinks the first answer that the model has not.

The service runs in this process on a real database, and its time passes as in other tests: the rows move into the past.
``--rounds`` sets how many sequences of calls are made up; CI makes some, a long run thousands.
"""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests import clock, factories
from tests.api.calls import Api
from tests.fakes.collector import SENT, Outbox
from tests.protocol import model
from tests.protocol.model import Call, State

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(0)]

PHONES = ("+4915112345678", "+4915112345679")
TEST_PHONE, TEST_CODE = "+46701740605", "493817"
MAIL = "ann@example.com"
OFFERED = {MAIL: ("email",), **dict.fromkeys((*PHONES, TEST_PHONE), ("sms", "voice"))}
CHANNELS = ("sms", "voice", "email", "messenger_a")
SETTINGS = {  # the parts that the model leaves out
    "requests_per_second": 0,
    "traffic_guard": "off",
    "guess_wrong_checks": 0,
    "guess_network_recipients": 0,
    "guess_same_value_sessions": 0,
}
PAUSES = (7, 30, 61, 121, 181, 601, 901, 3_601, 86_401)  # seconds: between, and just past, what ends with time
CALLS = 40  # the most of one sequence

numbers = st.integers(0, 5)


class SideBySide(RuleBasedStateMachine):
    client = None  # Django's, which the test gives

    def __init__(self) -> None:
        super().__init__()
        project = factories.project(channels=("sms", "voice", "email")).set(**SETTINGS)
        project.test_login(TEST_PHONE, TEST_CODE)
        self.api = Api(self.client, project.api_key, project.secret_key)
        self.outbox = Outbox()
        self.outbox.open()
        self.states = {
            to: [State(to, channels, TEST_CODE if to == TEST_PHONE else "")] for to, channels in OFFERED.items()
        }
        self.owners: dict[str, str] = {}  # recipients by session and by token
        self.sessions: list[str] = []
        self.tokens: list[str] = []
        self.codes: dict[str, str] = {}  # by session, as they arrived
        self.passed, self.began = 0.0, time.monotonic()

    def teardown(self) -> None:
        self.outbox.deliver()  # what a sequence that failed has left would arrive in the next one
        self.outbox.close()

    # --- calls ---------------------------------------------------------------------------------------------------

    @rule(to=st.sampled_from(sorted(OFFERED)), type=st.sampled_from((None, None, *CHANNELS)), send=st.booleans())
    def create(self, to, type, send):
        given = {"to": to, "send": send, **({"type": type} if type else {})}
        body = self.call("create", given, to, lambda: self.api.create(**given))
        if "session_id" in body:
            self.owners.setdefault(body["session_id"], to)
            if body["session_id"] not in self.sessions:
                self.sessions.append(body["session_id"])
            self.deliver(to, body["session_id"])

    @precondition(lambda self: self.sessions)
    @rule(number=numbers, channel=st.sampled_from(CHANNELS[:3]))
    def send(self, number, channel):
        session_id = self.pick(self.sessions, number)
        given = {"session_id": session_id, "type": channel}
        self.call("send", given, self.owners[session_id], lambda: self.api.send(session_id, channel))
        self.deliver(self.owners[session_id], session_id)

    @precondition(lambda self: self.sessions)
    @rule(number=numbers, form=st.sampled_from(("{}", " {} ")))
    def check_the_code_that_arrived(self, number, form):
        session_id = self.pick(self.sessions, number)
        is_test = self.owners[session_id] == TEST_PHONE
        self.check(session_id, form.format(TEST_CODE if is_test else self.codes.get(session_id, "000000")))

    @precondition(lambda self: self.sessions)
    @rule(number=numbers, code=st.sampled_from(("x", "nope", "12345", "١٢٣٤٥٦", "0" * 32)), times=st.integers(1, 6))
    def check_wrong_ones(self, number, code, times):
        for _ in range(times):
            self.check(self.pick(self.sessions, number), code)

    @precondition(lambda self: len(self.codes) > 1)
    @rule(number=numbers, other=numbers)
    def check_the_code_of_another_session(self, number, other):
        self.check(self.pick(self.sessions, number), self.codes[self.pick(list(self.codes), other)])

    def check(self, session_id, code):
        given = {"session_id": session_id, "code": code}
        to = self.owners[session_id]
        body = self.call("check", given, to, lambda: self.api.check(session_id, code))
        if "verify_token" in body:
            self.tokens.append(body["verify_token"])
            self.owners[body["verify_token"]] = to

    @precondition(lambda self: self.tokens)
    @rule(number=numbers)
    def verify(self, number):
        token = self.pick(self.tokens, number)
        self.call("verify", {"verify_token": token}, self.owners[token], lambda: self.api.verify(token))

    @rule(to=st.sampled_from(sorted(OFFERED)))
    def ask_for_what_never_was(self, to):
        token, session_id = str(uuid.uuid4()), "01ARZ3NDEKTSV4RRFFQ69G5FAV"
        self.call("verify", {"verify_token": token}, to, lambda: self.api.verify(token))
        self.call("check", {"session_id": session_id, "code": "1"}, to, lambda: self.api.check(session_id, "1"))

    @precondition(lambda self: self.sessions)
    @rule(number=numbers)
    def read_the_channels_and_settings(self, number):
        session_id = self.pick(self.sessions, number)
        to = self.owners[session_id]
        self.call("channels", {"session_id": session_id}, to, lambda: self.api.channels(session_id))
        self.call("settings", {"session_id": session_id}, to, lambda: self.api.settings(session_id))

    @rule(to=st.sampled_from(sorted(OFFERED)), channel=st.sampled_from(CHANNELS[:3]))
    def send_by_hand_and_read(self, to, channel):
        given = {"to": to, "channel": channel}
        body = self.call("manual_send", given, to, lambda: self.api.manual_send(**given))
        if "message_id" in body:
            self.deliver(to, "")
            read = self.api.manual_message(body["message_id"])
            told = {"id": body["message_id"], "channel": channel, "status": "success", "error": None}
            assert (read.status_code, read.data) == (200, told)

    @rule(seconds=st.sampled_from(PAUSES))
    def let_time_pass(self, seconds):
        clock.forward(seconds)
        self.passed += seconds

    # --- both sides ----------------------------------------------------------------------------------------------

    def call(self, name, given, to, ask):
        """Call the service, and have the model judge the answer, whose body is returned."""
        self.keep_clear_of_edges(to)
        response = ask()
        body = response.data if isinstance(response.data, dict) else {"channels": response.data}
        if told := body.get("session_expired_at"):
            body = {**body, "expires_in": (datetime.fromisoformat(told) - datetime.now(UTC)).total_seconds()}
        self.judge(to, Call(name, given, response.status_code, body, self.now()))
        return body

    def judge(self, to, call):
        before = self.states[to]
        self.states[to] = list(dict.fromkeys(state for each in before for state in model.after(each, call)))
        assert self.states[to], f"The model has no such answer.\n{call}\nbefore it: {before}"

    def deliver(self, to, session_id):
        """Let what waits be sent, and have the model judge what the gateway was given."""

        self.outbox.deliver()
        for _, message in SENT[self.delivered :]:
            given = {"channel": message.channel, "code": message.code, "session_id": session_id}
            assert message.to == to
            if session_id:
                self.codes[session_id] = message.code
            self.judge(to, Call("arrived", given, 200, {}, self.now()))
        self.delivered = len(SENT)

    delivered = 0

    def keep_clear_of_edges(self, to):
        while any(abs(edge - self.now()) < 2 * model.EDGE for state in self.states[to] for edge in state.edges()):
            self.let_time_pass(3)

    def now(self):
        return self.passed + time.monotonic() - self.began

    @staticmethod
    def pick(items, number):
        """Return the item of that number, counted from the latest."""
        return items[-1 - number % len(items)]


@pytest.mark.django_db(transaction=True)
def test_every_answer_is_one_of_the_models(client, request):
    SideBySide.client = client
    run_state_machine_as_test(
        SideBySide,
        settings=settings(
            max_examples=request.config.getoption("--rounds"),
            stateful_step_count=CALLS,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
