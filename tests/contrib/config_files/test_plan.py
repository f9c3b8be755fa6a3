"""A set-up file is planned, applied, and then has nothing left to change."""

import copy

import pytest
import yaml
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.contrib.config_files.files import document
from tests.fakes import collector
from tests.services.providers.test_secret_addresses import VALUES
from verification.contrib.config_files import export, plan, schema
from verification.contrib.config_files.load import FileRefused
from verification.core.errors import UserError
from verification.models import AuditEntry, Channel, ListEntry, Project, Provider
from verification.models.project_settings import SENT_TO
from verification.services.notifications import alert_services
from verification.services.projects import lists
from verification.services.providers.accounts import stored_secrets
from verification.services.texts import own

pytestmark = pytest.mark.django_db

WHOLE = yaml.safe_load("""
settings: {site_url: https://shop.example, code_length: 4, countries: ["no", DE], sends_per_day: 7,
  alert_emails: [ops@shop.example], challenge_mode: always, challenge_provider: turnstile, challenge_site_key: key,
  challenge_secret: {secret: turnstile}}
channels:
  sms: {name: Text, position: 1, daily_budget: 500, countries: ["NO"]}
  email: {position: 2, daily_budget: null}
  voice: {is_active: false}
fallback: [{channel: sms, wait_seconds: 20}, {channel: voice, wait_seconds: 30}]
providers:
  sms:
    Gateway:
      {type: http, priority: 5, weight: 3, only_prefixes: ["+47", "49"], senders: {"+47": {sender: Shop}},
      settings: {url: https://sms.example/send, username: shop, password: {secret: sms_password}}}
    Spare: {type: http, is_enabled: false, settings: {url: https://spare.example/send}}
texts:
  sms: {de: {text: "Ihr Code: {code}\\nVon {project}"}, "NO": {text: "Kode: {code}"}}
  email: {de: {subject: Ihr Code, text: "{code}"}}
lists:
  block: {country: {KP: {note: No business there.}}, prefix: {"+1900": null}}
  safe: {domain: {shop.example: {expires_at: "2099-01-01T00:00:00Z"}}}
alerts: {Team: {kind: slack, address: {secret: team_chat}}}
""")
CHAT = "https://hooks.slack.example/services/T0/B0/quiet"
ADDRESS = {"secret": "team_chat"}
HTTP = {"type": "http", "settings": {"url": "https://sms.example/"}}
SECRETS = {"turnstile": "hunter2", "sms_password": "hunter2", "team_chat": CHAT}.get


def apply(file, find_secret=SECRETS, **options):
    return plan.apply(document(file), find_secret=find_secret, **options)


def whole(name="Gateway", **changes):
    """The whole file with other settings of its gateway."""
    file = copy.deepcopy(WHOLE)
    row = file["providers"]["sms"].pop("Gateway")
    file["providers"]["sms"][name] = {**row, "settings": {**row["settings"], **changes}}
    return {"Shop": file}


@pytest.fixture
def shop():
    apply({"Shop": WHOLE})
    return Project.objects.get(name="Shop")


@pytest.fixture
def gateway(shop):
    return shop.providers.get(name="Gateway")


def test_a_file_makes_a_project_with_all_of_its_parts(shop, gateway):
    assert (shop.code_length, shop.countries, shop.sends_per_day) == (4, ["NO", "DE"], 7)
    assert [channel.type for channel in shop.channels.all()] == ["voice", "sms", "email"]
    assert (gateway.priority, gateway.only_prefixes) == (5, ["+47", "+49"])
    assert stored_secrets(gateway)["password"] == "hunter2"
    assert gateway.sender_rules.get().sender == "Shop"
    assert not shop.providers.get(name="Spare").is_enabled
    assert {text.language for text in shop.templates.filter(channel="sms")} == {"de", "NO".lower()}
    assert shop.list_entries.count() == 3
    assert not shop.keys.exists() and shop.webhook_secrets.count() == 1


@pytest.mark.requirement(84)
def test_nothing_is_done_twice_nor_is_what_was_exported(shop):
    lines = AuditEntry.objects.count()
    text = export.write(export.file_of(shop))
    assert "hunter2" not in text and "secret: shop_challenge_secret" in text
    assert apply({"Shop": WHOLE}).is_empty and apply(text, plan.no_secrets).is_empty
    assert AuditEntry.objects.count() == lines


def test_an_exported_file_makes_the_same_set_up_under_another_name(shop):
    file = yaml.safe_load(export.write(export.file_of(shop)))
    apply({"Copy": file["projects"]["Shop"]}, find_secret=lambda name: CHAT if "alerts" in name else "hunter2")
    assert export.state_of(Project.objects.get(name="Copy")) == export.state_of(shop)


def test_a_plan_changes_nothing_and_says_what_applying_then_does(shop):
    before = export.state_of(shop)
    wanted = copy.deepcopy(WHOLE)
    wanted["settings"]["code_length"] = 6
    wanted["providers"]["sms"] = {"Other": {"type": "http", "settings": {"url": "https://other.example/"}}}
    planned = plan.plan(document({"Shop": wanted, "New": {}}), find_secret=SECRETS)
    assert export.state_of(Project.objects.get(name="Shop")) == before
    assert [(change.sign, change.path) for change in planned.projects[0].changes] == [
        ("~", "settings.code_length"),
        ("-", "providers.sms.Gateway"),
        ("-", "providers.sms.Spare"),
        ("+", "providers.sms.Other"),
    ]
    assert planned.projects[1].is_new and not Project.objects.filter(name="New").exists()
    assert apply({"Shop": wanted, "New": {}}).digest == planned.digest


def test_what_a_file_does_not_name_stays_and_a_part_that_it_names_is_the_whole_part(shop):
    before = export.state_of(shop)
    apply({"Shop": {"settings": {"sends_per_day": 8}, "channels": {"sms": {}, "email": {}, "voice": {}}}})
    before["settings"]["sends_per_day"] = 8
    assert export.state_of(Project.objects.get(name="Shop")) == before
    lists.add_entry(project=shop, kind="block", subject="recipient", value="+4915112345678")
    assert "4915112345678" not in export.write(export.file_of(shop))
    apply({"Shop": {"fallback": [], "texts": {}, "lists": {"block": {}}, "providers": {}, "alerts": {}}})
    for part in (shop.fallback_steps, shop.templates, shop.providers, shop.alert_services):
        assert not part.exists()
    assert {entry.value for entry in shop.list_entries.all()} == {"shop.example", "+4915112345678"}  # people stay
    done = apply({"Shop": {"channels": {"sms": {}, "email": {}}}})
    assert [(change.sign, change.path) for change in done.projects[0].changes] == [("-", "channels.voice")]


def test_an_entry_whose_end_is_past_is_passed_over_and_in_no_new_ones_way():
    ended, named = ({"country": {"KP": entry}} for entry in ({"expires_at": "2020-01-01T00:00:00Z"}, {"note": "Over."}))
    apply({"Shop": {"lists": {"block": ended}}})
    assert not ListEntry.objects.exists()
    apply({"Shop": {"lists": {"block": named}}})
    ListEntry.objects.update(expires_at="2020-01-01T00:00:00Z")
    apply({"Shop": {"lists": {"block": named}}})
    assert [(row.note, row.expires_at) for row in ListEntry.objects.all()] == [("Over.", None)]
    apply({"Shop": {"lists": {"block": ended}}})
    assert not ListEntry.objects.live().exists()


def test_a_long_list_takes_few_statements_and_has_its_bound():
    entries = {f"+{number}": None for number in range(10_000, 10_000 + lists.MAX_ENTRIES)}
    with CaptureQueriesContext(connection) as statements:
        apply({"Shop": {"lists": {"block": {"prefix": entries}}}})
    assert ListEntry.objects.count() == lists.MAX_ENTRIES
    assert len(statements) < 60
    with pytest.raises(FileRefused, match="lists.safe: A project's lists can have at most 1,000 entries"):
        apply({"Shop": {"lists": {"safe": {"domain": {"shop.example": None}}}}})


def test_of_two_projects_none_is_changed_if_one_cannot_be():
    with pytest.raises(FileRefused):
        apply({"Good": {"settings": {"code_length": 4}}, "Bad": {"settings": {"code_digits": False}}})
    assert not Project.objects.filter(name__in=("Good", "Bad")).exists()


def test_a_provider_that_somebody_stopped_stays_so_unless_the_file_names_its_switch(shop, gateway):
    text = export.write(export.file_of(shop))
    Provider.objects.filter(pk=gateway.pk).update(is_enabled=False)
    apply(text)
    assert not Provider.objects.get(pk=gateway.pk).is_enabled
    wanted = whole(name="gateway")  # the same provider, written otherwise
    wanted["Shop"]["providers"]["sms"]["gateway"]["is_enabled"] = True
    apply(wanted)
    assert Provider.objects.get(name="gateway") == gateway and Provider.objects.get(pk=gateway.pk).is_enabled


def test_a_plan_that_was_overtaken_is_not_applied(shop):
    wanted = {"Shop": {"settings": {"code_length": 6}}}
    shown = plan.plan(document(wanted)).digest
    Project.objects.filter(name="Shop").update(code_length=6)
    with pytest.raises(plan.PlanChanged, match="changed in the meantime") as refused:
        apply(wanted, shown=shown)
    assert refused.value.plan.is_empty


def test_a_project_that_shares_its_name_is_refused():
    factories.project("Twin")
    factories.project("Other").set(name="Twin")
    with pytest.raises(FileRefused, match="projects.Twin: Several projects are named 'Twin'"):
        apply({"Twin": {}})


# --- secrets -------------------------------------------------------------------------------------------------------


def test_a_secret_that_is_not_given_stays_and_one_that_is_changes_hidden(gateway):
    kept = plan.plan(document({"Shop": WHOLE}))
    assert kept.is_empty and kept.projects[0].kept_secrets == ("turnstile", "sms_password", "team_chat")
    given = {"sms_password": "other", "team_chat": f"{CHAT}-2"}.get
    changes = apply({"Shop": WHOLE}, find_secret=given).projects[0].changes
    assert {(change.path, change.before, change.after) for change in changes} == {
        ("providers.sms.Gateway.settings.password", "(hidden)", "(hidden)"),
        ("alerts.Team.address", "(hidden)", "(hidden)"),
    }
    gateway.refresh_from_db()
    assert stored_secrets(gateway)["password"] == "other"


def test_null_takes_a_secret_away_and_one_neither_given_nor_stored_is_asked_for(gateway):
    apply(whole(password=None))
    gateway.refresh_from_db()
    assert not stored_secrets(gateway)["password"]
    with pytest.raises(FileRefused, match="settings.password: the secret sms_password was not provided, and none is"):
        apply({"Shop": WHOLE}, find_secret=plan.no_secrets)


@pytest.mark.requirement(84)
def test_a_stored_secret_does_not_follow_its_account_to_another_server(shop):
    refusal = "settings.password: enter it again, because it would be sent to a different server"
    with pytest.raises(FileRefused, match=refusal):
        apply(whole(url="https://elsewhere.example/send"), find_secret=plan.no_secrets)


@pytest.mark.parametrize(
    ("secret", "address"), [(secret, address) for secret, addresses in SENT_TO.items() for address in addresses]
)
def test_a_projects_stored_secret_does_not_follow_an_address_to_another_server(secret, address):
    here, there = VALUES.get(address, ("https://operator.example/v1", "https://mine.example/v1"))
    named = {secret: {"secret": "name"}}
    apply({"Shop": {"settings": {address: here, **named}}}, find_secret={"name": "hush-hush"}.get)
    for settings in ({address: there}, {address: there, **named}):
        with pytest.raises(FileRefused, match=f"settings.{secret}: enter it again"):
            apply({"Shop": {"settings": settings}}, find_secret=plan.no_secrets)
    apply({"Shop": {"settings": {address: there, **named}}}, find_secret={"name": "hush-hush"}.get)


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement(84)
def test_what_the_schema_does_not_know_is_refused_all_at_once_and_no_value_is_repeated():
    http = {"type": "http", "settings": {"colour": "red", "password": "hunter2"}}
    wrong = {
        "settings": {
            "code_lenght": 4,
            "code_length": 5,
            "sends_per_day": "many",
            "allow_voip": "yes",
            "countries": ["Atlantis"],
            "retention_days": 0,
            "guard_country_percent": 101,
            "is_enabled": False,
            "challenge_secret": "0xSECRET",
        },
        "fallback": [{"channel": "email"}],
        "providers": {"sms": {"A": {}, "B": {"type": "pigeon"}, "C": http}},
        "texts": {"messenger_b": {}},
        "alerts": {"A": {"kind": "pager", "address": "https://hooks.slack.example/1"}},
        "lists": {"safe": {"country": {}}},
    }
    with pytest.raises(FileRefused) as refused:
        apply({"Shop": wrong})
    found = {str(fault).removeprefix("projects.Shop.")[:70] for fault in refused.value.faults}
    assert {text.split(" there are ")[0].split(" enter one of ")[0] for text in found} == {
        "settings.code_lenght: unknown name. Did you mean code_length?",
        "settings.code_length:",
        "settings.sends_per_day: enter a whole number.",
        "settings.allow_voip: enter true or false.",
        "settings.countries.0: at most 2 characters are allowed.",
        "settings.retention_days: the minimum is 1.",
        "settings.guard_country_percent: the maximum is 100.",
        "settings.is_enabled: this cannot be set by a file: use killswitch to s",
        "settings.challenge_secret: do not write secrets into the file; write {",
        "fallback.0: wait_seconds is missing.",
        "fallback.0.channel:",
        "providers.sms.A: type is missing.",
        "providers.sms.B.type:",
        "providers.sms.C.settings.colour: there is no such name here.",
        "providers.sms.C.settings.password: do not write secrets into the file;",
        "texts.messenger_b: unknown name. Did you mean messenger_a?",
        "lists.safe.country: there is no such name here;",
        "alerts.A.kind:",
        "alerts.A.address: do not write secrets into the file; write {secret: N",
    }
    assert "hunter2" not in str(refused.value) and "0xSECRET" not in str(refused.value)


def ends(time):
    return {"lists": {"block": {"country": {"KP": {"expires_at": time}}}}}


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"settings": {"countries": ["XX"]}}, "settings.countries: 'XX' is not a country"),
        ({"settings": {"code_digits": False}}, "a code needs digits, letters or both"),
        ({"settings": {"event_url": "https://10.0.0.1/x"}}, "settings.event_url: "),
        ({"channels": {"sms": {"image_url": "http://a.example/"}}}, "channels.sms.image_url: .*starts with https"),
        ({"fallback": [{"channel": "sms", "wait_seconds": 9} for _ in "12"]}, "fallback.1.channel: sms appears twice"),
        ({"providers": {"sms": {"A": {"type": "http"}}}}, "providers.sms.A.settings.url: this setting is required"),
        ({"channels": {"sms": {"name": "SMS\nFORGED"}}}, "one line, without control characters"),
        ({"providers": {"sms": {"A\nFORGED": HTTP}}}, "one line, without control characters"),
        ({"alerts": {"A\nFORGED": {"kind": "slack", "address": ADDRESS}}}, "one line, without control characters"),
        ({"alerts": {"A": {"kind": "telegram", "address": ADDRESS}}}, "alerts.A.address: This is not a bot token"),
        ({"alerts": {"A": {"kind": "slack"}}}, "alerts.A: address is missing"),
        ({"texts": {"sms": {"de": {"text": "Hallo"}}}}, "texts.sms.de.text: The placeholder {code} is missing"),
        ({"texts": {"sms": {"deutsch!": {"text": "{code}"}}}}, "texts.sms.deutsch!: 'deutsch!' is not a language"),
        ({"lists": {"block": {"prefix": {"+49": None, "49": None}}}}, r"lists.block.prefix.49: \+49 appears twice"),
        (ends("tomorrow"), "country.KP.expires_at: enter a time with a time zone"),
        (ends("9999-12-31T23:59:59-12:00"), "KP.expires_at: Enter a year from 1970"),  # later than Python knows, in UTC
        (ends("9999-12-31T23:59:59Z"), "KP.expires_at: Enter a year from 1970"),  # or in Tokyo
    ],
)
def test_what_cannot_be_is_refused_with_its_path_and_nothing_is_done(more, complaint):
    with pytest.raises(FileRefused, match=complaint):
        apply({"Shop": more})
    assert not Project.objects.filter(name="Shop").exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("projects: {}", "watchword is missing"),
        ("watchword: 2\nprojects: {}", "watchword: 1 is expected"),
        ("- 1", "this must consist of names with values"),
        ("watchword: 1\nprojects: {'12': {}}", "projects.12: .*only of digits"),
    ],
)
def test_what_is_no_set_up_at_all_is_refused(text, complaint):
    with pytest.raises(FileRefused, match=complaint):
        apply(text)


def test_thousands_of_faults_are_not_all_put_into_words():
    settings = {f"name{number}": 1 for number in range(3_000)}
    assert len(schema.faults(document({"settings": settings}))) == schema.MOST_FAULTS


def test_a_text_that_has_to_stay_stays(shop, monkeypatch):
    def keep(project, channel, language):
        raise UserError("End it first.")

    monkeypatch.setattr(own, "REQUIREMENTS", [keep])
    for texts in ({}, {"sms": {"de": {"text": "Code {code}"}}}):
        with pytest.raises(FileRefused, match="End it first"):
            apply({"Shop": {"texts": texts}})
    assert shop.templates.get(channel="sms", language="de").text == "Ihr Code: {code}\nVon {project}"
    apply({"Shop": {"texts": WHOLE["texts"]}})  # what the file leaves as it is


def test_a_price_list_is_brought_compared_line_by_line_and_refused_with_its_line():
    prices = {"DE": "0.075 EUR segment", "DE from 2027-01-01": "0.08 EUR segment", "default": "0.12 EUR message"}
    provider = {"type": "collector", "settings": {"name": "a"}, "prices": prices}
    file = {"Priced": {"providers": {"sms": {"Gateway": provider}}}}
    collector.install()
    apply(file)
    row = Provider.objects.get(name="Gateway")
    assert (row.price_list, row.prices.count()) == (1, 3)
    assert export.file_of(row.project)["projects"]["Priced"]["providers"]["sms"]["Gateway"]["prices"] == prices
    assert apply(file).is_empty
    prices["default"] = "0.2 EUR message"
    (change,) = apply(file).projects[0].changes
    assert (change.path, change.before, change.after) == (
        "providers.sms.Gateway.prices.default", "0.12 EUR message", "0.2 EUR message",
    )  # fmt: skip
    prices["XX"] = "0.2 EUR"
    with pytest.raises(FileRefused, match="prices.XX: enter a price"):
        apply(file)


def test_alert_services_are_brought_by_name_with_their_address_as_a_secret(shop):
    row = shop.alert_services.get()
    assert (row.kind, row.name, alert_services.secret_of(row)) == ("slack", "Team", CHAT)
    assert "address: {secret: shop_alerts_team}" in str(export.file_of(shop)).replace("'", "")
    off = {"Team": {**WHOLE["alerts"]["Team"], "is_enabled": False}}
    told = apply({"Shop": {"alerts": off}}, plan.no_secrets)  # nobody gives the address, and it stays
    assert [(each.path, each.after) for each in told.projects[0].changes] == [("alerts.Team.is_enabled", False)]


@pytest.mark.skipif(not apps.is_installed("verification.contrib.route_optimizer"), reason="there is no such choice")
def test_the_best_for_the_money_needs_prices_which_the_same_file_may_bring():
    providers = {"sms": {"Gateway": {"type": "collector", "settings": {"name": "a"}}}}
    file = {"Priced": {"channels": {"sms": {"routing": "best_price"}}, "providers": providers}}
    collector.install()
    with pytest.raises(FileRefused, match="routing: “Cheapest per verified user” needs prices, and Gateway has none"):
        apply(file)
    providers["sms"]["Gateway"]["prices"] = {"default": "0.12 EUR message"}
    apply(file)
    assert Channel.objects.get(project__name="Priced").routing == "best_price"
    providers["sms"]["Gateway"]["prices"] = {}
    apply(file)  # the choice is as it was, and is not judged again
