"""The hosted page's part of a set-up file, where the service has that page."""

import pytest
from django.apps import apps

from tests.contrib.config_files.files import document, needs_hosted_page
from verification.contrib.config_files import export, plan, schema
from verification.contrib.config_files.load import FileRefused
from verification.models import Project

pytestmark = [pytest.mark.django_db, needs_hosted_page]

PAGE = {
    "is_enabled": True,
    "title": "Our shop",
    "accent": "#0f766e",
    "return_addresses": ["https://shop.example/verified"],
    "hand_over": "fragment",
}


def apply(page):
    return plan.apply(document({"Shop": {"hosted_page": page}}))


def shop():
    return Project.objects.get(name="Shop")


def test_it_is_served_with_a_key_of_its_own_until_a_file_switches_it_off():
    plan.apply(document({"Shop": {}}))
    plan.plan(document({"Shop": {"hosted_page": PAGE}}))
    assert not shop().keys.filter(kind="api").exists()  # a plan leaves none
    apply(PAGE)
    page, key = shop().hosted_page, shop().keys.get()
    assert (page.title, page.hand_over, page.return_addresses) == (PAGE["title"], "fragment", PAGE["return_addresses"])
    assert page.key == key and key.revoked_at is None and page.key_text.startswith("ww_api_")
    text = export.write(export.file_of(shop()))
    assert "Our shop" in text and plan.plan(document(text)).is_empty
    (made,) = apply({"is_enabled": False}).projects
    assert [(change.path, change.after) for change in made.changes] == [("hosted_page.is_enabled", False)]
    page.refresh_from_db()
    key.refresh_from_db()
    assert page.title == "Our shop" and not page.key_text and key.revoked_at is not None


def test_a_wrong_value_is_refused_with_its_place():
    with pytest.raises(FileRefused, match=r"projects\.Shop\.hosted_page\.return_addresses"):
        apply({"return_addresses": ["http://shop.example/verified"]})
    with pytest.raises(FileRefused, match="one line, without control characters"):
        apply({"title": "Page\nFORGED"})


def test_without_the_app_files_have_no_such_part(monkeypatch):
    apply(PAGE)
    monkeypatch.setattr(apps, "is_installed", lambda name: name != "verification.contrib.hosted")
    assert "hosted_page" not in schema.schema()["$defs"]["project"]["properties"]
    assert "hosted_page" not in export.file_of(shop())["projects"]["Shop"]
