"""All refusals of the service, as one family: a stable code, an HTTP status, and sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from verification.core.error_codes import CATALOGUE


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A rule that refused, for the owner's log; callers of the API are never told of it.

    The members are the arguments of ``decisions.record``. Two records are equal whatever their figures, so that a
    flood of one refusal is counted as one.
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
        decision: DecisionRecord | None = None,
        **extra: Any,
    ) -> None:
        spec = CATALOGUE[code]
        self.problem_code = code
        self.status, self.title = spec.status, spec.title
        self.detail = detail or spec.detail
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


# The outcomes of our SQL functions that are no codes themselves: (code, detail). An empty detail is the catalogue's. It
# is empty where the reason would tell a caller something about the recipient.
OUTCOMES = {
    "session_locked": ("too_many_attempts", "The session is locked by wrong codes. Create a new one."),
    "session_sends": (
        "too_many_sends",
        "The session's five sends are used up. Its last code is valid until the session ends.",
    ),
    "challenge_used": ("challenge_failed", "The answer to the challenge was used before. Solve a new one."),
    "suppressed": ("recipient_not_allowed", ""),
    "guarded": ("recipient_not_allowed", ""),
    "over_platform_limit": ("too_many_sends", ""),
    "over_budget": ("rate_limited", "The channel's budget is used up."),
}


def refusal(
    outcome: str,
    retry_after: int | None = None,
    *,
    decision: DecisionRecord | None = None,
    limit: str | None = None,
    channels: list[str] | None = None,
) -> ApiError:
    """Return the refusal that an outcome of one of our SQL functions stands for."""
    code, detail = OUTCOMES.get(outcome, (outcome, ""))
    return ApiError(code, detail, retry_after=retry_after, decision=decision, limit=limit, channels=channels)
