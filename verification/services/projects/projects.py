"""Projects: making one with its first keys, and setting the defaults and limits that it runs by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import QuerySet

from providers.challenges.vendors import VENDORS, is_dummy_secret
from providers.door.outbound import judge_url
from providers.errors import AddressBlocked
from verification import places
from verification.crypto import DecryptionFailed, decrypt, encrypt
from verification.errors import Misuse
from verification.models import ChallengeMode, ChallengeProvider, KeyKind, Membership, Project
from verification.networks import clean_network
from verification.services.projects.ceilings import CEILINGS, require_below_ceiling
from verification.services.projects.keys import issue_key
from verification.services.projects.lists import clean_country
from verification.services.projects.webhook_secrets import issue_webhook_secret
from verification.services.texts.own import clean_language, judge_name

# Grouped as people read them: the headings of the panel's page, on its tabs, and of `setproject --help`.
SETTABLE_GROUPS = {
    "Basics": (
        "name",
        "is_enabled",
        "site_url",
    ),
    "Codes & texts": (
        "code_length",
        "code_digits",
        "code_letters",
        "new_code_on_send",
        "language",
        "languages",
        "code_in_subject",
        "web_otp_domain",
        "android_hash",
    ),
    "Channels & countries": (
        "default_phone_channel",
        "default_email_channel",
        "countries",
        "allow_voip",
    ),
    "Limits": (
        "sends_per_10_minutes",
        "sends_per_hour",
        "sends_per_day",
        "wrong_codes_per_15_minutes",
        "wrong_codes_per_day",
        "creates_per_address",
        "server_addresses",
        "requests_per_second",
    ),
    "Traffic guard": (
        "traffic_guard",
        "traffic_guard_manual",
        "guard_prefix_numbers",
        "guard_prefix_minutes",
        "guard_country_sends",
        "guard_country_percent",
        "guard_country_minutes",
        "guard_block_minutes",
        "guard_block_max_minutes",
        "guard_quiet_hours",
    ),
    "Guessing": (
        "guess_minutes",
        "guess_wrong_checks",
        "guess_wrong_percent",
        "guess_network_recipients",
        "guess_same_value_sessions",
        "guess_assumed",
        "guess_heavy",
        "guess_subnet_day",
        "guess_subnet_tries",
    ),
    "Challenges": (
        "challenge_mode",
        "challenge_provider",
        "challenge_site_key",
        "challenge_secret",
        "challenge_hosts",
        "challenge_min_score",
        "challenge_fails_open",
    ),
    "Access": (
        "origins",
        "secret_key_networks",
        "test_logins_enabled",
    ),
    "Alerts": (
        "alert_emails",
        "alert_url",
    ),
    "Retention": (
        "retention_days",
        "retention_mode",
    ),
}
SETTABLE = tuple(name for names in SETTABLE_GROUPS.values() for name in names)
SHOWN_IDS = 5  # of projects that have one name
SECRETS = ("challenge_secret",)  # of those, what is stored encrypted and never shown

_ANDROID_HASH = re.compile(r"[A-Za-z0-9+/]{11}")
_HOST_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"(?:{_HOST_LABEL}\.)*(?![0-9]+$){_HOST_LABEL}")  # no address: its last part is a number
_CHALLENGE_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?")  # as loose as vendors are; addresses too
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]{1,5})?")
_DECIMAL = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})?")
_BOOLEANS = {
    "true": True,
    "false": False,
    "1": True,
    "0": False,
    "yes": True,
    "no": False,
    "on": True,
    "off": False,
}


@dataclass(frozen=True, slots=True)
class NewProject:
    """A project with its first keys, whose texts exist only here."""

    project: Project
    api_key: str
    secret_key: str
    webhook_secret: str


@transaction.atomic
def create_project(*, name: str, owner: User | None = None) -> NewProject:
    """Make a project with one key of each kind and a webhook secret; ``owner`` becomes its member, who may
    see addresses. No channel yet.

    Raises :class:`Misuse`.
    """
    require_free_name(name, among=Project.objects.all())
    project = Project(name=name)
    _save(project)
    if owner is not None:
        # Else nobody could show an address or export what is stored about a person, nor give that right to anybody.
        Membership.objects.create(project=project, user=owner, sees_addresses=True)
    return equip(project, by=owner)


def equip(project: Project, *, by: User | None) -> NewProject:
    """Give a project what its app and its server start with: a key of each kind and a webhook secret."""
    return NewProject(
        project,
        api_key=issue_key(project=project, kind=KeyKind.API, created_by=by).text,
        secret_key=issue_key(project=project, kind=KeyKind.SECRET, created_by=by).text,
        webhook_secret=issue_webhook_secret(project=project),
    )


def find_project(id_or_name: str) -> Project:
    """By its id or its name. Raises :class:`Misuse`."""
    match = models.Q(name=id_or_name)
    if id_or_name.isascii() and id_or_name.isdigit():
        match |= models.Q(pk=int(id_or_name))
    found = list(Project.objects.filter(match, deleted_at=None).order_by("pk")[:SHOWN_IDS])
    if len(found) == 1:
        return found[0]
    if not found:
        raise Misuse(f"There is no project {id_or_name!r}.")
    ids = ", ".join(str(project.pk) for project in found)
    raise Misuse(f"{id_or_name!r} names more than one project. Give an id: {ids}.")


def require_free_name(name: str, *, among: QuerySet[Project], but: Project | None = None) -> None:
    """Raises :class:`Misuse` where one of these projects has the name.

    Names are told apart among what one person sees. Over all projects the refusal would tell tenants of each other.
    """
    same = among.filter(name=name, deleted_at=None)
    if (same.exclude(pk=but.pk) if but else same).exists():
        raise Misuse(f"A project named {name!r} already exists. Take another name.")


def set_project(*, project: Project, values: Mapping[str, str]) -> None:
    """Set fields by the names of :data:`SETTABLE` from text, as a command line gives it. Lists are comma-separated.

    Raises :class:`Misuse` with one sentence; then nothing is changed.
    """
    for name, text in values.items():
        if name not in SETTABLE:
            raise Misuse(f"There is no setting {name!r}. Settings: {', '.join(SETTABLE)}.")
        is_secret = name in SECRETS
        setattr(project, name, seal_challenge_secret(project, text) if is_secret else _read(name, text))
        if name in CEILINGS:
            _below_ceiling(name, getattr(project, name))
    if "name" in values:
        require_free_name(project.name, among=Project.objects.all(), but=project)
    judge_challenge(project)
    _save(project)


def clean_origin(text: str) -> str:
    """A browser origin in the writing that browsers send. Raises :class:`Misuse`."""
    origin = text.strip().lower()
    if not _ORIGIN.fullmatch(origin):
        raise Misuse(f"{text!r} is not an origin. Write scheme and host, such as https://app.example.com.")
    return origin


def clean_domain(text: str) -> str:
    """A bare host name, as it ends an SMS for filling in; empty is none. Raises :class:`Misuse`."""
    domain = text.strip().lower()
    if domain and not _HOST_NAME.fullmatch(domain):
        raise Misuse(f"{text!r} is not a bare host name. Write it as shop.example, without https:// and path.")
    return domain


def clean_android_hash(text: str) -> str:
    """The hash of an Android app; empty is none. Raises :class:`Misuse`."""
    text = text.strip()
    if text and not _ANDROID_HASH.fullmatch(text):
        raise Misuse("An app's hash has exactly 11 letters, digits, + or /, such as FA+9qCX9VSu.")
    return text


def clean_alert_url(text: str) -> str:
    """Where alerts are posted to; empty is nowhere. Raises :class:`Misuse`."""
    url = text.strip()
    if url:
        try:
            judge_url(url, settings.OUTBOUND_ALLOWED_NETWORKS)
        except AddressBlocked as error:
            raise Misuse(f"{str(error).rstrip('.').capitalize()}.") from None
    return url


def seal_challenge_secret(project: Project, text: str) -> bytes | None:
    """The secret of the challenge provider as it is stored; None for an empty one."""
    return encrypt(text, place=places.challenge_secret(project.public_id)) if text else None


def judge_challenge(project: Project) -> None:
    """Raises :class:`Misuse` for challenges that could judge nobody, or in production would let everybody pass."""
    if project.challenge_mode == ChallengeMode.OFF or project.challenge_provider not in VENDORS:
        return
    label = ChallengeProvider(project.challenge_provider).label
    if not project.challenge_site_key or not project.challenge_secret:
        raise Misuse(f"Challenges of {label} need a site key and a secret.")
    try:
        secret = challenge_secret_of(project)
    except DecryptionFailed:
        raise Misuse(
            "The challenge's secret cannot be read with the present encryption keys. Enter it again."
        ) from None
    if not settings.IS_EMBEDDED and is_dummy_secret(project.challenge_provider, secret):
        raise Misuse(f"This secret of {label} is for tests and lets everybody pass.")


def clean_challenge_host(text: str) -> str:
    """A host name that a widget stands on, or the name of an Android package. Raises :class:`Misuse`."""
    host = text.strip().lower()
    if not _CHALLENGE_HOST.fullmatch(host):
        raise Misuse(f"{text!r} is not a host name. Write it as shop.example, without https:// and path.")
    return host


def challenge_secret_of(project: Project) -> str:
    """The stored secret, empty where there is none. Raises :class:`verification.crypto.DecryptionFailed`."""
    sealed = project.challenge_secret
    return decrypt(bytes(sealed), place=places.challenge_secret(project.public_id)) if sealed else ""


def _read(name: str, text: str) -> Any:
    field = Project._meta.get_field(name)
    if isinstance(field, models.Field) and field.choices:
        choices = [str(value) for value, _ in field.flatchoices]
        if text not in choices and not (field.blank and text == ""):
            raise Misuse(f"{name}: write one of {', '.join(choices)}.")
    if isinstance(field, models.BooleanField):
        if text.lower() not in _BOOLEANS:
            raise Misuse(f"{name}: write true or false.")
        return _BOOLEANS[text.lower()]
    if isinstance(field, ArrayField):
        clean_item = _ITEM_CLEANERS.get(name, str)
        return [clean_item(item.strip()) for item in text.split(",") if item.strip()]
    if isinstance(field, models.FloatField):
        if not _DECIMAL.fullmatch(text):
            raise Misuse(f"{name}: write a number such as 0.5.")
        return float(text)
    if isinstance(field, models.IntegerField):
        if not (text.isascii() and text.isdigit()):
            raise Misuse(f"{name}: write a whole number.")
        return int(text)
    clean = _CLEANERS.get(name)
    return clean(text) if clean else text


def _below_ceiling(name: str, limit: int) -> None:
    try:
        require_below_ceiling(name, limit)
    except Misuse as error:
        raise Misuse(f"{name}: {error}") from None


_CLEANERS = {
    "language": clean_language,
    "web_otp_domain": clean_domain,
    "android_hash": clean_android_hash,
    "alert_url": clean_alert_url,
}
_ITEM_CLEANERS = {
    "challenge_hosts": clean_challenge_host,
    "origins": clean_origin,
    "countries": clean_country,
    "languages": clean_language,
    "secret_key_networks": clean_network,
}


_RULES = {  # by the name of the database's constraint
    "project_code_alphabet": "code_digits, code_letters: a code has digits, letters or both.",
}


def _save(project: Project) -> None:
    try:
        project.full_clean()
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        if name == "__all__":
            raise Misuse(next((text for rule, text in _RULES.items() if rule in texts[0]), texts[0])) from None
        raise Misuse(f"{name}: {texts[0]}") from None
    judge_name(project)
    project.save()
