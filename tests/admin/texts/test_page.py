"""The texts' pages: all languages side by side, and the preview of what is typed."""

import re
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils.html import escape

from tests import voices
from tests.admin.rows import sent_once
from verification.core import caching
from verification.models import AuditEntry, Message, MessageTemplate, Project, Provider
from verification.models.prices import ALWAYS
from verification.services.providers import price_lists

pytestmark = pytest.mark.django_db

LIST, PREVIEW = reverse("admin:verification_messagetemplate_changelist"), reverse("admin:verification_text_preview")


def about(panel, **values):
    return {"project": panel.project.pk, "channel": "sms", "language": "en"} | values


def cells(response):
    """Return whose text goes out over SMS, by language."""
    matrix = response.context["matrix"]
    return {line.language: line.cells[0].state for line in [*matrix.lines, *matrix.rest]}


def test_all_languages_stand_side_by_side_with_whose_text_goes_out(panel):
    panel.project.languages = ["de", "de-AT", "fr", "lv"]
    panel.project.save()
    found = cells(panel.as_("owner").get(LIST))
    assert (found["de"], found["de-AT"], found["fr"]) == ("Custom", "Custom, from German", "Default")
    assert found["lv"] == "Missing: English is sent"
    shown = {line.language for line in panel.as_("owner").get(LIST).context["matrix"].lines}
    assert shown == {"de", "de-AT", "fr", "lv", "en"}


def test_a_stranger_sees_no_text_of_the_project(panel):
    response = panel.as_("stranger").get(LIST, {"project": panel.project.pk})
    assert response.status_code == 404 and "Ours" not in response.content.decode()


def test_a_new_text_begins_with_ours(panel):
    response = panel.as_("owner").get(reverse("admin:verification_messagetemplate_add"), about(panel, language="fr"))
    assert "{code}" in response.context["adminform"].form.initial["text"]
    assert "471836" in response.content.decode()


@pytest.mark.parametrize(("language", "direction"), [("ar", "rtl"), ("fr", "ltr")])
def test_a_text_is_written_in_the_direction_of_its_language(panel, language, direction):
    response = panel.as_("owner").get(
        reverse("admin:verification_messagetemplate_add"), about(panel, language=language)
    )
    [field] = re.findall(r'<textarea name="text"[^>]*>', response.content.decode())
    assert f'dir="{direction}"' in field


def test_the_preview_shows_what_was_typed_and_saves_nothing(panel):
    values = about(panel, text="{code} by <b>{project}</b>\r\n’" + "x" * 60)
    response = panel.as_("owner").post(PREVIEW, values)
    shown = response.content.decode()
    assert "471836 by &lt;b&gt;Ours&lt;/b&gt;\n<mark>’</mark>" in shown
    assert "2 SMS: 83 of 134 characters, UCS-2." in shown and "Without special characters: 1 SMS." in shown
    assert not MessageTemplate.objects.filter(language="en").exists()


def test_the_preview_of_a_mail_keeps_its_page_within_the_frame(panel):
    values = about(panel, channel="email", text='"><script>alert(1)</script> {code}', subject="{code} at evil.com")
    shown = panel.as_("owner").post(PREVIEW, values).content.decode()
    assert "<script>alert" not in shown and 'sandbox=""' in shown
    assert "evil.com looks like a link" in shown


@pytest.mark.parametrize(("who", "number"), [("stranger", 200), ("anonymous", 302)])
def test_the_preview_tells_nobody_else_the_project_s_name(panel, who, number):
    panel.project.name = "Acme Bank"
    panel.project.save()
    response = panel.as_(who).post(PREVIEW, about(panel, text="{code} {project}"))
    assert response.status_code == number and "Acme Bank" not in response.content.decode()


@pytest.mark.parametrize(
    "values", [{"channel": "messenger_b"}, {"channel": "pigeon"}, {"language": "no language"}, {"project": "x"}]
)
def test_a_preview_of_what_there_is_not_asks_to_choose(panel, values):
    response = panel.as_("owner").post(PREVIEW, about(panel, text="{code}", **values))
    assert "Choose project, channel and language" in response.content.decode()
    assert panel.as_("owner").get(PREVIEW).status_code == 405


@pytest.mark.parametrize(
    ("countries", "places", "told"),
    [
        ([], {"": "0.05"}, "1,000 codes with Our gateway: 100.00 EUR."),
        ([], {"": "0.05", "DE": "0.07"}, "1,000 codes with Our gateway: 100.00 to 140.00 EUR, by country."),
        (["DE"], {"": "0.05", "DE": "0.07"}, "1,000 codes with Our gateway: 140.00 EUR."),
        (["FR"], {"DE": "0.07"}, None),
    ],
)
def test_the_price_of_a_thousand_is_told_where_it_is_known(panel, countries, places, told):
    Project.objects.filter(pk=panel.project.pk).update(countries=countries)
    gateway = panel.rows[Provider]
    lines = [
        price_lists.PriceLine(place, ALWAYS, Decimal(amount), "EUR", "segment") for place, amount in places.items()
    ]
    price_lists.replace(gateway, lines, number=0)
    shown = panel.as_("owner").post(PREVIEW, about(panel, text="{code} " + "x" * 200)).content.decode()
    assert (told in shown) if told else ("1,000 codes" not in shown)


def test_advice_keeps_no_text_from_being_saved(panel):
    values = about(panel, language="it", text="{code}")
    shown = panel.as_("owner").post(PREVIEW, values).content.decode()
    assert "who sent it. Add" in shown
    panel.as_("owner").post(reverse("admin:verification_messagetemplate_add"), values)
    assert MessageTemplate.objects.filter(language="it").exists()


# --- a message to oneself

NUMBER = "+4915112345688"


def send_page(panel, **values):
    return reverse("admin:verification_text_send", query=about(panel, **values))


def test_the_saved_text_is_sent_to_oneself_in_its_language(panel):
    caching.clear_all()
    response = sent_once(panel.as_("owner"), send_page(panel, language="de"), to=NUMBER)
    message = Message.objects.get(recipient__address=NUMBER)
    assert response.url == reverse("admin:verification_message_change", args=(message.pk,)) + "?live"
    assert (message.language, message.session_id, message.channel) == ("de", None, "sms")
    line = AuditEntry.objects.get(action__startswith="Sent a text to themselves")
    assert line.project_id == panel.project.pk and NUMBER not in line.action + line.object_label


def test_a_form_that_is_sent_twice_sends_one_message(panel):
    caching.clear_all()
    client, page = panel.as_("owner"), send_page(panel)
    values = {"_once": client.get(page).context["once"], "to": NUMBER}
    for _ in range(2):
        client.post(page, values)
    assert Message.objects.filter(recipient__address=NUMBER).count() == 1


def test_the_limits_of_a_recipient_hold_for_oneself_too(panel):
    caching.clear_all()
    client, page = panel.as_("owner"), send_page(panel)
    answers = [sent_once(client, page, to=NUMBER) for _ in range(12)]
    refused = [answer for answer in answers if answer.status_code == 200]
    assert refused and all("Try again in" in answer.context["form"].errors["to"][1] for answer in refused)
    assert Message.objects.filter(recipient__address=NUMBER).count() == len(answers) - len(refused)


@pytest.mark.parametrize("to", ["", "12", "nobody", "ann@example.com"])
def test_what_is_no_recipient_of_the_channel_is_refused_beside_the_field(panel, to):
    caching.clear_all()
    response = sent_once(panel.as_("owner"), send_page(panel), to=to)
    assert response.status_code == 200 and response.context["form"].errors["to"]


def test_a_stranger_sends_nothing(panel):
    assert panel.as_("stranger").post(send_page(panel), {"to": NUMBER}).status_code == 404
    assert not Message.objects.filter(recipient__address=NUMBER).exists()


# --- a call, spoken --------------------------------------------------------------------------------------------------

RECORDING = reverse("admin:verification_text_recording")


@pytest.fixture
def voice(tmp_path, monkeypatch):
    return voices.install(tmp_path, monkeypatch)


def heard(panel, who, **values):
    return panel.as_(who).get(RECORDING, about(panel, channel="voice", language="de") | values)


def test_a_call_is_heard_with_a_sample_code_and_kept_nowhere(panel, voice):
    response = heard(panel, "owner", text="Dein Code: {code}")
    assert voice.words == "Dein Code: 4, 7, 1, 8, 3, 6" and response.content[:4] == b"RIFF"
    assert response["Content-Type"] == "audio/wav" and "no-store" in response["Cache-Control"]


def test_a_voice_that_fails_is_told_in_a_sentence(panel, voice):
    voice.then("exit 1")
    response = heard(panel, "owner", text="{code}")
    assert response.status_code == 503 and b"Try again" in response.content


@pytest.mark.parametrize("values", [{"channel": "sms"}, {"project": 0}, {"language": "?"}, {"text": "a" * 481}])
def test_what_is_no_text_of_a_call_is_not_spoken(panel, voice, values):
    assert heard(panel, "owner", **values).status_code == 404 and voice.words is None


@pytest.mark.parametrize("role", ["analyst", "support"])
def test_who_may_not_write_texts_hears_none(panel, voice, role):
    panel.project.memberships.update(role=role)
    for who in ("owner", "stranger"):
        assert heard(panel, who, text="{code}").status_code in (403, 404)
    assert voice.words is None


def test_the_preview_of_a_call_leads_to_its_recording(panel, voice):
    def shown(text):
        return panel.as_("owner").post(PREVIEW, about(panel, channel="voice", language="de", text=text))

    response = shown("Dein Code & Co: {code}")
    address = response.context["preview"].recording
    assert f'href="{escape(address)}"' in response.content.decode() and RECORDING in address
    assert panel.as_("owner").get(address).status_code == 200 and voice.words.startswith("Dein Code & Co")
    assert not shown("no code in it").context["preview"].recording


def test_the_menu_alone_chooses_the_project(panel):
    page = panel.as_("root").get(LIST, {"project": panel.project.pk}, follow=True)
    assert '<select name="project"' not in page.content.decode() and page.context["matrix"].project == panel.project
