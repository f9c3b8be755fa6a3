"""What holds where an app is left out. ``test_left_out.py`` runs it in a process of its own, with ``WITHOUT_APPS``."""

from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import CommandError, call_command, get_commands
from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.test import Client
from django.urls import NoReverseMatch, reverse

from tests import factories
from tests.admin.rows import page_with
from tests.commands.running import run, run_json
from verification.core import caching
from verification.core.errors import UserError
from verification.core.ids import generate_session_id
from verification.models import (
    Channel,
    HostedPage,
    IdentityConnection,
    MessageTemplate,
    TextVariant,
    TextVariantFigures,
)
from verification.services.analytics import rollups
from verification.services.projects.snapshot import load_project
from verification.services.providers import routing
from verification.services.texts.rendering import own_text

pytestmark = pytest.mark.django_db
LEFT_OUT = settings.WITHOUT_APPS
without_config_files = pytest.mark.skipif("config_files" not in LEFT_OUT, reason="set-up files are there")
without_connections = pytest.mark.skipif("connections" not in LEFT_OUT, reason="connections are there")
without_hosted = pytest.mark.skipif("hosted" not in LEFT_OUT, reason="the hosted page is there")
without_route_optimizer = pytest.mark.skipif("route_optimizer" not in LEFT_OUT, reason="the optimizer is there")
without_text_trials = pytest.mark.skipif("text_trials" not in LEFT_OUT, reason="texts are tried")
without_twilio = pytest.mark.skipif("twilio" not in LEFT_OUT, reason="Twilio's paths are there")


def test_no_app_is_loaded_that_was_left_out():
    assert LEFT_OUT
    for name in LEFT_OUT:
        assert find_spec(f"verification.contrib.{name}") and not apps.is_installed(f"verification.contrib.{name}")


def test_the_checks_find_nothing_and_no_migration_is_missing(capsys):
    call_command("check", fail_level="WARNING")
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@without_config_files
def test_the_commands_the_schema_and_the_page_of_set_up_files_are_gone(panel):
    for name in ("apply", "exportproject"):
        assert name not in get_commands()
    assert Client().get("/docs/set-up.schema.json").status_code == 404
    with pytest.raises(NoReverseMatch):
        reverse("admin:verification_project_show_file", args=(panel.project.pk,))
    change = reverse("admin:verification_project_change", args=(panel.project.pk,))
    page = panel.as_("owner").get(change)
    assert page.status_code == 200 and "Configuration file" not in page.content.decode()


@without_connections
def test_connections_have_no_address_no_command_and_no_page(panel):
    row = IdentityConnection.objects.create(project=panel.project, system="logto", name="Logto", secret=b"\0")
    assert Client().post(f"/connect/{row.public_id}", b"{}", content_type="application/json").status_code == 404
    for name in ("addconnection", "listconnections", "removeconnection"):
        assert name not in get_commands()
    with pytest.raises(NoReverseMatch):
        reverse("admin:verification_project_show_connections", args=(panel.project.pk,))
    change = reverse("admin:verification_project_change", args=(panel.project.pk,))
    page = panel.as_("owner").get(change)
    assert page.status_code == 200 and "Connections" not in page.content.decode()


@without_hosted
def test_the_hosted_page_and_the_demo_are_gone(panel):
    HostedPage.objects.create(project=panel.project, is_enabled=True, return_addresses=["https://shop.example/"])
    shown = f"/verify/{panel.project.public_id}"
    for path in (shown, f"{shown}/", f"{shown}/logo.png", "/demo/", "/demo/inbox"):
        assert Client().get(path).status_code == 404, path
    assert Client().post("/demo/redeem").status_code == 404
    assert finders.find("hosted/hosted.js") is None
    with pytest.raises(TemplateDoesNotExist):
        get_template("hosted/page.html")


@without_hosted
def test_the_project_has_no_page_of_its_hosted_page(panel):
    client = panel.as_("owner")
    change = reverse("admin:verification_project_change", args=(panel.project.pk,))
    page = client.get(change)
    assert page.status_code == 200 and "hosted" not in page.content.decode().lower()
    led_to = client.get(change.replace("/change/", "/hosted-page"), follow=True).redirect_chain
    assert led_to[-1][0] == reverse("admin:index")  # as from any row that is not there
    with pytest.raises(NoReverseMatch):
        reverse("admin:verification_project_show_hosted_page", args=(panel.project.pk,))


@without_route_optimizer
def test_a_channel_chooses_by_order_or_shares_and_keeps_what_was_set(panel):
    channel = panel.rows[Channel]
    Channel.objects.filter(pk=channel.pk).update(routing="best_time", explore_percent=7)
    page = panel.as_("owner").get(reverse("admin:verification_channel_change", args=(channel.pk,)))
    form = page.context["adminform"].form
    assert [value for value, _ in form.fields["routing"].choices] == ["fixed", "shares"]
    assert "explore_percent" not in form.fields and "ww-backtest" not in page.content.decode()
    assert Channel.objects.get(pk=channel.pk).routing == "best_time"
    channel.refresh_from_db()
    with pytest.raises(UserError, match="does not have this routing: best_time"):
        routing.require_routing(channel)


@without_route_optimizer
def test_providers_come_in_their_fixed_order_where_the_best_was_chosen(db):
    shop = factories.project(name="shop", channels=())
    shop.provider("sms", name="second", priority=20)
    shop.provider("sms", name="first", priority=10)
    Channel.objects.filter(project=shop.row).update(routing="best_price")
    caching.clear_all()
    found = routing.providers_for(
        project_id=shop.id, channel="sms", address="+4915112345678", country="DE", pinned_id=None, left_out=(),
        accounts={}, routing=load_project(shop.id).channels["sms"].routing,
    )  # fmt: skip
    assert [provider.name for provider in found.providers] == ["first", "second"]


@without_text_trials
def test_a_trial_is_on_no_page_and_everybody_gets_the_present_text(panel):
    row = panel.rows[MessageTemplate]
    TextVariant.objects.create(project=panel.project, channel="sms", language="de", text="New: {code}", share=90)
    caching.clear_all()
    assert {own_text(panel.project.pk, "sms", "de", generate_session_id()).text for _ in range(50)} == {row.text}
    with pytest.raises(NoReverseMatch):
        reverse("admin:verification_text_variant")
    client = panel.as_("owner")
    texts = client.get(reverse("admin:verification_messagetemplate_changelist")).content.decode()
    text = client.get(reverse("admin:verification_messagetemplate_change", args=(row.pk,))).content.decode()
    assert "A/B test running" not in texts and "Start an A/B test" not in text and "Send to me" in text
    rollups.count_due()
    assert not TextVariantFigures.objects.exists()


@without_twilio
def test_twilios_paths_are_gone(project):
    project.set(twilio_endpoints=True)
    for path in (f"/v2/Services/VA{uuid4().hex}/Verifications", f"/v2/Services/VA{uuid4().hex}/VerificationCheck"):
        response = Client().post(path)
        assert (response.status_code, response.headers.get("WWW-Authenticate")) == (404, None)


@without_twilio
def test_twilios_setting_is_gone_and_no_sid_is_shown(panel, project):
    type(panel.project).objects.filter(pk=panel.project.pk).update(twilio_endpoints=True)
    page = panel.as_("owner").get(page_with(panel.project, "origins"))
    assert page.status_code == 200 and "Twilio Verify" not in page.content.decode()
    assert "twilio_endpoints" not in Client().get("/docs/settings/").content.decode()
    with pytest.raises(CommandError, match="There is no setting 'twilio_endpoints'"):
        run("setproject", str(project.id), "twilio_endpoints=true")
    project.set(twilio_endpoints=True)
    assert run_json("issuekey", str(project.id), "--kind", "secret").keys() == {"key", "secret_key"}


def test_the_guides_to_what_is_left_out_are_gone():
    guides = {
        "config_files": "configuration-file",
        "connections": "connections",
        "hosted": "hosted-page",
        "route_optimizer": "routing",
        "twilio": "from-twilio",
    }
    index = Client().get("/docs/guides/").content.decode()
    for name, slug in guides.items():
        is_gone = name in LEFT_OUT
        assert (Client().get(f"/docs/guides/{slug}/").status_code == 404) is is_gone
        assert (f"/docs/guides/{slug}/" not in index) is is_gone
        assert Path(settings.BASE_DIR, "docs", f"{slug}.md").exists()
