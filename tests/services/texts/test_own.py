"""Owners' own texts are judged by what arrives, and no text makes much work."""

import pytest

from tests import factories
from verification.services.texts import own

pytestmark = pytest.mark.django_db

LONG_NAME = "A shop of a name that is as long as a name can be " * 2
ONE_FOR_MANY = "\ufdfa"  # a single character, which stands for eighteen


def faults_of(project, text, subject=""):
    return own.faults(project=project.row, channel="email", text=text, subject=subject)


@pytest.mark.requirement(93)
@pytest.mark.parametrize(
    ("text", "subject"), [("{project}" * 40, ""), ("", "{project}" * 20), (ONE_FOR_MANY * 400, "")]
)
def test_a_text_that_arrives_far_longer_than_it_is_written_is_refused(text, subject):
    project = factories.project(channels=("email",), name=LONG_NAME.strip())
    assert any(f"the maximum is {own.MAX_READ}" in fault for fault in faults_of(project, f"{{code}} {text}", subject))


def test_no_more_of_a_text_is_searched_for_links_than_may_arrive(monkeypatch):
    project = factories.project(channels=("email",), name=LONG_NAME.strip())
    searched = []
    monkeypatch.setattr(own, "_foreign_links", lambda _project, text: searched.append(len(text)) or [])
    faults_of(project, "{code} " + "{project}" * 40, "{project}" * 20)
    assert searched == [own.MAX_READ]


def test_a_text_with_the_longest_name_twice_is_sound():
    project = factories.project(channels=("email",), name=LONG_NAME.strip())
    assert faults_of(project, "{project}: {code}. Yours, {project}", "{project}") == []
