"""Tenants whose servers take a connection and never answer: bots, and accounts that a member has checked.

What an attacker needs to make the service wait for them stands in one file, as JSON.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
from functools import cache
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from benchmarks.common.driver import LOOPBACK
from benchmarks.common.service import ROOT, Service

TENANTS = 6
BACKLOG = 4096  # connections that the system takes for a server that never looks at them
LOGIN = "/admin/login/"
PREPARE = """
import json, sys
import django
django.setup()
from django.contrib.auth import get_user_model
from verification.services.providers import accounts as providers
from verification.services.projects import projects

count, url, user, password = sys.argv[1:]
get_user_model().objects.create_superuser(user, password=password)
made = []
for number in range(int(count)):
    project = projects.create_project(name=f"Hanging {number}").project
    values = {"token": "123456:" + "a" * 35, "username": "codes_bot", "base_url": url}
    bot = providers.add_provider(
        project=project, channel="messenger_a", provider_type="telegram_bot", name="Bot", values=values
    )
    secret = providers.adapter_of(bot)._hook_secret()
    made.append({"project": project.pk, "bot": bot.pk, "hook": providers.hook_url(bot), "secret": secret})
print(json.dumps(made))
"""


class HangingTenants:
    """Use as a context, while the web server runs. ``file`` is what the attacker reads."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.file = service.home / "tenants.json"

    def __enter__(self) -> HangingTenants:
        self.server = socket.create_server((LOOPBACK, 0), backlog=BACKLOG)
        url = f"http://{LOOPBACK}:{self.server.getsockname()[1]}"
        user, password = "attacker", secrets.token_hex(16)
        done = subprocess.run(
            [sys.executable, "-c", PREPARE, str(TENANTS), url, user, password],
            cwd=ROOT,
            env={**os.environ, **self.service.environment, "DJANGO_SETTINGS_MODULE": "config.settings"},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        tenants = json.loads(done.stdout)
        self.file.write_text(json.dumps({**log_in(self.service.port, user, password), "url": url, "tenants": tenants}))
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()


def log_in(port: int, user: str, password: str) -> dict[str, str]:
    """The cookies of a session of the panel, and the token that its forms carry."""
    cookies: dict[str, str] = {}
    for body in (None, {"username": user, "password": password}):
        connection = http.client.HTTPConnection(LOOPBACK, port)
        headers = {"Cookie": header_of(cookies), "Content-Type": "application/x-www-form-urlencoded"}
        fields = None if body is None else urlencode({**body, "csrfmiddlewaretoken": cookies["csrftoken"]})
        connection.request("GET" if fields is None else "POST", LOGIN, fields, headers)
        response = connection.getresponse()
        response.read()
        for line in response.headers.get_all("Set-Cookie") or []:
            cookies.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
        connection.close()
    return {"cookie": header_of(cookies), "token": cookies["csrftoken"]}


def header_of(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def update_of_bots(file: str, number: int, port: int) -> bytes:
    """Somebody writes to one of the bots."""
    tenant = read(file)["tenants"][number % TENANTS]
    chat = 777_000_000 + number
    message = {
        "message_id": 5,
        "date": 1740571200,
        "from": {"id": chat, "is_bot": False, "first_name": "A"},
        "chat": {"id": chat, "type": "private"},
        "text": "Hello",
    }
    body = json.dumps({"update_id": number + secrets.randbelow(10**12), "message": message})
    headers = {"Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": tenant["secret"]}
    return request(urlsplit(tenant["hook"]).path, headers, body, port)


def use_of_the_panel(file: str, number: int, port: int) -> bytes:
    """A member has the bot's token checked, or a test event sent to their server."""
    known = read(file)
    tenant = known["tenants"][number // 2 % TENANTS]
    pages = (f"provider/{tenant['bot']}/check/", f"project/{tenant['project']}/test-event/")
    body = urlencode({"csrfmiddlewaretoken": known["token"], "url": f"{known['url']}/hook"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": known["cookie"]}
    return request(f"/admin/verification/{pages[number % 2]}", headers, body, port)


@cache
def read(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


def request(path: str, headers: dict[str, str], body: str, port: int) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {LOOPBACK}:{port}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", body]).encode()
