from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers import registry
from providers.base import Consent, HookReply, Outcome, Receipt, ReceiptStatus
from providers.errors import ProviderError
from providers.http.client import HttpClient
from providers.smpp import answers, links, pdu
from providers.smpp.pdu import Command, Pdu, ShortMessage, SmppAddress, Status, Tag
from providers.smpp.session import SmppSession
from tests.fakes import smsc as fake
from tests.fakes.certificates import make_certificate
from tests.fakes.messages import make_message
from tests.fakes.smsc import PASSWORD, SYSTEM_ID, Smsc
from tests.fakes.store import BrokenStore
from tests.live import at_once, wait_until
from tests.providers import test_vendors
from tests.providers.vendors import Vendor

LOOPBACK = ("127.0.0.0/8",)
SETTINGS = {"host": "smsc.example", "system_id": SYSTEM_ID, "password": PASSWORD, "sender": "Shop"}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("providers.smpp.session.READ_SECONDS", 0.05)
    monkeypatch.setattr(links, "FIRST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(links, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(links, "SLOT_SECONDS", 20.0)  # the machine may be busy


@pytest.fixture
def hasty(monkeypatch):
    """Shorten the waits for what is meant not to come."""
    monkeypatch.setattr(SmppSession, "answer_seconds", 0.3)
    monkeypatch.setattr(links, "SLOT_SECONDS", 0.3)


@pytest.fixture
def smsc():
    with Smsc() as running:
        yield running


@pytest.fixture
def build(store):
    def make(**changes):
        settings = registry.clean_settings("smpp", {**SETTINGS, **changes}, LOOPBACK)
        return registry.build("smpp", settings, http=HttpClient(LOOPBACK), store=store)

    return make


class AwayStore(BrokenStore):
    def get(self, name):
        raise ConnectionError("the store is away")


class Reports:
    """The reports that arrive in the core. Storing fails ``fails`` times first."""

    def __init__(self):
        self.receipts: list[Receipt] = []
        self.fails = 0
        self.knows_none = False

    def __call__(self, reply: HookReply) -> int:
        if self.fails:
            self.fails -= 1
            raise ConnectionError("the database does not answer")
        self.receipts += reply.events
        return len(reply.events) if self.knows_none else 0


@pytest.fixture
def reports():
    return Reports()


@pytest.fixture
def connect(build, smsc, reports):
    """A connection, by default one that is bound already."""
    opened = []

    def make(*, is_bound=True, **changes):
        connection = build(**{"host": "127.0.0.1", "port": smsc.port, "tls": False, **changes}).connect(
            reports, name="Operator"
        )
        opened.append(connection)
        if is_bound:
            wait_until(lambda: len(smsc.bound()) == len(connection._links._threads), "all binds are up")
            wait_until(lambda: len(connection._links._bound) == len(connection._links._threads), "and known")
        return connection

    yield make
    for connection in opened:
        connection.close()


def error_of(connection, **changes):
    with pytest.raises(ProviderError) as caught:
        connection.send(make_message(**changes))
    for secret in ("4711", "15112345678", PASSWORD):
        assert secret not in str(caught.value)
    return caught.value


def bodies(adapter, **changes):
    return [ShortMessage.read(body) for body in adapter.compose(make_message(**changes))]


# Settings


WRONG = {
    "host": ["", "192.168.0.1"],
    "system_id": ["", "x" * 16],
    "password": ["", "pässword"],
    "sender": ["x" * 21, "Łódź"],
    "port": [0, 65536],
    "binds": [0, 11],
    "window": [0],
    "rate": [-1],
    "enquire_seconds": [0],
    "data_coding": [256],
    "alphabet": ["ebcdic"],
    "source_ton": ["7"],
}


def test_settings_are_asked_as_those_of_every_vendor():
    vendor = Vendor(type="smpp", settings=SETTINGS, secrets="password", wrong=WRONG)
    test_vendors.test_it_refuses_wrong_settings(vendor)
    test_vendors.test_secrets_are_secret_and_the_rest_has_defaults(vendor)


# The message


def test_a_message_holds_what_the_settings_say(build):
    [body] = bodies(build(service_type="OTP"), expires_in=180)
    assert body == ShortMessage(
        SmppAddress("Shop", 5, 0),
        SmppAddress("4915112345678", 1, 1),
        b"Your code is 4711",
        registered_delivery=1,
        service_type="OTP",
        validity_period="000000000300000R",
    )
    [body] = bodies(build(validity=False, receipts=False, dest_ton="2", dest_npi="8"))
    assert (body.validity_period, body.registered_delivery) == ("", 0)
    assert body.destination == SmppAddress("4915112345678", 2, 8)


@pytest.mark.parametrize(
    ("sender", "given", "address"),
    [
        ("Shop", {}, SmppAddress("Shop", 5, 0)),
        ("4546", {}, SmppAddress("4546", 3, 0)),
        ("+4546", {}, SmppAddress("4546", 1, 1)),
        ("+998901234567", {}, SmppAddress("998901234567", 1, 1)),
        ("998901234567", {}, SmppAddress("998901234567", 1, 1)),
        ("", {}, SmppAddress("")),
        ("4546", {"source_ton": "0", "source_npi": "1"}, SmppAddress("4546", 0, 1)),
    ],
)
def test_the_kind_of_sender_follows_from_it(build, sender, given, address):
    [body] = bodies(build(sender=sender, **given))
    assert body.source == address


def test_a_country_s_sender_and_its_ids_come_first(build):
    [body] = bodies(build(), sender="4930123", dlt_entity_id="1101", dlt_template_id="1107")
    assert body.source == SmppAddress("4930123", 3, 0)
    assert body.tlvs == {Tag.DLT_ENTITY_ID: b"1101", Tag.DLT_TEMPLATE_ID: b"1107"}


@pytest.mark.parametrize("sender", ["Łódź", "x" * 21])
def test_a_sender_that_cannot_be_is_told(build, sender):
    with pytest.raises(ProviderError) as caught:
        build().compose(make_message(sender=sender))
    assert caught.value.outcome is Outcome.MISCONFIGURED


@pytest.mark.parametrize(
    ("given", "text", "content", "coding"),
    [
        ({}, "@ä€[1]", b"\x00\x7b\x1be\x1b<1\x1b>", 0),
        ({"data_coding": 241}, "a", b"a", 241),
        ({"alphabet": "latin1", "data_coding": 3}, "@ä[", "@ä[".encode("latin-1"), 3),
        ({"alphabet": "latin1"}, "4€", "4€".encode("utf-16-be"), 8),
        ({"alphabet": "ascii"}, "code", b"code", 0),
        ({"alphabet": "ascii"}, "ä", "ä".encode("utf-16-be"), 8),
        ({"alphabet": "ucs2"}, "code", "code".encode("utf-16-be"), 8),
        ({}, "Код 😀", "Код 😀".encode("utf-16-be"), 8),
        ({"alphabet": "latin1"}, "â", "â".encode("utf-16-be"), 8),
        ({"alphabet": "ascii"}, "`", "`".encode("utf-16-be"), 8),
    ],
)
def test_a_text_travels_as_the_centre_reads_it(build, given, text, content, coding):
    [body] = bodies(build(**given), text=text)
    assert (body.content, body.data_coding, body.esm_class) == (content, coding, 0)


@pytest.mark.parametrize("way", ["udh", "sar"])
@pytest.mark.parametrize(
    ("text", "given", "sizes"),
    [
        ("x" * 161, {}, [153, 8]),
        ("x" * 152 + "€" + "y" * 10, {}, [152, 12]),
        ("ы" * 71, {}, [134, 8]),
        ("ы" * 66 + "😀" * 3, {}, [132, 12]),
        ("x" * 71, {"alphabet": "ucs2"}, [134, 8]),
    ],
)
def test_a_long_text_goes_in_parts(build, way, text, given, sizes):
    parts = bodies(build(long_texts=way, **given), text=text, id=0x1FF)
    header = 6 if way == "udh" else 0
    assert [len(part.content) - header for part in parts] == sizes
    assert [part.registered_delivery for part in parts] == [0, 1]
    if "€" not in text:
        assert fake.text_of(parts) == text
    if way == "udh":
        assert [part.content[:6].hex() for part in parts] == ["050003ff0201", "050003ff0202"]
    else:
        assert [part.tlvs[Tag.SAR_REFERENCE].hex() for part in parts] == ["01ff", "01ff"]


def test_a_long_text_goes_as_one_payload(build):
    [body] = bodies(build(long_texts="payload"), text="ы" * 500)
    assert (body.content, body.esm_class, fake.text_of([body])) == (b"", 0, "ы" * 500)


@pytest.mark.parametrize("text", ["", " \n", "ы" * 67 * 256])
def test_a_text_that_cannot_be_sent_is_not_applicable(build, text):
    with pytest.raises(ProviderError) as caught:
        build().compose(make_message(text=text))
    assert caught.value.outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("seconds", "period"),
    [(0, "000000000001000R"), (61, "000000000101000R"), (90_061, "000001010101000R")],
)
def test_the_validity_is_relative(build, seconds, period):
    [body] = bodies(build(), expires_in=seconds)
    assert body.validity_period == period


# The answer


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (0x01, Outcome.NOT_APPLICABLE),
        (0x08, Outcome.TEMPORARY),
        (0x0A, Outcome.MISCONFIGURED),
        (0x0B, Outcome.REFUSED),
        (0x14, Outcome.RATE_LIMITED),
        (0x45, Outcome.DECLINED),
        (0x58, Outcome.RATE_LIMITED),
        (0x0E, Outcome.MISCONFIGURED),
        (0x43, Outcome.MISCONFIGURED),
        (0x401, Outcome.DECLINED),
    ],
)
@pytest.mark.parametrize("command", [Command.SUBMIT_SM_RESP, Command.GENERIC_NACK])
def test_a_refusal_is_read(build, status, outcome, command):
    with pytest.raises(ProviderError) as caught:
        build().read_answer(Pdu(command, 1, status=status))
    assert (caught.value.outcome, caught.value.provider_status) == (outcome, f"0x{status:02X}")


def test_an_answer_of_another_kind_is_unclear(build):
    with pytest.raises(ProviderError) as caught:
        build().read_answer(Pdu(Command.UNBIND_RESP, 1))
    assert caught.value.outcome is Outcome.UNCLEAR


@pytest.mark.parametrize(("receipts", "is_delivered"), [(True, False), (False, True)])
def test_an_acceptance_is_the_end_only_without_receipts(build, receipts, is_delivered):
    result = build(receipts=receipts).read_answer(Pdu(Command.SUBMIT_SM_RESP, 1, b"0Ab\0"))
    assert (result.provider_message_id, result.is_delivered) == ("0Ab", is_delivered)


@pytest.mark.parametrize(
    ("ids", "given", "reported"),
    [
        ("same", "1a2B", "1a2B"),
        ("loose", "00001a2B", "1A2b"),
        ("loose", "0", "000"),
        ("hex_then_decimal", "1A2B", "0000006699"),
        ("hex_then_decimal", "not-hex", "not-hex"),
        ("decimal_then_hex", "6699", "00001a2b"),
    ],
)
def test_an_id_is_known_again_however_it_is_written(ids, given, reported):
    assert answers.comparable(given, ids, is_given=True) == answers.comparable(reported, ids, is_given=False)


# Receipts


def read(message, ids="same"):
    return answers.read_delivered(Pdu(Command.DELIVER_SM, 1, bytes(message)), ids=ids)


@pytest.mark.parametrize(
    ("stat", "state", "status"),
    [
        ("ENROUTE", 1, ReceiptStatus.SENT),
        ("DELIVRD", 2, ReceiptStatus.SUCCESS),
        ("EXPIRED", 3, ReceiptStatus.EXPIRED),
        ("DELETED", 4, ReceiptStatus.FAILED),
        ("UNDELIV", 5, ReceiptStatus.FAILED),
        ("ACCEPTD", 6, ReceiptStatus.SENT),
        ("REJECTD", 8, ReceiptStatus.FAILED),
    ],
)
def test_a_receipt_is_read_in_both_its_forms(stat, state, status):
    for message in (
        fake.by_text("ab-1", fake.NOBODY, stat=stat, err="1C"),
        fake.by_tlvs("ab-1", fake.NOBODY, state),
        ShortMessage(
            SmppAddress(""), SmppAddress(""), esm_class=4, tlvs={Tag.MESSAGE_PAYLOAD: fake.receipt_text("ab-1", stat)}
        ),
        ShortMessage(SmppAddress(""), SmppAddress(""), f"ID: ab-1 Stat:{stat.lower()}".encode(), esm_class=4),
    ):
        receipt = read(message)
        assert (receipt.status, receipt.provider_message_id) == (status, "ab-1")
        assert receipt.provider_status.startswith(stat) and bool(receipt.error) == (
            status in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED)
        )


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"id:ab-1 stat:DELIVERED err:000", ReceiptStatus.SUCCESS),
        (b"id:ab-1 stat:UNDELIVERABLE err:1C", ReceiptStatus.FAILED),
        (b"id:ab-1\r\nsub:001\r\nstat:DELIVRD\r\nerr:000", ReceiptStatus.SUCCESS),
        (b"id:ab-1 stat:SKIPPED", ReceiptStatus.FAILED),
    ],
)
def test_a_receipt_is_read_as_some_centres_write_it(text, status):
    receipt = read(ShortMessage(SmppAddress(""), SmppAddress(""), text, esm_class=4))
    assert (receipt.status, receipt.provider_message_id) == (status, "ab-1")


def written(text, ton=1, sender="4915112345678", **fields):
    """Return a user's text as the centre delivers it."""
    return ShortMessage(SmppAddress(sender, ton, 1), SmppAddress("4930"), text, **fields)


@pytest.mark.parametrize(
    ("message", "is_given"),
    [
        (written(b"STOP"), False),
        (written(b" stop. "), False),
        (written("ARRÊT".encode("utf-16-be"), data_coding=8), False),
        (written(b"", tlvs={Tag.MESSAGE_PAYLOAD: b"Unsubscribe"}), False),
        (written(b"stop", ton=0), False),
        (written(b"START"), True),
        (written(b"unstop"), True),
    ],
)
def test_a_keyword_that_a_user_writes_is_read(message, is_given):
    assert read(message) == Consent("+4915112345678", is_given)


@pytest.mark.parametrize(
    "message",
    [
        written(b"Please stop it, I mean it"),
        written(b"STOPP"),
        written(b""),
        written(b"STOP", ton=2, sender="15112345678"),  # national: of which country?
        written(b"STOP", ton=5, sender="Shop"),
        written(b"STOP", sender="12345"),
        written(b"\x05\x00\x03\x07\x02\x01STOP", esm_class=0x40),  # a part of something longer
    ],
)
def test_what_else_users_write_is_not_read(message):
    assert read(message) is None


def test_a_receipt_s_own_fields_come_before_its_text():
    tlvs = {Tag.RECEIPTED_MESSAGE_ID: b"7\0\0", Tag.MESSAGE_STATE: b"\x05"}
    message = ShortMessage(SmppAddress(""), SmppAddress(""), fake.receipt_text("8"), esm_class=0, tlvs=tlvs)
    assert read(message) == Receipt(
        ReceiptStatus.FAILED,
        "7",
        error="The operator could not deliver it (UNDELIV).",
        provider_status="UNDELIV 000",
        other_ids=("8",),
    )


@pytest.mark.parametrize("esm_class", [0x00, 0x03, 0x08, 0x10, 0x40])
@pytest.mark.parametrize("stat", ["DELIVRD", "FAILED"])
def test_a_receipt_is_read_whatever_its_class(esm_class, stat):
    header = b"\x05\x00\x03\x07\x01\x01" if esm_class & 0x40 else b""
    message = ShortMessage(
        SmppAddress("4915112345678", 1, 1),
        SmppAddress("Shop"),
        header + fake.receipt_text("ab-1", stat),
        esm_class=esm_class,
    )
    receipt = read(message)
    status = ReceiptStatus.SUCCESS if stat == "DELIVRD" else ReceiptStatus.FAILED
    assert (receipt.status, receipt.provider_message_id, receipt.phone) == (status, "ab-1", "4915112345678")
    assert receipt.is_for_phone is not bool(esm_class & 0x3C)


def test_a_receipt_is_read_from_data_sm():
    receipt = answers.read_delivered(Pdu(Command.DATA_SM, 1, fake.by_data("ab-1", fake.NOBODY)), ids="same")
    assert (receipt.status, receipt.provider_message_id) == (ReceiptStatus.SUCCESS, "ab-1")


def test_a_state_alone_goes_with_the_texts_id():
    message = ShortMessage(SmppAddress(""), SmppAddress(""), b"id:ab-1", tlvs={Tag.MESSAGE_STATE: b"\x09"})
    assert (read(message).status, read(message).provider_message_id) == (ReceiptStatus.FAILED, "ab-1")


def test_a_state_that_says_nothing_leaves_the_word_to_the_text():
    message = ShortMessage(
        SmppAddress(""), SmppAddress(""), fake.receipt_text("1"), esm_class=4, tlvs={Tag.MESSAGE_STATE: b"\x07"}
    )
    assert read(message).status is ReceiptStatus.SUCCESS


@pytest.mark.parametrize("stat", ["ENROUTE", "UNDELIV", "EXPIRED"])
def test_an_intermediate_notification_ends_nothing(stat):
    message = ShortMessage(SmppAddress(""), SmppAddress(""), fake.receipt_text("1", stat), esm_class=0x20)
    assert read(message).status is ReceiptStatus.SENT


@pytest.mark.parametrize(
    ("ids", "given", "tlv", "text"),
    [
        ("hex_then_decimal", "39f99dd8", "", "39f99dd8"),
        ("hex_then_decimal", "39f99dd8", "", "972660184"),
        ("hex_then_decimal", "39f99dd8", "39F99DD8", "39f99dd8"),
        ("hex_then_decimal", "39f99dd8", "972660184", "39f99dd8"),
        ("hex_then_decimal", "39f99dd8", "other", "972660184"),
        ("decimal_then_hex", "972660184", "", "972660184"),
        ("decimal_then_hex", "972660184", "972660184", "39f99dd8"),
        ("same", "39f99dd8", "", "972660184"),
        ("same", "39F99DD8", "972660184", ""),
        ("same", "972660184", "", "39f99dd8"),
        ("same", "1001", "other", "1001"),
    ],
)
def test_an_id_is_read_in_every_form(ids, given, tlv, text):
    kept = answers.comparable(given, ids, is_given=True)
    tlvs = {Tag.RECEIPTED_MESSAGE_ID: tlv.encode() + b"\0"} if tlv else {}
    content = fake.receipt_text(text) if text else b"stat:DELIVRD"
    receipt = read(ShortMessage(SmppAddress(""), SmppAddress(""), content, esm_class=4, tlvs=tlvs), ids)
    assert kept in (receipt.provider_message_id, *receipt.other_ids)


@pytest.mark.parametrize(
    "message",
    [
        ShortMessage(SmppAddress("1"), SmppAddress("2"), b"Hello, id:1 stat:DELIVRD"),  # what a user wrote
        fake.by_text("1", fake.NOBODY, stat="UNKNOWN"),
        fake.by_tlvs("1", fake.NOBODY, 7),
        fake.by_tlvs("1", fake.NOBODY, 99),
        ShortMessage(SmppAddress("1"), SmppAddress("2"), b"stat:DELIVRD", esm_class=4),
        ShortMessage(SmppAddress("1"), SmppAddress("2"), b"\xff\x00garbage", esm_class=4),
    ],
)
def test_what_says_nothing_changes_nothing(message):
    assert read(message) is None


# The connection


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, [Command.BIND_TRANSCEIVER]),
        ({"binds": 3}, [Command.BIND_TRANSCEIVER] * 3),
        ({"bind_mode": "separate", "binds": 2}, [Command.BIND_RECEIVER] + [Command.BIND_TRANSMITTER] * 2),
    ],
)
def test_it_binds_submits_and_takes_receipts(connect, smsc, reports, given, kinds):
    smsc.receipt = fake.by_text
    connection = connect(**given)
    assert sorted(peer.kind for peer in smsc.bound()) == kinds
    assert set(smsc.binds) == {pdu.bind(SYSTEM_ID, PASSWORD, "")}
    result = connection.send(make_message())
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, smsc.ids[0])
    wait_until(lambda: smsc.answers == [Status.OK], "the receipt is answered")
    assert [(receipt.status, receipt.provider_message_id) for receipt in reports.receipts] == [
        (ReceiptStatus.SUCCESS, smsc.ids[0])
    ]


def test_many_threads_share_the_binds(connect, smsc, reports):
    smsc.receipt = fake.by_tlvs
    connection = connect(binds=2, window=3)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda number: connection.send(make_message(id=number)), range(200)))
    assert sorted(result.provider_message_id for result in results) == sorted(smsc.ids) and len(set(smsc.ids)) == 200
    wait_until(lambda: len(smsc.answers) == 200, "all receipts are answered")
    assert {receipt.provider_message_id for receipt in reports.receipts} == set(smsc.ids)


def test_answers_in_another_order_find_who_asked(connect, smsc):
    held = []

    def hold(smsc_, peer, message):
        held.append((peer, message))

    smsc.script(hold, hold)
    connection = connect()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(connection.send, make_message(text=text)) for text in ("first", "second")]
        wait_until(lambda: len(held) == 2, "both are submitted")
        for sequence, name in ((3, b"three\0"), (2, b"two\0")):  # the bind took 1
            held[0][0].send(Pdu(Command.SUBMIT_SM_RESP, sequence, name))
        got = {future.result().provider_message_id for future in asked}
    assert got == {"two", "three"}


def test_receipts_in_any_order_and_twice_are_reported_as_they_come(connect, smsc, reports):
    connect()
    smsc.deliver(*(fake.by_tlvs(identity, fake.NOBODY) for identity in ("3", "1", "2", "1")))
    wait_until(lambda: len(smsc.answers) == 4, "they are answered")
    assert [receipt.provider_message_id for receipt in reports.receipts] == ["3", "1", "2", "1"]


def test_a_receipt_that_could_not_be_stored_is_asked_for_again(connect, smsc, reports):
    connect()
    reports.fails = 1
    for status in (Status.RECEIVER_TEMPORARY, Status.OK):
        smsc.deliver(fake.by_text("9", fake.NOBODY))
        wait_until(lambda expected=status: smsc.answers[-1:] == [expected], "it is answered")
    assert len(reports.receipts) == 1


def test_receipts_over_data_sm_are_taken(connect, smsc, reports):
    connect()
    smsc.deliver(fake.by_data("9", fake.NOBODY), command=Command.DATA_SM)
    wait_until(lambda: smsc.answers == [Status.OK], "it is answered")
    assert [receipt.provider_message_id for receipt in reports.receipts] == ["9"]


def test_what_is_no_receipt_is_answered_and_dropped(connect, smsc, reports):
    connect()
    smsc.deliver(ShortMessage(SmppAddress("1"), SmppAddress("2"), b"STOP"), b"\x01garbage")
    wait_until(lambda: smsc.answers == [Status.OK, Status.RECEIVER_PERMANENT], "both are answered")
    assert reports.receipts == []


@pytest.mark.parametrize("way", ["udh", "sar", "payload"])
@pytest.mark.parametrize("text", ["Your code is 4711. " * 20, "Ваш код 4711. " * 20])
def test_a_long_text_arrives_whole(connect, smsc, way, text):
    result = connect(long_texts=way).send(make_message(text=text))
    assert fake.text_of(smsc.messages) == text
    assert result.provider_message_id == smsc.ids[-1]


def test_a_part_that_is_refused_ends_the_message(connect, smsc):
    smsc.script(fake.answer(0), fake.answer(0x08))
    assert error_of(connect(), text="x" * 400).outcome is Outcome.TEMPORARY
    assert len(smsc.messages) == 1


@pytest.mark.parametrize("behaviour", [fake.hang, fake.hang_up])
def test_no_answer_means_an_unknown_outcome(connect, smsc, behaviour, monkeypatch):
    smsc.script(behaviour)
    connection = connect()
    with monkeypatch.context() as patched:
        patched.setattr(SmppSession, "answer_seconds", 0.3)
        assert error_of(connection).outcome is Outcome.UNKNOWN
    wait_until(lambda: is_accepted(connection), "it sends again, over the bind that stayed or a new one")


@pytest.mark.parametrize("status", [Status.THROTTLED, Status.QUEUE_FULL])
def test_a_centre_that_has_enough_is_left_alone_for_a_while(connect, smsc, status, monkeypatch):
    monkeypatch.setattr(links, "SLOT_SECONDS", 0.05)
    monkeypatch.setattr(links, "FIRST_THROTTLE_SECONDS", 0.5)
    smsc.script(fake.answer(status))
    connection = connect()
    errors = [error_of(connection) for _ in range(3)]
    assert {error.outcome for error in errors} == {Outcome.RATE_LIMITED}
    # Without a time of its own to come back, by which the circuit breaker would set the provider aside.
    assert [(error.provider_status, error.retry_after) for error in errors] == [(f"0x{status:02X}", None)] + [
        ("", None)
    ] * 2
    assert smsc.messages == []
    wait_until(lambda: is_accepted(connection), "it is asked again")


def is_accepted(connection):
    try:
        return connection.send(make_message()).outcome is Outcome.ACCEPTED
    except ProviderError:
        return False


def test_a_full_window_is_waited_for_and_then_told(connect, smsc, hasty):
    smsc.default = fake.hang
    connection = connect(window=2)
    outcomes = at_once(3, lambda _: error_of(connection).outcome)
    assert sorted(outcomes) in (["rate_limited", "unknown", "unknown"], ["unknown"] * 3)
    assert connection._links._bound and all(not session.in_flight for session in connection._links._bound)


def test_the_rate_is_kept(connect, smsc, hasty):
    connection = connect(rate=4)  # one each 250 ms; who waits longer than 300 ms is told
    outcomes = at_once(6, lambda _: is_accepted(connection))
    assert 0 < sum(outcomes) < 6 and len(smsc.messages) == sum(outcomes)


def test_a_centre_that_is_away_is_a_temporary_fault(connect, smsc):
    smsc.stop()
    assert error_of(connect(is_bound=False)).outcome is Outcome.TEMPORARY


def test_a_refused_bind_is_the_owner_s_matter(connect):
    error = error_of(connect(is_bound=False, password="wrong"))
    assert error.outcome is Outcome.MISCONFIGURED and "0x0E" in str(error)


def test_a_centre_that_comes_back_is_bound_to_again(connect, smsc, monkeypatch):
    monkeypatch.setattr(links, "GRACE_SECONDS", 20.0)
    connection = connect(binds=2)
    smsc.stop()
    wait_until(lambda: not connection._links._bound, "the loss is noticed")
    restarting = threading.Timer(0.2, smsc.start)
    restarting.start()
    assert connection.send(make_message()).outcome is Outcome.ACCEPTED  # it waited for the bind
    restarting.join()
    wait_until(lambda: len(smsc.bound()) == 2, "both binds are back")


@pytest.mark.parametrize(
    "garbage", [b"\0\0\0\x03" + bytes(20), b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 64, bytes(16)]
)
def test_after_garbage_the_connection_is_made_anew(connect, smsc, garbage):
    connection = connect()
    [peer] = smsc.bound()
    peer.send(garbage)
    wait_until(lambda: smsc.bound() not in ([], [peer]), "it binds again")
    wait_until(lambda: is_accepted(connection), "it sends again")


def test_what_it_does_not_know_is_refused_by_name(connect, smsc):
    connection = connect()
    [peer] = smsc.bound()
    peer.send(Pdu(0x0B, 77))  # outbind
    peer.send(Pdu(Command.SUBMIT_SM_RESP, 4_711))  # to nobody
    peer.send(Pdu(Command.ENQUIRE_LINK, 78))
    assert connection.send(make_message()).outcome is Outcome.ACCEPTED
    assert smsc.bound() == [peer]


def test_a_silent_line_is_tested_and_a_dead_one_given_up(connect, smsc, monkeypatch):
    monkeypatch.setattr(SmppSession, "answer_seconds", 1.0)
    connection = connect(enquire_seconds=1)
    [peer] = smsc.bound()
    wait_until(lambda: peer.enquiries, "the line is tested")
    assert smsc.bound() == [peer]
    smsc.deaf.set()
    wait_until(lambda: not connection._links._bound, "the dead line is given up")
    smsc.deaf.clear()
    wait_until(lambda: is_accepted(connection), "it sends again")


def test_a_centre_that_unbinds_is_answered_and_bound_to_again(connect, smsc):
    connection = connect()
    [peer] = smsc.bound()
    peer.send(Pdu(Command.UNBIND, 5))
    wait_until(lambda: smsc.bound() not in ([], [peer]), "it binds again")
    wait_until(lambda: is_accepted(connection), "it sends again")


def test_closing_unbinds_after_what_is_under_way(connect, smsc, reports):
    answered = threading.Event()

    def slowly(*_):
        answered.wait(1)
        return Status.OK

    smsc.script(slowly)
    connection = connect(bind_mode="separate")
    peers = smsc.bound()
    with ThreadPoolExecutor(2) as pool:
        sent = pool.submit(connection.send, make_message())
        wait_until(lambda: any(session.in_flight for session in list(connection._links._bound)), "it is submitted")
        closed = pool.submit(connection.close)
        answered.set()
        assert sent.result().outcome is Outcome.ACCEPTED
        closed.result()
    assert [peer.has_unbound for peer in peers] == [True, True]
    assert error_of(connection).outcome is Outcome.TEMPORARY


def test_a_plain_connection_leads_to_allowed_networks_only(store):
    settings = registry.clean_settings("smpp", {**SETTINGS, "host": "93.184.216.34", "tls": False})
    adapter = registry.build("smpp", settings, http=HttpClient(()), store=store)
    with pytest.raises(ProviderError) as caught:
        adapter.check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


def test_it_speaks_tls_and_looks_at_the_certificate(certificate, build, reports):
    with Smsc(tls=certificate.server_context()) as smsc:
        connection = build(host="127.0.0.1", port=smsc.port).connect(reports, name="Operator")
        smsc.receipt = fake.by_text
        wait_until(lambda: smsc.bound(), "it binds")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: connection.send(make_message(id=number, text="x" * 400)), range(50)))
        wait_until(lambda: len(reports.receipts) == 50, "all receipts arrive")
        connection.close()
        assert len(smsc.messages) == 150


def test_it_does_not_trust_just_any_certificate(tmp_path, build):
    context = make_certificate(tmp_path, "gateway.test").server_context()
    with Smsc(tls=context) as smsc, pytest.raises(ProviderError) as caught:
        build(host="127.0.0.1", port=smsc.port).check()
    assert caught.value.outcome is Outcome.MISCONFIGURED and "certificate" in str(caught.value)


# Check


def test_check_binds_and_unbinds(build, smsc):
    health = build(host="127.0.0.1", port=smsc.port, tls=False).check()
    assert health.is_ok and "No connections worker" in health.detail
    wait_until(lambda: smsc.binds and not smsc.bound(), "it has parted")
    assert smsc.messages == []


def test_check_tells_of_the_binds_that_are_up(build, connect, smsc):
    adapter = build(host="127.0.0.1", port=smsc.port, tls=False, binds=2)
    connection = connect(binds=2)
    wait_until(lambda: adapter.check().detail == "2 of 2 binds are up.", "it is told")
    assert len(smsc.binds) == 2
    connection.close()
    assert not adapter.check().is_ok
    # Those of other settings are not taken for ours.
    assert build(host="127.0.0.1", port=smsc.port, tls=False).check().detail.startswith("The message centre accepted")


def test_check_tells_that_receipts_come_and_none_is_for_us(build, connect, smsc, reports):
    adapter = build(host="127.0.0.1", port=smsc.port, tls=False)
    connect()
    for reports.knows_none in (True, False):
        smsc.deliver(fake.by_text("9", fake.NOBODY))
        wait_until(lambda: ("none names our" in adapter.check().detail) is reports.knows_none, "it is told")


@pytest.mark.parametrize(
    ("status", "changes", "told"),
    [
        (0x0E, {}, "the password is wrong (0x0E)"),
        (0x00, {"tls": True}, "no TLS with the message centre; does this port speak plain SMPP?"),
    ],
)
def test_check_tells_why_the_worker_that_holds_the_binds_has_none(build, connect, smsc, caplog, status, changes, told):
    smsc.bind_status = status
    caplog.set_level("INFO")
    connect(is_bound=False, **changes)
    wait_until(lambda: "Operator: no bind to the message centre 127.0.0.1: " in caplog.text, "the worker has told")
    found = build(**{"host": "127.0.0.1", "port": smsc.port, "tls": False, **changes}).check()
    assert not found.is_ok and found.detail.startswith("0 of 1 binds are up. Error of the last attempt to bind: ")
    assert told in found.detail


def test_check_tells_that_the_worker_finds_nobody_there(build, connect, smsc, caplog):
    smsc.stop()
    connect(is_bound=False)
    wait_until(lambda: "no bind to the message centre" in caplog.text, "the worker has told")
    found = build(host="127.0.0.1", port=smsc.port, tls=False).check()
    assert "last attempt" in found.detail and "refused" in found.detail


def test_check_asks_by_itself_where_the_memory_is_away(smsc):
    raw = {**SETTINGS, "host": "127.0.0.1", "port": smsc.port, "tls": False}
    settings = registry.clean_settings("smpp", raw, LOOPBACK)
    adapter = registry.build("smpp", settings, http=HttpClient(LOOPBACK), store=AwayStore())
    assert adapter.check().is_ok


@pytest.mark.parametrize(
    ("status", "told"), [(0x0E, "password"), (0x05, "maximum number of binds"), (0x0F, "system id")]
)
def test_check_names_why_a_bind_is_refused(build, smsc, status, told):
    smsc.bind_status = status
    with pytest.raises(ProviderError) as caught:
        build(host="127.0.0.1", port=smsc.port, tls=False).check()
    assert told in str(caught.value)


def test_check_tells_of_a_centre_that_says_nothing(build, smsc, hasty):
    smsc.deaf.set()
    with pytest.raises(ProviderError) as caught:
        build(host="127.0.0.1", port=smsc.port, tls=False).check()
    smsc.deaf.clear()
    assert caught.value.outcome is Outcome.TEMPORARY
