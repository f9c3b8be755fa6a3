"""Judge a description of the API against the one before: what a caller of the former could no longer rely on.

``docs/versions.md`` has the promises. A schema is read in one of two directions: what the service takes may only become
wider, and what it gives only narrower. Nothing that has a name goes away in either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]
Schema = dict[str, Any]

PROSE = ("description", "summary", "example", "examples", "title", "externalDocs", "links", "x-enum-varnames")
# Lists of words that may grow, as callers were told: what they do not know they treat as any other of the kind.
OPEN_LISTS = ("Channel", "ChallengeProvider", "ErrorCode", "FieldErrorCode", "SessionEventType")
# The lower and the upper bounds of a schema: the service may take more and give less.
LOWER = ("minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties")
UPPER = ("maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties")
FORMS = ("pattern", "format")


def without_prose(node: Any) -> Any:
    """Return a description with what machines read alone. A member may have the name of what is left out."""
    if isinstance(node, list):
        return [without_prose(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        name: {member: without_prose(each) for member, each in value.items()}
        if name in ("properties", "schemas", "headers", "webhooks")
        else without_prose(value)
        for name, value in node.items()
        if name not in PROSE
    }


class Judge:
    """Compares two descriptions. ``faults`` are sentences that begin with the place."""

    def __init__(self, before: Document, now: Document) -> None:
        self.before, self.now = before, now

    def faults(self) -> list[str]:
        return sorted({*self._paths(), *self._webhooks()})

    def _paths(self) -> Iterator[str]:
        for path, methods in self.before["paths"].items():
            for method, operation in methods.items():
                place = f"{method.upper()} {path}"
                current = self.now["paths"].get(path, {}).get(method)
                if current is None:
                    yield f"{place}: is gone"
                else:
                    yield from self._operation(place, operation, current)

    def _webhooks(self) -> Iterator[str]:
        for name, methods in self.before.get("webhooks", {}).items():
            current = self.now.get("webhooks", {}).get(name)
            if current is None:
                yield f"event {name}: is gone"
            else:
                yield from self._body(f"event {name}", methods["post"], current["post"], takes=False)

    def _operation(self, place: str, before: Document, now: Document) -> Iterator[str]:
        if before.get("security") != now.get("security"):
            yield f"{place}: takes another kind of key"
        yield from self._parameters(place, before.get("parameters", []), now.get("parameters", []))
        if "requestBody" in before:
            yield from self._body(place, before, now, takes=True)
        elif now.get("requestBody", {}).get("required"):
            yield f"{place}: needs a body"
        for status, response in before["responses"].items():
            current = now["responses"].get(status)
            if current is None:
                yield f"{place} {status}: is gone"
                continue
            for header in set(response.get("headers", {})) - set(current.get("headers", {})):
                yield f"{place} {status}: header {header} is gone"
            yield from self._content(f"{place} {status}", response, current, takes=False)
        for name, callback in before.get("callbacks", {}).items():
            current = now.get("callbacks", {}).get(name, {})
            for address, methods in callback.items():
                if address not in current:
                    yield f"{place} callback {name}: is gone"
                else:
                    yield from self._body(f"callback {name}", methods["post"], current[address]["post"], takes=False)

    def _parameters(self, place: str, before: list[Document], now: list[Document]) -> Iterator[str]:
        old, new = ({(each["in"], each["name"]): each for each in given} for given in (before, now))
        for key, parameter in new.items():
            if parameter.get("required") and not old.get(key, {}).get("required"):
                yield f"{place}: needs the parameter {key[1]}"
        for key, parameter in old.items():
            if key not in new:
                yield f"{place}: parameter {key[1]} is gone"
            else:
                yield from self._schema(f"{place} {key[1]}", parameter["schema"], new[key]["schema"], takes=True)

    def _body(self, place: str, before: Document, now: Document, *, takes: bool) -> Iterator[str]:
        yield from self._content(place, before["requestBody"], now.get("requestBody", {}), takes=takes)

    def _content(self, place: str, before: Document, now: Document, *, takes: bool) -> Iterator[str]:
        for kind, media in before.get("content", {}).items():
            current = now.get("content", {}).get(kind)
            if current is None:
                yield f"{place}: {kind} is gone"
            else:
                yield from self._schema(place, media["schema"], current["schema"], takes=takes)

    def _schema(self, place: str, before: Schema, now: Schema, *, takes: bool) -> Iterator[str]:
        old, new = _flat(before, self.before), _flat(now, self.now)
        yield from _types(place, old, new, takes=takes)
        yield from _words(place, old, new, takes=takes)
        yield from _bounds(place, old, new, takes=takes)
        needed, needed_now = set(old.get("required", ())), set(new.get("required", ()))
        for name in needed_now - needed if takes else needed - needed_now:
            yield f"{place}.{name}: {'is needed now' if takes else 'may be missing now'}"
        for name, member in old.get("properties", {}).items():
            if name not in new.get("properties", {}):
                yield f"{place}.{name}: is gone"
            else:
                yield from self._schema(f"{place}.{name}", member, new["properties"][name], takes=takes)
        if "items" in old and "items" in new:
            yield from self._schema(f"{place}[]", old["items"], new["items"], takes=takes)


def _types(place: str, before: Schema, now: Schema, *, takes: bool) -> Iterator[str]:
    old, new = before.get("types"), now.get("types")
    narrow, wide = (old, new) if takes else (new, old)
    if wide is not None and (narrow is None or not narrow <= wide):
        yield f"{place}: was {_named(old)} and is {_named(new)}"


def _words(place: str, before: Schema, now: Schema, *, takes: bool) -> Iterator[str]:
    old, new = before.get("enum"), now.get("enum")
    if old is None:
        if new is not None and takes:
            yield f"{place}: takes some words alone"
        return
    if new is None:
        if not takes:
            yield f"{place}: may be any word"
        return
    for word in old:
        if word not in new:
            yield f"{place}: {word} is gone"
    if not takes and not before["is_open"]:
        for word in new:
            if word not in old:
                yield f"{place}: may be {word}"


def _bounds(place: str, before: Schema, now: Schema, *, takes: bool) -> Iterator[str]:
    narrow, wide = (before, now) if takes else (now, before)
    for bound in (*LOWER, *UPPER):
        if bound not in wide:
            continue
        sign = 1 if bound in LOWER else -1
        if bound not in narrow or sign * narrow[bound] < sign * wide[bound]:
            yield f"{place}: {bound} was {before.get(bound)} and is {now.get(bound)}"
    for form in FORMS:
        if form in wide and narrow.get(form) != wide[form]:
            yield f"{place}: {form} was {before.get(form)} and is {now.get(form)}"


def _flat(schema: Schema, document: Document) -> Schema:
    """Return a schema with its references and parts written in place. ``types`` are its types, if it tells them."""
    flat: Schema = {"is_open": False, "properties": {}, "required": []}
    for part in _parts(schema, document):
        for name, value in part.items():
            if name in ("properties", "is_open"):
                flat[name] = flat[name] | value
            elif name == "required":
                flat[name] = [*flat[name], *value]
            elif name == "types" and "types" in flat:
                flat[name] = flat[name] & value
            else:
                flat[name] = value
    return flat


def _parts(schema: Schema, document: Document, *, is_open: bool = False) -> Iterator[Schema]:
    own = {name: value for name, value in schema.items() if name not in ("$ref", "allOf", "oneOf", "anyOf", "type")}
    if "type" in schema:
        own["types"] = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    if "const" in own:
        own["enum"] = [own.pop("const")]
    choices = schema.get("oneOf", schema.get("anyOf", []))
    if choices and all(each.keys() == {"required"} for each in choices):  # one member of several has to be there
        always = set.intersection(*({*each["required"]} for each in choices))
        own["required"] = [*own.get("required", []), *always]
    elif choices:  # with us always one shape, or null
        shapes = [_flat(each, document) for each in choices if each != {"type": "null"}]
        assert len(shapes) == 1, "teach the judge to compare several shapes"
        own |= shapes[0] | {"types": (shapes[0].get("types") or set()) | {"null"}}
    yield {**own, "is_open": is_open or own.get("is_open", False)}
    for part in schema.get("allOf", []):
        yield from _parts(part, document)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from _parts(document["components"]["schemas"][name], document, is_open=name in OPEN_LISTS)


def _named(types: set[str] | None) -> str:
    return " or ".join(sorted(types)) if types else "anything"
