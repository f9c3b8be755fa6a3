/** One class for each error code of the service. Written by packages/generate_clients.py. */
import { Problem } from "./errors.js";
import type { components } from "./schema.js";

/** The request body cannot be read (400, `parse_error`). */
export class ParseError extends Problem {
  override readonly name: string = "ParseError";
}

/** A field is wrong (400, `validation_error`). */
export class ValidationError extends Problem {
  override readonly name: string = "ValidationError";
}

/** The code is wrong (400, `invalid_code`). */
export class InvalidCode extends Problem {
  override readonly name: string = "InvalidCode";
}

/** This host name is not served here (400, `host_not_allowed`). */
export class HostNotAllowed extends Problem {
  override readonly name: string = "HostNotAllowed";
}

/** The x-api-key header is missing (401, `missing_api_key`). */
export class MissingApiKey extends Problem {
  override readonly name: string = "MissingApiKey";
}

/** The key is not valid (401, `invalid_api_key`). */
export class InvalidApiKey extends Problem {
  override readonly name: string = "InvalidApiKey";
}

/** The key is of the wrong kind for this endpoint (403, `wrong_key_kind`). */
export class WrongKeyKind extends Problem {
  override readonly name: string = "WrongKeyKind";
}

/** A challenge must be solved first (403, `challenge_required`). */
export class ChallengeRequired extends Problem {
  override readonly name: string = "ChallengeRequired";
}

/** The challenge was not passed (403, `challenge_failed`). */
export class ChallengeFailed extends Problem {
  override readonly name: string = "ChallengeFailed";
}

/** Nothing can be sent to this recipient (403, `recipient_not_allowed`). */
export class RecipientNotAllowed extends Problem {
  override readonly name: string = "RecipientNotAllowed";
}

/** There is nothing here (404, `not_found`). */
export class NotFound extends Problem {
  override readonly name: string = "NotFound";
}

/** There is no such session (404, `session_not_found`). */
export class SessionNotFound extends Problem {
  override readonly name: string = "SessionNotFound";
}

/** There is no such message (404, `message_not_found`). */
export class MessageNotFound extends Problem {
  override readonly name: string = "MessageNotFound";
}

/** There is no such verify token (404, `verify_token_not_found`). */
export class VerifyTokenNotFound extends Problem {
  override readonly name: string = "VerifyTokenNotFound";
}

/** The method is not allowed here (405, `method_not_allowed`). */
export class MethodNotAllowed extends Problem {
  override readonly name: string = "MethodNotAllowed";
}

/** The channel is not available (409, `channel_not_available`). */
export class ChannelNotAvailable extends Problem {
  override readonly name: string = "ChannelNotAvailable";
}

/** The user has not started this messenger's bot (409, `channel_not_active`). */
export class ChannelNotActive extends Problem {
  override readonly name: string = "ChannelNotActive";
}

/** The session's code was already used (409, `session_verified`). */
export class SessionVerified extends Problem {
  override readonly name: string = "SessionVerified";
}

/** The Idempotency-Key was used for another request (409, `idempotency_conflict`). */
export class IdempotencyConflict extends Problem {
  override readonly name: string = "IdempotencyConflict";
}

/** The session has expired (410, `session_expired`). */
export class SessionExpired extends Problem {
  override readonly name: string = "SessionExpired";
}

/** The verify token has expired or was used (410, `verify_token_expired`). */
export class VerifyTokenExpired extends Problem {
  override readonly name: string = "VerifyTokenExpired";
}

/** The request body is too large (413, `body_too_large`). */
export class BodyTooLarge extends Problem {
  override readonly name: string = "BodyTooLarge";
}

/** The request body must be JSON in UTF-8 (415, `unsupported_media_type`). */
export class UnsupportedMediaType extends Problem {
  override readonly name: string = "UnsupportedMediaType";
}

/** A code was just sent over this channel (429, `channel_timeout`). */
export class ChannelTimeout extends Problem {
  override readonly name: string = "ChannelTimeout";
}

/** Too many wrong codes (429, `too_many_attempts`). */
export class TooManyAttempts extends Problem {
  override readonly name: string = "TooManyAttempts";
}

/** Too many codes were sent (429, `too_many_sends`). */
export class TooManySends extends Problem {
  override readonly name: string = "TooManySends";
}

/** Too many requests (429, `rate_limited`). */
export class RateLimited extends Problem {
  override readonly name: string = "RateLimited";
}

/** Something went wrong on our side (500, `internal_error`). */
export class InternalError extends Problem {
  override readonly name: string = "InternalError";
}

/** The service is briefly unavailable (503, `service_unavailable`). */
export class ServiceUnavailable extends Problem {
  override readonly name: string = "ServiceUnavailable";
}

/** The challenge provider does not answer (503, `challenge_unavailable`). */
export class ChallengeUnavailable extends Problem {
  override readonly name: string = "ChallengeUnavailable";
}

export const PROBLEMS: Record<components["schemas"]["ErrorCode"], typeof Problem> = {
  parse_error: ParseError,
  validation_error: ValidationError,
  invalid_code: InvalidCode,
  host_not_allowed: HostNotAllowed,
  missing_api_key: MissingApiKey,
  invalid_api_key: InvalidApiKey,
  wrong_key_kind: WrongKeyKind,
  challenge_required: ChallengeRequired,
  challenge_failed: ChallengeFailed,
  recipient_not_allowed: RecipientNotAllowed,
  not_found: NotFound,
  session_not_found: SessionNotFound,
  message_not_found: MessageNotFound,
  verify_token_not_found: VerifyTokenNotFound,
  method_not_allowed: MethodNotAllowed,
  channel_not_available: ChannelNotAvailable,
  channel_not_active: ChannelNotActive,
  session_verified: SessionVerified,
  idempotency_conflict: IdempotencyConflict,
  session_expired: SessionExpired,
  verify_token_expired: VerifyTokenExpired,
  body_too_large: BodyTooLarge,
  unsupported_media_type: UnsupportedMediaType,
  channel_timeout: ChannelTimeout,
  too_many_attempts: TooManyAttempts,
  too_many_sends: TooManySends,
  rate_limited: RateLimited,
  internal_error: InternalError,
  service_unavailable: ServiceUnavailable,
  challenge_unavailable: ChallengeUnavailable,
};
