"""The domains that mails are sent from: SPF, DKIM and DMARC, and whether alerts to owners can be mailed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from email.utils import parseaddr
from functools import partial
from smtplib import SMTPException
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from django.conf import settings
from django.core.checks import CheckMessage, Critical, Info, Warning
from django.core.mail import get_connection
from dns.exception import DNSException
from dns.resolver import NXDOMAIN, NoAnswer, Resolver

from verification.checks.providers import in_use
from verification.checks.registry import Aims, named, register
from verification.core.mail_server import WITHOUT_SERVER
from verification.models import ChannelType
from verification.services.notifications import own_ways

Ask = Callable[[str], list[str]]
# Ends of names that no public name server knows (RFC 6761), and those of private networks.
PRIVATE = ("test", "example", "invalid", "localhost", "local", "internal", "lan", "home.arpa")
# The selectors that mail servers and mail services use without being told: ours to try where none is given.
USUAL_SELECTORS = (
    *("default", "dkim", "mail", "email", "selector1", "selector2", "s1", "s2", "k1", "k2", "k3", "google", "smtp"),
    *("mx", "resend", "brevo1", "brevo2", "mailjet", "mlsend", "mta", "pic", "postmark", "sparkpost", "scph0920"),
)
TRY_SECONDS = 3.0  # for one try, over UDP or, where the answer is long, over TCP
QUESTION_SECONDS = 6.0  # a packet may be lost, so a question is tried once more
LEAST_RSA_BITS = 1_024  # Below that, receivers ignore the signature (RFC 8301).
OWN_SERVER = "smtp"  # the type of provider whose mails have our domain as their envelope's, so that SPF is asked there
SILENT_CONNECTIONS = (*WITHOUT_SERVER, "django.core.mail.backends.locmem.EmailBackend")


@register("mail")
def domains_are_set_up(aims: Aims) -> Iterator[CheckMessage]:
    for domain, needs_spf in sending_domains().items():
        try:
            yield from check_domain(domain, partial(texts_of, server=aims.nameserver), needs_spf, aims.dkim_selectors)
        except (DNSException, ValueError) as error:
            yield Info(
                f"The doctor could not look up SPF, DKIM and DMARC of {domain}: {error}",
                hint="Name a name server that answers from here with --nameserver.",
                id="domain-not-asked",
            )


def check_domain(domain: str, ask: Ask, needs_spf: bool, selectors: tuple[str, ...]) -> Iterator[CheckMessage]:
    yield from spf(domain, ask, is_needed=needs_spf)
    yield from dkim(domain, ask, selectors)
    yield from dmarc(domain, ask)


@register("mail")
def alerts_can_be_mailed(aims: Aims) -> Iterator[CheckMessage]:
    """Log in to the mail server of EMAIL_URL, and send nothing."""
    if settings.EMAIL_BACKEND in SILENT_CONNECTIONS:
        return
    connection = get_connection()
    try:
        connection.open()
    except (OSError, SMTPException) as error:
        yield Warning(
            f"Alerts and invitations are not mailed: EMAIL_URL's server fails ({type(error).__name__}).",
            hint="Check EMAIL_URL: host, port, user and password, and whether this machine reaches the port.",
            id="alerts-not-mailed",
        )
    else:
        connection.close()


@register("mail")
def alerts_reach_somebody(aims: Aims) -> Iterator[CheckMessage]:
    if settings.IS_EMBEDDED:
        return
    if silent := own_ways.without_any():
        yield Warning(
            f"Alerts of {named([f'{row.name} ({row.pk})' for row in silent])} reach nobody outside the panel.",
            hint="Set EMAIL_URL and give each project alert_emails or a member with an address, or set its alert_url.",
            id="alerts-reach-nobody",
        )


def sending_domains() -> dict[str, bool]:
    """Return the domains in the sender's addresses, and whether our own mail server sends for them."""
    senders = [
        (str(row.settings.get("from_email", "")), row.type == OWN_SERVER)
        for row in in_use()
        if row.channel == ChannelType.EMAIL
    ]
    if settings.EMAIL_BACKEND not in SILENT_CONNECTIONS:
        senders.append((settings.DEFAULT_FROM_EMAIL, True))
    found: dict[str, bool] = {}
    for sender, is_own in senders:
        domain = parseaddr(sender)[1].rpartition("@")[2].lower().rstrip(".")
        if is_public(domain):
            found[domain] = found.get(domain, False) or is_own
    return found


def is_public(domain: str) -> bool:
    is_address = domain.replace(".", "").isdigit() or domain.startswith("[")
    return "." in domain and not is_address and not domain.endswith(tuple(f".{end}" for end in PRIVATE))


def spf(domain: str, ask: Ask, *, is_needed: bool) -> Iterator[CheckMessage]:
    found = [text for text in ask(domain) if text.lower().split(" ")[0] == "v=spf1"]
    if not found and is_needed:
        yield Warning(
            f"{domain} has no SPF record: mail servers treat our codes as spam, or reject them.",
            hint=f'Publish a TXT record at {domain} that names your mail server, such as "v=spf1 mx -all".',
            id="spf-missing",
        )
    if len(found) > 1:
        yield Critical(
            f"{domain} has {len(found)} SPF records, which mail servers treat as an error.",
            hint="Merge them into one record.",
            id="spf-twice",
        )
    if any(term.lower() in ("+all", "all") for text in found for term in text.split()):
        yield Critical(
            f"The SPF record of {domain} lets everybody (+all) send mail in its name.",
            hint="End it with -all.",
            id="spf-open",
        )


def dkim(domain: str, ask: Ask, selectors: tuple[str, ...]) -> Iterator[CheckMessage]:
    """Look at the keys of the given selectors, or else try the usual ones, as nobody can list them."""
    for selector in selectors or USUAL_SELECTORS:
        texts = ask(f"{selector}._domainkey.{domain}")
        keys = [tags for text in texts if "p" in (tags := tags_of(text))]
        if keys:
            if fault := fault_of(keys[0]):
                yield Critical(
                    f"The DKIM key {selector} of {domain} {fault}: mail servers ignore signatures made with it.",
                    hint="Create a new key pair at the mail server, with 2048 bits, and publish its public key.",
                    id="dkim-unusable",
                )
            if not selectors:
                return
        elif selectors:
            yield Warning(
                f"{domain} has no DKIM key under the selector {selector}.",
                hint=f"Publish the mail server's public key as a TXT record at {selector}._domainkey.{domain}.",
                id="dkim-missing",
            )
    if not selectors:
        yield Info(
            f"{domain} has no DKIM key under the usual selectors.",
            hint="Pass your mail server's selector (--dkim-selector). If it does not sign, turn signing on: large "
            "mailbox providers reject unsigned mail.",
            id="dkim-not-found",
        )


def dmarc(domain: str, ask: Ask) -> Iterator[CheckMessage]:
    """Look at the domain, and then at those above it, as receivers do."""
    labels = domain.split(".")
    for name in (".".join(labels[start:]) for start in range(len(labels) - 1)):
        found = [text for text in ask(f"_dmarc.{name}") if text.replace(" ", "").lower().startswith("v=dmarc1")]
        if len(found) > 1:
            yield Warning(
                f"{name} has {len(found)} DMARC records, so mail servers ignore all of them.",
                hint="Keep one.",
                id="dmarc-twice",
            )
        elif found and tags_of(found[0]).get("p", "").lower() not in ("none", "quarantine", "reject"):
            yield Warning(
                f"The DMARC record of {name} has no valid policy (p=).",
                hint=f'Write it as "v=DMARC1; p=none; rua=mailto:you@{name}".',
                id="dmarc-unreadable",
            )
        if found:
            return
    yield Warning(
        f"{domain} has no DMARC record, which large mailbox providers require from bulk senders.",
        hint=f'Publish a TXT record at _dmarc.{domain}, such as "v=DMARC1; p=none; rua=mailto:you@{domain}".',
        id="dmarc-missing",
    )


def tags_of(text: str) -> dict[str, str]:
    """Read a record of the form ``v=DKIM1; k=rsa; p=…``."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip().lower(): "".join(value.split()) for name, _, value in pairs}


def fault_of(tags: dict[str, str]) -> str:
    """Return what is wrong with a DKIM key, or ""."""
    if not tags["p"]:
        return "is revoked (p= is empty)"
    if tags.get("k", "rsa").lower() != "rsa":
        return ""
    try:
        key = load_der_public_key(base64.b64decode(tags["p"], validate=True))
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        return "cannot be read"
    if isinstance(key, RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        return f"has {key.key_size} bits"
    return ""


def texts_of(name: str, server: str = "") -> list[str]:
    """Return the TXT records of a name, each in one piece; none where there is no such name.

    Raises ``DNSException``, and ``ValueError`` for a name server that is not an address with or without a port.
    """
    resolver = Resolver(configure=not server)
    if server:
        at = urlsplit(f"//[{server}]" if server.count(":") > 1 and "[" not in server else f"//{server}")
        resolver.nameservers, resolver.port = [at.hostname or ""], at.port or resolver.port
    resolver.timeout = TRY_SECONDS
    try:
        found = resolver.resolve(name, "TXT", lifetime=QUESTION_SECONDS, search=False)
    except (NXDOMAIN, NoAnswer):
        return []
    # The strings of one record belong together, as mail servers join them (RFC 7208, 3.3).
    return [b"".join(record.strings).decode("utf-8", "replace") for record in found]
