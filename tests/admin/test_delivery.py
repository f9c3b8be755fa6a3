"""Texts, fall-back, senders, set-aside providers, suppressions, callbacks: what the pages refuse and what they do."""

from datetime import timedelta

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import CALLBACK_URL, page_with, values_on
from tests.fakes.http_server import FakeHttpServer, answer
from verification.admin.base.current_project import section_address
from verification.core import caching
from verification.models import (
    CircuitBreaker,
    FallbackStep,
    Membership,
    Message,
    MessageTemplate,
    Project,
    Provider,
    Role,
    SenderRule,
    Suppression,
    WebhookEvent,
)

pytestmark = pytest.mark.django_db


def page(name, row=None):
    return reverse(f"admin:verification_{name}", args=(row.pk,) if row else ())


def errors(response):
    return response.context["adminform"].form.errors


def inline_errors(response):
    return [form.errors for inline in response.context["inline_admin_formsets"] for form in inline.formset.forms]


def save(client, address, **values):
    return client.post(address, values_on(client, address) | values)


# --- the project's page ----------------------------------------------------------------------------------------------


def test_autofill_and_the_code_in_the_subject_are_set(panel):
    values = {"web_otp_domain": " Shop.example ", "android_hash": "FA+9qCX9VSu", "code_in_subject": "on"}
    assert save(panel.as_("owner"), page_with(panel.project, "web_otp_domain"), **values).status_code == 302
    panel.project.refresh_from_db()
    assert panel.project.web_otp_domain == "shop.example"
    assert (panel.project.android_hash, panel.project.code_in_subject) == ("FA+9qCX9VSu", True)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("web_otp_domain", "https://shop.example"),
        ("web_otp_domain", "shop.example/login"),
        ("web_otp_domain", "shop.example:8443"),
        ("web_otp_domain", "192.0.2.1"),
        ("web_otp_domain", "-shop.example"),
        ("web_otp_domain", "shop example"),
        ("android_hash", "FA+9qCX9VS"),
        ("android_hash", "FA-9qCX9VSu"),
        ("android_hash", "FA+9qCX9VS="),
    ],
)
def test_a_wrong_domain_or_hash_is_refused_on_its_field(panel, field, text):
    response = save(panel.as_("owner"), page_with(panel.project, field), **{field: text})
    assert list(errors(response)) == [field]


def step(number: int, channel: str, wait_seconds: int = 30, position: int = 0) -> dict[str, object]:
    prefix = f"fallback_steps-{number}"
    return {
        "fallback_steps-TOTAL_FORMS": number + 1,
        f"{prefix}-channel": channel,
        f"{prefix}-wait_seconds": wait_seconds,
        f"{prefix}-position": position,
    }


@pytest.mark.parametrize("values", [step(0, "sms", 4), step(0, "sms", 871), step(0, "email"), step(0, "fax")])
def test_a_step_that_cannot_work_is_refused(panel, values):
    response = save(panel.as_("owner"), section_address(panel.project, "channels"), **values)
    assert any(inline_errors(response))
    assert not FallbackStep.objects.exists()


def test_a_channel_stands_in_the_order_once(panel):
    values = step(0, "sms") | step(1, "sms")
    assert save(panel.as_("owner"), section_address(panel.project, "channels"), **values).status_code == 200
    assert not FallbackStep.objects.exists()


def test_a_new_channel_comes_last(panel):
    FallbackStep.objects.create(project=panel.project, channel="sms", position=4)
    shown = panel.as_("owner").get(section_address(panel.project, "channels"))
    formsets = [inline.formset for inline in shown.context["inline_admin_formsets"]]
    (steps,) = [formset for formset in formsets if formset.model is FallbackStep]
    assert steps.empty_form["position"].value() == 5


def test_a_step_of_another_project_is_not_reached_by_its_id(panel):
    theirs = FallbackStep.objects.create(project=panel.other, channel="sms")
    forged = step(0, "voice") | {
        "fallback_steps-INITIAL_FORMS": 1,
        "fallback_steps-0-id": theirs.pk,
        "fallback_steps-0-project": panel.other.pk,
        "fallback_steps-0-DELETE": "on",
    }
    save(panel.as_("owner"), section_address(panel.project, "channels"), **forged)
    assert FallbackStep.objects.get(pk=theirs.pk).channel == "sms"


# --- the provider's page ---------------------------------------------------------------------------------------------


def rule(number: int, prefix: str, **values: str) -> dict[str, object]:
    name = f"sender_rules-{number}"
    given = {"prefix": prefix, "sender": "", "dlt_entity_id": "", "dlt_template_id": ""} | values
    return {"sender_rules-TOTAL_FORMS": number + 1, **{f"{name}-{field}": value for field, value in given.items()}}


def test_a_provider_has_other_senders_by_country(panel):
    provider = panel.rows[Provider]
    values = rule(0, "+1", sender="+15005550006") | rule(1, "+91", dlt_entity_id="1101", dlt_template_id="1107")
    assert save(panel.as_("owner"), page("provider_change", provider), weight=3, **values).status_code == 302
    assert [each.prefix for each in provider.sender_rules.all()] == ["+1", "+91"]
    provider.refresh_from_db()
    assert provider.weight == 3


@pytest.mark.parametrize("values", [rule(0, "091", sender="X"), rule(0, "+91"), rule(0, "India", sender="X")])
def test_a_wrong_sender_is_refused(panel, values):
    response = save(panel.as_("owner"), page("provider_change", panel.rows[Provider]), **values)
    assert any(inline_errors(response))
    assert not SenderRule.objects.exists()


def test_a_sender_of_another_provider_is_not_reached_by_its_id(panel):
    other = Provider.objects.create(project=panel.other, channel="sms", type="inbox", name="Theirs")
    theirs = SenderRule.objects.create(provider=other, prefix="+1", sender="Theirs")
    forged = rule(0, "+1", sender="Forged") | {
        "sender_rules-INITIAL_FORMS": 1,
        "sender_rules-0-id": theirs.pk,
        "sender_rules-0-provider": other.pk,
        "sender_rules-0-DELETE": "on",
    }
    save(panel.as_("owner"), page("provider_change", panel.rows[Provider]), **forged)
    assert SenderRule.objects.get(pk=theirs.pk).sender == "Theirs"


def set_aside(provider, seconds=60):
    return CircuitBreaker.objects.create(
        provider=provider,
        opened_at=timezone.now(),
        open_until=timezone.now() + timedelta(seconds=seconds),
        openings=1,
        reason="<b>connection refused</b>",
    )


@pytest.mark.parametrize(("seconds", "words"), [(60, "Paused until"), (-1, "next message is a probe")])
def test_a_provider_that_is_set_aside_says_so(panel, seconds, words):
    provider, client = panel.rows[Provider], panel.as_("owner")
    assert "Resume now" not in client.get(page("provider_change", provider)).content.decode()
    set_aside(provider, seconds)
    shown = client.get(page("provider_change", provider)).content.decode()
    assert "&lt;b&gt;connection refused" in shown and "Resume now" in shown
    assert words in client.get(page("provider_changelist")).content.decode()


def is_aside(provider):
    return CircuitBreaker.objects.get(provider=provider).open_until is not None


def test_its_owner_uses_it_again_with_a_post(panel):
    provider, address = panel.rows[Provider], page("provider_use_again", panel.rows[Provider])
    set_aside(provider)
    panel.as_("owner").get(address)
    for who in ("stranger", "anonymous"):
        assert panel.as_(who).post(address).status_code in (302, 403)
    assert is_aside(provider)
    assert panel.as_("owner").post(address).status_code == 302
    assert not is_aside(provider)


def test_nobody_but_a_superuser_resets_a_system_provider(panel):
    system = Provider.objects.create(channel="sms", type="inbox", name="For all")
    set_aside(system)
    assert panel.as_("owner").post(page("provider_use_again", system)).status_code == 403
    assert is_aside(system)
    panel.as_("root").post(page("provider_use_again", system))
    assert not is_aside(system)


# --- in the lists ----------------------------------------------------------------------------------------------------


def run_action(panel, who, model, action):
    row = panel.rows[model]
    chosen = {"action": action, ACTION_CHECKBOX_NAME: [row.pk], "confirmed": "yes"}
    panel.as_(who).post(page(f"{model._meta.model_name}_changelist"), chosen)
    row.refresh_from_db()
    return row


@pytest.mark.parametrize(("who", "works"), [("stranger", False), ("anonymous", False), ("owner", True), ("root", True)])
def test_the_actions_of_the_lists_reach_own_rows_only(panel, who, works):
    set_aside(panel.rows[Provider])
    run_action(panel, who, Provider, "use_again_selected")
    assert is_aside(panel.rows[Provider]) is not works
    assert (run_action(panel, who, Suppression, "lift_selected").lifted_at is not None) is works
    assert (run_action(panel, who, WebhookEvent, "send_again_selected").due_at is not None) is works


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("suppression_lift", Suppression),
        ("webhookevent_send_again", WebhookEvent),
        ("provider_use_again", Provider),
        ("project_test_event", Project),
    ],
)
def test_an_action_on_the_row_of_another_is_refused(panel, name, model):
    for method in ("get", "post"):
        response = getattr(panel.as_("stranger"), method)(page(name, panel.rows[model]), {"url": CALLBACK_URL})
        assert response.status_code in (403, 404)
        assert getattr(panel.as_("anonymous"), method)(page(name, panel.rows[model])).status_code == 302
    assert Suppression.objects.get().lifted_at is None
    assert WebhookEvent.objects.get().due_at is None


# --- texts -----------------------------------------------------------------------------------------------------------

ADD = "messagetemplate_add"


def text_of(panel, **values):
    return {"project": panel.project.pk, "channel": "sms", "language": "fr", "text": "Code : {code}"} | values


def test_a_text_is_added_and_shown_as_it_arrives(panel):
    values = text_of(
        panel, text="{code} pour {project},\r\n{minutes} minutes.", language="FR-ca", subject="Not for SMS"
    )
    response = panel.as_("owner").post(page(ADD), values, follow=True)
    row = MessageTemplate.objects.get(language="fr-CA")
    assert (row.text, row.subject) == ("{code} pour {project},\n{minutes} minutes.", "")
    shown = response.content.decode()
    assert "471836 pour Ours,\n3 minutes." in shown and "1 SMS" in shown


@pytest.mark.requirement(93)
@pytest.mark.parametrize(
    "text",
    [
        "Your code",
        "{code} {name}",
        "{code} https://evil.example",
        "{code} evil.com/login",
        "{code} EVIL.COM",
        "{code} https://evil.com\\@shop.example/",
        "{code} https://x@shop.example/",
        "{code} https:/evil.com",
        "{code} https:evil.com",
        "{code} ftp://evil.com",
        "{code} javascript:alert(1)",
        "{code} https://[x",
        "{code} 192.0.2.7/login",
        "{code}.com",
        "{code} \u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444",
        "{code} me@evil.com",
        "{code} evil\u3002com",  # as Chinese ends a sentence
        "\u6253\u5f00evil\uff61com/login",
        "{code} evil\uff0ecom",
        "{code} evil\u2024com",
        "{code} evil\ufe52com",
        "{code} evil.\u24d2\u24de\u24dc",
        "{code} evil\u200b.com",
        "{code} evil.\ufe0fcom",
        "{code} 192\u30020\u30022\u30027",
        "{code} https:\u2044\u2044evil",
        "{code} https:\u2215\u2215evil",
        "{code} https\uff1a\uff0f\uff0fevil",
        "{code} https:\u29f5\u29f5evil",
        "{code} tel\uff1a+4915112345678",
        "{code} shop.example\uff0f@evil.com",
        "{code}" + "x" * 400,
        "{code} \u202eeurt si sihT",
        "{code}\x1b[2J",
        "{code.__class__}",
    ],
)
def test_a_text_that_cannot_arrive_as_meant_is_refused(panel, text):
    response = panel.as_("owner").post(page(ADD), text_of(panel, text=text))
    assert list(errors(response)) == ["text"]
    assert not MessageTemplate.objects.filter(language="fr").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{code}: https://shop.example/x.html.",
        "{code}, shop.example/app.html",
        "{code} shop\u3002example/app",
        "{code}. For 3.5 min, z.B. now\u2026 done, 24/7 or 1\u20442.",
        "\u9a8c\u8bc1\u7801{code}\u3002{minutes}\u5206\u949f\u5185\u6709\u6548\u3002App\u3002\u8bf7\u52ff",
    ],
)
def test_a_text_may_lead_to_the_projects_site(panel, text):
    panel.project.site_url = "https://shop.example/"
    panel.project.save()
    panel.as_("owner").post(page(ADD), text_of(panel, text=text))
    assert MessageTemplate.objects.filter(language="fr").exists()


@pytest.mark.requirement(93)
@pytest.mark.parametrize("subject", ["{name}", "Log in at evil.com", "https://[x"])
def test_a_subject_is_judged_on_its_own_field(panel, subject):
    values = text_of(panel, channel="email", subject=subject)
    assert list(errors(panel.as_("owner").post(page(ADD), values))) == ["subject"]


@pytest.mark.parametrize(
    ("field", "value"), [("channel", "messenger_b"), ("language", "german!"), ("project", "other")]
)
def test_what_the_form_does_not_offer_is_refused(panel, field, value):
    forged = text_of(panel, **{field: panel.other.pk if value == "other" else value})
    assert list(errors(panel.as_("owner").post(page(ADD), forged))) == [field]
    assert MessageTemplate.objects.count() == 1


def test_there_is_one_text_for_a_channel_and_language(panel):
    assert errors(panel.as_("owner").post(page(ADD), text_of(panel, language="DE")))
    assert MessageTemplate.objects.count() == 1


def test_the_project_channel_and_language_of_a_text_stay_as_they_are(panel):
    row = panel.rows[MessageTemplate]
    forged = {"project": panel.other.pk, "channel": "email", "language": "en", "text": "{code}!"}
    assert save(panel.as_("owner"), page("messagetemplate_change", row), **forged).status_code == 302
    row.refresh_from_db()
    assert (row.project, row.channel, row.language, row.text) == (panel.project, "sms", "de", "{code}!")


def test_a_refused_text_is_previewed_as_typed_and_escaped(panel):
    client, address = panel.as_("owner"), page("messagetemplate_change", panel.rows[MessageTemplate])
    response = save(client, address, text="<script>alert(1)</script>")
    assert "The placeholder {code} is missing." in errors(response)["text"][0]
    assert "<script>alert(1)" not in response.content.decode()
    assert "&lt;script&gt;alert(1)" in response.content.decode().partition("ww-preview")[2]


# --- suppressions ----------------------------------------------------------------------------------------------------


def test_a_suppression_is_lifted_with_a_post(panel):
    row, client = panel.rows[Suppression], panel.as_("owner")
    assert "+4915******78 (Voice call)" in client.get(page("suppression_lift", row)).content.decode()
    row.refresh_from_db()
    assert row.lifted_at is None
    assert client.post(page("suppression_lift", row)).status_code == 302
    row.refresh_from_db()
    assert row.lifted_at is not None


@pytest.mark.parametrize(("state", "number"), [("live", 1), ("lifted", 0), ("other", 1)])
def test_suppressions_are_filtered_by_their_state(panel, state, number):
    response = panel.as_("owner").get(page("suppression_changelist"), {"state": state})
    assert response.context["cl"].result_count == number


# --- callbacks -------------------------------------------------------------------------------------------------------


def test_a_callback_is_sent_again_with_a_post(panel):
    row, client = panel.rows[WebhookEvent], panel.as_("owner")
    assert "HTTP 500" in client.get(page("webhookevent_change", row)).content.decode()
    client.get(page("webhookevent_send_again", row))
    assert WebhookEvent.objects.get(pk=row.pk).due_at is None
    client.post(page("webhookevent_send_again", row))
    row.refresh_from_db()
    assert (row.tries, row.due_at is not None) == (0, True)


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ({"delivered_at": timezone.now()}, "delivered", "Delivered"),
        ({"due_at": timezone.now() + timedelta(hours=1)}, "waiting", "Retry "),
        ({"due_at": timezone.now() - timedelta(hours=1)}, "waiting", "Due now"),
        ({}, "given_up", "Failed"),
        ({"tries": 0}, "kept", "Not sent"),
    ],
)
def test_callbacks_are_filtered_by_their_state(panel, fields, state, words):
    WebhookEvent.objects.update(**fields)
    for chosen in ("delivered", "waiting", "given_up", "kept"):
        response = panel.as_("owner").get(page("webhookevent_changelist"), {"state": chosen})
        assert response.context["cl"].result_count == (chosen == state)
        assert (f">{words}" in response.content.decode().partition("result_list")[2]) is (chosen == state)


def test_a_callback_is_found_by_its_message_or_event(panel):
    number = panel.rows[WebhookEvent].message_id
    for term, found in ((number, 1), (f"msg_{number}", 1), ("1", 0), ("shop.example", 0)):
        response = panel.as_("owner").get(page("webhookevent_changelist"), {"q": term})
        assert response.context["cl"].result_count == found


@pytest.fixture
def local_receivers(settings):
    """Lets the owner's server stand on this machine."""
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    caching.clear_all()


@pytest.mark.requirement(75)
@pytest.mark.parametrize(("status", "words"), [(204, "Your server accepted it."), (500, "responded with HTTP 500")])
def test_a_test_event_shows_how_the_receiver_answered(panel, local_receivers, status, words):
    with FakeHttpServer() as receiver:
        receiver.script(answer(status, b""))
        client, address = panel.as_("owner"), page("project_test_event", panel.project)
        client.get(address, {"url": receiver.url})
        assert receiver.requests == []
        assert words in client.post(address, {"url": f"{receiver.url}/hook"}).content.decode()
        assert "webhook-signature" in receiver.requests[0].headers


def test_a_test_event_of_a_project_takes_the_right_in_that_project(panel, local_receivers):
    """A developer of another project, who may only look at this one, has nothing signed with its secret."""
    Membership.objects.filter(user__username="owner").update(role=Role.ANALYST)
    user = User.objects.get(username="owner")
    Membership.objects.create(project=panel.other, user=user, role=Role.DEVELOPER)
    with FakeHttpServer() as receiver:
        address = page("project_test_event", panel.project)
        assert panel.as_("owner").post(address, {"url": f"{receiver.url}/hook"}).status_code == 403
        assert receiver.requests == []


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "https://10.0.0.1/", "ftp://shop.example", "shop", ""])
def test_a_test_event_goes_to_public_addresses_only(panel, settings, url):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    response = panel.as_("owner").post(page("project_test_event", panel.project), {"url": url})
    assert "url" in response.context["form"].errors
    assert "tried" not in response.context


def test_a_test_event_needs_a_webhook_secret(panel):
    panel.project.webhook_secrets.all().delete()
    response = panel.as_("owner").post(page("project_test_event", panel.project), {"url": CALLBACK_URL})
    assert "no webhook secret" in response.content.decode()


def test_an_owner_of_two_projects_chooses_among_them(panel):
    second = Project.objects.create(name="Second of ours")
    Membership.objects.create(user=User.objects.get(username="owner"), project=second)
    field = panel.as_("owner").get(page(ADD)).context["adminform"].form.fields["project"]
    assert [project.name for project in field.queryset] == ["Ours", "Second of ours"]


def test_a_messages_page_tells_of_claims_that_were_lost(panel):
    message = panel.rows[Message]
    address = reverse("admin:verification_message_change", args=(message.pk,))
    assert "could not record the outcome" not in panel.as_("owner").get(address).content.decode()
    Message.objects.filter(pk=message.pk).update(claims=3, lost_leases=1)
    assert "3 times, of which 1 interrupted" in panel.as_("owner").get(address).content.decode()
