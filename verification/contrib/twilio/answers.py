"""Answers in Twilio's form: a verification, a check of its code, and refusals with Twilio's codes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, JsonResponse

from verification.contrib.twilio.form import CHANNELS
from verification.core import formats, logs, metrics, request_ids, sids
from verification.core.error_codes import CATALOGUE, TWILIO_INTERNAL_ERROR
from verification.core.errors import FieldsInvalid
from verification.services.projects.snapshot import ProjectConfig
from verification.services.records.decisions import record_refusal
from verification.services.records.faults import refusal_of_error
from verification.services.sessions.session_records import SessionDetails

GUIDE = "/docs/guides/from-twilio/"  # what each of these codes stands for
CHANNEL_NAMES = {ours.value: theirs for theirs, ours in CHANNELS.items()}


class UnsupportedParameter(Exception):
    """A parameter that would change what is verified, and that this service does not have."""


def verification(project: ProjectConfig, session: SessionDetails, *, status: str, code: int = 200) -> JsonResponse:
    body = _common(project, session, status)
    sid, service = body["sid"], body["service_sid"]
    body |= {
        "lookup": {},
        "send_code_attempts": [
            {
                "attempt_sid": sids.of_message(message.id),
                "channel": CHANNEL_NAMES[message.channel],
                "time": formats.iso_time(message.created_at, "seconds"),
            }
            for message in session.messages
        ],
        "sna": None,
        "url": f"{settings.BASE_URL}/v2/Services/{service}/Verifications/{sid}",
    }
    return JsonResponse(body, status=code)


def check(project: ProjectConfig, session: SessionDetails, *, status: str) -> JsonResponse:
    return JsonResponse(_common(project, session, status) | {"sna_attempts_error_codes": []}, status=201)


def refused(error: Exception, request: HttpRequest) -> JsonResponse:
    """Answer what a view raised, and note a refusal for its owner. Nothing is rolled back: counts stay counted."""
    if isinstance(error, UnsupportedParameter):
        logs.log_refusal(request, code="unsupported_parameter", status=403)
        return _error(403, 60204, f"Service does not support this feature: {error}")
    refusal = refusal_of_error(error, request_id=request_ids.request_id_of(request), endpoint=logs.logged_path(request))
    record_refusal(refusal)
    metrics.count_refusal(refusal.problem_code)
    status, code, words = CATALOGUE[refusal.problem_code].twilio or TWILIO_INTERNAL_ERROR
    if isinstance(refusal, FieldsInvalid):
        words = f"{words}: `{refusal.extra['errors'][0]['field']}`. {refusal.extra['errors'][0]['detail']}"
    elif (status, code) != (401, 20003) and refusal.detail:
        words = f"{words}. {refusal.detail}"
    if status < 500:  # refusal_of_error has logged the others, with their cause
        logs.log_refusal(request, code=refusal.problem_code, status=status)
    response = _error(status, code, words)
    if status == 401:
        response["WWW-Authenticate"] = 'Basic realm="Watchword"'
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def _common(project: ProjectConfig, session: SessionDetails, status: str) -> dict[str, Any]:
    """Return the members that a verification and a check share."""
    created = formats.iso_time(session.created_at, "seconds")
    updated = formats.iso_time(max([session.created_at, *(each.created_at for each in session.messages)]), "seconds")
    return {
        "sid": sids.of_session(session.session_id),
        "service_sid": sids.of_project(sids.SERVICE, project.public_id),
        "account_sid": sids.of_project(sids.ACCOUNT, project.public_id),
        "to": session.recipient,
        "channel": CHANNEL_NAMES.get(session.channel or session.awaited_channel, "sms"),
        "status": status,
        "valid": status == "approved",
        "amount": None,
        "payee": None,
        "date_created": created,
        "date_updated": updated,
    }


def _error(status: int, code: int, message: str) -> JsonResponse:
    more_info = f"{settings.BASE_URL}{GUIDE}"
    return JsonResponse({"code": code, "message": message, "more_info": more_info, "status": status}, status=status)
