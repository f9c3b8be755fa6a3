"""The unit of each setting that is a number, as the panel writes it behind the field."""

from django.utils.translation import gettext_lazy as _

UNITS = {
    "sends_per_10_minutes": _("messages"),
    "sends_per_hour": _("messages"),
    "sends_per_day": _("messages"),
    "wrong_codes_per_15_minutes": _("wrong codes"),
    "wrong_codes_per_day": _("wrong codes"),
    "creates_per_address": _("sessions in 10 minutes"),
    "requests_per_second": _("requests per second"),
    "guard_prefix_numbers": _("numbers"),
    "guard_prefix_minutes": _("minutes"),
    "guard_country_sends": _("messages"),
    "guard_country_percent": "%",
    "guard_country_minutes": _("minutes"),
    "guard_block_minutes": _("minutes"),
    "guard_block_max_minutes": _("minutes"),
    "guard_quiet_hours": _("hours"),
    "guess_minutes": _("minutes"),
    "guess_wrong_checks": _("wrong codes"),
    "guess_wrong_percent": "%",
    "guess_network_recipients": _("recipients"),
    "guess_same_value_sessions": _("sessions"),
    "guess_assumed": _("wrong codes in 5 minutes"),
    "guess_heavy": _("wrong codes in 5 minutes"),
    "guess_subnet_day": _("wrong codes per day"),
    "guess_subnet_tries": _("wrong codes per day"),
    "challenge_min_score": _("from 0 to 1"),
    "balance_alert_days": _("days"),
    "retention_days": _("days"),
}
