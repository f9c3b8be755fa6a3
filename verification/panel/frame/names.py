"""The names of tables and columns whose models give none, and the words of adapters, for translation.

``NAMES`` and ``ADAPTER_WORDS``, each in a file of its own, are written by verification/locale/update for the
catalogues. A test compares both with the models and the adapters.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Field, Model
from django.utils.functional import Promise

from providers import registry
from providers.base import Adapter
from verification.lazy_words import gettext_lazy
from verification.models.audit import WATCHED
from verification.panel.frame.written_names import NAMES

ROOT = Path(registry.__file__).parent
REFUSED = ("errors[", "found[", "NOT_PUBLIC", "WANTED")  # what an adapter assigns a reason to
IS = "is_"  # begins the column of a switch; its label leaves that out


def label_of(column: str) -> str:
    """Return the words of a column's name: "is_enabled" is "enabled", "project_id" is "project"."""
    return column.removeprefix(IS).removesuffix("_id").replace("_", " ")


def translate() -> None:
    """Let the names be translated wherever Django shows them. Migrations keep the names that the models spell out.

    It comes before the pages are loaded: a form takes the names of its fields when its class is made.
    """
    known = set(NAMES)
    for model in apps.get_app_config("verification").get_models():
        options: Any = model._meta
        for field in _columns(model):
            if (name := _name(field)) in known:
                field.verbose_name = gettext_lazy(name)
        for attribute in ("verbose_name", "verbose_name_plural"):
            if (words := str(getattr(options, attribute))) in known:
                setattr(options, attribute, gettext_lazy(words))


def derived() -> list[str]:
    """Return the names that no model marks for translation, of all tables that a page or the audit log shows."""
    found: set[str] = set()
    for model in _shown():
        found.update(filter(None, map(_name, _columns(model))))
        given = model._meta.original_attrs
        for attribute in ("verbose_name", "verbose_name_plural"):
            if not isinstance(given.get(attribute), Promise):
                found.add(str(getattr(model._meta, attribute)))
    return sorted(found)


def adapter_words() -> list[str]:
    """Return what the form of a provider shows of adapters: labels, hints, choices, and why a value is refused."""
    found: set[str] = set()
    for adapter in filter(_is_ours, registry.all_adapters()):
        found.add(adapter.label)
        for setting in adapter.declared:
            found |= {setting.label, setting.help, *(words for _, words in setting.choices)}
    others = ("registry.py", "door/outbound.py", "door/http.py", "reading/gateway_receipts.py", "reading/languages.py")
    for source in [*(ROOT / "adapters").glob("*.py"), *(ROOT / name for name in others)]:
        found.update(_refusals(ast.parse(source.read_text())))
    return sorted(words for words in found if re.search("[a-z]{2}", words))


def _is_ours(adapter: type[Adapter]) -> bool:
    """Return whether an adapter comes with this service. Tests and operators may add a folder of their own."""
    return Path(inspect.getfile(adapter)).parent == ROOT / "adapters"


def _refusals(tree: ast.AST) -> Iterator[str]:
    """Yield the reasons that a file gives for refusing a setting."""
    for node in ast.walk(tree):
        reason: ast.AST | None = None
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith(REFUSED):
            reason = node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Reason":
            reason = node.args[0]
        elif isinstance(node, ast.FunctionDef) and node.name.endswith("_error"):
            returned = (_text(each.value) for each in ast.walk(node) if isinstance(each, ast.Return))
            yield from filter(None, returned)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            reason = node.exc.args[0] if ast.unparse(node.exc.func) in ("ValueError", "AddressBlocked") else None
        elif isinstance(node, ast.DictComp) and isinstance(node.key, ast.Name):
            reason = node.value
        if words := _text(reason):
            yield words


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _shown() -> set[type[Model]]:
    pages = admin.site._registry
    inlines = {inline.model for page in pages.values() for inline in page.inlines}
    watched = {apps.get_model(name) for name in WATCHED}
    return {model for model in {*pages, *inlines, *watched} if model._meta.app_label == "verification"}


def _columns(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.get_fields() if isinstance(field, Field)]


def _name(field: Field[Any, Any]) -> str:
    """Return the field's name in words; empty where the model marks one for translation."""
    given = field._verbose_name  # type: ignore[attr-defined]  # what the model says, before Django derives one
    if isinstance(given, Promise):
        return ""
    return str(given) if given else label_of(field.name)
