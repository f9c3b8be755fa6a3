from __future__ import annotations

import sys

import pytest

from providers import base, registry
from providers.errors import SettingsInvalid
from providers.http.client import HttpClient
from providers.registry import AdapterShowsCodes, UnknownAdapter
from tests.providers.vendors import all_vendors
from verification.models import ChannelType

PROBE = """
from providers import base
from providers.base import Setting, SettingKind

class Adapter(base.Adapter):
    type = "{type}"
    label = "A probe"
    channels = ("sms",)
    declared = (
        Setting("name", "Name", required=True),
        Setting("region", "Region", required=True, default="eu"),
        Setting("note", "Note", SettingKind.MULTILINE),
        Setting("key", "Key", SettingKind.SECRET),
        Setting("key_file", "Key file", SettingKind.SECRET, is_multiline=True),
        Setting("url", "URL", SettingKind.URL),
        Setting("host", "Host", SettingKind.HOST),
        Setting("port", "Port", SettingKind.NUMBER, default=80),
        Setting("is_on", "On", SettingKind.BOOLEAN, default=True),
        Setting("mode", "Mode", SettingKind.CHOICE, default="a", choices=(("a", "A"), ("b", "B"))),
    )

    @classmethod
    def clean(cls, values):
        return {{"port": "this name goes with port 80"}} if (values["name"], values["port"]) == ("x", 81) else {{}}
"""


@pytest.fixture
def probe(drop):
    drop("probe_one", PROBE.format(type="probe"))
    return "probe"


def errors_of(type, raw, networks=()):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(type, raw, networks)
    return caught.value.errors


def test_it_finds_the_adapters_of_the_folder():
    assert {"console", "http", "inbox", "smtp"} <= set(registry.all_types())
    assert registry.failures() == {}


def test_every_adapter_is_complete():
    for type in registry.all_types():
        found = registry.adapter_class(type)
        assert found.type == type and found.label and found.channels
        assert len({setting.name for setting in found.declared}) == len(found.declared)


def test_it_offers_choices_by_label():
    labels = [label for _, label in registry.choices()]
    assert ("smtp", "SMTP") in registry.choices() and labels == sorted(labels)


def test_it_names_the_adapters_of_a_channel():
    assert "smtp" in {found.type for found in registry.for_channel("email")}
    assert "smtp" not in {found.type for found in registry.for_channel("sms")}


def test_a_file_dropped_into_the_folder_is_an_adapter(probe):
    assert registry.adapter_class("probe").label == "A probe"


@pytest.mark.requirement(97)
@pytest.mark.parametrize("type", ["console", "inbox"])
def test_what_shows_codes_runs_only_where_the_operator_says_so(settings, type):
    settings.SHOW_CODES_TO_OPERATORS = False
    assert type not in registry.all_types()
    assert type not in {found.type for found in registry.for_channel("sms")} | dict(registry.choices()).keys()
    with pytest.raises(
        AdapterShowsCodes, match=f"^A provider of type {type} shows codes .* SHOW_CODES_TO_OPERATORS=true"
    ):
        registry.build(type, {}, http=HttpClient(), store=None)


def test_an_unknown_type_is_an_error():
    with pytest.raises(UnknownAdapter, match="carrier_pigeon"):
        registry.adapter_class("carrier_pigeon")


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("broken_import", "import no_such_module", "no_such_module"),
        ("broken_syntax", "class Adapter(", "SyntaxError"),
        ("broken_empty", "", "Adapter"),
        ("broken_base", "class Adapter: pass", "does not extend"),
        ("broken_bare", "from providers import base\nclass Adapter(base.Adapter): pass", "lacks type"),
        ("zz_again", PROBE.format(type="smtp"), "taken"),
    ],
)
def test_a_broken_file_is_named_and_hides_no_other(drop, name, source, reason):
    drop(name, source)
    assert list(registry.failures()) == [name]
    assert reason in registry.failures()[name]
    assert "console" in registry.all_types()
    with pytest.raises(UnknownAdapter, match=name):
        registry.adapter_class("missing")


def test_it_fills_in_defaults(probe):
    assert registry.clean_settings(probe, {"name": "x"}) == {
        "name": "x",
        "region": "eu",
        "note": "",
        "key": "",
        "key_file": "",
        "url": "",
        "host": "",
        "port": 80,
        "is_on": True,
        "mode": "a",
    }


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ({"name": "  x  "}, {"name": "x"}),
        ({"note": "a\r\nb\n"}, {"note": "a\nb"}),
        ({"key_file": "a\nb"}, {"key_file": "a\nb"}),
        ({"url": "https://example.com/x"}, {"url": "https://example.com/x"}),
        ({"host": "mail.example.com"}, {"host": "mail.example.com"}),
        ({"port": "25"}, {"port": 25}),
        ({"port": 25}, {"port": 25}),
        ({"port": ""}, {"port": 80}),
        ({"is_on": "false"}, {"is_on": False}),
        ({"is_on": "0"}, {"is_on": False}),
        ({"is_on": "on"}, {"is_on": True}),
        ({"is_on": "1"}, {"is_on": True}),
        ({"is_on": False}, {"is_on": False}),
        ({"mode": "b"}, {"mode": "b"}),
    ],
)
def test_it_reads_each_kind(probe, raw, clean):
    values = registry.clean_settings(probe, {"name": "n", **raw})
    assert {name: values[name] for name in clean} == clean


@pytest.mark.parametrize(
    "raw",
    [
        {"name": ""},
        {"name": "   "},
        {"name": None},
        {"name": "a\nb"},
        {"name": "a\x00b"},
        {"name": 5},
        {"name": ["x"]},
        {"note": "a\x1bb"},
        {"key": "a\nb"},
        {"key": "x" * 20_001},
        {"url": "http://example.com/"},
        {"url": "https://127.0.0.1/"},
        {"host": "localhost"},
        {"port": "8o"},
        {"port": "1.5"},
        {"port": True},
        {"is_on": "maybe"},
        {"is_on": 2},
        {"mode": "c"},
        {"unheard_of": "x"},
    ],
)
def test_it_refuses_what_does_not_fit(probe, raw):
    assert list(errors_of(probe, {"name": "n", **raw})) == list(raw)


def test_it_tells_all_errors_at_once(probe):
    assert set(errors_of(probe, {"port": "x", "mode": "c"})) == {"name", "port", "mode"}


def test_errors_do_not_repeat_what_was_entered(probe):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(probe, {"name": "n", "key": "hush\x00"})
    assert "hush" not in str(caught.value)


def test_the_adapter_judges_across_settings(probe):
    assert errors_of(probe, {"name": "x", "port": 81}) == {"port": "this name goes with port 80"}


def test_allowed_networks_hold_for_settings(probe):
    raw = {"name": "n", "url": "http://127.0.0.1:8000/", "host": "127.0.0.1"}
    assert registry.clean_settings(probe, raw, ["127.0.0.0/8"])["host"] == "127.0.0.1"


def test_it_parts_secrets_from_the_rest(probe):
    values = registry.clean_settings(probe, {"name": "n", "key": "k"})
    plain, secret = registry.split_secrets(probe, values)
    assert secret == {"key": "k", "key_file": ""}
    assert {**plain, **secret} == values


def test_it_builds_an_adapter_with_later_settings_at_their_default(probe, store):
    built = registry.build(probe, {"name": "n"}, http=HttpClient(), store=store)
    assert (built.settings["name"], built.settings["port"]) == ("n", 80)


def test_a_built_adapter_does_not_show_its_settings(probe, store):
    assert "hush" not in repr(registry.build(probe, {"key": "hush"}, http=HttpClient(), store=store))


def test_adapters_and_the_interface_know_the_same_channels():
    assert set(base.CHANNELS) == set(ChannelType.values)


@pytest.mark.parametrize(
    ("provider_type", "values", "package"),
    [
        ("apprise", {"url": "json://example.com/{to}"}, "apprise"),
        ("aws_sms", {"region": "eu-central-1"}, "boto3"),
        ("aws_sns", {"region": "eu-central-1"}, "boto3"),
        ("anymail", {"service": "amazon_ses"}, "boto3"),
        ("anymail", {"service": "resend"}, "svix"),
    ],
)
def test_a_type_whose_package_is_missing_says_which_one_to_install(provider_type, values, package, store, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    for ask in (
        lambda: registry.clean_settings(provider_type, values),
        lambda: registry.build(provider_type, values, http=HttpClient(), store=store),
    ):
        with pytest.raises(SettingsInvalid, match=f"needs {package}, not installed here.*requirements/vendors.txt"):
            ask()


def test_a_service_of_anymail_asks_for_no_package_of_another(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert registry.lacking("anymail", {"service": "postmark"}) == ""


def test_every_type_has_a_table_of_what_its_vendor_documents():
    speak_no_http_of_their_own = {"apprise", "console", "inbox", "sandbox", "sandbox_bot", "smpp"}
    assert {vendor.type for vendor in all_vendors()} == set(registry.all_types()) - speak_no_http_of_their_own
