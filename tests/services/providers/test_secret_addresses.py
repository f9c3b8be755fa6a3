"""A stored secret goes to no other server than it was entered for: asked of every secret by what declares it.

Who may change an address, but reads no secret, could else have it sent to a server of their own.
"""

import json

import pytest

from providers import registry
from providers.base import SettingKind
from providers.errors import SettingsInvalid
from tests import factories
from tests.admin.projects.test_project import change
from tests.admin.rows import make_panel
from tests.providers.test_conformance import SAMPLES, _value
from verification.core import crypto
from verification.core.crypto import encrypt
from verification.core.errors import UserError
from verification.models import Project
from verification.models.project_settings import SECRETS, SENT_TO
from verification.services.maintenance.reencryption import COLUMNS
from verification.services.projects.projects import set_project
from verification.services.projects.settings import seal_secret
from verification.services.providers.accounts import store_settings

pytestmark = pytest.mark.django_db

NEVER_SENT = {  # beside an address of the project's: why nothing else here can follow one
    ("AlertService", "secret"): "it is the address itself, or a token that goes to Telegram alone",
    ("IdentityConnection", "secret"): "others prove themselves to us by it",
    ("Provider", "hook_secret"): "part of our own address",
    ("WebhookSecret", "secret"): "it signs, and is not sent",
    ("TestLogin", "code_encrypted"): "nothing is sent to a test login",
    ("SecondFactor", "secret"): "compared here",
    ("Session", "code_encrypted"): "it goes to the recipient",
    ("Message", "code_encrypted"): "it goes to the recipient",
    ("IdempotentRequest", "answer_encrypted"): "it goes to the caller who asked",
}


def test_everything_stored_encrypted_says_where_it_is_sent():
    columns = {(column.model.__name__, column.column) for column in COLUMNS}
    declared = {("Provider", "secrets"), *(("Project", name) for name in SENT_TO), *NEVER_SENT}
    assert columns == declared
    assert set(SENT_TO) == set(SECRETS)


# --- a project's ----------------------------------------------------------------------------------------------------

VALUES = {"challenge_provider": ("turnstile", "hcaptcha")}
PAIRS = [(secret, address) for secret, addresses in SENT_TO.items() for address in addresses]


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request):
    """A secret, an address that it is sent to, and two values of it that mean two servers."""
    secret, address = request.param
    here, there = VALUES.get(address, ("https://operator.example/v1", "https://mine.example/v1"))
    return secret, address, here, there


def stored(row, secret, address, here):
    Project.objects.filter(pk=row.pk).update(**{address: here, secret: seal_secret(row, secret, "hush-hush")})
    row.refresh_from_db()


@pytest.mark.parametrize("port", [":8443", ""])
def test_no_command_takes_a_secret_to_another_server(project, pair, port):
    secret, address, here, there = pair
    stored(project.row, secret, address, here)
    there = here.replace("example", f"example{port}") if port and "://" in here else there
    with pytest.raises(UserError, match=f"{secret}: enter it again, because it would be sent to a different server"):
        set_project(project=project.row, values={address: there})
    set_project(project=project.row, values={address: there, secret: "of the other server"})


def test_it_does_not_go_by_way_of_no_address_either(project, pair):
    secret, address, here, there = pair
    stored(project.row, secret, address, here)
    set_project(project=project.row, values={address: "altcha" if address == "challenge_provider" else ""})
    with pytest.raises(UserError, match="enter it again"):
        set_project(project=project.row, values={address: there})


def test_another_path_of_the_same_server_keeps_the_secret(project):
    stored(project.row, "risk_camara_secret", "risk_camara_url", "https://operator.example/v1")
    set_project(project=project.row, values={"risk_camara_url": "https://Operator.example:443/v2"})


def test_no_page_takes_a_secret_to_another_server(pair):
    panel = make_panel()
    secret, address, here, there = pair
    stored(panel.project, secret, address, here)
    assert "sent to a different server" in change(panel, **{address: there}).content.decode()
    assert getattr(panel.project, address) == here
    change(panel, **{address: there, f"new_{secret}": "of the other server"})
    assert getattr(panel.project, address) == there


# --- a provider's ---------------------------------------------------------------------------------------------------


class Nowhere:
    url, port = "https://vendor.example", 8443


def servers_and_secrets():
    for name in registry.all_types():
        declared = registry.adapter_class(name).declared
        if any(setting.kind is SettingKind.SECRET for setting in declared):
            for setting in declared:
                if setting.kind in (SettingKind.URL, SettingKind.HOST) or setting.is_of_server:
                    yield name, setting.name


def another(setting, value):
    match setting.kind:
        case SettingKind.URL:
            return "https://mine.example/"
        case SettingKind.HOST:
            return "mine.example"
        case SettingKind.CHOICE:
            return next(choice for choice, _ in setting.choices if choice != value)
        case SettingKind.BOOLEAN:
            return not value
    return int(value or 0) + 1


@pytest.mark.parametrize(("provider_type", "address"), list(servers_and_secrets()))
def test_no_providers_secret_goes_to_another_server(project, provider_type, address, settings, monkeypatch):
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    adapter = registry.adapter_class(provider_type)
    monkeypatch.setattr(adapter, "clean", classmethod(lambda cls, values: {}))  # made-up settings need not fit
    declared = {setting.name: setting for setting in adapter.declared}
    values = {name: _value(setting, Nowhere) for name, setting in declared.items()}
    values = {name: value for name, value in values.items() if value is not None} | SAMPLES.get(provider_type, {})
    secrets = {
        name: values.pop(name, "hush-hush") for name, setting in declared.items() if setting.kind is SettingKind.SECRET
    }
    row = factories.provider(project=project.row, channel="sms", type=provider_type, name="Ours", settings=values)
    row.secrets = encrypt(json.dumps(secrets), binding=crypto.provider_secrets_binding(row.uuid))
    moved = values | {address: another(declared[address], values.get(address, declared[address].default))}
    with pytest.raises(SettingsInvalid) as refused:
        store_settings(row, moved)
    assert set(refused.value.errors) == set(secrets)


def test_a_server_is_more_than_its_name():
    whole = {("smtp", "port"), ("smpp", "port"), ("smtp", "security"), ("smpp", "tls"), ("anymail", "service")}
    assert whole <= set(servers_and_secrets())
