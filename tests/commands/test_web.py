"""web: the command that serves in production."""

import errno
import itertools
import os
import socket
import sys

import pytest
from django.core.management import CommandError

from config.processes.web import server_command
from tests.commands.running import run
from tests.live import ROOT


def test_the_web_server_takes_the_commands_place_and_finds_the_service_from_anywhere(settings, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execve", lambda *given: started.append(given))
    settings.IS_EMBEDDED, settings.WEB_THREADS = False, 7
    run("web", "--host", "::1", "--port", "8001", "--workers", "3", "--preload")
    ((program, arguments, environment),) = started
    assert program == sys.executable
    assert arguments[1:] == [
        *("-m", "gunicorn", "--config", str(ROOT / "config" / "gunicorn.py")),
        *("--bind", "[::1]:8001", "--workers", "3", "--threads", "7", "--preload"),
    ]
    assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)


class Ipv6(socket.socket):
    """Of a kernel that has none, or one that keeps it apart from IPv4."""

    is_apart = False

    def __init__(self, family, *arguments):
        if family == socket.AF_INET6 and not self.is_apart:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        super().__init__(family, *arguments)

    def getsockopt(self, *option):
        return 1 if option == (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) else super().getsockopt(*option)


@pytest.mark.parametrize(
    ("is_apart", "binds"), [(False, ["0.0.0.0:1"]), (True, ["[::]:1", "0.0.0.0:1"])], ids=["no IPv6", "apart"]
)
def test_every_address_is_one_of_ipv4_too_whatever_the_kernel_does_with_ipv6(monkeypatch, is_apart, binds):
    monkeypatch.setattr(Ipv6, "is_apart", is_apart)
    monkeypatch.setattr(socket, "socket", Ipv6)
    command = server_command(host="::", port=1, workers=1, threads=1)
    assert [value for option, value in itertools.pairwise(command) if option == "--bind"] == binds


def test_with_the_embedded_servers_up_serves(settings):
    settings.IS_EMBEDDED = True
    with pytest.raises(CommandError, match="use `up`"):
        run("web")
