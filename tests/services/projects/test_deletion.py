"""A project that is deleted stops at once, and goes in batches with all that is its own."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests import factories
from tests.factories import a_message, a_session
from verification.core.errors import UserError
from verification.models import (
    AuditEntry,
    BotUpdate,
    DeliveryAttempt,
    Message,
    Project,
    Recipient,
    Session,
    WebhookEvent,
    WrongCode,
)
from verification.services.projects import deletion, projects
from verification.worker.schedule import DeletionClaim

pytestmark = pytest.mark.django_db


def with_traffic(name, recipients=1):
    project = factories.project(name).row
    provider = project.providers.first()
    BotUpdate.objects.create(provider=provider, key="an update", due_at=None)
    for number in range(recipients):
        recipient = Recipient.objects.create(project=project, address=f"+4915112345{number:03}")
        session = a_session(recipient)
        WrongCode.objects.create(project=project, session=session, recipient=recipient)
        message = a_message(recipient, session=session, provider=provider, pinned_provider=provider)
        DeliveryAttempt.objects.create(message=message, provider=provider, outcome="refused", latency_ms=1)
        WebhookEvent.objects.create(
            type="message.finished", message=message, project=project, url="https://shop.example/"
        )
    return project


def deleted(project):
    deletion.mark(project, typed_name=project.name)
    Project.objects.filter(pk=project.pk).update(deleted_at=timezone.now() - deletion.UNDER_WAY)


def rows_about(project):
    """Count the rows that are left by model, without those that are meant to outlive their project."""
    own = [model for model in apps.get_models() if any(field.name == "project" for field in model._meta.fields)]
    counts = {model: model._default_manager.filter(project=project.pk).count() for model in own}
    return {model: count for model, count in counts.items() if count and model is not AuditEntry}


def test_a_project_that_cannot_be_removed_holds_up_no_other(db, monkeypatch):
    broken, other = with_traffic("Broken"), with_traffic("Other")
    deleted(broken)
    deleted(other)
    Project.objects.filter(pk=broken.pk).update(deleted_at=timezone.now() - timedelta(days=1))  # the first in line
    carry_on = deletion.carry_on

    def fail_for_one(project_id):
        if project_id == broken.pk:
            raise RuntimeError("its rows do not go")
        return carry_on(project_id)

    monkeypatch.setattr(deletion, "carry_on", fail_for_one)
    claim = DeletionClaim()
    [first] = claim(1, [])
    with pytest.raises(RuntimeError):
        claim.carry_on(first)
    [second] = claim(1, [])
    claim.carry_on(second)
    assert (first[0], second[0]) == (broken.pk, other.pk)
    assert not Project.objects.filter(name="Other").exists()
    assert claim(1, []) == []  # its turn comes again, and not at once


@pytest.mark.requirement(15)
def test_all_of_it_goes_and_nothing_of_another(db):
    project, other = with_traffic("Shop"), with_traffic("Bank")
    deleted(project)
    assert deletion.due(limit=5) == [(project.pk,)]
    assert deletion.carry_on(project.pk)
    assert rows_about(project) == {} and not Project.objects.filter(name="Shop").exists()
    assert Message.objects.count() == Session.objects.count() == BotUpdate.objects.count() == 1
    assert Message.objects.get().project == other


@pytest.mark.requirement(15)
def test_it_stops_at_once_and_cannot_be_found_or_enabled(db):
    project = with_traffic("Shop")
    deletion.mark(project, typed_name=" Shop ")
    assert not Project.objects.get(pk=project.pk).is_enabled
    with pytest.raises(UserError, match="There is no project"):
        projects.find_project("Shop")
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=project.pk).update(is_enabled=True)


def test_what_is_under_way_is_waited_for(db):
    project = with_traffic("Shop")
    deletion.mark(project, typed_name="Shop")
    assert deletion.due(limit=5) == []
    Project.objects.filter(pk=project.pk).update(deleted_at=timezone.now() - deletion.UNDER_WAY - timedelta(seconds=1))
    assert deletion.due(limit=5) == [(project.pk,)]


def test_a_name_that_is_typed_wrong_deletes_nothing(db):
    project = with_traffic("Shop")
    with pytest.raises(UserError, match="enter Shop"):
        deletion.mark(project, typed_name="shop")
    assert Project.objects.get(pk=project.pk).deleted_at is None


def test_no_row_costs_a_statement_of_its_own(db):
    asked = []
    for project in (with_traffic("Few", recipients=2), with_traffic("Many", recipients=40)):
        deleted(project)
        with CaptureQueriesContext(connection) as queries:
            assert deletion.carry_on(project.pk)
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_a_broken_off_deletion_is_taken_up_where_it_was(db, monkeypatch):
    project = with_traffic("Shop", recipients=5)
    deleted(project)
    monkeypatch.setattr(deletion, "BATCH", 2)
    monkeypatch.setattr(deletion, "TURN_SECONDS", 0.0)
    turns = 0
    while deletion.due(limit=1):
        deletion.carry_on(project.pk)
        turns += 1
    assert turns > 5 and rows_about(project) == {}
