"""The meaning of a mail server's refusal in our words: above all, whose fault it is.

Postfix and others answer a refused client or sender only at RCPT, so the step tells little. A few basic codes are about
us, whatever follows them. For all others the enhanced status code (RFC 3463, RFC 5248) decides.

- 530, 534, 535, 538: our login, so MISCONFIGURED.
- 4xx before a recipient is named, 421, and 4.3: the server's fault, so TEMPORARY, or RATE_LIMITED by its words.
- 4xx after: about us by its words, so TEMPORARY or RATE_LIMITED, else nobody's fault (greylisting), so POSTPONED.
- x.1.1 to x.1.4, x.1.6, x.1.10, x.2.1 to x.2.4: the recipient, so REFUSED.
- x.7.17, x.7.18: the recipient, because the mailbox has a new owner, so REFUSED.
- x.1.7, x.1.8, x.5, x.6, x.7 but for those here and below: our sender or a policy against us, so MISCONFIGURED.
- x.3: the mail server's fault, so MISCONFIGURED: it counts against the provider.
- x.4, any x.0, x.5.2 and x.5.4 (the syntax of an address), x.6.7, x.7.1 and x.7.2, Microsoft's x.7.1xx (what a mailbox
  or a group takes), or no code: told by its words, so REFUSED, MISCONFIGURED, or else DECLINED.

Words that name only the recipient keep a code that is about us from counting: DECLINED.

A mailbox that does not exist or is switched off is a hard bounce: nothing more goes there.
"""

from __future__ import annotations

import re
import smtplib
import ssl

from providers.base import Outcome
from providers.errors import ProviderError

LOGIN_WANTED = frozenset({530, 534, 535, 538})
PROTOCOL = frozenset({500, 502, 503, 504, 555})  # the server does not know what we say
OF_RECIPIENT = frozenset({"1.1", "1.2", "1.3", "1.4", "1.6", "1.10", "2.1", "2.2", "2.3", "2.4", "7.17", "7.18"})
HARD_BOUNCE = frozenset({"1.1", "1.2", "1.3", "1.6", "1.10", "2.1"})
OURS = frozenset({"1.7", "1.8"})  # the address of the sender
OUR_SUBJECTS = frozenset({"3", "5", "6", "7"})  # the mail system, the protocol, the content, policy
# Codes of our subjects that servers give for single recipients too.
TOLD_BY_WORDS = re.compile(r"\d+\.0|5\.[24]|6\.7|7\.([12]|1\d\d)")

_ENHANCED = re.compile(r"[245]\.(\d{1,3}\.\d{1,3})\b")
_RATE = re.compile(r"\brate\b|too (many|much|fast)|throttl", re.IGNORECASE)
_ABOUT_US = re.compile(
    r"\brelay|\bauth(enticat|oriz|oris|\b)|\bblock|\bblack|\bblocklist|\bdeny ?list|\bbanned|spamhaus|spamcop|\bdnsbl"
    r"|\brbl\b|reputation|\bpolicy|\bsender|\bmail from\b|\bspf\b|\bdkim\b|\bdmarc\b|\breverse|\bptr\b"
    r"|\b(helo|ehlo)\b|\bclient\b|\byour (ip|host|server|address|domain)|\bspam|\bunsolicited",
    re.IGNORECASE,
)
_GREYLISTED = re.compile(r"\bgr[ea]y", re.IGNORECASE)
_ABOUT_THE_RECIPIENT = re.compile(
    r"\b(no such|unknown|invalid|non-?existent|undeliverable) (\w+ )?(user|mailbox|recipient|address|account|person)"
    r"|(?<!sender )\b(user|mailbox|recipient|address|account|person) (\w+ ){0,3}"
    r"(unknown|not found|invalid|unavailable|disabled|inactive|full|reject|does not exist|doesn't exist)"
    r"|\bno mailbox|\bmailbox name|over ?quota|\bno longer (valid|available|active)",
    re.IGNORECASE,
)


def explain(error: OSError | ValueError, *, is_in_doubt: bool, is_begun: bool = True) -> ProviderError:
    """Turn an error of smtplib or of the socket into ours.

    Specific errors come first, because every SMTP exception is an ``OSError`` too. The server's own sentences stay
    out, because they tend to quote the recipient. ``is_in_doubt`` says that the content left and no answer came,
    ``is_begun`` that the sender was named, before which nothing is about the message.
    """
    if is_in_doubt:
        return ProviderError("no confirmation came from the mail server", Outcome.UNKNOWN)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, answer = next(iter(error.recipients.values()))
        return _refusal_of("rejected the recipient", code, answer)
    if isinstance(error, smtplib.SMTPResponseException):
        return _explain_answer(error)
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return ProviderError("the connection to the mail server was lost", Outcome.TEMPORARY)
    if isinstance(error, smtplib.SMTPException):
        return ProviderError(
            "the mail server does not offer STARTTLS or a login method that Watchword supports", Outcome.MISCONFIGURED
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"the mail server's certificate is not trusted ({error.verify_message})"
        return ProviderError(text, Outcome.MISCONFIGURED)
    if isinstance(error, ssl.SSLError):
        return ProviderError("no TLS with the mail server", Outcome.MISCONFIGURED)
    if isinstance(error, ValueError) and not is_begun:
        return ProviderError("the settings cannot be sent to the mail server", Outcome.MISCONFIGURED)
    if isinstance(error, ValueError):
        return ProviderError("this address or subject cannot be sent by SMTP", Outcome.NOT_APPLICABLE)
    return ProviderError("the connection to the mail server was lost", Outcome.TEMPORARY)


def _explain_answer(error: smtplib.SMTPResponseException) -> ProviderError:
    code, answer = error.smtp_code, error.smtp_error
    if isinstance(error, smtplib.SMTPConnectError):
        return _refusal_of_us("refused the connection", code, answer, Outcome.TEMPORARY)
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return _refusal_of_us("rejected the login", code, answer, Outcome.MISCONFIGURED)
    if isinstance(error, smtplib.SMTPSenderRefused):
        return _refusal_of_us("rejected the sender", code, answer, Outcome.MISCONFIGURED)
    if isinstance(error, smtplib.SMTPDataError):
        return _explain_content(code, answer)
    return _refusal_of_us("rejected a command", code, answer, Outcome.MISCONFIGURED)


def _explain_content(code: int, answer: bytes | str) -> ProviderError:
    """Judge refused content. Some servers look at the recipient only now."""
    if code < 400:
        return ProviderError("the mail server's answer is invalid", Outcome.UNCLEAR)
    return _refusal_of("rejected the content", code, answer)


def _refusal_of(what: str, code: int, answer: bytes | str) -> ProviderError:
    """Judge a refusal at a step at which the server may mean us or the recipient."""
    enhanced, text = _enhanced(answer), _decode(answer)
    outcome = _fault(code, enhanced, text) if code >= 500 else _delay(code, enhanced, text)
    if outcome is Outcome.MISCONFIGURED and "recipient" in what:
        what = "rejects our server"
    elif outcome is Outcome.DECLINED:
        what = "rejected the message"
    elif outcome is Outcome.POSTPONED:
        what = "postponed the message"
    refusal = _refusal(what, code, answer, outcome)
    is_passing = bool(_RATE.search(text))  # some servers write 5.2.1 if a mailbox gets too many mails
    refusal.is_suppressed = refusal.outcome is Outcome.REFUSED and enhanced in HARD_BOUNCE and not is_passing
    return refusal


def _fault(code: int, enhanced: str, text: str) -> Outcome:
    """Judge by the list at the head of this module. ``enhanced`` is the code's subject and detail, or empty."""
    if code in LOGIN_WANTED:
        return Outcome.MISCONFIGURED
    if enhanced in OF_RECIPIENT:
        return Outcome.REFUSED
    is_about_us, is_about_them = bool(_ABOUT_US.search(text)), bool(_ABOUT_THE_RECIPIENT.search(text))
    if _is_ours(enhanced) or (code in PROTOCOL and not enhanced):
        return Outcome.MISCONFIGURED if is_about_us or not is_about_them else Outcome.DECLINED
    if is_about_us == is_about_them:
        return Outcome.DECLINED
    return Outcome.MISCONFIGURED if is_about_us else Outcome.REFUSED


def _delay(code: int, enhanced: str, text: str) -> Outcome:
    """Judge an answer that is not final, and came after the recipient was named."""
    if code == 421 or enhanced.startswith("3."):
        return Outcome.RATE_LIMITED if _RATE.search(text) else Outcome.TEMPORARY
    if (enhanced[:2] in ("1.", "2.") and enhanced not in OURS) or _GREYLISTED.search(text):
        return Outcome.POSTPONED
    if _RATE.search(text):
        return Outcome.RATE_LIMITED
    is_about_us = (_is_ours(enhanced) or _ABOUT_US.search(text)) and not _ABOUT_THE_RECIPIENT.search(text)
    return Outcome.TEMPORARY if is_about_us else Outcome.POSTPONED


def _is_ours(enhanced: str) -> bool:
    is_told = enhanced in OURS or enhanced.partition(".")[0] in OUR_SUBJECTS
    return is_told and not TOLD_BY_WORDS.fullmatch(enhanced)


def _refusal_of_us(what: str, code: int, answer: bytes | str, permanent: Outcome) -> ProviderError:
    """Judge a refusal at a step before the recipient's."""
    if code >= 500:
        return _refusal(what, code, answer, permanent)
    is_limited = _RATE.search(_decode(answer))
    return _refusal(what, code, answer, Outcome.RATE_LIMITED if is_limited else Outcome.TEMPORARY)


def _refusal(what: str, code: int, answer: bytes | str, outcome: Outcome) -> ProviderError:
    enhanced = _ENHANCED.match(_decode(answer))
    status = f"{code} {enhanced.group()}" if enhanced else str(code)
    return ProviderError(f"the mail server {what} ({status})", outcome, provider_status=status)


def _enhanced(answer: bytes | str) -> str:
    """Return subject and detail of the enhanced code, as in ``1.1`` of ``5.1.1``; empty if the server gives none."""
    found = _ENHANCED.match(_decode(answer))
    return found.group(1) if found else ""


def _decode(answer: bytes | str) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
