"""The settings of drf-spectacular, which describes the endpoints. What serves them is verification/api/base.py."""

from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
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
            "SessionEventType": "verification.api.reference.event_shapes.SESSION_EVENT_TYPES",
            "MessageStatus": "verification.api.reference.shapes.MESSAGE_STATUSES",
            "FinalStatus": "verification.api.reference.shapes.FINAL_STATUSES",
            "ChallengeProvider": "verification.models.ChallengeProvider",
            "ErrorCode": "verification.api.reference.shapes.ERROR_CODES",
            "FieldErrorCode": "verification.api.reference.shapes.FIELD_ERRORS",
            "CodeLength": "verification.api.reference.shapes.CODE_LENGTHS",
        },
        "WEBHOOKS": [
            "verification.api.reference.event_operations.opened",
            "verification.api.reference.event_operations.verified",
            "verification.api.reference.event_operations.locked",
            "verification.api.reference.event_operations.expired",
            "verification.api.reference.event_operations.refused",
        ],
        "POSTPROCESSING_HOOKS": [
            "verification.api.reference.schema.with_shapes_of_webhooks",
            "drf_spectacular.hooks.postprocess_schema_enums",
            "verification.api.reference.schema.complete",
        ],
    }
