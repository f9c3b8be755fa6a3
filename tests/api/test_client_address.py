"""The end user's address, named by the customer's own servers."""

import pytest

from tests.api.calls import problem, wrong_fields
from verification.core import caching
from verification.models import Decision, Session, WrongCode
from verification.services.projects.lists import add_entry

pytestmark = pytest.mark.django_db

SERVER, USER, OTHER = "81.2.69.10", "198.41.0.4", "198.41.0.5"


def ask(api, method, path, body=None, *, user, server=SERVER):
    headers = {} if user is None else {"X-Client-Address": user}
    return api.call(method, path, body, key=api.api_key, headers=headers, REMOTE_ADDR=server)


def create(api, *, user, server=SERVER, to="+4915112345678"):
    return ask(api, "POST", "/session/create", {"to": to}, user=user, server=server)


@pytest.fixture
def listed(project):
    return project.set(server_addresses=[SERVER], creates_per_address=1)


def test_the_limit_of_creates_goes_by_the_user_whom_a_listed_server_names(api, listed):
    assert create(api, user=USER).status_code == 200
    assert problem(create(api, user=USER)) == (429, "rate_limited")
    assert create(api, user=OTHER).status_code == 200
    assert create(api, user=None).status_code == 200


def test_a_user_who_is_named_counts_as_one_who_calls(api, listed):
    assert create(api, user=USER).status_code == 200
    assert problem(create(api, user=None, server=USER)) == (429, "rate_limited")


def test_a_listed_servers_own_address_frees_no_user_whom_it_names(api, listed):
    assert create(api, user=SERVER).status_code == 200
    assert problem(create(api, user=SERVER)) == (429, "rate_limited")


def test_from_anybody_else_the_header_is_ignored(api, listed):
    assert create(api, user=OTHER, server=USER).status_code == 200
    assert problem(create(api, user="not read", server=USER)) == (429, "rate_limited")
    row = Decision.objects.get(rule="unlisted_server")
    assert (row.subject, row.refused) == (USER, 0), "the owner is told"


@pytest.mark.parametrize("server", ["127.0.0.1", "10.0.0.7"])
def test_a_neighbour_that_is_not_listed_names_nobody(api, project, server):
    project.set(creates_per_address=1)
    assert {create(api, user=USER, server=server).status_code for _ in range(3)} == {200}


@pytest.mark.parametrize(
    "user",
    [
        *("", "x", "198.41.0", f"{USER}, {OTHER}", f"{USER}:443", "fe80::1%eth0", "2001:500:2::1%eth0"),
        *("10.0.0.1", "127.0.0.1", "::1", "fd00::1", "::ffff:192.168.0.1", "0.0.0.0", "::", "224.0.0.1"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/session/create", {"to": "+4915112345678"}),
        ("GET", "/session/settings", None),
    ],
)
def test_what_is_no_public_address_is_a_wrong_field(api, listed, method, path, body, user):
    assert wrong_fields(ask(api, method, path, body, user=user)) == ["X-Client-Address"]
    assert not Session.objects.exists()


def test_a_wrong_code_is_counted_for_the_user(api, listed, outbox):
    session_id = create(api, user=USER).data["session_id"]
    ask(api, "POST", "/session/check", {"session_id": session_id, "code": "nope"}, user=USER)
    assert WrongCode.objects.values_list("network", "subnet").get() == (USER, "198.41.0.0/24")


def test_a_user_on_the_block_list_is_refused(api, project, listed):
    add_entry(project=project.row, kind="block", subject="client", value=USER)
    caching.clear_all()
    assert problem(create(api, user=USER)) == (403, "recipient_not_allowed")
    assert create(api, user=OTHER).status_code == 200
