"""Envelopes: the code of a manual send, encrypted for the secret key that sent it."""

from __future__ import annotations

import base64
import binascii
import hashlib

from watchword.errors import EnvelopeRefused

IV_BYTES, TAG_BYTES = 12, 16


def open_envelope(envelope: str, secret_key: str) -> str:
    """Return the code in an envelope. Needs the package ``cryptography``, the extra ``decrypt``."""
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ImportError("Opening envelopes needs: pip install cryptography") from None
    label, *parts = envelope.split(":")
    try:
        iv, ciphertext, tag = (base64.b64decode(part, validate=True) for part in parts)
    except (binascii.Error, ValueError):
        raise EnvelopeRefused("This is not an envelope.") from None
    if label != "aes256" or len(iv) != IV_BYTES or len(tag) != TAG_BYTES:
        raise EnvelopeRefused("This is not an envelope.")
    key = hashlib.sha256(secret_key.encode()).digest()
    try:
        return AESGCM(key).decrypt(iv, ciphertext + tag, None).decode()
    except InvalidTag:
        raise EnvelopeRefused("The envelope was changed, or it belongs to another secret key.") from None
