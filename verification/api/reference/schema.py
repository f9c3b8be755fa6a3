"""The parts of the API's description: keys, headers, and every way in which an operation can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from drf_spectacular.utils import (
    OpenApiCallback,
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)
from rest_framework.serializers import Serializer

from verification.api.reference import error_guide
from verification.api.reference.headers import ANSWER_HEADERS, CALLBACK_HEADERS, REQUEST_ID, SOMETIMES
from verification.api.serializers.errors import Problem
from verification.core.error_codes import CATALOGUE

SESSION, VERIFY, RECORDS, MANUAL, EVENTS = "Session", "Verify", "Session records", "Manual", "Events"
TAGS = [
    {
        "name": SESSION,
        "description": "Called by your client with an **API key**: in a browser, in an app or on your server. "
        "Browsers can read the answers only on origins that the project lists.",
    },
    {
        "name": VERIFY,
        "description": "Called by your server only, with a **secret key**: your server decides who may log in.",
    },
    {
        "name": RECORDS,
        "description": "Sessions as your server sees them, read, listed and cancelled with a **secret key**.",
    },
    {
        "name": MANUAL,
        "description": "Send your own messages and read their status, from your server with a **secret key**.",
    },
    {
        "name": EVENTS,
        "description": "What happened in the project: sent to your server, or read by it with a **secret key**.",
    },
]


OVERVIEW = Path(__file__).with_name("overview.md")

View = TypeVar("View", bound=Callable[..., Any])

PROBLEM_JSON = "application/problem+json"
ALWAYS = (  # what any operation may answer
    "host_not_allowed",
    "rate_limited",
    "internal_error",
    "service_unavailable",
)
WITH_KEY = ("missing_api_key", "invalid_api_key", "wrong_key_kind")
WITH_BODY = ("parse_error", "validation_error", "body_too_large", "unsupported_media_type")

REASONS = {
    400: "The request is wrong",
    401: "No valid key",
    403: "Not allowed",
    404: "Not found",
    409: "Not possible in this state",
    410: "Expired",
    405: "Wrong method",
    413: "Too large",
    415: "Not JSON",
    429: "Too many",
    500: "Internal error",
    503: "Temporarily unavailable",
}
RETRY_STATUSES = ("429", "503")
# What counts against a limit of the caller, and the statuses that tell it; the puzzles take no key.
LIMITED = ("createSession", "sendMessage", "readChallenge")
LIMITED_STATUSES = ("200", "429")
RETRY_CODES = ("idempotency_conflict",)  # at another status

# --- keys --------------------------------------------------------------------------------------------------------


API_KEY, SECRET_KEY = "ApiKey", "SecretKey"
KEYS = {
    API_KEY: {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "An API key, `ww_api_…`. You can use it in a browser or an app: it can start and check a "
        "verification, but cannot read who was verified.",
    },
    SECRET_KEY: {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "A secret key, `ww_secret_…`. Keep it on your server; it must never reach a browser or an app. "
        "To try requests on this page, use the key of a test project.",
    },
}

_NULL = {"$ref": "#/components/schemas/Null"}


def _link(operation: str, description: str, **parameters: str) -> dict[str, Any]:
    return {"operationId": operation, "description": description, **({"parameters": parameters} if parameters else {})}


_SESSION_ID = "$response.body#/session_id"
# Links from an operation's answer to the operations that can be called with it. A member of a body is told in words, as
# tools that read links take a body as plain text.
LINKS = {
    "createSession": {
        "check": _link("checkSession", "Check what the user typed: `session_id` goes into the body."),
        "send": _link("sendSession", "Send the code again: `session_id` goes into the body."),
        "channels": _link("listSessionChannels", "The channels of this session.", session_id=_SESSION_ID),
        "delivery": _link("readSessionDelivery", "Whether its code arrived.", session_id=_SESSION_ID),
        "settings": _link("readSessionSettings", "The settings of this session.", session_id=_SESSION_ID),
        "read": _link("readSession", "The session, for your server.", session_id=_SESSION_ID),
        "cancel": _link("cancelSession", "End it early, from your server.", session_id=_SESSION_ID),
    },
    "checkSession": {
        "verify": _link("verifySession", "Redeem the token on your server: `verify_token` goes into the body."),
    },
    "sendMessage": {
        "message": _link("readMessage", "Read the message's status.", id="$response.body#/message_id"),
    },
}

# --- operations --------------------------------------------------------------------------------------------------


def operation(
    name: str,
    *,
    tag: str,
    summary: str,
    description: str,
    answer: Any,
    answer_example: Any,
    answer_description: str,
    request: Any = None,
    request_examples: dict[str, Any] | None = None,
    parameters: Iterable[OpenApiParameter | type[Serializer[Any]]] = (),
    errors: Iterable[str] = (),
    callbacks: list[OpenApiCallback] | None = None,
    key: str | None = API_KEY,
) -> Callable[[View], View]:
    """Make the decorator that describes one view's method. ``errors`` are its codes beside those that any may answer.

    Where the answer is a list, ``answer_example`` is one item. ``key`` names the kind of key; None needs none.
    """
    codes = {*ALWAYS, *errors, *(WITH_KEY if key else ()), *(WITH_BODY if request else ())}
    return extend_schema(
        operation_id=name,
        tags=[tag],
        summary=summary,
        description=description,
        request=request,
        parameters=[*parameters, REQUEST_ID],
        responses={
            200: OpenApiResponse(
                answer, description=answer_description, examples=[OpenApiExample("Success", value=answer_example)]
            ),
            **problems(codes),
        },
        callbacks=callbacks,
        auth=[{key: []}] if key else [],  # type: ignore[list-item]  # OpenAPI has objects here, the annotation names
        examples=[
            OpenApiExample(title, value=value, request_only=True) for title, value in (request_examples or {}).items()
        ],
    )


def problems(codes: set[str]) -> dict[tuple[int, str], OpenApiResponse]:
    """Return the responses for these codes: one for each status, with one example for each code."""
    by_status: dict[int, list[str]] = {}
    for code, words in CATALOGUE.items():
        if code in codes:
            by_status.setdefault(words.status, []).append(code)
    return {
        (status, PROBLEM_JSON): OpenApiResponse(
            Problem,
            description=f"{REASONS[status]}: " + ", ".join(f"`{code}`" for code in found),
            examples=[
                OpenApiExample(
                    code,
                    summary=CATALOGUE[code].title,
                    value=error_guide.example(code, settings.BASE_URL),
                )
                for code in found
            ],
        )
        for status, found in sorted(by_status.items())
    }


def with_shapes_of_webhooks(result: dict[str, Any], generator: Any, **_: Any) -> dict[str, Any]:
    """Add the shapes that only webhooks have, which the generator reads after the others."""
    result["components"] = generator.registry.build({})
    return result


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add what decorators and serializers cannot tell the generator. This is a postprocessing hook."""
    components = result["components"]
    result["info"]["description"] = OVERVIEW.read_text()
    result["tags"] = TAGS
    components["securitySchemes"] = KEYS
    components["headers"] = ANSWER_HEADERS
    components["examples"] = {}
    # Either a phone number or an e-mail address.
    components["schemas"]["SessionVerifyResponse"].update(minProperties=1, maxProperties=1)
    # Either the message or its recipient: a null beside it is left out.
    report = components["schemas"]["ManualVerifiedRequest"]
    report.update(minProperties=1, maxProperties=1)
    report["properties"]["message_id"]["type"], report["properties"]["to"]["type"] = "integer", "string"
    # The channel by one of its two names.
    components["schemas"]["SessionCreateRequest"]["not"] = {"required": ["type", "channel"]}
    for path in result["paths"].values():
        for described in path.values():
            described.setdefault("security", [])  # without it a reader takes the key for forgotten
            for status, response in described["responses"].items():
                _share_examples(response["content"], components["examples"])
                _add_headers(described["operationId"], status, response)
            if links := LINKS.get(described["operationId"]):
                described["responses"]["200"]["links"] = links
            for callback in described.get("callbacks", {}).values():
                _complete_callback(callback)
    for name, path in result["webhooks"].items():
        _complete_webhook(name, path["post"])
    _keep_generators_happy(components["schemas"])
    return result


def _add_headers(operation_id: str, status: str, response: dict[str, Any]) -> None:
    codes = {code for media in response["content"].values() for code in media.get("examples", {})}
    names = [name for name in ANSWER_HEADERS if name not in SOMETIMES]
    if status in RETRY_STATUSES or not codes.isdisjoint(RETRY_CODES):
        names.append("Retry-After")
    if operation_id in LIMITED and status in LIMITED_STATUSES:
        names += ["RateLimit-Policy", "RateLimit"]
    references = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    response["headers"] = {**references, **response.get("headers", {})}


def _complete_callback(callback: dict[str, Any]) -> None:
    for path in callback.values():
        path["post"] |= {"operationId": "messageFinished", "security": [], "parameters": _signed()}


def _complete_webhook(name: str, description: dict[str, Any]) -> None:
    """Narrow the body of an event to its type."""
    subject, _, verb = name.partition(".")
    description |= {"operationId": f"{subject}{verb.capitalize()}", "security": [], "parameters": _signed()}
    if subject == "message":  # whose body does not say its type
        description["operationId"] = "messageFinishedEvent"  # beside the callback of that name
        return
    media = description["requestBody"]["content"]["application/json"]
    media["schema"] = {"allOf": [media["schema"], {"type": "object", "properties": {"type": {"const": name}}}]}


def _signed() -> list[dict[str, Any]]:
    return [
        {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": text}
        for name, text in CALLBACK_HEADERS.items()
    ]


def _share_examples(content: dict[str, Any], shared: dict[str, Any]) -> None:
    """Move the examples of problems to the components, one for each code. Answers name them by their codes."""
    if PROBLEM_JSON not in content:
        return
    media = content[PROBLEM_JSON]
    by_code = {example["value"]["code"]: example for example in media["examples"].values()}
    shared.update(by_code)
    media["examples"] = {code: {"$ref": f"#/components/examples/{code}"} for code in by_code}


def _keep_generators_happy(schemas: dict[str, Any]) -> None:
    """Write some components in place that would each become a type of its own in generated clients.

    A component for null becomes a class, and an enum that repeats another's words does not compile in Go. Of the types
    of events, `session.verified` and others are told apart by names of their own from the codes of errors; so are the
    states of sessions and of deliveries from those of messages.
    """
    schemas.pop("Null")
    _write_null_in_place(schemas)
    final = schemas.pop("FinalStatus")["enum"]
    for name in ("ManualMessageFinished", "MessageFinished"):
        finished = schemas[name]["properties"]["status"]
        finished.pop("allOf")
        finished.update(type="string", enum=final)
    for schema, prefix in (("SessionEventType", "EVENT"), ("SessionState", "STATE"), ("DeliveryStatus", "DELIVERY")):
        values = schemas[schema]
        values["x-enum-varnames"] = [f"{prefix}_{name.replace('.', '_').upper()}" for name in values["enum"]]


def _write_null_in_place(node: Any) -> None:
    if isinstance(node, dict):
        for key in ("oneOf", "anyOf"):
            if key in node:
                node[key] = [{"type": "null"} if one == _NULL else one for one in node[key]]
        for value in node.values():
            _write_null_in_place(value)
    elif isinstance(node, list):
        for value in node:
            _write_null_in_place(value)
