"""The octets, as smpplib 2.2.4 writes them."""

from __future__ import annotations

import pytest

from providers.smpp import pdu
from providers.smpp.pdu import Command, Pdu, ShortMessage, SmppAddress, Tag, Unreadable, take

BIND = "0000002f000000090000000000000007534d50503354455354007365637265743038005355424d4954310034000000"
SUBMIT = (
    "0000004a00000004000000000000000700050053686f70000101393938393031323334353637"
    "000000000030303030303030303033303030303052000100000009436f64652034373131"
)
PAYLOAD = (
    "0000003b00000004000000000000000700050053686f70000101393938393031323334353637"
    "000000000000000008000004240006041a043e0434"
)
DELIVER = (
    "0000005700000005000000000000000700010139393839303132333435363700050053686f7000"
    "0400000000000000001a69643a313220737461743a44454c49565244206572723a3030300427000102001e0003313200"
)
SHOP, USER = SmppAddress("Shop", 5, 0), SmppAddress("998901234567", 1, 1)


def only(text):
    [found] = take(bytearray.fromhex(text))
    return found


def test_a_bind_is_written():
    body = pdu.bind("SMPP3TEST", "secret08", "SUBMIT1")
    assert bytes(Pdu(Command.BIND_TRANSCEIVER, 7, body)).hex() == BIND


@pytest.mark.parametrize(
    ("message", "octets"),
    [
        (ShortMessage(SHOP, USER, b"Code 4711", registered_delivery=1, validity_period="000000000300000R"), SUBMIT),
        (ShortMessage(SHOP, USER, data_coding=8, tlvs={Tag.MESSAGE_PAYLOAD: "Код".encode("utf-16-be")}), PAYLOAD),
    ],
)
def test_a_message_is_written_and_read(message, octets):
    assert bytes(Pdu(Command.SUBMIT_SM, 7, bytes(message))).hex() == octets
    assert ShortMessage.read(only(octets).body) == message


def test_a_receipt_is_read():
    delivered = only(DELIVER)
    message = ShortMessage.read(delivered.body)
    assert (delivered.command, delivered.sequence, delivered.status) == (Command.DELIVER_SM, 7, 0)
    assert (message.source, message.destination, message.esm_class) == (USER, SHOP, 4)
    assert message.content == b"id:12 stat:DELIVRD err:000"
    assert message.tlvs == {Tag.MESSAGE_STATE: b"\x02", Tag.RECEIPTED_MESSAGE_ID: b"12\0"}


def test_pdus_are_taken_whole_however_they_arrive():
    buffer, found = bytearray(), []
    for octet in bytes.fromhex(SUBMIT + DELIVER):
        buffer.append(octet)
        found += take(buffer)
    assert [taken.command for taken in found] == [Command.SUBMIT_SM, Command.DELIVER_SM] and not buffer


@pytest.mark.parametrize("length", [0, 15, pdu.MAX_LENGTH + 1, 0xFFFFFFFF])
def test_a_length_that_cannot_be_is_unreadable(length):
    with pytest.raises(Unreadable):
        take(bytearray(length.to_bytes(4, "big") + bytes(12)))


@pytest.mark.parametrize("kept", range(0, len(bytes.fromhex(DELIVER)) - 16))
def test_a_body_cut_short_is_unreadable_or_lacks_its_fields(kept):
    body = only(DELIVER).body[:kept]
    try:
        message = ShortMessage.read(body)
    except Unreadable:
        return
    assert message.content and len(message.tlvs) < 2


def test_an_id_is_read_with_and_without_its_end():
    assert [pdu.message_id(body) for body in (b"", b"\0", b"ab-1\0", b"ab-1", b"a\x01b\xff\0c")] == [
        "",
        "",
        "ab-1",
        "ab-1",
        "ab",
    ]
