"""Every refusal the service knows, as one family: a stable code, an HTTP status, and a sentence for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

CATALOGUE: dict[str, tuple[int, str]] = {
    "parse_error": (400, "The request body cannot be read"),
    "validation_error": (400, "A field is wrong"),
    "invalid_code": (400, "The code is wrong"),
    "host_not_allowed": (400, "This host name is not served here"),
    "missing_api_key": (401, "The x-api-key header is missing"),
    "invalid_api_key": (401, "The key is not valid"),
    "wrong_key_kind": (403, "The key is of the wrong kind for this endpoint"),
    "challenge_required": (403, "A challenge must be solved first"),
    "challenge_failed": (403, "The challenge was not passed"),
    "recipient_not_allowed": (403, "Nothing can be sent to this recipient"),
    "not_found": (404, "There is nothing here"),
    "session_not_found": (404, "There is no such session"),
    "message_not_found": (404, "There is no such message"),
    "verify_token_not_found": (404, "There is no such verify token"),
    "method_not_allowed": (405, "The method is not allowed here"),
    "channel_not_available": (409, "The channel is not available"),
    "channel_not_active": (409, "The user has not started this messenger's bot"),
    "session_verified": (409, "The session's code was already used"),
    "idempotency_conflict": (409, "The Idempotency-Key was used for another request"),
    "session_expired": (410, "The session has expired"),
    "verify_token_expired": (410, "The verify token has expired or was used"),
    "body_too_large": (413, "The request body is too large"),
    "unsupported_media_type": (415, "The request body must be JSON in UTF-8"),
    "channel_timeout": (429, "A code was just sent over this channel"),
    "too_many_attempts": (429, "Too many wrong codes"),
    "too_many_sends": (429, "Too many codes were sent"),
    "rate_limited": (429, "Too many requests"),
    "internal_error": (500, "Something went wrong on our side"),
    "service_unavailable": (503, "The service is briefly unavailable"),
    "challenge_unavailable": (503, "The challenge provider does not answer"),
}


class Refusal(Exception):
    """The service says no. ``extra`` are further members of the problem document.

    ``retry_after`` is in whole seconds and given only where waiting helps. ``decision``, never told to the caller, is
    what the owner's log gets: the arguments of ``decisions.note``.
    """

    decision: dict[str, Any] | None = None

    def __init__(self, code: str, detail: str, *, retry_after: int | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.problem_code = code
        self.status, self.title = CATALOGUE[code]
        self.detail = detail
        self.retry_after = retry_after
        self.extra = extra


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field: a stable ``code`` and one sentence, which never repeats the value."""

    field: str
    code: str
    detail: str


class FieldsInvalid(Refusal):
    """One or more request fields are wrong."""

    def __init__(self, *errors: FieldError) -> None:
        detail = " ".join(f"{error.field}: {error.detail}" for error in errors)
        super().__init__("validation_error", detail, errors=[asdict(error) for error in errors])


class Misuse(ValueError):
    """A command or a page of the admin was used wrongly; the message is for the operator who typed it."""


_OUTCOMES = {
    "session_not_found": ("session_not_found", "There is no session with this id."),
    "session_verified": ("session_verified", "The session's code was already used. Create a new session."),
    "session_expired": ("session_expired", "The session is over. Create a new one."),
    "session_locked": ("too_many_attempts", "The session is locked by wrong codes. Create a new one."),
    "too_many_attempts": ("too_many_attempts", "There were too many wrong codes for this recipient."),
    "session_sends": (
        "too_many_sends",
        "The session's five sends are used up. Its last code holds until the session ends.",
    ),
    "too_many_sends": ("too_many_sends", "Too many codes were sent to this recipient."),
    "channel_timeout": ("channel_timeout", "A code was sent over this channel within the last 60 seconds."),
    "challenge_used": ("challenge_failed", "The answer to the challenge was used before. Solve a new one."),
    "suppressed": ("recipient_not_allowed", "Nothing can be sent to this recipient."),
    "guarded": ("recipient_not_allowed", "Nothing can be sent to this recipient."),
    "over_platform_limit": ("too_many_sends", "Too many codes were sent to this recipient."),
    "over_budget": ("rate_limited", "The channel's budget for today is used up."),
    "verify_token_not_found": ("verify_token_not_found", "There is no verify token with this value."),
    "verify_token_expired": (
        "verify_token_expired",
        "The verify token is over or was used before. The user has to verify again.",
    ),
}


def refusal(outcome: str, retry_after: int | None = None) -> Refusal:
    """The refusal that an outcome of one of our SQL functions stands for."""
    code, detail = _OUTCOMES[outcome]
    return Refusal(code, detail, retry_after=retry_after)
