"""Project › File: the set-up is downloaded, and a file is applied once its difference was seen."""

import re

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.admin.rows import PROVIDER_SECRET
from tests.contrib.config_files.files import file_with, text_of
from verification.admin.auth.session import CONFIRMED
from verification.contrib.config_files.admin import MAX_BYTES
from verification.models import AuditEntry, Membership, Message, Project, Provider, Role, Session
from verification.services.providers.accounts import stored_secrets

pytestmark = pytest.mark.django_db
GATEWAY = {"type": "http", "settings": {"url": "https://sms.example/send", "headers": {"secret": "sms_headers"}}}


def page_of(panel, name="show_file"):
    return reverse(f"admin:verification_project_{name}", args=(panel.project.pk,))


def look(panel, content, who="owner", **secrets):
    text = content if isinstance(content, str) else text_of(file_with(content))
    client = panel.as_(who)
    given = {f"secret_{name}": value for name, value in secrets.items()}
    return client, client.post(page_of(panel), {"text": text, **given})


def agree(client, panel, response):
    """Press "Apply" on the page of the difference."""
    held = re.search(r'name="held" value="([^"]+)"', response.content.decode())[1]
    return client.post(page_of(panel, "apply_file"), {"held": held}, follow=True)


def test_what_is_downloaded_is_the_projects_own_set_up_without_secrets_and_has_nothing_to_change(panel):
    client = panel.as_("owner")
    answer = client.get(page_of(panel) + "?download=1")
    assert answer["Content-Disposition"] == 'attachment; filename="ours.yaml"'
    text = answer.content.decode()
    assert list(yaml.safe_load(text)["projects"]) == ["Ours"]
    assert PROVIDER_SECRET not in text and "Theirs" not in text
    page = client.post(page_of(panel), {"text": text}).content.decode()
    assert "Nothing to change" in page and 'name="held"' not in page


def test_a_difference_is_shown_then_applied_and_is_on_record(panel):
    client, shown = look(panel, {"Ours": {"settings": {"code_length": 4}}})
    assert "settings.code_length" in shown.content.decode() and "Apply 1 change" in shown.content.decode()
    panel.project.refresh_from_db()
    assert panel.project.code_length == 6
    assert "belongs to another session" in agree(panel.as_("owner"), panel, shown).content.decode()
    done = agree(client, panel, shown)
    assert "File applied: 1 change." in done.content.decode()
    panel.project.refresh_from_db()
    assert panel.project.code_length == 4
    line = AuditEntry.objects.get(action="applied a set-up file (1 change)")
    assert (line.who, line.project_id) == ("owner", panel.project.pk)


def test_a_file_is_uploaded_too_and_its_name_does_not_matter(panel):
    upload = SimpleUploadedFile("a.yaml", text_of(file_with({"Elsewhere": {"settings": {"code_length": 4}}})).encode())
    shown = panel.as_("owner").post(page_of(panel), {"upload": upload, "text": ""}).content.decode()
    assert "The file names the project “Elsewhere”" in shown and "Apply 1 change" in shown


@pytest.mark.requirement(84)
def test_a_secret_is_typed_in_and_is_on_no_page_nor_read_from_the_server(panel, monkeypatch):
    monkeypatch.setenv("WATCHWORD_SECRET_SMS_HEADERS", "x-token: the-operators")
    file = {"Ours": {"providers": {"sms": {"New gateway": GATEWAY}}}}
    _, asked = look(panel, file)
    page = asked.content.decode()
    assert "the secret sms_headers was not provided, and none is stored" in page and 'name="secret_sms_headers"' in page
    client, shown = look(panel, file, sms_headers="x-token: hunter2")
    assert "hunter2" not in shown.content.decode()
    agree(client, panel, shown)
    provider = Provider.objects.get(project=panel.project, name="New gateway")
    assert stored_secrets(provider)["headers"] == "x-token: hunter2"


@pytest.mark.requirement(87)
def test_applying_asks_who_it_is(panel):
    client, shown = look(panel, {"Ours": {"settings": {"code_length": 4}}})
    session = client.session
    session[CONFIRMED] = 0
    session.save()
    assert "Confirm it's you" in agree(client, panel, shown).content.decode()
    panel.project.refresh_from_db()
    assert panel.project.code_length == 6


def test_a_set_up_that_was_changed_meanwhile_is_shown_again(panel):
    client, shown = look(panel, {"Ours": {"settings": {"code_length": 4, "sends_per_day": 9}}})
    type(panel.project).objects.filter(pk=panel.project.pk).update(code_length=4)
    page = agree(client, panel, shown).content.decode()
    assert "changed in the meantime" in page and "Apply 1 change" in page
    panel.project.refresh_from_db()
    assert panel.project.sends_per_day == 20


@pytest.mark.requirement(119)
@pytest.mark.parametrize("sees", [True, False])
def test_no_file_shows_whole_recipients_to_who_does_not_see_them(panel, sees):
    members = Membership.objects.filter(project=panel.project)
    members.update(sees_addresses=sees, role=Role.DEVELOPER)
    client, shown = look(panel, {"Ours": {"settings": {"event_recipients": True}}})
    refusal = "Only members who can see full addresses may turn this on."
    assert ("Apply 1 change" in shown.content.decode()) is sees
    assert (refusal in shown.content.decode()) is not sees
    if sees:  # who applies it is judged again
        members.update(sees_addresses=False)
        assert refusal in agree(client, panel, shown).content.decode()
    panel.project.refresh_from_db()
    assert not panel.project.event_recipients


def test_no_file_turns_events_with_whole_recipients_to_another_server(panel):
    type(panel.project).objects.filter(pk=panel.project.pk).update(
        event_recipients=True, event_url="https://shop.example/events"
    )
    _, shown = look(panel, {"Ours": {"settings": {"event_url": "https://mine.example/events"}}})
    page = shown.content.decode()
    assert "Apply 1 change" not in page and "only members who can see them may change this" in page


def test_a_file_of_a_live_project_says_how_a_test_project_stays_one(panel):
    Project.objects.filter(pk=panel.project.pk).update(is_sandbox=True)
    Provider.objects.filter(project=panel.project).delete()
    Session.objects.filter(project=panel.project).delete()
    Message.objects.filter(project=panel.project).delete()
    for channel in ("sms", "email"):
        Provider.objects.create(project=panel.project, channel=channel, type="sandbox", name="Sandbox")
    changed = {"is_sandbox": False, "code_length": 4}
    _, page = look(panel, {"Ours": {"settings": changed}})
    [fault] = page.context["faults"]
    assert fault.sentence == (
        "A live project cannot have sandbox providers. Delete them on the Providers page first: Sandbox (E-mail),"
        " Sandbox (SMS). To apply the rest of the file, write is_sandbox: true."
    )
    _, page = look(panel, {"Ours": {"settings": {**changed, "is_sandbox": True}}})
    assert "Apply 1 change" in page.content.decode()


@pytest.mark.parametrize("name", ["show_file", "apply_file"])
def test_others_find_no_page(panel, name):
    assert panel.as_("stranger").get(page_of(panel, name) + "?download=1").status_code == 403
    assert panel.as_("stranger").post(page_of(panel, name), {"text": "watchword: 1"}).status_code == 403


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "Choose a file, or paste its text."),
        ("a: [", "This is not YAML"),
        ("a" * (MAX_BYTES + 1), "larger than 64 kB"),
        ({}, "only accepts a file with one project"),
        ({"Ours": {}, "Theirs": {}}, "only accepts a file with one project"),
        ({"Ours": {"settings": {"code_length": 5}}}, "projects.Ours.settings.code_length: enter one of 4, 6"),
    ],
)
def test_a_wrong_file_is_refused_on_the_page(panel, content, complaint):
    page = look(panel, content)[1].content.decode()
    assert complaint in page and 'name="held"' not in page
