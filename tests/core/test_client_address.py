"""The address that a request comes from, and a proxy's word on it that nobody reads."""

import pytest
from django.core.cache import cache
from django.core.management import call_command

from verification.checks import start
from verification.core import client_address

NOBODY_READS = "X-Forwarded-For arrives from {}"


@pytest.fixture(autouse=True)
def _nothing_noted(db):
    cache.delete(client_address.UNREAD_KEY)
    yield
    cache.delete(client_address.UNREAD_KEY)


def warnings():
    return [each for each in start.settings_are_for_production() if each.id == "watchword.W009"]


def ask(rf, remote, **headers):
    return client_address.client_address(rf.get("/", headers=headers, REMOTE_ADDR=remote))


@pytest.mark.requirement(105)
@pytest.mark.parametrize("proxy", ["127.0.0.1", "172.18.0.1", "fd00::1"])
def test_a_header_that_nobody_reads_is_told(rf, caplog, proxy):
    assert ask(rf, proxy, x_forwarded_for="81.2.69.9") == proxy
    assert NOBODY_READS.format(proxy) in caplog.text
    [warning] = warnings()
    assert (proxy in warning.msg, "TRUSTED_PROXIES" in warning.hint) == (True, True)


def test_it_is_told_once_in_a_while(rf, caplog):
    for _ in range(3):
        ask(rf, "127.0.0.1", x_forwarded_for="81.2.69.9")
    assert caplog.text.count("X-Forwarded-For") == 1


def test_a_stranger_who_writes_the_header_is_no_proxy(rf, caplog):
    ask(rf, "81.2.69.10", x_forwarded_for="10.0.0.1")
    assert caplog.text == ""
    assert warnings() == []


def test_nothing_is_told_without_the_header(rf, caplog):
    ask(rf, "127.0.0.1")
    assert caplog.text == ""


def test_where_proxies_are_trusted_nothing_is_told(rf, settings, caplog):
    ask(rf, "127.0.0.1", x_forwarded_for="81.2.69.9")
    settings.TRUSTED_PROXIES = 1
    assert warnings() == []


def test_the_deployment_check_says_it(rf, capsys):
    ask(rf, "127.0.0.1", x_forwarded_for="81.2.69.9")
    call_command("check", deploy=True)
    assert "watchword.W009" in capsys.readouterr().err
