"""The facts of a season: its countries, hours, prices, exchange rates, texts and outages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

SHARE_OF_HOURS = (2, 1, 1, 1, 1, 2, 4, 6, 7, 8, 8, 9, 10, 9, 8, 8, 9, 10, 11, 10, 8, 6, 4, 3)  # from midnight, UTC


@dataclass(frozen=True)
class Country:
    """A country's part of the traffic, and the beginning of its mobile numbers, of which ``digits`` follow."""

    code: str
    language: str
    share: int
    prefix: str
    digits: int
    order: tuple[str, ...]  # its providers, the first one asked first
    arrives: float = 0.95  # the part of accepted messages that arrives


COUNTRIES = (
    Country("IN", "en", 22, "+9198765", 5, ("Northwind", "Kestrel"), 0.91),
    Country("BR", "pt", 16, "+5511987", 6, ("Kestrel", "Northwind")),
    Country("GB", "en", 12, "+447400", 6, ("Bluebird",), 0.97),
    Country("US", "en", 11, "+1415263", 4, ("Northwind", "Bluebird"), 0.96),
    Country("DE", "de", 9, "+4915112", 6, ("Bluebird", "Northwind"), 0.97),
    Country("MX", "es", 7, "+5255123", 5, ("Kestrel", "Northwind"), 0.92),
    Country("ES", "es", 5, "+346123", 5, ("Bluebird", "Northwind"), 0.96),
    Country("ID", "id", 5, "+62812345", 5, ("Northwind", "Kestrel"), 0.88),
    Country("UZ", "uz", 4, "+9989012", 5, ("Northwind",), 0.9),
    Country("FR", "fr", 4, "+336123", 5, ("Bluebird", "Northwind"), 0.96),
    Country("KZ", "ru", 3, "+7701234", 4, ("Northwind", "Kestrel"), 0.93),
    Country("NG", "en", 2, "+234803", 7, ("Kestrel", "Northwind"), 0.84),
)
PRICES = {  # in the currency that the vendor charges
    "Northwind": "to,price,currency,per\ndefault,0.0610,USD,segment\nIN,0.0790,USD,segment\nBR,0.0480,USD,segment\n"
    "US,0.0079,USD,segment\nUZ,0.0910,USD,segment\nDE,0.0840,USD,segment\nID,0.0720,USD,segment",
    "Kestrel": "to,price,currency,per\ndefault,0.0520,EUR,segment\nIN,0.0430,EUR,segment\nBR,0.0310,EUR,segment\n"
    "MX,0.0290,EUR,segment\nNG,0.0660,EUR,segment\nID,0.0690,EUR,segment",
    "Bluebird": "to,price,currency,per\ndefault,0.0560,GBP,segment\nGB,0.0310,GBP,segment\nDE,0.0620,GBP,segment\n"
    "US,0.0110,GBP,segment",
}
# The calling codes that one provider alone serves: the others' contracts leave them out, so none takes over there.
SERVED_BY_ONE = {"+44": "Bluebird", "+998": "Northwind"}
RATES = {"USD": "0.92", "GBP": "1.17"}  # into EUR, the currency of account
TEXT_WORKS = {False: 0.86, True: 0.91}  # of those whom a code reached: by the present text, and by the second one


@dataclass(frozen=True)
class Outage:
    """A time in which a provider takes no message, or loses what it took. Without a country it is in all of them."""

    provider: str
    country: str
    since: datetime
    until: datetime
    loses: float  # the part of the messages that is lost
    is_silent: bool = False  # accepted, and reported as failed later

    def holds(self, provider: str, country: Country, at: datetime) -> bool:
        return self.provider == provider and self.country in ("", country.code) and self.since <= at < self.until


def outages(now: datetime) -> tuple[Outage, ...]:
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)

    def at(days: int, hour: int) -> datetime:
        return day - timedelta(days=days) + timedelta(hours=hour)

    return (
        Outage("Kestrel", "BR", at(4, 14), now, 0.72, is_silent=True),
        Outage("Northwind", "", at(9, 10), at(9, 14), 1.0),
        Outage("Bluebird", "", at(1, 12), at(1, 13), 1.0),
        Outage("Bluebird", "", at(37, 18), at(37, 20), 1.0),
        Outage("Kestrel", "", at(61, 7), at(61, 9), 1.0),
    )
