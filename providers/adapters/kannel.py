"""An SMS gateway of your own: Kannel's ``sendsms``, with delivery reports (tried against Kannel 1.4.5).

The request is a POST with ``X-Kannel-*`` headers, because a GET would leave password and code in access logs. Kannel
itself still writes each text to the smsbox log and to its access log: raise ``log-level`` there.

Kannel accepts messages that it then loses, so the adapter looks first. It refuses an empty text, and more parts than
the user's ``max-messages``: Kannel would cut off the rest. For an ``smsc`` that does not exist, Kannel uses another or
none, which only ``check`` can see.

The reply holds no id. A delivery report is a plain unsigned GET to the address that we gave with the message. The
address carries our id and a mark over it, made with a key derived from the password. So a new password makes the
reports under way unreadable. Reports come in any order.

No refusal of Kannel's is the recipient's fault: its operator keeps its white and black lists.

The same address gets what users write, from an ``sms-service`` of Kannel's, as a GET with ``sender`` and ``text``.
Kannel makes no mark for it, so only the secret in the address protects it. We read only the keywords that end or resume
messages. Our answer is empty, so that Kannel has nothing to reply.

UNCONFIRMED: the reply 503; the form of the reply text in reports of other SMSCs than Kannel's own for tests. We take
only ``stat:``, ``err:`` and ``NACK/`` from it, because operators like to quote the message there.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlencode

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, header_error
from providers.parsing import gsm, hooks
from providers.parsing.keywords import read_consent

ALL_REPORTS = "31"  # delivered 1, not delivered 2, queued 4, accepted 8, rejected 16
MARK_LENGTH = 32  # hexadecimal digits of the mark: 128 bits
KEY_ROUNDS = 100_000  # PBKDF2: URLs are logged, so guessing a weak password from the mark must cost much

_REPORTS = {  # by their bits, of which a report may have several: what ends the message counts first
    1: ReceiptStatus.SUCCESS,
    2: ReceiptStatus.FAILED,
    16: ReceiptStatus.FAILED,
    4: ReceiptStatus.SENT,
    8: ReceiptStatus.SENT,
}
_ERRORS = {2: "The operator could not deliver it", 16: "The operator rejected it"}
_KIND = re.compile(r"[0-9]{1,3}")
_LATE = "The operator could not deliver it in time"
_ACCEPTED = re.compile(r"([03]): ")  # accepted; queued, as no SMSC is connected
_REASON = re.compile(r"\b(?:stat:([A-Z]{1,10})|err:([0-9A-Za-z]{1,8})|NACK/([0-9A-Fa-fx]{1,10}))")


class Adapter(base.Adapter):
    type = "kannel"
    label = _("Kannel")
    channels = ("sms",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting(
            "url",
            _("sendsms URL"),
            SettingKind.URL,
            required=True,
            help=_("Such as http://10.0.0.5:13013/cgi-bin/sendsms. Plain http only works in an allowed network."),
        ),
        Setting("username", _("Username"), required=True),
        Setting("password", _("Password"), SettingKind.SECRET, required=True),
        Setting("sender", _("Sender"), help=_("Leave empty for Kannel's default for this user.")),
        Setting("smsc", "SMSC", help=_("Leave empty to let Kannel choose.")),
        Setting(
            "max_messages",
            _("Parts per text"),
            SettingKind.NUMBER,
            default=1,
            help=_("The user's max-messages in Kannel; longer texts are cut off."),
        ),
        Setting(
            "status_url",
            _("Status page URL"),
            SettingKind.URL,
            help=_("Such as http://10.0.0.5:13000/status.txt."),
        ),
        Setting("status_password", _("Status page password"), SettingKind.SECRET),
    )
    advanced = ("smsc", "max_messages", "status_url", "status_password")

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        names = ("username", "password", "sender", "smsc")
        errors = {
            name: gettext("only ASCII characters are supported")
            for name in names
            if header_error("X-Kannel", str(values[name]))
        }
        if not 1 <= int(values["max_messages"]) <= 255:
            errors["max_messages"] = gettext("enter a number from 1 to 255")
        if bool(values["status_url"]) != bool(values["status_password"]):
            errors["status_password"] = gettext("enter both the status page's URL and its password")
        if "?" in str(values["status_url"]):
            errors["status_url"] = gettext("enter the URL without a query string")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        parts, most = gsm.segments(message.text), int(self.settings["max_messages"])
        base.require_text(message)
        if parts > most:
            text = f"the text takes {parts} parts and Kannel's max-messages is set to {most}"
            raise ProviderError(text, Outcome.NOT_APPLICABLE)
        answer = self.http.request(
            "POST", self.text("url"), headers=self._headers(message), content=message.text.encode()
        )
        return _read(answer, is_delivered=not message.hook_url)

    def check(self) -> base.Health:
        url = self.text("status_url")
        if not url:
            self.http.touch(self.text("url"))
            detail = "Kannel can be reached; only its status page would show more."
            return base.Health(True, detail, is_sure=False)
        query = urlencode({"password": self.settings["status_password"]})
        answer = self.http.request("GET", f"{url}?{query}")
        if answer.status != 200:
            raise classify_status(answer)
        return _read_status(answer.text, self.text("smsc"))

    def verify_hook(self, request: base.HookRequest) -> None:
        query = hooks.query_fields(request.query)
        identity, mark = query.get("id", ""), query.get("m", "")
        is_ours = hooks.our_id(identity) is not None and hooks.is_same(mark, self._mark(identity))
        if request.method != "GET" or not (is_ours or _is_text(query)):
            raise HookForged("the delivery report does not carry our signature")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        query = hooks.query_fields(request.query)
        if _is_text(query):
            consent = read_consent(hooks.with_plus(query["sender"]), query["text"])
            return base.HookReply((consent,) if consent else ())
        kind, identity = _kind(query.get("t", "")), hooks.our_id(query.get("id"))
        if kind is None or identity is None:
            raise HookUnreadable("the report names no message or no known kind")
        reasons = ["".join(found) for found in _REASON.findall(query.get("a", ""))]
        is_late = kind == 2 and "EXPIRED" in reasons  # Kannel reports both as not delivered
        reason = f" ({reasons[0]})" if reasons else ""
        receipt = base.Receipt(
            ReceiptStatus.EXPIRED if is_late else _REPORTS[kind],
            message_id=identity,
            error=f"{_LATE if is_late else _ERRORS[kind]}{reason}." if kind in _ERRORS else "",
            provider_status=" ".join([query["t"], *reasons[:3]]),
        )
        return base.HookReply((receipt,))

    def _headers(self, message: base.OutgoingMessage) -> dict[str, str]:
        """Return the headers. The content type names our charset; Kannel sends in the coding we name, GSM-7 if none."""
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-Kannel-Username": self.text("username"),
            "X-Kannel-Password": self.text("password"),
            "X-Kannel-To": re.sub(r"[^0-9]", "", message.to),
            "X-Kannel-Validity": str(max(1, math.ceil(message.expires_in / 60))),  # minutes
            "X-Kannel-From": message.sender or self.text("sender"),
            "X-Kannel-SMSC": self.text("smsc"),
            "X-Kannel-Coding": "" if gsm.is_gsm7(message.text) else "2",
        }
        if message.hook_url:
            headers |= {"X-Kannel-DLR-Mask": ALL_REPORTS, "X-Kannel-DLR-Url": self._report_url(message)}
        return {name: value for name, value in headers.items() if value}

    def _report_url(self, message: base.OutgoingMessage) -> str:
        """Return the address for reports. Kannel fills in kind and reply, so we double our own percent signs."""
        own = f"{message.hook_url}?id={message.id}&m={self._mark(str(message.id))}"
        return own.replace("%", "%%") + "&t=%d&a=%A&f=%F"

    def _mark(self, identity: str) -> str:
        key = _key(self.text("password"))
        return hmac.new(key, identity.encode(), hashlib.sha256).hexdigest()[:MARK_LENGTH]


def _kind(value: str) -> int | None:
    """Return the one of a report's joined kinds that decides; None if there is none."""
    bits = int(value) if _KIND.fullmatch(value) else 0
    return next((kind for kind in _REPORTS if bits & kind), None)


def _is_text(query: Mapping[str, str]) -> bool:
    """Return whether a user wrote it. Only a report has an id."""
    return "id" not in query and "sender" in query and "text" in query


@lru_cache(maxsize=64)
def _key(password: str) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), b"watchword kannel reports", KEY_ROUNDS)


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    text = answer.text
    accepted = _ACCEPTED.match(text)
    if answer.status == 202 and accepted:
        return base.Result(Outcome.ACCEPTED, provider_status=accepted.group(1), is_delivered=is_delivered)
    status = str(answer.status)
    if answer.status == 400 and "denied by" in text:
        text = "Kannel's own lists deny the number (HTTP 400)"
        raise ProviderError(text, Outcome.DECLINED, provider_status=status)
    if answer.status == 403 and "authorization failed" in text.lower():
        text = "Kannel rejects the username and password, or this address (HTTP 403)"
        raise ProviderError(text, Outcome.MISCONFIGURED, provider_status=status)
    if answer.status == 404 and "unknown request" in text.lower():
        raise ProviderError("Kannel does not know this URL (HTTP 404)", Outcome.MISCONFIGURED, provider_status=status)
    raise classify_status(answer)


def _read_status(text: str, smsc: str) -> base.Health:
    """Read the plain form of the status page. It tells a wrong password with HTTP 200."""
    if text.strip() == "Denied":
        return base.Health(False, "Kannel rejects the status page's password, or this address.")
    running = re.search(r"^Status: ([a-z]{1,20})", text, re.MULTILINE)
    if running is None:
        return base.Health(False, "The status page is not the plain one of Kannel (status.txt).")
    if running.group(1) != "running":
        return base.Health(False, f"Kannel is not running but {running.group(1)}.")
    links = re.findall(r"^\s+([^\s\[]+)\[[^\]]*\][^(\n]*\(([a-z-]+)", text, re.MULTILINE)
    mine = [state for name, state in links if not smsc or name == smsc]
    if smsc and not mine:
        return base.Health(
            False, "Kannel runs, but has no SMSC with this name, and would not report that when sending."
        )
    return base.Health("online" in mine, f"Kannel runs; {mine.count('online')} of {len(mine)} SMSC links are online.")
