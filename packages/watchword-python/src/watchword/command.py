"""The command ``watchword-client`` for development: ``listen`` shows or forwards events, ``trigger`` makes one up.

The service's own wheel has a command ``watchword``; both may be installed in one environment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
from watchword.callbacks import signed_headers
from watchword.client import Watchword
from watchword.errors import ConnectionFailed, Problem, WatchwordError
from watchword.samples import SAMPLES
from watchword.types import Event

POLL_SECONDS = 1.0  # between two requests, while there is nothing new
AWAY_SECONDS = 5.0  # before the next request to a service that does not answer
FORWARD_SECONDS = 10.0  # the time limit for a server on this machine, the same as the service's
OLDEST = "0"
MOMENTS = ("timestamp", "finished_at")  # the members of a body that say when it happened

LISTEN = """Show the events of a project while you develop, or forward them to a server on this machine. This does
not change what the service itself delivers.

It reads the secret key from WATCHWORD_SECRET_KEY, because everybody on the machine can see arguments. It signs
forwarded events if WATCHWORD_WEBHOOK_SECRET contains the project's webhook secret."""
TRIGGER = """Post a made-up event to a server on this machine, to see how it reacts. The service is not involved and
stores nothing. The event is signed if WATCHWORD_WEBHOOK_SECRET contains a webhook secret, the project's or any of the
form whsec_ and base64."""
FORWARD = "Post each event here, as http://localhost:3000/hook."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    options = _parser().parse_args(arguments)
    secret_key = os.environ.get("WATCHWORD_SECRET_KEY", "")
    if options.command == "listen" and not secret_key:
        return _fail("Put the project's secret key into WATCHWORD_SECRET_KEY.")
    try:
        with httpx.Client(timeout=FORWARD_SECONDS) as http:
            if options.command == "trigger":
                return _trigger(http, options)
            with Watchword(options.url, secret_key=secret_key) as watchword:
                if options.id:
                    return _replay(watchword, http, options)
                _listen(watchword, http, options)
    except WatchwordError as error:
        return _fail(str(error))
    except ValueError as error:  # not a webhook secret
        return _fail(str(error))
    except BrokenPipeError:  # the reader is gone, as with `| head`; the interpreter must not try again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        pass
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="watchword-client")
    commands = parser.add_subparsers(dest="command", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    listener = commands.add_parser("listen", help="show or forward events", description=LISTEN, formatter_class=raw)
    address = os.environ.get("WATCHWORD_URL", "http://localhost:8000")
    listener.add_argument("--url", default=address, help="The service; WATCHWORD_URL, else %(default)s.")
    listener.add_argument("--forward", metavar="URL", help=FORWARD)
    listener.add_argument("--type", metavar="TYPES", help="Only these, as session.verified,session.locked.")
    listener.add_argument("--id", metavar="ID", help="Only the one event with this webhook-id, as evt_41, and stop.")
    listener.add_argument("--oldest", action="store_true", help="Begin with the oldest stored event.")
    listener.add_argument("--once", action="store_true", help="Stop when there is no further event.")
    listener.add_argument("--json", action="store_true", help="Print one JSON object a line.")
    trigger = commands.add_parser("trigger", help="post a made-up event", description=TRIGGER, formatter_class=raw)
    trigger.add_argument("type", choices=sorted(SAMPLES), metavar="TYPE", help=f"One of {', '.join(SAMPLES)}.")
    trigger.add_argument("--forward", metavar="URL", required=True, help=FORWARD)
    trigger.add_argument("--json", action="store_true", help="Print a JSON object.")
    return parser


def _trigger(http: httpx.Client, options: argparse.Namespace) -> int:
    """Post the sample of a type as if it had happened now."""
    now = datetime.now(UTC)
    body = {name: _iso(now) if name in MOMENTS else value for name, value in SAMPLES[options.type].items()}
    return _show_one(http, Event(f"test_{int(now.timestamp())}", options.type, now, body), options)


def _replay(watchword: Watchword, http: httpx.Client, options: argparse.Namespace) -> int:
    return _show_one(http, watchword.read_event(options.id), options)


def _show_one(http: httpx.Client, event: Event, options: argparse.Namespace) -> int:
    """Show an event, and return 1 if the server it was forwarded to did not accept it."""
    answer = _forward(http, options.forward, event) if options.forward else None
    _show(event, answer, as_json=options.json)
    return 0 if answer is None or answer.startswith("HTTP 2") else 1


def _listen(watchword: Watchword, http: httpx.Client, options: argparse.Namespace) -> None:
    types = options.type.split(",") if options.type else None
    after = OLDEST if options.oldest else watchword.list_events(types=types).after
    if not options.once:
        print(
            f"Listening to {options.url} for the events that the project has chosen. Ctrl-C stops it.", file=sys.stderr
        )
    while True:
        try:
            page = watchword.list_events(after, types=types)
        except (ConnectionFailed, Problem) as error:
            if options.once or (isinstance(error, Problem) and error.status < 500):
                raise
            print(f"{error} The next try is in {AWAY_SECONDS:.0f} s.", file=sys.stderr)
            time.sleep(AWAY_SECONDS)
            continue
        for event in page.events:
            _show(event, _forward(http, options.forward, event) if options.forward else None, as_json=options.json)
        after = page.after
        if page.has_more:
            continue
        if options.once:
            return
        time.sleep(POLL_SECONDS)


def _forward(http: httpx.Client, url: str, event: Event) -> str:
    """Post an event as the service does, and return how the server answered."""
    body = json.dumps(event.body, separators=(",", ":"), ensure_ascii=False).encode()
    secret = os.environ.get("WATCHWORD_WEBHOOK_SECRET", "")
    signed = signed_headers(event.id, body, secret) if secret else {"webhook-id": event.id}
    try:
        answer = http.post(url, content=body, headers={"content-type": "application/json", **signed})
    except (httpx.RequestError, httpx.InvalidURL) as error:
        return f"no answer: {type(error).__name__}"
    return f"HTTP {answer.status_code}"


def _show(event: Event, answer: str | None, *, as_json: bool) -> None:
    if as_json:
        told: dict[str, Any] = {"id": event.id, "type": event.type, "body": event.body, "answer": answer}
        print(json.dumps(told, ensure_ascii=False), flush=True)
        return
    line = f"{_iso(event.timestamp)}  {event.type}  {event.id}"
    print(f"{line}  → {answer}" if answer else line)
    print(f"  {json.dumps(event.body, ensure_ascii=False)}", flush=True)


def _iso(moment: datetime) -> str:
    """Write a moment of UTC as the service does."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fail(sentence: str) -> int:
    print(f"watchword: {sentence}", file=sys.stderr)
    return 1
