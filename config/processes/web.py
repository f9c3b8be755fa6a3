"""The command line of the web server: gunicorn, with ``config/gunicorn.py``."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from verification.core.errors import UserError

SETTINGS = Path(__file__).resolve().parent.parent / "gunicorn.py"


def server_command(*, host: str, port: int, workers: int, threads: int, preload: bool = False) -> list[str]:
    """Return the command. It needs the service's folder in PYTHONPATH.

    With ``preload`` the parent loads the application for all processes: they take half the memory, and a reload would
    bring no new code.
    """
    bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    options = ["--bind", bind, "--workers", str(workers), "--threads", str(threads)]
    options += ["--preload"] * preload
    return [sys.executable, "-m", "gunicorn", "--config", str(SETTINGS), *options]


def require_free(host: str, port: int) -> None:
    """Raise :class:`UserError` for an address that cannot be listened at. gunicorn tries five times, a line each."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections do not count
            probe.bind(address)
            probe.listen()
    except OSError as error:
        raise UserError(f"Cannot listen at {host} port {port}: {error.strerror}. Choose another with --port.") from None
