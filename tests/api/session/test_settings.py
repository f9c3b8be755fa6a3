"""The settings of a project, and the actual ones of a session."""

import pytest

pytestmark = pytest.mark.django_db

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def session_id(api):
    return api.create().data["session_id"]


def test_without_a_session_the_language_is_the_best_match_of_the_request(api):
    assert api.settings(headers={"accept-language": "de-CH, en;q=0.3"}).data["language"] == "de"


def test_without_a_match_the_language_is_the_projects(api, project):
    project.set(language="de")
    assert api.settings(headers={"accept-language": "xx"}).data["language"] == "de"


def test_a_session_keeps_the_kind_of_code_it_was_made_with(api, project, session_id):
    project.set(code_length=4, code_digits=False, code_letters=True)
    assert api.settings(session_id).data["code"] == {"length": 6, "digits": True, "letters": False}


def test_a_session_keeps_its_language_whatever_the_request_says(api):
    session_id = api.create(headers={"accept-language": "de"}).data["session_id"]
    assert api.settings(session_id, headers={"accept-language": "en"}).data["language"] == "de"


@pytest.mark.parametrize(
    ("code", "described"),
    [
        ("4242", {"length": 4, "digits": True, "letters": False}),
        ("ABCDEF", {"length": 6, "digits": False, "letters": True}),
        ("AB12", {"length": 4, "digits": True, "letters": True}),
    ],
)
def test_a_test_login_is_described_by_its_own_code(api, project, code, described):
    project.test_login("+4915112345678", code)
    session_id = api.create().data["session_id"]
    assert api.settings(session_id).data["code"] == described
