"""A vendor's invoice as CSV: read by its columns' names, bounded, and compared with our own count."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from verification.core.errors import UserError
from verification.models import HourlyCosts, Provider
from verification.services.analytics import invoices
from verification.services.analytics.invoices import Place

TODAY = timezone.now().date()
YESTERDAY = TODAY - timedelta(days=1)


def read(text, *, currency="USD", is_day_first=None, **names):
    raw = text if isinstance(text, bytes) else text.encode()
    return invoices.read(raw, names=names, currency=currency, is_day_first=is_day_first)


def sums(invoice):
    return {(place.day, place.country): (each.amount, each.messages) for place, each in invoice.sums.items()}


def test_a_line_for_each_message_is_summed_by_day_and_country():
    found = read(
        f"Date Sent,To,Price,Price Unit\n{TODAY}T10:00:00Z,+4915112345678,0.07,USD\n{TODAY} 11:00,4915112345679,"
        f"0.08,usd\n{YESTERDAY},+5511987654321,0.05,USD\n"
    )
    assert sums(found) == {(TODAY, "DE"): (Decimal("0.15"), 2), (YESTERDAY, "BR"): (Decimal("0.05"), 1)}


def test_sums_by_country_have_their_count_of_messages():
    found = read(f"day;country;messages;total cost\n{TODAY};br;1200;37,20\n{TODAY};DE;3;1.234,50\n", currency="EUR")
    assert sums(found) == {(TODAY, "BR"): (Decimal("37.20"), 1200), (TODAY, "DE"): (Decimal("1234.50"), 3)}


def test_columns_of_other_names_are_named():
    with pytest.raises(UserError, match="No date column was found. Its columns are: Tag, Land, Betrag"):
        read(f"Tag,Land,Betrag\n{TODAY},DE,1\n")
    found = read(f"Tag,Land,Betrag\n{TODAY},DE,1\n", day="tag", country="Land", amount="Betrag")
    assert sums(found) == {(TODAY, "DE"): (1, 1)}
    with pytest.raises(UserError, match="The file has no column “Netto”"):
        read(f"date,country,price\n{TODAY},DE,1\n", amount="Netto")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_of_a_spreadsheet_is_read(encoding):
    text = f"sep=;\r\ndate;country;price\r\n{TODAY};DE;1,50\r\n"
    assert sums(read(text.encode(encoding))) == {(TODAY, "DE"): (Decimal("1.5"), 1)}


def test_charges_that_are_booked_below_zero_count_as_costs():
    assert sums(read(f"date,country,price\n{TODAY},DE,-0.0750\n{TODAY},DE,-0.0750\n")) == {
        (TODAY, "DE"): (Decimal("0.15"), 2)
    }


def test_the_file_shows_how_its_days_are_written():
    day = TODAY.replace(day=13) if TODAY.day >= 13 else (TODAY.replace(day=1) - timedelta(days=1)).replace(day=13)
    assert sums(read(f"date,country,price\n{day:%d/%m/%Y},DE,1\n")) == {(day, "DE"): (1, 1)}
    assert sums(read(f"date,country,price\n{day:%m/%d/%Y},DE,1\n")) == {(day, "DE"): (1, 1)}
    first = day.replace(day=1)
    unclear = f"date,country,price\n{first:%d/%m/%Y},DE,1\n"
    with pytest.raises(UserError, match="ambiguous"):
        read(unclear)
    assert sums(read(unclear, is_day_first=True)) == {(first, "DE"): (1, 1)}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"{TODAY},DE,NaN,1", "the amount is not a number"),
        (f"{TODAY},DE,1e999999999,1", "the amount is not a number"),
        (f"{TODAY},DE,1e99,1", "the amount is too large"),
        (f"{TODAY},DE,{'9' * 900},1", "the amount is not a number"),
        (f"{TODAY},DE,9999999999,1", "the amount is too large"),
        (f"{TODAY},DE,=1+1,1", "the amount is not a number"),
        (f"{TODAY},DE,1.5e-9999,1", "the amount is not a number"),
        (f"{TODAY},DE,1O.5,1", "the amount is not a number"),
        (f"{TODAY},DE,0x10,1", "the amount is not a number"),
        (f"{TODAY},DE,5 ¢,1", "the amount is not a number"),
        (f"{TODAY},DE,5 ct,1", "the amount is not a number"),
        (f"{TODAY},DE,5%,1", "the amount is not a number"),
        (f"{TODAY},DE,2k,1", "the amount is not a number"),
        (f"{TODAY},DE,5 10,1", "the amount is not a number"),
        (f"{TODAY},DE,1.2.3,1", "the amount is not a number"),
        (f"{TODAY},DE,(3.00,1", "the amount is not a number"),
        (f"{TODAY},DE,3.00),1", "the amount is not a number"),
        (f"{TODAY},DE,(-3.00),1", "the amount is not a number"),
        (f"{TODAY},DE,-3.00 CR,1", "the amount is not a number"),
        (f"{TODAY},DE,--3.00,1", "the amount is not a number"),
        (f"{TODAY},DE,5.-,1", "the amount is not a number"),
        (f"{TODAY},DE,3.00 EUR,1", "the currency is not USD"),
        (f"{TODAY},DE,1,1.5", "the message count is not a whole number"),
        (f"{TODAY},DE,1,-4", "the message count is not a whole number"),
        (f"{TODAY},Germany,1,1", "no two-letter country code or phone number"),
        ("1999-01-01,DE,1,1", "the date is not within the last 25 months"),
        ("2026-99-99,DE,1,1", "the date is not within the last 25 months"),
        ("later,DE,1,1", "the date is not within the last 25 months"),
        (f"{TODAY}", "no two-letter country code"),
    ],
)
def test_a_line_that_cannot_be_read_is_left_out_and_named_by_its_number_alone(line, why):
    found = read(f"date,country,price,count\n{TODAY},DE,2,1\n{line}\n")
    assert (found.lines, found.unread) == (2, 1)
    assert found.reasons[0].startswith("Line 3: ")
    assert why in found.reasons[0]
    assert sums(found) == {(TODAY, "DE"): (2, 1)}


def test_an_amount_written_as_a_float_is_rounded():
    found = read(f"date,country,price\n{TODAY},DE,0.5960000000000001\n{TODAY},BR,12345.600000000001\n")
    assert sums(found) == {(TODAY, "DE"): (Decimal("0.596"), 1), (TODAY, "BR"): (Decimal("12345.6"), 1)}


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        *((credit, -3) for credit in ("(3.00)", "( $3.00 )", "$(3.00)", "3.00-", "3.00 -", "- 3.00", "−3.00")),
        *((credit, -3) for credit in ("3.00 CR", "3.00cr", "CR 3.00", "$3.00-", "(USD 3.00)", "（3.00）", "-US$ 3.00")),
        *((charge, 3) for charge in ("3.00 DR", "+3.00", "USD 3", "3 usd", "Rs. 3", "Rs.3.00", "3,00 руб.", "'3.00")),
        *((small, Decimal("0.000015")) for small in ("1.5e-05", "1,5E-5", "0.015E-3", ".000015", "1.500e-05")),
        *((large, Decimal("1234567.5")) for large in ("1 234 567,5", "1'234'567.5", "1,234,567.50", "12,34,567.5")),
        *((large, 1234567) for large in ("1.234.567", "1,234,567", "1\u202f234\u202f567", "1’234’567")),
    ],
)
def test_an_amount_is_read_as_it_is_written(written, amount):
    found = read(f'date;country;price\n{TODAY};DE;"99999999.00"\n{TODAY};BR;"{written}"\n')
    assert (found.reasons, found.sums[Place(TODAY, "BR")].amount) == ([], amount)


@pytest.mark.parametrize(("written", "count"), [("1.200", 1200), ("1,200", 1200), ("3.0", 3), ("3,00", 3), ("12", 12)])
def test_a_count_has_no_decimals(written, count):
    found = read(f"date;country;price;count\n{TODAY};DE;10;{written}\n")
    assert sums(found) == {(TODAY, "DE"): (10, count)}


def test_lines_of_other_providers_are_left_out_and_counted():
    text = f"day,provider,country,cost\n{TODAY},Kestrel,DE,2\n{TODAY},Merlin,DE,3\n{TODAY},Merlin,BR,3\n".encode()
    options = {"names": {}, "currency": "USD", "is_day_first": None}
    found = invoices.read(text, provider="kestrel", **options)
    assert (sums(found), found.lines, found.others) == ({(TODAY, "DE"): (2, 1)}, 1, 2)
    with pytest.raises(UserError, match="names Heron in no line"):
        invoices.read(text, provider="Heron", **options)


def test_another_currency_is_left_out():
    found = read(f"date,country,price,currency\n{TODAY},DE,2,USD\n{TODAY},DE,3,EUR\n")
    assert found.reasons == ["Line 3: the currency is not USD."]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "The file is empty"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"date,country,price\n", "No line of the file could be read"),
        (b"date,country,price\nx,y,z\n", "Line 2: "),
        (b"date,price\n2026-01-01,1\n", "No column with countries or phone numbers"),
        (b"a," * 101, "more than 100 columns"),
        (b'date,country,price\n"' + b"x" * 200_000, "not CSV"),
    ],
)
def test_a_file_that_is_no_invoice_is_refused_in_words(raw, why):
    with pytest.raises(UserError, match=why):
        read(raw)


def test_a_file_of_too_many_lines_is_refused(monkeypatch):
    monkeypatch.setattr(invoices, "MAX_LINES", 3)
    with pytest.raises(UserError, match="more than 3 lines"):
        read("date,country,price\n" + f"{TODAY},DE,1\n" * 4)


def test_a_reason_holds_no_text_of_the_file():
    found = read(f"date,to,price\n{TODAY},+4915112345678,1\n{TODAY},+4915112345678,+4915112345679x\n")
    assert "4915" not in "".join(found.reasons)


@pytest.fixture
def billed(project):
    provider = Provider.objects.get(project=project.row, channel="sms")
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for country, currency, amount, sends in (
        ("DE", "USD", "1.50", 15),
        ("BR", "USD", "2.00", 20),
        ("BR", "EUR", "9.00", 3),
        ("DE", "", "0", 4),
    ):
        HourlyCosts.objects.create(
            project=project.row,
            hour=hour,
            channel="sms",
            provider_id=provider.pk,
            country=country,
            language="en",
            currency=currency,
            amount=Decimal(amount),
            sends=sends,
            segments=sends,
        )
    return project, provider


@pytest.mark.django_db
def test_differences_are_told_by_country_and_day_the_largest_first(billed):
    project, provider = billed
    invoice = read(f"date,country,count,price\n{TODAY},DE,15,1.50\n{TODAY},BR,22,2.75\n{TODAY},FR,1,0.10\n")
    found = invoices.compare(invoice, provider, [project.id])
    assert [(each.country, each.amount, each.messages) for each in found.by_day] == [
        ("BR", Decimal("0.75"), 2),
        ("FR", Decimal("0.10"), 1),
        ("DE", Decimal("0.00"), 0),
    ]
    assert (found.total.amount, found.others) == (Decimal("0.85"), 7)
    assert {each.country: each.counted.amount for each in found.by_country}["DE"] == Decimal("1.50")


@pytest.mark.django_db
def test_what_the_invoice_lacks_is_a_difference_and_nothing_of_another_project_counts(billed):
    project, provider = billed
    invoice = read(f"date,country,price\n{TODAY},DE,1.50\n")
    found = invoices.compare(invoice, provider, [project.id])
    missing = next(each for each in found.by_day if each.country == "BR")
    assert (missing.amount, missing.day) == (Decimal("-2.00"), TODAY)
    others = invoices.compare(invoice, provider, [])
    assert [(each.country, each.amount) for each in others.by_day] == [("DE", Decimal("1.50"))]
    assert Place(TODAY, "BR") not in invoice.sums
