"""The provider's two-step form, made from what the adapter declares."""

import re
import sys

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from providers import registry
from providers.base import Adapter, SettingKind
from tests import factories
from tests.admin.rows import form_values, values_on
from tests.fakes import http_server
from tests.fakes.telegram import TOKEN, USERNAME, BotApi
from verification.admin.providers.form import UNREADABLE
from verification.core.crypto import encrypt
from verification.models import Channel, ChannelType, Membership, Message, Provider, Role
from verification.services.providers import accounts, editing
from verification.services.providers.accounts import hook_url, stored_secrets

pytestmark = pytest.mark.django_db
ADD = "admin:verification_provider_add"


def add_page(project, what):
    return f"{reverse(ADD)}?project={getattr(project, 'pk', project)}&as={what}"


def test_the_first_step_offers_every_type_under_its_channels(panel):
    page = panel.as_("owner").get(reverse(ADD)).content.decode()
    for channel in ChannelType.values:
        for adapter in registry.for_channel(channel):
            for vendor in [f"/{value}" for value, _ in registry.vendors_of(adapter)] or [""]:
                assert f'value="{channel}/{adapter.type}{vendor}"' in page


def test_a_vendor_is_found_by_its_name_and_is_chosen_in_the_form(panel):
    client = panel.as_("owner")
    assert "<span>Mailgun</span>" in client.get(reverse(ADD)).content.decode()
    form = client.get(add_page(panel.project, "email/anymail/mailgun")).context["adminform"].form
    assert (form["setting_service"].value(), form["name"].value()) == ("mailgun", "Mailgun")
    other = client.get(add_page(panel.project, "email/anymail/nobody")).context["adminform"].form
    assert other["name"].value() == "E-mail service"


def test_the_first_step_offers_own_projects_only(panel):
    page = panel.as_("owner").get(reverse(ADD)).content.decode()
    assert "Ours" in page
    assert "Theirs" not in page
    assert "serves every project" not in page


@pytest.mark.parametrize("what", ["sms/smtp", "sms/nothing", "fax/http", "http", "/", ""])
def test_a_choice_that_does_not_fit_leads_back_to_the_first_step(panel, what):
    response = panel.as_("owner").get(add_page(panel.project, what))
    assert response.template_name == "admin/verification/provider/choose.html"


@pytest.mark.parametrize(
    "adapter", [registry.adapter_class(name) for name in registry.all_types()], ids=lambda a: a.type
)
def test_every_adapter_has_a_form_with_its_settings(panel, adapter):
    response = panel.as_("owner").get(add_page(panel.project, f"{adapter.channels[0]}/{adapter.type}"))
    fields = response.context["adminform"].form.fields
    for setting in adapter.declared:
        assert fields[f"setting_{setting.name}"].label == setting.label
        if setting.kind is SettingKind.SECRET:
            assert fields[f"setting_{setting.name}"].initial is None


def test_a_provider_is_added_with_its_secrets_encrypted(panel):
    client, page = panel.as_("owner"), add_page(panel.project, "voice/http")
    values = values_on(client, page) | {
        "name": "Voice gateway",
        "setting_url": "http://127.0.0.1:9/call",
        "setting_headers": "X-Key: open-sesame",
    }
    assert client.post(page, values).status_code == 302
    provider = Provider.objects.get(name="Voice gateway")
    assert (provider.project, provider.channel, provider.type) == (panel.project, "voice", "http")
    assert stored_secrets(provider)["headers"] == "X-Key: open-sesame"
    assert "open-sesame" not in str(provider.settings) and b"open-sesame" not in bytes(provider.secrets)
    assert Channel.objects.filter(project=panel.project, type="voice").exists()


def test_a_type_whose_package_is_missing_says_so_before_and_after_the_form_is_filled_in(panel, monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)  # as if it were not installed
    client, page = panel.as_("owner"), add_page(panel.project, "sms/apprise")
    assert "This type of provider needs apprise, not installed here." in client.get(page).content.decode()
    refused = client.post(page, values_on(client, page) | {"setting_url": "json://example.com/{to}"})
    assert "needs apprise, not installed here" in str(refused.context["adminform"].form.non_field_errors())
    assert not Provider.objects.filter(type="apprise").exists()


def test_what_the_adapter_refuses_is_said_at_its_field(panel):
    client, page = panel.as_("owner"), add_page(panel.project, "sms/http")
    values = values_on(client, page) | {
        "name": "Gateway",
        "setting_url": "http://127.0.0.1:9/send",
        "setting_success_status": "maybe",
    }
    errors = client.post(page, values).context["adminform"].form.errors
    assert list(errors) == ["setting_success_status"]
    assert not Provider.objects.filter(name="Gateway").exists()


def test_a_superuser_adds_a_system_provider(panel):
    client, page = panel.as_("root"), add_page("system", "sms/inbox")
    assert client.post(page, values_on(client, page) | {"name": "For all"}).status_code == 302
    assert Provider.objects.get(name="For all").project is None


def test_the_type_and_channel_stay_as_they_are(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = reverse("admin:verification_provider_change", args=(provider.pk,))
    forged = {"type": "inbox", "channel": "email", "project": panel.other.pk, "hook_secret": "known", "settings": "{}"}
    assert client.post(page, values_on(client, page) | forged).status_code == 302
    after = Provider.objects.get(pk=provider.pk)
    assert (after.type, after.channel, after.project) == ("http", "sms", panel.project)
    assert (hook_url(after), after.settings) == (hook_url(provider), provider.settings)


def test_what_no_key_opens_stays_until_it_is_entered_again(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    Provider.objects.update(secrets=encrypt("{}", binding="elsewhere"), hook_secret=encrypt("x", binding="elsewhere"))
    page = reverse("admin:verification_provider_change", args=(provider.pk,))
    shown = client.get(page)
    assert "Saving creates a new one" in shown.content.decode()
    assert str(UNREADABLE) in str(client.post(page, form_values(shown)).context["errors"])
    assert client.post(page, form_values(shown) | {"setting_headers": "X-Key: again"}).status_code == 302
    provider.refresh_from_db()
    assert stored_secrets(provider)["headers"] == "X-Key: again"
    assert hook_url(provider) in client.get(page).content.decode()


def test_prefixes_are_checked(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    page = reverse("admin:verification_provider_change", args=(provider.pk,))
    values = values_on(client, page)
    assert "only_prefixes" in client.post(page, values | {"only_prefixes": "+049"}).context["adminform"].form.errors
    assert client.post(page, values | {"only_prefixes": "+49, 43"}).status_code == 302
    provider.refresh_from_db()
    assert provider.only_prefixes == ["+49", "+43"]


def test_an_email_provider_asks_for_domains_and_no_numbers(panel):
    provider = factories.provider(project=panel.project, channel="email", type="inbox", name="Mail")
    client, page = panel.as_("owner"), reverse("admin:verification_provider_change", args=(provider.pk,))
    values = values_on(client, page)
    assert "only_prefixes" not in values
    errors = client.post(page, values | {"only_domains": "https://shop.example"}).context["adminform"].form.errors
    assert "only_domains" in errors
    assert client.post(page, values | {"only_domains": "Shop.example"}).status_code == 302
    provider.refresh_from_db()
    assert provider.only_domains == ["shop.example"]
    sms = reverse("admin:verification_provider_change", args=(panel.rows[Provider].pk,))
    assert "only_domains" not in values_on(client, sms)


@pytest.mark.parametrize("provider_type", ["inbox", "console", "http"])
def test_the_webhook_address_is_shown_where_the_adapter_reads_reports(panel, provider_type):
    reads = registry.adapter_class(provider_type).parse_hook is not Adapter.parse_hook
    provider = factories.provider(project=panel.project, channel="sms", type=provider_type, name="P")
    page = panel.as_("owner").get(reverse("admin:verification_provider_change", args=(provider.pk,)))
    assert (hook_url(provider) in page.content.decode()) is reads


def test_a_provider_of_a_removed_adapter_still_opens(panel):
    provider = Provider.objects.create(project=panel.project, channel="sms", type="gone", name="Old one")
    client, page = panel.as_("owner"), reverse("admin:verification_provider_change", args=(provider.pk,))
    shown = client.get(page)
    assert "gone: not installed" in shown.content.decode()
    assert client.post(page, form_values(shown) | {"name": "Older one"}).status_code == 302


def a_bot(panel, url):
    values = {"token": TOKEN, "username": USERNAME, "base_url": url}
    return accounts.add_provider(
        project=panel.project, channel="messenger_a", provider_type="telegram_bot", name="Bot", values=values
    )


def test_a_bot_is_connected_from_its_page(panel, settings):
    settings.BASE_URL = "https://codes.example"
    with BotApi() as telegram:
        page = reverse("admin:verification_provider_connect_bot", args=(a_bot(panel, telegram.url).pk,))
        shown = panel.as_("owner").post(page).content.decode()
    assert telegram.hook["url"].startswith("https://codes.example/hooks/")
    assert "The token belongs to" in shown and telegram.hook["url"] not in shown


def test_a_bot_is_not_connected_to_an_address_that_telegram_does_not_call(panel):
    bot = a_bot(panel, "http://127.0.0.1:9")
    page = reverse("admin:verification_provider_connect_bot", args=(bot.pk,))
    assert "https addresses only" in panel.as_("owner").post(page).content.decode()
    change = reverse("admin:verification_provider_change", args=(bot.pk,))
    assert page in panel.as_("owner").get(change).content.decode()
    other = reverse("admin:verification_provider_change", args=(panel.rows[Provider].pk,))
    assert "Connect the bot" not in panel.as_("owner").get(other).content.decode()


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (http_server.answer(200, {}), "Reachable; credentials"),
        (http_server.answer(500, {}), "Reachable; credentials"),
        (http_server.answer(401, {}), "Not working."),
        (http_server.hang_up(), "Not working."),
    ],
)
def test_a_gateway_that_is_only_reached_is_not_said_to_work(panel, behaviour, said):
    with http_server.FakeHttpServer() as gateway:
        gateway.script(behaviour)
        row = accounts.add_provider(
            project=panel.project, channel="sms", provider_type="http", name="G", values={"url": gateway.url}
        )
        page = reverse("admin:verification_provider_check_credentials", args=(row.pk,))
        shown = panel.as_("owner").post(page).content.decode()
    assert said in shown and "Working." not in shown


def test_checking_asks_on_a_post_and_shows_the_answer(panel):
    provider = Provider.objects.create(project=panel.project, channel="sms", type="inbox", name="Box")
    page = reverse("admin:verification_provider_check_credentials", args=(provider.pk,))
    client = panel.as_("owner")
    opened, test = (
        client.get(page).content.decode(),
        reverse("admin:verification_provider_send_test", args=(provider.pk,)),
    )
    assert "The inbox contains" not in opened and "data-submit-on-opening" in opened and test not in opened
    checked = client.post(page).content.decode()
    assert "The inbox contains 0 messages." in checked and "data-submit-on-opening" not in checked and test in checked


def test_a_check_leads_back_to_where_it_was_opened(panel):
    provider = Provider.objects.create(project=panel.project, channel="sms", type="inbox", name="Box")
    settings = reverse("admin:verification_provider_change", args=(provider.pk,))
    page = reverse("admin:verification_provider_check_credentials", args=(provider.pk,))
    client = panel.as_("owner")
    assert client.get(page).context["back"] == settings
    shown = client.get(page, {"next": "/admin/x/"})
    assert (shown.context["back"], shown.context["settings"]) == ("/admin/x/", settings)


def test_two_providers_of_a_channel_have_two_names(panel):
    provider = panel.rows[Provider]
    url = reverse(
        "admin:verification_provider_add", query={"project": panel.project.pk, "as": f"{provider.channel}/inbox"}
    )
    client = panel.as_("owner")
    values = values_on(client, url) | {"name": provider.name.upper()}
    assert "already" in str(client.post(url, values).context["adminform"].form.errors["name"])
    assert client.post(url, values | {"name": "Another"}).status_code == 302
    other = Provider.objects.get(name="Another")
    page = reverse("admin:verification_provider_change", args=(other.pk,))
    assert (
        "name" in client.post(page, values_on(client, page) | {"name": provider.name}).context["adminform"].form.errors
    )


def test_providers_that_had_one_name_before_keep_it(panel):
    provider, client = panel.rows[Provider], panel.as_("owner")
    Provider.objects.filter(pk=provider.pk).update(name="Twin")
    accounts.add_provider(project=panel.project, channel="email", provider_type="inbox", name="Twin", values={})
    Provider.objects.filter(project=panel.project).update(channel=provider.channel)
    page = reverse("admin:verification_provider_change", args=(provider.pk,))
    assert client.post(page, values_on(client, page)).status_code == 302


def test_a_provider_with_much_traffic_stays_and_its_page_says_what_removes_it(panel, monkeypatch):
    monkeypatch.setattr(editing, "MOST_ATTEMPTS", 0)
    provider = factories.provider(project=panel.project, channel="sms", type="http", name="Busy")
    panel.rows[Message].attempts.create(provider=provider, provider_name="Busy", outcome="accepted", latency_ms=1)
    page, client = reverse("admin:verification_provider_delete", args=(provider.pk,)), panel.as_("owner")
    assert f"manage.py provider remove {provider.pk} --yes" in client.get(page).content.decode()
    client.post(page, {"post": "yes"})
    assert Provider.objects.filter(pk=provider.pk).exists()
    monkeypatch.setattr(editing, "MOST_ATTEMPTS", 1)
    client.post(page, {"post": "yes"})
    assert not Provider.objects.filter(pk=provider.pk).exists()


def test_deleting_a_provider_unlinks_its_messages_by_its_attempts(panel):
    provider = factories.provider(project=panel.project, channel="sms", type="http", name="Old")
    message = panel.rows[Message]
    message.attempts.create(provider=provider, provider_name="Old", outcome="accepted", latency_ms=1)
    Message.objects.filter(pk=message.pk).update(provider=provider)
    with CaptureQueriesContext(connection) as asked:
        editing.remove_provider(provider)
    message.refresh_from_db()
    assert message.provider is None
    touching = [each["sql"] for each in asked if '"verification_message"' in each["sql"]]
    scans = [sql for sql in touching if not re.search(r"pinned_provider_id|deliveryattempt|\"id\" (IN|=)", sql)]
    assert scans == []


def test_who_may_not_change_a_provider_sees_no_webhook_address(panel):
    provider = panel.rows[Provider]
    Membership.objects.filter(project=panel.project).update(role=Role.ANALYST)
    page = panel.as_("owner").get(reverse("admin:verification_provider_change", args=(provider.pk,)))
    assert page.status_code == 200
    assert hook_url(provider) not in page.content.decode() and "ww-guide" not in page.content.decode()
