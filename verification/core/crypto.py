"""Encryption and digests of what must not be read from a database dump.

What must be read back (codes for sending, providers' credentials) is AES-256-GCM under a ring of keys. Its row and
column are associated data, so a ciphertext that is copied to another row does not open.

What is only compared is a digest: a labelled SHA-256 of keys and tokens, which are random, and a keyed HMAC of what
can be guessed. Such an HMAC also stands in for a recipient's address once that is gone: only the holder of
``SECRET_KEY`` can match it with an address, and with another key it matches nothing any more.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from verification.core.caching import Cached

NONCE_BYTES = 12  # what GCM is defined for
TAG_BYTES = 16
FORMAT = b"\x01"
KEY_ID_FROM = len(FORMAT)
KEY_ID_BYTES = 4  # tells the keys of a ring apart


class DecryptionFailed(Exception):
    """No key of the ring opens this ciphertext under this binding."""


class KeyUnknown(DecryptionFailed):
    """The ciphertext is under a key that the ring does not have: another process may have it."""


def encrypt(plain: str, *, binding: str) -> bytes:
    """Encrypt ``plain`` under the newest key. ``binding`` names the row and column; decrypting needs it again.

    Shape: 1 byte format, 4 bytes key id, 12 bytes nonce, ciphertext, 16 bytes tag.
    """
    key_id, cipher = next(iter(_ring().items()))
    nonce = secrets.token_bytes(NONCE_BYTES)
    return FORMAT + key_id + nonce + cipher.encrypt(nonce, plain.encode(), binding.encode())


def decrypt(ciphertext: bytes, *, binding: str) -> str:
    """Decrypt. Raises :class:`KeyUnknown`, and :class:`DecryptionFailed` for another binding or changed bytes."""
    blob = bytes(ciphertext)
    nonce, body = blob[5:17], blob[17:]
    cipher = _ring().get(key_id_of(blob))
    if blob[:1] != FORMAT:
        raise DecryptionFailed("The ciphertext is of an unknown format.")
    if cipher is None:
        raise KeyUnknown("The ciphertext is under an unknown key.")
    try:
        return cipher.decrypt(nonce, body, binding.encode()).decode()
    except (InvalidTag, ValueError):  # the latter for what is too short to be one
        raise DecryptionFailed("The ciphertext does not belong here or was changed.") from None


def key_id_of(ciphertext: bytes) -> bytes:
    """Return the id of the key that it is under: the first bytes of that key's SHA-256."""
    return bytes(ciphertext)[KEY_ID_FROM : KEY_ID_FROM + KEY_ID_BYTES]


def key_ids() -> list[bytes]:
    """Return the ids of the ring's keys, the newest first."""
    return list(_ring())


def stored_digest(text: str, *, kind: str) -> bytes:
    """Return SHA-256 of a label and the SHA-256 of a text that is too random to be guessed, such as a key or a token.

    The plain SHA-256 is not kept: that of a secret key's text is the key of its envelopes. No secret of ours takes
    part, so replacing one voids no key.
    """
    return hashlib.sha256(f"watchword {kind}\0".encode() + _sha256(text)).digest()


def body_digests(body: str) -> list[bytes]:
    """HMAC-SHA-256 of a request's body, which may hold a code: under ``SECRET_KEY``, then under its fallbacks."""
    return [hmac.digest(key, body.encode(), "sha256") for key in _body_keys()]


def code_digest(code: str, *, session_id: str) -> bytes:
    """HMAC-SHA-256 of a code, keyed by a pepper outside the database and bound to its session."""
    return code_digests(code, session_id=session_id)[0]


def code_digests(code: str, *, session_id: str) -> list[bytes]:
    """The same under ``SECRET_KEY``, then under its fallbacks: a change of it ends no code."""
    return [hmac.digest(pepper, f"{session_id}:{code}".encode(), "sha256") for pepper in _peppers()]


def guess_digest(code: str, *, project_id: int) -> bytes:
    """HMAC-SHA-256 of a wrong code, cut to 16 bytes: tells whether one value is tried on many sessions of a project."""
    return hmac.digest(_peppers()[0], f"guess:{project_id}:{code}".encode(), "sha256")[:16]


def address_digest(address: str, *, purpose: str) -> str:
    """A keyed hash of an address, in hex: numbers are few enough to be tried, so a plain one would hide nothing."""
    return hmac.digest(_address_key(), f"{purpose}:{address}".encode(), "sha256").hex()


def seal_for_key(plain: str, *, secret_key: str) -> str:
    """The ``aes256:<iv>:<ciphertext>:<tag>`` envelope of manual send.

    AES-256-GCM, key = SHA-256 of the secret key's text, fresh 12-byte IV, 16-byte tag, segments in padded base64.
    """
    iv = secrets.token_bytes(NONCE_BYTES)
    sealed = AESGCM(_sha256(secret_key)).encrypt(iv, plain.encode(), None)
    segments = (iv, sealed[:-TAG_BYTES], sealed[-TAG_BYTES:])
    return ":".join(["aes256", *(base64.b64encode(segment).decode() for segment in segments)])


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@Cached
def _ring() -> dict[bytes, AESGCM]:
    return {hashlib.sha256(key).digest()[:KEY_ID_BYTES]: AESGCM(key) for key in settings.ENCRYPTION_KEYS}


def _derived(purpose: bytes) -> list[bytes]:
    """Return the keys of one purpose: that of ``SECRET_KEY``, which is used, then those of its fallbacks."""
    return [
        HKDF(SHA256(), 32, None, purpose).derive(secret.encode())
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]


@Cached
def _peppers() -> list[bytes]:
    return _derived(b"watchword code pepper")


@Cached
def _address_key() -> bytes:
    """The key of ``SECRET_KEY`` alone: an address that was hashed under another one is not recognised."""
    return _derived(b"watchword address hash")[0]


@Cached
def _body_keys() -> list[bytes]:
    return _derived(b"watchword request bodies")


@Cached
def puzzle_keys() -> list[bytes]:
    """Return the keys of the puzzles of our own challenge, each for its two minutes. The first one signs."""
    return _derived(b"watchword puzzles")


# The binding of each ciphertext to its row.
def session_code_binding(session_id: str) -> str:
    return f"session:{session_id}:code"


def message_code_binding(message_id: int) -> str:
    return f"message:{message_id}:code"


def provider_secrets_binding(provider_uuid: object) -> str:
    """Bind by UUID, which a provider has before its row is first saved."""
    return f"provider:{provider_uuid}:secrets"


def provider_hook_binding(provider_uuid: object) -> str:
    return f"provider:{provider_uuid}:hook"


def idempotent_answer_binding(project_id: int, key: str) -> str:
    return f"project:{project_id}:idempotent:{key}"


def test_login_binding(project_public_id: object, to: str) -> str:
    return f"project:{project_public_id}:test_login:{to}"


def webhook_secret_binding(project_public_id: object) -> str:
    return f"project:{project_public_id}:webhook"


def connection_secret_binding(connection_public_id: object) -> str:
    """Bind by UUID, which a connection has before its row is first saved."""
    return f"connection:{connection_public_id}:secret"


def challenge_secret_binding(project_public_id: object) -> str:
    return f"project:{project_public_id}:challenge"


def project_secret_binding(project_public_id: object, name: str) -> str:
    """Bind a setting of a project that is a secret. That of its challenges has a name from before there were others."""
    if name == "challenge_secret":
        return challenge_secret_binding(project_public_id)
    return f"project:{project_public_id}:{name}"


def alert_service_binding(service_uuid: object) -> str:
    """Bind by UUID, which a service has before its row is first saved."""
    return f"alert_service:{service_uuid}:secret"


def second_factor_binding(user_id: object) -> str:
    return f"user:{user_id}:second_factor"


def held_form_binding(session_key: str | None, path: str) -> str:
    """Bind a form that was filled in, while the user is asked for their password."""
    return f"session:{session_key}:form:{path}"


HASHED = "hashed:"  # marks old rows of a project that keeps its rows without addresses.
FORGOTTEN = "forgotten:"  # marks what a day's limits and an opt-out need of a recipient who was erased


def hashed_address(project_id: int, address: str) -> str:
    return HASHED + address_digest(address, purpose=f"{HASHED}{project_id}")


def erased_address(address: str) -> str:
    """Return the hash without the project, by which the platform's limit still counts what was sent to the erased."""
    return address_digest(address, purpose="erased")


def forgotten_address(project_id: int, address: str) -> str:
    return FORGOTTEN + address_digest(address, purpose=f"{FORGOTTEN}{project_id}")
