"""A project's configuration as the hot path reads it: one snapshot, fresh to within a second in every process."""

from __future__ import annotations

import ipaddress
import logging
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from verification import sql
from verification.core.addresses import Address, AddressKind, parse_address, stored
from verification.models import ChallengeMode, ChallengeProvider, ChannelType
from verification.models.channels import SECONDS_AFTER_FALLBACK
from verification.models.project_settings import LIMITS, Assurance
from verification.services.projects import project_terms
from verification.services.projects.ceilings import CEILINGS, NO_CEILINGS, bounded
from verification.services.projects.channel_config import ChannelConfig, channel_of
from verification.services.projects.lists import Lists

log = logging.getLogger(__name__)

PUZZLE_PATH = "/session/challenge"


@dataclass(frozen=True, slots=True)
class GuardConfig:
    """The figures that the traffic guard compares a send with."""

    mode: str
    enforces_manual: bool
    prefix_numbers: int
    prefix_seconds: int
    block_seconds: int
    block_max_seconds: int
    quiet_seconds: int
    known_days: int  # 0 where no number passes as known
    network_countries: int
    least_percent: int  # of a network's sends that must be verified
    observes_countries: bool  # the project is so new that no country is refused for its conversion


@dataclass(frozen=True, slots=True)
class TestLoginConfig:
    """A live test login. A session is good for as long as the row has the revision that it was opened by."""

    __test__ = False  # not a test class, whatever its name says

    revision: str
    sealed_code: bytes = field(repr=False)


@dataclass(frozen=True)
class ChallengeConfig:
    """The way in which a project asks its callers to prove that they are no bots. ``api_key`` is public."""

    is_always: bool
    provider: str
    api_key: str
    hosts: frozenset[str]
    min_score: float
    fails_open: bool
    sealed_secret: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class RiskConfig:
    """Whom a project asks about numbers, by channel, and its accounts with them; ``sealed`` has its secrets."""

    checks: dict[str, tuple[str, ...]]
    fails_open: bool
    per_day: int  # 0 is any number
    prices: tuple[str, ...]
    account: dict[str, Any]
    sealed: dict[str, bytes] = field(repr=False)


class ProjectConfig:
    """One project's row, its usable channels and its live test logins.

    A channel without an enabled provider can send nothing and is not listed.
    """

    def __init__(self, row: dict[str, Any]) -> None:
        platform: dict[str, int] = row["platform"] or NO_CEILINGS
        self.id: int = row["id"]
        self.public_id: str = row["public_id"]
        self.name: str = row["name"]
        self.site_url: str = row["site_url"]
        self.is_stopped: bool = row["is_stopped"]  # whether the operator has stopped all sending
        self.is_sandbox: bool = row["is_sandbox"]  # a test project, whose messages reach nobody
        self.languages: tuple[str, ...] = tuple(row["languages"])
        self.language: str = row["language"]
        self._read_callers(row)
        self._read_codes(row)
        self._read_events(row)
        self._read_limits(row, platform)
        self._read_recipients(row)
        self._read_protection(row)
        self._read_channels(row, platform)
        self._terms: dict[tuple[AddressKind, bool, bool], Any] = {}

    def _read_callers(self, row: dict[str, Any]) -> None:
        self.origins = frozenset(row["origins"])
        self.server_addresses = frozenset(row["server_addresses"])
        self.secret_key_networks = tuple(ipaddress.ip_network(text) for text in row["secret_key_networks"])
        self.has_twilio_endpoints: bool = row["twilio_endpoints"]

    def _read_codes(self, row: dict[str, Any]) -> None:
        self.code_length: int = row["code_length"]
        self.code_digits: bool = row["code_digits"]
        self.code_letters: bool = row["code_letters"]
        self.new_code_on_send: bool = row["new_code_on_send"]
        self.session_seconds: int = row["session_seconds"]  # at the least; session_seconds_for has what holds

    def _read_events(self, row: dict[str, Any]) -> None:
        self.events = frozenset(row["events"])  # the events of sessions that the customer's server is told
        self.event_terms = {"types": sorted(self.events), "is_called": bool(row["event_url"])}
        self._events: dict[str, Any] = {"events": self.event_terms} if self.events else {}

    def _read_limits(self, row: dict[str, Any], platform: dict[str, int]) -> None:
        ceilings = {setting: platform[ceiling] for setting, ceiling in CEILINGS.items()}
        # By the names of the settings: each limit as it holds, the owner's or the operator's ceiling. 0 is none.
        self.limits: dict[str, int] = {name: bounded(row[name], ceilings.get(name, 0)) for name in LIMITS}
        self.wrong_limits = {window.setting: self.limits[window.setting] for window in project_terms.WRONG_CODES}
        self.send_limits = {window.setting: self.limits[window.setting] for window in project_terms.SENDS}
        # Safe lists are the owner's, the ceiling is not.
        self._safe_send_limits = {window.setting: ceilings.get(window.setting, 0) for window in project_terms.SENDS}
        self._guessing = {term: row[setting] for term, setting in project_terms.GUESSING.items()}
        self.platform_sms_a_day = 0 if self.is_sandbox else platform["sms_per_recipient_a_day"]

    def _read_recipients(self, row: dict[str, Any]) -> None:
        self.countries = frozenset(row["countries"])
        self.allow_voip: bool = row["allow_voip"]
        self.extra_prefixes: tuple[str, ...] = tuple(row["extra_prefixes"])
        self.lists = Lists(row["lists"])
        self.test_logins = {
            to: TestLoginConfig(revision, _bytes(sealed)) for to, (revision, sealed) in row["test_logins"].items()
        }

    def _read_protection(self, row: dict[str, Any]) -> None:
        self.guard = _guard(row)
        self.risk = _risk(row)
        self.challenge = self._challenge(row)  # None where challenges are off
        self.sandbox_challenge = self._puzzles() if self.is_sandbox else None
        # The running findings about callers, as {(rule, subject): their end by the monotonic clock}. The database says
        # how long they last; this machine's clock may tell another time.
        loaded_at = time.monotonic()
        self.findings: dict[tuple[str, str], float] = {
            (rule, subject): loaded_at + left for rule, subject, left in row["findings"]
        }

    def _read_channels(self, row: dict[str, Any], platform: dict[str, int]) -> None:
        self.active_channels = frozenset(item["type"] for item in row["channels"])  # served by a provider or not
        ceiling = platform["max_daily_budget"]
        channels = [channel_of(item, site_url=self.site_url, budget_ceiling=ceiling) for item in row["channels"]]
        # E-mail is no out-of-band authenticator (NIST SP 800-63B-4, section 3.1.3.1).
        self.barred_channels = {ChannelType.EMAIL.value} if row["assurance"] == Assurance.NIST else set()
        self.channels = {
            channel.type: channel
            for channel in channels
            if channel.providers and channel.type not in self.barred_channels
        }
        self.budgets = {
            channel.type: channel.daily_budget for channel in self.channels.values() if channel.daily_budget is not None
        }
        self.spent_costs = {  # the budgets in money that the messages of today, or of the month, have used up
            channel.type: channel.cost_budget for channel in self.channels.values() if channel.cost_budget is not None
        }
        self.spent_months = frozenset(channel.type for channel in self.channels.values() if channel.is_month_spent)
        self.fallback: dict[str, int] = dict(row["fallback"])  # seconds to wait, by channel, in the order of trial
        self._default_channels = {
            AddressKind.PHONE: row["default_phone_channel"],
            AddressKind.EMAIL: row["default_email_channel"],
        }

    def read_address(self, text: str) -> Address:
        """Return the recipient that a caller names. Raises :class:`verification.core.addresses.AddressInvalid`."""
        return parse_address(text, test_addresses=self.test_logins, extra_prefixes=self.extra_prefixes)

    def stored_address(self, text: str) -> Address:
        """Return the address of a row of the project's."""
        return stored(text, extra_prefixes=self.extra_prefixes)

    @property
    def hands_out_puzzles(self) -> bool:
        """Return whether our own challenge is asked for, by the project or by its sandbox."""
        challenges = (self.challenge, self.sandbox_challenge)
        return any(each and each.provider == ChallengeProvider.ALTCHA for each in challenges)

    def send_limits_for(self, *, is_unlimited: bool) -> dict[str, int]:
        """Return the limits of sends; without limits only the operator's ceiling."""
        return self._safe_send_limits if is_unlimited else self.send_limits

    def wrong_limits_for(self, *, is_simulated: bool) -> dict[str, int]:
        """Return the limits of wrong codes; none in the sandbox."""
        return dict.fromkeys(self.wrong_limits, 0) if is_simulated else self.wrong_limits

    def terms_for(self, kind: AddressKind, *, is_unlimited: bool, is_simulated: bool) -> Any:
        """Return the terms for such recipients, as the SQL functions take them: serialised once for each kind."""
        key = kind, is_unlimited, is_simulated
        if key not in self._terms:
            self._terms[key] = project_terms.serialised(
                {
                    "language": self.language,
                    "draws_new_code": self.new_code_on_send,
                    "sends": project_terms.limits_of(
                        project_terms.SENDS, self.send_limits_for(is_unlimited=is_unlimited)
                    ),
                    "wrong_codes": project_terms.wrong_code_limits(self.wrong_limits_for(is_simulated=is_simulated)),
                    "strangers": self._guessing,
                    # A budget of no message refuses the next one, which is what one in money means once it is spent.
                    "budgets": {**self.budgets, **dict.fromkeys(self.spent_costs, 0)},
                    "waits": self._waits_for(kind),
                    "messengers": self.messengers_for(kind),
                    "platform_sms_a_day": self.platform_sms_a_day,
                    **self._events,
                }
            )
        return self._terms[key]

    def session_seconds_for(self, kind: AddressKind) -> int:
        """Return how long a new session of such recipients lives: as its slowest channel asks, whichever it goes over.

        So its end is known from the start. A user who changes the channel neither gains nor loses time.
        """
        return max([self.session_seconds, *(channel.session_seconds for channel in self.channels_for(kind))])

    def _waits_for(self, kind: AddressKind) -> dict[str, int]:
        """Return the waits of the fall-back, none so long that the next channel has no time left."""
        longest = self.session_seconds_for(kind) - SECONDS_AFTER_FALLBACK
        return {channel: min(seconds, longest) for channel, seconds in self.fallback.items()}

    @cached_property
    def terms_of_check(self) -> Any:
        """The terms for checking a code, which are the same for every recipient outside the sandbox."""
        return self._terms_of_check(self.wrong_limits)

    @cached_property
    def terms_of_simulated_check(self) -> Any:
        """The terms for checking a code of a recipient of the sandbox."""
        return self._terms_of_check(self.wrong_limits_for(is_simulated=True))

    def _terms_of_check(self, limits: dict[str, int]) -> Any:
        return project_terms.serialised(
            {"wrong_codes": project_terms.wrong_code_limits(limits), "strangers": self._guessing, **self._events}
        )

    def channels_for(self, kind: AddressKind) -> list[ChannelConfig]:
        """The channels for this kind of recipient in the project's order."""
        is_email = kind is AddressKind.EMAIL
        return [channel for channel in self.channels.values() if (channel.type == ChannelType.EMAIL) == is_email]

    def preferred_channels(self, kind: AddressKind) -> list[ChannelConfig]:
        """The same, with the project's default for that kind first."""
        default = self._default_channels[kind]
        return sorted(self.channels_for(kind), key=lambda channel: channel.type != default)

    def messengers_for(self, kind: AddressKind) -> dict[str, dict[str, list[int]]]:
        """The messengers for this kind of recipient with their providers, as the SQL functions ask for them."""
        return {channel.type: channel.reach for channel in self.channels_for(kind) if channel.is_messenger}

    def _challenge(self, row: dict[str, Any]) -> ChallengeConfig | None:
        mode, provider, secret = row["challenge_mode"], row["challenge_provider"], row["challenge_secret"]
        if mode == ChallengeMode.OFF:
            return None
        return ChallengeConfig(
            is_always=mode == ChallengeMode.ALWAYS,
            provider=provider,
            api_key=self._puzzle_url() if provider == ChallengeProvider.ALTCHA else row["challenge_site_key"],
            hosts=frozenset(row["challenge_hosts"] or (urlsplit(origin).hostname or "" for origin in row["origins"])),
            min_score=row["challenge_min_score"],
            fails_open=row["challenge_fails_open"],
            sealed_secret=secret and _bytes(secret),
        )

    def _puzzle_url(self) -> str:
        return f"{settings.BASE_URL}{PUZZLE_PATH}?project={self.public_id}"

    def _puzzles(self) -> ChallengeConfig:
        """Return our own challenge, as the sandbox asks for it."""
        return ChallengeConfig(
            is_always=True,
            provider=ChallengeProvider.ALTCHA,
            api_key=self._puzzle_url(),
            hosts=frozenset(),
            min_score=0.0,
            fails_open=False,
            sealed_secret=None,
        )


def _guard(row: dict[str, Any]) -> GuardConfig:
    return GuardConfig(
        mode=row["traffic_guard"],
        enforces_manual=row["traffic_guard_manual"],
        prefix_numbers=row["guard_prefix_numbers"],
        prefix_seconds=row["guard_prefix_minutes"] * 60,
        block_seconds=row["guard_block_minutes"] * 60,
        block_max_seconds=row["guard_block_max_minutes"] * 60,
        quiet_seconds=row["guard_quiet_hours"] * 3600,
        known_days=row["guard_known_days"],
        network_countries=row["guard_network_countries"],
        least_percent=row["guard_country_percent"],
        observes_countries=row["observes_countries"],
    )


def _risk(row: dict[str, Any]) -> RiskConfig:
    accounts = ("max_score", "swap_hours", "callback_url", "twilio_account", "vonage_application", "camara_url")
    secrets = ("twilio_secret", "vonage_key", "camara_secret")
    return RiskConfig(
        checks={channel: tuple(row[f"risk_{channel}"]) for channel in ("sms", "voice")},
        fails_open=row["risk_fails_open"],
        per_day=row["risk_checks_per_day"],
        prices=tuple(row["risk_prices"]),
        account={name: row[f"risk_{name}"] for name in (*accounts, "camara_token_url", "camara_client")},
        sealed={name: _bytes(row[f"risk_{name}"]) for name in secrets if row[f"risk_{name}"]},
    )


def _bytes(text: str) -> bytes:
    """A ``bytea`` as PostgreSQL's JSON has it."""
    return bytes.fromhex(text.removeprefix("\\x"))


def load_project(project_id: int) -> ProjectConfig | None:
    """An enabled project's configuration as it stands now."""
    row = sql.call("load_project", project=project_id)
    return ProjectConfig(row.project) if row else None


def load_public_project(public_id: str) -> ProjectConfig | None:
    """The same, by the id that pages may know."""
    row = sql.call("load_public_project", public_id=public_id)
    return ProjectConfig(row.project) if row else None
