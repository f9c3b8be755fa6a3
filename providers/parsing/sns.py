"""Calls of Amazon's Simple Notification Service (SNS): what they say, and whether a topic of ours made them.

Amazon signs some fields of a call, each as its name and its value, a line each. The certificate stands at an address of
the topic's region, which we ask for; the call's own word for that address is only believed if it is such a one.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from providers.amazon import REGION
from providers.errors import HookForged

NOTIFICATION, CONFIRMATION, ENDED = "Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"
TOPIC = re.compile(rf"arn:aws[a-z-]*:sns:(?P<region>{REGION}):[0-9]{{12}}:[0-9A-Za-z_-]{{1,256}}")

_SIGNED = {
    NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    CONFIRMATION: ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}
_SIGNED[ENDED] = _SIGNED[CONFIRMATION]
_DIGESTS: Mapping[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303  (its first)
_CERTIFICATE_PATH = re.compile(r"/SimpleNotificationService-[0-9A-Za-z_-]{1,64}\.pem")


def host(topic: str) -> str:
    """Return the address of SNS in the topic's region, without a path."""
    found = TOPIC.fullmatch(topic)
    region = found["region"] if found else ""
    return f"https://sns.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def certificate_url(call: Mapping[str, Any], topic: str) -> str:
    """Return where a call's certificate stands. Raises :class:`HookForged` for any place but the topic's region."""
    url = str(call.get("SigningCertURL"))
    root = host(topic)
    if call.get("TopicArn") != topic or not url.startswith(root) or not _CERTIFICATE_PATH.fullmatch(url[len(root) :]):
        raise HookForged("the call is of another topic, or its certificate is not Amazon's")
    return url


def verify(call: Mapping[str, Any], certificate: bytes) -> None:
    """Raise :class:`HookForged` unless the owner of the certificate, in PEM, signed the call."""
    names, digest = _SIGNED.get(str(call.get("Type"))), _DIGESTS.get(str(call.get("SignatureVersion")))
    if names is None or digest is None:
        raise HookForged("the call is not signed as Amazon signs")
    text = "".join(f"{name}\n{call[name]}\n" for name in names if isinstance(call.get(name), str))
    try:
        key = x509.load_pem_x509_certificate(certificate).public_key()
        signature = base64.b64decode(str(call.get("Signature")), validate=True)
        if not isinstance(key, RSAPublicKey):
            raise HookForged("the certificate is of another kind")
        key.verify(signature, text.encode("utf-8", "replace"), PKCS1v15(), digest)
    except (ValueError, binascii.Error, InvalidSignature):
        raise HookForged("the signature is not valid") from None


def unwrapped(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event that EventBridge has wrapped on its way to the topic; any other as it is."""
    detail = event.get("detail")
    return detail if isinstance(detail, dict) and "detail-type" in event else event


def confirmation_url(call: Mapping[str, Any], topic: str) -> str:
    """Return the address that confirms a subscription, made of its token alone."""
    asked = {"Action": "ConfirmSubscription", "TopicArn": topic, "Token": str(call.get("Token"))}
    return f"{host(topic)}/?{urlencode(asked)}"
