"""The far end of a provider: keeps what it is given, and answers what a test tells it to."""

import json
from collections import defaultdict

from django.utils.translation import gettext_lazy as _

from providers import base, registry
from providers.errors import HookForged, HookUnreadable

SENT = []
SAID = []  # by bots: account, text, button
CONNECTIONS = []  # those that were opened, in order
ANSWERS = defaultdict(list)  # by the provider's setting "name": results to give, in turn; then acceptance


class Adapter(base.Adapter):
    type = "collector"
    label = _("Collector")
    channels = base.CHANNELS
    declared = (base.Setting("name", _("Name")), base.Setting("token", _("Token"), base.SettingKind.SECRET))

    def send(self, message):
        answers = ANSWERS[self.settings["name"]]
        answer = answers.pop(0) if answers else base.Result.accepted(f"c-{message.id}", is_delivered=True)
        if isinstance(answer, Exception):
            raise answer
        if answer.outcome in (base.Outcome.ACCEPTED, base.Outcome.UNKNOWN):
            SENT.append((self.settings["name"], message))
        return answer

    def check(self):
        return base.Health(True, "It collects.")

    def verify_hook(self, request):
        if request.headers.get("x-signature") != "right":
            raise HookForged("The signature is wrong.")

    def parse_hook(self, request):
        try:
            told = json.loads(request.body)
        except ValueError:
            raise HookUnreadable("It is not JSON.") from None
        receipt = base.Receipt(
            status=base.ReceiptStatus(told["status"]),
            provider_message_id=told.get("id"),
            message_id=told.get("message_id"),
            error=told.get("error", ""),
            is_suppressed=told.get("suppressed", False),
            is_no_account=told.get("no_account", False),
            is_opted_out=told.get("opted_out", False),
            provider_status=told.get("word", ""),
        )
        return base.HookReply(events=(receipt,))


class PrepaidAdapter(Adapter):
    """Tells the balance of its account: the next of those that a test gives its name, or an exception."""

    type = "collector_prepaid"
    label = _("Prepaid collector")
    tells_balance = True

    def check(self):
        told = ANSWERS[f"balance of {self.settings['name']}"].pop(0)
        if isinstance(told, Exception):
            raise told
        return base.Health(True, "It collects.", told)


class BotAdapter(Adapter):
    """Reaches only users who have started it."""

    type = "collector_bot"
    label = _("Collector bot")
    channels = ("messenger_a",)
    needs_start = True

    def prompt(self, account_id, text, *, contact_button=""):
        SAID.append((account_id, text, contact_button))

    @classmethod
    def link(cls, settings, payload):
        return f"https://t.example/bot?start={payload}" if payload else "https://t.example/bot"


class FaultyBotAdapter(BotAdapter):
    """Fails in ways that nobody foresaw, with a secret in its text."""

    type = "collector_faulty"

    @classmethod
    def link(cls, settings, payload):
        raise _unforeseen()

    def verify_hook(self, request):
        raise _unforeseen()


def _unforeseen():
    return RuntimeError("p4ss" + "w0rd")  # in two, as a traceback shows the line itself


class ConnectedAdapter(Adapter):
    """Sends over a connection only."""

    type = "collector_connected"
    label = _("Connected collector")
    channels = ("sms",)
    is_connected = True

    def send(self, message):
        raise AssertionError("Why this provider: past its connection.")

    def connect(self, report, *, name):
        return CollectorConnection(self, report)


class CollectorConnection:
    def __init__(self, adapter, report):
        self.adapter = adapter
        self.report = report
        self.is_open = True
        CONNECTIONS.append(self)

    def send(self, message):
        return Adapter.send(self.adapter, message)

    def close(self):
        self.is_open = False


def install():
    found, _ = registry._scan()
    for adapter in (Adapter, BotAdapter, FaultyBotAdapter, ConnectedAdapter, PrepaidAdapter):
        found.setdefault(adapter.type, adapter)


class Outbox:
    """The messages that were sent, as a user would see them. Reading it first delivers whatever is due."""

    def open(self):
        install()
        SENT.clear()
        SAID.clear()
        CONNECTIONS.clear()
        ANSWERS.clear()

    def close(self):
        self.open()

    def deliver(self):
        from verification.models import Message
        from verification.services.delivery import dispatch

        for message_id in Message.objects.filter(status="queued").order_by("created_at").values_list("pk", flat=True):
            dispatch.deliver(message_id)

    @property
    def messages(self):
        self.deliver()
        return [message for _, message in SENT]

    @property
    def names(self):
        """Through which provider each went."""
        self.deliver()
        return [name for name, _ in SENT]

    @property
    def code(self):
        """The code of the last message."""
        return self.last.code

    @property
    def last(self):
        """Return the message that was asked for last.

        On a busy machine they go out in another order: a worker that wakes late takes the freshest first.
        """
        from verification.models import Message

        sent = {message.id: message for message in self.messages}
        newest = Message.objects.filter(pk__in=sent).order_by("-created_at").values_list("pk", flat=True).first()
        return sent[newest] if newest else SENT[-1][1]

    def answer(self, name, *answers):
        ANSWERS[name].extend(answers)
