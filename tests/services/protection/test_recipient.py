"""What a project says of one recipient: found once in a request, and carried through it."""

import pytest

from tests import factories
from tests.api.calls import Api
from verification.core import caching
from verification.core.addresses import parse_address
from verification.core.session_rules import SESSION_SECONDS
from verification.services.projects import projects
from verification.services.projects.snapshot import load_project
from verification.services.protection import recipient
from verification.services.protection.recipient import policy_for
from verification.services.providers.accounts import add_sandbox

pytestmark = pytest.mark.django_db


def policy(project_id, to, **options):
    return policy_for(load_project(project_id), parse_address(to), **options)


def test_an_open_session_says_whether_it_is_one_of_a_test_login():
    made = factories.project()
    assert not policy(made.id, "ada@example.com").is_test
    made.test_login("ada@example.com", "123456")
    assert policy(made.id, "ada@example.com").is_test
    assert not policy(made.id, "ada@example.com", is_test=False).is_test


def test_only_a_caller_with_an_address_who_wants_a_real_code_may_be_asked_for_a_challenge():
    made = factories.project()
    made.test_login("ada@example.com", "123456")
    assert policy(made.id, "bob@example.com", client_address="203.0.113.9").may_be_challenged
    assert not policy(made.id, "bob@example.com").may_be_challenged
    assert not policy(made.id, "ada@example.com", client_address="203.0.113.9").may_be_challenged


def test_a_live_project_forces_nothing_on_a_recipient_of_the_sandbox():
    live = policy(factories.project().id, "expired@sandbox.example")
    assert live.sandbox == recipient.NOT_SIMULATED
    assert live.session_seconds == SESSION_SECONDS and not live.is_unlimited


def test_the_sandbox_is_asked_once_for_a_session(client, monkeypatch):
    new = projects.create_project(name="Tests", is_sandbox=True)
    add_sandbox(new.project)
    caching.clear_all()
    asked = []
    ask = recipient.sandbox_policy
    monkeypatch.setattr(recipient, "sandbox_policy", lambda project, to: asked.append(to) or ask(project, to))
    monkeypatch.setattr(recipient, "outcome_of", lambda to, known=recipient.outcome_of: asked.append(to) or known(to))
    created = Api(client, new.api_key, new.secret_key).create("delivered@sandbox.example")
    assert created.status_code == 200
    assert asked == ["delivered@sandbox.example"] * 2  # by the one who carries it on, of the one table
