"""More than a hundred services by Apprise, each named by a URL with everything in it.

Apprise says yes or no, and nothing else: no id, no receipt, no reason. We judge a refusal by the answer that came over
the wire. If a service has an adapter of its own, that adapter knows more.

The library makes its requests by itself; they go through our door (:mod:`providers.http.libraries`). So a URL that
leads to a private address leads nowhere.

We refuse services that reach out in any other way: by mail, sockets, the desktop, files or programs. A service may be
used if its plugin imports only what is listed here. We read that from the plugin's own text, so that we judge a plugin
of a later release in the same way.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import ProviderError
from providers.http import libraries
from providers.http.client import HttpClient
from providers.http.libraries import LibraryCall

_PLACEHOLDER = re.compile(r"\{(to|to_digits|code|message_id|channel|language|project)\}")
_SCHEME = re.compile(r"([a-z][a-z0-9.+-]*)://", re.IGNORECASE)
UPSTREAM, TRUNCATE = "upstream", "truncate"  # what Apprise's plugins do with a text that is too long

# The modules that a plugin may import: those that only compute, and requests, which goes through the door.
_HARMLESS_MODULES = frozenset(
    [
        "__future__",
        "base64",
        "binascii",
        "calendar",
        "collections",
        "collections.abc",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "email.header",
        "email.mime.application",
        "email.mime.multipart",
        "email.mime.text",
        "email.utils",
        "enum",
        "functools",
        "hashlib",
        "hmac",
        "html",
        "itertools",
        "json",
        "json.decoder",
        "logging",
        "math",
        "operator",
        "random",
        "re",
        "requests",
        "requests.auth",
        "secrets",
        "string",
        "time",
        "typing",
        "unicodedata",
        "urllib.parse",
        "uuid",
        "xml.sax.saxutils",
    ]
)
_APPRISE_MODULES = frozenset(
    [
        "apprise.__title__",
        "apprise.__version__",
        "apprise.attachment.base",
        "apprise.common",
        "apprise.compat.py39",
        "apprise.conversion",
        "apprise.exception",
        "apprise.locale",
        "apprise.logger",
        "apprise.plugins.base",
        "apprise.url",
        "apprise.utils.base64",
        "apprise.utils.logic",
        "apprise.utils.parse",
        "apprise.utils.sanitize",
        "apprise.utils.xml",
    ]
)


class Adapter(base.Adapter):
    type = "apprise"
    label = _("Apprise (many services)")
    channels = base.CHANNELS
    packages = ("apprise", "requests")
    declared = (
        Setting(
            "url",
            _("Apprise URL"),
            SettingKind.SECRET,
            required=True,
            help=_(
                "Put {to} or {to_digits} where the recipient belongs, such as"
                " voipms://password:mail@example.com/… You can also use {code}, {message_id}, {channel},"
                " {language} and {project}."
            ),
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        url = str(values["url"])
        problem = _problem(url)
        if not problem and not re.search(r"\{to(_digits)?\}", url):
            problem = "use {to} or {to_digits}; otherwise every code would go to the same place"
        if not problem:
            with libraries.sessions_through_door(LibraryCall(HttpClient(), seconds=0)):  # nothing is asked here
                problem = "" if _plugin(_fill(url, _SAMPLE)) is not None else "Apprise cannot read this URL"
        return {"url": problem} if problem else {}

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        call = LibraryCall(self.http)
        is_taken = self._notify(message, call)
        if call.is_in_doubt and not is_taken:
            raise ProviderError("no answer came from the service", Outcome.UNKNOWN)
        if not is_taken or call.answer is None:
            raise call.explain()
        status = str(call.answer.status)
        return base.Result(Outcome.ACCEPTED, provider_status=status, is_delivered=True)

    def check(self) -> base.Health:
        """Connect to the host of the first request, and hang up."""
        rehearsal = _Rehearsal(self.http)
        self._notify(_SAMPLE, rehearsal)
        if not rehearsal.is_reached:
            raise rehearsal.explain()
        return base.Health.reached("The service's host can be reached")

    def _notify(self, message: base.OutgoingMessage, call: LibraryCall) -> bool:
        """Send by the service's plugin. Raises :class:`ProviderError` if nothing was asked of the service."""
        url = self.text("url")
        problem = _problem(url)
        if problem:
            raise ProviderError(problem, Outcome.MISCONFIGURED)
        with libraries.sessions_through_door(call):
            plugin = _plugin(_fill(url, message))
            if plugin is None:
                raise ProviderError("Apprise cannot make a message to this recipient of the URL")
            plugin.retry = 0  # whatever the URL says
            plugin.throttle = _do_not_pause
            if not message.code and plugin.overflow_mode == UPSTREAM:  # an alert is cut to what the service takes
                plugin.overflow_mode = TRUNCATE
            try:
                return bool(plugin.notify(body=message.text, title=message.subject, body_format="text"))
            except Exception:  # a plugin may fail on an answer that it did not expect
                return False


def _do_not_pause(*_: object, **__: object) -> None:
    """Replace the plugin's pause, which lasts as long as a service wishes."""


class _Rehearsal(LibraryCall):
    """A call that only connects to the host of the first request."""

    is_reached = False

    def _ask(self, method: str, url: str, headers: Mapping[str, Any], body: object) -> Any:
        self._door.touch(url)
        self.is_reached = True
        raise ProviderError("this was a rehearsal")


_SAMPLE = base.OutgoingMessage(
    id=1, to="+491700000000", channel="sms", code="0000", text="0000", language="en", expires_in=60
)


def _problem(url: str) -> str:
    """Return why we do not use this URL, whatever Apprise would make of it; empty if we do."""
    match = _SCHEME.match(url)
    if match is None or _PLACEHOLDER.search(url[: match.end()]):
        return "enter a URL such as service://…"
    return _scheme_problem(match.group(1).lower())


@cache
def _scheme_problem(scheme: str) -> str:
    found = _class_of(scheme)
    if found is None:
        return f"Apprise has no service {scheme}://"
    # A package is one service, with all its files.
    path = Path(inspect.getfile(found))
    files = [path] if path.parent.name == "plugins" else sorted(path.parent.rglob("*.py"))
    if all(_only_asks(file) for file in files):
        return ""
    return f"{scheme}:// does more on this machine than send HTTP requests, so Watchword does not use it"


def _class_of(scheme: str) -> Any:
    from apprise.manager_plugins import NotificationManager

    libraries.silence("apprise")
    known: Any = NotificationManager()  # type: ignore[no-untyped-call]
    return known[scheme] if scheme in known else None  # noqa: SIM401  # it is no dict


def _only_asks(path: Path) -> bool:
    inside = f"apprise.plugins.{path.parent.name}"
    for module in _imported(path):
        is_sibling = path.parent.name != "plugins" and module.startswith(inside)
        if module not in _HARMLESS_MODULES and module not in _APPRISE_MODULES and not is_sibling:
            return False
    return True


def _imported(path: Path) -> list[str]:
    """Return the full names of all modules that a plugin imports anywhere in its text."""
    package = list(path.parent.parts)
    package = package[package.index("apprise", -3) :]
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            names = [node.module] if node.module else [name.name for name in node.names]
            found += [".".join([*above, name]) for name in names]
        elif isinstance(node, ast.Name) and node.id in ("__import__", "eval", "exec"):
            found.append(node.id)
    return found


def _plugin(url: str) -> Any:
    """Make the plugin of a URL; None if Apprise cannot read it. It keeps nothing on disk and names nobody but us."""
    import apprise

    libraries.silence("apprise")
    asset = apprise.AppriseAsset(
        storage_mode=apprise.PersistentStoreMode.MEMORY,
        app_id="Watchword",
        app_desc="Watchword",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
        allow_templates=False,
    )
    plugin = apprise.Apprise.instantiate(url, asset=asset)
    # Whatever a URL turns into must be what its scheme was judged for.
    return plugin if type(plugin) is _class_of(url.partition("://")[0].lower()) else None


def _fill(url: str, message: base.OutgoingMessage) -> str:
    values = {
        "to": message.to,
        "to_digits": re.sub(r"[^0-9]", "", message.to),
        "code": message.code,
        "message_id": str(message.id),
        "channel": message.channel,
        "language": message.language,
        "project": message.project,
    }
    return _PLACEHOLDER.sub(lambda match: quote(values[match.group(1)], safe=""), url)
