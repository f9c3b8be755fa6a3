"""The headers of requests, answers and calls that the API's description tells."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter


def request_header(name: str, description: str, **schema: Any) -> OpenApiParameter:
    return OpenApiParameter(name, {"type": "string", **schema}, OpenApiParameter.HEADER, description=description)


def response_header(name: str, schema: Any, description: str, *, statuses: list[int]) -> OpenApiParameter:
    return OpenApiParameter(name, schema, OpenApiParameter.HEADER, description=description, response=statuses)


ACCEPT_LANGUAGE = request_header(
    "Accept-Language",
    "The user's languages, as browsers send them. Messages use the best match among the project's languages; without a "
    "match, the recipient's last known language, or else the project's.",
    examples=["de-DE,de;q=0.9,en;q=0.8"],
)
REQUEST_ID = request_header(
    "X-Request-Id",
    "Your id for this request, which the answer returns: 1 to 64 characters of `A-Za-z0-9._-`. Anything else is "
    "replaced by a generated id.",
)
CLIENT_ADDRESS = request_header(
    "X-Client-Address",
    "The end user's IP address, if your server makes the request for them: limits, the traffic guard and challenges "
    "then apply to this address. It is accepted only from the project's server addresses and ignored from anyone else. "
    "An address that is not public is a `validation_error`.",
    examples=["198.51.100.7"],
)


def _idempotency_key(description: str) -> OpenApiParameter:
    return request_header(
        "Idempotency-Key",
        f"{description} 1 to 255 visible ASCII characters; a random UUID is a good choice.",
        minLength=1,
        maxLength=255,
        pattern="^[!-~]{1,255}$",
        examples=["0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4"],
    )


IDEMPOTENCY_KEY = _idempotency_key(
    "Makes a retry safe: for 24 hours, the same key with the same body in the same project returns the same answer and "
    "sends nothing again. Bodies are compared as parsed JSON. Only successes are kept: after a refusal you can use the "
    "same key again."
)
VERIFY_KEY = _idempotency_key(
    "Lets you read a lost answer again: a call with the key that redeemed the token gets the same answer until the "
    "token would have expired."
)
REPLAYED = response_header(
    "Idempotency-Replayed",
    {"type": "string", "const": "true"},
    "Present only if this is the answer to an earlier request with the same `Idempotency-Key`.",
    statuses=[200],
)
ANSWER_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The request's id: yours if it was well formed, otherwise a generated one.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Cache-Control": {
        "description": "Answers must not be stored.",
        "required": True,
        "schema": {"type": "string", "const": "no-store"},
    },
    "Retry-After": {
        "description": "Whole seconds to wait; present if waiting helps.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "RateLimit-Policy": {
        "description": "The limits that this request counted towards, as in draft-ietf-httpapi-ratelimit-headers-10: "
        "the limit's name, `q` requests in `w` seconds. Absent if no limit applies to this caller.",
        "schema": {"type": "string", "examples": ['"creates_per_address";q=300;w=600']},
    },
    "RateLimit": {
        "description": "What remains of these limits: `r` requests and, if none remain, `t` seconds until the limit is "
        "reset.",
        "schema": {"type": "string", "examples": ['"creates_per_address";r=297']},
    },
}
# The headers that some answers have.
SOMETIMES = ("Retry-After", "RateLimit-Policy", "RateLimit")
CALLBACK_HEADERS = {
    "webhook-id": "The event's id, the same on every retry: `msg_` and the message's id, or `evt_` and the event's. "
    "Handle each one once.",
    "webhook-timestamp": "When this request was made, in seconds since 1970. Reject anything older than five minutes.",
    "webhook-signature": "One or more signatures, separated by spaces: `v1,` and the base64 of the HMAC-SHA256 of "
    "`<webhook-id>.<webhook-timestamp>.<body>`. The key is what follows `whsec_` in the project's webhook secret, "
    "decoded from base64. One matching signature is enough; after a rotation two secrets sign.",
}
