"""The state of a key: its column, the filter above the list and ``manage.py list`` say the same of it."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from verification.management.commands import list as list_command
from verification.models import ApiKey

pytestmark = pytest.mark.django_db

LIST = reverse("admin:verification_apikey_changelist")


@pytest.fixture
def key(panel):
    """The only key of the panel."""
    key = panel.rows[ApiKey]
    ApiKey.objects.exclude(pk=key.pk).delete()
    ApiKey.objects.filter(pk=key.pk).update(created_at=timezone.now() - timedelta(days=9))
    return key


@pytest.mark.parametrize(
    ("expires_in", "is_revoked", "word", "label", "told"),
    [
        (None, False, "active", "Active", "live"),
        (timedelta(days=1), False, "active", "Active", "live"),
        (timedelta(days=-1), False, "expired", "Expired", "expired"),
        (None, True, "revoked", "Revoked", "revoked"),
        (timedelta(days=1), True, "revoked", "Revoked", "revoked"),
        (timedelta(days=-1), True, "revoked", "Revoked", "revoked"),
    ],
)
def test_a_key_is_in_one_state_wherever_it_is_told(panel, key, expires_in, is_revoked, word, label, told):
    now = timezone.now()
    ApiKey.objects.filter(pk=key.pk).update(
        expires_at=now + expires_in if expires_in else None, revoked_at=now if is_revoked else None
    )
    client = panel.as_("owner")
    shown = {
        each: client.get(f"{LIST}?state={each}").context["cl"].queryset for each in ("active", "expired", "revoked")
    }
    assert [each for each, rows in shown.items() if key in rows] == [word]
    assert f">{label}</span>" in client.get(LIST).content.decode()
    assert [row["state"] for row in list_command.keys(None)] == [told]
