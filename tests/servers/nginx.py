"""Debian's nginx before web servers of the tests, with the configuration that operators are given."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.live import ROOT, free_port

PROGRAM = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")  # Debian keeps it where only root looks
CONFIGURATION = ROOT / "deploy" / "nginx" / "watchword.conf"
FRAME = """
daemon off;
pid {folder}/pid;
events {{ worker_connections 2048; }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{given}
}}
"""


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def configured(port: int, plain_port: int, nodes: Sequence[int], folder: Path) -> str:
    """Return the operators' configuration with other ports and another folder, and without TLS."""
    text = CONFIGURATION.read_text()
    for old, new in (
        ("    listen 443 ssl;", f"    listen 127.0.0.1:{port};"),
        ("    listen [::]:443 ssl;", f"    listen [::1]:{port};" if has_ipv6() else ""),
        ("    listen 80;", f"    listen 127.0.0.1:{plain_port};"),
        ("    listen [::]:80;", f"    listen [::1]:{plain_port};" if has_ipv6() else ""),
        (
            "server 127.0.0.1:8000 fail_timeout=1s;",
            " ".join(f"server 127.0.0.1:{node} fail_timeout=1s;" for node in nodes),
        ),
        ("/var/log/nginx", str(folder)),
    ):
        assert old in text, f"The configuration of nginx has no line {old!r}."
        text = text.replace(old, new)
    return re.sub(r"^ *ssl_certificate.*\n", "", text, flags=re.MULTILINE)


class Nginx:
    """Use as a context manager. ``nodes`` are the ports of the web servers behind it."""

    def __init__(self, nodes: Sequence[int], *, port: int = 0) -> None:
        self.nodes, self.port = nodes, port or free_port()
        self.plain_port = free_port()  # of the server that sends on to https

    def __enter__(self) -> Nginx:
        self.folder = Path(tempfile.mkdtemp(prefix="watchword-"))
        self.folder.chmod(0o755)  # its own processes are another user's
        file = self.folder / "nginx.conf"
        file.write_text(
            FRAME.format(folder=self.folder, given=configured(self.port, self.plain_port, self.nodes, self.folder)),
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start with no memory of nodes that failed."""
        error_log = self.folder / "error.log"
        command = [str(PROGRAM), "-c", self.folder / "nginx.conf", "-p", self.folder, "-e", error_log]
        self.process = subprocess.Popen(command)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)

    def log(self) -> str:
        return (self.folder / "watchword.log").read_text()

    def errors(self) -> str:
        """All that stands in any of its logs but that of the requests."""
        logs = [path for path in self.folder.glob("*.log") if path.name != "watchword.log"]
        return "".join(path.read_text() for path in logs)
