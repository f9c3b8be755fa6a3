"""The web server: it listens, forks the web processes, starts those anew that die, and stops them all.

The processes share what is loaded before they are forked, which saves each a second and most of its memory. They share
the listening socket, too, so a connection waits for whichever process is free.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import time
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess

from config.processes import lifeline

log = logging.getLogger("config.processes.webserver")  # which runs as __main__

APPLICATION = "config.wsgi"
BACKLOG = 1024  # connections that wait to be accepted
KILL_SECONDS = 8.0  # from SIGTERM to SIGKILL: less than the supervisor waits
SIGNALS = (signal.SIGTERM, signal.SIGINT)
RESPAWN_SECONDS = 1.0  # least time between two starts of one process, so that one that cannot start takes no whole core


class WebServer:
    def __init__(self, listener: socket.socket, *, workers: int) -> None:
        # Not as Python chooses: only a fork shares what is loaded. macOS' own libraries break in one.
        self._is_forking = sys.platform == "linux"
        self._context: BaseContext = multiprocessing.get_context("fork" if self._is_forking else "spawn")
        self._listener = listener
        self._processes: list[BaseProcess] = []
        self._workers = workers
        self._asked_to_end, self._ask_to_end = os.pipe()

    def load(self) -> None:
        """Load what the processes are going to share; it opens no connection.

        Frozen, it is out of the collector's sight, which would otherwise write to each object and so copy its page.
        """
        if self._is_forking:
            importlib.import_module(APPLICATION)
            importlib.import_module("config.processes.webprocess")
            gc.collect()
            gc.freeze()

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        # A handler that raised would do so wherever the program is, and be lost in some places, as in hooks of a fork.
        for number in SIGNALS:
            signal.signal(number, lambda *_: os.write(self._ask_to_end, b"."))
        try:
            self._processes = [self._start() for _ in range(self._workers)]
            while self._asked_to_end not in wait([self._asked_to_end, *(each.sentinel for each in self._processes)]):
                self._replace_dead()
        finally:
            self._end()

    def _start(self) -> BaseProcess:
        process = self._context.Process(  # type: ignore[attr-defined]  # typeshed knows it of each context only
            target=_serve, args=(self._listener, os.getpid())
        )
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until the process has handlers of its own
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        assert isinstance(process, BaseProcess)
        return process

    def _replace_dead(self) -> None:
        for number, process in enumerate(self._processes):
            if not process.is_alive():
                log.error("A web process ended (exit code %s); another takes its place.", process.exitcode)
                if wait([self._asked_to_end], RESPAWN_SECONDS):
                    return
                self._processes[number] = self._start()

    def _end(self) -> None:
        """Send SIGTERM, wait, send SIGKILL. A second signal to us ends the wait."""
        for number in SIGNALS:
            signal.signal(number, lambda *_: self._kill())
        log.info("The web server is stopping.")
        self._listener.close()
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + KILL_SECONDS
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
        self._kill()

    def _kill(self) -> None:
        for process in self._processes:
            process.kill()


def _serve(listener: socket.socket, parent: int) -> None:
    """Run one web process."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)  # a fork inherits the server's
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    application = importlib.import_module(APPLICATION).application
    from config.processes.webprocess import WebProcess  # reads the settings, which the application chooses

    WebProcess(application).run(listener, parent=parent)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Two servers can hold one port, so that a new one starts before the old one ends."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, port))
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def _allow_sockets() -> None:
    """Raise the soft limit of open files, usually 1,024: we hold more connections than that."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def serve(*, host: str, port: int, workers: int) -> None:
    try:
        listener = listen(host, port)
    except OSError as error:
        sys.exit(f"watchword: Cannot listen at {host} port {port}: {error.strerror}. Choose others: --host, --port.")
    _allow_sockets()
    server = WebServer(listener, workers=workers)
    server.load()
    log.info("The web server listens at %s port %s, processes: %s.", host, port, workers)
    server.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m config.processes.webserver", description="Serve API and panel.")
    parser.add_argument("--host", default="127.0.0.1", help="default 127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="default 8000")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="web processes; default one a core")
    if lifeline.is_held():  # `up` says itself that all is ready
        log.setLevel(logging.WARNING)
    lifeline.hold()
    serve(**vars(parser.parse_args()))
