"""The endpoints. Each reads Twilio's parameters, calls our session services, and answers in Twilio's form."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from verification.contrib.twilio import answers, form
from verification.contrib.twilio.answers import UnsupportedParameter
from verification.contrib.twilio.caller import identify, require_service
from verification.core import metrics, request_ids, sids
from verification.core.addresses import Address
from verification.core.errors import ApiError
from verification.core.session_rules import MAX_GUESS_CHARACTERS, plain_code
from verification.models import SessionState
from verification.services.projects.snapshot import ProjectConfig
from verification.services.sessions import check, create, session_records
from verification.services.sessions.create import OpenedSession

P = ParamSpec("P")
View = Callable[Concatenate[ProjectConfig, HttpRequest, P], HttpResponse]
Served = Callable[Concatenate[HttpRequest, str, P], HttpResponse]

# Parameters that would change whom or what a code verifies, or promise a limit: without them the answer would be a lie.
NOT_TAKEN = ("Amount", "CustomCode", "EnableSnaClientToken", "Payee", "RateLimits", "SendDigits", "SnaClientToken")

PENDING, APPROVED, CANCELED, LOCKED = "pending", "approved", "canceled", "max_attempts_reached"
STATUS_OF = {SessionState.OPEN: PENDING, SessionState.LOCKED: LOCKED}


def serve(endpoint: str, *methods: str) -> Callable[[View[P]], Served[P]]:
    """Make an endpoint of a view that is given the caller's project: the key comes first, and every failure is JSON.

    ``endpoint`` is its name in the metrics, which holds nothing of the path's variable parts.
    """

    def decorate(view: View[P]) -> Served[P]:
        @csrf_exempt
        @wraps(view)
        def served(request: HttpRequest, service_sid: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            began = time.perf_counter()
            try:
                project = identify(request).project
                request.project_id = project.id  # type: ignore[attr-defined]  # for the line of a refusal
                require_service(project, service_sid)
                if request.method not in methods:
                    raise ApiError("method_not_allowed", f"See the Allow header: {', '.join(methods)}.")
                response = view(project, request, *args, **kwargs)
            except Exception as error:
                response = answers.refused(error, request)
            response["Allow"] = ", ".join(methods)
            response["Cache-Control"] = "no-store"
            response["X-Request-Id"] = getattr(request, "id", "")
            metrics.count_request(endpoint, response.status_code, time.perf_counter() - began)
            return response

        return cast(Served[P], served)

    return decorate


@serve("v2/Verifications", "POST")
def start(project: ProjectConfig, request: HttpRequest) -> HttpResponse:
    """Open a verification, or go on with the recipient's, and send its code."""
    values = form.read(request)
    _refuse_parameters(values)
    address = form.recipient(project, form.text(values, "To"))
    options = create.CreateOptions(
        channel_type=form.channel(values),
        preferred_languages=values.get("Locale", ""),
        client_address=None,
        request_id=request_ids.request_id_of(request),
    )
    opened = create.create_session(project, address, options)
    _require_sent(opened)
    return answers.verification(project, session_records.read(project, opened.session_id), status=PENDING, code=201)


@serve("v2/Verification", "GET", "POST")
def one(project: ProjectConfig, request: HttpRequest, name: str) -> HttpResponse:
    """Show a verification, or end it. ``name`` is its SID or the recipient."""
    status = ""
    if request.method == "POST":
        status = form.choice(form.read(request), "Status", (CANCELED, APPROVED))
    session_id = sids.session_id_of(name) or _live_session_of(project, name)
    session = session_records.read(project, session_id)
    if session.state not in STATUS_OF:
        raise ApiError("session_not_found")
    if status:
        session_records.close(project, session_id)
    return answers.verification(project, session, status=status or STATUS_OF[session.state])


@serve("v2/VerificationCheck", "POST")
def check_code(project: ProjectConfig, request: HttpRequest) -> HttpResponse:
    """Spend one try and compare. A right code's verify token is redeemed at once, as the caller is a server."""
    values = form.read(request)
    _refuse_parameters(values)
    code = form.text(values, "Code")
    if len(code) > MAX_GUESS_CHARACTERS:
        raise form.wrong("Code", f"Give at most {MAX_GUESS_CHARACTERS} characters.")
    code = plain_code(code)
    if not code:
        raise form.wrong("Code", "This parameter is required.")
    session_id = _named_session(project, values)
    try:
        checked = check.check_code(
            project=project,
            session_id=session_id,
            code=code,
            client_address=None,
            request_id=request_ids.request_id_of(request),
        )
        check.redeem_verify_token(
            project=project, token=checked.verify_token, request_id=request_ids.request_id_of(request)
        )
    except ApiError as refusal:
        if refusal.problem_code != "invalid_code":
            raise
        return answers.check(project, session_records.read(project, session_id), status=PENDING)
    return answers.check(project, session_records.read(project, session_id), status=APPROVED)


@csrf_exempt
def nothing(request: HttpRequest, rest: str) -> HttpResponse:
    """Answer any other path below ``/v2/`` as one that is not served."""
    return answers.refused(ApiError("not_found"), request)


def _named_session(project: ProjectConfig, values: dict[str, str]) -> str:
    """Return the session that ``VerificationSid`` or ``To`` names; the former counts where both are given."""
    if "VerificationSid" not in values:
        return session_records.live_session_of(project, form.recipient(project, form.text(values, "To")))
    session_id = sids.session_id_of(values["VerificationSid"])
    if session_id is None:
        raise form.wrong("VerificationSid", "Give VE and 32 hexadecimal digits.")
    return session_id


def _live_session_of(project: ProjectConfig, to: str) -> str:
    """Return the session of a recipient in the path. What is no recipient is no verification either."""
    try:
        address: Address = form.recipient(project, to)
    except ApiError:
        raise ApiError("session_not_found") from None
    return session_records.live_session_of(project, address)


def _refuse_parameters(values: Collection[str]) -> None:
    for name in NOT_TAKEN:
        if name in values:
            raise UnsupportedParameter(name)


def _require_sent(opened: OpenedSession) -> None:
    """Raise why nothing was sent, where nothing was: Twilio's callers have no other way to learn of it."""
    if opened.is_sent:
        return
    waits = [channel.timeout for channel in opened.channels if channel.timeout]
    if waits:
        raise ApiError("channel_timeout", retry_after=min(waits))
    raise ApiError("channel_not_active")
