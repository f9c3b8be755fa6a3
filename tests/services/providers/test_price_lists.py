"""Price lists as text: read to the line, refused with the line, and put in place of the one that was seen."""

from datetime import date
from decimal import Decimal

import pytest

from verification.core.errors import UserError
from verification.models import Price, Provider
from verification.services.providers import price_lists
from verification.services.providers.price_lists import ListRefused

HEADING = "to,price,currency,per,from\n"


def read_one(line, heading=HEADING):
    [found] = price_lists.read(heading + line)
    return tuple(found)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("+4915,0.0721,EUR,segment,", ("+4915", price_lists.ALWAYS, Decimal("0.0721"), "EUR", "segment")),
        ("4915,0.0721,eur,Segment", ("+4915", price_lists.ALWAYS, Decimal("0.0721"), "EUR", "segment")),
        ("Germany,0.05,EUR,segment", ("DE", price_lists.ALWAYS, Decimal("0.05"), "EUR", "segment")),
        (" de , 1 ,USD,message,2026-01-31", ("DE", date(2026, 1, 31), Decimal(1), "USD", "message")),
        ("Default,0,UZS,message,", ("", price_lists.ALWAYS, Decimal(0), "UZS", "message")),
    ],
)
def test_a_line_is_read(line, found):
    assert read_one(line) == found


@pytest.mark.parametrize("mark", [";", "\t"])
def test_spreadsheets_part_columns_by_other_marks_and_put_them_in_other_orders(mark):
    heading = mark.join(("Currency", "to", "per", "price"))
    line = mark.join(("EUR", "+49", "message", "0.05"))
    assert read_one(line, f"\ufeff{heading}\r\n")[0] == "+49"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "The list is empty."),
        ("to,price,currency\n+49,1,EUR", "Line 1: the column 'per' is missing."),
        ("to,price,currency,per,cost\n", "Line 1: there is no column 'cost'."),
        ("to,to,price,currency,per\n", "Line 1: the column 'to' appears twice"),
        ("to,price,currency,per\n+49,0.05,EUR,segment\n\n+43,0,05,EUR,segment", "Line 4: it has 5 columns"),
        (
            'to;price;currency;per\n+49;"0,05";EUR;segment',
            "Line 2: '0,05' is not a price. Enter a number with a decimal point",
        ),
        (HEADING + "+49,-0.05,EUR,segment", "Line 2: '-0.05' is not a price."),
        (HEADING + "+49,NaN,EUR,segment", "Line 2: 'NaN' is not a price."),
        (HEADING + "+49,0.123456789,EUR,segment", "Line 2: '0.123456789' is not a price."),
        (HEADING + "+49,0.05,EURO,segment", "Line 2: 'EURO' is not a currency."),
        (HEADING + "+49,0.05,EUR,sms", "Line 2: 'sms' is neither 'message' nor 'segment'."),
        (HEADING + ",0.05,EUR,segment", "Line 2: the destination is missing."),
        (HEADING + "Germania,0.05,EUR,segment", "Line 2: 'Germania' is not a country."),
        (HEADING + "+49a,0.05,EUR,segment", "Line 2: '+49a' is not a phone number prefix."),
        (HEADING + "+49,0.05,EUR,segment,31.01.2026", "Line 2: '31.01.2026' is not a date."),
        (HEADING + "+49,0.05,EUR,segment,0001-01-01", "Line 2: '0001-01-01' is not a date."),
        (",,,\n", "The list is empty."),
        ('""\n', "The list is empty."),
        (HEADING + "+49,1,EUR,segment\n49,2,EUR,segment", "Line 3: +49 already has a price in line 2."),
        (HEADING + "DE,1,EUR,segment\nde,2,EUR,segment,1970-01-01", "Line 3: '1970-01-01' is not a date."),
        (
            HEADING + "DE,1,EUR,segment,2026-01-01\nde,2,USD,message,2026-01-01",
            "Line 3: DE from 2026-01-01 already has a price in line 2.",
        ),
    ],
)
def test_a_wrong_list_is_refused_with_its_line_and_what_is_wrong(text, fault):
    with pytest.raises(ListRefused) as caught:
        price_lists.read(text)
    assert fault in str(caught.value)


def test_all_wrong_lines_are_told_up_to_a_number():
    with pytest.raises(ListRefused) as caught:
        price_lists.read(HEADING + "x\n" * 30)
    assert len(caught.value.faults) == price_lists.MAX_FAULTS + 1
    assert caught.value.faults[-1] == "10 more lines have errors."


@pytest.mark.parametrize(
    "text",
    [
        "x" * (price_lists.MAX_CHARACTERS + 1),
        HEADING + "".join(f"{n},1,EUR,message\n" for n in range(10_000, 10_001 + price_lists.MAX_LINES)),
    ],
)
def test_a_list_that_is_too_long_is_refused(text):
    with pytest.raises(ListRefused, match="the maximum is"):
        price_lists.read(text)


def test_a_list_that_was_written_is_read_as_it_was():
    lines = price_lists.read(
        HEADING + "+49,0.0500,EUR,segment,2026-02-01\nDE,1000,UZS,message\ndefault,0.1,USD,segment"
    )
    assert price_lists.read(price_lists.format_lines(lines)) == lines


def test_the_difference_tells_what_is_new_gone_and_changed():
    old = price_lists.read(HEADING + "+49,1,EUR,message\n+43,1,EUR,message\n+44,1,EUR,message")
    new = price_lists.read(HEADING + "+49,1.0,EUR,message\n+43,2,EUR,message\nDE,1,EUR,message")
    found = price_lists.difference(old, new)
    assert [line.to for line in found.added] == ["DE"]
    assert [line.to for line in found.removed] == ["+44"]
    assert [(one.price, other.price) for one, other in found.changed] == [("1", "2")]
    assert (found.same, found.is_empty) == (1, False)


@pytest.mark.django_db
def test_of_two_who_replace_the_same_list_the_second_is_told(project):
    gateway = project.row.providers.get(channel="sms")
    one, other = (price_lists.read(f"{HEADING}+49,{price},EUR,message") for price in ("1", "2"))
    price_lists.replace(gateway, one, number=0)
    with pytest.raises(UserError, match="Someone else"):
        price_lists.replace(gateway, other, number=0)
    assert Price.objects.get().amount == 1
    price_lists.replace(gateway, other, number=1)
    assert (price_lists.lines_of(gateway), Provider.objects.get(pk=gateway.pk).price_list) == (other, 2)
