"""The base of all risk checks: a service is asked about a number, and says whether a code may go there.

A check is pure: it gets its account and a question, makes one HTTP request, and returns a verdict. It raises nothing.
How long it may take is set around it (:func:`providers.http.deadline.within`), and what follows is not its matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from providers.errors import ProviderError
from providers.http.client import HttpAnswer, HttpClient, Timeouts

TIMEOUTS = Timeouts(connect=2.0, total=3.0)  # seconds; the caller's deadline is far shorter
REASON_MAX_LENGTH = 200  # characters, as the column has


class Verdict(Enum):
    """What a service says. UNKNOWN: nothing that can be read, or nothing in time."""

    ALLOW = "allow"
    CHALLENGE = "challenge"  # a caller who passes a challenge may have the code
    DENY = "deny"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason: one clause for the owner, without secrets and without the number."""

    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A send that is to be paid for. ``network`` is the subnet of whoever asked for it, empty where it is not known."""

    to: str  # E.164
    channel: str
    country: str
    network: str = ""
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class RiskAccount:
    """A project's accounts with the services, of which each reads its own part."""

    max_score: int = 75  # of Twilio's 100, from which on a number is denied
    swap_hours: int = 72
    callback_url: str = ""
    twilio_account: str = ""
    twilio_secret: str = field(default="", repr=False)
    vonage_application: str = ""
    vonage_key: str = field(default="", repr=False)
    camara_url: str = ""
    camara_token_url: str = ""
    camara_client: str = ""
    camara_secret: str = field(default="", repr=False)


class Check:
    """One service. ``needs`` are the fields of the account that it cannot do without."""

    name: ClassVar[str]
    label: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    def ask(self, question: Question, account: RiskAccount, *, http: HttpClient, **means: Any) -> Judgement:
        """Ask the service. Never raises. ``means`` are what only some need; each says which."""
        try:
            return self.judge(self.request(question, account, http=http, **means), account)
        except ProviderError as error:
            return Judgement(Verdict.UNKNOWN, str(error)[:REASON_MAX_LENGTH])
        except TimeoutError:
            return Judgement(Verdict.UNKNOWN, "it did not answer in time")

    def request(self, question: Question, account: RiskAccount, *, http: HttpClient, **means: Any) -> HttpAnswer:
        """Make the request. Raises :class:`ProviderError`."""
        raise NotImplementedError

    def judge(self, answer: HttpAnswer, account: RiskAccount) -> Judgement:
        """Read the answer."""
        raise NotImplementedError


def body_of(answer: HttpAnswer) -> Mapping[str, Any] | None:
    """Return the JSON object of a successful answer; None for anything else."""
    if not 200 <= answer.status < 300:
        return None
    try:
        found = answer.json()
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def unread(answer: HttpAnswer) -> Judgement:
    """Return the verdict on an answer that says nothing of the number."""
    return Judgement(Verdict.UNKNOWN, f"its answer says nothing about the number (HTTP {answer.status})")
