"""Problem documents: the answer to everything that fails."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from verification.core.error_codes import CATALOGUE
from verification.core.session_rules import WRONG_CODES_THAT_LOCK
from verification.models import ChallengeProvider, ChannelType

ERROR_CODES = [(code, words.title) for code, words in CATALOGUE.items()]
FIELD_ERRORS = [
    ("required", "the field is missing"),
    ("null", "a required field is null"),
    ("invalid_type", "the value has another JSON type; nothing is converted"),
    ("blank", "the text is empty"),
    ("too_long", "the text is longer than allowed"),
    ("invalid_choice", "not one of the listed values"),
    ("invalid", "not in the described format"),
    ("unknown", "well formed, but there is no such thing"),
    ("repeated", "the query parameter appears twice"),
    ("unexpected", "not accepted here; `detail` says what to use instead"),
]


LIMITS = [
    ("creates_per_address", "session creates from the client address"),
    ("requests_per_second", "requests of the project in a second"),
    ("unknown_keys", "unknown keys from the client address"),
    ("wrong_proofs", "calls of a connection without its credentials, from the client address"),
    ("wrong_codes", "wrong codes from the client's network"),
    ("failed_challenges", "failed challenges from the client address"),
    ("puzzles_per_address", "puzzles for the client address"),
    ("daily_budget", "the channel's budget of the day (UTC)"),
    ("monthly_budget", "the channel's budget of the month (UTC)"),
    ("hooks_per_second", "reports of the project's providers in a second"),
]

PROBLEM_DOCS = "/docs/errors/"


def problem_address(base_url: str, code: str) -> str:
    """Return the address of the page that explains a code: the ``type`` of its problem documents."""
    return f"{base_url}{PROBLEM_DOCS}{code}/"


class FieldProblem(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="The name of the field, query parameter or header.")
    code = serializers.ChoiceField(FIELD_ERRORS, help_text="What is wrong with it, for machines.")
    detail = serializers.CharField(help_text="What is wrong with it, for people.")


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457): the answer to everything that fails. Further members may be added."""

    type = serializers.URLField(help_text="The page that explains this code.")
    title = serializers.CharField(help_text="The code in words; always the same for one code.")
    status = serializers.IntegerField(min_value=400, max_value=599, help_text="The HTTP status, repeated.")
    code = serializers.ChoiceField(
        ERROR_CODES, help_text="The stable value to program against. Later versions may add codes."
    )
    detail = serializers.CharField(help_text="What happened this time, in English, for people.")
    request_id = serializers.CharField(
        help_text="The request's id, as in `X-Request-Id`. The operator can find a 500 in the log by it."
    )
    errors = FieldProblem(  # type: ignore[assignment]  # a field of this name hides the serializer's own property
        many=True, required=False, help_text="With `validation_error`: every wrong field."
    )
    retry_after = serializers.IntegerField(
        required=False, min_value=0, help_text="Whole seconds to wait, if waiting helps; also in `Retry-After`."
    )
    limit = serializers.ChoiceField(
        LIMITS, required=False, help_text="With `rate_limited`: which limit it was. Later versions may add names."
    )
    channels = serializers.ListField(
        child=serializers.ChoiceField(ChannelType.choices),
        required=False,
        help_text="With a used-up budget: other channels of the project, over which a code may go to the recipient.",
    )
    attempts_left = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=max(WRONG_CODES_THAT_LOCK.values()) - 1,
        help_text="With `invalid_code`: how many attempts remain.",
    )
    provider = serializers.ChoiceField(
        ChallengeProvider.choices, required=False, help_text="With `challenge_required`: whose widget to show."
    )
    api_key = serializers.CharField(
        required=False, help_text="With `challenge_required`: the site key for the widget, as in session/settings."
    )
    link = serializers.URLField(required=False, help_text="With `channel_not_active`: the link that opens the bot.")
