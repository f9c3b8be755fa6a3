"""A provider's price list as a table in text: read, compared with the one that holds, and put in its place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from verification.core.currencies import clean_currency
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.models import Price, PricePer, Provider
from verification.models.fields import clean_country, read_prefix
from verification.models.prices import ALWAYS
from verification.services.providers.prices import EVERYWHERE

# The bounds of one list. A form of the panel holds 256 KB, and carries the text on encrypted while it asks for the
# password.
MAX_CHARACTERS = 80_000
MAX_BYTES = 4 * MAX_CHARACTERS  # of UTF-8
MAX_LINES = 3_000  # more than any vendor's list of countries and networks
MAX_FAULTS = 20  # faults that are told at once
QUOTED = 40  # characters of a wrong value that are repeated
DEFAULT = "default"  # the writing of the place that holds where no other does
SINCE = "from"  # the column of a price's first day, and the word before it in a set-up file
NEEDED, OPTIONAL = ("to", "price", "currency", "per"), (SINCE,)
YEARS = range(2000, 2101)  # of a price's first day

_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,8})?")


class PriceLine(NamedTuple):
    """One price of a list; in this order lists are sorted and written."""

    place: str
    valid_from: date
    amount: Decimal
    currency: str
    per: str

    @property
    def to(self) -> str:
        return self.place or DEFAULT

    @property
    def since(self) -> str:
        return "" if self.valid_from == ALWAYS else self.valid_from.isoformat()

    @property
    def price(self) -> str:
        return f"{self.amount.normalize():f}"


class ListRefused(UserError):
    """A list that cannot be read. ``faults`` are sentences, each with its line's number."""

    def __init__(self, *faults: str) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class PriceListDifference:
    """The difference between two lists. A changed price is the pair of the old and the new one."""

    added: list[PriceLine]
    removed: list[PriceLine]
    changed: list[tuple[PriceLine, PriceLine]]
    same: int

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed)


def read(text: str) -> list[PriceLine]:
    """Read a table with a heading, its columns parted by commas, semicolons or tabs. Raises :class:`ListRefused`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")  # a form sends both characters for each end of a line
    if len(text) > MAX_CHARACTERS:
        raise ListRefused(
            _("The list has {number} characters; the maximum is {max_characters}.").format(
                number=grouped(len(text)), max_characters=grouped(MAX_CHARACTERS)
            )
        )
    heading = text.lstrip().partition("\n")[0]
    delimiter = next((mark for mark in "\t;" if mark in heading), ",")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        table = [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error:
        raise ListRefused(_("Line {line_num} cannot be read as a table row.").format(line_num=rows.line_num)) from None
    if not table:
        raise ListRefused(_("The list is empty. Its first line names the columns: to,price,currency,per"))
    columns = _columns(*table[0])
    if len(table) - 1 > MAX_LINES:
        raise ListRefused(
            _("The list has {number} prices; the maximum is {max_lines}.").format(
                number=grouped(len(table) - 1), max_lines=grouped(MAX_LINES)
            )
        )
    return sorted(_lines(columns, table[1:]))


def format_lines(lines: Iterable[PriceLine]) -> str:
    """Return a list as :func:`read` takes it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*NEEDED, *OPTIONAL))
    rows.writerows((line.to, line.price, line.currency, line.per, line.since) for line in lines)
    return text.getvalue()


def entry_of(line: PriceLine) -> tuple[str, str]:
    """Return a price as a set-up file holds it: its place and first day, and what it is."""
    key = f"{line.to} {SINCE} {line.since}" if line.since else line.to
    return key, f"{line.price} {line.currency} {line.per}"


def read_entry(key: str, value: str) -> PriceLine:
    """Read what :func:`entry_of` writes. Raises :class:`UserError`."""
    place, _unused, since = key.partition(f" {SINCE} ")
    parts = value.split()
    if len(parts) != len(NEEDED) - 1:
        raise UserError(_("enter a price, a currency and 'message' or 'segment', such as 0.0401 EUR segment."))
    return _line(dict(zip((*NEEDED, SINCE), (place.strip(), *parts, since.strip()), strict=True)))


def lines_of(provider: Provider) -> list[PriceLine]:
    """Return the list that holds."""
    rows = Price.objects.filter(provider=provider).values_list("place", "valid_from", "amount", "currency", "per")
    return sorted(PriceLine(*row) for row in rows)


def difference(old: Iterable[PriceLine], new: Iterable[PriceLine]) -> PriceListDifference:
    """Compare two lists by place and first day."""
    before = {(line.place, line.valid_from): line for line in old}
    after = {(line.place, line.valid_from): line for line in new}
    both = [(before[key], line) for key, line in after.items() if key in before]
    return PriceListDifference(
        added=[line for key, line in after.items() if key not in before],
        removed=[line for key, line in before.items() if key not in after],
        changed=[pair for pair in both if pair[0] != pair[1]],
        same=sum(one == other for one, other in both),
    )


def replace(provider: Provider, lines: Iterable[PriceLine], *, number: int) -> None:
    """Put a list in the place of list ``number``, which its author has seen. Workers go by it within a second.

    Raises :class:`UserError` where somebody else has replaced that one meanwhile.
    """
    with transaction.atomic():
        if not Provider.objects.filter(pk=provider.pk, price_list=number).update(price_list=number + 1):
            raise UserError(_("Someone else has updated the prices in the meantime. Review the changes again."))
        Price.objects.filter(provider=provider).delete()
        Price.objects.bulk_create(Price(provider=provider, **line._asdict()) for line in lines)


def _columns(number: int, heading: list[str]) -> list[str]:
    columns = [name.lower() for name in heading]
    missing = [name for name in NEEDED if name not in columns]
    unknown = [name for name in columns if name not in (*NEEDED, *OPTIONAL)]
    twice = [name for name in (*NEEDED, *OPTIONAL) if columns.count(name) > 1]
    if not (missing or unknown or twice):
        return columns
    why = (
        _("the column {missing!r} is missing").format(missing=missing[0]) if missing
        else _("there is no column {unknown!r}").format(unknown=unknown[0][:QUOTED]) if unknown
        else _("the column {twice!r} appears twice").format(twice=twice[0])
    )  # fmt: skip
    raise ListRefused(
        _("Line {number}: {why}. The first line names the columns: to,price,currency,per,from").format(
            number=number, why=why
        )
    )


def _lines(columns: list[str], table: list[tuple[int, list[str]]]) -> list[PriceLine]:
    found: dict[tuple[str, date], tuple[int, PriceLine]] = {}
    faults = []
    for number, cells in table:
        try:
            if len(cells) > len(columns):
                raise UserError(
                    _("it has {number} columns, but the first line names {number2}.").format(
                        number=len(cells), number2=len(columns)
                    )
                )
            line = _line(dict(zip(columns, [*cells, *[""] * (len(columns) - len(cells))], strict=True)))
            first, _unused = found.setdefault((line.place, line.valid_from), (number, line))
            if first != number:
                since = _(" from {since}").format(since=line.since) if line.since else ""
                raise UserError(
                    _("{to}{since} already has a price in line {first}.").format(to=line.to, since=since, first=first)
                )
        except UserError as error:
            faults.append(_("Line {number}: {error}").format(number=number, error=error))
    if len(faults) > MAX_FAULTS:
        faults[MAX_FAULTS:] = [_("{number} more lines have errors.").format(number=grouped(len(faults) - MAX_FAULTS))]
    if faults:
        raise ListRefused(*faults)
    return [line for _, line in found.values()]


def _line(cells: dict[str, str]) -> PriceLine:
    """Raises :class:`UserError`."""
    amount = cells["price"]
    if not _AMOUNT.fullmatch(amount):
        raise UserError(
            _("{amount!r} is not a price. Enter a number with a decimal point, such as 0.0401.").format(
                amount=amount[:QUOTED]
            )
        )
    currency, per = clean_currency(cells["currency"][:QUOTED]), cells["per"].lower()
    if per not in PricePer.values:
        raise UserError(_("{cell!r} is neither 'message' nor 'segment'.").format(cell=cells["per"][:QUOTED]))
    return PriceLine(
        _place(cells["to"]),
        _day(cells.get("from", "")),
        Decimal(amount),
        currency,
        per,
    )


def _place(text: str) -> str:
    if text.lower() == DEFAULT:
        return EVERYWHERE
    if text[:1].isalpha():
        return clean_country(text[:QUOTED])
    if not text:
        raise UserError(
            _("the destination is missing. Enter a prefix such as +49, a country such as DE, or {default}.").format(
                default=DEFAULT
            )
        )
    return read_prefix(text[:QUOTED])


def _day(text: str) -> date:
    if not text:
        return ALWAYS
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.year not in YEARS:
        raise UserError(_("{text!r} is not a date. Enter it like 2026-01-31.").format(text=text[:QUOTED]))
    return day
