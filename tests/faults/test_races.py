"""Many callers in the same moment, over several processes: what must happen once happens once, and is counted."""

import pytest
from django.conf import settings

from tests.faults.shop import open_shop, recipient, statuses
from tests.live import at_once, wait_until

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]

EVERYWHERE = 12  # calls, each on a connection of its own: enough to reach every process
REFUSED = (401, 429)  # the latter after 30 refused keys in a minute from our one address; a good key never gets it


@pytest.fixture(scope="module")
def other_shop(service, gateway):
    """A second project, for tests that change a project."""
    return open_shop(service, gateway)


def holds_everywhere(condition, what):
    """Wait until as many calls in a row, spread over the processes, find the condition true."""
    wait_until(lambda: all(at_once(EVERYWHERE, lambda _: condition())), what)


# --- codes and tokens ---------------------------------------------------------------------------------------------


@pytest.mark.requirement(26)
def test_of_50_parallel_right_codes_one_gets_a_token(shop):
    to = recipient()
    session_id = shop.open_session(to)
    code = shop.code_for(to)
    answers = at_once(50, lambda _: shop.check(session_id, code))
    assert statuses(answers) == {200: 1, 409: 49}
    assert {body["code"] for status, body, _ in answers if status == 409} == {"session_verified"}


@pytest.mark.requirement(26)
def test_of_50_parallel_wrong_codes_5_are_compared_and_all_5_stay_counted(shop):
    to = recipient()
    session_id = shop.open_session(to)
    wrong = "".join(str((int(digit) + 1) % 10) for digit in shop.code_for(to))
    answers = at_once(50, lambda _: shop.check(session_id, wrong))
    assert statuses(answers) == {400: 5, 429: 45}
    assert sorted(body["attempts_left"] for status, body, _ in answers if status == 400) == [0, 1, 2, 3, 4]
    [(attempts,)] = shop.service.query("SELECT attempts FROM verification_session WHERE id = %s", session_id)
    [(wrong_codes,)] = shop.service.query(
        "SELECT count(*) FROM verification_wrongcode WHERE session_id = %s", session_id
    )
    assert (attempts, wrong_codes) == (5, 5)


def test_the_right_code_among_parallel_wrong_ones_never_adds_a_guess(shop):
    to = recipient()
    session_id = shop.open_session(to)
    code = shop.code_for(to)
    wrong = "".join(str((int(digit) + 1) % 10) for digit in code)
    counts = statuses(at_once(40, lambda number: shop.check(session_id, code if number == 20 else wrong)))
    [(attempts,)] = shop.service.query("SELECT attempts FROM verification_session WHERE id = %s", session_id)
    assert attempts == counts.get(200, 0) + counts.get(400, 0) <= 5


@pytest.mark.requirement(36)
def test_of_50_parallel_verifies_one_succeeds(shop):
    to = recipient()
    token = shop.token_for(to)
    answers = at_once(50, lambda _: shop.verify(token))
    assert statuses(answers) == {200: 1, 410: 49}
    assert [body for status, body, _ in answers if status == 200] == [{"phone": to}]


def test_of_50_parallel_verifies_with_one_key_one_uses_the_token_up_and_all_read_its_answer(shop):
    to = recipient()
    token = shop.token_for(to)
    answers = at_once(50, lambda _: shop.verify(token, {"Idempotency-Key": "lost"}))
    assert statuses(answers) == {200: 50}
    assert {body["phone"] for _, body, _ in answers} == {to}
    assert sum("Idempotency-Replayed" in headers for _, _, headers in answers) == 49


# --- sessions and messages ----------------------------------------------------------------------------------------


@pytest.mark.requirement(44)
def test_300_parallel_creates_for_one_recipient_give_one_session_and_one_message(shop):
    to = recipient()
    answers = at_once(300, lambda _: shop.create(to))
    assert statuses(answers) == {200: 300}
    assert len({(body["session_id"], body["session_expired_at"]) for _, body, _ in answers}) == 1
    wait_until(lambda: shop.messages_to(to) == ["success"], "its one message is sent")
    assert len(shop.sent_to(to)) == 1


def test_parallel_creates_for_several_recipients_do_not_disturb_each_other(shop):
    recipients = [recipient() for _ in range(10)]
    answers = at_once(60, lambda number: shop.create(recipients[number % 10]))
    assert statuses(answers) == {200: 60}
    assert len({body["session_id"] for _, body, _ in answers}) == 10
    assert all(len(shop.messages_to(to)) == 1 for to in recipients)


@pytest.mark.requirement(47)
def test_of_50_parallel_sends_of_a_code_one_is_queued(shop):
    to = recipient()
    _, body, _ = shop.create(to, send=False)
    answers = at_once(50, lambda _: shop.resend(body["session_id"]))
    assert statuses(answers) == {200: 1, 429: 49}
    assert {body["code"] for status, body, _ in answers if status == 429} == {"channel_timeout"}
    assert len(shop.messages_to(to)) == 1


@pytest.mark.requirement(48)
def test_of_30_parallel_manual_sends_as_many_go_out_as_the_limit_allows(shop):
    to = recipient()
    answers = at_once(30, lambda _: shop.send(to))
    assert statuses(answers) == {200: 5, 429: 25}
    wait_until(lambda: shop.messages_to(to) == ["success"] * 5, "those five are sent")
    assert len(shop.sent_to(to)) == 5


def test_parallel_creates_and_manual_sends_share_the_recipients_limit(shop):
    to = recipient()
    answers = at_once(20, lambda number: shop.create(to) if number % 4 == 0 else shop.send(to))
    assert set(statuses(answers)) == {200, 429}
    assert len(shop.messages_to(to)) == 5


def test_parallel_sends_with_one_idempotency_key_have_one_effect_and_one_answer(shop):
    to = recipient()
    answers = at_once(20, lambda _: shop.send(to, headers={"idempotency-key": f"once-{to}"}))
    assert statuses(answers) == {200: 20}
    assert len({(body["message_id"], body["code"]) for _, body, _ in answers}) == 1
    assert len(shop.messages_to(to)) == 1


@pytest.mark.requirement(54)
def test_a_daily_budget_is_never_overshot(service, other_shop):
    service.query("UPDATE verification_channel SET daily_budget = 3 WHERE project_id = %s RETURNING id", other_shop.id)
    answers = at_once(30, lambda _: other_shop.send(recipient()))
    assert statuses(answers) == {200: 3, 429: 27}
    [(spent,)] = service.query("SELECT messages FROM verification_dailyspend WHERE project_id = %s", other_shop.id)
    assert spent == 3


# --- a change reaches every process -------------------------------------------------------------------------------


@pytest.mark.requirement(5)
def test_a_revoked_key_is_refused_by_every_process(service, shop):
    issued = service.json("issuekey", str(shop.id), "--kind", "api")

    def status():
        return service.call("GET", "/session/settings", key=issued["api_key"])[0]

    # Where refused keys came from our address before, a new one is looked for in a list that is a second old at most.
    holds_everywhere(lambda: status() == 200, "every process takes the key")
    service.manage("revokekey", str(issued["key"]))
    holds_everywhere(lambda: status() in REFUSED, "no process takes the key")


def test_an_expired_key_is_refused_by_every_process(service, shop):
    issued = service.json("issuekey", str(shop.id), "--kind", "api", "--expires-in", "2")

    def status():
        return service.call("GET", "/session/settings", key=issued["api_key"])[0]

    holds_everywhere(lambda: status() in REFUSED, "no process takes the key")


@pytest.mark.requirement(15)
def test_a_disabled_project_is_refused_by_every_process_and_served_again_when_enabled(other_shop):
    def status():
        return other_shop.as_app("GET", "/session/settings")[0]

    assert set(at_once(EVERYWHERE, lambda _: status())) == {200}
    other_shop.set(is_enabled=False)
    holds_everywhere(lambda: status() in REFUSED, "no process serves it")
    other_shop.set(is_enabled=True)
    holds_everywhere(lambda: status() == 200, "every process serves it again")


def test_a_changed_setting_is_seen_by_every_process(other_shop):
    def length():
        return other_shop.as_app("GET", "/session/settings")[1]["code"]["length"]

    assert set(at_once(EVERYWHERE, lambda _: length())) == {6}
    other_shop.set(code_length=4)
    holds_everywhere(lambda: length() == 4, "every process knows the new length")


def test_the_requests_really_reach_several_processes(service, shop):
    """Otherwise nothing above would have raced across processes."""
    at_once(50, lambda _: shop.create())
    [(threads,)] = service.query(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT * FROM open_session(%'"
        ' OR query LIKE \'UPDATE "verification_message" SET "traceparent"%\''  # the last one of a create with traces
    )
    assert threads > settings.WEB_THREADS  # of one process


# --- the traffic guard ----------------------------------------------------------------------------------------------


@pytest.mark.requirement(51)
def test_an_attack_in_parallel_reaches_the_limit_and_those_in_flight(shop):
    """Sequential numbers of one prefix, from several client addresses, eight calls at a time."""
    prefix, at_a_time = "+491601234", 8
    answers = []
    for wave in range(5):
        answers += at_once(
            at_a_time,
            lambda n, wave=wave: shop.as_app(
                "POST",
                "/session/create",
                {"to": f"{prefix}{wave * at_a_time + n:04d}"},
                headers={"x-forwarded-for": f"198.51.{wave}.{n}"},
            ),
        )
    reached = statuses(answers)[200]
    assert 10 <= reached <= 10 + at_a_time
    assert {body["code"] for status, body, _ in answers if status != 200} == {"recipient_not_allowed"}
    [(queued,)] = shop.service.query(
        "SELECT count(*) FROM verification_guardedsend WHERE prefix = %s AND project_id = %s", prefix, shop.id
    )
    assert queued == reached
    shop.open_session()  # a stranger of another prefix
