"""Reading a set-up file: YAML 1.2, and so JSON too, as plain values.

``NO`` is a country, ``+49`` a prefix, and only true and false are booleans. Anchors, aliases and tags are refused, as
a file with them says in few lines what fills a memory.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml
from django.utils.translation import gettext as _

from verification.core.errors import UserError
from verification.core.formats import grouped

Path = tuple[Any, ...]  # the keys and positions that lead to a value

MAX_BYTES = 10 * 1024 * 1024  # Bytes of a file: a thousand projects of ten kilobytes.
MAX_DEPTH = 12  # Values within values. The schema knows nine: a sender's text is the deepest.
SHOWN_FAULTS = 20  # Faults that one refusal lists, so that a wrong file does not fill a screen.


class Fault(NamedTuple):
    """One thing that is wrong with a file."""

    path: Path
    sentence: str

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.sentence}" if self.path else self.sentence


class FileRefused(UserError):
    """A file that cannot be brought about. Nothing of it was."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(" ".join(map(str, faults[:SHOWN_FAULTS])))
        self.faults = faults[:SHOWN_FAULTS]


def dotted(path: Path) -> str:
    """Write a path as people read it: ``projects.Shop.fallback.0``."""
    return ".".join(map(str, path))


def read(content: bytes | str) -> Any:
    """Return the values of a file. Raises :class:`FileRefused`, with the line of what is no plain YAML."""
    if len(content) > MAX_BYTES:
        sizes = {"size": grouped(len(content)), "max_bytes": grouped(MAX_BYTES)}
        raise _refusal(_("The file has {size} bytes; the maximum is {max_bytes}.").format(**sizes))
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        _check(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506  (a safe one)
    except UnicodeError:
        raise _refusal(_("The file is not UTF-8 text.")) from None
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or _("a character that YAML does not allow")
        mark = getattr(error, "problem_mark", None)
        raise _refusal(_("This is not YAML: {problem}.").format(problem=problem), mark) from None


def _check(text: str) -> None:
    """Refuse what could fill a memory or the stack once it is put together, and what no table holds."""
    documents = depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if documents > 1:
            raise _refusal(_("A file must be a single document; this starts a second one."), event.start_mark)
        if getattr(event, "anchor", None):
            raise _refusal(_("anchors and aliases are not supported; write out the value."), event.start_mark)
        if getattr(event, "tag", None):
            raise _refusal(_("tags are not supported; write a secret as {secret: NAME}."), event.start_mark)
        if depth > MAX_DEPTH:
            sentence = _("values can be nested at most {max_depth} levels deep.").format(max_depth=MAX_DEPTH)
            raise _refusal(sentence, event.start_mark)
        if "\0" in getattr(event, "value", ""):
            raise _refusal(_("a text cannot contain NUL; remove it."), event.start_mark)
    if not documents:
        raise _refusal(_("The file is empty."))


def _refusal(sentence: str, mark: Any = None) -> FileRefused:
    where = _("line {line}: ").format(line=mark.line + 1) if mark else ""
    return FileRefused(Fault((), where + sentence))


class _Loader(yaml.CSafeLoader):
    """Knows the plain words of YAML 1.2, a few of those of 1.1."""

    yaml_implicit_resolvers = {  # noqa: RUF012  (as the library declares it)
        None: [
            ("tag:yaml.org,2002:null", re.compile(r"(~|null)?\Z")),
            ("tag:yaml.org,2002:bool", re.compile(r"(true|false)\Z")),
            ("tag:yaml.org,2002:int", re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")),
            ("tag:yaml.org,2002:float", re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,18}\Z")),
        ]
    }

    def construct_names(self, node: yaml.MappingNode) -> dict[str, Any]:
        """Return values by name. Every name is a text, which is there once."""
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refusal(_("a name in plain text is expected here."), key.start_mark)
            if key.value in found:
                raise _refusal(_("{name} appears twice.").format(name=key.value), key.start_mark)
            found[key.value] = self.construct_object(value, deep=True)
        return found


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_names)
