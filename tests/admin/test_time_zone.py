"""Times in the reader's own zone, with the UTC under the pointer."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone, translation

from tests.admin.rows import values_on
from verification.core.formats import DAY, DAY_AND_TIME, written_date, written_moment, zone_name
from verification.models import ApiKey, ListEntry, Message

MOMENT = datetime(2026, 11, 24, 20, 15, 30, tzinfo=UTC)


@pytest.fixture
def reader(panel):
    """The owner, whose browser is in Kolkata."""
    Message.objects.filter(pk=panel.rows[Message].pk).update(created_at=MOMENT, finished_at=MOMENT)
    client = panel.as_("owner")
    client.cookies[settings.TIME_ZONE_COOKIE_NAME] = "Asia/Kolkata"
    return client


def message_page(panel):
    return reverse("admin:verification_message_change", args=(panel.rows[Message].pk,))


def test_a_page_has_times_in_the_readers_zone_and_the_utc_under_the_pointer(panel, reader):
    page = reader.get(message_page(panel)).content.decode()
    assert (
        '<time datetime="2026-11-24T20:15:30+00:00" title="24 Nov 2026, 20:15:30 UTC">25 Nov 2026, 01:45 IST</time>'
        in page
    )
    assert "clock times are in IST" in page


@pytest.mark.parametrize("cookie", ["", "Nowhere/Else", "../../etc/passwd", "America", "UTC", "x" * 5_000, "\x00"])
def test_without_a_zone_that_there_is_times_are_in_utc(panel, reader, cookie):
    reader.cookies[settings.TIME_ZONE_COOKIE_NAME] = cookie
    page = reader.get(message_page(panel)).content.decode()
    assert "24 Nov 2026, 20:15 UTC" in page
    assert timezone.get_current_timezone_name() == "UTC", "the next request of this thread begins in UTC"


def test_a_time_that_is_typed_is_in_the_readers_zone(panel, reader):
    row = reverse("admin:verification_listentry_change", args=(panel.rows[ListEntry].pk,))
    reader.post(row, values_on(reader, row) | {"expires_at_0": "2027-01-01", "expires_at_1": "05:30:00"})
    panel.rows[ListEntry].refresh_from_db()
    assert panel.rows[ListEntry].expires_at == datetime(2027, 1, 1, tzinfo=UTC)


def test_files_have_utc_whoever_takes_them(panel, reader):
    ApiKey.objects.filter(pk=panel.rows[ApiKey].pk).update(created_at=MOMENT)
    file = reader.get(reverse("admin:verification_apikey_changelist", query={"csv": 1})).getvalue().decode()
    assert "2026-11-24T20:15:00Z" in file and "IST" not in file


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        ("UTC", "UTC"),
        ("Europe/Berlin", "CET"),
        ("Asia/Tashkent", "UTC+5"),
        ("America/St_Johns", "NST"),
        ("Asia/Kathmandu", "UTC+5:45"),
        ("America/Sao_Paulo", "UTC-3"),
    ],
)
def test_a_zone_is_named(zone, name):
    with timezone.override(ZoneInfo(zone)):
        assert zone_name(MOMENT) == name
        assert written_moment(MOMENT, DAY_AND_TIME).endswith(f" {name}")


@pytest.mark.parametrize(
    ("language", "day", "time"),
    [
        ("en", "24 Nov 2026", "24 Nov 2026, 20:15"),
        ("ru", "24 ноя 2026", "24 ноя 2026, 20:15"),
        ("es", "24 nov 2026", "24 nov 2026, 20:15"),
        ("uz", "24-noy 2026", "24-noy 2026, 20:15"),
    ],
)
def test_a_date_is_written_as_its_language_has_it(language, day, time):
    with translation.override(language):
        assert (written_date(MOMENT, DAY), written_date(MOMENT, DAY_AND_TIME)) == (day, time)
