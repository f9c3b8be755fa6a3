"""Looking up names: nothing hangs, whatever a name server does, and local names are the operator's."""

from __future__ import annotations

import os
import socket
import threading

import dns.message
import dns.rcode
import dns.rrset
import pytest

from providers.errors import NotConnected
from providers.http import resolver
from providers.http.resolver import is_local, resolve

V4, V6 = "93.184.216.34", "2606:2800:220:1::1"
SOON = 0.4  # seconds that a caller waits for a name that will not be answered
LONG = 20.0  # that a caller would wait for one that will


class NameServer:
    """A name server on loopback. ``records`` maps a name and type to an address; what is None is not answered."""

    def __init__(self, records):
        self.records, self.asked = records, []

    def __enter__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _serve(self):
        while True:
            try:
                data, caller = self.socket.recvfrom(2000)
            except OSError:
                return
            question = dns.message.from_wire(data)
            [asked] = question.question
            name, kind = asked.name.to_text(omit_final_dot=True), asked.to_text().split()[-1]
            self.asked.append((name, kind))
            if (name, kind) in self.records and self.records[name, kind] is None:
                continue
            answer = dns.message.make_response(question)
            if (name, kind) in self.records:
                answer.answer.append(dns.rrset.from_text(asked.name, 60, "IN", kind, self.records[name, kind]))
            elif not any(name == known for known, _ in self.records):
                answer.set_rcode(dns.rcode.NXDOMAIN)
            self.socket.sendto(answer.to_wire(), caller)


@pytest.fixture
def serve(monkeypatch, tmp_path):
    """Makes a name server that this machine asks."""
    running = []

    def start(records, more=""):
        server = NameServer(records).__enter__()
        running.append(server)
        (tmp_path / "resolv.conf").write_text(f"nameserver 127.0.0.1\n{more}\n")
        monkeypatch.setattr(resolver, "RESOLV_CONF", tmp_path / "resolv.conf")
        monkeypatch.setattr(resolver, "PORT", server.port)
        resolver._resolver.cache_clear()
        return server

    yield start
    for server in running:
        server.__exit__()
    resolver._resolver.cache_clear()


@pytest.fixture
def hosts(monkeypatch, tmp_path):
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1 localhost\n10.0.0.5\tgateway.example gw # extra.example\n")
    monkeypatch.setattr(resolver, "HOSTS", file)
    return file


@pytest.fixture
def stuck(monkeypatch):
    """The system's resolver, which does not come back until the end."""
    ended = threading.Event()

    def look_up(*_, **__):
        ended.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield
    ended.set()


# Public names


def test_a_public_name_has_the_addresses_of_both_kinds(serve):
    serve({("shop.example", "A"): V4, ("shop.example", "AAAA"): V6})
    assert resolve("shop.example", 443, LONG) == [V4, V6]


def test_it_is_looked_up_at_each_connection(serve):
    server = serve({("shop.example", "A"): V4})
    assert [resolve("shop.example", 443, LONG) for _ in range(2)] == [[V4]] * 2
    assert server.asked == [("shop.example", "A"), ("shop.example", "AAAA")] * 2


def test_a_name_that_does_not_exist_is_told_at_once(serve):
    server = serve({})
    with pytest.raises(NotConnected, match="no such host"):
        resolve("unknown.example", 443, LONG)
    assert server.asked == [("unknown.example", "A")]


def test_a_name_without_addresses_is_no_host(serve):
    serve({("shop.example", "MX"): "10 mail.example."})
    with pytest.raises(NotConnected, match="no such host"):
        resolve("shop.example", 443, LONG)


@pytest.mark.requirement(14)
def test_a_silent_name_server_is_waited_for_until_the_deadline(serve):
    serve({("shop.example", "A"): None, ("shop.example", "AAAA"): None})
    with pytest.raises(NotConnected, match="does not answer"):
        resolve("shop.example", 443, SOON)


def test_silence_about_one_kind_does_not_lose_the_other(serve):
    serve({("shop.example", "A"): V4, ("shop.example", "AAAA"): None})
    assert resolve("shop.example", 443, 2 * SOON) == [V4]


def test_no_time_left_is_not_connected(serve):
    serve({("shop.example", "A"): V4})
    with pytest.raises(NotConnected):
        resolve("shop.example", 443, 0)


def test_a_machine_without_a_name_server_is_not_connected(monkeypatch, tmp_path):
    monkeypatch.setattr(resolver, "RESOLV_CONF", tmp_path / "none")
    with pytest.raises(NotConnected):
        resolve("shop.example", 443, LONG)


def test_the_name_servers_are_those_of_the_file_as_it_is_now(serve, monkeypatch):
    serve({("shop.example", "A"): None})
    with pytest.raises(NotConnected):
        resolve("shop.example", 443, SOON)
    server = NameServer({("shop.example", "A"): V4})
    with server:
        monkeypatch.setattr(resolver, "PORT", server.port)
        os.utime(resolver.RESOLV_CONF, ns=(1, 1))
        assert resolve("shop.example", 443, LONG) == [V4]


# Local names


@pytest.mark.parametrize("name", ["kannel", "LOCALHOST", "goip.local", "host.docker.internal", "gateway.example", "gw"])
def test_local_names_are_those_that_only_this_machine_or_its_network_knows(hosts, name):
    assert is_local(name)


@pytest.mark.parametrize("name", ["shop.example", "extra.example", "10.0.0.5", "local.example"])
def test_other_names_are_public(hosts, name):
    assert not is_local(name)


def test_a_changed_hosts_file_is_read_again(hosts):
    assert not is_local("new.example")
    hosts.write_text("10.0.0.6 new.example\n")
    os.utime(hosts, ns=(1, 1))
    assert is_local("new.example")


def test_the_system_finds_this_machine_once():
    found = resolve("localhost", 443, LONG, may_be_local=True)
    assert "127.0.0.1" in found and len(found) == len(set(found))


def test_the_system_is_not_asked_where_no_network_is_allowed(serve, hosts, stuck):
    serve({("gateway.example", "A"): V4})
    assert resolve("gateway.example", 443, LONG) == [V4]


def test_a_public_name_is_asked_of_the_name_servers_all_the_same(serve, hosts, stuck):
    serve({("shop.example", "A"): V4})
    assert resolve("shop.example", 443, LONG, may_be_local=True) == [V4]


@pytest.mark.requirement(14)
def test_however_many_local_names_hang_their_callers_and_public_names_do_not(serve, hosts, stuck):
    serve({("shop.example", "A"): V4})
    for _ in range(resolver.MAX_LOCAL + 2):
        with pytest.raises(NotConnected, match="does not answer"):
            resolve("gw", 443, 0.01, may_be_local=True)
    assert resolve("shop.example", 443, LONG, may_be_local=True) == [V4]


def test_search_domains_are_for_installations_with_networks_of_their_own(serve):
    serve({("gateway.sms.svc.example", "A"): V4}, "search svc.example")
    assert resolve("gateway.sms", 443, LONG, may_be_local=True) == [V4]
    with pytest.raises(NotConnected):
        resolve("gateway.sms", 443, LONG)
