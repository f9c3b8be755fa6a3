"""A customer of a live service: a project, its keys, and the gateway that its codes go out over."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

from tests.fakes.http_server import FakeHttpServer
from tests.live import LiveService, wait_until

# By the commands, as an upgrade runs it with the release before; in one process, as there are many shops.
OPEN_SHOP = """
import io, json, sys
from django.core.management import call_command

def run(*arguments):
    written = io.StringIO()
    call_command(*arguments, stdout=written)
    return written.getvalue()

name, url = sys.argv[1:]
made = json.loads(run("createproject", name, "--json"))
project = str(made["project"])
run("setproject", project, "requests_per_second=0")  # the races of a file may be many
run("addprovider", project, "--channel", "sms", "--type", "http", "--name", "Gateway", "--set", f"url={url}", "--json")
print(json.dumps({"id": made["project"], "api_key": made["api_key"], "secret_key": made["secret_key"]}))
"""

_names = itertools.count(1)
_recipients = itertools.count(1)


@dataclass
class Shop:
    service: LiveService
    gateway: FakeHttpServer
    id: int
    api_key: str
    secret_key: str

    def as_app(self, method: str, path: str, body: object = None, **options):
        """One call with the API key: status, body, headers."""
        return self.service.call(method, path, body, key=self.api_key, **options)

    def as_server(self, method: str, path: str, body: object = None, **options):
        return self.service.call(method, path, body, key=self.secret_key, **options)

    def create(self, to: str = "", **fields):
        return self.as_app("POST", "/session/create", {"to": to or recipient(), "send": True, **fields})

    def check(self, session_id: str, code: str):
        return self.as_app("POST", "/session/check", {"session_id": session_id, "code": code})

    def verify(self, token: str, headers: dict | None = None):
        return self.as_server("POST", "/session/verify", {"verify_token": token}, headers=headers)

    def send(self, to: str, headers: dict | None = None, **fields):
        return self.as_server("POST", "/manual/send", {"to": to, "channel": "sms", **fields}, headers=headers)

    def open_session(self, to: str = "") -> str:
        status, body, _ = self.create(to)
        assert status == 200, body
        return body["session_id"]

    def sent_to(self, to: str) -> list[dict]:
        """Return what the gateway was given for this recipient, refused and unanswered requests included."""
        return [body for body in (request.json() for request in list(self.gateway.requests)) if body["to"] == to]

    def code_for(self, to: str) -> str:
        return wait_until(lambda: self.sent_to(to), "the code arrives")[-1]["code"]

    def token_for(self, to: str) -> str:
        status, body, _ = self.check(self.open_session(to), self.code_for(to))
        assert status == 200, body
        return body["verify_token"]

    def is_suppressed(self, to):
        [(count,)] = self.service.query(
            "SELECT count(*) FROM verification_suppression JOIN verification_recipient AS r ON r.id = recipient_id"
            " WHERE r.address = %s AND lifted_at IS NULL",
            to,
        )
        return bool(count)

    def messages_to(self, to: str) -> list[str]:
        """The statuses of the recipient's messages, as another connection reads them."""
        rows = self.service.query(
            "SELECT m.status FROM verification_message AS m JOIN verification_recipient AS r ON r.id = m.recipient_id"
            " WHERE r.project_id = %s AND r.address = %s ORDER BY m.created_at",
            self.id,
            to,
        )
        return [status for (status,) in rows]

    def resend(self, session_id: str, channel: str = "sms"):
        return self.as_app("POST", "/session/send", {"session_id": session_id, "type": channel})

    def set(self, **values: object) -> None:
        self.service.manage("setproject", str(self.id), *(f"{name}={value}" for name, value in values.items()))


def open_shop(service: LiveService, gateway: FakeHttpServer) -> Shop:
    """A new project that sends by SMS over this gateway."""
    made = json.loads(service.python(OPEN_SHOP, f"Shop {next(_names)}", f"{gateway.url}/sms"))
    return Shop(service, gateway, **made)


def add_gateway(shop: Shop, gateway: FakeHttpServer, *, priority: int = 100) -> int:
    options = ["--channel", "sms", "--type", "http", "--name", f"Gateway {next(_names)}"]
    options += ["--priority", str(priority)]
    return shop.service.json("addprovider", str(shop.id), *options, "--set", f"url={gateway.url}/sms")["provider"]


def recipient() -> str:
    """A phone number that no other test has, and no prefix to speak of: the traffic guard takes them for strangers."""
    return f"+49151{next(_recipients) * 10_007 % 10**8:08d}"


def end_leases(service: LiveService) -> None:
    """End the leases as time alone would: no worker has a message in hand any more."""
    service.query(
        "UPDATE verification_message SET due_at = now() - interval '2 seconds' WHERE status = 'sending' RETURNING id"
    )


def statuses(answers: list) -> dict[int, int]:
    """Count the answers by status. Raise the error of a call that failed."""
    counts: dict[int, int] = {}
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
        counts[answer[0]] = counts.get(answer[0], 0) + 1
    return counts
