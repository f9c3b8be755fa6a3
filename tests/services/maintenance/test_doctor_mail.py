"""The doctor on mail: SPF, DKIM and DMARC, and the questions to a name server."""

from __future__ import annotations

import base64
import socketserver
import threading
from contextlib import contextmanager

import dns.message
import dns.rcode
import dns.rrset
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests import factories
from tests.live import free_port
from verification.checks import mail
from verification.checks.registry import Aims

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
    found = mail.check_domain(DOMAIN, lambda name: records.get(name, []), needs_spf, selectors)
    return {finding.id for finding in found}


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
    assert [finding.id for finding in mail.alerts_can_be_mailed(Aims(url=""))] == ["alerts-not-mailed"]


@contextmanager
def name_server(*texts, code="NOERROR", address="127.0.0.1"):
    """A name server that has these TXT records for any name."""

    class Answers(socketserver.BaseRequestHandler):
        def handle(self):
            data, connection = self.request
            answer = dns.message.make_response(dns.message.from_wire(data))
            answer.set_rcode(dns.rcode.from_text(code))
            if texts:
                answer.answer.append(dns.rrset.from_text(answer.question[0].name, 60, "IN", "TXT", *texts))
            connection.sendto(answer.to_wire(), self.client_address)

    with socketserver.UDPServer((address, 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{address}:{server.server_address[1]}"
        server.shutdown()


def test_a_name_servers_records_are_read_whole():
    with name_server('"v=DKIM1; " "p=abc"', '"second"') as server:
        assert set(mail.texts_of("mail._domainkey.shop.de", server)) == {"v=DKIM1; p=abc", "second"}


@pytest.mark.parametrize("code", ["NXDOMAIN", "NOERROR"])
def test_an_unknown_name_has_no_records(code):
    with name_server(code=code) as server:
        assert mail.texts_of("_dmarc.shop.de", server) == []


@pytest.mark.django_db
@pytest.mark.parametrize("server", ["dns.example", "192.0.2.1:port", "", None])
def test_a_domain_that_cannot_be_looked_up_is_a_note(project, server):
    values = {"from_email": f"codes@{DOMAIN if server is not None else 'a' * 70 + '.de'}"}
    factories.provider(project=project.row, channel="email", type="smtp", name="Mail", settings=values)
    with name_server(code="SERVFAIL") as failing:
        aims = Aims(url="", nameserver=server or failing)
        assert [finding.id for finding in mail.domains_are_set_up(aims)] == ["domain-not-asked"]
