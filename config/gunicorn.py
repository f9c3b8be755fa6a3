"""The settings of gunicorn, the web server. ``config/processes/web.py`` adds address, processes and threads.

gunicorn's parent loads none of this application, but for `up`. So SIGHUP starts processes with the code that is there
at that moment. Once all of these answer, the old ones end.
"""

from __future__ import annotations

import gc
import logging
import mmap
import os
import signal
import socket
import struct
import sys
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.http import wsgi
from gunicorn.workers.gthread import ThreadWorker

from config import logs
from config.processes import parent_watch

wsgi_app = "config.wsgi:application"


class worker_class(ThreadWorker):  # type: ignore[misc]  # noqa: N801  (gunicorn's name of the setting)
    """gunicorn's threads. One of its processes that ends would lose what waits to be accepted."""

    sockets: list[Any]

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled)
        if self.alive:
            return
        for listener in self.sockets:
            seen = -1
            while self.nr_conns != seen:  # until nothing waits
                seen = self.nr_conns
                self.accept(listener)
            listener.close()  # of all processes, and the next client is refused
        self.sockets = []


# --- connections ---------------------------------------------------------------------------------------------------

backlog = 1024  # connections that wait to be accepted
worker_connections = 1000  # connections that a process holds; nearly all are idle ones of the proxy
keepalive = 10  # seconds; longer than the proxies keep an idle connection (5), so that no request meets one that ends
# A listening socket for each process would lose what waits at the socket of one that ends, as SIGHUP has it.
reuse_port = False

# --- requests ------------------------------------------------------------------------------------------------------

limit_request_line = 8190  # bytes
limit_request_fields = 100  # headers; browsers behind proxies send about thirty
limit_request_field_size = 16 * 1024  # bytes; nginx passes on half of that
header_map = "drop"  # X_Forwarded_For would be read as X-Forwarded-For, which the proxy writes
# Django reads what the proxy says, as far as TRUSTED_PROXIES goes. gunicorn believes nobody.
forwarded_allow_ips = ""
wsgi.SERVER = "web"  # the Server header, which names no product

# --- processes -----------------------------------------------------------------------------------------------------

timeout = 30  # seconds without a sign of life from the thread that accepts, after which a process is replaced
graceful_timeout = 8  # seconds for the requests in work after SIGTERM: `up` and systemd wait longer before they kill
# gunicorn's heartbeat is a file. Keep it in memory, so a stalled disk does not kill workers.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108  (gunicorn makes a file of random name)
control_socket_disable = True

# Objects that a process makes more than it drops before Python looks for cycles among the new ones. The default, 700,
# is reached about every twenty requests, and looking takes a request 13 us of CPU on average.
GARBAGE_THRESHOLD = 10_000

# --- the log -------------------------------------------------------------------------------------------------------

accesslog = None  # paths hold secrets, and query strings addresses
loglevel = os.environ.get("LOG_LEVEL", "info").lower()
if parent_watch.is_watched():  # `up` says itself what runs
    loglevel = "warning"


class logger_class(Logger):  # type: ignore[misc]  # noqa: N801  (gunicorn's name of the setting)
    """gunicorn's own lines, in the service's format."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(logs.formatter(os.environ.get("LOG_FORMAT", "json")))
            handler.addFilter(_without_request)


def _without_request(record: logging.LogRecord) -> bool:
    """Take out what gunicorn quotes of a request: it may hold a key, or a path with a secret."""
    if str(record.msg).startswith("Invalid request from ip="):
        record.msg, record.args = "A request was refused that is not HTTP as it should be.", ()
    elif str(record.msg).startswith("Error handling request"):
        record.msg, record.args = "A request was not answered.", ()
    return True


# --- a reload ------------------------------------------------------------------------------------------------------
# gunicorn ends the old processes as soon as it has forked new ones. Here each process tells by SIGTTOU that it answers,
# and while one does not, all stay.


def on_reload(server: Any) -> None:
    server.num_workers = len(server.WORKERS) + server.cfg.workers


def pre_fork(server: Any, worker: Any) -> None:
    worker.answers = mmap.mmap(-1, 1)  # one byte of memory that both processes see
    worker.is_extra = server.num_workers > server.cfg.workers


def nworkers_changed(server: Any, number: int, before: int | None) -> None:
    """By SIGTTOU the number falls by one: put right how many processes there are to be."""
    if before is None or number >= before:
        return
    all_answer = all(worker.answers[0] for worker in server.WORKERS.values())
    wanted = server.cfg.workers if all_answer else max(server.cfg.workers, len(server.WORKERS))
    if number != wanted:
        server.num_workers = wanted


def worker_exit(server: Any, worker: Any) -> None:
    """Let a process of a reload that cannot start end alone. By the codes 3 and 4 gunicorn ends the others too."""
    if worker.pid == os.getpid() and worker.is_extra and not worker.answers[0]:
        sys.exit(1)


def child_exit(server: Any, worker: Any) -> None:
    if worker.is_extra and not worker.answers[0]:
        server.num_workers -= 1


# --- hooks ---------------------------------------------------------------------------------------------------------


def on_starting(server: Any) -> None:
    parent_watch.start()  # a web server that `up` started ends with it
    if server.cfg.preload_app:
        from django.db import connections

        connections.close_all()  # a fork cannot go on with a socket of its parent
        gc.freeze()  # what the parent has loaded is never collected, so its pages stay shared


def post_worker_init(worker: Any) -> None:
    """Have a process look for garbage less often, and bound what holds a thread.

    That is waits for others' servers, and clients that send or take in nothing more. A client that sends a byte now
    and then still holds its thread. So a proxy stands in front that takes requests in whole.
    """
    from django.conf import settings

    from verification.core import bulkhead, process_figures

    gc.collect()
    gc.freeze()  # what is loaded stays, and a look through all of it takes 100 ms, in which no request is answered
    gc.set_threshold(GARBAGE_THRESHOLD)
    bulkhead.protect(worker.cfg.threads)
    worker.thread_use = process_figures.start("web", threads=worker.cfg.threads)
    seconds = struct.pack("ll", settings.WEB_BODY_SECONDS, 0)
    for listener in worker.sockets:  # what it accepts has its options
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds)
    worker.answers[0] = 1
    if os.getppid() == worker.ppid:
        os.kill(worker.ppid, signal.SIGTTOU)


def pre_request(worker: Any, request: Any) -> None:
    """In the thread that answers, once it has read the request's head."""
    if use := getattr(worker, "thread_use", None):
        for name, value in request.headers:
            if name == "X-REQUEST-START":
                from verification.core import process_figures

                process_figures.count_wait_of_request(value)
        use.begin()


def post_request(worker: Any, request: Any, environ: Any, response: Any) -> None:
    """Once it is answered, or has failed."""
    if use := getattr(worker, "thread_use", None):
        use.end()
