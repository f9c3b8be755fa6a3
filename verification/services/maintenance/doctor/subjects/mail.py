"""The domains that mails are sent from: SPF, DKIM and DMARC, and whether alerts to owners can be mailed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from email.utils import parseaddr
from smtplib import SMTPException

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from django.conf import settings
from django.core.mail import get_connection

from verification.core.mail_server import WITHOUT_SERVER
from verification.models import ChannelType
from verification.services.maintenance.doctor.findings import Aims, Finding, critical, note, warning
from verification.services.maintenance.doctor.name_server import NameServerSilent, texts_of
from verification.services.maintenance.doctor.subjects.functions import named
from verification.services.maintenance.doctor.subjects.providers import in_use
from verification.services.notifications import own_ways

Ask = Callable[[str], list[str]]
# Ends of names that no public name server knows (RFC 6761), and those of private networks.
PRIVATE = ("test", "example", "invalid", "localhost", "local", "internal", "lan", "home.arpa")
# Second levels under which a country's registry sells names, as in example.co.uk.
REGISTRIES = ("ac", "co", "com", "edu", "gov", "net", "ne", "or", "org")
# The selectors that mail servers and mail services use without being told: ours to try where none is given.
USUAL_SELECTORS = (
    *("default", "dkim", "mail", "email", "selector1", "selector2", "s1", "s2", "k1", "k2", "k3", "google", "smtp"),
    *("mx", "resend", "brevo1", "brevo2", "mailjet", "mlsend", "mta", "pic", "postmark", "sparkpost", "scph0920"),
)
LEAST_RSA_BITS = 1_024  # Below that, receivers ignore the signature (RFC 8301).
OWN_SERVER = "smtp"  # the type of provider whose mails have our domain as their envelope's, so that SPF is asked there
SILENT_CONNECTIONS = (*WITHOUT_SERVER, "django.core.mail.backends.locmem.EmailBackend")


def domains_are_set_up(aims: Aims) -> Iterator[Finding]:
    for domain, needs_spf in sending_domains().items():
        try:
            yield from check_domain(
                domain,
                lambda name: texts_of(name, aims.nameserver),
                needs_spf=needs_spf,
                selectors=aims.dkim_selectors,
            )
        except NameServerSilent as error:
            yield note(
                "domain-not-asked",
                f"The doctor could not look up SPF, DKIM and DMARC of {domain}: {error}.",
                "Name a name server that answers from here with --nameserver.",
            )


def alerts_can_be_mailed(aims: Aims) -> Iterator[Finding]:
    """Log in to the mail server of EMAIL_URL, and send nothing."""
    if settings.EMAIL_BACKEND in SILENT_CONNECTIONS:
        return
    connection = get_connection()
    try:
        connection.open()
    except (OSError, SMTPException) as error:
        yield warning(
            "alerts-not-mailed",
            f"Watchword cannot use the mail server of EMAIL_URL ({type(error).__name__}): alerts and invitations "
            "reach nobody.",
            "Check EMAIL_URL: host, port, user and password, and whether this machine reaches the port.",
        )
    else:
        connection.close()


def alerts_reach_somebody(aims: Aims) -> Iterator[Finding]:
    if settings.IS_EMBEDDED:
        return
    if silent := own_ways.without_any():
        yield warning(
            "alerts-reach-nobody",
            f"Alerts of {named([f'{row.name} ({row.pk})' for row in silent])} reach nobody outside the panel.",
            "Set EMAIL_URL and give each project alert_emails or a member with an address, or set its alert_url.",
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


def check_domain(domain: str, ask: Ask, *, needs_spf: bool, selectors: tuple[str, ...]) -> Iterator[Finding]:
    yield from spf(domain, ask, is_needed=needs_spf)
    yield from dkim(domain, ask, selectors)
    yield from dmarc(domain, ask)


def spf(domain: str, ask: Ask, *, is_needed: bool) -> Iterator[Finding]:
    found = [text for text in ask(domain) if text.lower().split(" ")[0] == "v=spf1"]
    if not found and is_needed:
        yield warning(
            "spf-missing",
            f"{domain} has no SPF record: mail servers treat our codes as spam, or reject them.",
            f'Publish a TXT record at {domain} that names your mail server, such as "v=spf1 mx -all".',
        )
    if len(found) > 1:
        yield critical(
            "spf-twice",
            f"{domain} has {len(found)} SPF records, which mail servers treat as an error.",
            "Merge them into one record.",
        )
    if any(term.lower() in ("+all", "all") for text in found for term in text.split()):
        yield critical(
            "spf-open", f"The SPF record of {domain} lets everybody (+all) send mail in its name.", "End it with -all."
        )


def dkim(domain: str, ask: Ask, selectors: tuple[str, ...]) -> Iterator[Finding]:
    """Look at the keys of the given selectors, or else try the usual ones, as nobody can list them."""
    for selector in selectors or USUAL_SELECTORS:
        texts = ask(f"{selector}._domainkey.{domain}")
        keys = [tags for text in texts if "p" in (tags := tags_of(text))]
        if keys:
            if fault := fault_of(keys[0]):
                yield critical(
                    "dkim-unusable",
                    f"The DKIM key {selector} of {domain} {fault}: mail servers ignore signatures made with it.",
                    "Create a new key pair at the mail server, with 2048 bits, and publish its public key.",
                )
            if not selectors:
                return
        elif selectors:
            yield warning(
                "dkim-missing",
                f"{domain} has no DKIM key under the selector {selector}.",
                f"Publish the mail server's public key as a TXT record at {selector}._domainkey.{domain}.",
            )
    if not selectors:
        yield note(
            "dkim-not-found",
            f"{domain} has no DKIM key under the usual selectors.",
            "Pass the selector that your mail server signs with (--dkim-selector). If it does not sign, turn signing "
            "on: large mailbox providers reject unsigned mail.",
        )


def dmarc(domain: str, ask: Ask) -> Iterator[Finding]:
    """Look at the domain, and then at the registered one above it, as receivers do."""
    above = domain_of(domain)
    for name in dict.fromkeys((domain, above)):
        found = [text for text in ask(f"_dmarc.{name}") if text.replace(" ", "").lower().startswith("v=dmarc1")]
        if len(found) > 1:
            yield warning(
                "dmarc-twice",
                f"{name} has {len(found)} DMARC records, so mail servers ignore all of them.",
                "Keep one.",
            )
            return
        if found and tags_of(found[0]).get("p", "").lower() not in ("none", "quarantine", "reject"):
            yield warning(
                "dmarc-unreadable",
                f"The DMARC record of {name} has no valid policy (p=).",
                f'Write it as "v=DMARC1; p=none; rua=mailto:you@{name}".',
            )
        if found:
            return
    yield warning(
        "dmarc-missing",
        f"{domain} has no DMARC record, which large mailbox providers require from bulk senders.",
        f'Publish a TXT record at _dmarc.{above}, such as "v=DMARC1; p=none; rua=mailto:you@{above}".',
    )


def domain_of(host: str) -> str:
    """Return the domain that somebody registered to have this name, as far as its writing tells."""
    labels = host.split(".")
    is_under_registry = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in REGISTRIES
    return ".".join(labels[-3 if is_under_registry else -2 :])


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


CHECKS = (domains_are_set_up, alerts_can_be_mailed, alerts_reach_somebody)
