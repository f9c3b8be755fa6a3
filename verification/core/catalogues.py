"""The panel's translations, compiled as Django reads them. The wheel's build hook runs this file without Django."""

from __future__ import annotations

from pathlib import Path

import polib

LOCALE = Path(__file__).resolve().parent.parent / "locale"


def compile_catalogues() -> list[Path]:
    """Write the compiled file of each catalogue that has none, or has changed since; return those."""
    catalogues = [each for each in sorted(LOCALE.glob("*/LC_MESSAGES/django.po")) if _is_stale(each)]
    for catalogue in catalogues:
        new = catalogue.with_suffix(".new")
        polib.pofile(str(catalogue)).save_as_mofile(str(new))
        new.replace(catalogue.with_suffix(".mo"))
    return catalogues


def _is_stale(catalogue: Path) -> bool:
    compiled = catalogue.with_suffix(".mo")
    return not compiled.exists() or compiled.stat().st_mtime < catalogue.stat().st_mtime
