"""The settings of Django REST framework, which serves the API, and of drf-spectacular, which describes it."""

from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["verification.api.authentication.KeyAuthentication"],
    "DEFAULT_PARSER_CLASSES": ["verification.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["verification.api.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "verification.api.renderers.IgnoreClientContentNegotiation",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "verification.api.exceptions.handle",
    "UNAUTHENTICATED_USER": None,
}


def spectacular(version: str, base_url: str) -> dict[str, Any]:
    """Return the settings of drf-spectacular for this version at this address."""
    return {
        "OAS_VERSION": "3.1.0",
        "TITLE": "Watchword API",
        "VERSION": version,
        "LICENSE": {"name": "MIT", "identifier": "MIT"},
        "SERVERS": [{"url": base_url}],
        "SERVE_URLCONF": "verification.api.urls",
        "SERVE_INCLUDE_SCHEMA": False,
        "SORT_OPERATIONS": False,
        "SORT_OPERATION_PARAMETERS": False,
        "ENUM_SUFFIX": "",
        "ENUM_NAME_OVERRIDES": {
            "Channel": "verification.models.ChannelType",
            "SessionEventType": "verification.api.serializers.events.SESSION_EVENT_TYPES",
            "MessageStatus": "verification.api.serializers.manual.MESSAGE_STATUSES",
            "SessionState": "verification.api.serializers.session_record.SESSION_STATES",
            "DeliveryStatus": "verification.api.serializers.session.DELIVERY_STATUSES",
            "FinalStatus": "verification.api.serializers.manual.FINAL_STATUSES",
            "ChallengeProvider": "verification.models.ChallengeProvider",
            "ErrorCode": "verification.api.serializers.errors.ERROR_CODES",
            "FieldErrorCode": "verification.api.serializers.errors.FIELD_ERRORS",
            "CodeLength": "verification.api.serializers.session.CODE_LENGTHS",
        },
        "WEBHOOKS": [
            "verification.api.reference.event_operations.opened",
            "verification.api.reference.event_operations.verified",
            "verification.api.reference.event_operations.locked",
            "verification.api.reference.event_operations.expired",
            "verification.api.reference.event_operations.refused",
            "verification.api.reference.event_operations.undelivered",
            "verification.api.reference.event_operations.finished",
        ],
        "POSTPROCESSING_HOOKS": [
            "verification.api.reference.schema.with_shapes_of_webhooks",
            "drf_spectacular.hooks.postprocess_schema_enums",
            "verification.api.reference.schema.complete",
        ],
    }
