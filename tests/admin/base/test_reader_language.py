"""Numbers, dates, refusals and mails in the reader's language, and files in English whatever it is."""

from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.contrib import admin
from django.core import mail
from django.urls import reverse
from django.utils import translation

from providers import registry
from providers.errors import SettingsInvalid
from tests.admin.base.test_csv_export import address_of, read
from tests.admin.rows import ADDRESS, values_on
from verification.admin.base.nouns import NOUNS, counted
from verification.core.formats import DAY_AND_TIME, written_date
from verification.models import Channel, Message, Recipient
from verification.services.users import invitations

SMPP = {"setting_system_id": "shop", "setting_password": "secret", "setting_sender": "Shop"}


def test_every_list_has_a_noun_that_is_counted():
    assert set(NOUNS) == {model._meta.label_lower for model in admin.site._registry}


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1 канал"), (2, "2 канала"), (5, "5 каналов"), (21, "21 канал"), (2_000, "2\xa0000 каналов")],
)
def test_russian_has_three_forms_of_a_noun(number, words):
    with translation.override("ru"):
        assert counted(Channel._meta, number) == words


@pytest.mark.parametrize(("language", "month"), [("en", "3 May"), ("ru", "3 мая"), ("es", "3 may"), ("uz", "3-may")])
def test_a_month_is_written_small_where_the_language_does_so(language, month):
    with translation.override(language):
        assert written_date(datetime(2026, 5, 3, 14, 5, tzinfo=UTC), DAY_AND_TIME) == f"{month} 2026, 14:05"


def test_a_refusal_that_holds_a_value_is_translated():
    values = {"host": "smsc.example", "system_id": "shop", "password": "secret", "port": "70000"}
    with translation.override("ru"), pytest.raises(SettingsInvalid) as refused:
        registry.clean_settings("smpp", values)
    assert refused.value.errors == {"port": "ожидается число от 1 до 65535"}


@pytest.mark.django_db
def test_a_form_refuses_in_the_readers_language_and_names_the_value(panel):
    client = panel.as_("owner")
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "ru"
    page = reverse("admin:verification_provider_add", query={"project": panel.project.pk, "as": "sms/smpp"})
    values = values_on(client, page) | {"name": "SMSC", "setting_host": "smsc.example"}
    errors = client.post(page, values | SMPP | {"setting_port": "70000"}).context["adminform"].form.errors
    assert errors == {"setting_port": ["Ожидается число от 1 до 65535."]}


@pytest.mark.django_db
def test_a_file_of_a_list_is_in_english_whatever_the_reader_speaks(panel):
    client = panel.as_("owner")
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "ru"
    names, row = read(client.get(address_of(Message)))
    assert "Message" in names and "Failed" in row and row[names.index("Created")].endswith("Z")
    answer = client.get(address_of(Recipient))
    assert "recipients-" in answer["Content-Disposition"] and ADDRESS not in answer.getvalue().decode()


@pytest.mark.django_db
def test_an_invitation_is_mailed_in_the_language_of_who_invites(panel):
    owner = panel.project.members.get(username="owner")
    with translation.override("ru"):
        invited = invitations.invite(
            project=panel.project, email="ana@shop.example", role="analyst", sees_addresses=False, by=owner
        )
    invitations.deliver((invited.pk,))
    [sent] = mail.outbox
    assert sent.subject == "[Ours] Приглашение" and "Ваша роль: аналитик." in sent.body
    assert "/admin/invitation/" in sent.body and translation.get_language() == "en"
