"""The risk checks before a paid send: who is asked about a number that is not known, and what follows.

They are asked by the worker that is about to send, so no request waits for them, and within a third of a second in all:
a code that comes late is worth little. What they said holds for the recipient for a day.
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from providers.errors import ProviderError
from providers.http.deadline import within
from providers.risk import CHECKS, camara_sim_swap
from providers.risk.base import Judgement, Question, RiskAccount, Verdict
from verification import sql
from verification.core import crypto
from verification.core.addresses import mask
from verification.core.caching import FreshCache
from verification.core.crypto import DecryptionFailed, decrypt
from verification.models import Message, Project, RiskVerdict, Session
from verification.models.guard import RISK_REASON_MAX_LENGTH
from verification.services.projects.snapshot import ProjectConfig
from verification.services.projects.webhook_secrets import live_webhook_secrets
from verification.services.protection.recipient import RecipientPolicy
from verification.services.providers.http_client import http_client
from verification.services.records import decisions
from verification.sql.rows import ClaimedMessage

log = logging.getLogger(__name__)

SECONDS = 0.3  # in all: a person is waiting, and a code goes out in a second or two
KEPT = timedelta(days=1)  # a SIM is seldom changed twice in a day, and pumping is paid for by then
TOKEN_SECONDS = 240.0  # operators' tokens live for minutes at the least

STOPPED = "A risk check ("  # how the error of a message begins that was not sent because of one

# By project and account, so that no other server gets a token that the account before was given.
_tokens: FreshCache[tuple[int, RiskAccount], str] = FreshCache(fresh_seconds=TOKEN_SECONDS)


def why_not_to_send(message: ClaimedMessage, policy: RecipientPolicy) -> str:
    """Return why the message must not be sent, as its ``error``; empty where nobody is asked, or all let it pass."""
    project, address = policy.project, policy.address
    checks = project.risk.checks.get(message.channel, ())
    if not checks or not address.is_phone or policy.is_unlimited or _is_known(project, address.text):
        return ""
    earlier = _earlier(message)
    facts = _facts(message)
    with within(SECONDS):
        for name in checks:
            judgement = earlier.get(name)
            if judgement is None:
                question = Question(address.text, message.channel, address.country, facts.network)
                judgement = _ask(project, message, name, question)
            if error := _consequence(project, name, judgement, is_challenged=facts.is_challenged):
                _note(project, address.text, name, judgement)
                return error
    return ""


def has_stopped(error: str | None) -> bool:
    """Return whether a message with this error was not sent because of a risk check."""
    return (error or "").startswith(STOPPED)


def wants_challenge(project: ProjectConfig, to: str) -> bool:
    """Return whether a check asked for a challenge when a code was last to be sent to this recipient, within a day."""
    if not any("callback" in checks for checks in project.risk.checks.values()):
        return False
    asked = {"recipient__project_id": project.id, "recipient__address": to, "check_name": "callback"}
    last = RiskVerdict.objects.filter(**asked, created_at__gt=Now() - KEPT).order_by("-created_at")
    return last.values_list("verdict", flat=True).first() == Verdict.CHALLENGE.value


class _Facts(NamedTuple):
    """What is known of the request behind a message."""

    network: str = ""
    is_challenged: bool = False  # a manual send never is


def _facts(message: ClaimedMessage) -> _Facts:
    if message.session_id is None:
        network = Message.objects.filter(pk=message.id).values_list("subnet", flat=True).first()
        return _Facts(network or "")
    row = Session.objects.filter(pk=message.session_id).values_list("subnet", "is_challenged").first()
    return _Facts(*(row or ()))


def _is_known(project: ProjectConfig, to: str) -> bool:
    days = project.guard.known_days
    return bool(days and sql.value("is_known_address", project=project.id, address=to, days=days))


def _earlier(message: ClaimedMessage) -> dict[str, Judgement]:
    """Return the last verdict of each check within a day. One that did not answer is asked once for a message."""
    rows = RiskVerdict.objects.filter(recipient_id=message.recipient_id, created_at__gt=Now() - KEPT)
    rows = rows.filter(~Q(verdict=Verdict.UNKNOWN.value) | Q(message_id=message.id)).order_by("created_at")
    return {row.check_name: Judgement(Verdict(row.verdict), row.reason) for row in rows}


def _ask(project: ProjectConfig, message: ClaimedMessage, name: str, question: Question) -> Judgement:
    if _is_spent(project):
        return Judgement(Verdict.UNKNOWN, "the checks of the day are used up")
    began = time.monotonic()
    judgement = _judgement(project, name, question)
    judgement = replace(judgement, reason=sql.text(judgement.reason, RISK_REASON_MAX_LENGTH))
    price = _price_of(project, name) if judgement.verdict is not Verdict.UNKNOWN else None
    RiskVerdict.objects.create(
        message_id=message.id,
        project_id=project.id,
        recipient_id=message.recipient_id,
        check_name=name,
        verdict=judgement.verdict.value,
        reason=judgement.reason,
        latency_ms=round((time.monotonic() - began) * 1000),
        price=price and price[0],
        currency=price[1] if price else "",
    )
    return judgement


def _judgement(project: ProjectConfig, name: str, question: Question) -> Judgement:
    try:
        account = _account(project)
        means = _means(project, name, account)
    except DecryptionFailed:
        return Judgement(Verdict.UNKNOWN, "its secret cannot be read with the present encryption keys")
    except (ProviderError, TimeoutError) as error:
        return Judgement(Verdict.UNKNOWN, str(error))
    judgement = CHECKS[name].ask(question, account, http=http_client(), **means)
    if name == "camara_sim_swap" and judgement.verdict is Verdict.UNKNOWN:
        _tokens.drop((project.id, account))  # it may have been revoked
    return judgement


def _account(project: ProjectConfig) -> RiskAccount:
    """Raises :class:`DecryptionFailed`."""
    bind = partial(crypto.project_secret_binding, project.public_id)
    secrets: dict[str, Any] = {
        name: decrypt(sealed, binding=bind(f"risk_{name}")) for name, sealed in project.risk.sealed.items()
    }
    return RiskAccount(**project.risk.account, **secrets)


def _means(project: ProjectConfig, name: str, account: RiskAccount) -> dict[str, Any]:
    """Return what this check needs besides.

    Raises :class:`ProviderError`, ``TimeoutError`` and :class:`DecryptionFailed`.
    """
    if name == "camara_sim_swap":
        load = partial(camara_sim_swap.access_token, account, http=http_client())
        return {"token": _tokens.get((project.id, account), load)}
    if name == "callback":
        secrets = [secret for secret, _ in live_webhook_secrets(Project(pk=project.id, public_id=project.public_id))]
        return {"sign": partial(_signed, secrets)}
    return {}


def _signed(secrets: list[str], text: str) -> dict[str, str]:
    now = timezone.now()
    call_id = f"risk_{uuid.uuid4()}"
    return {
        "webhook-id": call_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(Webhook(secret).sign(call_id, now, text) for secret in secrets),
        "user-agent": "Watchword",
    }


def _is_spent(project: ProjectConfig) -> bool:
    if not project.risk.per_day:
        return False
    asked = RiskVerdict.objects.filter(project_id=project.id, created_at__gt=Now() - timedelta(days=1))
    return asked[: project.risk.per_day].count() >= project.risk.per_day


def _price_of(project: ProjectConfig, name: str) -> tuple[Decimal, str] | None:
    for line in project.risk.prices:
        of, amount, currency = line.split()
        if of == name:
            return Decimal(amount), currency
    return None


def _consequence(project: ProjectConfig, name: str, judgement: Judgement, *, is_challenged: bool) -> str:
    reason = f": {judgement.reason}" if judgement.reason else ""
    match judgement.verdict:
        case Verdict.DENY:
            return f"{STOPPED}{CHECKS[name].label}) denied it{reason}."
        case Verdict.CHALLENGE if not is_challenged:
            return f"{STOPPED}{CHECKS[name].label}) asks for a challenge first{reason}."
        case Verdict.UNKNOWN if not project.risk.fails_open:
            return f"{STOPPED}{CHECKS[name].label}) gave no answer{reason}."
    return ""


def _note(project: ProjectConfig, to: str, name: str, judgement: Judgement) -> None:
    decisions.record(
        project_id=project.id,
        rule="risk_check",
        subject=mask(to),
        figures={"check": name, "verdict": judgement.verdict.value, "reason": judgement.reason},
    )
