"""Whose place a request takes in the line of a web process, and the turn that it waits for."""

import base64

import pytest

from config.processes.request import Request
from config.processes.sharing import caller_of, turn_of
from tests import factories
from verification.models import KeyKind
from verification.services.projects import keys


def asked(body=b"", key=b"ww_api_unknown", target=b"/session/create"):
    return Request(method=b"POST", target=target, headers=[(b"x-api-key", key)] if key else [], body=bytearray(body))


@pytest.mark.django_db
def test_the_keys_of_one_project_are_one_caller():
    project = factories.project().row
    texts = [keys.issue_key(project=project, kind=kind).text for kind in (KeyKind.API, KeyKind.API, KeyKind.SECRET)]
    assert caller_of(asked(key=texts[0].encode())) == texts[0].encode()
    for text in texts:
        keys.authenticate(text, client_address="", is_held_off=False)
    assert {caller_of(asked(key=text.encode())) for text in texts} == {project.pk}
    for target in (b"/%73ession/create", b"http://host/session/create", b"/events?after=0", b"/manual/message/1"):
        assert caller_of(asked(key=texts[0].encode(), target=target)) == project.pk


@pytest.mark.django_db
def test_a_key_that_is_shown_as_to_twilio_is_its_projects_too():
    project = factories.project().row
    text = keys.issue_key(project=project, kind=KeyKind.SECRET).text
    request = asked(key=b"", target=b"/v2/Services/VA1/Verifications")
    request.headers.append((b"authorization", b"Basic " + base64.b64encode(f"AC1:{text}".encode())))
    assert caller_of(request) == b"v2"
    keys.authenticate(text, client_address="", is_held_off=False)
    assert caller_of(request) == project.pk


@pytest.mark.parametrize("value", [b"Basic", b"Basic ====", b"Basic /w==", b"Bearer x", b"Basic " + b"A" * 10_000])
def test_credentials_that_cannot_be_read_leave_the_path_as_the_caller(value):
    request = asked(key=b"", target=b"/v2/Services")
    request.headers.append((b"authorization", value))
    assert caller_of(request) == b"v2"


def test_without_a_key_the_first_part_of_the_path_is_the_caller():
    assert caller_of(asked(key=b"", target=b"/hooks/telegram/1?a=b")) == b"hooks"
    assert caller_of(asked(key=b"", target=b"/%68ook%73/telegram/1")) == b"hooks"
    assert caller_of(asked(key=b"", target=b"http://" + b"h" * 100 + b"/hooks/1")) == b"hooks"
    assert caller_of(asked(key=b"", target=b"*")) == b""


@pytest.mark.parametrize(
    "target",
    [b"/admin/login/", b"/verify/1", b"/v2/S", b"/hooks/1/2", b"http://h/admin/", b"/session/challenge?project=1"],
)
def test_a_key_that_nobody_looks_at_makes_no_caller(target):
    """Else whoever makes one up for each request would take every place of a page that costs much."""
    callers = {caller_of(asked(key=b"ww_api_%d" % number, target=target)) for number in range(3)}
    assert len(callers) == 1


@pytest.mark.parametrize(
    ("body", "turn"),
    [
        (b'{"to":"+4915112345678"}', b"+4915112345678"),
        (b'{"send": true, "to" : "+49 (151) 123-456.78"}', b"+4915112345678"),
        (b'{"to": "Ada@Example.com"}', b"ada@examplecom"),
        (b'{"code": "123456", "session_id": "AbC"}', b"abc"),
        (b'{"to": 5}', None),
        (b'{"verify_token": "x"}', None),
        (b'{"to": "' + b"1" * 400 + b'"}', None),
        (b"", None),
    ],
)
def test_a_turn_is_the_recipient_or_session_that_a_body_names(body, turn):
    assert turn_of(asked(body)) == turn


def test_a_body_without_a_key_has_no_turn():
    assert turn_of(asked(b'{"to":"+4915112345678"}', key=b"")) is None
