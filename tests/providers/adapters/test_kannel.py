from __future__ import annotations

from urllib.parse import quote, urlencode

from providers.base import Consent, HookRequest, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.http_server import answer
from tests.fakes.manners import HTML
from tests.fakes.messages import HOOK_URL, error_of
from tests.providers.vendors import Vendor, each

MARK = "f64bf32db88c4597617f35108721c002"  # of the id 42 under this password
PAGE = """Kannel bearerbox version `1.4.5'.

Status: running, uptime 0d 0h 0m 8s

Box connections:
    smsbox:(none), IP 127.0.0.1 (0 queued), (on-line 0d 0h 0m 6s)

SMSC connections:
    FAKE[FAKE]    FAKE:23100 (online 5s, rcvd: sms 0 (0.00,0.00,0.00) / dlr 0 (0.00,0.00,0.00), queued 0 msgs)
    SMPP[two]    SMPP:10.0.0.9:2775/2775:user:VMA (re-connecting, rcvd: sms 0 (0.00,0.00,0.00), queued 0 msgs)
"""
WITH_STATUS = {"status_url": "SERVER/status.txt", "status_password": "s&p"}
STATUS_PAGE = "https://gateway.example/status.txt"
REFUSED = "The operator rejected it."
UNDELIVERED = "The operator could not deliver it."


def accepted(text="0: Accepted for delivery", status=202):
    return answer(status, text.encode(), {"Content-Type": "text/html"})


def report(kind="1", method="GET", **changes):
    query = {"id": "42", "m": MARK, "t": kind, "a": "", "f": "5198eb10-49c9", **changes}
    return HookRequest(method, HOOK_URL, urlencode(query), {}, b"")


def wrote(text, sender="%2B4915112345678"):
    """Return a user's text as the sms-service of docs/providers/kannel.md passes it on."""
    return HookRequest("GET", HOOK_URL, f"sender={sender}&text={quote(text)}", {}, b"")


def page(content, smsc=""):
    made = answer(200, content if isinstance(content, bytes) else content.encode())
    return made, {**WITH_STATUS, "smsc": smsc}


VENDOR = Vendor(
    type="kannel",
    settings={"url": "https://gateway.example/cgi-bin/sendsms", "username": "tester", "password": "foobar"},
    url_setting="url",
    secrets="password status_password",
    wrong={
        "url": ["", "http://gateway.example:13013/cgi-bin/sendsms"],
        "username": [""],
        "password": ["", "pässword"],
        "sender": ["Łódź"],
        "smsc": ["é"],
        "max_messages": [0, 256],
        "status_password": [{"status_url": STATUS_PAGE}, {"status_password": "x"}],
        "status_url": [{"status_url": f"{STATUS_PAGE}?password=x", "status_password": "x"}],
    },
    taken=accepted(),
    sends=[
        (
            {"sender": "Shop", "smsc": "FAKE"},
            {},
            {
                "method": "POST",
                "target": "/cgi-bin/sendsms",
                "body": b"Your code is 4711",
                "header content-type": "text/plain; charset=UTF-8",
                "header content-length": "17",
                "header x-kannel-username": "tester",
                "header x-kannel-password": "foobar",
                "header x-kannel-to": "4915112345678",
                "header x-kannel-from": "Shop",
                "header x-kannel-smsc": "FAKE",
                "header x-kannel-coding": None,
                "header x-kannel-validity": "3",
                "header x-kannel-dlr-mask": "31",
                "header x-kannel-dlr-url": f"{HOOK_URL}?id=42&m={MARK}&t=%d&a=%A&f=%F",
                "provider_message_id": None,
                "provider_status": "0",
                "is_delivered": False,
            },
        ),
        *[
            ({}, {"text": text}, {"body": text.encode(), "header x-kannel-coding": coding})
            for text, coding in [("é€[]", None), ("Код 4711", "2"), ("4711 😀", "2"), ("`4711`", "2")]
        ],
        *[
            ({}, {"expires_in": seconds}, {"header x-kannel-validity": minutes})
            for seconds, minutes in [(0, "1"), (60, "1"), (61, "2"), (600, "10")]
        ],
        ({"sender": "Shop"}, {"sender": "4930123"}, {"header x-kannel-from": "4930123"}),
        ({}, {}, {"header x-kannel-from": None, "header x-kannel-smsc": None, "header x-kannel-coding": None}),
        (
            {},
            {"hook_url": "https://codes.example/a%20b"},  # a percent sign of our own is doubled
            {"header x-kannel-dlr-url": f"https://codes.example/a%%20b?id=42&m={MARK}&t=%d&a=%A&f=%F"},
        ),
        (
            {},
            {"hook_url": None},
            {"is_delivered": True, "header x-kannel-dlr-mask": None, "header x-kannel-dlr-url": None},
        ),
        ({"max_messages": 3}, {"text": "ы" * 201}, {}),
        ({}, {}, {"provider_status": "3"}, accepted("3: Queued for later delivery")),
    ],
    not_applicable=[
        *[({"text": text},) for text in ("", " \n", "x" * 161, "ы" * 71)],
        ({"text": "ы" * 202}, {"max_messages": 3}),
    ],
    refusals=[
        (accepted(text, status), outcome, str(status))
        for status, text, outcome in [
            (202, "4: Something new about 4711", Outcome.UNCLEAR),
            (202, "00: Accepted", Outcome.UNCLEAR),
            (200, "0: Accepted for delivery", Outcome.UNCLEAR),
            (403, "Authorization failed for sendsms", Outcome.MISCONFIGURED),
            (400, "Missing receiver(s) number(s), rejected", Outcome.DECLINED),
            (400, "Invalid content-type", Outcome.DECLINED),
            (400, "Number(s) has/have been denied by white- and/or black-lists.", Outcome.DECLINED),
            (404, "Unknown request.", Outcome.MISCONFIGURED),
            (404, "<html>", Outcome.DECLINED),
            (503, "Temporal failure, try again later.", Outcome.TEMPORARY),
        ]
    ],
    check_request="GET /status.txt?password=s%26p",
    checks=[
        (made, is_ok, words, None, settings)
        for (made, settings), is_ok, words in [
            (page(PAGE), True, "1 of 2 SMSC links are online"),
            (page(PAGE, "FAKE"), True, ""),
            (page("Denied"), False, "password"),
            (page("Denied\n"), False, "password"),
            (page(HTML), False, "not the plain one"),
            (page(""), False, "not the plain one"),
            (page(PAGE.replace("running", "suspended")), False, "suspended"),
            (page(PAGE.replace("(online", "(dead")), False, "0 of 2"),
            (page("Status: running, uptime"), False, "0 of 0"),
            (page(PAGE, "SMPP"), False, "0 of 1"),
            (page(PAGE, "NOPE"), False, "no SMSC with this name"),
            (page(PAGE, "smsbox:"), False, "no SMSC with this name"),
            ((answer(404), WITH_STATUS), Outcome.DECLINED, ""),
        ]
    ],
    genuine=[(report(),)],
    forged=[
        *each([report(id="43"), report(id="042"), report(id=""), report(id="x"), report(m=""), report(m="é")]),
        *each([report(m=MARK[:-1]), report(m=MARK.upper()), report(m="0" * 32), report(method="POST")]),
        (HookRequest("GET", HOOK_URL, "&".join(["a=b"] * 100), {}, b""),),
        (report(), {"password": "other"}),
        (HookRequest("GET", HOOK_URL, "id=42&t=2&sender=1&text=STOP", {}, b""),),  # not taken for a user's text
    ],
    reports=[
        *[
            (
                report(kind),
                {
                    "status": status,
                    "message_id": 42,
                    "provider_message_id": None,
                    "provider_status": kind,
                    "error": error,
                },
            )
            for kinds, status, error in [
                ("1 9 3", ReceiptStatus.SUCCESS, ""),
                ("4 8 12 36", ReceiptStatus.SENT, ""),
                ("2 18", ReceiptStatus.FAILED, UNDELIVERED),
                ("16 20", ReceiptStatus.FAILED, REFUSED),
            ]
            for kind in kinds.split()
        ],
        (report("2", a="ACK/"), {"provider_status": "2"}),
        (report("2", a="NACK/11/Invalid destination 4915112345678"), {"provider_status": "2 11"}),
        (
            report("2", a="id:77 sub:001 dlvrd:000 stat:UNDELIV err:042 text:Your code is 4711"),
            {"provider_status": "2 UNDELIV 042", "error": "The operator could not deliver it (UNDELIV)."},
        ),
        (report("2", a="<script>"), {"provider_status": "2"}),
        (
            report("2", a="id:77 stat:EXPIRED err:000 text:4711"),
            {"status": ReceiptStatus.EXPIRED, "error": "The operator could not deliver it in time (EXPIRED)."},
        ),
        *each(
            [wrote("STOP"), wrote("arrêt"), wrote("Stop", "4915112345678")],
            (Consent("+4915112345678", is_given=False),),
        ),
        (wrote("START"), (Consent("+4915112345678", is_given=True),)),
        *each([wrote("Hello"), wrote("STOP", "Shop"), wrote("")], ()),
        *each([report(""), report("64"), report("delivered"), report(id=""), report(id="4 2")], HookUnreadable),
    ],
)


def test_a_user_s_text_is_answered_with_nothing(server):
    assert VENDOR.build(server).parse_hook(wrote("STOP")).body == b""


def test_a_sender_cannot_add_a_header(server):
    message = VENDOR.make_message(sender="Shop\r\nX-Kannel-To: 1")
    assert error_of(VENDOR.build(server), message).outcome is Outcome.MISCONFIGURED
    assert server.requests == []


def test_check_says_that_it_cannot_ask(server):
    health = VENDOR.build(server).check()
    assert health.is_ok and "only its status page" in health.detail and server.requests == []
