"""One class for each error code of the service. Written by packages/generate_clients.py."""

from __future__ import annotations

from collections.abc import Mapping

from watchword.errors import Problem


class ParseError(Problem):
    """The request body cannot be read (400, ``parse_error``)."""


class ValidationError(Problem):
    """A field is wrong (400, ``validation_error``)."""


class InvalidCode(Problem):
    """The code is wrong (400, ``invalid_code``)."""


class HostNotAllowed(Problem):
    """This host name is not served here (400, ``host_not_allowed``)."""


class MissingApiKey(Problem):
    """The x-api-key header is missing (401, ``missing_api_key``)."""


class InvalidApiKey(Problem):
    """The key is not valid (401, ``invalid_api_key``)."""


class WrongKeyKind(Problem):
    """The key is of the wrong kind for this endpoint (403, ``wrong_key_kind``)."""


class ChallengeRequired(Problem):
    """A challenge must be solved first (403, ``challenge_required``)."""


class ChallengeFailed(Problem):
    """The challenge was not passed (403, ``challenge_failed``)."""


class RecipientNotAllowed(Problem):
    """Nothing can be sent to this recipient (403, ``recipient_not_allowed``)."""


class NotFound(Problem):
    """There is nothing here (404, ``not_found``)."""


class SessionNotFound(Problem):
    """There is no such session (404, ``session_not_found``)."""


class MessageNotFound(Problem):
    """There is no such message (404, ``message_not_found``)."""


class VerifyTokenNotFound(Problem):
    """There is no such verify token (404, ``verify_token_not_found``)."""


class MethodNotAllowed(Problem):
    """The method is not allowed here (405, ``method_not_allowed``)."""


class ChannelNotAvailable(Problem):
    """The channel is not available (409, ``channel_not_available``)."""


class ChannelNotActive(Problem):
    """The user has not started this messenger's bot (409, ``channel_not_active``)."""


class SessionVerified(Problem):
    """The session's code was already used (409, ``session_verified``)."""


class IdempotencyConflict(Problem):
    """The Idempotency-Key was used for another request (409, ``idempotency_conflict``)."""


class SessionExpired(Problem):
    """The session has expired (410, ``session_expired``)."""


class VerifyTokenExpired(Problem):
    """The verify token has expired or was used (410, ``verify_token_expired``)."""


class BodyTooLarge(Problem):
    """The request body is too large (413, ``body_too_large``)."""


class UnsupportedMediaType(Problem):
    """The request body must be JSON in UTF-8 (415, ``unsupported_media_type``)."""


class ChannelTimeout(Problem):
    """A code was just sent over this channel (429, ``channel_timeout``)."""


class TooManyAttempts(Problem):
    """Too many wrong codes (429, ``too_many_attempts``)."""


class TooManySends(Problem):
    """Too many codes were sent (429, ``too_many_sends``)."""


class RateLimited(Problem):
    """Too many requests (429, ``rate_limited``)."""


class InternalError(Problem):
    """Something went wrong on our side (500, ``internal_error``)."""


class ServiceUnavailable(Problem):
    """The service is briefly unavailable (503, ``service_unavailable``)."""


class ChallengeUnavailable(Problem):
    """The challenge provider does not answer (503, ``challenge_unavailable``)."""


PROBLEMS: Mapping[str, type[Problem]] = {
    "parse_error": ParseError,
    "validation_error": ValidationError,
    "invalid_code": InvalidCode,
    "host_not_allowed": HostNotAllowed,
    "missing_api_key": MissingApiKey,
    "invalid_api_key": InvalidApiKey,
    "wrong_key_kind": WrongKeyKind,
    "challenge_required": ChallengeRequired,
    "challenge_failed": ChallengeFailed,
    "recipient_not_allowed": RecipientNotAllowed,
    "not_found": NotFound,
    "session_not_found": SessionNotFound,
    "message_not_found": MessageNotFound,
    "verify_token_not_found": VerifyTokenNotFound,
    "method_not_allowed": MethodNotAllowed,
    "channel_not_available": ChannelNotAvailable,
    "channel_not_active": ChannelNotActive,
    "session_verified": SessionVerified,
    "idempotency_conflict": IdempotencyConflict,
    "session_expired": SessionExpired,
    "verify_token_expired": VerifyTokenExpired,
    "body_too_large": BodyTooLarge,
    "unsupported_media_type": UnsupportedMediaType,
    "channel_timeout": ChannelTimeout,
    "too_many_attempts": TooManyAttempts,
    "too_many_sends": TooManySends,
    "rate_limited": RateLimited,
    "internal_error": InternalError,
    "service_unavailable": ServiceUnavailable,
    "challenge_unavailable": ChallengeUnavailable,
}
