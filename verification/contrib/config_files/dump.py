"""Writing a set-up file: YAML that people review, with the settings under the headings of the panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from django.conf import settings

from verification.contrib.config_files import sections

SCHEMA_PATH = "/docs/set-up.schema.json"
WIDTH = 120  # columns before a text is folded
_STEP = "  "


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and indents lists below their name."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text and not text.endswith("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _write_text)


def write(file: Mapping[str, Any]) -> str:
    """Write the file of :func:`export.file_of`."""
    lines = [
        f"# yaml-language-server: $schema={settings.BASE_URL}{SCHEMA_PATH}",
        "# The file only names secrets. docs/configuration-file.md says how to provide them.",
        f"watchword: {file['watchword']}",
        "projects:",
    ]
    for name, setup in file["projects"].items():
        lines.append(_indented(f"{_name(name)}:", 1))
        for part, values in setup.items():
            lines.append(_settings(values) if part == "settings" else _indented(_dumped({part: values}), 2))
    return "\n".join(lines) + "\n"


def _settings(values: Mapping[str, Any]) -> str:
    lines = [_indented("settings:", 2)]
    for title, fields in sections.SETTINGS_BY_GROUP.items():
        named = {name: values[name] for name in fields if name in values}
        if named:
            lines += [_indented(f"# {title}", 3), _indented(_dumped(named), 3)]
    return "\n".join(lines)


def _dumped(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text.rstrip("\n")


def _name(name: str) -> str:
    """Write a key, in quotes where it needs them."""
    return _dumped({name: 0}).removesuffix(": 0")


def _indented(text: str, steps: int) -> str:
    return "\n".join(_STEP * steps + line if line else line for line in text.split("\n"))
