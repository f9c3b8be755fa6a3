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
    "The user's languages, as browsers send them. The best match among the project's languages is used for the "
    "messages; without a match, the language last known of the recipient, else the project's.",
    examples=["de-DE,de;q=0.9,en;q=0.8"],
)
REQUEST_ID = request_header(
    "X-Request-Id",
    "Your name for this request, which the answer carries: 1 to 64 characters of `A-Za-z0-9._-`. Anything else is "
    "replaced by an id of ours.",
)
CLIENT_ADDRESS = request_header(
    "X-Client-Address",
    "The end user's IP address, where a server of yours calls for them: limits, the traffic guard and challenges then "
    "go by it. It counts from the project's server addresses alone, and is ignored from anybody else. One that is no "
    "public address is a `validation_error`.",
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
    "Makes a repetition safe: the same key with the same body gives the same answer and sends nothing again, for 24 "
    "hours and per project. Bodies are compared as parsed JSON. Only successes are kept: after a refusal the same key "
    "may be used again."
)
VERIFY_KEY = _idempotency_key(
    "Lets a lost answer be read again: whoever repeats the call with the key that used the token up gets the same "
    "answer, as long as the token would be good."
)
REPLAYED = response_header(
    "Idempotency-Replayed",
    {"type": "string", "const": "true"},
    "Present only where this is the answer of an earlier request with the same `Idempotency-Key`.",
    statuses=[200],
)
ANSWER_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The request's id: yours if it was well formed, else ours.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Cache-Control": {
        "description": "Answers are never to be stored.",
        "required": True,
        "schema": {"type": "string", "const": "no-store"},
    },
    "Retry-After": {
        "description": "Whole seconds to wait; present where waiting helps.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "RateLimit-Policy": {
        "description": "The limits that this request counted against, by draft-ietf-httpapi-ratelimit-headers-10: the "
        "limit's name, `q` requests in `w` seconds. Absent where none holds for this caller.",
        "schema": {"type": "string", "examples": ['"creates_per_address";q=300;w=600']},
    },
    "RateLimit": {
        "description": "What is left of these limits: `r` requests and, where nothing is left, `t` seconds until it is "
        "whole again.",
        "schema": {"type": "string", "examples": ['"creates_per_address";r=297']},
    },
}
# The headers that some answers have.
SOMETIMES = ("Retry-After", "RateLimit-Policy", "RateLimit")
CALLBACK_HEADERS = {
    "webhook-id": "Names the event, the same at every try: `msg_` and the message's id, or `evt_` and the event's. "
    "Handle each one once.",
    "webhook-timestamp": "When this call was made, in seconds since 1970. Refuse what is older than five minutes.",
    "webhook-signature": "One or more signatures with a space between: `v1,` and the base64 of the HMAC-SHA256 of "
    "`<webhook-id>.<webhook-timestamp>.<body>`, keyed by the bytes that stand in base64 after `whsec_` in a webhook "
    "secret of the project. One that fits is enough; after a rotation two secrets sign.",
}
