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
from verification.contrib.config_files.dump import write
from verification.contrib.config_files.load import FileRefused
from verification.core.errors import UserError
from verification.models import AuditEntry, Channel, ListEntry, Project, Provider
from verification.models.project_settings import SENT_TO
from verification.services.notifications import alert_services
from verification.services.projects import lists
from verification.services.providers.accounts import stored_secrets
from verification.services.texts import own

pytestmark = pytest.mark.django_db

WHOLE = {
    "settings": {
        "site_url": "https://shop.example",
        "code_length": 4,
        "countries": ["no", "DE"],
        "sends_per_day": 7,
        "alert_emails": ["ops@shop.example"],
    },
    "channels": {
        "sms": {"name": "Text", "position": 1, "daily_budget": 500, "countries": ["NO"]},
        "email": {"position": 2, "daily_budget": None},
        "voice": {"is_active": False},
    },
    "fallback": [{"channel": "sms", "wait_seconds": 20}, {"channel": "voice", "wait_seconds": 30}],
    "providers": {
        "sms": {
            "Gateway": {
                "type": "http",
                "priority": 5,
                "weight": 3,
                "only_prefixes": ["+47", "49"],
                "settings": {
                    "url": "https://sms.example/send",
                    "username": "shop",
                    "password": {"secret": "sms_password"},
                },
                "senders": {"+47": {"sender": "Shop"}},
            },
            "Spare": {"type": "http", "is_enabled": False, "settings": {"url": "https://spare.example/send"}},
        }
    },
    "texts": {
        "sms": {"de": {"text": "Ihr Code: {code}\nVon {project}"}, "NO": {"text": "Kode: {code}"}},
        "email": {"de": {"subject": "Ihr Code", "text": "{code}"}},
    },
    "lists": {
        "block": {"country": {"KP": {"note": "No business there."}}, "prefix": {"+1900": None}},
        "safe": {"domain": {"shop.example": {"expires_at": "2099-01-01T00:00:00Z"}}},
    },
    "alerts": {"Team": {"kind": "slack", "address": {"secret": "team_chat"}}},
}
CHAT = "https://hooks.slack.example/services/T0/B0/quiet"
SECRETS = {"sms_password": "hunter2", "team_chat": CHAT}.get


def apply(file, find_secret=SECRETS, **options):
    return plan.apply(document(file), find_secret=find_secret, **options)


def test_a_file_makes_a_project_with_all_of_its_parts():
    made = apply({"Shop": WHOLE})
    project = Project.objects.get(name="Shop")
    assert made.projects[0].is_new
    assert (project.code_length, project.countries, project.sends_per_day) == (4, ["NO", "DE"], 7)
    assert [channel.type for channel in project.channels.all()] == ["voice", "sms", "email"]
    gateway = project.providers.get(name="Gateway")
    assert (gateway.priority, gateway.only_prefixes) == (5, ["+47", "+49"])
    assert stored_secrets(gateway)["password"] == "hunter2"
    assert gateway.sender_rules.get().sender == "Shop"
    assert not project.providers.get(name="Spare").is_enabled
    assert {text.language for text in project.templates.filter(channel="sms")} == {"de", "NO".lower()}
    assert project.list_entries.count() == 3
    assert not project.keys.exists() and project.webhook_secrets.count() == 1


@pytest.mark.requirement(84)
def test_nothing_is_done_twice_nor_is_what_was_exported():
    apply({"Shop": WHOLE})
    lines = AuditEntry.objects.count()
    text = write(export.file_of(Project.objects.get(name="Shop")))
    assert "hunter2" not in text
    assert apply({"Shop": WHOLE}).is_empty and apply(text, plan.no_secrets).is_empty
    assert AuditEntry.objects.count() == lines


def test_an_exported_file_makes_the_same_set_up_under_another_name():
    apply({"Shop": WHOLE})
    shop = Project.objects.get(name="Shop")
    file = yaml.safe_load(write(export.file_of(shop)))
    apply({"Copy": file["projects"]["Shop"]}, find_secret=lambda name: CHAT if "alerts" in name else "hunter2")
    assert export.state_of(Project.objects.get(name="Copy")) == export.state_of(shop)


def test_a_plan_changes_nothing_and_says_what_applying_then_does():
    apply({"Shop": WHOLE})
    before = export.state_of(Project.objects.get(name="Shop"))
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


def test_what_a_file_does_not_name_stays_and_a_part_that_it_names_is_the_whole_part():
    apply({"Shop": WHOLE})
    project = Project.objects.get(name="Shop")
    before = export.state_of(project)
    apply({"Shop": {"settings": {"sends_per_day": 8}, "channels": {"sms": {}, "email": {}, "voice": {}}}})
    before["settings"]["sends_per_day"] = 8
    assert export.state_of(Project.objects.get(name="Shop")) == before
    apply({"Shop": {"fallback": [], "texts": {}, "lists": {"block": {}}, "providers": {}}})
    assert not project.fallback_steps.exists() and not project.templates.exists() and not project.providers.exists()
    assert [entry.value for entry in project.list_entries.all()] == ["shop.example"]
    done = apply({"Shop": {"channels": {"sms": {}, "email": {}}}})
    assert [(change.sign, change.path) for change in done.projects[0].changes] == [("-", "channels.voice")]


def test_recipients_on_lists_are_in_no_file_and_stay():
    apply({"Shop": WHOLE})
    project = Project.objects.get(name="Shop")
    lists.add_entry(project=project, kind="block", subject="recipient", value="+4915112345678")
    assert "4915112345678" not in write(export.file_of(project))
    apply({"Shop": {"lists": {"block": {}, "safe": {}}}})
    assert [entry.value for entry in project.list_entries.all()] == ["+4915112345678"]


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


def test_a_provider_that_somebody_stopped_stays_so_unless_the_file_names_its_switch():
    apply({"Shop": WHOLE})
    gateway = Provider.objects.get(name="Gateway")
    text = write(export.file_of(gateway.project))
    Provider.objects.filter(pk=gateway.pk).update(is_enabled=False)
    apply(text)
    assert not Provider.objects.get(pk=gateway.pk).is_enabled
    wanted = copy.deepcopy(WHOLE)
    wanted["providers"]["sms"]["gateway"] = {**wanted["providers"]["sms"].pop("Gateway"), "is_enabled": True}
    apply({"Shop": wanted})  # the same provider, written otherwise
    assert Provider.objects.get(name="gateway") == gateway and Provider.objects.get(pk=gateway.pk).is_enabled


def test_a_plan_that_was_overtaken_is_not_applied():
    apply({"Shop": WHOLE})
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


def test_a_secret_that_is_not_given_stays_and_one_that_is_changes_hidden():
    apply({"Shop": WHOLE})
    kept = plan.plan(document({"Shop": WHOLE}))
    assert kept.is_empty and kept.projects[0].kept_secrets == ("sms_password", "team_chat")
    changed = apply({"Shop": WHOLE}, find_secret={"sms_password": "other"}.get)
    (change,) = changed.projects[0].changes
    assert (change.path, change.before, change.after) == (
        "providers.sms.Gateway.settings.password",
        "(hidden)",
        "(hidden)",
    )
    assert stored_secrets(Provider.objects.get(name="Gateway"))["password"] == "other"


def test_null_takes_a_secret_away_and_one_neither_given_nor_stored_is_asked_for():
    apply({"Shop": WHOLE})
    wanted = copy.deepcopy(WHOLE)
    wanted["providers"]["sms"]["Gateway"]["settings"]["password"] = None
    apply({"Shop": wanted})
    assert not stored_secrets(Provider.objects.get(name="Gateway"))["password"]
    with pytest.raises(FileRefused, match="settings.password: the secret sms_password was not provided, and none is"):
        apply({"Shop": WHOLE}, find_secret=plan.no_secrets)


@pytest.mark.requirement(84)
def test_a_stored_secret_does_not_follow_its_account_to_another_server():
    apply({"Shop": WHOLE})
    wanted = copy.deepcopy(WHOLE)
    wanted["providers"]["sms"]["Gateway"]["settings"]["url"] = "https://elsewhere.example/send"
    with pytest.raises(
        FileRefused, match="settings.password: enter it again, because it would be sent to a different server"
    ):
        apply({"Shop": wanted}, find_secret=plan.no_secrets)


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


def test_a_challenges_secret_travels_by_name():
    settings = {
        "challenge_mode": "always",
        "challenge_provider": "turnstile",
        "challenge_site_key": "0x4A",
        "challenge_secret": {"secret": "shop_turnstile"},
    }
    apply({"Shop": {"settings": settings}}, find_secret={"shop_turnstile": "0x4SECRET"}.get)
    text = write(export.file_of(Project.objects.get(name="Shop")))
    assert "0x4SECRET" not in text and "secret: shop_challenge_secret" in text
    assert plan.plan(document(text)).is_empty


@pytest.mark.parametrize(
    "part",
    [
        {"providers": {"sms": {"Gateway\nFORGED": {"type": "http", "settings": {"url": "https://sms.example/"}}}}},
        {"alerts": {"Chat\nFORGED": {"kind": "slack", "address": {"secret": "team_chat"}}}},
        {"channels": {"sms": {"name": "SMS\nFORGED"}}},
        {"hosted_page": {"title": "Page\nFORGED"}},
    ],
)
def test_a_name_is_judged_as_a_form_judges_it(part):
    with pytest.raises(FileRefused, match="one line, without control characters"):
        apply({"Shop": {**WHOLE, **part}})


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
            "origins": "https://shop.example",
            "retention_days": 0,
            "guard_country_percent": 101,
            "is_enabled": False,
            "challenge_secret": "0xSECRET",
        },
        "keys": {},
        "fallback": [{"channel": "email"}],
        "providers": {"sms": {"A": {}, "B": {"type": "pigeon"}, "C": http}},
        "texts": {"messenger_b": {}},
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
        "settings.origins: this must be a list.",
        "settings.retention_days: the minimum is 1.",
        "settings.guard_country_percent: the maximum is 100.",
        "settings.is_enabled: this cannot be set by a file: use killswitch to s",
        "settings.challenge_secret: do not write secrets into the file; write {",
        "keys: there is no such name here;",
        "fallback.0: wait_seconds is missing.",
        "fallback.0.channel:",
        "providers.sms.A: type is missing.",
        "providers.sms.B.type:",
        "providers.sms.C.settings.colour: there is no such name here.",
        "providers.sms.C.settings.password: do not write secrets into the file;",
        "texts.messenger_b: unknown name. Did you mean messenger_a?",
        "lists.safe.country: there is no such name here;",
    }
    assert "hunter2" not in str(refused.value) and "0xSECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"settings": {"countries": ["XX"]}}, "settings.countries: 'XX' is not a country"),
        ({"settings": {"code_digits": False}}, "a code needs digits, letters or both"),
        ({"settings": {"event_url": "https://10.0.0.1/x"}}, "settings.event_url: "),
        ({"channels": {"sms": {"image_url": "http://a.example/"}}}, "channels.sms.image_url: .*starts with https"),
        ({"fallback": [{"channel": "sms", "wait_seconds": 9} for _ in "12"]}, "fallback.1.channel: sms appears twice"),
        ({"providers": {"sms": {"A": {"type": "http"}}}}, "providers.sms.A.settings.url: this setting is required"),
        ({"texts": {"sms": {"de": {"text": "Hallo"}}}}, "texts.sms.de.text: The placeholder {code} is missing"),
        ({"texts": {"sms": {"deutsch!": {"text": "{code}"}}}}, "texts.sms.deutsch!: 'deutsch!' is not a language"),
        ({"lists": {"block": {"prefix": {"+49": None, "49": None}}}}, r"lists.block.prefix.49: \+49 appears twice"),
        # In UTC, or in Tokyo, that is the year 10000, which Python cannot read back.
        *(
            ({"lists": {"block": {"country": {"KP": {"expires_at": time}}}}}, f"KP.expires_at: {why}")
            for time, why in (
                ("tomorrow", "enter a time with a time zone"),
                ("9999-12-31T23:59:59-12:00", "Enter a year from 1970"),
                ("9999-12-31T23:59:59Z", "Enter a year from 1970"),
            )
        ),
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


@pytest.mark.parametrize("texts", [{}, {"sms": {"de": {"text": "Code {code}"}}}])
def test_a_text_that_has_to_stay_stays(texts, monkeypatch):
    apply({"Shop": WHOLE})
    project = Project.objects.get(name="Shop")

    def keep(project, channel, language):
        raise UserError("End it first.")

    monkeypatch.setattr(own, "REQUIREMENTS", [keep])
    with pytest.raises(FileRefused, match="End it first"):
        apply({"Shop": {"texts": texts}})
    assert project.templates.get(channel="sms", language="de").text == "Ihr Code: {code}\nVon {project}"
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


def test_alert_services_are_brought_by_name_with_their_address_as_a_secret():
    apply({"Chats": {"alerts": WHOLE["alerts"]}})
    project = Project.objects.get(name="Chats")
    row = project.alert_services.get()
    assert (row.kind, row.name, alert_services.secret_of(row)) == ("slack", "Team", CHAT)
    exported = export.file_of(project)["projects"]["Chats"]["alerts"]["Team"]
    assert exported["address"] == {"secret": "chats_alerts_team"} and CHAT not in str(exported)
    off = {"Team": {**WHOLE["alerts"]["Team"], "is_enabled": False}}
    told = plan.apply(document({"Chats": {"alerts": off}}))  # nobody gives the address, and it stays
    assert [(each.path, each.after) for each in told.projects[0].changes] == [("alerts.Team.is_enabled", False)]
    moved = apply({"Chats": {"alerts": off}}, {"team_chat": f"{CHAT}-2"}.get).projects[0]
    assert [str(each.after) for each in moved.changes] == ["(hidden)"]
    apply({"Chats": {"alerts": {}}})
    assert not project.alert_services.exists()


@pytest.mark.parametrize(
    ("service", "complaint"),
    [
        ({"kind": "slack"}, "address is missing"),
        ({"kind": "slack", "address": "https://hooks.slack.example/1"}, "do not write secrets into the file"),
        ({"kind": "slack", "address": {"secret": "unknown"}}, "was not provided"),
        ({"kind": "telegram", "address": {"secret": "team_chat"}}, "not a bot token"),
        ({"kind": "pager", "address": {"secret": "team_chat"}}, "enter one of"),
    ],
)
def test_an_alert_service_that_cannot_be_told_is_refused(service, complaint):
    with pytest.raises(FileRefused, match=complaint):
        apply({"Chats": {"alerts": {"Team": service}}})


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
