"""The command line of the web server: gunicorn, with ``config/gunicorn.py``."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from gunicorn import systemd

from verification.core.errors import UserError

SETTINGS = Path(__file__).resolve().parent.parent / "gunicorn.py"


def server_command(*, host: str, port: int, workers: int, threads: int, preload: bool = False) -> list[str]:
    """Return the command. It needs the service's folder in PYTHONPATH.

    With ``preload`` the parent loads the application for all processes: they take half the memory, and a reload would
    bring no new code.
    """
    binds = [f"[{each}]:{port}" if ":" in each else f"{each}:{port}" for each in _hosts(host)]
    options = [option for bind in binds for option in ("--bind", bind)]
    options += ["--workers", str(workers), "--threads", str(threads)]
    options += ["--preload"] * preload
    return [sys.executable, "-m", "gunicorn", "--config", str(SETTINGS), *options]


def _hosts(host: str) -> list[str]:
    """``::`` is every address of this machine, of IPv4 as well, however its kernel is set up."""
    if host != "::":
        return [host]
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            is_of_ipv6_alone = probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    except OSError:  # a kernel without IPv6
        return ["0.0.0.0"]  # noqa: S104
    return ["::", "0.0.0.0"] if is_of_ipv6_alone else ["::"]  # noqa: S104


def require_free(host: str, port: int) -> None:
    """Raise :class:`UserError` for an address that cannot be listened at. gunicorn tries five times, a line each.

    A socket that systemd keeps is taken in place of an address.
    """
    if systemd.listen_fds(unset_environment=False):
        return
    try:
        family, _, _, _, address = socket.getaddrinfo(_hosts(host)[0], port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections do not count
            probe.bind(address)
            probe.listen()
    except OSError as error:
        raise UserError(f"Cannot listen at {host} port {port}: {error.strerror}. Choose another with --port.") from None
