"""A link between two processes on loopback that can be cut or made slow, as a network between two machines.

A cut link swallows nothing: what was sent waits, as TCP's repetitions do, and flows when the link is mended. New
connections are taken and hear nothing. (Kernels in containers often lack netem, which would do the same below TCP.)
"""

from __future__ import annotations

import contextlib
import socket
import threading

CHUNK = 65_536


class Link:
    """Use as a context manager. It listens at ``port``, and leads to ``target``, a port of loopback."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.delay = 0.0  # seconds, each way
        self._whole = threading.Event()
        self._whole.set()

    def __enter__(self) -> Link:
        self._over = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._whole.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self.delay = 0.0
        self._whole.set()

    def _accept(self) -> None:
        while not self._over:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        self._whole.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        for each in (near, far):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pump, args=(near, far), daemon=True).start()
        self._pump(far, near)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._whole.wait()
                if self.delay:
                    threading.Event().wait(self.delay)
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
