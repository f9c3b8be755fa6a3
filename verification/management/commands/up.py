"""``up``: everything on this machine."""

from __future__ import annotations

import http.client
import os
import signal
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder

from config.processes.supervisor import SIGNALS, TICK_SECONDS, Processes, claim
from config.processes.web import require_free, server_command
from verification.core.catalogues import compile_catalogues
from verification.management.base import WatchwordCommand, add_threads, aligned, whole

MAX_DEFAULT_WORKERS = 4
MAX_WORKERS = 256  # processes; more than any machine has use for
READY_SECONDS = 60.0
ANSWER_SECONDS = 2.0
# Where one that listens everywhere is reached from here.
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (compared with, and not listened at)


class Command(WatchwordCommand):
    help = (
        "Run everything on this machine: the web server and a worker, and without DATABASE_URL and REDIS_URL also\n"
        "PostgreSQL and Valkey. Brings the database up to date first. Press Ctrl-C to stop."
    )
    epilog = (
        "With neither URL set the first start makes a demo project and an admin user; their keys and password are\n"
        "shown at every start and kept in demo.json under WATCHWORD_HOME (default: var).\n\n"
        "example:\n"
        "  manage.py up --port 9000"
    )
    prints_data = False
    requires_system_checks = ["watchword"]  # the others load all pages; one that cannot be loaded stops the web server

    def add_arguments(self, parser: CommandParser) -> None:
        workers = min(os.cpu_count() or 1, MAX_DEFAULT_WORKERS)
        parser.add_argument(
            "--port", type=whole(least=1, most=65_535), default=8000, metavar="N", help="Default: 8000."
        )
        parser.add_argument("--host", default="127.0.0.1", help="The address to listen at. Default: 127.0.0.1.")
        parser.add_argument(
            "--workers",
            type=whole(least=1, most=MAX_WORKERS),
            default=workers,
            metavar="N",
            help=f"Web server processes. Default: one per core, at most {MAX_DEFAULT_WORKERS}; here {workers}.",
        )
        parser.add_argument(
            "--demo",
            action="store_true",
            help="A public demo in var/demo: anybody looks at the panel, nobody changes it, nothing is sent.",
        )
        add_threads(parser)

    def handle(self, *, host: str, port: int, workers: int, threads: int, **_: Any) -> None:
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # under nohup we stay
                signal.signal(number, interrupt)
        try:
            self.run(host=host, port=port, workers=workers, threads=threads)
        except KeyboardInterrupt:
            self.say("Stopped.")

    def run(self, *, host: str, port: int, workers: int, threads: int) -> None:
        address = ANY_ADDRESS.get(host, host)
        url = f"http://{in_url(address)}:{port}"
        lock = claim(settings.HOME_DIR, url)
        require_free(host, port)
        self.say("Watchword is starting ...")
        compile_catalogues()
        if not MigrationRecorder(connection).has_table():
            self.say("The database is new: creating its tables takes about half a minute ...")
        call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        environment = child_environment(os.environ, host=host, url=url)
        others = self.prepare()
        web = server_command(host=host, port=port, workers=workers, threads=settings.WEB_THREADS, preload=True)
        manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
        worker = [*manage, "worker", "--skip-checks", "--threads", str(threads), "--connections"]
        with Processes(lock) as processes:
            processes.start("web server", web, environment)
            processes.start("worker", worker, environment)
            for name, command in others.items():
                processes.start(name, [*manage, *command], environment)
            text = self.describe(environment["BASE_URL"], url)  # while they load
            connections.close_all()
            processes.wait_until(partial(answers, address, port), seconds=READY_SECONDS)
            self.say(text)
            while True:
                time.sleep(TICK_SECONDS)
                processes.check()

    def prepare(self) -> dict[str, list[str]]:
        """Make what is missing, and return the commands that run too, by name. An app's own ``up`` has some."""
        return {}

    def describe(self, base_url: str, url: str) -> str:
        return describe(base_url, url)

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def child_environment(given: Mapping[str, str], *, host: str, url: str) -> dict[str, str]:
    """Ours, and what follows from where we listen unless the operator has set it."""
    environment = dict(given)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(settings.BASE_DIR), given.get("PYTHONPATH")]))
    environment["LOG_FORMAT"] = settings.LOG_FORMAT  # gunicorn's parent loads no settings
    environment["BASE_URL"] = settings.BASE_URL if is_set("BASE_URL", given) else url
    if settings.IS_EMBEDDED and not is_set("ALLOWED_HOSTS", given) and host not in ANY_ADDRESS:
        environment["ALLOWED_HOSTS"] = ",".join(dict.fromkeys([*settings.ALLOWED_HOSTS, in_url(host)]))
    return environment


def is_set(name: str, environment: Mapping[str, str]) -> bool:
    return name in environment or f"{name}_FILE" in environment


def in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def answers(address: str, port: int) -> bool:
    """Return whether somebody serves HTTP there, whatever they answer."""
    connection = http.client.HTTPConnection(address, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def describe(base_url: str, url: str) -> str:
    """Return what the operator reads once everything runs."""
    from verification.models.channels import DEFAULT_DAILY_BUDGET  # these load while the children do
    from verification.services.maintenance.demo import PROJECT_NAME, ensure_demo
    from verification.services.maintenance.demo import path as demo_path

    path = demo_path()
    demo = ensure_demo(path) if settings.IS_EMBEDDED else None
    login = "create a user with: manage.py createsuperuser"
    if demo and demo.admin_user:
        login = f"user {demo.admin_user}   password {demo.admin_password or '(the one you set)'}"
    has_demo_page = apps.is_installed("verification.contrib.hosted")
    addresses = [
        ("API", base_url),
        ("Docs", f"{base_url}/docs/"),
        ("Panel", f"{base_url}/admin/   {login}"),
    ]
    if demo and has_demo_page:
        addresses.insert(0, ("Demo", f"{base_url}/demo/   the form, the inbox and your server, side by side"))
    if base_url != url:
        addresses.append(("Listens at", url))
    parts = ["\nWatchword is ready.\n", aligned(addresses)]
    if demo and demo.api_key and demo.secret_key:
        keys = [
            ("API key", f"{demo.api_key}   for apps and pages"),
            ("Secret key", f"{demo.secret_key}   for your server"),
        ]
        parts.append(f"\nProject {PROJECT_NAME!r}, its keys from {shorten(path)}:\n\n{aligned(keys)}")
        parts.append(
            "\n"
            f"SMS and voice calls each stop at {DEFAULT_DAILY_BUDGET:,} messages a day; change this on the "
            "channel's page."
        )
        shown_on = "the demo page and the panel show" if has_demo_page else "the panel shows"
        parts.append(TRIAL.format(url=base_url, api_key=demo.api_key, secret_key=demo.secret_key, shown_on=shown_on))
    else:
        parts.append("\nCreate a project with: manage.py createproject NAME")
    parts.append("\nPress Ctrl-C to stop.\n")
    return "\n".join(parts)


TRIAL = """
Try it in another terminal. Send a code; it appears in this one:

  curl {url}/session/create \\
    -H 'x-api-key: {api_key}' \\
    -H 'content-type: application/json' -d '{{"to": "ann@example.com"}}'

Check it, with the session_id of that answer and the code; then exchange the verify_token, as your server does:

  curl {url}/session/check \\
    -H 'x-api-key: {api_key}' \\
    -H 'content-type: application/json' -d '{{"session_id": "SESSION_ID", "code": "CODE"}}'

  curl {url}/session/verify \\
    -H 'x-api-key: {secret_key}' \\
    -H 'content-type: application/json' -d '{{"verify_token": "VERIFY_TOKEN"}}'

Each channel has a provider Inbox, whose messages {shown_on} too, and a provider Console."""


def shorten(path: Path) -> str:
    """Return the path as seen from here, where that is shorter."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)
