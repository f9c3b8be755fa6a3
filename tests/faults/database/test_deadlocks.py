"""All that locks rows, at once and in random order on few recipients: PostgreSQL ends none of it as a deadlock."""

import random
import time
from collections import Counter
from contextlib import suppress

import pytest
from django.db import connection, connections

from providers.base import Outcome, Receipt, ReceiptStatus, Result
from tests import factories
from tests.fakes.collector import SENT
from tests.live import at_once, wait_until
from verification.core.addresses import parse_address
from verification.core.errors import ApiError, UserError
from verification.models import FallbackStep, Project, Provider, Session
from verification.services.delivery import dispatch, fallback, receipts
from verification.services.delivery import sweep as sweeping
from verification.services.maintenance import forgetting, retention
from verification.services.maintenance.integrity import violations
from verification.services.manual import messages
from verification.services.projects import deletion
from verification.services.projects.snapshot import load_project
from verification.services.protection.guard import findings
from verification.services.sessions import check as verify_tokens
from verification.services.sessions import create, send

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

SECONDS = 20
AT_MOST_SECONDS = 90  # until each of ``EACH`` was done, on a busy machine
THREADS = 10
CLOSING = 10  # projects
EACH = ("open", "send", "deliver", "forget", "report", "sweep", "purge", "close_down")
SEED = 20_261_122
NUMBERS = [f"+49151123456{number}0" for number in range(2)]
# Time passes for what nobody holds: messages and sessions are over, then old, and fall-backs are due.
PASS_TIME = (
    "UPDATE {table} SET"
    " created_at = created_at - interval '1 hour' * %s, expires_at = expires_at - interval '1 hour' * %s"
    " WHERE id IN (SELECT id FROM {table} ORDER BY random() LIMIT 5 FOR UPDATE SKIP LOCKED)"
)
FALL_BACK = (
    "UPDATE verification_message SET fallback_at = now() WHERE id IN"
    " (SELECT id FROM verification_message WHERE session_id IS NOT NULL"
    " ORDER BY random() LIMIT 2 FOR UPDATE SKIP LOCKED)"
)


class Crowd:
    """The work of one thread, in an order that its seed decides."""

    def __init__(self, seed, shops, numbers, unused, closing):
        self.random = random.Random(seed)
        self.shops, self.numbers = shops, numbers
        self.unused, self.closing = unused, closing  # projects that are to be deleted, and those that are being deleted
        self.done = Counter()

    def run(self, is_over):
        acts = (
            [self.open, self.send, self.deliver, self.deliver, self.forget] * 4
            + [self.check, self.check_and_verify, self.report] * 2
            + [self.pass_time, self.sweep, self.purge, self.close_down]
        )
        while not is_over():
            act = self.random.choice(acts)
            with suppress(ApiError, UserError):
                act(self.random.choice(self.shops))
                self.done[act.__name__] += 1

    def to(self):
        return self.random.choice(self.numbers)

    def open(self, shop, to=None):
        """A create, and perhaps the same code once more over another channel."""
        project = load_project(shop.id)
        address = parse_address(to or self.to())
        opened = create.create_session(project, address, create.CreateOptions(client_address=""))
        send.resend_code(project, opened.session_id, send.ResendOptions(channel_type="voice", client_address=""))

    def send(self, shop, to=None):
        messages.send_message(
            project=load_project(shop.id),
            address=parse_address(to or self.to()),
            channel_type="sms",
            provider_id=None,
            code=None,
            callback_url="https://shop.example/callback",
        )

    def deliver(self, shop):
        for row in dispatch.claim_due(limit=3, idle_seconds=0):
            dispatch.deliver_claimed(row)

    def check(self, shop, code="000000"):
        session = Session.objects.filter(project=shop.row, is_open=True).order_by("?").first()
        if session is None:
            return None
        sent = [message.code for _, message in SENT[-50:] if message.to == session.recipient.address]
        return verify_tokens.check_code(
            project=load_project(shop.id),
            session_id=session.pk,
            code=sent[-1] if sent and code is None else "000000",
            client_address="",
        )

    def check_and_verify(self, shop):
        if checked := self.check(shop, code=None):
            verify_tokens.redeem_verify_token(project=load_project(shop.id), token=checked.verify_token)

    def report(self, shop):
        """Receipts of what was sent last, a failure among them."""
        provider = Provider.objects.filter(project=self.perhaps_closing(shop).row, channel="sms").first()
        if provider is None:
            return
        for _, message in SENT[-3:]:
            status = self.random.choice([ReceiptStatus.SUCCESS, ReceiptStatus.FAILED])
            is_stop = self.random.random() < 0.05
            receipts.apply_receipts(provider, [Receipt(status, message_id=message.id, is_suppressed=is_stop)])

    def forget(self, shop):
        forgetting.forget(project=self.perhaps_closing(shop).row, to=self.to())

    def sweep(self, shop):
        sweeping.expire_messages()
        sweeping.wipe_codes()
        fallback.send_fallbacks(limit=5)
        findings.sweep()

    def purge(self, shop):
        retention.purge(days=1)

    def close_down(self, shop):
        """A project with messages under way is deleted, bit by bit and by several at once, while others go on."""
        with suppress(IndexError):
            doomed = self.unused.pop()
            for number in self.numbers:
                self.send(doomed, number)
                self.open(doomed, number)
            deletion.mark(doomed.row, typed_name=doomed.row.name)
            self.closing.append(doomed)
        for doomed in self.closing[:2]:
            if deletion.carry_on(doomed.id):
                with suppress(ValueError):
                    self.closing.remove(doomed)

    def perhaps_closing(self, shop):
        return self.random.choice([shop, *self.closing])

    def pass_time(self, shop):
        hours = self.random.choice([1, 50])
        with connection.cursor() as cursor:
            cursor.execute(FALL_BACK)
            for table in ("verification_message", "verification_session"):
                cursor.execute(PASS_TIME.format(table=table), [hours, hours])


@pytest.fixture
def shops(outbox):
    """Two projects, and those that are to be deleted, with budgets, fall-back and no limit of sends. Their providers
    accept, fail and leave in doubt."""
    draw = random.Random(SEED)
    unlimited = dict.fromkeys(
        ("sends_per_10_minutes", "sends_per_hour", "sends_per_day", "requests_per_second", "creates_per_address"), 0
    )
    unlimited |= {"wrong_codes_per_15_minutes": 0, "wrong_codes_per_day": 0}
    opened = []
    for name in ("one", "two", *(f"closing {number}" for number in range(CLOSING))):
        shop = factories.project(name, channels=("sms", "voice"), retention_mode="hash" if name == "one" else "remove")
        Project.objects.filter(pk=shop.id).update(**unlimited)
        shop.channel("sms", daily_budget=100_000)
        shop.channel("voice", daily_budget=100_000)
        FallbackStep.objects.bulk_create(
            FallbackStep(project=shop.row, channel=channel, wait_seconds=30, position=position)
            for position, channel in enumerate(("sms", "voice"))
        )
        opened.append(shop)
    outcomes = [Outcome.TEMPORARY, Outcome.UNKNOWN, *[Outcome.ACCEPTED] * 6]
    for provider in ("sms first", "voice first"):
        outbox.answer(provider, *(Result(draw.choice(outcomes)) for _ in range(100_000)))
    return opened


def deadlocks():
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return cursor.fetchone()[0]


def connections_in_use():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return cursor.fetchone()[0]


def test_nothing_that_is_done_at_once_ends_in_a_deadlock(shops):
    seeds = [SEED + number for number in range(THREADS)]
    print("seeds", seeds)
    began = time.monotonic()
    before = deadlocks()
    lasting, unused, closing = shops[:2], shops[2:], []
    crowds = [Crowd(seed, lasting, NUMBERS, unused, closing) for seed in seeds]

    def done():
        return sum((crowd.done.copy() for crowd in crowds), Counter())

    def is_over():
        seconds = time.monotonic() - began
        return seconds > SECONDS and all(done()[act] for act in EACH) or seconds > AT_MOST_SECONDS

    def run(crowd):
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = 0")  # on a busy machine somebody waits for longer than 3 seconds
            crowd.run(is_over)
        finally:
            connections.close_all()

    results = at_once(THREADS, lambda number: run(crowds[number]))
    wait_until(lambda: connections_in_use() == 1, "the figures of every connection are in")
    print("done", done())
    assert deadlocks() == before
    assert [result for result in results if result] == []
    assert all(done()[act] for act in EACH)
    assert Project.objects.count() < len(lasting) + CLOSING
    assert violations() == {}
