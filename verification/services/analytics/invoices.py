"""A vendor's invoice, line by line, against what we counted for its messages: the differences by country and day.

The file is read, compared and forgotten: nothing of it is stored, as its lines hold users' numbers.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core.addresses import country_of
from verification.core.currencies import CURRENCIES
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.models import Provider
from verification.services.analytics import costs, ranges

MAX_LINES = 100_000  # some seconds of a thread's work; a longer invoice is compared week by week
MAX_COLUMNS = 100
MAX_CELL = 1_000  # characters of a cell; no column that is read holds as many
MAX_UNITS = 10**9  # of one line's money, and of its messages
MAX_DECIMALS = 20  # of an amount: a float such as 0.5960000000000001 is written with up to 17 digits
DECIMALS = 9  # that an amount is rounded to: more than any price has, fewer than the fault of a float
KNOWN_PREFIX = 8  # characters of a number, with the plus, by which its country is remembered while a file is read
COUNTRY = re.compile(r"[A-Z]{2}")
_AMOUNT = re.compile(rf"\d{{1,12}}(?:\.\d{{1,{MAX_DECIMALS}}})?|\.\d{{1,{MAX_DECIMALS}}}")
# One run of digits with what parts them, and what stands around it. The point of an abbreviation is none of the number.
_WRITTEN = re.compile(
    r"(?P<before>\D*?)(?P<digits>(?:(?<![^\W_])[.,])?\d(?:[\d.,' ]*\d)?)"
    r"(?P<exponent>[eE][-+]?\d{1,3})?(?P<after>(?:[^\d.]\D*)?)"
)
_SEPARATOR_LINE = re.compile(r"\Asep=.\r?\n")  # which spreadsheets write before the header; the header shows it as well
_MARK = re.compile(r"[^\W\d_]*\$|[^\W\d_]+|[^\w\s.]")
# Thousands, also as India parts them.
_GROUPED = {mark: re.compile(rf"\d{{1,3}}(?:\{mark}\d{{2,3}})*\{mark}\d{{3}}") for mark in ",."}
_SPACED = re.compile(r"(\d{1,3}(?:[ ']\d{3})+)([.,]\d+)?")
_ONE_GROUP = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_ALIKE = str.maketrans("−–‘’ʼ`٫٬", "--" + 4 * "'" + ".,")  # writings of one sign; NFKC has brought others together
# The units that vendors write beside an amount, in small letters. Any other word makes the cell no amount.
_UNITS = frozenset(["ft", "kr", "kč", "lei", "rs", "tl", "zł", "грн", "лв", "р", "руб", "сум", "тг"])
CREDIT, DEBIT = "cr", "dr"  # as book-keepers mark the two sides
_ISO_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_DAY = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")

# The columns that are looked for: by their meaning the names under which vendors export them, in lower case.
NAMES = {
    "day": ("day", "date", "date sent", "datesent", "sent", "sent at", "sent date", "date_created", "created", "time"),
    "country": ("country", "country code", "countrycode", "country iso", "iso", "destination country"),
    "number": ("number", "to", "recipient", "destination", "msisdn", "phone", "phone number", "to number"),
    "amount": ("amount", "price", "cost", "charge", "charged", "total", "total price", "total cost"),
    "count": ("count", "quantity", "qty", "messages", "units"),
    "currency": ("currency", "price unit", "priceunit", "price_unit", "currency code"),
    "provider": ("provider",),
}
TITLES = {
    "day": gettext_lazy("Date column"),
    "country": gettext_lazy("Country column (two letters)"),
    "number": gettext_lazy("Phone number column"),
    "amount": gettext_lazy("Amount column"),
    "count": gettext_lazy("Message count column"),
    "currency": gettext_lazy("Currency column"),
}


class Place(NamedTuple):
    """What a difference is told for: a day (UTC, as we count; an invoice may mean another zone) and a country."""

    day: date
    country: str


@dataclass(slots=True)
class Sum:
    amount: Decimal = Decimal(0)
    messages: int = 0

    def add(self, amount: Decimal, messages: int) -> None:
        self.amount += amount
        self.messages += messages


@dataclass(slots=True)
class Invoice:
    """The sums of a file. ``unread`` lines were left out, the first of them named in ``reasons``.

    ``others`` are the lines of other providers, which ``lines`` lacks.
    """

    currency: str
    sums: dict[Place, Sum] = field(default_factory=lambda: defaultdict(Sum))
    lines: int = 0
    unread: int = 0
    others: int = 0
    reasons: list[str] = field(default_factory=list)

    def leave_out(self, number: int, why: str) -> None:
        self.unread += 1
        if len(self.reasons) < REASONS_TOLD:
            self.reasons.append(_("Line {number}: {why}").format(number=grouped(number), why=why))


REASONS_TOLD = 5


@dataclass(frozen=True, slots=True)
class InvoiceDifference:
    """One country's day, or a sum of several: what the invoice asks and what we counted."""

    country: str
    day: date | None
    asked: Sum
    counted: Sum

    @property
    def amount(self) -> Decimal:
        """Above 0 where the invoice asks for more."""
        return self.asked.amount - self.counted.amount

    @property
    def messages(self) -> int:
        return self.asked.messages - self.counted.messages

    @property
    def is_none(self) -> bool:
        """The invoice asks for what we counted."""
        return not (self.amount or self.messages)


@dataclass(frozen=True, slots=True)
class Comparison:
    """``by_country`` sums all days, ``by_day`` has each country's day; the largest differences come first.

    ``others`` are our messages in a currency other than the invoice's or without a price, which ``counted`` lacks.
    """

    invoice: Invoice
    total: InvoiceDifference
    by_country: list[InvoiceDifference]
    by_day: list[InvoiceDifference]
    others: int


def read(
    raw: bytes, *, names: Mapping[str, str], currency: str, is_day_first: bool | None, provider: str = ""
) -> Invoice:
    """Read a CSV file, its columns by their names; ``names`` gives some by the meanings of :data:`NAMES`.

    ``is_day_first`` says how 03/04/2026 is meant; None if the file itself shows it. Of a file that names providers,
    as our own file of costs does, only the lines of ``provider`` are read. Raises :class:`UserError`, which says what
    is wrong with the file as a whole. A line that cannot be read is left out and counted.
    """
    rows = _rows(raw)
    header = next(rows, None)
    if header is None:
        raise UserError(_("The file is empty."))
    columns = _columns(header[1], names)
    lines = [(number, _cells_of(columns, cells)) for number, cells in rows if any(cell.strip() for cell in cells)]
    invoice = Invoice(currency)
    if provider and "provider" in columns:
        own = [line for line in lines if line[1]["provider"].casefold() == provider.casefold()]
        if lines and not own:
            raise UserError(
                _("The column “provider” names {provider} in no line. If it means something else, rename it.").format(
                    provider=provider
                )
            )
        invoice.others = len(lines) - len(own)
        lines = own
    if is_day_first is None:
        is_day_first = _is_day_first(cells["day"] for _, cells in lines)
    places: dict[str, str] = {}
    for number, cells in lines:
        invoice.lines += 1
        try:
            _add(invoice, cells, is_day_first, places)
        except ValueError as error:
            invoice.leave_out(number, str(error))
    if invoice.lines == invoice.unread:
        raise UserError(
            _("No line of the file could be read. {reasons}").format(reasons=" ".join(invoice.reasons)).strip()
        )
    if invoice.sums and all(each.amount <= 0 for each in invoice.sums.values()):
        for each in invoice.sums.values():  # vendors that book a charge as a negative sum
            each.amount = -each.amount
    return invoice


def compare(invoice: Invoice, provider: Provider, projects: Sequence[int]) -> Comparison:
    """Compare an invoice with what the provider's messages of these projects cost on its days.

    Raises :class:`UserError` where figures of its days are not kept.
    """
    first, last = min(invoice.sums).day, max(invoice.sums).day
    span = ranges.between(first, last, now=timezone.now())
    counted: dict[Place, Sum] = defaultdict(Sum)
    others = 0
    for day, country, currency, amount, sends in costs.charged(projects, span, {"provider_id": provider.pk}):
        if currency == invoice.currency or (currency and not amount):
            counted[Place(day, country)].add(amount, sends)
        else:
            others += sends
    by_day = [
        InvoiceDifference(place.country, place.day, invoice.sums.get(place, Sum()), counted.get(place, Sum()))
        for place in invoice.sums.keys() | counted.keys()
    ]
    by_country: dict[str, InvoiceDifference] = {}
    total = InvoiceDifference("", None, Sum(), Sum())
    for each in by_day:
        of_country = by_country.setdefault(each.country, InvoiceDifference(each.country, None, Sum(), Sum()))
        for into in (of_country, total):
            into.asked.add(each.asked.amount, each.asked.messages)
            into.counted.add(each.counted.amount, each.counted.messages)
    return Comparison(invoice, total, _largest_first(by_country.values()), _largest_first(by_day), others)


def _largest_first(differences: Iterable[InvoiceDifference]) -> list[InvoiceDifference]:
    return sorted(differences, key=lambda each: (-abs(each.amount), each.country, each.day or date.min))


def _rows(raw: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a file with their numbers. Raises :class:`UserError`."""
    try:
        text = raw.decode("utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(_("The file is not UTF-8 text. Save it as CSV in UTF-8.")) from None
    text, removed = _SEPARATOR_LINE.subn("", text)
    head = text[:4_000].partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text.replace("\0", "")), delimiter=separator)
    try:
        for number, cells in enumerate(reader, start=1 + removed):
            if number > MAX_LINES + 1:
                raise UserError(
                    _("The file has more than {number} lines. Compare one week at a time.").format(
                        number=grouped(MAX_LINES)
                    )
                )
            if len(cells) > MAX_COLUMNS:
                raise UserError(_("The file has more than {number} columns.").format(number=MAX_COLUMNS))
            yield number, [cell[:MAX_CELL] for cell in cells]
    except csv.Error:
        raise UserError(_("The file is not CSV: a cell is too long, or its quotes are not closed.")) from None


def _columns(header: Sequence[str], names: Mapping[str, str]) -> dict[str, int]:
    """Return the place of each column by its meaning. Raises :class:`UserError`, which names those of the file."""
    found = [cell.strip().lower() for cell in header]
    columns = {}
    for meaning, usual in NAMES.items():
        given = names.get(meaning, "").strip()
        if given and given.lower() not in found:
            raise UserError(_("The file has no column “{name}”. {has}").format(name=given[:50], has=_has(header)))
        name = given.lower() or next((each for each in usual if each in found), "")
        if name:
            columns[meaning] = found.index(name)
    for needed in ("day", "amount"):
        if needed not in columns:
            raise UserError(_("No {title} was found. {has}").format(title=TITLES[needed].lower(), has=_has(header)))
    if "country" not in columns and "number" not in columns:
        raise UserError(_("No column with countries or phone numbers was found. {has}").format(has=_has(header)))
    return columns


def _has(header: Sequence[str]) -> str:
    shown = ", ".join(cell.strip()[:30] for cell in header[:20])
    return _("Its columns are: {names}. Enter the names below.").format(names=shown)


def _cells_of(columns: Mapping[str, int], cells: Sequence[str]) -> dict[str, str]:
    """Return a line's cells by their meaning; empty for those that it lacks."""
    return {
        meaning: cells[columns[meaning]].strip() if columns.get(meaning, len(cells)) < len(cells) else ""
        for meaning in NAMES
    }


def _add(invoice: Invoice, cells: Mapping[str, str], is_day_first: bool, places: dict[str, str]) -> None:
    """Add a line. Raises ``ValueError`` with the reason why it cannot be read; no cell's text is in it."""
    currency = cells["currency"].upper()
    if currency and currency != invoice.currency:
        raise ValueError(_("the currency is not {currency}.").format(currency=invoice.currency))
    messages = _number(cells["count"], is_count=True) if cells["count"] else Decimal(1)
    if messages != int(messages) or messages < 0:
        raise ValueError(_("the message count is not a whole number."))
    place = Place(_day(cells["day"], is_day_first), _country(cells["country"], cells["number"], places))
    invoice.sums[place].add(_number(cells["amount"], invoice.currency), int(messages))


def _country(named: str, number: str, places: dict[str, str]) -> str:
    if COUNTRY.fullmatch(named.upper()):
        return named.upper()
    digits = re.sub(r"\D", "", number)
    if not digits:
        raise ValueError(_("no two-letter country code or phone number."))
    key = f"+{digits}"[:KNOWN_PREFIX]
    if key not in places:
        places[key] = country_of(f"+{digits}")
    return places[key]


def _number(text: str, currency: str = "", *, is_count: bool = False) -> Decimal:
    """Read 1,234.56, 1.234,56, 0,0123, $0.05, 1.5e-05 and the credits (3.00), 3.00- and 3.00 CR.

    Raises ``ValueError`` for whatever else the cell says: nothing is dropped that could have a meaning.
    """
    found = _WRITTEN.fullmatch(unicodedata.normalize("NFKC", text).translate(_ALIKE).strip().removeprefix("'"))
    plain = found and _plain(found["digits"], is_count=is_count, has_exponent=bool(found["exponent"]))
    if not found or not plain or not _AMOUNT.fullmatch(plain):
        raise ValueError(_("the amount is not a number."))
    number = Decimal(plain + (found["exponent"] or ""))
    if number > MAX_UNITS:
        raise ValueError(_("the amount is too large."))
    is_credit = _is_credit(found["before"].casefold(), found["after"].casefold(), currency)
    return round(-number if is_credit else number, DECIMALS)


def _plain(digits: str, *, is_count: bool, has_exponent: bool) -> str:
    """Return digits with a point before the decimals and nothing else; empty where they are parted in no known way."""
    if parted := _SPACED.fullmatch(digits):
        return re.sub("[ ']", "", parted[1]) + (parted[2] or "").replace(",", ".")
    point = max(".,", key=digits.rfind)
    groups = "," if point == "." else "."
    if groups not in digits and digits.count(point) < 2:
        # One mark before three digits: a comma parts thousands, as few prices are written so; a point does in a count.
        is_thousands = _ONE_GROUP.fullmatch(digits) and not has_exponent and (point == "," or is_count)
        return digits.replace(point, "" if is_thousands else ".")
    whole, _unused, decimals = digits.rpartition(point) if groups in digits else (digits, "", "")
    mark = groups if groups in digits else point
    return f"{whole.replace(mark, '')}.{decimals or 0}" if _GROUPED[mark].fullmatch(whole) else ""


def _is_credit(before: str, after: str, currency: str) -> bool:
    """Judge what stands around a number. Raises ``ValueError`` unless all of it is one sign and units of money."""
    marks = _MARK.findall(f"{before} {after}")
    signs = [mark for mark in marks if mark in ("-", "+", "(", CREDIT, DEBIT)]
    units = [mark for mark in marks if mark not in signs and mark != ")"]
    is_closed = before.count("(") == after.count(")") and ")" not in before and "(" not in after
    if not all(_is_money(unit, currency) for unit in units) or len(signs) > 1 or not is_closed:
        raise ValueError(_("the amount is not a number."))
    return signs in (["-"], ["("], [CREDIT])


def _is_money(unit: str, currency: str) -> bool:
    """Raises ``ValueError`` for another currency's code."""
    if unit.upper() in CURRENCIES and unit.upper() != currency:
        raise ValueError(_("the currency is not {currency}.").format(currency=currency))
    is_sign = unicodedata.category(unit[-1]) == "Sc" and unit != "¢"
    return is_sign or unit in _UNITS or unit.upper() == currency


def _day(text: str, is_day_first: bool) -> date:
    """Read the day that a text begins with."""
    try:
        if found := _ISO_DAY.match(text):
            return _near(date(*(int(part) for part in found.groups())))
        if found := _DAY.match(text):
            first, second, year = (int(part) for part in found.groups())
            return _near(date(year, *((second, first) if is_day_first else (first, second))))
    except ValueError:
        pass
    raise ValueError(_("the date is not within the last 25 months."))


def _near(day: date) -> date:
    """Raises ``ValueError`` for a day of which no figures can be kept."""
    now = timezone.now()
    if not (now - ranges.DAYS_KEPT).date() <= day <= now.date() + timedelta(days=1):
        raise ValueError
    return min(day, now.date())


def _is_day_first(texts: Iterable[str]) -> bool:
    """Return how the file writes its days. Raises :class:`UserError` where it does not show it."""
    pairs = {(int(found[1]), int(found[2])) for text in texts if (found := _DAY.match(text.strip()))}
    is_day, is_month = any(first > 12 for first, _ in pairs), any(second > 12 for _, second in pairs)
    if pairs and is_day == is_month:
        raise UserError(_("Dates such as 03/04/2026 are ambiguous in this file. Choose the date format."))
    return is_day
