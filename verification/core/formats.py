"""Times, dates, numbers and currencies as programs and people read and write them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from django.template import Library
from django.utils.formats import date_format, number_format
from django.utils.translation import get_language

from verification.core.errors import UserError


def iso_time(at: datetime, timespec: str = "milliseconds") -> str:
    return at.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def grouped(value: float | Decimal, *, places: int | None = None) -> str:
    """Write a number with its thousands apart, and with so many ``places`` after the point."""
    if get_language() is None:  # as makemigrations has it, which compares help texts
        return f"{value:,}" if places is None else f"{value:,.{places}f}"
    return number_format(value, decimal_pos=places, force_grouping=True)


DAY, DAY_AND_TIME = "j M Y", "j M Y, H:i"  # as Django's date formats
DAY_OF_YEAR, DAY_OF_YEAR_AND_TIME = "j M", "j M, H:i"  # where the year says nothing

register = Library()


def written_date(at: date | datetime, pattern: str) -> str:
    """Write a date. Django begins each month with a capital, which of the panel's languages English alone does."""
    written = date_format(at, pattern)
    return written if (get_language() or "en").startswith("en") else written.lower()


@register.filter
def written_day(at: date | datetime) -> str:
    return written_date(at, DAY)


@register.filter
def written_time(at: datetime) -> str:
    """Write a time to the minute, without its zone."""
    return written_date(at, DAY_AND_TIME)


CURRENCY_LENGTH = 3  # letters of every code
NO_CURRENCY = "XXX"  # ISO 4217's code for no currency: of what costs nothing while its price is not known
USUAL_ACCOUNT = "USD"  # most vendors' price lists are in it

_CODES = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP
    CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
    IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD
    MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB
    RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
    UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CURRENCIES = frozenset(_CODES.split())


def clean_currency(text: str) -> str:
    """Return a currency's code. Raises :class:`UserError`."""
    code = text.strip().upper()
    if code not in CURRENCIES:
        raise UserError(f"{text!r} is not a currency. Write three letters, such as EUR.")
    return code
