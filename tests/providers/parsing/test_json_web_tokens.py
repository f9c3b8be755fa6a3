from __future__ import annotations

import time

import pytest

from providers.errors import HookForged
from providers.parsing import json_web_tokens
from tests.fakes.tokens import make_token, part

KEY = "hush"
pytestmark = pytest.mark.filterwarnings("ignore:Key size should be")  # it is as short as a careless owner's


def claims(**changes):
    now = int(time.time())
    return {"iss": "vendor", "nbf": now - 5, "exp": now + 5, "aud": ["https://codes.example"], **changes}


def read(token, **options):
    return json_web_tokens.read(token, KEY, issuer="vendor", **options)


def test_it_reads_the_known_token(monkeypatch):
    """The token that jwt.io shows, with the claims that we ask for, signed by openssl."""
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    body = "eyJpc3MiOiJ2ZW5kb3IiLCJuYmYiOjE3MDAwMDAwMDAsImV4cCI6MTcwMDAwMDA2MH0"
    found = read(f"{head}.{body}.MLEeyf992ENYidNgxt9LAx1Qm3fqYQEEp4ejBMBpl6Y")
    assert found == {"iss": "vendor", "nbf": 1_700_000_000, "exp": 1_700_000_060}


DAY = 86_400  # seconds; a run of all tests is shorter, and these times are drawn at its beginning


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_it_reads_each_algorithm_that_is_allowed(algorithm):
    token = make_token(claims(), KEY, algorithm=algorithm)
    assert read(token, algorithms=(algorithm,))["aud"] == ["https://codes.example"]


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "another"},
        {"iss": None},
        {"exp": int(time.time()) - DAY},
        {"nbf": int(time.time()) + DAY},
        {"exp": None},
        {"nbf": "1"},
        {"exp": True},
    ],
)
def test_it_refuses_what_is_not_meant_or_not_valid_now(changes):
    with pytest.raises(HookForged):
        read(make_token(claims(**changes), KEY))


@pytest.mark.parametrize(
    "make",
    [
        lambda: "",
        lambda: "a.b",
        lambda: "a.b.c",
        lambda: "é.b.c",
        lambda: "." * 50,
        lambda: "a" * 5_000,
        lambda: make_token(claims(), "other"),
        lambda: make_token(claims(), KEY, algorithm="none"),
        lambda: make_token(claims(), KEY, algorithm="HS512"),
        lambda: make_token([], KEY),
        lambda: make_token(claims(), KEY) + "=",
        lambda: f"{part([])}.{part(claims())}.x",
        lambda: f"{part({'alg': ['HS256']})}.{part(claims())}.x",
        lambda: f"{part(b'[' * 2_000)}.{part(claims())}.x",
    ],
)
def test_it_refuses_what_is_no_token_of_the_vendor(make):
    with pytest.raises(HookForged):
        read(make())
