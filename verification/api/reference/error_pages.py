"""The page of one error code: its explanation, an example, the endpoints that answer so, and a guide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verification.api.reference import error_guide, guides
from verification.core.error_codes import CATALOGUE

PROBLEM_JSON = "application/problem+json"
WITHOUT_ENDPOINT = ("not_found", "method_not_allowed")  # also answered where no endpoint is


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation of the API that declares the code. ``address`` is its place in the reference."""

    method: str
    path: str
    summary: str
    address: str


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """The contents of one code's page. ``further`` is the title and address of a section of the guides."""

    entry: error_guide.ErrorEntry
    sample: str
    retry_after: int | None
    endpoints: tuple[Endpoint, ...]
    is_at_every_endpoint: bool
    is_without_endpoint: bool
    further: tuple[str, str]


def page_of(code: str, description: Mapping[str, Any], base_url: str) -> ErrorPage:
    """Make the page of a code from the API's description. Raises ``KeyError`` for a code that there is not."""
    entry = error_guide.entry(code)
    document = error_guide.example(code, base_url)
    every = _endpoints(description)
    those = tuple(endpoint for endpoint, codes in every if code in codes)
    return ErrorPage(
        entry=entry,
        sample=json.dumps(document, indent=2),
        retry_after=document.get("retry_after"),
        endpoints=those,
        is_at_every_endpoint=len(those) == len(every),
        is_without_endpoint=code in WITHOUT_ENDPOINT,
        further=further(code),
    )


def further(code: str) -> tuple[str, str]:
    """Return the title and the address of the section that tells more. Raises ``LookupError`` if it is gone."""
    name, _, anchor = CATALOGUE[code].further.partition("#")
    guide = guides.read(name.removesuffix(".md"))
    heading = next(section.heading for section in guide.sections if section.anchor == anchor)
    return f"{guide.title}: {heading}", f"{guides.address_of(f'docs/{name}')}#{anchor}"


def _endpoints(description: Mapping[str, Any]) -> list[tuple[Endpoint, set[str]]]:
    """List every operation, each with the codes that it declares."""
    return [
        (
            Endpoint(
                method.upper(), path, operation["summary"], f"/docs/#/{operation['tags'][0]}/{operation['operationId']}"
            ),
            {code for answer in operation["responses"].values() for code in _codes(answer)},
        )
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]


def _codes(answer: Mapping[str, Any]) -> list[str]:
    return list(answer["content"].get(PROBLEM_JSON, {}).get("examples", ()))
