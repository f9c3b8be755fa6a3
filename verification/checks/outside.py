"""The service as its callers reach it: TLS, HSTS, host name, proxies, and whom it takes its callers for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Critical, Info, Warning

from verification.checks.registry import Aims, register
from verification.services.maintenance.visits import (
    HEADER,
    PATH,
    Unreachable,
    Untrusted,
    VisitAnswer,
    days_until,
    signature,
    visit,
)

FORGED = "192.0.2.1"  # an address for documentation, which no caller has: we claim to be it
CERTIFICATE_DAYS = 14  # Caddy and certbot renew a month before the end, so a fortnight is late
CLOCK_SECONDS = 2.0  # as in the alarm WatchwordClockSkew
HSTS_LEAST = 15_552_000  # seconds: half a year, below which scanners complain
REDIRECTS = (301, 302, 307, 308)


@register("outside")
def seen_from_outside(aims: Aims) -> Iterator[CheckMessage]:
    """Visit the service once at its public address, and judge what both sides saw."""
    try:
        answer = visit(f"{aims.url}{PATH}", headers={HEADER: signature(), "X-Forwarded-For": FORGED})
    except Untrusted as error:
        yield Critical(
            f"The certificate of {aims.url} is not valid: {error}.",
            hint="See the log of Caddy or certbot for the renewal that failed. The proxy must send the full chain.",
            id="certificate-refused",
        )
        return
    except Unreachable as error:
        yield Critical(
            f"{aims.url} does not answer from here: {error}.",
            hint="Check whether the web server and the proxy run, and whether BASE_URL is right. If only this machine "
            "cannot reach it, run the doctor elsewhere or pass another address with --url.",
            id="not-reachable",
        )
        return
    yield from certificate(answer)
    seen = answer.seen
    if seen is None and answer.status == 404:
        yield Info(
            f"The proxy does not pass on {aims.url}{PATH}, as the files in deploy/ do, or another service answers "
            "there: the doctor could not check host name, proxies and client addresses.",
            hint=f"Let this machine reach {PATH} in the proxy's configuration, and run the doctor again.",
            id="probe-kept-back",
        )
        return
    if seen is None:
        yield Critical(
            f"{aims.url}{PATH} returns status {answer.status}, and the answer is not from this installation.",
            hint=f"Check where the proxy and the name point. The proxy must pass on {PATH} and all headers, and every "
            "process needs the same SECRET_KEY and the same version.",
            id="another-answers",
        )
        return
    yield from hsts(answer)
    yield from host(seen, aims.url)
    yield from scheme(seen, aims.url)
    yield from proxies(seen)
    yield from version(seen)
    yield from clock(answer)


@register("outside")
def plain_http_is_sent_on(aims: Aims) -> Iterator[CheckMessage]:
    """Ask port 80. Silence there is as good as a redirect."""
    parts = urlsplit(aims.url)
    if parts.scheme != "https" or parts.port not in (None, 443):
        return
    try:
        answer = visit(f"http://{parts.netloc}/docs/")
    except Unreachable:
        return
    yield from redirect(answer)


def certificate(answer: VisitAnswer) -> Iterator[CheckMessage]:
    if answer.certificate_ends is None or (days := days_until(answer.certificate_ends)) >= CERTIFICATE_DAYS:
        return
    yield Warning(
        f"The certificate expires in {days:.0f} days, so its renewal is failing.",
        hint="See the log of Caddy or certbot.",
        id="certificate-ends",
    )


def hsts(answer: VisitAnswer) -> Iterator[CheckMessage]:
    if answer.certificate_ends is None:
        return
    header = answer.headers.get("strict-transport-security", "")
    seconds = next((part.partition("=")[2] for part in header.split(";") if part.strip().startswith("max-age")), "0")
    if not seconds.strip('" ').isdigit() or int(seconds.strip('" ')) < HSTS_LEAST:
        yield Warning(
            "The service does not tell browsers to use https only (Strict-Transport-Security), or for less "
            "than half a year.",
            hint="Keep HSTS_SECONDS at its default, use https in BASE_URL, and make the proxy pass the header on.",
            id="hsts-missing",
        )


def redirect(answer: VisitAnswer) -> Iterator[CheckMessage]:
    if answer.status in REDIRECTS and answer.headers.get("location", "").startswith("https://"):
        return
    yield Warning(
        f"Plain http returns status {answer.status} instead of a redirect to https.",
        hint="Make the proxy redirect port 80 to https, or close the port.",
        id="plain-http-served",
    )


def host(seen: dict[str, Any], url: str) -> Iterator[CheckMessage]:
    """Compare the host that arrived with the one that was asked, and see whether it is served. Ports do not count."""
    name = str(seen["host"])
    if urlsplit(f"//{name}").hostname != urlsplit(url).hostname:
        yield Warning(
            f"The proxy passes on another host name: {name}.",
            hint="Make it pass on the caller's Host header (nginx: proxy_set_header Host $host).",
            id="host-changed",
        )
    if not seen["is_host_served"]:
        yield Critical(
            f"Requests arrive for the host {name}, which is not in ALLOWED_HOSTS: Watchword rejects them with 400.",
            hint="Add it to ALLOWED_HOSTS of the web processes.",
            id="host-refused",
        )


def scheme(seen: dict[str, Any], url: str) -> Iterator[CheckMessage]:
    if url.startswith("https://") and seen["trusted_proxies"] and not seen["is_https"]:
        yield Critical(
            "The proxy does not say that requests came over https, so the panel redirects in a loop.",
            hint="Make it set X-Forwarded-Proto (nginx: proxy_set_header X-Forwarded-Proto $scheme).",
            id="https-not-told",
        )


def proxies(seen: dict[str, Any]) -> Iterator[CheckMessage]:
    """Count the entries that proxies wrote behind the forged one, and compare them with TRUSTED_PROXIES.

    A proxy that replaces the header removes the forged entry; then every entry is a proxy's.
    """
    entries, trusted = [str(entry).strip() for entry in seen["forwarded_for"]], int(seen["trusted_proxies"])
    is_forged_there = FORGED in entries
    written = len(entries) - (entries.index(FORGED) + 1 if is_forged_there else 0)
    if trusted > written and is_forged_there:
        yield Critical(
            f"TRUSTED_PROXIES is {trusted}, but the number of proxies that set X-Forwarded-For is {written}. So "
            "callers can choose the address that limits apply to.",
            hint=f"Set TRUSTED_PROXIES={written}, or make the proxy in front replace the header. Nothing but the proxy "
            "may reach the web server.",
            id="client-addresses-forged",
        )
    elif trusted < written:
        yield Warning(
            f"TRUSTED_PROXIES is {trusted}, but the number of proxies that set X-Forwarded-For is {written}. So "
            "callers appear as a proxy and share its limits.",
            hint=f"Set TRUSTED_PROXIES={written}.",
            id="proxy-taken-for-caller",
        )


def version(seen: dict[str, Any]) -> Iterator[CheckMessage]:
    if seen["version"] != settings.VERSION:
        yield Warning(
            f"The web server runs version {seen['version']}, and this command is version {settings.VERSION}.",
            hint="The upgrade is not finished: restart the web processes with the new version.",
            id="web-version-differs",
        )


def clock(answer: VisitAnswer) -> Iterator[CheckMessage]:
    """Compare our clock with the Date of the answer, which is in whole seconds."""
    try:
        ahead = time.time() - parsedate_to_datetime(answer.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return
    if abs(ahead) > CLOCK_SECONDS + 1:
        yield Warning(
            f"The clocks of this machine and the web server differ by {abs(ahead):.0f} seconds.",
            hint="Check timedatectl on both, and start the time service.",
            id="web-clock-differs",
        )
