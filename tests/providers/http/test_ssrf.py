from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest

from providers.errors import AddressBlocked, NotConnected
from providers.http import ssrf

LOOPBACK = ("127.0.0.0/8", "::1/128")


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as open_socket:
        yield open_socket.getsockname()[1]


def answering(*addresses):
    return lambda host, port, timeout: list(addresses)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.com:443/path?query=1",
        "https://EXAMPLE.com:8443",
        "https://93.184.216.34/",
        "https://[2606:2800:220:1::1]/",
        "https://xn--bcher-kva.example/",
        "https://bücher.example/",
        "https://gateway.example/send/{to}?text={text}",
    ],
)
def test_it_accepts_https_to_public_hosts(url):
    ssrf.check_url(url)


@pytest.mark.requirement(72)
@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "https:",
        "https://",
        "https:///path",
        "http://example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com:443/",
        "//example.com/",
        "https://example.com:22/",
        "https://example.com:80/",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://example.com:{to}/",
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://@example.com/",
        "https://example.com@127.0.0.1/",
        "https://example.com/#fragment",
        "https://example.com/#",
        "https://example.com\\@127.0.0.1/",
        "https://exam ple.com/",
        "https://example.com/a b",
        "https://example.com/\r\nHost: other",
        "https://example.com/\x00",
        "https://%31%32%37.0.0.1/",
        "https://ex%61mple.com/",
        "https://{to}.example.com/",
        "https://-example.com/",
        "https://example..com/",
        "https://example.com./",
        "https://localhost/",
        "https://localhost./",
        "https://LOCALHOST/",
        "https://intranet/",
        "https://" + "a" * 64 + ".com/",
        "https://example.com/" + "a" * 2048,
    ],
)
def test_it_refuses_a_url_that_is_not_plain_https(url):
    with pytest.raises(AddressBlocked):
        ssrf.check_url(url)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.com", "/"),
        ("https://example.com?a=1", "/?a=1"),
        ("https://example.com/a/../b", "/b"),
        ("https://example.com/ü?t={code}|", "/%C3%BC?t=%7Bcode%7D%7C"),
        ("https://example.com/?to=%2B49&share=50%", "/?to=%2B49&share=50%25"),
    ],
)
def test_what_is_asked_for_has_nothing_but_its_unsafe_characters_escaped(url, target):
    assert ssrf.read_url(url).request_uri == target


@pytest.mark.requirement(74)
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "0177.0.0.01",
        "127.0.0.1.",
        "2130706433.",
        "0",
        "0.0.0.0",
        "0x",
        "127。0。0。1",
        "127.0.0.1",
        "8.8.8",
        "134744072",
        "256.1.1.1",
        "1.2.3.4.5",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:8.8.8.8]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::8.8.8.8]",
        "[64:ff9b:1::7f00:1]",
        "[100::1]",
        "[2001::1]",
        "[2001:0:7f00:1::]",
        "[2001:db8::1]",
        "[2002:7f00:1::]",
        "[3fff::1]",
        "[5f00::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[fec0::1]",
        "[ff02::1]",
    ],
)
def test_it_refuses_every_writing_of_an_address_that_is_not_public(host):
    with pytest.raises(AddressBlocked):
        ssrf.check_url(f"https://{host}/")


@pytest.mark.parametrize(
    ("url", "networks"),
    [
        ("http://127.0.0.1:8000/send", LOOPBACK),
        ("http://[::1]:8000/send", LOOPBACK),
        ("https://127.0.0.1/", LOOPBACK),
        ("http://localhost:8000/send", LOOPBACK),
        ("http://gateway:8000/send", ("10.0.0.0/8",)),
        ("http://gateway.internal/send", ("10.0.0.0/8",)),
        ("https://10.1.2.3:9000/", ("10.0.0.0/8",)),
    ],
)
def test_allowed_networks_lift_the_guard(url, networks):
    ssrf.check_url(url, networks)


@pytest.mark.requirement(76)
@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "http://93.184.216.34/",
        "https://93.184.216.34:9000/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://user@127.0.0.1/",
        "http://localhost./",
    ],
)
def test_allowed_networks_lift_it_for_themselves_only(url):
    with pytest.raises(AddressBlocked):
        ssrf.check_url(url, LOOPBACK)


@pytest.mark.parametrize("host", ["mail.example.com", "93.184.216.34", "smpp.example.com"])
def test_it_accepts_a_public_server(host):
    ssrf.check_host(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""])
def test_it_refuses_a_server_that_is_not_public(host):
    with pytest.raises(AddressBlocked):
        ssrf.check_host(host)


def test_an_ordinary_public_address_is_public():
    assert ssrf.is_public(ip_address("1.1.1.1")) and ssrf.is_public(ip_address("2606:4700::1111"))


def test_it_connects_to_a_literal_address_in_an_allowed_network(listener):
    with ssrf.connect("127.0.0.1", listener, 1, LOOPBACK) as connected:
        assert connected.getpeername() == ("127.0.0.1", listener)


@pytest.mark.requirement(73)
def test_it_connects_to_the_judged_address_and_asks_only_once(listener):
    # A name that rebinds: public when judged, private when asked again. There must be no second question.
    asked = []

    def resolver(host, port, timeout):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    with ssrf.connect("rebind.example", listener, 1, LOOPBACK, resolver=resolver) as connected:
        assert connected.getpeername() == ("127.0.0.1", listener)
    assert asked == ["rebind.example"]


@pytest.mark.requirement(73)
@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.1",),
        ("93.184.216.34", "127.0.0.1"),
        ("127.0.0.1", "93.184.216.34"),
        ("2606:2800:220:1::1", "::1"),
        ("::ffff:127.0.0.1",),
        ("64:ff9b::7f00:1",),
        ("fe80::1%2",),
    ],
)
def test_it_refuses_a_name_with_any_address_that_is_not_public(listener, addresses):
    with pytest.raises(AddressBlocked):
        ssrf.connect("mixed.example", listener, 1, resolver=answering(*addresses))


@pytest.mark.requirement(76)
def test_plain_text_needs_every_address_in_an_allowed_network(listener):
    resolver = answering("127.0.0.1", "93.184.216.34")
    with pytest.raises(AddressBlocked):
        ssrf.connect("mixed.example", listener, 1, LOOPBACK, only_allowed=True, resolver=resolver)


@pytest.mark.requirement(75)
def test_the_error_does_not_tell_what_a_name_resolves_to(listener):
    with pytest.raises(AddressBlocked) as caught:
        ssrf.connect("inside.example", listener, 1, resolver=answering("10.1.2.3"))
    assert "10.1.2.3" not in str(caught.value)


def test_it_goes_on_to_the_next_address_when_one_does_not_answer(listener):
    resolver = answering("127.0.0.2", "127.0.0.1")
    with ssrf.connect("two.example", listener, 1, LOOPBACK, resolver=resolver) as connected:
        assert connected.getpeername() == ("127.0.0.1", listener)


def test_a_refused_connection_is_not_connected(listener):
    with pytest.raises(NotConnected, match="refused"):
        ssrf.connect("127.0.0.2", listener, 1, LOOPBACK)


def test_a_name_without_addresses_is_not_connected(listener):
    with pytest.raises(NotConnected):
        ssrf.connect("nowhere.example", listener, 1, resolver=answering())


@pytest.mark.requirement(73)
def test_the_machine_itself_is_recognised_under_any_address():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connected,
    ):
        assert ssrf.is_own(connected)


def test_a_broken_network_in_the_settings_is_an_error():
    with pytest.raises(ValueError):
        ssrf.networks(["10.0.0.0/99"])


# What the registries of special-purpose addresses (RFC 6890 and later entries) keep from the public, and what carries
# an IPv4 address. Nothing here asks Python, whose lists differ between releases.
SPECIAL = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/96",
    "::1/128",
    "::ffff:0:0/96",
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]


@pytest.mark.parametrize("network", SPECIAL)
def test_no_special_network_is_public(network):
    network = ip_network(network)
    assert not ssrf.is_public(network[0])
    assert not ssrf.is_public(network[-1])


@pytest.mark.parametrize("written", ["::ffff:93.184.216.34", "2002:5db8:d822::1", "64:ff9b::5db8:d822"])
def test_no_writing_of_an_ipv4_address_as_ipv6_is_public(written):
    assert not ssrf.is_public(ip_address(written))


@pytest.mark.parametrize("version", [4, 6])
def test_whatever_this_python_calls_private_is_not_public(version):
    """Our list must be no laxer than the Python it runs on."""
    address_of = IPv4Address if version == 4 else IPv6Address
    for number in range(0, 2**32 if version == 4 else 2**128, 2**18 if version == 4 else 2**114):
        address = address_of(number)
        if address.is_private or address.is_link_local or address.is_reserved or address.is_multicast:
            assert not ssrf.is_public(address)
