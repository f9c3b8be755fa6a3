"""A project's settings: set from text, and judged where one field alone cannot tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers.challenges import VENDORS, is_dummy_secret
from providers.errors import AddressBlocked
from providers.http.ssrf import check_url
from providers.registry import BOOLEANS, UnknownAdapter, adapter_class
from providers.risk import CHECKS, vonage_identity
from verification.core import crypto
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.core.errors import UserError
from verification.core.numbers import whole_number
from verification.core.session_rules import NIST_SESSION_SECONDS
from verification.models import (
    ChallengeMode,
    ChallengeProvider,
    Channel,
    ChannelType,
    Message,
    Project,
    Provider,
    Session,
)
from verification.models.bounds import lock
from verification.models.project_settings import SECRETS, SENT_TO, SETTABLE, Assurance
from verification.services.projects.ceilings import CEILINGS, require_below_ceiling, require_budget_below_ceiling
from verification.services.texts.own import check_name, without_text

_DECIMAL = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?")
ROW = NON_FIELD_ERRORS  # the name of what no single field has done wrong
LANGUAGES = {"language", "languages"}  # settings that messages are worded by
CALLED = {
    "alert_url",
    "event_url",
    "risk_callback_url",
    "risk_camara_url",
    "risk_camara_token_url",
}  # addresses that the service calls
ENTER_AGAIN = gettext_lazy("enter it again, because it would be sent to a different server")
_OPENS_RECIPIENTS = {
    "event_recipients": gettext_lazy("Only members who can see full addresses may turn this on."),
    "event_url": gettext_lazy("Events tell full addresses, so only members who can see them may change this."),
}
NOWHERE = {"", ChallengeProvider.ALTCHA}  # values of settings that name servers, to which nothing is sent
_RULES = {  # by the name of the database's constraint
    "project_code_alphabet": gettext_lazy("code_digits, code_letters: a code needs digits, letters or both."),
}


def set_settings(project: Project, values: Mapping[str, str]) -> None:
    """Set fields by the names of :data:`SETTABLE` from text, as a command line gives it. Lists are comma-separated.

    The row is not saved. Raises :class:`UserError` with one sentence.
    """
    for name, text in values.items():
        if name not in SETTABLE:
            raise UserError(
                _("There is no setting {name!r}. Settings: {names}.").format(name=name, names=", ".join(SETTABLE))
            )
        is_secret = name in SECRETS
        field = Project._meta.get_field(name)
        value = seal_secret(project, name, text) if is_secret else read_text(field, text.strip())
        setattr(project, name, value)
    require_sound(project, values.keys())
    require_texts(project, values.keys() & LANGUAGES)


# Of a channel, by these names after its own: ``sms.daily_budget``.
CHANNEL_SETTABLE = (
    "is_active",
    "countries",
    "session_seconds",
    "daily_budget",
    "daily_cost_budget",
    "monthly_cost_budget",
)


def set_channel(project: Project, channel: str, values: Mapping[str, str]) -> Channel:
    """Set fields of one of the project's channels from text, and save them. An empty text stands for the default.

    Raises :class:`UserError`; then nothing is changed.
    """
    lock(project)
    row = Channel.objects.filter(project=project, type=channel).first()
    if row is None:
        raise UserError(_("{project} has no channel {channel!r}.").format(project=project, channel=channel))
    for name, text in values.items():
        if name not in CHANNEL_SETTABLE:
            raise UserError(
                _("There is no setting {name!r}. Settings: {names}.").format(
                    name=f"{channel}.{name}", names=", ".join(f"{channel}.{each}" for each in CHANNEL_SETTABLE)
                )
            )
        field: Any = Channel._meta.get_field(name)
        setattr(row, name, None if field.null and not text.strip() else read_text(field, text.strip()))
    if "daily_budget" in values:
        require_budget_below_ceiling(row.daily_budget)
    try:
        row.full_clean()
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        raise UserError(f"{channel}.{name}: {texts[0]}") from None
    row.save(update_fields=list(values))
    return row


def require_texts(project: Project, changed: Collection[str]) -> None:
    """Raises :class:`UserError` for languages in which every message would be in English."""
    for name in sorted(changed):
        value = getattr(project, name)
        if missing := without_text(project, [value] if isinstance(value, str) else value):
            raise UserError(
                _("{name}: there is no default or custom text in {languages}. Add one first.").format(
                    name=name, languages=", ".join(missing)
                )
            )


def require_sound(project: Project, changed: Collection[str]) -> None:
    """Clean a row that is to be saved. Raises :class:`UserError` with one sentence."""
    for name, text in all_faults(project, changed).items():
        raise UserError(text if name == ROW else f"{name}: {text}")


def all_faults(project: Project, changed: Collection[str]) -> dict[str, str]:
    """Clean a row. Return by field, or for the whole row, why it must not be saved."""
    try:
        project.full_clean(validate_constraints=False)
        if found := faults(project, changed):
            return found
        project.validate_constraints()
    except ValidationError as error:
        found = {name: texts[0] for name, texts in error.message_dict.items()}
        if ROW in found:
            found[ROW] = next((str(text) for rule, text in _RULES.items() if rule in found[ROW]), found[ROW])
        return found
    return {}


def faults(project: Project, changed: Collection[str]) -> dict[str, str]:
    """Return by field why a row must not be saved, beyond what each field refuses by itself.

    ``changed`` names the fields that were set just now, secrets that were given as they are stored among them. An older
    value may be over a ceiling that came later.
    """
    judges: dict[str, Callable[[], None]] = {
        "challenge_mode": lambda: check_challenge(project),
        "risk_sms": lambda: check_risk(project),
        "assurance": lambda: check_assurance(project),
        "name": lambda: check_name(project),
    }
    if "is_sandbox" in changed and project.pk:
        judges["is_sandbox"] = lambda: check_kind(project)
    for name in CALLED & set(changed):
        if url := getattr(project, name):
            judges[name] = partial(check_called_url, url)
    found = _faults_of_secrets(project, changed)
    for name in CEILINGS.keys() & set(changed):
        judges[name] = partial(require_below_ceiling, name, getattr(project, name))
    for name, judge in judges.items():
        try:
            judge()
        except UserError as error:
            found[name] = str(error)
    return found


def server_of(value: object) -> str:
    """Return the part of a setting that decides which server is meant: of a URL without path and query."""
    text = str(value).lower()
    parts = urlsplit(text)
    if not parts.netloc:
        return text
    port = {"https": ":443", "http": ":80"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.removesuffix(port)}"


def _faults_of_secrets(project: Project, changed: Collection[str]) -> dict[str, str]:
    """Return the stored secrets that would go to another server than they were entered for.

    Whoever may change an address could else have a secret that no page shows sent to a server of their own.
    """
    kept = [name for name in SENT_TO if name not in changed and getattr(project, name)]
    at_risk = {name: SENT_TO[name] for name in kept if not set(changed).isdisjoint(SENT_TO[name])}
    before = Project.objects.filter(pk=project.pk).first() if at_risk else None
    if before is None:
        return {}

    def is_moved(address: str) -> bool:
        server = server_of(getattr(project, address))
        return server not in NOWHERE and server != server_of(getattr(before, address))

    return {name: str(ENTER_AGAIN) for name, addresses in at_risk.items() if any(map(is_moved, addresses))}


def faults_of_opening(project: Project, changed: Collection[str]) -> dict[str, str]:
    """Return by field why whoever sees no whole recipients must not change it, as they would learn them from events."""
    if not project.event_recipients:
        return {}
    return {name: str(why) for name, why in _OPENS_RECIPIENTS.items() if name in changed and getattr(project, name)}


def check_kind(project: Project) -> None:
    """Raises :class:`UserError` where a project may no longer become a test project, or a live one.

    Real users must not be cut off, nor known codes count as theirs. So it is decided before there is any traffic.
    """
    if Project.objects.filter(pk=project.pk, is_sandbox=project.is_sandbox).exists():
        return
    if any(model.objects.filter(project=project.pk).exists() for model in (Session, Message)):
        raise UserError(
            _("The project already has sessions or messages, so this can no longer be changed. Create another project.")
        )
    rows = Provider.objects.filter(project=project.pk)
    wrong = [row for row in rows if not _fits(row.type, is_sandbox=project.is_sandbox)]
    if wrong:
        rule = (
            _("A test project cannot have vendor providers. Delete them on the Providers page first: {names}.")
            if project.is_sandbox
            else _("A live project cannot have sandbox providers. Delete them on the Providers page first: {names}.")
        )
        names = sorted(f"{row.name} ({ChannelType(row.channel).label})" for row in wrong)
        raise UserError(rule.format(names=", ".join(names)))


def _fits(provider_type: str, *, is_sandbox: bool) -> bool:
    try:
        adapter = adapter_class(provider_type)
    except UnknownAdapter:
        return not is_sandbox
    return adapter.is_local if is_sandbox else not adapter.is_simulation


def check_called_url(url: str) -> None:
    """Raises :class:`UserError` for an address that callbacks, events and alerts may not be posted to."""
    try:
        check_url(url, settings.OUTBOUND_ALLOWED_NETWORKS)
    except AddressBlocked as error:
        raise UserError(error.sentence) from None


def seal_secret(project: Project, name: str, text: str) -> bytes | None:
    """Return a secret of :data:`SECRETS` as it is stored; None for an empty one."""
    return encrypt(text, binding=crypto.project_secret_binding(project.public_id, name)) if text else None


def secret_of(project: Project, name: str) -> str:
    """Return a stored secret, empty where there is none. Raises :class:`verification.core.crypto.DecryptionFailed`."""
    sealed = getattr(project, name)
    return decrypt(bytes(sealed), binding=crypto.project_secret_binding(project.public_id, name)) if sealed else ""


def check_assurance(project: Project) -> None:
    """Raises :class:`UserError` for codes that fall short of the standard that the project has chosen."""
    if project.assurance != Assurance.NIST:
        return
    if project.has_short_codes:
        raise UserError(_("NIST SP 800-63B-4 requires six characters or more: set code_length=6 too."))
    if project.session_seconds > NIST_SESSION_SECONDS:
        raise UserError(
            _(
                "NIST SP 800-63B-4 allows a code to be valid for at most {seconds} seconds. Lower session_seconds."
            ).format(seconds=NIST_SESSION_SECONDS)
        )


def check_risk(project: Project) -> None:
    """Raises :class:`UserError` for a risk check that lacks what it asks with."""
    for name in dict.fromkeys((*project.risk_sms, *project.risk_voice)):
        missing = [f"risk_{field}" for field in CHECKS[name].needs if not getattr(project, f"risk_{field}")]
        if missing:
            raise UserError(
                _("{name} needs {settings} first.").format(name=CHECKS[name].label, settings=", ".join(missing))
            )
    if project.risk_vonage_key:
        try:
            vonage_identity.private_key(secret_of(project, "risk_vonage_key"))
        except (ValueError, DecryptionFailed):
            raise UserError(_("The Vonage private key is not an RSA key in a PEM file.")) from None


def check_challenge(project: Project) -> None:
    """Raises :class:`UserError` for challenges that could judge nobody, or in production would let everybody pass."""
    if project.challenge_mode == ChallengeMode.OFF or project.challenge_provider not in VENDORS:
        return
    label = ChallengeProvider(project.challenge_provider).label
    if not project.challenge_site_key or not project.challenge_secret:
        raise UserError(_("{label} challenges need a site key and a secret.").format(label=label))
    try:
        secret = secret_of(project, "challenge_secret")
    except DecryptionFailed:
        raise UserError(
            _("The challenge secret cannot be read with the current encryption keys. Enter it again.")
        ) from None
    if not settings.IS_EMBEDDED and is_dummy_secret(project.challenge_provider, secret):
        raise UserError(_("This {label} secret is for tests and lets everyone pass.").format(label=label))


def read_text(field: Any, text: str) -> Any:
    """Return a text of a command line as the type of a model's field. The field itself cleans it.

    Raises :class:`UserError`.
    """
    name = field.name
    if field.choices:
        choices = [str(value) for value, _ in field.flatchoices]
        if text not in choices and not (field.blank and text == ""):
            raise UserError(_("{name}: enter one of {names}.").format(name=name, names=", ".join(choices)))
    if isinstance(field, models.BooleanField):
        if text.lower() not in BOOLEANS:
            raise UserError(_("{name}: enter true or false.").format(name=name))
        return BOOLEANS[text.lower()]
    if isinstance(field, ArrayField):
        return [item.strip() for item in text.split(",") if item.strip()]
    if isinstance(field, models.FloatField):
        if not _DECIMAL.fullmatch(text):
            raise UserError(_("{name}: enter a number such as 0.5.").format(name=name))
        return float(text)
    if isinstance(field, models.IntegerField):
        number = whole_number(text)
        if number is None:
            raise UserError(_("{name}: enter a whole number.").format(name=name))
        return number
    return text
