"""Times in the reader's own zone, with the UTC under the pointer."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import connection
from django.urls import reverse
from django.utils import timezone, translation

from tests.admin.rows import values_on
from verification.core.formats import DAY, DAY_AND_TIME, written_date, written_moment, zone_name
from verification.models import ApiKey, ListEntry, Message, TestLogin

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


@pytest.mark.parametrize("model", [ListEntry, TestLogin])
@pytest.mark.parametrize(
    ("day", "zone"), [("9999-12-31", "America/Los_Angeles"), ("9999-12-31", "UTC"), ("0001-01-01", "Europe/Berlin")]
)
def test_a_time_that_some_zone_cannot_write_is_refused_at_its_field(panel, reader, model, day, zone):
    reader.cookies[settings.TIME_ZONE_COOKIE_NAME] = zone
    row = reverse(f"admin:verification_{model._meta.model_name}_change", args=(panel.rows[model].pk,))
    answer = reader.post(row, values_on(reader, row) | {"expires_at_0": day, "expires_at_1": "23:59:00"})
    [said] = answer.context["adminform"].form.errors["expires_at"]
    assert said == "Enter a year from 1970 to 9000, or leave it empty for no expiry."


@pytest.mark.parametrize("model", [ListEntry, TestLogin])
@pytest.mark.parametrize("time", ["10000-01-01 07:59Z", "9999-12-31 23:59Z", "infinity", "-infinity", "0001-01-01 BC"])
def test_a_row_with_such_a_time_breaks_no_list_and_can_be_deleted(panel, reader, model, time):
    with connection.cursor() as cursor:
        table, pk = model._meta.db_table, panel.rows[model].pk
        cursor.execute(f"UPDATE {table} SET expires_at = %s WHERE id = %s", [time, pk])
    name = f"admin:verification_{model._meta.model_name}"
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        reader.cookies[settings.TIME_ZONE_COOKIE_NAME] = zone
        assert reader.get(reverse(f"{name}_changelist")).status_code == 200
        assert reader.get(reverse(f"{name}_changelist", query={"csv": 1})).getvalue()
        assert reader.get(reverse(f"{name}_change", args=(pk,))).status_code == 200
    reader.post(reverse(f"{name}_delete", args=(pk,)), {"post": "yes"})
    assert not model.objects.filter(pk=pk).exists()


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
