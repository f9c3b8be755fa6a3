"""The texts' pages: all languages side by side, and the preview of what is typed."""

import pytest
from django.urls import reverse

from tests.panel.test_delivery import errors
from verification.models import MessageTemplate

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
    assert (found["de"], found["de-AT"], found["fr"]) == ("Yours", "Yours, from de", "Ours")
    assert found["lv"] == "Missing: English goes out"
    shown = {line.language for line in panel.as_("owner").get(LIST).context["matrix"].lines}
    assert shown == {"de", "de-AT", "fr", "lv", "en"}


def test_a_stranger_sees_no_text_of_the_project(panel):
    response = panel.as_("stranger").get(LIST, {"project": panel.project.pk})
    assert response.context["matrix"] is None and "Ours" not in response.content.decode()


def test_whoever_has_no_project_is_told_what_to_do(panel):
    MessageTemplate.objects.all().delete()
    panel.project.memberships.all().delete()
    assert "Create one, or ask the operator" in panel.as_("owner").get(LIST).content.decode()


def test_a_new_text_begins_with_ours(panel):
    response = panel.as_("owner").get(reverse("admin:verification_messagetemplate_add"), about(panel, language="fr"))
    assert "{code}" in response.context["adminform"].form.initial["text"]
    assert "471836" in response.content.decode()


def test_the_preview_shows_what_was_typed_and_saves_nothing(panel):
    values = about(panel, text="{code} by <b>{project}</b>\r\n’")
    response = panel.as_("owner").post(PREVIEW, values)
    shown = response.content.decode()
    assert "471836 by &lt;b&gt;Ours&lt;/b&gt;\n<mark>’</mark>" in shown
    assert "1 SMS: 23 of 70 characters, UCS-2." in shown and "Without: 1 SMS." in shown
    assert not MessageTemplate.objects.filter(language="en").exists()


def test_the_preview_of_a_mail_keeps_its_page_within_the_frame(panel):
    values = about(panel, channel="email", text='"><script>alert(1)</script> {code}', subject="{code} at evil.com")
    shown = panel.as_("owner").post(PREVIEW, values).content.decode()
    assert "<script>alert" not in shown and 'sandbox=""' in shown
    assert "evil.com reads as a link" in shown


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
    assert "Choose the project, the channel and the language" in response.content.decode()
    assert panel.as_("owner").get(PREVIEW).status_code == 405


def test_each_finding_says_what_to_do(panel):
    values = about(panel, language="it", text="Your {name} \x1b" + "x" * 480)
    found = " ".join(errors(panel.as_("owner").post(reverse("admin:verification_messagetemplate_add"), values))["text"])
    for remedy in ("Write it where", "Use {code}, {project} and {minutes}", "Type the text anew", "Shorten it."):
        assert remedy in found


def test_advice_keeps_no_text_from_being_saved(panel):
    values = about(panel, language="it", text="{code}")
    shown = panel.as_("owner").post(PREVIEW, values).content.decode()
    assert "Nothing says who sends it." in shown
    panel.as_("owner").post(reverse("admin:verification_messagetemplate_add"), values)
    assert MessageTemplate.objects.filter(language="it").exists()
