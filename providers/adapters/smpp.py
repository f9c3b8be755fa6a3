"""An operator's message centre by SMPP 3.4, over binds that a connections worker holds.

Plain SMPP leads only to the operator's allowed networks (``OUTBOUND_ALLOWED_NETWORKS``), TLS to any public address.
Receipts come over the same binds. We ask for one with the last part of a message, whose id names the message. What
users write comes over the binds too; we read only the keywords that end or resume messages.

UNCONFIRMED: all centres but the stand-in and npm's ``smpp`` server; India's TLVs 0x1400 and 0x1401.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from functools import partial

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import NotConnected, ProviderError
from providers.parsing import gsm
from providers.smpp import answers, pdu
from providers.smpp.answers import HAS_HEADER, UCS2
from providers.smpp.links import STATE_INTERVAL_SECONDS, BindConfig, BindPool
from providers.smpp.pdu import Command, Pdu, ShortMessage, SmppAddress, Tag
from providers.smpp.session import ANSWER_SECONDS

TYPES_OF_NUMBER = (
    ("0", _("0, unknown")),
    ("1", _("1, international")),
    ("2", _("2, national")),
    ("3", _("3, network specific")),
    ("4", _("4, subscriber")),
    ("5", _("5, alphanumeric")),
    ("6", _("6, abbreviated")),
)
NUMBERING_PLANS = (
    ("0", _("0, unknown")),
    ("1", "1, ISDN (E.164)"),
    ("3", _("3, data")),
    ("4", _("4, telex")),
    ("6", _("6, land mobile")),
    ("8", _("8, national")),
    ("9", _("9, private")),
    ("10", "10, ERMES"),
    ("14", _("14, Internet")),
    ("18", "18, WAP"),
)


log = logging.getLogger(__name__)

MAX_PARTS = 255  # SMS of one text: the header counts them in one octet.
MAX_BINDS = 10  # binds of one worker. Each has a thread.
MAX_WINDOW = 1_000  # unanswered messages on one bind.
STATE = "binds"  # the name under which the worker stores the state of its binds.
STATE_SECONDS = int(3 * STATE_INTERVAL_SECONDS)  # the life of that state: two reports may be missed.

_AUTO = (("auto", _("Determined by the sender")),)
_LONGEST = {"system_id": 15, "password": 64, "system_type": 12, "service_type": 5, "sender": 20}


class Adapter(base.Adapter):
    type = "smpp"
    label = "SMPP 3.4"
    channels = ("sms",)
    longest_seconds = ANSWER_SECONDS  # for all parts of a text and the wait for room
    is_connected = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting(
            "host",
            _("Message centre"),
            SettingKind.HOST,
            required=True,
            help=_("A worker started with --connections connects to it."),
        ),
        Setting("port", _("Port"), SettingKind.NUMBER, default=2775, is_of_server=True),
        Setting(
            "tls",
            "TLS",
            SettingKind.BOOLEAN,
            default=True,
            help=_("Can only be turned off in an allowed network."),
            is_of_server=True,
        ),
        Setting("system_id", _("System ID"), required=True),
        Setting("password", _("Password"), SettingKind.SECRET, required=True),
        Setting("system_type", _("System type"), help=_("Usually empty.")),
        Setting("sender", _("Sender"), help=_("A name or a number. Leave empty to let the message centre choose.")),
        Setting(
            "bind_mode",
            _("Bind as"),
            SettingKind.CHOICE,
            default="transceiver",
            choices=(("transceiver", _("Transceiver")), ("separate", _("Transmitter, and one receiver"))),
        ),
        Setting(
            "binds",
            _("Connections for sending (binds)"),
            SettingKind.NUMBER,
            default=1,
            help=_("For each worker that keeps connections open. No more than your account allows."),
        ),
        Setting("window", _("Window"), SettingKind.NUMBER, default=10, help=_("Unacknowledged messages per bind.")),
        Setting(
            "rate",
            _("Messages per second"),
            SettingKind.NUMBER,
            default=0,
            help=_("Across all binds of a worker; 0 = no limit."),
        ),
        Setting("enquire_seconds", _("Keepalive interval"), SettingKind.NUMBER, default=30, help=_("Seconds.")),
        Setting("receipts", _("Request delivery reports"), SettingKind.BOOLEAN, default=True),
        Setting(
            "ids",
            _("Message IDs in reports"),
            SettingKind.CHOICE,
            default="same",
            choices=(
                ("same", _("As returned on acceptance")),
                ("loose", _("Same except case and leading zeros")),
                ("hex_then_decimal", _("Decimal of the hexadecimal ID")),
                ("decimal_then_hex", _("Hexadecimal of the decimal ID")),
            ),
        ),
        Setting(
            "alphabet",
            _("Encoding of plain texts"),
            SettingKind.CHOICE,
            default="gsm7",
            choices=(
                ("gsm7", _("GSM 7-bit, one character per octet")),
                ("latin1", _("Latin-1")),
                ("ascii", "ASCII"),
                ("ucs2", _("UCS-2, like all other texts")),
            ),
            help=_("The message centre's default alphabet."),
        ),
        Setting(
            "data_coding",
            _("Data coding of plain texts"),
            SettingKind.NUMBER,
            default=0,
            help=_("For Latin-1, possibly 3."),
        ),
        Setting(
            "long_texts",
            _("Long texts are sent as"),
            SettingKind.CHOICE,
            default="udh",
            choices=(
                ("udh", _("Parts with a user data header")),
                ("sar", _("Parts with SAR fields")),
                ("payload", _("One message_payload")),
            ),
        ),
        Setting("validity", _("Send the code's expiry time"), SettingKind.BOOLEAN, default=True),
        Setting("service_type", _("Service type"), help=_("Usually empty.")),
        Setting(
            "source_ton",
            _("Sender's type of number"),
            SettingKind.CHOICE,
            default="auto",
            choices=_AUTO + TYPES_OF_NUMBER,
            help=_("Determined by the sender: 5 for a name, 3 for a short number, otherwise 1."),
        ),
        Setting(
            "source_npi",
            _("Sender's numbering plan"),
            SettingKind.CHOICE,
            default="auto",
            choices=_AUTO + NUMBERING_PLANS,
            help=_("Determined by the sender: 1 for an international number, otherwise 0."),
        ),
        Setting("dest_ton", _("Recipient's type of number"), SettingKind.CHOICE, default="1", choices=TYPES_OF_NUMBER),
        Setting("dest_npi", _("Recipient's numbering plan"), SettingKind.CHOICE, default="1", choices=NUMBERING_PLANS),
    )
    advanced = (
        "system_type",
        "bind_mode",
        "binds",
        "window",
        "rate",
        "enquire_seconds",
        "ids",
        "alphabet",
        "data_coding",
        "long_texts",
        "validity",
        "service_type",
        "source_ton",
        "source_npi",
        "dest_ton",
        "dest_npi",
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors: dict[str, str] = {}
        for name, longest in _LONGEST.items():
            if not str(values[name]).isascii() or len(str(values[name])) > longest:
                errors[name] = gettext("use at most {most} ASCII characters").format(most=longest)
        for name, least, most in (
            ("port", 1, 65535),
            ("binds", 1, MAX_BINDS),
            ("window", 1, MAX_WINDOW),
            ("rate", 0, 100_000),
            ("enquire_seconds", 1, 3_600),
            ("data_coding", 0, 255),
        ):
            if not least <= int(values[name]) <= most:
                errors[name] = gettext("enter a number from {least} to {most}").format(least=least, most=most)
        return errors

    @classmethod
    def connections(cls, settings: Mapping[str, base.Value]) -> int:
        return len(_binds(settings))

    def send(self, message: base.OutgoingMessage) -> base.Result:
        raise NotConnected("a connections worker sends it")

    def connect(self, report: Callable[[base.HookReply], int], *, name: str) -> base.Connection:
        return _Binds(self, report, name)

    def check(self) -> base.Health:
        """Tell the state that the worker stored. If no worker holds the binds, bind and unbind ourselves."""
        plan = self.plan()
        fingerprint, _, state = self._read_state().partition(" ")
        if fingerprint == self._fingerprint():
            bound, is_strange, problem = state.split(" ", 2)
            why = f" Error of the last attempt to bind: {problem}." if problem else ""
            if is_strange == "1":
                why += " Receipts arrive, but none names our messages: compare the centre's ids with the setting ids."
            return base.Health(int(bound) == len(plan.binds), f"{bound} of {len(plan.binds)} binds are up.{why}")
        plan.open(plan.binds[0], lambda *_: None).hang_up()
        return base.Health(True, "The message centre accepted a bind. No connections worker has one open.")

    def plan(self) -> BindConfig:
        names = ("system_id", "password", "system_type")
        return BindConfig(
            host=self.text("host"),
            port=int(self.settings["port"]),
            is_tls=bool(self.settings["tls"]),
            allowed_networks=self.http.allowed_networks,
            binds=_binds(self.settings),
            bind_body=pdu.bind(*(self.text(name) for name in names)),
            window=int(self.settings["window"]),
            rate=int(self.settings["rate"]),
            enquire_seconds=int(self.settings["enquire_seconds"]),
            refusal=partial(answers.refusal, "rejected the bind", unlisted=Outcome.TEMPORARY),
        )

    @property
    def ids(self) -> str:
        return self.text("ids")

    def compose(self, message: base.OutgoingMessage) -> list[bytes]:
        """Return the bodies of ``submit_sm``, one for each part. Raises :class:`ProviderError`."""
        contents, coding = self._encode(message.text)
        total = len(contents)
        if not message.text.strip() or total > MAX_PARTS:
            raise ProviderError("an empty or endless text cannot be sent", Outcome.NOT_APPLICABLE)
        bodies = []
        for number, content in enumerate(contents, 1):
            tlvs: dict[int, bytes] = {}
            if self.settings["long_texts"] == "payload":
                tlvs, content = {Tag.MESSAGE_PAYLOAD: content}, b""
            elif total > 1 and self.settings["long_texts"] == "sar":
                tlvs = {
                    Tag.SAR_REFERENCE: (message.id & 0xFFFF).to_bytes(2, "big"),
                    Tag.SAR_TOTAL: bytes((total,)),
                    Tag.SAR_NUMBER: bytes((number,)),
                }
            has_header = total > 1 and not tlvs
            if has_header:
                content = bytes((5, 0, 3, message.id & 0xFF, total, number)) + content
            for tag, value in (
                (Tag.DLT_ENTITY_ID, message.dlt_entity_id),
                (Tag.DLT_TEMPLATE_ID, message.dlt_template_id),
            ):
                if value:
                    tlvs[tag] = value.encode("ascii", "replace")
            body = ShortMessage(
                source=self._source(message.sender or self.text("sender")),
                destination=SmppAddress(
                    re.sub(r"[^0-9]", "", message.to), int(self.settings["dest_ton"]), int(self.settings["dest_npi"])
                ),
                content=content,
                data_coding=coding,
                esm_class=HAS_HEADER if has_header else 0,
                registered_delivery=int(bool(self.settings["receipts"]) and number == total),
                service_type=self.text("service_type"),
                validity_period=_relative(message.expires_in) if self.settings["validity"] else "",
                tlvs=tlvs,
            )
            bodies.append(bytes(body))
        return bodies

    def read_answer(self, answer: Pdu) -> base.Result:
        if answer.status:
            raise answers.refusal("rejected the message", answer.status)
        if answer.command != Command.SUBMIT_SM_RESP:
            raise ProviderError("the message centre's answer is invalid", Outcome.UNCLEAR)
        identity = answers.comparable(pdu.message_id(answer.body), self.ids, is_given=True)
        return base.Result.accepted(identity or None, is_delivered=not self.settings["receipts"])

    def store_state(self, bound: int, problem: str, *, is_strange: bool) -> None:
        """Store for other processes how many binds are up and, if some are not, why. Never raises.

        ``is_strange`` says that receipts come, and that none of them names a message of ours.
        """
        try:
            self.store.set(STATE, f"{self._fingerprint()} {bound} {int(is_strange)} {problem}", STATE_SECONDS)
        except Exception as error:  # only `check` misses it
            log.debug("the state of the binds could not be stored: %s", type(error).__name__)

    def _read_state(self) -> str:
        """Return what :meth:`store_state` stored last, while it is fresh; empty if nothing is."""
        try:
            return self.store.get(STATE) or ""
        except Exception:  # the store does not answer; then we ask the centre itself
            return ""

    def _fingerprint(self) -> str:
        """Return a digest of the settings, so that nobody takes binds of other settings for theirs."""
        return hashlib.sha256(json.dumps(dict(self.settings), sort_keys=True).encode()).hexdigest()

    def _encode(self, text: str) -> tuple[list[bytes], int]:
        """Return the octets of each part, and their data_coding. A plain text is one that phones get in 7 bits."""
        alphabet = self.text("alphabet")
        is_plain = gsm.is_gsm7(text) and (alphabet == "gsm7" or (alphabet != "ucs2" and _can_write(alphabet, text)))
        is_whole = self.settings["long_texts"] == "payload"
        parts = [text] if is_whole else gsm.parts(text, is_ucs2=not is_plain)
        if not is_plain:
            return [part.encode("utf-16-be", "replace") for part in parts], UCS2
        encode = gsm.encode if alphabet == "gsm7" else partial(str.encode, encoding=alphabet)
        return [encode(part) for part in parts], int(self.settings["data_coding"])

    def _source(self, sender: str) -> SmppAddress:
        number = sender.removeprefix("+")
        if not number.isascii() or len(number) > _LONGEST["sender"]:
            raise ProviderError("the sender must be ASCII of at most 20 characters", Outcome.MISCONFIGURED)
        if not number:
            ton, npi = 0, 0
        elif not number.isdecimal():
            ton, npi = 5, 0
        elif len(number) <= 8 and number == sender:
            ton, npi = 3, 0
        else:
            ton, npi = 1, 1
        given_ton, given_npi = self.text("source_ton"), self.text("source_npi")
        return SmppAddress(
            number, ton if given_ton == "auto" else int(given_ton), npi if given_npi == "auto" else int(given_npi)
        )


def _binds(settings: Mapping[str, base.Value]) -> list[Command]:
    """Return the command of each bind. A stored setting may be missing."""
    count = int(settings.get("binds", 1))
    if settings.get("bind_mode") == "separate":
        return [Command.BIND_TRANSMITTER] * count + [Command.BIND_RECEIVER]
    return [Command.BIND_TRANSCEIVER] * count


class _Binds:
    """The binds of one provider, held by this process."""

    def __init__(self, adapter: Adapter, report: Callable[[base.HookReply], int], name: str) -> None:
        self._adapter = adapter
        self._report = report
        self._receipts = self._strange = 0  # those that came, and those that name no message of ours
        self._links = BindPool(
            adapter.plan(),
            name=name,
            read=partial(answers.read_delivered, ids=adapter.ids),
            report=self._store,
            report_state=self._store_state,
        )

    def _store(self, events: list[base.HookEvent]) -> bool:
        was_strange = self._is_strange()
        self._strange += self._report(base.HookReply(tuple(events)))
        self._receipts += sum(isinstance(event, base.Receipt) for event in events)
        return self._is_strange() is not was_strange

    def _is_strange(self) -> bool:
        return 0 < self._receipts == self._strange

    def _store_state(self, bound: int, problem: str) -> None:
        self._adapter.store_state(bound, problem, is_strange=self._is_strange())

    def send(self, message: base.OutgoingMessage) -> base.Result:
        return self._adapter.read_answer(self._links.submit(self._adapter.compose(message)))

    def close(self) -> None:
        self._links.close()


def _can_write(charset: str, text: str) -> bool:
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def _relative(seconds: int) -> str:
    """Return a validity period from now: years, months, days, hours, minutes, seconds, and R for relative."""
    minutes, seconds = divmod(max(1, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"0000{min(days, 99):02}{hours:02}{minutes:02}{seconds:02}000R"
