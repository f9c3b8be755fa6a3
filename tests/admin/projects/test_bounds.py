"""A project can pile up only so much, by every way in, and the refusal says what to do."""

from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.urls import reverse

from tests import clock, factories
from tests.admin.rows import values_on
from tests.commands.running import run
from verification.core.errors import UserError
from verification.models import ApiKey, KeyKind, MessageTemplate, Project, Provider, WebhookSecret, bounds
from verification.services.maintenance.retention import purge
from verification.services.projects.keys import issue_key, revoke_key, rotate_key
from verification.services.projects.projects import set_project
from verification.services.projects.webhook_secrets import live_webhook_secrets, rotate_webhook_secret
from verification.services.providers.capacity import require_room

pytestmark = pytest.mark.django_db

LONG_LISTS = {
    "origins": [f"https://{n}.example" for n in range(101)],
    "languages": [f"en-{n:03}" for n in range(101)],
    "server_addresses": [f"192.0.2.{n}" for n in range(101)],
    "secret_key_networks": [f"10.0.{n}.0/24" for n in range(101)],
    "challenge_hosts": [f"{n}.example" for n in range(101)],
}


@pytest.fixture
def full_of_keys(project):
    """A project that has room for one key."""
    ready = ApiKey.objects.live().filter(project=project.row).count()
    ApiKey.objects.bulk_create(
        ApiKey(project=project.row, kind=KeyKind.API, prefix="ww_api_", digest=bytes([n]) * 32)
        for n in range(bounds.MAX_LIVE_KEYS - ready - 1)
    )
    return project.row


@pytest.mark.requirement(14)
def test_a_project_has_so_many_live_keys(full_of_keys):
    last = issue_key(project=full_of_keys, kind=KeyKind.API)
    with pytest.raises(UserError, match="at most 100 active keys. Revoke one"):
        issue_key(project=full_of_keys, kind=KeyKind.API)
    with pytest.raises(CommandError, match="at most 100 active keys"):
        run("issuekey", str(full_of_keys.pk), "--kind", "secret")
    revoke_key(last.id)
    assert issue_key(project=full_of_keys, kind=KeyKind.API).text


def test_rotating_is_no_way_around_it(full_of_keys):
    last = issue_key(project=full_of_keys, kind=KeyKind.API)
    with pytest.raises(UserError, match="at most 100 active keys"):
        rotate_key(last.id, overlap=timedelta(days=1))


def test_keys_that_are_over_go_with_the_projects_old_rows(project):
    over = issue_key(project=project.row, kind=KeyKind.API)
    revoke_key(over.id)
    clock.forward(29 * clock.DAY)
    purge()
    assert ApiKey.objects.filter(pk=over.id).exists()
    clock.forward(2 * clock.DAY)
    purge()
    assert not ApiKey.objects.filter(pk=over.id).exists()
    assert ApiKey.objects.live().filter(project=project.row).count() == 2


def test_only_so_many_webhook_secrets_sign_at_once(project):
    for _ in range(bounds.MAX_WEBHOOK_SECRETS - len(live_webhook_secrets(project.row))):
        rotate_webhook_secret(project.row)
    with pytest.raises(UserError, match="secrets are already in use"):
        rotate_webhook_secret(project.row)
    WebhookSecret.objects.exclude(expires_at=None).update(expires_at="2020-01-01T00:00Z")
    assert rotate_webhook_secret(project.row)


def fill_channel(project, number=bounds.MAX_PROVIDERS, type="http"):
    for n in range(number):
        factories.provider(project=project, channel="sms", type=type, name=f"P{n}")


@pytest.mark.requirement(14)
def test_a_channel_has_so_many_providers(project):
    Provider.objects.all().delete()
    fill_channel(project.row)
    arguments = ("--channel", "sms", "--type", "http", "--name", "One more", "--set", "url=http://127.0.0.1:9/")
    with pytest.raises(CommandError, match="at most 20 providers per channel. Delete one"):
        run("addprovider", str(project.id), *arguments)
    run("addprovider", "--system", *arguments)
    assert factories.project().provider("sms")


def test_a_project_has_so_many_providers_with_connections(project):
    fill_channel(project.row, bounds.MAX_CONNECTED, type="smpp")
    with pytest.raises(UserError, match="at most 5 providers with their own connections"):
        require_room(project.row, "sms", "smpp")


def smpp(binds=1, name="One more"):
    settings = {"host": "127.0.0.1", "port": 2775, "tls": False, "system_id": "us", "password": "pw", "binds": binds}
    return ["--channel", "sms", "--type", "smpp", "--name", name] + [f"--set={k}={v}" for k, v in settings.items()]


def test_the_connections_of_a_projects_providers_have_a_bound_together(project):
    run("addprovider", str(project.id), *smpp(10, "First"))
    with pytest.raises(CommandError, match="at most 20 connections in total; these settings would need 21. Use fewer"):
        run("addprovider", str(project.id), *smpp(10), "--set=bind_mode=separate")
    run("addprovider", str(project.id), *smpp(10))
    with pytest.raises(CommandError, match="these settings would need 21"):
        run("addprovider", str(project.id), *smpp(1, "Last"))
    run("addprovider", "--system", *smpp(10))
    run("addprovider", str(factories.project().id), *smpp(10))


def test_the_panel_says_that_a_change_asks_for_too_many_connections(panel):
    for name, binds in (("First", 10), ("Second", 9)):
        run("addprovider", str(panel.project.pk), *smpp(binds, name))
    second, client = Provider.objects.get(name="Second"), panel.as_("owner")
    page = reverse("admin:verification_provider_change", args=(second.pk,))
    response = client.post(page, values_on(client, page) | {"setting_binds": 10, "setting_bind_mode": "separate"})
    assert "these settings would need 21" in str(response.context["errors"])
    assert client.post(page, values_on(client, page) | {"setting_binds": 10}).status_code == 302
    assert Provider.objects.get(name="Second").settings["binds"] == 10


def test_a_project_above_the_bound_can_still_change_a_provider_that_asks_for_no_more(panel):
    for name in ("First", "Second"):
        run("addprovider", str(panel.project.pk), *smpp(10, name))
    Provider.objects.filter(name="First").update(settings={"binds": 12})
    second, client = Provider.objects.get(name="Second"), panel.as_("owner")
    page = reverse("admin:verification_provider_change", args=(second.pk,))
    assert client.post(page, values_on(client, page) | {"setting_binds": 9, "name": "Fewer"}).status_code == 302
    assert client.post(page, values_on(client, page) | {"name": "As many"}).status_code == 302
    response = client.post(page, values_on(client, page) | {"setting_binds": 10})
    assert "these settings would need 22" in str(response.context["errors"])


def test_a_project_has_so_many_texts(panel):
    MessageTemplate.objects.filter(project=panel.project).delete()
    MessageTemplate.objects.bulk_create(
        MessageTemplate(project=panel.project, channel="sms", language=f"en-{n:05}", text="{code}")
        for n in range(bounds.MAX_TEXTS)
    )
    client, page = panel.as_("owner"), reverse("admin:verification_messagetemplate_add")
    typed = {"project": panel.project.pk, "channel": "sms", "language": "de", "subject": "", "text": "{code}"}
    response = client.post(page, typed)
    assert "at most 300 texts" in str(response.context["errors"])
    assert not MessageTemplate.objects.filter(language="de").exists()


@pytest.mark.parametrize("name", LONG_LISTS)
def test_a_list_of_a_project_has_an_end(project, name):
    with pytest.raises(UserError, match=f"{name}: List contains 101 items, it should contain no more than 100"):
        set_project(project=project.row, values={name: ",".join(LONG_LISTS[name])})
    assert getattr(Project.objects.get(pk=project.id), name) == []


def test_a_provider_has_so_many_sender_rules(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = reverse("admin:verification_provider_change", args=(provider.pk,))
    lines = {"sender_rules-TOTAL_FORMS": bounds.MAX_SENDERS + 1, "sender_rules-INITIAL_FORMS": 0}
    for n in range(bounds.MAX_SENDERS + 1):
        lines |= {f"sender_rules-{n}-prefix": f"+1{n:03}", f"sender_rules-{n}-sender": "Shop"}
    response = client.post(page, values_on(client, page) | lines)
    assert "at most 100" in str(response.context["errors"])
    assert not provider.sender_rules.exists()
