"""A provider that accepts everything at once, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.common.driver import LOOPBACK
from benchmarks.common.service import ROOT


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Gateway:
    """The provider of this module. Use as a context."""

    def __enter__(self) -> Gateway:
        command = [sys.executable, "-m", "benchmarks.common.gateway"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
