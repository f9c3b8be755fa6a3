"""The rules of rows that have no foreign keys: a verification keeps them, and a row that breaks one is shown."""

import pytest
from django.core.management import CommandError
from django.db.models import F

from tests.api.calls import WRONG
from tests.commands.running import run, run_json
from verification.models import DeliveryAttempt, Message, Project, Recipient, Session, VerifyToken, WrongCode
from verification.services.maintenance.integrity import LOOKED_OVER, violations

pytestmark = pytest.mark.django_db


@pytest.fixture
def verified(api, outbox):
    """A verification with a wrong code, its right one, and a manual send."""
    session_id = api.create().data["session_id"]
    api.check(session_id, WRONG)
    api.check(session_id, outbox.code)
    api.manual_send()
    assert len(outbox.messages) == 2


def remove(model):
    """Remove rows behind the back of the ORM, which would take along what hangs on them."""
    model.objects.all()._raw_delete("default")


def test_every_row_of_a_verification_keeps_the_rules(verified):
    written = (Recipient, Session, Message, DeliveryAttempt, WrongCode, VerifyToken)
    assert all(model.objects.exists() for model in written) and set(written) < set(LOOKED_OVER)
    assert violations() == {}
    assert run("checkintegrity").endswith("All rows are consistent.\n")
    read = run_json("checkintegrity")["rows"]
    assert (read["session"], read["message"], read["recipient"]) == (1, 2, 1)


def test_an_empty_database_does_not_look_sound():
    assert "There are no rows, so nothing was checked" in run("checkintegrity")
    assert "There are no ciphertexts" in run("reencrypt")


def test_a_row_whose_session_is_gone_is_shown(verified):
    remove(Session)
    found = violations()
    assert {name for name in found if name.endswith("_without_its_session")} == {
        "message_without_its_session",
        "wrongcode_without_its_session",
        "verifytoken_without_its_session",
    }


@pytest.mark.parametrize(
    ("rule", "break_it"),
    [
        ("session_attempts", lambda: Session.objects.update(attempts=F("attempts_max") + 1)),
        ("session_expires_later", lambda: Session.objects.update(expires_at=F("created_at"))),
        ("session_code_wiped_when_verified", lambda: Session.objects.update(code_digest=b"x")),
        ("message_status", lambda: Message.objects.filter(session=None).update(status="lost", finished_at=None)),
        ("message_finished_when_final", lambda: Message.objects.filter(session=None).update(status="sent")),
        ("message_code_wiped_when_sent", lambda: Message.objects.filter(session=None).update(code_encrypted=b"x")),
        ("verify_token_expires_later", lambda: VerifyToken.objects.update(expires_at=F("created_at"))),
        ("recipient_address", lambda: Recipient.objects.filter(sessions__isnull=False).update(address="")),
    ],
)
def test_a_row_that_breaks_a_rule_is_shown(verified, rule, break_it):
    assert break_it() == 1
    assert violations() == {rule: 1}


def test_a_session_in_another_project_than_its_recipient_is_shown(verified):
    Session.objects.update(project=Project.objects.create(name="Another"))
    assert violations() == {"session_of_its_recipients_project": 1}


def test_the_command_ends_with_an_error_where_a_row_breaks_a_rule(verified, capsys):
    remove(Recipient)
    with pytest.raises(CommandError, match="Some rows break a rule"):
        run_json("checkintegrity")
