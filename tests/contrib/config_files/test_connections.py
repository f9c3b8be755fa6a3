"""The connections' part of a set-up file, where the service has connections."""

import pytest

from tests.contrib.config_files.files import document, needs_connections
from verification.contrib.config_files import export, plan
from verification.contrib.config_files.load import FileRefused
from verification.core import crypto
from verification.core.crypto import decrypt
from verification.models import AuditEntry, Project

pytestmark = [pytest.mark.django_db, needs_connections]

SECRETS = {"okta": "the-secret-of-okta-0", "hook": "the-secret-of-the-hook"}
OKTA = {"system": "okta", "channel": "sms", "secret": {"secret": "okta"}}
OTHER = {
    "system": "generic",
    "options": {"to": "user.phone", "header": "x-hook", "country": "MA"},
    "secret": {"secret": "hook"},
}


def apply(parts, secrets=SECRETS):
    return plan.apply(document({"Shop": {"connections": parts}}), find_secret=secrets.get)


def shop():
    return Project.objects.get(name="Shop")


def secret_of(row):
    return decrypt(bytes(row.secret), binding=crypto.connection_secret_binding(row.public_id))


def test_connections_are_made_with_their_secrets_and_options_which_no_export_shows():
    apply({"Okta": OKTA, "Hook": OTHER})
    hook, okta = shop().connections.order_by("name")
    assert (okta.name, okta.system, okta.channel, secret_of(okta)) == ("Okta", "okta", "sms", SECRETS["okta"])
    assert (hook.channel, hook.options) == ("", OTHER["options"])
    text = export.write(export.file_of(shop()))
    assert "secret: shop_connections_okta" in text
    assert not any(secret in text for secret in SECRETS.values())
    written = AuditEntry.objects.count()
    assert plan.apply(document(text)).is_empty
    assert AuditEntry.objects.count() == written


def test_a_change_keeps_the_address_and_what_the_file_does_not_name():
    apply({"Okta": OKTA, "Hook": OTHER})
    with pytest.raises(FileRefused, match="a connection of okta already has this name. Choose another."):
        apply({"Okta": OTHER})
    okta = shop().connections.get(name="Okta")
    plan.apply(document({"Shop": {"settings": {}}}))
    (made,) = apply(
        {"Okta": {"system": "okta", "channel": "voice"}, "Hook": {"system": "generic", "options": {"to": "phone"}}}
    ).projects
    assert {change.path: change.after for change in made.changes} == {
        "connections.Okta.channel": "voice",
        "connections.Hook.options.to": "phone",
        "connections.Hook.options.header": None,
        "connections.Hook.options.country": None,
    }
    (made,) = apply({"Okta": OKTA}, {"okta": "another-secret-of-okta"}).projects
    assert {"connections.Okta.secret", "connections.Hook"} < {change.path for change in made.changes}
    assert "another-secret-of-okta" not in str(made.changes)
    after = shop().connections.get()  # the part lacks the other
    assert (after.public_id, secret_of(after)) == (okta.public_id, "another-secret-of-okta")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"system": "okta"}, "connections.Okta: a new connection needs its secret"),
        ({"system": "astrology", "secret": {"secret": "okta"}}, "connections.Okta.system: enter one of"),
        (OKTA | {"channel": "email"}, "submits no codes for the channel email"),
        (OKTA | {"options": {"to": "x"}}, "has no option 'to'"),
        (OKTA | {"secret": {"secret": "nobody"}}, "the secret nobody was not provided, and none is stored"),
        (OKTA | {"secret": "in the clear"}, "do not write secrets into the file"),
        (OKTA | {"public_id": "x"}, "there is no such name"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(row, fault):
    with pytest.raises(FileRefused) as refused:
        apply({"Okta": row})
    assert fault in str(refused.value)
    assert not Project.objects.filter(name="Shop").exists()
