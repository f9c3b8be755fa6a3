"""The checklist on a project's page, line by line as the rows tell it, and the first call in six languages."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from tests import factories
from tests.factories import a_message, a_session
from tests.fakes import http_server
from verification.admin.projects.onboarding import steps_of
from verification.models import ApiKey, KeyKind, Membership, Provider, Recipient
from verification.services.providers import accounts
from verification.services.providers.editing import change_provider

pytestmark = pytest.mark.django_db


@pytest.fixture
def new():
    return factories.project("New", channels=("sms",)).row


@pytest.fixture
def owner(client, new):
    user = User.objects.create_user("new-owner", is_staff=True)
    Membership.objects.create(project=new, user=user)
    client.force_login(user)
    return client


def done(project):
    return {step.title for step in steps_of(project) if step.is_done}


def open_steps(project):
    return {step.title for step in steps_of(project) if not step.is_done}


def page_of(project, name="change"):
    return reverse(f"admin:verification_project_{name}", args=(project.pk,))


def test_each_line_is_done_once_its_rows_are_there(new):
    new.keys.all().delete()
    Provider.objects.filter(project=new).delete()
    assert done(new) == set()
    ApiKey.objects.create(project=new, kind=KeyKind.API, prefix="ww_api_abc", digest=b"\x07" * 32)
    assert done(new) == {"Create an API key"}
    provider = accounts.add_provider(project=new, channel="sms", provider_type="inbox", name="Inbox", values={})
    assert "Connect a provider" in done(new) and "Check the credentials" not in done(new)
    assert accounts.check_provider(provider).is_ok
    assert "Check the credentials" in done(new)
    to = Recipient.objects.create(project=new, address="+4915112345678")
    a_message(to, status="sent", error="", sent_at=timezone.now(), finished_at=None)
    assert "Send a test to yourself" in done(new) and "Request a code from your app" not in done(new)
    a_session(to, is_open=False, is_test=True)
    assert "Request a code from your app" not in done(new)
    a_session(to)
    assert "Request a code from your app" in done(new) and "Choose where alerts go" not in done(new)
    new.alert_emails = ["ops@example.com"]
    assert "Choose where alerts go" in done(new)


def test_a_check_is_undone_by_other_settings(new):
    settings = {"url": "https://sms.example/send", "username": "shop", "password": "old"}
    provider = accounts.add_provider(project=new, channel="sms", provider_type="http", name="G", values=settings)
    for values, is_kept in (
        ({"priority": 5}, True),
        ({}, True),
        ({"password": "new"}, False),
        ({"username": "b"}, False),
    ):
        Provider.objects.filter(pk=provider.pk).update(checked_at=timezone.now())
        provider.refresh_from_db()
        change_provider(provider, *(({}, values) if "priority" not in values else (values, {})))
        provider.refresh_from_db()
        assert (provider.checked_at is not None) is is_kept, values


def test_after_the_first_verified_user_only_the_check_and_the_alerts_stay_open(new, owner):
    assert b"Getting started" in owner.get(page_of(new)).content
    to = Recipient.objects.create(project=new, address="+4915112345678")
    session = a_session(to, is_test=True)
    verified = {"is_open": False, "verified_at": timezone.now(), "code_digest": None, "code_encrypted": None}
    type(session).objects.filter(pk=session.pk).update(**verified)
    assert "Send a test to yourself" in open_steps(new)
    type(session).objects.filter(pk=session.pk).update(is_test=False)
    assert open_steps(new) == {"Check the credentials", "Choose where alerts go"}
    assert b"Getting started" in owner.get(page_of(new)).content


def test_the_checklist_goes_when_all_is_done_or_the_project_is_no_longer_new(new, owner):
    to = Recipient.objects.create(project=new, address="+4915112345678")
    session = a_session(to)
    verified = {"is_open": False, "verified_at": timezone.now(), "code_digest": None, "code_encrypted": None}
    type(session).objects.filter(pk=session.pk).update(**verified)
    Provider.objects.filter(project=new).update(checked_at=timezone.now())
    assert open_steps(new) == {"Choose where alerts go"}
    new.created_at -= timedelta(days=31)
    assert steps_of(new) == []
    new.created_at += timedelta(days=31)
    new.alert_emails = ["ops@example.com"]
    assert steps_of(new) == []


def test_every_step_leads_to_a_page_that_opens_for_a_member(new, owner):
    accounts.add_provider(project=new, channel="sms", provider_type="inbox", name="Inbox", values={})
    for step in steps_of(new):
        assert owner.get(step.link.partition("#")[0]).status_code == 200, step.title


def test_a_check_that_fails_is_not_done(new):
    provider = accounts.add_provider(
        project=new, channel="sms", provider_type="http", name="Away", values={"url": "http://127.0.0.1:9/send"}
    )
    assert not accounts.check_provider(provider).is_ok
    assert "Check the credentials" not in done(new)


def test_a_gateway_that_is_only_reached_is_checked_once_it_accepts_a_message(new):
    with http_server.FakeHttpServer() as gateway:
        gateway.script(http_server.answer(404, {}))
        row = accounts.add_provider(
            project=new, channel="sms", provider_type="http", name="G", values={"url": gateway.url}
        )
        health = accounts.check_provider(row)
    Provider.objects.filter(project=new).exclude(pk=row.pk).update(checked_at=timezone.now())
    assert health.is_ok and not health.is_sure and "Check the credentials" not in done(new)
    to = Recipient.objects.create(project=new, address="+4915112345678")
    message = a_message(to, provider=row, status="failed", sent_at=None)
    assert "Check the credentials" not in done(new)
    type(message).objects.filter(pk=message.pk).update(status="sent", error=None, sent_at=timezone.now())
    assert "Check the credentials" in done(new)


def test_each_provider_is_checked_and_the_step_leads_to_the_first_that_is_not(new):
    Provider.objects.filter(project=new).update(checked_at=timezone.now())
    assert "Check the credentials" in done(new)
    mail = accounts.add_provider(project=new, channel="email", provider_type="inbox", name="Mail", values={})
    [check] = [step for step in steps_of(new) if step.title == "Check the credentials"]
    assert not check.is_done and f"/{mail.pk}/check/" in check.link


def test_a_test_project_has_no_credentials_to_check(new):
    new.is_sandbox = True
    assert "Check the credentials" not in {step.title for step in steps_of(new)}


def test_the_programs_have_the_own_address_and_the_keys_beginning(new, owner):
    page = owner.get(page_of(new, "show_code"))
    key = new.keys.filter(kind=KeyKind.API).get()
    texts = [program.text for program in page.context["programs"]]
    assert [program.language for program in page.context["programs"]] == [
        *("curl", "Python", "JavaScript", "PHP", "Go", "Java")
    ]
    assert all(f"{settings.BASE_URL}/session/create" in text and str(key) in text for text in texts)


def test_another_projects_programs_are_not_found(panel, new):
    assert panel.as_("owner").get(page_of(new, "show_code")).status_code == 403
