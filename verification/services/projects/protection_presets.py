"""Presets of the traffic guard and of the rules on guessing: relaxed, standard and strict.

Standard is what a new project has. Relaxed takes two to three times as much before it acts, for apps with many honest
users behind few networks or prefixes. Strict takes about half, for apps under attack: it refuses some honest users.
"""

from __future__ import annotations

from typing import Any

from verification.models import Project
from verification.models.project_settings import SETTABLE_GROUPS
from verification.models.project_settings.protection import GuardMode

RELAXED, STANDARD, STRICT = "relaxed", "standard", "strict"
FIELDS = (*SETTABLE_GROUPS["Traffic guard"], *SETTABLE_GROUPS["Guessing"])

_DEFAULTS: dict[str, Any] = {name: getattr(Project(), name) for name in FIELDS}
PRESETS: dict[str, dict[str, Any]] = {
    RELAXED: {
        **_DEFAULTS,
        "guard_prefix_numbers": 30,
        "guard_country_sends": 60,
        "guard_country_percent": 10,
        "guard_country_day": 60,
        "guard_country_observe_days": 14,
        "guard_network_countries": 6,
        "guard_block_minutes": 15,
        "guard_block_max_minutes": 240,
        "guard_quiet_hours": 12,
        "guess_wrong_checks": 500,
        "guess_wrong_percent": 75,
        "guess_network_recipients": 120,
        "guess_same_value_sessions": 50,
        "guess_assumed": 80,
        "guess_heavy": 1_500,
        "guess_subnet_day": 120,
        "guess_subnet_tries": 6,
    },
    STANDARD: _DEFAULTS,
    STRICT: {
        **_DEFAULTS,
        "traffic_guard": GuardMode.ENFORCE,
        "traffic_guard_manual": True,
        "guard_prefix_numbers": 5,
        "guard_country_sends": 20,
        "guard_country_percent": 35,
        "guard_country_day": 10,
        "guard_country_observe_days": 0,
        "guard_network_countries": 2,
        "guard_block_minutes": 60,
        "guard_block_max_minutes": 1_440,
        "guard_quiet_hours": 48,
        "guess_wrong_checks": 100,
        "guess_wrong_percent": 50,
        "guess_network_recipients": 25,
        "guess_same_value_sessions": 10,
        "guess_assumed": 15,
        "guess_heavy": 250,
        "guess_subnet_day": 25,
        "guess_subnet_tries": 2,
    },
}


def preset_of(project: Project) -> str:
    """Return the preset that the project's values are those of; empty where they are none's."""
    values = {name: getattr(project, name) for name in FIELDS}
    return next((name for name, preset in PRESETS.items() if preset == values), "")
