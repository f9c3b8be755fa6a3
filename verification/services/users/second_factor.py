"""The second factor of the panel's users: codes of an app (TOTP, RFC 6238), and recovery codes for its loss."""

from __future__ import annotations

import base64
import secrets
import time
from datetime import timedelta
from urllib.parse import quote

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_otp.oath import TOTP

from verification import bindings
from verification.crypto import decrypt, encrypt, stored_digest
from verification.models import RecoveryCode, SecondFactor
from verification.services.records import audit

ISSUER = "Watchword"
SECRET_BYTES = 20  # RFC 4226 asks for 160 bits
STEP_SECONDS = 30  # life of one code, RFC 6238's default; not all apps know another
TOLERANCE = 1  # steps that a clock may be off either way
RECOVERY_CODES = 10  # drawn at a time; each works once
RECOVERY_BYTES = 10  # 80 random bits of a recovery code, too many to be guessed from an unkeyed digest
MAX_WAIT_SECONDS = 900  # longest wait between two tries; it doubles with every wrong one


def factor_of(user: User) -> int | None:
    """Return the id of the user's factor, or None. A factor that is set up anew gets a new id."""
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).values_list("pk", flat=True).first()


@transaction.atomic
def begin(user: User, shown: int = 0) -> tuple[int, str]:
    """Return a factor to be set up: its id, and the secret in base32 for the user's app.

    The factor with the id ``shown`` is returned while it stands. Any other is replaced: somebody else who saw its
    secret would have the factor too.
    """
    begun = SecondFactor.objects.filter(user=user, confirmed_at=None)
    factor = begun.filter(pk=shown).first()
    if factor is None:
        begun.delete()
        text = base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
        factor = SecondFactor.objects.create(user=user, secret=encrypt(text, binding=bindings.second_factor(user.pk)))
    return factor.pk, decrypt(bytes(factor.secret), binding=bindings.second_factor(user.pk))


def key_uri(user: User, secret: str) -> str:
    """Return the URI that the QR code shows to the app."""
    return f"otpauth://totp/{ISSUER}:{quote(user.get_username())}?secret={secret}&issuer={ISSUER}"


@transaction.atomic
def confirm(user: User, factor_id: int, code: str) -> list[str] | None:
    """Switch the factor on by a first code of the app. Return the recovery codes, or None for a wrong code."""
    factor = SecondFactor.objects.select_for_update().filter(pk=factor_id, user=user, confirmed_at=None).first()
    if factor is None or not _spend_try(factor, code):
        return None
    factor.confirmed_at = timezone.now()
    factor.save(update_fields=("confirmed_at",))
    audit.record("Set up the second factor", row=user, label=user.get_username(), who=user.get_username())
    return _draw_recovery_codes(user)


@transaction.atomic
def check(user: User, code: str) -> bool:
    """Return whether it is a code of the user's app, or one of their recovery codes. Either is good once.

    The row's lock takes tries one by one, so a wrong one is counted before the next is looked at.
    """
    factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
    return factor is not None and _spend_try(factor, code)


@transaction.atomic
def renew_recovery_codes(user: User) -> list[str]:
    """Draw new recovery codes. The old ones are void."""
    audit.record("Drew new recovery codes", row=user, label=user.get_username())
    return _draw_recovery_codes(user)


@transaction.atomic
def reset(user: User) -> bool:
    """Remove the factor, so that the user sets up another at the next login. Return False if there was none."""
    RecoveryCode.objects.filter(user=user).delete()
    deleted, _ = SecondFactor.objects.filter(user=user).delete()
    if deleted:
        audit.record("Reset the second factor", row=user, label=user.get_username())
    return bool(deleted)


def _spend_try(factor: SecondFactor, code: str) -> bool:
    if factor.failed_at and timezone.now() < factor.failed_at + _wait(factor.failures):
        return False
    code = code.replace(" ", "").replace("-", "").upper()
    is_right = _is_code_of_app(factor, code) or _use_recovery_code(factor, code)
    factor.failures = 0 if is_right else factor.failures + 1
    factor.failed_at = None if is_right else timezone.now()
    factor.save(update_fields=("failures", "failed_at", "last_step"))
    return is_right


def _wait(failures: int) -> timedelta:
    return timedelta(seconds=min(2 ** (failures - 1), MAX_WAIT_SECONDS) if failures else 0)


def _is_code_of_app(factor: SecondFactor, code: str) -> bool:
    """Accept only a later time step than the last one used: an observed code cannot be replayed."""
    if not (len(code) == 6 and code.isascii() and code.isdigit()):
        return False
    key = base64.b32decode(decrypt(bytes(factor.secret), binding=bindings.second_factor(factor.user_id)))
    totp = TOTP(key, step=STEP_SECONDS)
    totp.time = time.time()
    if not totp.verify(int(code), tolerance=TOLERANCE, min_t=factor.last_step + 1):
        return False
    factor.last_step = totp.t()
    return True


def _use_recovery_code(factor: SecondFactor, code: str) -> bool:
    unused = RecoveryCode.objects.filter(user_id=factor.user_id, digest=_digest(code), used_at=None)
    if factor.confirmed_at is None or not unused.update(used_at=timezone.now()):
        return False
    audit.record("Used a recovery code", row=factor.user, label=factor.user.get_username())
    return True


def _digest(recovery_code: str) -> bytes:
    return stored_digest(recovery_code, kind="recovery code")


def _draw_recovery_codes(user: User) -> list[str]:
    RecoveryCode.objects.filter(user=user).delete()
    codes = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(code)) for code in codes)
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]
