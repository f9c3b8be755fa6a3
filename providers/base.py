"""The contract of an adapter: its declared settings, the message it is given, and its answer.

An adapter is one file in ``providers/adapters`` with one class named ``Adapter``. Everything around it reads the class:
the panel's form, the masking of secrets, the list of channels, the checks, ``sendtest``. No other code is edited; its
test, its page and its words are listed in docs/providers/write-an-adapter.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from providers.errors import Outcome as Outcome  # adapters take it from here
from providers.errors import ProviderError
from providers.http.client import HttpClient

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise  # a text, or one that gettext_lazy translates when it is shown

# The checked value of a setting.
Value = str | int | bool

# The channels of an adapter that serves them all.
CHANNELS = ("sms", "email", "messenger_a", "messenger_b", "voice")

# The usual time for a receipt, as carriers report late. That of a code which lives longer is awaited as long.
RECEIPT_WINDOW_SECONDS = 600


class SettingKind(StrEnum):
    """The kind of a setting: it decides how the setting is entered, checked and stored."""

    TEXT = "text"
    MULTILINE = "multiline"
    SECRET = "secret"  # noqa: S105  (the name of a kind)
    URL = "url"
    HOST = "host"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a provider's configuration, as the owner fills it in.

    ``SECRET`` values are stored encrypted and never shown again. ``URL`` and ``HOST`` values are judged by the
    outbound guard when they are saved and again at every connection.

    ``is_of_server``: it decides which server the secrets are sent to, or how, as each URL and host does. Stored secrets
    go to no other server than they were entered for.
    """

    name: str
    label: StrOrPromise
    kind: SettingKind = SettingKind.TEXT
    required: bool = False
    default: Value = ""
    choices: tuple[tuple[str, StrOrPromise], ...] = ()
    help: StrOrPromise = ""
    is_multiline: bool = False  # a SECRET of several lines, such as a key file or a list of headers
    is_of_server: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """The message that dispatch hands to ``Adapter.send``.

    ``id`` is our own number for the message. It is known before the call, so it can stand in a callback URL or serve
    as an idempotency key. ``code`` is the bare code and ``text`` the rendered message: some services take one, some
    the other. ``expires_in`` is the rest of the code's life in seconds.

    ``account_id`` is the messenger's own id for the user, such as a bot's chat, if the adapter needs one. ``hook_url``
    is the address at which the provider may report back. ``country`` is the recipient's ISO region, empty for an
    e-mail address. ``sender`` replaces the configured sender for this recipient. India's operators ask for the two DLT
    ids beside the text.
    """

    id: int
    to: str
    channel: str
    code: str
    text: str
    language: str
    expires_in: int
    subject: str = ""
    html: str = ""
    project: str = ""
    account_id: str | None = None
    hook_url: str | None = None
    country: str = ""
    sender: str = ""
    dlt_entity_id: str = ""
    dlt_template_id: str = ""


@dataclass(frozen=True, slots=True)
class MessagePrice:
    """The money that a service says it takes for one message, all its parts together.

    ``currency`` is the code of ISO 4217. ``providers.parsing.prices`` makes it out of what a service writes.
    """

    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of ``Adapter.send``.

    ``error`` is one sentence for the owner, free of secrets, codes and full recipients. ``provider_status`` is the
    provider's own word or number for the log. ``is_delivered`` says that no receipt will follow, so acceptance is the
    last that can be known. ``retry_after`` is in seconds. ``is_suppressed`` says that no message will ever reach this
    recipient (the mailbox does not exist), or that they have complained. ``price`` is what the service says it
    charges; without it the owner's price list holds.
    """

    outcome: Outcome
    provider_message_id: str | None = None
    error: str = ""
    provider_status: str = ""
    retry_after: float | None = None
    is_delivered: bool = False
    is_suppressed: bool = False
    price: MessagePrice | None = None

    @classmethod
    def accepted(cls, provider_message_id: str | None = None, *, is_delivered: bool = False) -> Result:
        return cls(Outcome.ACCEPTED, provider_message_id, is_delivered=is_delivered)


@dataclass(frozen=True, slots=True)
class Health:
    """The answer of ``Adapter.check``: one honest sentence, and the balance where the provider tells it.

    ``is_sure`` is false if the check only connected to the service, so that we do not know if it takes messages.
    """

    is_ok: bool
    detail: str
    balance: str | None = None
    is_sure: bool = True

    @classmethod
    def reached(cls, what: str) -> Health:
        """Return the answer for a service that can be asked nothing without sending."""
        return cls(True, f"{what}; checking more would mean sending a message.", is_sure=False)


@dataclass(frozen=True, slots=True)
class HookRequest:
    """A call from the provider, as it arrived.

    ``url`` is our configured public URL, never built from ``Host``. ``headers`` has lower-case names. ``body`` is the
    raw body, over which signatures are computed.
    """

    method: str
    url: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class ReceiptStatus(StrEnum):
    """The statuses a receipt can bring, in our words."""

    SENT = "sent"
    SUCCESS = "success"
    FAILED = "failed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A provider's report on one message. The provider's id names the message, or our own id does.

    ``other_ids`` are further readings of the provider's id, the likelier first: of several that name messages of ours,
    the one to ``phone`` counts. ``is_for_phone`` says that no message to another number may be meant.
    """

    status: ReceiptStatus
    provider_message_id: str | None = None
    message_id: int | None = None
    error: str = ""
    provider_status: str = ""
    is_suppressed: bool = False  # hard bounce or complaint: no further message to this recipient over any provider
    is_opted_out: bool = False  # on this provider's own list; dispatch remembers that, another provider may take it
    is_no_account: bool = False  # the recipient is not on this messenger; dispatch remembers that for a day
    price: MessagePrice | None = None  # of the whole message, where only the report tells it
    other_ids: tuple[str, ...] = ()
    phone: str = ""  # digits of the recipient's number, without a plus
    is_for_phone: bool = False


@dataclass(frozen=True, slots=True)
class BotStarted:
    """A user pressed Start. ``payload`` is the opaque one-time value of the deep link, empty without one."""

    account_id: str
    payload: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class ContactShared:
    """A user shared a contact. ``is_own`` is true only if the messenger vouches that the number is the sender's own."""

    account_id: str
    phone: str
    is_own: bool
    language: str = ""


@dataclass(frozen=True, slots=True)
class BotReachability:
    """A user blocked the bot, or lifted the block."""

    account_id: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class BotMessage:
    """Any other message to the bot, to be answered with a short help."""

    account_id: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Consent:
    """A user has written the keyword that ends or resumes messages to them. ``phone`` is E.164."""

    phone: str
    is_given: bool


@dataclass(frozen=True, slots=True)
class ReportsEnded:
    """The service says that it reports no more to our address, which its owner must know."""


BotEvent = BotStarted | ContactShared | BotReachability | BotMessage
HookEvent = Receipt | Consent | ReportsEnded | BotEvent


@dataclass(frozen=True, slots=True)
class HookReply:
    """Our answer to a provider's call, and the events that the call told us. A hand-shake has a body and no events.

    ``dedup_key`` is the same each time one provider delivers the same report. It is empty if nothing in the report
    shows that.
    """

    events: tuple[HookEvent, ...] = ()
    status: int = 200
    content_type: str = "text/plain"
    body: bytes = b""
    dedup_key: str = ""


class Store(Protocol):
    """A small store of one provider, shared by all processes: access tokens, the inbox.

    Values are kept encrypted and may vanish at any time. Lifetimes are in seconds.
    """

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str, seconds: int) -> None: ...

    def push(self, name: str, value: str, *, keep: int, seconds: int) -> None:
        """Put ``value`` at the front of a list of at most ``keep`` values."""

    def list(self, name: str) -> list[str]: ...


class Connection(Protocol):
    """A long-lived connection to a service. Any thread may send over it."""

    def send(self, message: OutgoingMessage) -> Result:
        """Send one message. Returns and raises what :meth:`Adapter.send` does."""

    def close(self) -> None:
        """Close the connection within ten seconds, after waiting for the answers to messages under way."""


def require_text(message: OutgoingMessage) -> None:
    """Raise :class:`ProviderError` for a message without text, before anything is asked of the service."""
    if not message.text.strip():
        raise ProviderError("an empty text cannot be sent", Outcome.NOT_APPLICABLE)


@dataclass(slots=True)
class Adapter:
    """The base of every adapter. ``settings`` holds the checked values, secrets included.

    ``send`` and ``check`` raise :class:`providers.errors.ProviderError`. Any other exception counts as an unknown
    outcome.
    """

    settings: Mapping[str, Value] = field(repr=False)
    http: HttpClient = field(repr=False)
    store: Store = field(repr=False)

    type: ClassVar[str]
    label: ClassVar[StrOrPromise]
    channels: ClassVar[tuple[str, ...]]
    declared: ClassVar[tuple[Setting, ...]] = ()
    # The setting and its values that make another one relevant, which a form hides else. It keeps what it holds.
    shown_when: ClassVar[Mapping[str, tuple[str, tuple[Value, ...]]]] = {}
    # The choice whose values are vendors, each with an account of its own: people look for a provider by its name.
    vendor_setting: ClassVar[str] = ""
    advanced: ClassVar[tuple[str, ...]] = ()  # settings that most accounts leave as they are
    is_connected: ClassVar[bool] = False  # it sends over a long-lived connection, which a connections worker holds
    needs_start: ClassVar[bool] = False  # a bot: reaches only users who have started it
    is_local: ClassVar[bool] = False  # nothing leaves the machine; test projects take no other
    is_simulation: ClassVar[bool] = False  # serves the sandbox's recipients in test projects, and nobody else
    tells_balance: ClassVar[bool] = False  # its check tells the account's balance, which is then asked for once a day
    shows_codes: ClassVar[bool] = False  # operators can read codes: it runs only if SHOW_CODES_TO_OPERATORS is set
    packages: ClassVar[tuple[str, ...]] = ()  # libraries that it imports and that not every installation has
    longest_seconds: ClassVar[float] = 5.0  # the most that one send may take; less while other providers could follow
    receipt_window_seconds: ClassVar[int] = 0  # how long we wait for a receipt; 0 if none ever comes

    @classmethod
    def clean(cls, values: Mapping[str, Value]) -> dict[str, str]:
        """Return what is wrong across settings that are each right: one sentence by the setting's name."""
        return {}

    @classmethod
    def needed_packages(cls, values: Mapping[str, object]) -> tuple[str, ...]:
        """Return the libraries that an account with these settings needs."""
        return cls.packages

    @classmethod
    def carries(cls, code: str) -> bool:
        """Return whether the service takes a code of this form. It is asked before a channel is chosen."""
        return True

    def text(self, name: str) -> str:
        """Return a setting as text: the empty string where the owner left it empty."""
        return str(self.settings[name])

    def send(self, message: OutgoingMessage) -> Result:
        """Send one message, and return the service's answer."""
        raise NotImplementedError

    def connect(self, report: Callable[[HookReply], int], *, name: str) -> Connection:
        """Open the long-lived connection and keep it up, in threads of its own. Returns at once.

        The connection hands what the service reports to ``report``, which returns how many receipts are for no message
        of ours. If ``report`` raises, the report was not stored,
        and the connection asks the service to report again. ``name`` is the provider's, for the log.
        """
        raise NotImplementedError

    @classmethod
    def connections(cls, settings: Mapping[str, Value]) -> int:
        """Return how many connections each connections worker holds. ``settings`` are as in :meth:`link`."""
        return int(cls.is_connected)

    def check(self) -> Health:
        """Ask the provider's cheapest honest question about these settings; never send a message."""
        raise NotImplementedError

    def asks_back(self) -> bool:
        """Return whether we ask the service something before we believe a call of its own."""
        return False

    def verify_hook(self, request: HookRequest) -> None:
        """Raise :class:`providers.errors.HookForged` unless the provider itself made this call."""

    def parse_hook(self, request: HookRequest) -> HookReply:
        """Read a verified call. Raises :class:`providers.errors.HookUnreadable` for one that makes no sense."""
        return HookReply()

    def prompt(self, account_id: str, text: str, *, contact_button: str = "") -> None:
        """Write to a bot's user. ``contact_button`` labels a button with which they share their own number."""
        raise NotImplementedError

    @classmethod
    def link(cls, settings: Mapping[str, Value], payload: str) -> str:
        """Return the deep link that starts this bot with ``payload``; empty if there is none.

        ``settings`` are the stored ones that are not secret. A setting that a later version declares may be missing.
        """
        return ""
