"""The doctor on mail: SPF, DKIM and DMARC, and the questions to a name server."""

from __future__ import annotations

import base64
import socket
import struct
import threading

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests import factories
from tests.live import free_port
from verification.services.maintenance.doctor import name_server
from verification.services.maintenance.doctor.findings import Aims
from verification.services.maintenance.doctor.name_server import NameServerSilent, texts_of
from verification.services.maintenance.doctor.subjects import mail

DOMAIN = "codes.shop.de"


def public_key(bits):
    key = rsa.generate_private_key(65537, bits).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return base64.b64encode(key.public_bytes(serialization.Encoding.DER, form)).decode()


GOOD_KEY = public_key(2048)
SOUND = {
    DOMAIN: ["v=spf1 mx -all", "another-service=1"],
    f"mail._domainkey.{DOMAIN}": [f"v=DKIM1; k=rsa; p={GOOD_KEY}"],
    "_dmarc.shop.de": ["v=DMARC1; p=none; rua=mailto:post@shop.de"],
}


def names(changes, selectors=(), needs_spf=True):
    records = {**SOUND, **changes}
    found = mail.check_domain(DOMAIN, lambda name: records.get(name, []), needs_spf=needs_spf, selectors=selectors)
    return {finding.name for finding in found}


DKIM = f"mail._domainkey.{DOMAIN}"
FAULTS = [
    ({DOMAIN: []}, "spf-missing"),
    ({DOMAIN: ["v=spf1 mx -all", "v=spf1 a -all"]}, "spf-twice"),
    ({DOMAIN: ["v=spf1 +all"]}, "spf-open"),
    ({DKIM: []}, "dkim-not-found"),
    ({DKIM: ["v=DKIM1; p="]}, "dkim-unusable"),
    ({DKIM: ["v=DKIM1; p=nonsense"]}, "dkim-unusable"),
    ({DKIM: [f"v=DKIM1; p={'A' * 40}"]}, "dkim-unusable"),
    ({"_dmarc.shop.de": []}, "dmarc-missing"),
    ({"_dmarc.shop.de": ["v=DMARC1; p=none", "v=DMARC1; p=reject"]}, "dmarc-twice"),
    ({"_dmarc.shop.de": ["v=DMARC1; rua=mailto:a@shop.de"]}, "dmarc-unreadable"),
]


def test_a_domain_that_is_set_up_is_no_finding():
    assert names({}) == names({}, selectors=("mail",)) == set()
    assert names({f"_dmarc.{DOMAIN}": ["v=DMARC1; p=reject"], "_dmarc.shop.de": []}) == set()
    assert names({DOMAIN: []}, needs_spf=False) == set()


@pytest.mark.parametrize(("changes", "found"), FAULTS)
def test_a_fault_of_a_domain_is_found(changes, found):
    assert names(changes) == {found}


def test_a_selector_that_was_given_has_to_be_there():
    assert names({}, selectors=("mail", "mail2026")) == {"dkim-missing"}


def test_a_key_that_receivers_ignore_is_found():
    assert mail.fault_of({"p": GOOD_KEY}) == ""
    assert mail.fault_of({"p": GOOD_KEY, "k": "ed25519"}) == ""


@pytest.mark.parametrize("domain", ["localhost", "shop.test", "mail.internal", "192.0.2.1", "shop"])
def test_a_domain_that_no_name_server_knows_is_not_asked_for(domain):
    assert not mail.is_public(domain)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.com", "example.com"),
        ("example.com", "example.com"),
        ("a.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("gateway", "gateway"),
        ("a.b.uz", "b.uz"),
    ],
)
def test_a_domain_is_what_somebody_registered(host, domain):
    assert mail.domain_of(host) == domain


@pytest.mark.django_db
def test_the_domains_are_those_of_the_senders_that_are_in_use(project, settings):
    for name, domain, is_enabled in (("one", "mail.shop.de", True), ("two", "old.shop.de", False)):
        values = {"from_email": f"Shop <codes@{domain}>"}
        fields = {"channel": "email", "type": "smtp", "name": name, "settings": values, "is_enabled": is_enabled}
        factories.provider(project=project.row, **fields)
    settings.EMAIL_BACKEND, settings.DEFAULT_FROM_EMAIL = "django.core.mail.backends.smtp.EmailBackend", "a@shop.de"
    assert mail.sending_domains() == {"mail.shop.de": True, "shop.de": True}


def test_a_mail_server_for_alerts_that_is_away_is_found(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    assert [finding.name for finding in mail.alerts_can_be_mailed(Aims(url=""))] == ["alerts-not-mailed"]


class NameServer:
    """A name server on loopback. ``texts`` are its TXT records; without any the name is unknown."""

    def __init__(self, texts=(), *, alias=False, truncates=False, code=None, garbage=b""):
        self.texts, self.alias, self.truncates, self.garbage = texts, alias, truncates, garbage
        self.code = code if code is not None else (0 if texts else 3)

    def __enter__(self):
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.tcp.close()
        self.udp.close()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def _serve_udp(self):
        while True:
            try:
                question, caller = self.udp.recvfrom(2000)
            except OSError:
                return
            if self.garbage:
                self.udp.sendto(question[:2] + self.garbage, caller)
                continue
            self.udp.sendto(b"\0\0" + self.answer(question)[2:], caller)  # somebody else's answer comes first
            self.udp.sendto(self.answer(question, is_short=self.truncates), caller)

    def _serve_tcp(self):
        while True:
            try:
                connected, _ = self.tcp.accept()
            except OSError:
                return
            with connected:
                answer = self.answer(connected.recv(2000)[2:])
                connected.sendall(struct.pack("!H", len(answer)) + answer)

    def answer(self, question, is_short=False):
        name_and_type = question[12 : question.index(b"\0", 12) + 5]
        records = [] if is_short else [self.record(text) for text in self.texts]
        if self.alias and not is_short:
            records.insert(0, b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 60, 2) + b"\xc0\x0c")
        flags = 0x8180 | (0x0200 if is_short else 0) | self.code
        header = question[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        return header + name_and_type + b"".join(records)

    @staticmethod
    def record(text):
        data = text.encode()
        parts = [data[start : start + 255] for start in range(0, len(data), 255)]
        body = b"".join(bytes([len(part)]) + part for part in parts)
        return b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 60, len(body)) + body


def test_a_name_servers_records_are_read_whole():
    long = f"v=DKIM1; p={GOOD_KEY}"
    assert len(long) > 255
    for server in (NameServer([long, "second"]), NameServer([long, "second"], alias=True, truncates=True)):
        with server:
            assert texts_of("mail._domainkey.shop.de", server.address) == [long, "second"]


def test_an_unknown_name_has_no_records():
    with NameServer() as server:
        assert texts_of("_dmarc.shop.de", server.address) == []


@pytest.mark.parametrize(
    "server", [NameServer(code=2), NameServer(garbage=b"\x81\x80\0\1\0\1"), NameServer(garbage=b"\x81")]
)
def test_an_answer_that_is_none_is_told(server, monkeypatch):
    monkeypatch.setattr(name_server, "ALL_SECONDS", 0.5)  # as it goes on listening for a better one
    with server, pytest.raises(NameServerSilent):
        texts_of("shop.de", server.address)


@pytest.mark.parametrize("server", ["dns.example", "192.0.2.1:port"])
def test_a_name_server_is_given_by_its_address(server):
    with pytest.raises(NameServerSilent, match="address"):
        texts_of("shop.de", server)


def test_a_name_that_cannot_be_one_is_not_asked_for():
    with pytest.raises(NameServerSilent):
        texts_of(f"{'a' * 70}.de", "127.0.0.1:9")


@pytest.mark.django_db
def test_a_domain_whose_name_server_is_away_is_a_note(project):
    values = {"from_email": f"codes@{DOMAIN}"}
    factories.provider(project=project.row, channel="email", type="smtp", name="Mail", settings=values)
    aims = Aims(url="", nameserver=f"127.0.0.1:{free_port()}")
    assert [finding.name for finding in mail.domains_are_set_up(aims)] == ["domain-not-asked"]
