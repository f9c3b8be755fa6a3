"""The refusals of e-mail services in our words: above all, whose fault each is.

A refusal is the recipient's fault if the service tells of recipients that it refused. Mandrill and Postmark give a
reason, which decides for them. A mail that failed for no reason told ends no message, nor does an HTTP 400 or 422.

UNCONFIRMED: the words with which services tell of used-up credits, beside HTTP 402.
"""

from __future__ import annotations

import re

from providers.anymail.services import MANDRILL, POSTMARK, SERVICES
from providers.base import Outcome
from providers.errors import UNLISTED, ProviderError
from providers.http.client import HttpAnswer
from providers.http.libraries import LibraryCall
from providers.parsing import answers

_CREDITS = re.compile(r"not_enough_credits|(daily|monthly)_quota_exceeded|maximum credits exceeded", re.IGNORECASE)
_SENDER = re.compile(r"invalid_from_address|from address|sender signature|from\.email|verify (your|a) domain", re.I)

INACTIVE_RECIPIENT = 406
_POSTMARK = {  # numbers of Postmark's documentation
    300: (Outcome.REFUSED, "an address is not valid"),
    400: (Outcome.MISCONFIGURED, "the sender is not known"),
    401: (Outcome.MISCONFIGURED, "the sender is not confirmed"),
    405: (Outcome.OUT_OF_FUNDS, "the credits are used up"),
    INACTIVE_RECIPIENT: (Outcome.REFUSED, "the recipient is on the suppression list"),
    412: (Outcome.MISCONFIGURED, "the account is not approved yet"),
}
_MANDRILL = {  # reasons of Mandrill's documentation
    "hard-bounce": (Outcome.REFUSED, "the mailbox does not exist"),
    "soft-bounce": (Outcome.REFUSED, "the mailbox rejected several messages"),
    "spam": (Outcome.REFUSED, "the recipient has complained"),
    "unsub": (Outcome.OPTED_OUT, "the recipient has opted out"),
    "invalid": (Outcome.REFUSED, "the address is not valid"),
    "custom": (Outcome.DECLINED, "the account's own list denies the recipient"),
    "invalid-sender": (Outcome.MISCONFIGURED, "the sender is not accepted"),
    "test-mode-limit": (Outcome.MISCONFIGURED, "the key is one for tests"),
    "unsigned": (Outcome.MISCONFIGURED, "the sender's domain is not signed"),
    "rule": (Outcome.MISCONFIGURED, "a rule of the account forbids it"),
}
_MANDRILL_SUPPRESSED = frozenset({"hard-bounce", "spam"})
_AMAZON = {
    "AccountSuspendedException": (Outcome.MISCONFIGURED, "the account is suspended"),
    "LimitExceededException": (Outcome.RATE_LIMITED, "the sending limit is reached"),
    "MailFromDomainNotVerifiedException": (Outcome.MISCONFIGURED, "the sender is not verified"),
    "MessageRejected": (Outcome.MISCONFIGURED, "the sender or the content is not accepted"),
    "SendingPausedException": (Outcome.MISCONFIGURED, "sending is paused for the account"),
    "TooManyRequestsException": (Outcome.RATE_LIMITED, "messages are being sent too fast"),
}


def explain(service: str, error: Exception | None, call: LibraryCall) -> ProviderError:
    """Judge a failed call by what went over the wire.

    We search the service's words for what we know, and never quote them.
    """
    if error.__class__.__name__ == "AnymailRecipientsRefused":
        return recipient_refused(service, call)
    usual = call.explain()
    if call.answer is None or (call.answer.status < 400 and service != POSTMARK):
        return usual
    code, found = _find(service, error, call.answer)
    if found is None:
        return usual
    outcome, words = found
    return ProviderError(
        f"{SERVICES[service].label}: {words} ({code})",
        outcome,
        provider_status=str(code),
        retry_after=usual.retry_after,
        is_suppressed=found is _POSTMARK[INACTIVE_RECIPIENT],
    )


def recipient_refused(service: str, call: LibraryCall) -> ProviderError:
    """The refusal of a mail's one recipient. Mandrill's reason may say that the fault is ours."""
    reason = _mandrill_reason(call) if service == MANDRILL else ""
    outcome, words = _MANDRILL.get(reason, (Outcome.REFUSED, "the recipient was rejected"))
    known = reason if reason in _MANDRILL else ""
    return ProviderError(
        f"{SERVICES[service].label}: {words}{f' ({known})' if known else ''}",
        outcome,
        provider_status=known,
        is_suppressed=reason in _MANDRILL_SUPPRESSED,
    )


def _find(service: str, error: Exception | None, answer: HttpAnswer) -> tuple[object, tuple[Outcome, str] | None]:
    """The service's code, and what it means to us; None for a code that we do not know."""
    code: object = ""
    found: tuple[Outcome, str] | None = None
    response = getattr(error.__cause__ or error, "response", None) if error else None
    if isinstance(response, dict):  # botocore's errors carry Amazon's answer
        code = response.get("Error", {}).get("Code", "")
        found = _AMAZON.get(str(code))
    elif service == POSTMARK:
        code = answers.number(answers.read_object(answer).get("ErrorCode"))
        is_refused = answer.status in (200, 422) and code
        found = _POSTMARK.get(int(str(code)), UNLISTED if answer.status == 200 else None) if is_refused else None
    if found is not None:
        return code, found
    if _CREDITS.search(answer.text):
        return answer.status, (Outcome.OUT_OF_FUNDS, "the credits are used up")
    if answer.status in (400, 422) and _SENDER.search(answer.text):
        return answer.status, (Outcome.MISCONFIGURED, "the sender is not accepted")
    return code, None


def _mandrill_reason(call: LibraryCall) -> str:
    try:
        refused = answers.objects(call.answer.json() if call.answer else None)
    except ValueError:
        return ""
    return str(refused[0].get("reject_reason")) if refused else ""
