"""Bringing a project's alert services to what a file says. Their addresses and tokens are secrets, given by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verification.contrib.config_files import sections
from verification.contrib.config_files.apply import ApplyContext
from verification.contrib.config_files.load import Path
from verification.core import crypto
from verification.core.crypto import DecryptionFailed, decrypt
from verification.models import AlertService
from verification.models.audit import change_row, save_changes
from verification.services.notifications import alert_services


def apply_alerts(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    rows = {row.name.lower(): row for row in context.project.alert_services.order_by("-pk")}
    given: dict[str, Path] = {}
    for name in wanted:
        if name.strip().lower() in given:
            raise context.refuse((*path, name), "another alert service has this name.")
        given[name.strip().lower()] = (*path, name)
    for key in rows.keys() - given.keys():
        rows[key].delete()
    for key, at in given.items():
        _bring(context, rows.get(key), wanted[str(at[-1])], at)


def _bring(context: ApplyContext, found: AlertService | None, values: Mapping[str, Any], path: Path) -> None:
    if found is not None and found.kind != values["kind"]:
        raise context.refuse(
            (*path, "kind"), f"the service is of kind {found.kind}. Choose another name for another kind."
        )
    row = found or AlertService(project=context.project, kind=values["kind"])
    stored = read(found) if found else ""
    text = None
    if sections.ADDRESS in values:
        text = context.secret((*path, sections.ADDRESS), values[sections.ADDRESS], is_stored=found is not None)
    elif found is None:
        raise context.refuse(path, f"{sections.ADDRESS} is missing.")
    fields = {name: value for name, value in values.items() if name in sections.ALERT_SERVICE}
    with context.judging(path):
        changed = change_row(row, sections.ALERT_SERVICE, {**fields, "name": str(path[-1]).strip()})
        if text is not None and text != stored:
            row.secret = alert_services.seal(row, text)
            changed.append("secret")
        if found is None:
            alert_services.require_room_for_service(context.project)
    if changed:
        for name, sentence in alert_services.check_service(row.kind, text or "", row.chat).items():
            raise context.refuse((*path, sections.ADDRESS if name == "secret" else name), sentence)
    save_changes(row, changed)


def read(row: AlertService) -> str:
    """Return the stored address or token; empty where no key opens it, so that any other differs from it."""
    try:
        return decrypt(bytes(row.secret), binding=crypto.alert_service_binding(row.uuid))
    except DecryptionFailed:
        return ""
