"""All refusals of the service, as one family: a stable code, an HTTP status, and sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one code.

    ``detail`` is the usual sentence, empty where each place that refuses has one of its own.
    """

    status: int
    title: str
    detail: str = ""


# The one home of these words. error_guide.py adds what a client should do; decisions.py tells owners of the rules
# behind a refusal.
CATALOGUE = {
    "parse_error": Words(400, "The request body cannot be read"),
    "validation_error": Words(400, "A field is wrong"),
    "invalid_code": Words(400, "The code is wrong", "The code is wrong."),
    "host_not_allowed": Words(400, "This host name is not served here", "This host name is not served here."),
    "missing_api_key": Words(401, "The x-api-key header is missing", "Send your key in the x-api-key header."),
    "invalid_api_key": Words(401, "The key is not valid", "The key is unknown, expired or revoked."),
    "wrong_key_kind": Words(403, "The key is of the wrong kind for this endpoint"),
    "challenge_required": Words(
        403, "A challenge must be solved first", "Solve the challenge and send its answer as challenge_token."
    ),
    "challenge_failed": Words(403, "The challenge was not passed", "The challenge was not passed. Solve a new one."),
    "recipient_not_allowed": Words(
        403, "Nothing can be sent to this recipient", "Nothing can be sent to this recipient."
    ),
    "not_found": Words(404, "There is nothing here", "There is nothing at this address."),
    "session_not_found": Words(404, "There is no such session", "There is no session with this id."),
    "message_not_found": Words(404, "There is no such message", "There is no message with this id."),
    "verify_token_not_found": Words(404, "There is no such verify token", "There is no verify token with this value."),
    "method_not_allowed": Words(405, "The method is not allowed here"),
    "channel_not_available": Words(409, "The channel is not available"),
    "channel_not_active": Words(
        409,
        "The user has not started this messenger's bot",
        "The user has to start this messenger's bot first; the code goes out as soon as they do.",
    ),
    "session_verified": Words(
        409, "The session's code was already used", "The session's code was already used. Create a new session."
    ),
    "idempotency_conflict": Words(
        409,
        "The Idempotency-Key was used for another request",
        "This Idempotency-Key was used with another body or secret key. Take a new one for a new message.",
    ),
    "session_expired": Words(410, "The session has expired", "The session is over. Create a new one."),
    "verify_token_expired": Words(
        410,
        "The verify token has expired or was used",
        "The verify token is over or was used before. The user has to verify again.",
    ),
    "body_too_large": Words(413, "The request body is too large"),
    "unsupported_media_type": Words(415, "The request body must be JSON in UTF-8"),
    "channel_timeout": Words(
        429, "A code was just sent over this channel", "A code was sent over this channel within the last 60 seconds."
    ),
    "too_many_attempts": Words(429, "Too many wrong codes", "There were too many wrong codes for this recipient."),
    "too_many_sends": Words(429, "Too many codes were sent", "Too many codes were sent to this recipient."),
    "rate_limited": Words(429, "Too many requests"),
    "internal_error": Words(
        500, "Something went wrong on our side", "Something went wrong on our side; the request_id finds it in our log."
    ),
    "service_unavailable": Words(
        503, "The service is briefly unavailable", "The database is away; nothing was accepted."
    ),
    "challenge_unavailable": Words(
        503, "The challenge provider does not answer", "The challenge provider does not answer."
    ),
}


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule that refused, for the owner's log; callers of the API are never told of it.

    The members are the arguments of ``decisions.note``. Two decisions are equal whatever their figures, so that a flood
    of one refusal is counted as one.
    """

    project_id: int
    rule: str
    subject: str
    figures: Mapping[str, object] = field(default_factory=dict, compare=False)


class ApiError(Exception):
    """The service says no. Without ``detail`` it says what the catalogue says.

    ``retry_after`` is in whole seconds and given only where waiting helps. ``extra`` are further members of the problem
    document.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        retry_after: int | None = None,
        decision: Decision | None = None,
        **extra: Any,
    ) -> None:
        words = CATALOGUE[code]
        self.problem_code = code
        self.status, self.title = words.status, words.title
        self.detail = detail or words.detail
        super().__init__(self.detail)
        self.retry_after = retry_after
        self.decision = decision
        self.extra = extra


@dataclass(frozen=True, slots=True)
class FieldError:
    """A fault of one field: a stable ``code`` and one sentence, which never repeats the value."""

    field: str
    code: str
    detail: str


class FieldsInvalid(ApiError):
    """One or more request fields are wrong."""

    def __init__(self, *errors: FieldError) -> None:
        detail = " ".join(f"{error.field}: {error.detail}" for error in errors)
        super().__init__("validation_error", detail, errors=[asdict(error) for error in errors])


class UserError(ValueError):
    """A person asked a command or a page of the panel for what cannot be done. The message tells them what to do."""


# The outcomes of our SQL functions that are no codes themselves: (code, detail). An empty detail is the catalogue's.
OUTCOMES = {
    "session_locked": ("too_many_attempts", "The session is locked by wrong codes. Create a new one."),
    "session_sends": (
        "too_many_sends",
        "The session's five sends are used up. Its last code holds until the session ends.",
    ),
    "challenge_used": ("challenge_failed", "The answer to the challenge was used before. Solve a new one."),
    "suppressed": ("recipient_not_allowed", ""),
    "guarded": ("recipient_not_allowed", ""),
    "over_platform_limit": ("too_many_sends", ""),
    "over_budget": ("rate_limited", "The channel's budget for today is used up."),
}


def refusal(outcome: str, retry_after: int | None = None, *, decision: Decision | None = None) -> ApiError:
    """Return the refusal that an outcome of one of our SQL functions stands for."""
    code, detail = OUTCOMES.get(outcome, (outcome, ""))
    return ApiError(code, detail, retry_after=retry_after, decision=decision)
