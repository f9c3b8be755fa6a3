"""A set-up file, read into plain values whose lines are known. It is YAML, and so may be JSON too.

Plain words are read as YAML 1.2 reads them: ``NO`` is a country, ``+49`` a prefix, and only true and false are
booleans.
Anchors, aliases and tags are refused, as a file with them says in few lines what fills a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.utils.translation import gettext as _

from verification.core.errors import UserError
from verification.core.formats import grouped

Path = tuple[str | int, ...]  # the keys and positions that lead to a value

MAX_BYTES = 10 * 1024 * 1024  # Bytes of a file: a thousand projects of ten kilobytes.
MAX_DEPTH = 12  # Values within values. The schema knows nine: a sender's text is the deepest.
SHOWN_FAULTS = 20  # Faults that one refusal lists, so that a wrong file does not fill a screen.

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, many times as fast
_NULL = ("", "~", "null")
_BOOLEANS = {"true": True, "false": False}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a file. ``line`` is 0 where no line is to blame."""

    path: Path
    sentence: str
    line: int = 0

    def __str__(self) -> str:
        where = _("line {line}: ").format(line=self.line) if self.line else ""
        name = dotted(self.path)
        return f"{where}{name}: {self.sentence}" if name else f"{where}{self.sentence}"


class FileRefused(UserError):
    """A file that cannot be brought about. Nothing of it was."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(" ".join(str(fault) for fault in faults[:SHOWN_FAULTS]))
        self.faults = faults[:SHOWN_FAULTS]


@dataclass(slots=True)
class Document:
    """The values of a file, and the line of each."""

    value: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """Return the line of a value; of one that is missing, that of what it would stand in."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def refusal(self, *faults: Fault) -> FileRefused:
        """Return the refusal for these faults, each with its line, in the order of the lines."""
        placed = (Fault(fault.path, fault.sentence, fault.line or self.line_of(fault.path)) for fault in faults)
        return FileRefused(*sorted(placed, key=lambda fault: fault.line))


def dotted(path: Path) -> str:
    """Write a path as people read it: ``projects.Shop.fallback.0``."""
    return ".".join(map(str, path))


def read(content: bytes | str) -> Document:
    """Read a file. Raises :class:`FileRefused`."""
    size = len(content)
    if size > MAX_BYTES:
        raise FileRefused(
            Fault(
                (),
                _("The file has {size} bytes; the maximum is {max_bytes}.").format(
                    size=grouped(size), max_bytes=grouped(MAX_BYTES)
                ),
            )
        )
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        document = Document(None)
        events = iter(yaml.parse(text, Loader=_LOADER))
        document.value = _document(events, document)
    except UnicodeError:
        raise FileRefused(Fault((), _("The file is not UTF-8 text."))) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or _("a character that YAML does not allow")
        raise FileRefused(
            Fault((), _("This is not YAML: {problem}.").format(problem=problem), mark.line + 1 if mark else 0)
        ) from None
    return document


def _document(events: Iterator[Any], document: Document) -> Any:
    """Read the one document of a stream."""
    value, is_read = None, False
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            if is_read:
                raise _refusal(event, (), _("A file must be a single document; this starts a second one."))
            value, is_read = _value(next(events), events, (), document), True
    if not is_read:
        raise FileRefused(Fault((), _("The file is empty.")))
    return value


def _value(event: Any, events: Iterator[Any], path: Path, document: Document) -> Any:
    document.lines.setdefault(path, _line(event))
    if isinstance(event, yaml.AliasEvent) or event.anchor:
        raise _refusal(event, path, _("anchors and aliases are not supported; write out the value."))
    if event.tag:
        raise _refusal(event, path, _("tags are not supported; write a secret as {secret: NAME}."))
    if isinstance(event, yaml.ScalarEvent):
        _refuse_nul(event, path)
        return _plain(event.value) if event.implicit[0] else event.value
    if len(path) >= MAX_DEPTH:
        raise _refusal(
            event, path, _("values can be nested at most {max_depth} levels deep.").format(max_depth=MAX_DEPTH)
        )
    return (_mapping if isinstance(event, yaml.MappingStartEvent) else _list)(events, path, document)


def _mapping(events: Iterator[Any], path: Path, document: Document) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
            raise _refusal(event, path, _("a name in plain text is expected here."))
        _refuse_nul(event, path)
        if event.value in found:
            raise _refusal(event, (*path, event.value), _("this appears twice."))
        document.lines[*path, event.value] = _line(event)
        found[event.value] = _value(next(events), events, (*path, event.value), document)
    return found


def _list(events: Iterator[Any], path: Path, document: Document) -> list[Any]:
    found: list[Any] = []
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        found.append(_value(event, events, (*path, len(found)), document))
    return found


def _plain(text: str) -> Any:
    """Return the value of a word that stands without quotes."""
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _refuse_nul(event: Any, path: Path) -> None:
    """Refuse what YAML writes as an escape and no text of PostgreSQL holds."""
    if "\0" in event.value:
        raise _refusal(event, path, _("a text cannot contain NUL; remove it."))


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _refusal(event: Any, path: Path, sentence: str) -> FileRefused:
    return FileRefused(Fault(path, sentence, _line(event)))
