"""The service's own secrets: from the environment, or made once and kept under ``var/`` when it runs embedded."""

import base64
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment

SECRET_KEY_MIN_CHARACTERS = 50  # as Django's own deployment check asks.
SECRET_KEY_MIN_DISTINCT = 8  # characters. Next to no random secret has fewer, not even one of digits alone.
TOKEN_MIN_CHARACTERS = 32  # of METRICS_TOKEN. That many random characters are out of reach of any guessing.
ENCRYPTION_KEY_BYTES = 32  # AES-256
ENCRYPTION_KEY_MIN_DISTINCT = 16  # bytes. Of 32 random bytes about 30 are distinct.
URL_SAFE_TO_PLAIN = str.maketrans("-_", "+/")
PLACEHOLDERS = ("change", "default", "example", "insecure", "password", "replace", "secret")


@dataclass(frozen=True, slots=True)
class ServiceSecrets:
    secret_key: str
    secret_key_fallbacks: list[str]
    encryption_keys: list[bytes]


def load(env: Environment, *, home: Path, is_embedded: bool) -> ServiceSecrets:
    """Read and judge the secrets. Raises ``ImproperlyConfigured`` with one line that says what to set."""
    made = _made(home) if is_embedded else {}
    secret_key = env.str("SECRET_KEY", default=made.get("SECRET_KEY", ""))
    encryption_keys = env.list("ENCRYPTION_KEYS", default=[made["ENCRYPTION_KEYS"]] if made else [])
    fallbacks = env.list("SECRET_KEY_FALLBACKS", default=[])
    _check_secret_key("SECRET_KEY", secret_key)
    for fallback in fallbacks:
        _check_secret_key("SECRET_KEY_FALLBACKS", fallback)
    keys = [_decode_key(text) for text in encryption_keys]
    if not keys:
        raise ImproperlyConfigured(
            'ENCRYPTION_KEYS is not set. Create one with: python -c "import '
            'secrets,base64;print(base64.b64encode(secrets.token_bytes(32)).decode())"'
        )
    _check_apart([secret_key, *fallbacks], keys)
    return ServiceSecrets(secret_key, fallbacks, keys)


def _check_secret_key(name: str, secret_key: str) -> None:
    if not secret_key:
        raise ImproperlyConfigured(f"{name} is not set. Give at least 50 random characters.")
    too_plain = len(set(secret_key)) < SECRET_KEY_MIN_DISTINCT
    if len(secret_key) < SECRET_KEY_MIN_CHARACTERS or too_plain:
        raise ImproperlyConfigured(f"{name} is too weak. Give at least 50 random characters.")
    if any(word in secret_key.lower() for word in PLACEHOLDERS):
        raise ImproperlyConfigured(f"{name} looks like a placeholder. Give at least 50 random characters.")


def _check_apart(secret_keys: list[str], encryption_keys: list[bytes]) -> None:
    """Each secret guards something else, so whoever learns one must not have learned another."""
    if len(set(secret_keys)) < len(secret_keys):
        raise ImproperlyConfigured("SECRET_KEY and SECRET_KEY_FALLBACKS contain the same secret twice.")
    if len(set(encryption_keys)) < len(encryption_keys):
        raise ImproperlyConfigured("ENCRYPTION_KEYS contains the same key twice.")
    codings = (base64.b64encode, base64.urlsafe_b64encode)
    texts = {encode(key).decode().rstrip("=") for key in encryption_keys for encode in codings}
    if any(text in secret_key for text in texts for secret_key in secret_keys):
        raise ImproperlyConfigured("SECRET_KEY and ENCRYPTION_KEYS contain the same secret. Create one for each.")


def _decode_key(text: str) -> bytes:
    """Read base64 of either alphabet, with or without padding: tools that make keys write any of these."""
    plain = text.strip().rstrip("=").translate(URL_SAFE_TO_PLAIN)
    try:
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        key = b""
    if len(key) != ENCRYPTION_KEY_BYTES or len(set(key)) < ENCRYPTION_KEY_MIN_DISTINCT:
        raise ImproperlyConfigured("ENCRYPTION_KEYS contains a key that is not 32 random bytes in base64.")
    return key


def _made(home: Path) -> dict[str, str]:
    try:
        return _made_once(home)
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot store secrets in {home}: {error.strerror}. Set WATCHWORD_HOME to a folder of your own."
        ) from None
    except ValueError:
        raise ImproperlyConfigured(f"{home / 'secrets.json'} is damaged. Restore it from a backup.") from None


def _made_once(home: Path) -> dict[str, str]:
    """The embedded mode's secrets, in a file that only its owner reads. Two first starts agree on one file."""
    path = home / "secrets.json"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        made = {
            "SECRET_KEY": secrets.token_urlsafe(48),
            "ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(ENCRYPTION_KEY_BYTES)).decode(),
        }
        draft = path.with_suffix(f".{os.getpid()}")
        try:
            draft.touch(mode=0o600)
            draft.write_text(json.dumps(made))
            os.link(draft, path)  # fails where another process was first
        except FileExistsError:
            pass
        finally:
            draft.unlink(missing_ok=True)
    made_before: dict[str, str] = json.loads(path.read_text())
    return made_before
