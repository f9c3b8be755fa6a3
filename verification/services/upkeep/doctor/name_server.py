"""Asking a name server for the TXT records of a name: what Python's own resolver cannot do (RFC 1035)."""

from __future__ import annotations

import secrets
import socket
import struct
from pathlib import Path

PORT = 53
SECONDS = 3.0  # for one question over one transport
TRIES = 2  # over UDP, where a packet may be lost
MAX_ANSWER_BYTES = 65_535  # the most that the protocol can carry
TXT, INTERNET, OPT = 16, 1, 41
UDP_BYTES = 1_232  # the largest answer that we take over UDP, as resolvers agreed on; a longer one comes over TCP
RECURSIVE = 0x0100  # the bit by which we ask the server to ask others
TRUNCATED = 0x0200
NO_SUCH_NAME = 3  # the response code
POINTER = 0xC0  # the two bits at the start of a name that is told elsewhere in the answer
RESOLV_CONF = Path("/etc/resolv.conf")


class NoAnswer(Exception):
    """The name server is silent, or said nothing that can be read."""


def texts_of(name: str, server: str = "") -> list[str]:
    """Return the TXT records of a name, each in one piece; none where there is no such name. Raises NoAnswer."""
    host, port = _address(server or _own_server())
    try:
        question = _question(name)
    except (UnicodeError, struct.error):
        raise NoAnswer("the name cannot be asked for") from None
    try:
        answer = _by_udp(question, host, port)
        if struct.unpack_from("!H", answer, 2)[0] & TRUNCATED:
            answer = _by_tcp(question, host, port)
        return _read(answer, question)
    except OSError as error:
        raise NoAnswer(f"the name server {host} does not answer ({error.strerror or 'in time'})") from None
    except (struct.error, IndexError):
        raise NoAnswer(f"the answer of the name server {host} cannot be read") from None


def _own_server() -> str:
    try:
        lines = [line.split() for line in RESOLV_CONF.read_text().splitlines()]
    except OSError:
        lines = []
    return next((words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"), "127.0.0.1")


def _address(text: str) -> tuple[str, int]:
    """Read ``192.0.2.1``, ``192.0.2.1:5353``, ``2001:db8::1`` or ``[2001:db8::1]:5353``."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, int(rest.removeprefix(":") or PORT)
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, int(port)
    return text, PORT


def _question(name: str) -> bytes:
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels):
        raise UnicodeError(name)
    header = struct.pack("!HHHHHH", secrets.randbelow(1 << 16), RECURSIVE, 1, 0, 0, 1)
    encoded = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return header + encoded + struct.pack("!HH", TXT, INTERNET) + struct.pack("!BHHIH", 0, OPT, UDP_BYTES, 0, 0)


def _by_udp(question: bytes, host: str, port: int) -> bytes:
    """Ask, once more after a silence. The socket is connected, so that only the server's packets arrive."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as asking:
        asking.settimeout(SECONDS)
        asking.connect(address)
        for number in range(TRIES):
            asking.send(question)
            try:
                while (answer := asking.recv(MAX_ANSWER_BYTES))[:2] != question[:2]:
                    continue  # an answer to another question
            except TimeoutError:
                if number == TRIES - 1:
                    raise
            else:
                return answer
    raise TimeoutError


def _by_tcp(question: bytes, host: str, port: int) -> bytes:
    with socket.create_connection((host, port), SECONDS) as asking, asking.makefile("rb") as answering:
        asking.sendall(struct.pack("!H", len(question)) + question)
        (length,) = struct.unpack("!H", answering.read(2))
        return answering.read(length)


def _read(answer: bytes, question: bytes) -> list[str]:
    identity, flags, questions, answers = struct.unpack_from("!HHHH", answer)
    if identity != struct.unpack_from("!H", question)[0]:
        raise IndexError
    code = flags & 0xF
    if code == NO_SUCH_NAME:
        return []
    if code:
        raise NoAnswer(f"the name server answers with error {code}")
    place = 12
    for _ in range(questions):
        place = _after_name(answer, place) + 4
    found = []
    for _ in range(answers):
        place = _after_name(answer, place)
        kind, _, _, length = struct.unpack_from("!HHIH", answer, place)
        place += 10
        if kind == TXT:  # others are the aliases (CNAME) that led there
            found.append(_joined(answer[place : place + length]))
        place += length
    return found


def _after_name(answer: bytes, place: int) -> int:
    while (length := answer[place]) != 0:
        if length & POINTER == POINTER:
            return place + 2
        place += 1 + length
    return place + 1


def _joined(record: bytes) -> str:
    """Join the strings of one record, as mail servers do (RFC 7208, 3.3)."""
    parts, place = [], 0
    while place < len(record):
        length = record[place]
        parts.append(record[place + 1 : place + 1 + length])
        place += 1 + length
    return b"".join(parts).decode("utf-8", "replace")
