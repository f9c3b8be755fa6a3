"""Debian's Caddy before a server of the tests, with the configuration that operators are given."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.live import ROOT, free_port

PROGRAM = shutil.which("caddy")
CONFIGURATION = ROOT / "deploy" / "caddy" / "Caddyfile"


class Caddy:
    """Use as a context manager. ``nodes`` are the ports of the servers behind it."""

    def __init__(self, nodes: Sequence[int]) -> None:
        self.nodes, self.port = nodes, free_port()

    def __enter__(self) -> Caddy:
        self.folder = tempfile.mkdtemp(prefix="watchword-")
        environment = os.environ | {
            "SITE_ADDRESS": f"http://127.0.0.1:{self.port}, http://codes.example.com:{self.port}",
            "NODES": " ".join(f"127.0.0.1:{node}" for node in self.nodes),
            "XDG_DATA_HOME": self.folder,
            "XDG_CONFIG_HOME": self.folder,
            "CADDY_ADMIN": "off",
        }
        command = [str(PROGRAM), "run", "--config", str(CONFIGURATION), "--adapter", "caddyfile"]
        with (Path(self.folder) / "log").open("w") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)

    def errors(self) -> str:
        """All that Caddy writes: it has no other log."""
        return (Path(self.folder) / "log").read_text()
