"""A project's settings: declared once, cleaned by their fields for every face."""

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError

from verification.core.errors import UserError
from verification.models import AlertService, Channel, IdentityConnection, ListEntry, Project, Provider, SenderRule
from verification.models.fields import NameField
from verification.models.project_settings import APPS, SETTABLE, SETTABLE_GROUPS
from verification.services.projects.lists import add_entry
from verification.services.projects.projects import create_project, set_project


def test_every_field_that_people_may_edit_is_in_one_group():
    left_out = {name for name, app in APPS.items() if not apps.is_installed(app)}
    not_settings = {"id", "public_id", "created_at", "deleted_at", "reported_at"} | left_out
    assert sorted(SETTABLE) == sorted({field.name for field in Project._meta.fields} - not_settings)
    assert all(SETTABLE_GROUPS.values())


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("countries", "de, DE ,se", ["DE", "SE"]),
        ("origins", "https://A.example", ["https://a.example"]),
        ("secret_key_networks", "203.0.113.7", ["203.0.113.7/32"]),
        ("challenge_hosts", "Shop.example,com.shop.app", ["shop.example", "com.shop.app"]),
        ("extra_prefixes", "+1861, +52155", ["+1861", "+5255"]),
        ("web_otp_domain", " Shop.example ", "shop.example"),
    ],
)
@pytest.mark.django_db
def test_a_setting_has_one_writing(project, name, text, kept):
    set_project(project=project.row, values={name: text})
    assert getattr(Project.objects.get(pk=project.id), name) == kept


@pytest.mark.django_db
@pytest.mark.parametrize("prefix", ["+0", "+049", "+", "+49x", "+1234567890123456"])
def test_a_provider_and_a_list_refuse_the_same_prefixes(project, prefix):
    with pytest.raises(ValidationError, match="is not a phone number prefix"):
        SenderRule._meta.get_field("prefix").clean(prefix, None)
    with pytest.raises(UserError, match="is not a phone number prefix"):
        add_entry(project=project.row, kind="block", subject="prefix", value=prefix)
    assert not ListEntry.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    ["1861", "+18", "+186123456", "+0861", "+870123", "+999123", "+1861x", ",".join(f"+18{n}" for n in range(10, 61))],
)
def test_extra_prefixes_are_at_most_50_of_3_to_8_digits_in_a_country(project, text):
    with pytest.raises(UserError):
        set_project(project=project.row, values={"extra_prefixes": text})


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["9" * 5_000, "-1", "1.5", ""])
def test_a_limit_that_is_no_whole_number_says_so(project, text):
    with pytest.raises(UserError, match="enter a whole number"):
        set_project(project=project.row, values={"sends_per_day": text})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "fault"), [({"code_length": "4"}, "set code_length=6"), ({"session_seconds": "601"}, "600 seconds")]
)
def test_a_project_of_nists_standard_takes_no_weaker_codes(project, values, fault):
    with pytest.raises(UserError, match=fault):
        set_project(project=project.row, values={"assurance": "nist", **values})
    set_project(project=Project.objects.get(pk=project.id), values={"assurance": "nist"})
    with pytest.raises(UserError, match=fault):
        set_project(project=Project.objects.get(pk=project.id), values=values)


@pytest.mark.django_db
def test_a_project_of_nists_standard_sends_nothing_by_mail(api, project):
    assert api.create("ann@example.com").status_code == 200
    project.set(assurance="nist")
    refused = api.create("bob@example.com").data
    assert refused["code"] == "channel_not_available"
    assert "allows no codes by e-mail" in refused["detail"]  # the owner has such a channel, and need not look for it
    assert api.create("+4915112345678").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Shop\n[error] FORGED", "Shop\x1b[31m", "Shop\u202epohS", "a\u2028b"])
def test_a_name_is_one_line_that_can_be_seen_whoever_gives_it(project, name):
    """Names stand in lists and in lines of the log."""
    for give in (
        lambda: create_project(name=name),
        lambda: set_project(project=project.row, values={"name": name}),
        lambda: project.provider("sms", name=name),
    ):
        with pytest.raises(UserError, match="one line, without control characters"):
            give()


def test_a_name_of_any_script_is_kept():
    assert NameField.clean_text(" می\u200cخواهم 👩\u200d💻 ") == "می\u200cخواهم 👩\u200d💻"
    named = {Project: "name", Channel: "name", Provider: "name", AlertService: "name", IdentityConnection: "name"}
    assert {type(model._meta.get_field(field)) for model, field in named.items()} == {NameField}
