"""The sections of a project's page: which settings stand on which, and the list of them at its side.

Each section has an address of its own, ``?section=limits``. The list also leads to the project's other pages, such as
its people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy

from verification.admin.base.current_project import SECTION, section_address
from verification.admin.projects.inlines import ChannelInline, FallbackInline, KeyInline, ProviderInline
from verification.models import AlertService, Project
from verification.models.project_settings import LIMITS, SECRETS, SETTABLE, SETTABLE_GROUPS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PROJECT, VERIFICATION = gettext_lazy("Project"), gettext_lazy("Verification")
PROTECTION, INTEGRATION = gettext_lazy("Protection"), gettext_lazy("Integration")
OPERATION = gettext_lazy("Alerts & data")
ADVANCED = gettext_lazy("Advanced")
SEND_LIMITS = ("sends_per_10_minutes", "sends_per_hour", "sends_per_day")  # that an owner changes first


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """A page of settings.

    ``fields`` come first; ``more`` are titles of closed groups, each with its fields. ``steps`` are the names of the
    project's actions that have a button here. ``changed_in`` is the model on whose list the settings are changed: the
    section then has no page, and the list at the side leads to that one.
    """

    slug: str
    part: StrOrPromise
    title: StrOrPromise
    about: StrOrPromise
    fields: tuple[str, ...] = ()
    more: tuple[tuple[StrOrPromise, tuple[str, ...]], ...] = ()
    inlines: tuple[Any, ...] = ()
    steps: tuple[str, ...] = ()
    has_presets: bool = False
    adds: str = ""  # the model of which the section has a button that adds a row
    changed_in: type[Model] | None = None

    @property
    def all_fields(self) -> tuple[str, ...]:
        return (*self.fields, *(name for _title, names in self.more for name in names))

    @property
    def fieldsets(self) -> list[tuple[StrOrPromise | None, dict[str, Any]]]:
        if self.changed_in:
            return []
        closed = [(title, {"fields": _served(names), "classes": ["collapse"]}) for title, names in self.more]
        return [(None, {"fields": _served(self.fields)}), *closed] if self.all_fields else []

    def address(self, project: Project) -> str:
        if self.changed_in is None:
            return section_address(project, self.slug)
        name = f"admin:verification_{self.changed_in._meta.model_name}_changelist"
        return reverse(name, query={"project": project.pk})


SECTIONS = (
    SettingsSection(
        "general",
        PROJECT,
        gettext_lazy("General"),
        gettext_lazy("Name and status."),
        ("name", "is_enabled", "site_url"),
        ((ADVANCED, ("is_sandbox", "public_id_text", "created")),),
    ),
    SettingsSection(
        "codes",
        VERIFICATION,
        gettext_lazy("Codes & texts"),
        gettext_lazy(
            "What a code looks like, in which languages it is sent, and how devices fill it in. To change the wording,"
            " open Message texts in the menu."
        ),
        ("code_length", "session_seconds", "language", "languages"),
        (
            (gettext_lazy("Autofill"), ("web_otp_domain", "android_hash")),
            (ADVANCED, ("assurance", "code_digits", "code_letters", "new_code_on_send", "code_in_subject")),
        ),
    ),
    SettingsSection(
        "channels",
        VERIFICATION,
        gettext_lazy("Channels"),
        gettext_lazy("The channels that send codes, and the fallback when a code is not delivered."),
        ("default_phone_channel", "default_email_channel"),
        inlines=(ChannelInline, FallbackInline),
        adds="channel",
    ),
    SettingsSection(
        "providers",
        VERIFICATION,
        gettext_lazy("Providers"),
        gettext_lazy("The project's accounts with vendors."),
        inlines=(ProviderInline,),
        adds="provider",
    ),
    SettingsSection(
        "countries",
        VERIFICATION,
        gettext_lazy("Countries"),
        gettext_lazy("The countries whose phone numbers get a code. Requests for other numbers are refused."),
        ("countries", "allow_voip", "extra_prefixes"),
    ),
    SettingsSection(
        "limits",
        PROTECTION,
        gettext_lazy("Limits"),
        gettext_lazy("Requests beyond a limit get HTTP 429 with the time to wait."),
        (*SEND_LIMITS, "server_addresses"),
        ((ADVANCED, tuple(name for name in LIMITS if name not in SEND_LIMITS)),),
    ),
    SettingsSection(
        "protection",
        PROTECTION,
        gettext_lazy("Fraud protection"),
        gettext_lazy(
            "Blocks SMS pumping and detects guessed codes. Active blocks are listed under Traffic guard in the menu."
        ),
        ("traffic_guard",),
        (
            (gettext_lazy("SMS pumping"), SETTABLE_GROUPS["Traffic guard"][1:]),
            (gettext_lazy("Guessed codes"), SETTABLE_GROUPS["Guessing"]),
        ),
        has_presets=True,
    ),
    SettingsSection(
        "risk",
        PROTECTION,
        gettext_lazy("Risk checks"),
        gettext_lazy(
            "Checks an unknown number with a service or your own server before you pay for an SMS or a call to it. Off"
            " until you choose a check."
        ),
        ("risk_sms", "risk_voice", "risk_fails_open", "risk_checks_per_day", "risk_prices"),
        (
            (gettext_lazy("Your server"), ("risk_callback_url",)),
            ("Twilio Lookup", ("risk_twilio_account", "risk_twilio_secret", "risk_max_score")),
            ("Vonage Identity Insights", ("risk_vonage_application", "risk_vonage_key", "risk_swap_hours")),
            (
                "CAMARA SIM Swap",
                ("risk_camara_url", "risk_camara_token_url", "risk_camara_client", "risk_camara_secret"),
            ),
        ),
    ),
    SettingsSection(
        "challenges",
        PROTECTION,
        gettext_lazy("Challenges"),
        gettext_lazy(
            "A challenge keeps bots out before a session is created or a code is sent. “On suspicion” asks only callers"
            " who look like bots."
        ),
        ("challenge_mode", "challenge_provider", "challenge_site_key", "challenge_secret"),
        ((ADVANCED, ("challenge_hosts", "challenge_min_score", "challenge_fails_open")),),
    ),
    SettingsSection(
        "keys",
        INTEGRATION,
        gettext_lazy("API keys"),
        gettext_lazy("Use an API key in apps and a secret key on your server."),
        inlines=(KeyInline,),
        steps=("issue_key",),
    ),
    SettingsSection(
        "access",
        INTEGRATION,
        gettext_lazy("Access"),
        gettext_lazy("Who may call the API with this project's keys."),
        ("origins", "secret_key_networks", "test_logins_enabled"),
        ((ADVANCED, ("twilio_endpoints",)),),
    ),
    SettingsSection(
        "events",
        INTEGRATION,
        gettext_lazy("Webhooks"),
        gettext_lazy(
            "Your server gets a signed request when a session is opened, verified, locked and so on. Failed deliveries"
            " are retried for a day and listed under Events in the menu."
        ),
        ("event_url", "events"),
        ((ADVANCED, ("event_recipients",)),),
        steps=("webhook_secret", "test_event"),
    ),
    SettingsSection(
        "alerts",
        OPERATION,
        gettext_lazy("Alert destinations"),
        gettext_lazy("Who is notified when a limit is reached, traffic is blocked or a provider fails."),
        SETTABLE_GROUPS["Alerts"],
        changed_in=AlertService,
    ),
    SettingsSection(
        "retention",
        OPERATION,
        gettext_lazy("Retention"),
        gettext_lazy("How long sessions, messages and recipients are kept."),
        SETTABLE_GROUPS["Retention"],
    ),
)
_BY_SLUG = {section.slug: section for section in SECTIONS if section.changed_in is None}
_SECTION_OF_STEP = {step: section.slug for section in SECTIONS for step in section.steps}


@dataclass(frozen=True, slots=True)
class SectionLink:
    """One line of the list at the side."""

    title: StrOrPromise
    link: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """A page of a project beside its settings, by the name of its action."""

    name: str
    title: StrOrPromise
    icon: str
    project: Project

    @property
    def link(self) -> str:
        return reverse(f"admin:verification_project_{self.name}", args=(self.project.pk,))


def section_of(request: HttpRequest) -> SettingsSection:
    """Return the section that the address names, by default the first."""
    return _BY_SLUG.get(request.GET.get(SECTION, ""), SECTIONS[0])


def section_with(field: str) -> SettingsSection:
    """Return the section that a setting stands on. Raises ``StopIteration`` for what is no setting."""
    return next(section for section in SECTIONS if field in section.all_fields)


def lines(
    request: HttpRequest, project: Project, pages: list[tuple[StrOrPromise, ProjectPage]]
) -> list[tuple[StrOrPromise, list[SectionLink]]]:
    """Return the list at the side, by its parts. ``pages`` are those that the user may open, each with its part."""
    own = section_address(project)
    match = request.resolver_match
    action = match.url_name.removeprefix("verification_project_") if match and match.url_name else ""
    current = section_of(request).slug if request.path == own else _SECTION_OF_STEP.get(action, "")
    if not current and request.path == reverse("admin:verification_alertservice_changelist"):
        current = "alerts"
    parts: dict[StrOrPromise, list[SectionLink]] = {}
    for section in SECTIONS:
        if _is_open(section, request, project):
            line = SectionLink(section.title, section.address(project), section.slug == current)
            parts.setdefault(section.part, []).append(line)
    for part, page in pages:
        parts.setdefault(part, []).append(SectionLink(page.title, page.link, page.name == action))
    return list(parts.items())


def _is_open(section: SettingsSection, request: HttpRequest, project: Project) -> bool:
    if section.changed_in is not None:
        return admin.site.get_model_admin(section.changed_in).has_view_permission(request)
    return bool(section.all_fields) or any(_is_shown(inline, request, project) for inline in section.inlines)


def _is_shown(inline: Any, request: HttpRequest, project: Project) -> bool:
    return bool(inline(Project, admin.site).has_view_permission(request, project))


def _served(names: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the settings of an app that is left out; a secret is the field that takes a new one."""
    known = [name for name in names if name in SETTABLE or not hasattr(Project, name)]
    return tuple(f"new_{name}" if name in SECRETS else name for name in known)
