"""The guides for assistants: a list with addresses that answer, and all of them in one text."""

import re

import pytest
from django.conf import settings
from django.test import Client

from tests.conftest import ROOT
from verification.api.reference import guides


def text(path):
    answer = Client().get(path)
    assert answer.status_code == 200 and answer["Content-Type"] == "text/plain; charset=utf-8"
    return answer.content.decode()


def test_the_list_names_every_guide_by_an_address_that_answers():
    listed = text("/llms.txt")
    assert listed.startswith("# Watchword\n\n> ")
    addresses = re.findall(rf"\]\({re.escape(settings.BASE_URL)}(/[^)]+)\)", listed)
    assert addresses == [entry.address for entries in guides.index().values() for entry in entries]
    assert all(Client().get(address).status_code == 200 for address in addresses)


@pytest.mark.parametrize("page", ["integrate", "testing", "providers/twilio", "assistant"])
def test_the_one_text_has_the_guides_word_for_word(page):
    assert (ROOT / "docs" / f"{page}.md").read_text().strip() in text("/llms-full.txt")


def test_nothing_is_changed_there():
    assert Client().post("/llms.txt").status_code == 405
