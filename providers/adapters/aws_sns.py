"""Amazon SNS: codes as SMS by its ``Publish``, with Amazon's own library, which signs the requests.

SNS calls no webhook: only CloudWatch's logs tell what became of a message, if they are switched on. So acceptance is
the last that is known here.

A sandboxed account writes to its verified numbers only. Amazon's monthly spend limit stops everything: messages are
then accepted but not delivered. So the check tells the limit.

The table of codes says whose fault a refusal is. An invalid parameter may be the number, the sender or a DLT id. The
code does not tell which, so it ends no message. An opt-out of the recipient does.

UNCONFIRMED: the codes for a number that opted out, and for a spend limit that is reached. The names of the attributes
for India's DLT ids are those of Amazon's guide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import amazon, base
from providers.base import Outcome, Setting
from providers.errors import ProviderError
from providers.parsing import answers

_REFUSED_REQUEST = (Outcome.MISCONFIGURED, "the request was not understood")
_KEYS = (Outcome.MISCONFIGURED, "the access key is not valid")
_SLOW_DOWN = (Outcome.RATE_LIMITED, "the account sends too fast")
_UNCLEAR = (Outcome.DECLINED, "the number, the sender or the text is not accepted")
_FAULT = (Outcome.TEMPORARY, "Amazon has a server error")
_ERRORS: dict[str, amazon.Refusal] = {
    "AccessDenied": (Outcome.MISCONFIGURED, "the access key lacks permission for this"),
    "AccessDeniedException": (Outcome.MISCONFIGURED, "the access key lacks permission for this"),
    "AuthorizationError": (Outcome.MISCONFIGURED, "the access key lacks permission for this"),
    "AuthorizationErrorException": (Outcome.MISCONFIGURED, "the access key lacks permission for this"),
    "EndpointDisabled": (Outcome.DECLINED, "the recipient cannot be reached from there"),
    "ExpiredToken": _KEYS,
    "IncompleteSignature": _KEYS,
    "InternalError": _FAULT,
    "InternalErrorException": _FAULT,
    "InternalFailure": _FAULT,
    "InvalidAction": _REFUSED_REQUEST,
    "InvalidClientTokenId": _KEYS,
    "InvalidParameter": _UNCLEAR,
    "InvalidParameterValue": _UNCLEAR,
    "MissingAuthenticationToken": _KEYS,
    "OptInRequired": _KEYS,
    "OptedOut": amazon.OPTED_OUT,
    "OptedOutException": amazon.OPTED_OUT,
    "ParameterValueInvalid": _UNCLEAR,
    "RequestExpired": (Outcome.MISCONFIGURED, "this machine's clock is wrong"),
    "ServiceUnavailable": _FAULT,
    "SignatureDoesNotMatch": _KEYS,
    "Throttled": _SLOW_DOWN,
    "ThrottledException": _SLOW_DOWN,
    "Throttling": _SLOW_DOWN,
    "ThrottlingException": _SLOW_DOWN,
    "UserErrorException": _UNCLEAR,
    "ValidationError": _UNCLEAR,
    "ValidationException": _UNCLEAR,
}
_SENDER = re.compile(r"[0-9A-Za-z-]{1,11}")
_NUMBER = re.compile(r"\+?[0-9]{5,15}")


class Adapter(base.Adapter):
    type = "aws_sns"
    label = _("Amazon SNS")
    channels = ("sms",)
    packages = ("boto3",)
    declared = (
        *amazon.ACCOUNT,
        Setting(
            "sender",
            _("Sender"),
            help=_("A name of up to 11 letters, or a number from your account. Leave empty for Amazon's default."),
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
        sender = str(values["sender"])
        if sender and not (_SENDER.fullmatch(sender) or _NUMBER.fullmatch(sender)):
            errors["sender"] = gettext("enter a number, or a name of up to 11 letters, digits and hyphens")
        if values["max_price"] and not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,5})?", str(values["max_price"])):
            errors["max_price"] = gettext("enter a price such as 0.25")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        answered = self._ask(
            "publish", PhoneNumber=message.to, Message=message.text, MessageAttributes=self._attributes(message)
        )
        identity = answers.identity(answered.get("MessageId"))
        if identity is None:
            raise ProviderError("Amazon SNS accepted, but returned no id", Outcome.UNCLEAR)
        return base.Result(Outcome.ACCEPTED, identity, is_delivered=True)

    def check(self) -> base.Health:
        """Ask for the account's monthly limit. It is no balance, so it stands in the sentence."""
        attributes = self._ask("get_sms_attributes", attributes=["MonthlySpendLimit"]).get("attributes")
        limit = attributes.get("MonthlySpendLimit") if isinstance(attributes, dict) else None
        try:
            dollars = f"{Decimal(str(limit)):f}" if limit else ""
        except InvalidOperation:
            dollars = ""
        sentence = f"its spend limit is {dollars} USD a month" if dollars else "it has no spend limit"
        return base.Health(True, f"Amazon SNS accepts the access key; {sentence}.")

    def _attributes(self, message: base.OutgoingMessage) -> dict[str, dict[str, str]]:
        sender = message.sender or self.text("sender")
        is_number = bool(_NUMBER.fullmatch(sender))
        texts = {
            "AWS.SNS.SMS.SMSType": "Transactional",
            "AWS.MM.SMS.OriginationNumber": f"+{sender.removeprefix('+')}" if is_number else "",
            "AWS.SNS.SMS.SenderID": "" if is_number else sender,
            "AWS.MM.SMS.EntityId": message.dlt_entity_id,
            "AWS.MM.SMS.TemplateId": message.dlt_template_id,
        }
        found = {name: {"DataType": "String", "StringValue": value} for name, value in texts.items() if value}
        if self.settings["max_price"]:
            found["AWS.SNS.SMS.MaxPrice"] = {"DataType": "Number", "StringValue": self.text("max_price")}
        return found

    def _ask(self, operation: str, **parameters: Any) -> dict[str, Any]:
        return amazon.ask(self, "sns", operation, label="Amazon SNS", refusals=_ERRORS, **parameters)
