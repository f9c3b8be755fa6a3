"""Networks as owners write them."""

import re

import pytest
from django.http import UnreadablePostError
from django.test import RequestFactory

from tests.conftest import ROOT
from verification.core.errors import ApiError, UserError
from verification.core.networks import NEIGHBOURS, clean_network, is_neighbour
from verification.core.request_bodies import read_body

# Of the internet, or of nobody we know: some Python calls each of them private, reserved or its IPv4 part private.
NO_NEIGHBOURS = [
    "2002:c633:6401::1",  # 6to4
    "2002:a00:1::1",  # 6to4 of 10.0.0.1
    "2001:0:c633:6401::1",  # Teredo
    "2001:20::1",  # ORCHIDv2
    "64:ff9b::a00:1",  # NAT64 of 10.0.0.1
    "64:ff9b:1::1",  # NAT64 within a network
    "::ffff:0:10.0.0.1",  # SIIT
    "::10.0.0.1",
    "fec0::1",  # site-local, given up
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "::",
    "0.0.0.0",
    "100.64.0.1",  # carrier-grade NAT
    "192.0.0.8",
    "192.0.2.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "240.0.0.1",
    "255.255.255.255",
    "172.32.0.1",
    "::ffff:198.18.0.1",
    "::ffff:240.0.0.1",
    "::ffff:8.8.8.8",
    "",
    "unknown",
]


@pytest.mark.parametrize("address", NO_NEIGHBOURS)
def test_whoever_is_not_of_a_listed_network_is_no_neighbour(address):
    assert not is_neighbour(address)


@pytest.mark.parametrize(
    "address",
    [
        *(str(network[0]) for network in NEIGHBOURS),
        *(str(network[-1]) for network in NEIGHBOURS),
        "::ffff:127.0.0.1",
        "::ffff:192.168.1.1",
        "fe80::1%eth0",
    ],
)
def test_who_is_of_a_listed_network_is_a_neighbour(address):
    assert is_neighbour(address)


def test_the_source_asks_no_python_what_is_private():
    """What ``ipaddress`` calls private, global or reserved differs between releases of Python."""
    asks = re.compile(r"^[^#]*\.is_(private|global|reserved|link_local|site_local)\b", re.MULTILINE)
    sources = [path for folder in ("config", "providers", "verification") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path.relative_to(ROOT)) for path in sources if asks.search(path.read_text())] == []


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("203.0.113.0/24", "203.0.113.0/24"),
        (" 203.0.113.7 ", "203.0.113.7/32"),
        ("203.0.113.0/255.255.255.0", "203.0.113.0/24"),
        ("2001:DB8:0::/48", "2001:db8::/48"),
    ],
)
def test_a_network_has_one_writing(text, network):
    assert clean_network(text) == network


@pytest.mark.parametrize(
    "text", ["", "shop.example", "203.0.113.7/24", "203.0.113.0/33", "::ffff:203.0.113.0/120", "fe80::1%eth0", "1"]
)
def test_what_is_no_network_is_refused(text):
    with pytest.raises(UserError, match="is not a network"):
        clean_network(text)


def test_a_body_whose_sender_stopped_is_a_parse_error():
    class Stopped:
        def read(self, size):
            raise UnreadablePostError("the connection was closed")

    with pytest.raises(ApiError, match="incomplete") as refused:
        read_body(RequestFactory().post("/"), Stopped(), 100)
    assert refused.value.problem_code == "parse_error"
