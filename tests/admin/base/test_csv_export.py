"""Every list as a CSV file: what is filtered, masked as on the list, harmless to spreadsheets, and on record."""

import csv
import io
from datetime import timedelta

import pytest
from django.contrib import admin
from django.urls import reverse

from tests.admin.rows import ADDRESS
from tests.factories import a_message
from verification.admin.apps import discover
from verification.admin.base import csv_export
from verification.admin.base.csv_export import harmless
from verification.models import AuditEntry, ListEntry, Message, Platform, Recipient

pytestmark = pytest.mark.django_db


def address_of(model, **query):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist", query={**query, "csv": 1})


def read(response):
    assert response.status_code == 200 and response["Content-Type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(response.getvalue().decode())))


discover()
LISTS = [model for model in admin.site._registry if model is not Platform]  # of the one platform there is no list


@pytest.mark.parametrize("model", LISTS, ids=lambda model: model._meta.model_name)
def test_every_list_has_a_file(panel, model):
    names, *rows = read(panel.as_("root").get(address_of(model)))
    assert len(set(names)) == len(names) and "<" not in "".join(names)
    assert all(len(row) == len(names) and "<" not in "".join(row) for row in rows)


def test_a_file_holds_the_rows_that_the_filters_let_through(panel):
    sent = a_message(panel.rows[Recipient], status="success", error="")
    names, row = read(panel.as_("owner").get(address_of(Message, status="success", p=1)))
    assert row[names.index("Message")] == f"msg_{sent.pk}"  # a spreadsheet would round 16 digits


@pytest.mark.requirement(91)
def test_addresses_are_masked_and_nothing_is_of_another_project(panel):
    names, *rows = read(panel.as_("owner").get(address_of(Recipient)))
    assert rows and ADDRESS not in str(rows)
    assert read(panel.as_("stranger").get(address_of(Recipient)))[1:] == []


def test_a_file_tells_the_whole_time(panel):
    names, row = read(panel.as_("owner").get(address_of(Message)))
    created = Message.objects.filter(project=panel.project).get().created_at
    assert row[names.index("Created")] == f"{created:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.requirement(91)
@pytest.mark.parametrize("text", ["=1+1", "+49+1", "+1-cmd|x", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1+1"])
def test_no_spreadsheet_takes_a_cell_for_a_formula(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a;=1+1;", "a;'=1+1;"),
        ("a; =1+1", "a;' =1+1"),
        (";=1+1", ";'=1+1"),
        ("a\t@SUM(A1)\t-1", "a\t'@SUM(A1)\t'-1"),
        ("a\r\n＝1+1", "a\r\n'＝1+1"),
        ("=1;=2", "'=1;'=2"),
        ("+4915112345678; +4915******78", "+4915112345678; +4915******78"),
        ("a;b=1;c-1", "a;b=1;c-1"),
    ],
)
def test_nor_what_stands_in_it_after_a_semicolon_or_a_tab(text, cell):
    """Much of Europe parts cells at semicolons."""
    assert harmless(text) == cell


@pytest.mark.parametrize("text", ["+4915112345678", "+4915******78"])
def test_a_number_has_no_apostrophe_as_it_is_no_formula(text):
    assert harmless(text) == text


@pytest.mark.requirement(89)
def test_a_cell_of_an_owner_is_neutralised(panel):
    ListEntry.objects.filter(project=panel.project).update(value="=HYPERLINK(1)")
    _, row = read(panel.as_("owner").get(address_of(ListEntry)))
    assert "'=HYPERLINK(1)" in row


def test_who_took_a_file_is_on_record_without_what_they_searched_for(panel):
    read(panel.as_("owner").get(address_of(Message, q=ADDRESS, status="failed")))
    entry = AuditEntry.objects.filter(action__startswith="Downloaded").get()
    assert entry.who == "owner"
    assert entry.action == "Downloaded 1 messages as CSV by status, searched"


def test_a_long_list_says_that_there_is_more(panel, monkeypatch):
    a_message(panel.rows[Recipient])
    monkeypatch.setattr(csv_export, "MAX_ROWS", 1)
    *_, row, last = read(panel.as_("owner").get(address_of(Message)))
    assert last == ["Only the first 1 are here. Narrow the filters to get the others."]


def test_a_parameter_that_is_no_filter_is_refused(panel):
    assert panel.as_("owner").get(address_of(Message, code_digest__gte="a")).status_code == 400


def test_a_list_leads_to_its_file_with_its_filters(panel):
    page = panel.as_("owner").get(address_of(Message, status="failed").replace("&csv=1", "")).content.decode()
    assert "?status=failed&amp;csv=1" in page
    assert "at most 20,000 rows" in page


def test_a_file_of_messages_has_their_cost_country_and_times(panel):
    sent = panel.rows[Message]
    sent.attempts.update(segments=2, price="0.15000000", currency="EUR")
    Message.objects.filter(pk=sent.pk).update(sent_at=sent.created_at + timedelta(milliseconds=420))
    names, row = read(panel.as_("owner").get(address_of(Message)))
    found = dict(zip(names, row, strict=True))
    assert (found["Country"], found["Language"], found["Session"]) == ("DE", "en", sent.session_id)
    assert (found["Segments"], found["Cost"], found["Currency"]) == ("2", "0.15", "EUR")
    assert found["Seconds to accept"] == "0.420"
    assert found["Accepted"].startswith(f"{sent.created_at:%Y-%m-%dT%H:}") and found["Accepted"].endswith("Z")


def test_a_message_without_a_price_has_an_empty_cell(panel):
    names, row = read(panel.as_("owner").get(address_of(Message)))
    found = dict(zip(names, row, strict=True))
    assert (found["Cost"], found["Currency"], found["Segments"]) == ("", "", "")


def test_a_column_that_the_reader_chose_stands_once_in_the_file(panel):
    names, _row = read(panel.as_("owner").get(address_of(Message, columns="short_id,language_label,session_number")))
    assert names.count("Language") == names.count("Session") == 1
