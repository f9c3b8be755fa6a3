"""Bringing what has an account elsewhere to what a file says: providers and the services that alerts are written to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from providers import registry
from verification.contrib.config_files import sections
from verification.contrib.config_files.apply import ApplyContext, rows_at
from verification.contrib.config_files.load import Path
from verification.core.crypto import DecryptionFailed
from verification.models import AlertService, Provider, SenderRule
from verification.models.audit import save_changes
from verification.models.bounds import MAX_SENDERS
from verification.models.fields import clean_prefix
from verification.services.notifications import alert_services
from verification.services.providers import price_lists
from verification.services.providers.accounts import add_provider, stored_secrets
from verification.services.providers.editing import change_provider, remove_provider


def apply_providers(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Bring the providers. Those that the file lacks go first, as they may take the places of new ones."""
    rows = {(row.channel, row.name.lower()): row for row in context.project.providers.all()}
    given = context.given(rows_at(path, wanted, 2), lambda at: (at[-2], at[-1].strip().lower()))
    for key in rows.keys() - given.keys():
        with context.judging((*path, key[0], rows[key].name)):
            remove_provider(rows[key], is_trial=context.is_trial)
    for key, (at, values) in given.items():
        with context.judging(at):
            row = _bring_provider(context, rows.get(key), values, at)
        if "prices" in values:
            _apply_prices(context, row, values["prices"], (*at, "prices"))
        if "senders" in values:
            _apply_senders(context, row, values["senders"], (*at, "senders"))


def _bring_provider(context: ApplyContext, row: Provider | None, values: Mapping[str, Any], path: Path) -> Provider:
    kind, name = values["type"], path[-1].strip()
    if row is not None and row.type != kind:
        sentence = _("the provider has the type {type}. Use another name for another type.")
        raise context.refuse((*path, "type"), sentence.format(type=row.type))
    settings = _settings(context, row, values, path)
    fields = {name: value for name, value in values.items() if name in sections.PROVIDER}
    if row is None:
        row = add_provider(project=context.project, channel=path[-2], provider_type=kind, name=name, values=settings)
        settings = {}
    change_provider(row, {**fields, "name": name}, settings)
    return row


def _settings(context: ApplyContext, row: Provider | None, values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the settings that the file names, with the secrets that were given. Those that stay are left out."""
    found = dict(values.get("settings", {}))
    try:
        stored = stored_secrets(row) if row else {}
    except DecryptionFailed:
        stored = None  # there are some, and no key opens them
    for name in sections.secrets_of(registry.adapter_class(values["type"])):
        if (reference := found.pop(name, "")) is None:
            found[name] = None
        elif reference:
            is_stored = stored is None or bool(stored.get(name))
            text = context.secret((*path, "settings", name), reference, is_stored=is_stored)
            found |= {} if text is None else {name: text}
    return found


def _apply_prices(context: ApplyContext, provider: Provider, wanted: Mapping[str, str], path: Path) -> None:
    """Put the list of the file in the place of the provider's, if they differ."""
    lines = {}
    for key, value in wanted.items():
        with context.judging((*path, key)):
            line = price_lists.read_entry(key, value)
        if (line.place, line.valid_from) in lines:
            raise context.refuse((*path, key), _("{to} appears twice for the same day.").format(to=line.to))
        lines[line.place, line.valid_from] = line
    if price_lists.difference(price_lists.lines_of(provider), lines.values()).is_empty:
        return
    with context.judging(path):
        number = Provider.objects.values_list("price_list", flat=True).get(pk=provider.pk)
        price_lists.replace(provider, lines.values(), number=number)


def _apply_senders(context: ApplyContext, provider: Provider, wanted: Mapping[str, Any], path: Path) -> None:
    if len(wanted) > MAX_SENDERS:
        sentence = _("a provider can have at most {max_senders} senders.").format(max_senders=MAX_SENDERS)
        raise context.refuse(path, sentence)
    rows = {row.prefix: row for row in provider.sender_rules.all()}
    given = context.given(rows_at(path, wanted, 1), lambda at: clean_prefix(at[-1]))
    for prefix in rows.keys() - given.keys():
        rows[prefix].delete()
    for prefix, (at, values) in given.items():
        row = rows.get(prefix) or SenderRule(provider=provider, prefix=prefix)
        changed = context.change(row, sections.SENDER, values, at)
        if not any(getattr(row, name) for name in sections.SENDER):
            raise context.refuse(at, _("enter a sender or DLT IDs, or remove the line."))
        save_changes(row, changed)


def apply_alerts(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    rows = {row.name.lower(): row for row in context.project.alert_services.order_by("-pk")}
    given = context.given(rows_at(path, wanted, 1), lambda at: at[-1].strip().lower())
    for key in rows.keys() - given.keys():
        rows[key].delete()
    for key, (at, values) in given.items():
        row = rows.get(key) or AlertService(project=context.project, kind=values["kind"])
        _bring_service(context, row, values, at)


def _bring_service(context: ApplyContext, row: AlertService, values: Mapping[str, Any], path: Path) -> None:
    if row.kind != values["kind"]:
        sentence = f"the service is of kind {row.kind}. Choose another name for another kind."
        raise context.refuse((*path, "kind"), sentence)
    is_new, at = row.pk is None, (*path, sections.ADDRESS)
    if is_new and sections.ADDRESS not in values:
        raise context.refuse(path, f"{sections.ADDRESS} is missing.")
    reference = values.get(sections.ADDRESS)
    text = context.secret(at, reference, is_stored=not is_new) if reference else None
    fields = {**sections.ALERT_SERVICE, "name": AlertService._meta.get_field("name")}
    changed = context.change(row, fields, {**values, "name": path[-1].strip()}, path)
    if text is not None and (is_new or text != alert_services.secret_of(row)):
        row.secret = alert_services.seal(row, text)
        changed.append("secret")
    if is_new:
        with context.judging(path):
            alert_services.require_room_for_service(context.project)
    if changed:
        for name, sentence in alert_services.check_service(row.kind, text or "", row.chat).items():
            raise context.refuse(at if name == "secret" else (*path, name), sentence)
    save_changes(row, changed)
