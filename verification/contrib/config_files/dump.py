"""Writing a set-up file: YAML that people review, with the settings under the headings of the panel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml
from django.conf import settings

from verification.contrib.config_files import sections

SCHEMA_PATH = "/docs/set-up.schema.json"
WIDTH = 120  # columns before a text is folded
_HEADING = re.compile(r"^( {6})'(# .*)': null$", re.MULTILINE)  # nothing else of a file has this depth and form


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and indents lists below their name."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.Node:
        style = "|" if "\n" in text and not text.endswith("\n") else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def write(file: Mapping[str, Any]) -> str:
    """Write the file of :func:`export.file_of`."""
    projects = {name: {**setup, "settings": _headed(setup["settings"])} for name, setup in file["projects"].items()}
    text = yaml.dump({**file, "projects": projects}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    head = (
        f"# yaml-language-server: $schema={settings.BASE_URL}{SCHEMA_PATH}\n"
        "# The file only names secrets. docs/configuration-file.md says how to provide them.\n"
    )
    return head + _HEADING.sub(r"\1\2", text)


def _headed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Put the title of each group before its settings, as a name that :func:`write` turns into a comment."""
    found: dict[str, Any] = {}
    for title, fields in sections.SETTINGS_BY_GROUP.items():
        named = {name: values[name] for name in fields if name in values}
        found |= {f"# {title}": None, **named} if named else {}
    return found
