"""Networks as owners write them."""

import pytest

from verification.errors import Misuse
from verification.networks import clean_network


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
    with pytest.raises(Misuse, match="is not a network"):
        clean_network(text)
