"""All that people set up has its place in a set-up file, or a reason why not.

What people set up is what the audit log watches. Who adds a model or a field to that gives it a place here.
"""

import pytest
from django.apps import apps

from tests.contrib.config_files.files import needs_connections, needs_hosted_page
from verification.contrib.config_files import sections
from verification.contrib.config_files.schema import schema
from verification.models.audit import WATCHED
from verification.models.project_settings import APPS


def absent_settings():
    """Settings that mean nothing here, as their app is left out."""
    return {name for name, app in APPS.items() if not apps.is_installed(app)}


PLACES = {  # a model: its part of the file, and its fields there
    "verification.AlertService": ("alerts", {*sections.ALERT_SERVICE, "kind", "name", "secret"}),
    "verification.Channel": ("channels", {*sections.CHANNEL, "type"}),
    "verification.FallbackStep": ("fallback", {*sections.STEP, "position"}),
    "verification.HostedPage": ("hosted_page", {*sections.HOSTED_PAGE}),
    "verification.IdentityConnection": ("connections", {"system", "channel", "name", "options", "secret"}),
    "verification.ListEntry": ("lists", {*sections.ENTRY, "kind", "subject", "value"}),
    "verification.MessageTemplate": ("texts", {*sections.TEXT, "channel", "language"}),
    "verification.Project": ("settings", {*sections.SETTINGS, "name", *absent_settings()}),
    "verification.Provider": (
        "providers",
        {*sections.PROVIDER, "channel", "type", "name", "settings", "secrets"},
    ),
    "verification.SenderRule": ("providers", {*sections.SENDER, "prefix"}),
}
IN_NO_FILE = {
    "auth.User": "a person",
    "verification.ApiKey": "a key is shown once, where it was made",
    "verification.ExchangeRate": "the operator's, for all projects",
    "verification.GuardBlock": "happened; a file would lift it again and again",
    "verification.Invitation": "a person",
    "verification.KillSwitch": "the operator's, and never resumed by a file",
    "verification.Membership": "a person's right",
    "verification.Platform": "the operator's, for all projects",
    "verification.RoutingRule": "answers what happens now, and is undone from its list",
    "verification.Suppression": "about a recipient, who is a person",
    "verification.TestLogin": "about a recipient, who is a person, with a code that lets in",
    "verification.TextVariant": "a trial has a beginning, an end and figures; applied again it would begin anew",
    "verification.WebhookSecret": "a secret that is drawn, and shown to the owner",
}
FIELDS_IN_NO_FILE = {
    "verification.AlertService": {"uuid", "told_at", "tried_at", "error"},
    "verification.Channel": {"effective_budget"},  # follows from the budget and the operator's ceiling
    "verification.IdentityConnection": {"public_id", "last_used_at"},  # drawn; happened
    "verification.HostedPage": {"logo", "key", "key_text"},  # a picture, and the key that the page draws for itself
    "verification.Project": {
        "is_enabled",
        "public_id",
        "deleted_at",
        "reported_at",
    },  # the operator's switch; drawn; happened
    # The number of the price list, which stands as prices; drawn; told by the vendor.
    "verification.Provider": {"uuid", "hook_secret", "price_list", "checked_at"},
}
NEEDED = {"hosted_page": [needs_hosted_page], "connections": [needs_connections]}  # of the apps that bring a part
FURTHER = {"id", "project", "provider", "created_at"}  # what a row belongs to, and when it came


def test_every_model_that_people_set_up_has_its_place_or_a_reason():
    assert {*PLACES, *IN_NO_FILE} == {*WATCHED}
    assert not PLACES.keys() & IN_NO_FILE.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=NEEDED.get(part, []), id=name) for name, (part, _) in PLACES.items()],
)
def test_every_field_of_it_has_its_place_or_a_reason(name):
    part, fields = PLACES[name]
    all_fields = {field.name for field in apps.get_model(name)._meta.concrete_fields} - FURTHER
    left_out = FIELDS_IN_NO_FILE.get(name, set())
    assert fields | left_out == all_fields
    assert not fields & left_out
    assert part in schema()["$defs"]["project"]["properties"]
