"""Hosted pages: their return addresses, and the key that lives as long as the page is on."""

import pytest
from django.core.exceptions import ValidationError

from tests import factories
from verification.contrib.hosted import hosted_pages
from verification.core import caching
from verification.core.errors import ApiError, UserError
from verification.models import HostedPage
from verification.models.hosted import clean_return_address
from verification.services.projects import hosted_page, keys

pytestmark = pytest.mark.django_db
BACK = "https://shop.example/verified"


def switch_on(project, **values):
    return hosted_page.save(project.row, {"is_enabled": True, "return_addresses": [BACK], **values})


def test_a_page_that_is_on_has_a_key_of_its_own_which_goes_with_it():
    project = factories.project()
    text = switch_on(project).key_text
    assert keys.authenticate(text).project.id == project.id
    assert switch_on(project, title="Shop").key_text == text
    hosted_page.save(project.row, {"is_enabled": False})
    caching.clear_all()
    with pytest.raises(ApiError):
        keys.authenticate(text)
    assert HostedPage.objects.get().key_text == ""


def test_a_page_whose_key_was_revoked_is_not_served_until_it_is_saved_again():
    project = factories.project()
    page = switch_on(project)
    assert hosted_pages.find(project.row.public_id) is not None
    keys.revoke_key(page.key_id)
    assert hosted_pages.find(project.row.public_id) is None
    assert switch_on(project).key_text != page.key_text
    assert hosted_pages.find(project.row.public_id) is not None


def test_there_is_no_page_that_leads_nowhere():
    with pytest.raises(ValidationError, match="needs a return URL"):
        switch_on(factories.project(), return_addresses=[])


@pytest.mark.parametrize(
    "address", [BACK, "http://localhost:3000/verified", "https://shop.example:8443/a?b=c&d=%20", "https://shop.example"]
)
def test_an_address_is_kept_as_it_was_typed(address):
    assert clean_return_address(address) == address


@pytest.mark.requirement(113)
@pytest.mark.parametrize(
    "address",
    [
        "http://shop.example/verified",
        "http://localhost.shop.example/",
        "http://localhost@shop.example/",
        "https://user@shop.example/",
        "https://shop.example\\@evil.example/",
        "https://shop.example/#part",
        "https://shop.example/a;b",
        "https://shop.example/a,b",
        "https://shop.example/'none'",
        "https://*/",
        "https:///x",
        "//shop.example/",
        "/verified",
        "javascript:alert(1)",
        "https://Shop.example/",
        "https://shop.example/a b",
        "",
    ],
)
def test_what_a_browser_might_read_in_two_ways_is_no_address(address):
    with pytest.raises(UserError):
        clean_return_address(address)
