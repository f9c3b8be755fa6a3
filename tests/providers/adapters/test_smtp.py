from __future__ import annotations

import smtplib
from base64 import b64encode

import pytest

from providers import registry
from providers.base import Outcome
from providers.errors import AddressBlocked, NotConnected, ProviderError
from providers.http.client import HttpClient
from providers.parsing import smtp_answers
from tests.fakes.mail_server import FOREIGN, PASSWORD, USERNAME, Handler, mail_server, rude_server
from tests.fakes.messages import make_message
from tests.providers.vendors import Vendor

LOOPBACK = ("127.0.0.0/8",)


@pytest.fixture
def handler():
    return Handler()


@pytest.fixture
def build(store):
    def make(port, networks=LOOPBACK, seconds=None, **changes):
        raw = {"host": "127.0.0.1", "port": port, "security": "none", "from_email": "code@shop.test", **changes}
        settings = registry.clean_settings("smtp", raw, LOOPBACK)
        adapter = registry.build("smtp", settings, http=HttpClient(networks), store=store)
        if seconds:
            adapter.total_seconds = seconds
        return adapter

    return make


def mail(**changes):
    return make_message(**{"channel": "email", "to": "anna@example.org", **changes})


def error_of(adapter, message=None):
    with pytest.raises(ProviderError) as caught:
        adapter.send(message or mail())
    assert "anna" not in str(caught.value) and PASSWORD not in str(caught.value)
    return caught.value


# Settings


VENDOR = Vendor(
    type="smtp",
    settings={"host": "mail.example.com", "from_email": "a@example.com"},
    secrets="password",
    defaults={"port": 587, "security": "starttls"},
    wrong={
        "host": ["", "127.0.0.1"],
        "port": [0, 65536],
        "security": ["ssl"],
        "from_email": ["", "nobody", "a@example.com\nBcc: b@example.com"],
        "from_name": ["A\r\nBcc: b@example.com"],
        "reply_to": ["nobody"],
        "password": ["x", {"username": "robot"}],
    },
)


# Sending


def test_it_sends_a_message(build, handler):
    with mail_server(handler) as port:
        result = build(port, from_name="Ann's Shop, Łódź", reply_to="help@shop.test").send(mail())
    [received] = handler.received
    assert received["Subject"] == "4711 is your code"
    assert received["From"] == '"Ann\'s Shop, Łódź" <code@shop.test>'
    assert (received["To"], received["Reply-To"]) == ("anna@example.org", "help@shop.test")
    assert received["Auto-Submitted"] == "auto-generated"
    assert received["X-Auto-Response-Suppress"] == "All"
    assert received["List-Unsubscribe"] is None
    assert received.get_content().strip() == "Your code is 4711"
    assert received["Message-ID"] == result.provider_message_id
    assert received["Message-ID"].endswith("@shop.test>")
    assert (handler.senders, handler.recipients) == (["code@shop.test"], ["anna@example.org"])
    assert (result.outcome, result.is_delivered) == (Outcome.ACCEPTED, True)


def test_it_sends_text_and_html(build, handler):
    with mail_server(handler) as port:
        build(port).send(mail(html="<p>4711</p>", text="Код 4711"))
    [received] = handler.received
    assert received.get_content_type() == "multipart/alternative"
    assert received.get_body(("plain",)).get_content().strip() == "Код 4711"
    assert received.get_body(("html",)).get_content().strip() == "<p>4711</p>"


@pytest.mark.requirement(63)
def test_a_subject_cannot_add_a_header(build, handler):
    with mail_server(handler) as port:
        build(port).send(mail(subject="Code\r\nBcc: all@example.org"))
    assert handler.received[0]["Subject"] == "Code Bcc: all@example.org"
    assert handler.recipients == ["anna@example.org"]


def test_international_domains_are_written_in_ascii(build, handler):
    with mail_server(handler) as port:
        build(port, from_email="code@bücher.test").send(mail(to="anna@bücher.example"))
    assert handler.senders == ["code@xn--bcher-kva.test"]
    assert handler.recipients == ["anna@xn--bcher-kva.example"]


def test_an_address_that_smtp_cannot_carry_is_not_applicable(build, handler):
    with mail_server(handler) as port:
        assert error_of(build(port), mail(to="ännä@example.org")).outcome is Outcome.NOT_APPLICABLE
    assert handler.received == []


def test_it_logs_in(build, handler):
    with mail_server(handler) as port:
        build(port, username=USERNAME, password=PASSWORD).send(mail())
    assert handler.is_authenticated == [True]


def test_it_encrypts_by_starttls(build, handler, certificate):
    with mail_server(handler, starttls=certificate.server_context()) as port:
        build(port, security="starttls", username=USERNAME, password=PASSWORD).send(mail())
    assert (handler.is_encrypted, handler.is_authenticated) == ([True], [True])


def test_it_encrypts_from_the_start(build, handler, certificate):
    with mail_server(handler, tls=certificate.server_context()) as port:
        build(port, security="tls").send(mail())
    assert len(handler.received) == 1


# Refusals


@pytest.mark.parametrize(
    ("step", "reply", "outcome", "status"),
    [
        ("RCPT", "550 5.1.1 <anna@example.org>: no such user", Outcome.REFUSED, "550 5.1.1"),
        ("RCPT", "553 mailbox name not allowed", Outcome.REFUSED, "553"),
        ("RCPT", "550 mailbox unavailable", Outcome.REFUSED, "550"),
        ("RCPT", "550 5.1.10 null MX", Outcome.REFUSED, "550 5.1.10"),
        ("RCPT", "550 5.1.0 User unknown", Outcome.REFUSED, "550 5.1.0"),
        ("RCPT", "552 5.2.2 mailbox full", Outcome.REFUSED, "552 5.2.2"),
        ("RCPT", "550 5.7.17 the mailbox has another owner", Outcome.REFUSED, "550 5.7.17"),
        ("RCPT", "550 5.7.1 client host [192.0.2.1] blocked using zen", Outcome.MISCONFIGURED, "550 5.7.1"),
        ("RCPT", "550 5.7.606 Access denied, banned sending IP", Outcome.MISCONFIGURED, "550 5.7.606"),
        ("RCPT", "550 5.7.26 This mail is unauthenticated", Outcome.MISCONFIGURED, "550 5.7.26"),
        ("RCPT", "553 5.7.1 Sender address rejected: not owned by user", Outcome.MISCONFIGURED, "553 5.7.1"),
        ("RCPT", "554 5.7.1 <anna@example.org>: Access denied", Outcome.DECLINED, "554 5.7.1"),
        ("RCPT", "554 5.7.1 <a@b.example>: Recipient address rejected: Access denied", Outcome.REFUSED, "554 5.7.1"),
        ("RCPT", "550 5.7.1 Recipient address rejected: SPF fail, not authorized", Outcome.DECLINED, "550 5.7.1"),
        ("RCPT", "550 5.7.133 this group takes only its members", Outcome.DECLINED, "550 5.7.133"),
        ("RCPT", "550 5.5.0 mailbox unavailable", Outcome.REFUSED, "550 5.5.0"),
        (
            "RCPT",
            "504 5.5.2 <a>: Recipient address rejected: need fully-qualified address",
            Outcome.REFUSED,
            "504 5.5.2",
        ),
        ("RCPT", "550 5.7.1 our system has detected unsolicited mail", Outcome.MISCONFIGURED, "550 5.7.1"),
        ("RCPT", "554 5.9.9 no", Outcome.DECLINED, "554 5.9.9"),
        ("RCPT", "451 4.7.1 please try again", Outcome.POSTPONED, "451 4.7.1"),
        ("RCPT", "452 4.2.2 mailbox full", Outcome.POSTPONED, "452 4.2.2"),
        ("RCPT", "450 4.7.25 client host rejected: no reverse name", Outcome.TEMPORARY, "450 4.7.25"),
        ("DATA", "554 no", Outcome.DECLINED, "554"),
        ("RCPT", "553 5.1.7 no such sender", Outcome.MISCONFIGURED, "553 5.1.7"),
        ("RCPT", "550 5.1.8 Sender address rejected: Domain not found", Outcome.MISCONFIGURED, "550 5.1.8"),
        ("RCPT", "550 5.3.0 rejected by our list", Outcome.DECLINED, "550 5.3.0"),
        ("RCPT", "501 5.5.4 not for you", Outcome.DECLINED, "501 5.5.4"),
        ("RCPT", "550 relay not permitted", Outcome.MISCONFIGURED, "550"),
        ("RCPT", "554 your host is on a block list", Outcome.MISCONFIGURED, "554"),
        ("RCPT", "550 no", Outcome.DECLINED, "550"),
        ("RCPT", "550 5.4.1 Recipient address rejected: Access denied", Outcome.REFUSED, "550 5.4.1"),
        ("RCPT", "550 mailbox unavailable for policy reasons", Outcome.DECLINED, "550"),
        ("RCPT", "454 4.7.1 relay access denied", Outcome.TEMPORARY, "454 4.7.1"),
        ("RCPT", "550 5.7.1 relaying denied", Outcome.MISCONFIGURED, "550 5.7.1"),
        ("RCPT", "530 5.7.0 authentication required", Outcome.MISCONFIGURED, "530 5.7.0"),
        ("RCPT", "450 4.2.0 greylisted", Outcome.POSTPONED, "450 4.2.0"),
        ("RCPT", "450 4.2.1 rate limit exceeded", Outcome.POSTPONED, "450 4.2.1"),
        ("RCPT", "451 4.3.0 try later", Outcome.TEMPORARY, "451 4.3.0"),
        ("RCPT", "452 too many recipients", Outcome.RATE_LIMITED, "452"),
        ("RCPT", "421 4.7.0 too many connections", Outcome.RATE_LIMITED, "421 4.7.0"),
        ("MAIL", "553 5.7.1 sender not owned", Outcome.MISCONFIGURED, "553 5.7.1"),
        ("MAIL", "451 4.3.0 corporate directory away", Outcome.TEMPORARY, "451 4.3.0"),
        ("DATA", "554 5.7.1 spam", Outcome.MISCONFIGURED, "554 5.7.1"),
        ("DATA", "550 5.1.1 no such user", Outcome.REFUSED, "550 5.1.1"),
        ("DATA", "550 5.1.8 no such sender", Outcome.MISCONFIGURED, "550 5.1.8"),
        ("DATA", "550 no such user", Outcome.REFUSED, "550"),
        ("DATA", "451 4.3.0 try later", Outcome.TEMPORARY, "451 4.3.0"),
        ("DATA", "421 4.3.2 shutting down", Outcome.TEMPORARY, "421 4.3.2"),
    ],
)
def test_it_reads_a_refusal(build, handler, step, reply, outcome, status):
    handler.replies[step] = reply
    with mail_server(handler) as port:
        error = error_of(build(port))
    assert (error.outcome, error.provider_status) == (outcome, status)


@pytest.mark.parametrize(
    ("reply", "is_hard"),
    [
        ("550 5.1.1 no such user", True),
        ("556 5.1.10 null MX", True),
        ("550 5.2.1 mailbox disabled", True),
        ("550 5.2.1 gets mail at a rate that is too high", False),
        ("552 5.2.2 mailbox full", False),
        ("550 5.7.1 blocked", False),
        ("550 5.1.8 no such sender", False),
        ("450 4.1.1 looking it up", False),
        ("550 no such user", False),
    ],
)
def test_only_a_mailbox_that_is_gone_is_a_hard_bounce(build, handler, reply, is_hard):
    handler.replies["RCPT"] = reply
    with mail_server(handler) as port:
        assert error_of(build(port)).is_suppressed is is_hard


def test_a_mail_is_of_seven_bits(build, handler):
    with mail_server(handler) as port:
        build(port).send(mail(html="<p>Код 4711</p>", text="Код 4711"))
    encodings = {part["Content-Transfer-Encoding"] for part in handler.received[0].iter_parts()}
    assert encodings == {"quoted-printable"}


def test_a_wrong_password_is_the_owners_matter(build, handler):
    with mail_server(handler) as port:
        error = error_of(build(port, username=USERNAME, password="wrong"))
    assert (error.outcome, error.provider_status) == (Outcome.MISCONFIGURED, "535 5.7.8")


@pytest.mark.parametrize("without", ["LOGIN", "PLAIN"])
def test_it_logs_in_with_words_outside_ascii(build, handler, without):
    username, password = (octets.decode() for octets in FOREIGN)
    with mail_server(handler, without=(without,)) as port:
        build(port, username=username, password=password).send(mail())
        assert error_of(build(port, username=username, password="ö")).outcome is Outcome.MISCONFIGURED
    assert handler.is_authenticated == [True]


def test_a_challenge_is_answered_with_words_outside_ascii(build):
    challenge = b"<1896.697170952@rude.test>"
    asked = (b"220 rude.test\r\n", b"250-rude.test\r\n250 AUTH CRAM-MD5\r\n", b"334 " + b64encode(challenge) + b"\r\n")
    with rude_server(*asked, b"235 welcome\r\n", *HELLO[2:], b"250 queued\r\n") as port:
        assert build(port, username="bücher", password="ä€").send(mail()).outcome is Outcome.ACCEPTED


def test_a_fault_of_ours_before_the_sender_is_named_is_not_the_messages(build, handler, monkeypatch):
    monkeypatch.setattr(smtplib.SMTP, "login", lambda *_, **__: "ä".encode("ascii"))
    with mail_server(handler) as port:
        assert error_of(build(port, username=USERNAME, password=PASSWORD)).outcome is Outcome.MISCONFIGURED


def test_a_server_without_login_is_the_owners_matter(build, handler):
    with mail_server(handler, has_login=False) as port:
        adapter = build(port, username=USERNAME, password=PASSWORD)
        assert error_of(adapter).outcome is Outcome.MISCONFIGURED


# TLS fails closed


@pytest.mark.requirement(99)
def test_a_server_without_starttls_gets_nothing(build, handler):
    with mail_server(handler) as port:
        error = error_of(build(port, security="starttls", username=USERNAME, password=PASSWORD))
    assert error.outcome is Outcome.MISCONFIGURED
    assert handler.received == []


@pytest.mark.requirement(99)
@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_that_nobody_vouches_for_is_refused(build, handler, certificate, monkeypatch, security):
    monkeypatch.delenv("SSL_CERT_FILE")
    context = certificate.server_context()
    options = {"starttls": context} if security == "starttls" else {"tls": context}
    with mail_server(handler, **options) as port:
        error = error_of(build(port, security=security))
    assert error.outcome is Outcome.MISCONFIGURED
    assert "certificate" in str(error)


def test_plain_text_where_tls_is_expected_is_the_owners_matter(build, handler):
    with rude_server(b"220 plain\r\n") as port:
        assert error_of(build(port, security="tls", seconds=1)).outcome is Outcome.MISCONFIGURED


# The guard


def test_it_does_not_reach_this_machine_without_leave(build, handler):
    with mail_server(handler) as port, pytest.raises(AddressBlocked):
        build(port, networks=(), security="starttls").send(mail())
    assert handler.received == []


def test_plain_text_goes_to_allowed_networks_only(build):
    with pytest.raises(AddressBlocked):
        build(25, host="93.184.216.34").send(mail())


# Broken conversations

HELLO = (b"220 rude.test\r\n", b"250 rude.test\r\n", b"250 sender\r\n", b"250 recipient\r\n", b"354 go\r\n")


def test_a_closed_port_is_not_connected(build):
    with rude_server() as port:
        pass
    with pytest.raises(NotConnected) as caught:
        build(port).send(mail())
    assert caught.value.outcome is Outcome.TEMPORARY


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4])
def test_a_connection_lost_before_the_content_is_temporary(build, steps):
    with rude_server(*HELLO[:steps], None) as port:
        assert error_of(build(port)).outcome is Outcome.TEMPORARY


def test_a_connection_lost_after_the_content_leaves_the_outcome_unknown(build):
    with rude_server(*HELLO, None) as port:
        assert error_of(build(port)).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("reply", [b"hello\r\n", b"250" + b"x" * 9000 + b"\r\n", b"\xff\r\n"])
def test_a_senseless_answer_to_the_content_is_unclear(build, reply):
    with rude_server(*HELLO, reply) as port:
        assert error_of(build(port, seconds=0.5)).outcome in (Outcome.UNCLEAR, Outcome.UNKNOWN)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_dripping_server_ends_with_the_budget(build, steps):
    with rude_server(*HELLO[:steps], drip=b"250-still here\r\n") as port:
        assert error_of(build(port, seconds=0.5)).outcome is Outcome.TEMPORARY


def test_a_server_that_drips_after_the_content_leaves_the_outcome_unknown(build):
    with rude_server(*HELLO, drip=b"250-still here\r\n") as port:
        assert error_of(build(port, seconds=0.5)).outcome is Outcome.UNKNOWN


def test_a_silent_server_ends_with_the_budget(build):
    with rude_server() as port:
        assert error_of(build(port, seconds=0.3)).outcome is Outcome.TEMPORARY


def test_a_silent_tls_handshake_ends_with_the_budget(build):
    with rude_server() as port:
        assert error_of(build(port, security="tls", seconds=0.3)).outcome is Outcome.TEMPORARY


def test_an_endless_answer_is_not_read_on(build):
    with rude_server(b"220 rude.test\r\n", b"250-more\r\n" * 100_000) as port:
        assert error_of(build(port)).outcome is Outcome.TEMPORARY


def test_a_greeting_that_refuses_is_temporary(build):
    with rude_server(b"554 5.7.1 go away\r\n") as port:
        error = error_of(build(port))
    assert (error.outcome, error.provider_status) == (Outcome.TEMPORARY, "554 5.7.1")


def test_acceptance_does_not_wait_for_the_good_bye(build):
    with rude_server(*HELLO, b"250 queued\r\n") as port:
        assert build(port).send(mail()).outcome is Outcome.ACCEPTED


def test_a_login_that_is_busy_is_temporary():
    error = smtplib.SMTPAuthenticationError(454, b"4.7.0 try later")
    assert smtp_answers.explain(error, is_in_doubt=False).outcome is Outcome.TEMPORARY


# Check


def test_check_logs_in_and_sends_nothing(build, handler):
    with mail_server(handler) as port:
        health = build(port, username=USERNAME, password=PASSWORD).check()
    assert health.is_ok and "login" in health.detail
    assert handler.received == []


def test_check_tells_of_a_wrong_password(build, handler):
    with mail_server(handler) as port, pytest.raises(ProviderError, match="login"):
        build(port, username=USERNAME, password="wrong").check()


def test_check_tells_of_a_server_that_does_not_answer(build):
    with rude_server(b"220 x\r\n", b"250 x\r\n", None) as port, pytest.raises(ProviderError):
        build(port).check()
