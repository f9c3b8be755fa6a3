"""Text of others on every page of the panel: names that members choose, and what vendors and callers wrote."""

import pytest
from django.db import connection, models

from tests.admin.base.test_pages import MODELS, url
from verification.models import DeliveryAttempt, Message, Recipient

pytestmark = pytest.mark.django_db

EVIL = "\"'><img src=x onerror=alert(1)>{{ 41421356|add:1 }}"
# What a choice, a checked writing or a comparison rests on keeps its value, so that the row is still itself.
KEPT = {"id", "public_id", "kind", "type", "channel", "status", "outcome", "rule", "code", "prefix", "provider_type"}
KEPT |= {"link_payload", "object_type", "object_id", "action", "key", "language", "verified_channel"}


def spoil(row):
    """Put the text into every field of the row that takes text, in the database's way, past all forms."""
    texts = {
        field.name: EVIL[: field.max_length]
        for field in row._meta.concrete_fields
        if isinstance(field, (models.CharField, models.TextField))
        and not field.choices
        and field.name not in KEPT
        and (field.max_length or 1000) >= len(EVIL)
    }
    if texts:
        type(row).objects.filter(pk=row.pk).update(**texts)
    return texts


@pytest.fixture
def spoiled(panel):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE verification_auditentry DISABLE TRIGGER USER")
    taken = {model: spoil(panel.rows[model]) for model in MODELS}
    taken[DeliveryAttempt] = spoil(DeliveryAttempt.objects.get())
    return taken


@pytest.mark.requirement(89)
def test_nothing_of_it_becomes_part_of_a_page(panel, spoiled):
    assert all(spoiled[model] for model in (Recipient, Message, DeliveryAttempt))
    client, seen = panel.as_("owner"), 0
    for model in MODELS:
        for page, args in (("changelist", ()), ("change", (panel.rows[model].pk,))):
            response = client.get(url(model, page, *args))
            text = response.content.decode()
            assert response.status_code == 200
            assert "<img src=x" not in text and "41421357" not in text, f"{page} of {model.__name__}"
            seen += "&lt;img src=x" in text
    assert seen > 10
