"""What a vendor documents, as a table. ``test_vendors.py`` asks every question of every table.

A vendor's file in ``adapters`` names its table ``VENDOR``. The rows of each question are tuples, whose last members may
be left out. SERVER in a setting is the address of the test's server.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from providers import registry
from providers.base import HookRequest
from providers.http.client import HttpClient
from tests.fakes.http_server import Behaviour, answer
from tests.fakes.messages import make_sms
from tests.fakes.store import FakeStore

LOOPBACK = ("127.0.0.0/8",)
NO_WAY_TO_REPORT = (None, "https://10.0.0.5/hooks/1/2")
Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Vendor:
    type: str
    settings: Mapping[str, Any]
    url_setting: str = "base_url"  # where the test's server takes the vendor's place
    secrets: str = ""  # the settings that are stored encrypted
    defaults: Mapping[str, Any] = field(default_factory=dict)  # settings that nobody entered
    wrong: Mapping[str, Iterable[Any]] = field(default_factory=dict)  # values; a dict is several settings at once

    message: Mapping[str, Any] = field(default_factory=dict)  # what each message of this vendor has
    prepare: Callable[[Any], None] = lambda adapter: None  # what the adapter's store must have
    door: Callable[[Any], HttpClient] = lambda server: HttpClient(LOOPBACK)
    taken: Behaviour = answer()  # the answer to a message that it takes
    # (settings, message, what is expected of request and result, answer); of the request: method, target, body, headers
    # by "header x", fields by their path in the body; None is a field that is left out.
    sends: Iterable[Row] = ()
    not_applicable: Iterable[Row] = ()  # (message, settings): nothing is asked
    # (answer, outcome, the status that is kept, further attributes of the error, message, settings)
    refusals: Iterable[Row] = ()
    check_request: str = ""
    checks: Iterable[Row] = ()  # (answer, is it well or the outcome of the error, words, balance, settings)

    sign: Callable[[Any], HookRequest] | None = None  # makes a genuine call of a report
    hook_settings: Mapping[str, Any] = field(default_factory=dict)
    hook_answer: Behaviour = answer()  # to an adapter that asks back
    takes_get: bool = False  # without a signature, a report may come by GET
    genuine: Iterable[Row] = ()  # (call, settings, time)
    forged: Iterable[Row] = ()  # (call, settings, time, answer)
    # (report or call, what comes of it, settings, answer): attributes of one receipt, events, or the error.
    reports: Iterable[Row] = ()

    def build(self, server: Any, **changes: Any) -> Any:
        found = dict(self.settings)
        if self.url_setting == "base_url":
            found["base_url"] = server.url
        else:
            found[self.url_setting] = found[self.url_setting].replace("https://gateway.example", server.url)
        raw = {name: _at(value, server) for name, value in {**found, **changes}.items()}
        settings = registry.clean_settings(self.type, raw, LOOPBACK)
        adapter = registry.build(self.type, settings, http=self.door(server), store=FakeStore())
        self.prepare(adapter)
        return adapter

    def make_message(self, **changes: Any) -> Any:
        return make_sms(**{**self.message, **changes})

    def call(self, report: Any) -> HookRequest:
        """Return the call: of one that has a time in its signature, make it now."""
        if callable(report):
            report = report()
        if isinstance(report, HookRequest):
            return report
        assert self.sign is not None
        return self.sign(report)


def _at(value: Any, server: Any) -> Any:
    return value.replace("SERVER", server.url) if isinstance(value, str) else value


def grouped(table: Mapping[Any, str], make: Callable[[str], Any] = str) -> list[Row]:
    """Return a row for each word of each group: what ``make`` makes of the word, the group, and the word."""
    return [(make(word), group, word) for group, words in table.items() for word in words.split()]


def statuses(table: Mapping[Any, str], make: Callable[[str], Any] = str, **expected: Any) -> list[Row]:
    """Return a row for each word that a receipt tells; an error is told with what did not arrive."""
    return [
        (made, {"status": ours, "provider_status": word, "error": _ERRORS[ours.value], **expected})
        for made, ours, word in grouped(table, make)
    ]


class Told:
    """Equal to any sentence that holds these words and no recipient's number; of no words, to the empty one."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __eq__(self, other: object) -> bool:
        if not self.words:
            return other == ""
        return isinstance(other, str) and self.words in other and "15112345678" not in other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"a sentence with {self.words!r}"


_ERRORS = {"sent": "", "success": "", "failed": Told(" "), "expired": Told(" ")}


def reasons(
    table: str | Mapping[str, str], make: Callable[[str], Any], *, opted_out: str = "", **expected: Any
) -> list[Row]:
    """Return a row for each reason of a failure, told in our words; ``opted_out`` names those of an opt-out.

    The table is "code words | code words", or a mapping where codes have spaces.
    """
    pairs = (entry.split(" ", 1) for entry in table.split(" | ")) if isinstance(table, str) else table.items()
    return [
        (make(code), {"error": Told(words), "is_opted_out": code in opted_out.split(), **expected})
        for code, words in pairs
    ]


def each(values: Iterable[Any], *rest: Any) -> list[Row]:
    return [(value, *rest) for value in values]


def all_vendors() -> list[Vendor]:
    from tests.providers import adapters

    modules = [
        importlib.import_module(f"{adapters.__name__}.{one.name}") for one in pkgutil.iter_modules(adapters.__path__)
    ]
    return [module.VENDOR for module in modules if hasattr(module, "VENDOR")]


def rows(question: str, length: int) -> Callable[[Any], Any]:
    """Ask for each row of each vendor; what a row leaves out is None. ``rows_of`` gives those of one vendor."""

    def rows_of(vendor: Vendor) -> list[Row]:
        return [(*row, *[None] * (length - len(row))) for row in getattr(vendor, question)]

    def decorate(test: Any) -> Any:
        test.rows_of = rows_of
        found = [
            pytest.param(vendor, row, id=f"{vendor.type}-{index}")
            for vendor in all_vendors()
            for index, row in enumerate(rows_of(vendor))
        ]
        return pytest.mark.parametrize(("vendor", "row"), found)(test)

    return decorate
