"""AWS End User Messaging: codes as SMS by its ``SendTextMessage``, with Amazon's own library, which signs the requests.

It tells more than SNS (``aws_sns``): a message has a time to live, refusals name their reasons, and reports come. They
come by a topic of SNS that the configuration set names, and to which our address subscribes. We confirm the
subscription ourselves, verify each call by Amazon's certificate, and take those of the topic in the settings only:
anybody may have a topic. A repeated call is harmless, because statuses only go forward.

A carrier's acceptance (TEXT_SUCCESSFUL) is the last that some countries tell, so the message stays sent. The price of a
message and its carrier's fee are told in US dollars, and are added up.

The reasons of refusals are those of Amazon's description of the service, the events those of its guide.

UNCONFIRMED: the fields that SNS signs, which are from memory of Amazon's guide; how often it asks again for a
confirmation that we could not give at once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import amazon, base
from providers.base import Outcome, ReceiptStatus, Setting
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import Timeouts
from providers.parsing import answers, hooks, prices, sns

MIN_TTL_SECONDS, MAX_TTL_SECONDS = 5, 259_200  # Amazon's bounds of TimeToLive
MAX_LENGTH = 1_600  # characters of a text
CERTIFICATE_SECONDS = 24 * 3600  # for which we keep Amazon's certificate
ASK_BACK = Timeouts(1.0, 2.0)  # to fetch it, or to confirm: Amazon waits for our answer meanwhile
CURRENCY = "USD"  # of every price that Amazon tells

_KEYS = (Outcome.MISCONFIGURED, "the access key is not accepted")
_RIGHTS = (Outcome.MISCONFIGURED, "the access key lacks permission for this")
_SETTINGS = (Outcome.MISCONFIGURED, "a setting is not accepted")
_COUNTRY = (Outcome.DECLINED, "messages there are not enabled")
_SENDER = (Outcome.DECLINED, "the sender is not accepted there")
_UNCLEAR = (Outcome.DECLINED, "the number, the sender or the text is not accepted")
_SPENT = (Outcome.OUT_OF_FUNDS, "the spend limit of the month is reached")

# By Amazon's reason where there is one, else by the error's name.
_ERRORS: dict[str, amazon.Refusal] = {
    "ACCOUNT_DISABLED": (Outcome.MISCONFIGURED, "the account is disabled"),
    "AccessDeniedException": _RIGHTS,
    "CANNOT_PARSE": _SETTINGS,
    "CHANNEL_NOT_ENABLED": _SETTINGS,
    "COUNTRY_CODE_MISMATCH": _COUNTRY,
    "COUNTRY_NOT_ENABLED": _COUNTRY,
    "ConflictException": _UNCLEAR,
    "DESTINATION_COUNTRY_BLOCKED": _COUNTRY,
    "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION": _COUNTRY,
    "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE": (
        Outcome.DECLINED,
        "the account's protect configuration blocks the recipient",
    ),
    "DESTINATION_PHONE_NUMBER_NOT_VERIFIED": (
        Outcome.DECLINED,
        "an account in the sandbox can only send to verified numbers",
    ),
    "DESTINATION_PHONE_NUMBER_OPTED_OUT": amazon.OPTED_OUT,
    "ExpiredTokenException": _KEYS,
    "INSUFFICIENT_ACCOUNT_REPUTATION": (Outcome.MISCONFIGURED, "the account's reputation is too low"),
    "INTERNATIONAL_SENDING_NOT_SUPPORTED": _COUNTRY,
    "INVALID_ARN": _SETTINGS,
    "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY": _SENDER,
    "INVALID_REQUEST": _UNCLEAR,
    "IncompleteSignature": _KEYS,
    "InternalServerException": (Outcome.TEMPORARY, "Amazon has a server error"),
    "InvalidClientTokenId": _KEYS,
    "InvalidSignatureException": _KEYS,
    "MESSAGE_TYPE_MISMATCH": (Outcome.MISCONFIGURED, "the sender is not for messages of this kind"),
    "MISSING_PARAMETER": _SETTINGS,
    "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT": _SPENT,
    "MissingAuthenticationToken": _KEYS,
    "NO_ORIGINATION_IDENTITIES_FOUND": _SENDER,
    "NUMBER_CAPABILITIES_MISMATCH": (Outcome.MISCONFIGURED, "the sender's number does not support SMS"),
    "PRICE_OVER_THRESHOLD": (Outcome.DECLINED, "the message costs more than the settings allow"),
    "RESOURCE_NOT_ACCESSIBLE": _SETTINGS,
    "RESOURCE_NOT_ACTIVE": (Outcome.MISCONFIGURED, "the sender is not active"),
    "ResourceNotFoundException": (Outcome.MISCONFIGURED, "the sender or the configuration set does not exist"),
    "SENDER_ID_NOT_REGISTERED": _SENDER,
    "SENDER_ID_NOT_SUPPORTED": _SENDER,
    "SENDER_ID_REQUIRES_REGISTRATION": _SENDER,
    "ServiceQuotaExceededException": (Outcome.RATE_LIMITED, "a quota of the account is used up"),
    "ThrottlingException": (Outcome.RATE_LIMITED, "messages are being sent too fast"),
    "UnrecognizedClientException": _KEYS,
    "ValidationException": _UNCLEAR,
}
_STATUSES = {
    "TEXT_SENT": ReceiptStatus.SENT,
    "TEXT_SUCCESSFUL": ReceiptStatus.SENT,
    "TEXT_DELIVERED": ReceiptStatus.SUCCESS,
    "TEXT_TTL_EXPIRED": ReceiptStatus.EXPIRED,
    "TEXT_INVALID": ReceiptStatus.FAILED,
    "TEXT_INVALID_MESSAGE": ReceiptStatus.FAILED,
    "TEXT_UNREACHABLE": ReceiptStatus.FAILED,
    "TEXT_CARRIER_UNREACHABLE": ReceiptStatus.FAILED,
    "TEXT_BLOCKED": ReceiptStatus.FAILED,
    "TEXT_CARRIER_BLOCKED": ReceiptStatus.FAILED,
    "TEXT_SPAM": ReceiptStatus.FAILED,
    "TEXT_PROTECT_BLOCKED": ReceiptStatus.FAILED,
}
_REASONS = {
    "TEXT_TTL_EXPIRED": "it was not delivered in time",
    "TEXT_INVALID": "the recipient's number is not valid",
    "TEXT_INVALID_MESSAGE": "the text is not valid",
    "TEXT_UNREACHABLE": "the handset cannot be reached",
    "TEXT_CARRIER_UNREACHABLE": "the recipient's carrier cannot be reached",
    "TEXT_BLOCKED": "the recipient's handset blocks messages",
    "TEXT_CARRIER_BLOCKED": "the carrier blocks it",
    "TEXT_SPAM": "the carrier blocked the message as spam",
    "TEXT_PROTECT_BLOCKED": "the account's protect configuration blocks it",
}
SUCCESSFUL = "TEXT_SUCCESSFUL"
LIMIT = "TEXT_MESSAGE_MONTHLY_SPEND_LIMIT"


class Adapter(base.Adapter):
    type = "aws_sms"
    label = _("AWS End User Messaging")
    channels = ("sms",)
    packages = ("boto3",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    advanced = ("max_price", "base_url")
    declared = (
        *amazon.ACCOUNT,
        Setting(
            "sender",
            _("Sender"),
            help=_(
                "A number, a name, or the ID of a number or pool. Leave empty to let Amazon choose one from"
                " your account."
            ),
        ),
        Setting("configuration_set", _("Configuration set"), help=_("The one that reports to the topic below.")),
        Setting(
            "topic_arn",
            _("Topic of the reports"),
            help=_("ARN of the SNS topic. If empty, reports are ignored and accepted messages count as delivered."),
        ),
        Setting(
            "max_price",
            _("Maximum price per message"),
            help=_("In US dollars, such as 0.25. Leave empty for no limit."),
        ),
        amazon.BASE_URL,
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = amazon.account_errors(values)
        if values["sender"] and not re.fullmatch(r"[0-9A-Za-z_:/+-]{1,256}", str(values["sender"])):
            errors["sender"] = gettext("enter a number, a name or an ID")
        if values["configuration_set"] and not re.fullmatch(
            r"[0-9A-Za-z_:/-]{1,256}", str(values["configuration_set"])
        ):
            errors["configuration_set"] = gettext("enter a name or an ARN")
        if values["topic_arn"] and not sns.TOPIC.fullmatch(str(values["topic_arn"])):
            errors["topic_arn"] = gettext("enter an ARN such as arn:aws:sns:eu-central-1:123456789012:codes")
        elif values["topic_arn"] and not values["configuration_set"]:
            errors["configuration_set"] = gettext("enter the configuration set that reports to the topic")
        if values["max_price"] and not re.fullmatch(r"[0-9]{1,2}\.[0-9]{1,5}", str(values["max_price"])):
            errors["max_price"] = gettext("enter a price such as 0.25")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        if len(message.text) > MAX_LENGTH:
            raise ProviderError(f"Amazon accepts at most {MAX_LENGTH} characters", Outcome.NOT_APPLICABLE)
        is_reported = bool(self.text("topic_arn") and hooks.report_url(message, self.http.allowed_networks))
        answered = self._ask("send_text_message", **self._parameters(message))
        identity = answers.identity(answered.get("MessageId"))
        if identity is None:
            raise ProviderError("AWS End User Messaging accepted, but returned no id", Outcome.UNCLEAR)
        return base.Result(Outcome.ACCEPTED, identity, is_delivered=not is_reported)

    def check(self) -> base.Health:
        """Ask for the account's monthly limit. It is no balance, so it stands in the sentence."""
        told = self._ask("describe_spend_limits").get("SpendLimits")
        if not isinstance(told, list):
            return base.Health(False, "AWS End User Messaging answered, but without its spend limits.")
        limits = answers.objects(told)
        limit = next((one.get("EnforcedLimit") for one in limits if one.get("Name") == LIMIT), None)
        words = f"its spend limit is {limit} USD a month" if isinstance(limit, int) else "it has no spend limit"
        return base.Health(True, f"AWS End User Messaging accepts the access key; {words}.")

    def asks_back(self) -> bool:
        return bool(self.text("topic_arn"))

    def verify_hook(self, request: base.HookRequest) -> None:
        topic = self.text("topic_arn")
        if not topic or request.method != "POST":
            raise HookForged("no reports are set up")
        try:
            call = hooks.json_object(request.body)
        except HookUnreadable as error:
            raise HookForged(str(error)) from None
        sns.verify(call, self._certificate(sns.certificate_url(call, topic)))

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one event of the topic, or confirm our subscription to it.

        A failure that is not final only says that Amazon goes on trying. A handover to the carrier that is final is
        the last that is told.
        """
        call = hooks.json_object(request.body)
        if call.get("Type") == sns.CONFIRMATION:
            self._confirm(call)
            return base.HookReply()
        if call.get("Type") == sns.ENDED:
            return base.HookReply((base.ReportsEnded(),))
        event = sns.unwrapped(hooks.json_object(str(call.get("Message")).encode("utf-8", "replace")))
        word = str(event.get("eventType"))
        if word not in _STATUSES:
            return base.HookReply()
        identity = answers.identity(event.get("messageId"))
        if identity is None:
            raise HookUnreadable("the report names no message")
        status, context = _STATUSES[word], event.get("context")
        if event.get("isFinal") is False and status in hooks.NOT_DELIVERED:
            status = ReceiptStatus.SENT
        elif event.get("isFinal") is True and word == SUCCESSFUL:
            status = ReceiptStatus.SUCCESS
        receipt = base.Receipt(
            status,
            provider_message_id=identity,
            message_id=hooks.our_id(context.get("message")) if isinstance(context, dict) else None,
            error=f"AWS End User Messaging: {_REASONS[word]} ({word})" if status in hooks.NOT_DELIVERED else "",
            provider_status=word,
            price=_price(event),
        )
        return base.HookReply((receipt,))

    def _parameters(self, message: base.OutgoingMessage) -> dict[str, Any]:
        dlt = {"IN_ENTITY_ID": message.dlt_entity_id, "IN_TEMPLATE_ID": message.dlt_template_id}
        optional = {
            "OriginationIdentity": message.sender or self.text("sender"),
            "ConfigurationSetName": self.text("configuration_set"),
            "MaxPrice": self.text("max_price"),
            "DestinationCountryParameters": {name: value for name, value in dlt.items() if value},
        }
        return {
            "DestinationPhoneNumber": message.to,
            "MessageBody": message.text,
            "MessageType": "TRANSACTIONAL",
            "TimeToLive": min(max(message.expires_in, MIN_TTL_SECONDS), MAX_TTL_SECONDS),
            "Context": {"message": str(message.id)},
            **{name: value for name, value in optional.items() if value},
        }

    def _ask(self, operation: str, **parameters: Any) -> dict[str, Any]:
        service = "pinpoint-sms-voice-v2"
        return amazon.ask(self, service, operation, label="AWS End User Messaging", refusals=_ERRORS, **parameters)

    def _certificate(self, url: str) -> bytes:
        """Return Amazon's certificate, which all processes share. Raises :class:`HookForged` where there is none."""
        name = f"certificate-{hashlib.sha256(url.encode()).hexdigest()}"
        try:
            kept = self.store.get(name)
        except Exception:  # any error may come from the store
            kept = None
        if kept:
            return kept.encode()
        try:
            answer = self.http.request("GET", url, timeout=ASK_BACK)
        except ProviderError:
            raise HookForged("Amazon's certificate could not be downloaded") from None
        if answer.status != 200:
            raise HookForged("Amazon's certificate could not be downloaded")
        with suppress(Exception):  # any error may come from the store; without it the next call asks again
            self.store.set(name, answer.text, CERTIFICATE_SECONDS)
        return answer.body

    def _confirm(self, call: Mapping[str, Any]) -> None:
        try:
            answer = self.http.request("GET", sns.confirmation_url(call, self.text("topic_arn")), timeout=ASK_BACK)
        except ProviderError:
            raise HookUnreadable("the subscription cannot be confirmed now") from None
        if answer.status != 200:
            raise HookUnreadable("Amazon did not accept our confirmation of the subscription")


def _price(event: Mapping[str, Any]) -> base.MessagePrice | None:
    """Return the price of a message with its carrier's fee; None where the event tells no price."""
    message = prices.price(event.get("totalMessagePrice"), CURRENCY)
    fee = prices.price(event.get("totalCarrierFee"), CURRENCY)
    if message is None:
        return None
    return base.MessagePrice(message.amount + fee.amount, CURRENCY) if fee else message
