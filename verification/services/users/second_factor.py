"""The second factor of the panel's users: codes of an app (TOTP, RFC 6238), and recovery codes for its loss.

Security keys, the other kind of factor, are in ``security_keys.py``; all kinds share the waits between tries.
"""

from __future__ import annotations

import base64
import secrets
import time
from datetime import timedelta
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import CharField, Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.translation import gettext as _
from django_otp.oath import TOTP

from verification.core import crypto
from verification.core.crypto import decrypt, encrypt, stored_digest
from verification.core.errors import UserError
from verification.core.session_rules import plain_code
from verification.models import FactorTries, RecoveryCode, SecondFactor, SecurityKey
from verification.services.records import audit

ISSUER = "Watchword"
SECRET_BYTES = 20  # RFC 4226 asks for 160 bits
STEP_SECONDS = 30  # life of one code, RFC 6238's default; not all apps know another
TOLERANCE = 1  # steps that a clock may be off either way
RECOVERY_CODES = 10  # drawn at a time; each works once
RECOVERY_BYTES = 10  # 80 random bits of a recovery code, too many to be guessed from an unkeyed digest
MAX_WAIT_SECONDS = 900  # longest wait between two tries; it begins with a second and doubles with every wrong one
MAX_DOUBLINGS = 10  # of that wait, by which it is past its longest: no power of two grows without end


def factors_of(user: User) -> frozenset[str]:
    """Return the names of the user's factors, as a session keeps them. One that is set up anew has a new name."""
    app = SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).values_list(_named("app:"))
    keys = SecurityKey.objects.filter(user=user).values_list(_named("key:"))
    return frozenset(name for (name,) in app.union(keys))


def app_name(factor_id: int) -> str:
    return f"app:{factor_id}"


def key_name(key_id: int) -> str:
    return f"key:{key_id}"


def has_app(user: User) -> bool:
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


def with_factor(user_ids: list[int]) -> set[int]:
    """Return those of the users who have a second factor of either kind."""
    app = SecondFactor.objects.filter(user__in=user_ids, confirmed_at__isnull=False).values_list("user")
    return {user for (user,) in app.union(SecurityKey.objects.filter(user__in=user_ids).values_list("user"))}


def recovery_codes_left(user: User) -> int:
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


@transaction.atomic
def begin(user: User, shown: int = 0) -> tuple[int, str]:
    """Return a factor to be set up: its id, and the secret in base32 for the user's app.

    The factor with the id ``shown`` is returned while it stands. Any other is replaced: somebody else who saw its
    secret would have the factor too.
    """
    locked_tries(user)  # pages that are opened at once take turns, as a user has one app
    begun = SecondFactor.objects.filter(user=user, confirmed_at=None)
    factor = begun.filter(pk=shown).first()
    if factor is None:
        begun.delete()
        text = base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()
        factor = SecondFactor.objects.create(
            user=user, secret=encrypt(text, binding=crypto.second_factor_binding(user.pk))
        )
    return factor.pk, decrypt(bytes(factor.secret), binding=crypto.second_factor_binding(user.pk))


def key_uri(user: User, secret: str) -> str:
    """Return the URI that the QR code shows to the app."""
    return f"otpauth://totp/{ISSUER}:{quote(user.get_username())}?secret={secret}&issuer={ISSUER}"


@transaction.atomic
def confirm(user: User, factor_id: int, code: str) -> list[str] | None:
    """Switch the app on by a first code. Return the recovery codes, or None for a wrong code.

    The list is empty where the user has codes already, beside a security key.
    """
    tries = locked_tries(user)
    factor = SecondFactor.objects.filter(pk=factor_id, user=user, confirmed_at=None).first()
    if factor is None or not may_try(tries) or not count_try(tries, is_right=_is_code_of_app(factor, _plain(code))):
        return None
    is_first = not factors_of(user)
    factor.confirmed_at = timezone.now()
    factor.save(update_fields=("confirmed_at", "last_step"))
    audit.record("Set up the second factor", row=user, label=user.get_username(), who=user.get_username())
    return draw_recovery_codes(user) if is_first else []


@transaction.atomic
def check(user: User, code: str) -> str | None:
    """Return the name of the factor that the code proves, or None. A code of the app or for recovery is good once.

    The lock of the user's tries takes them one by one, so a wrong one is counted before the next is looked at.
    """
    tries, factors = locked_tries(user), factors_of(user)
    if not factors or not may_try(tries):
        return None
    factor = SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()
    is_of_app = factor is not None and _is_code_of_app(factor, _plain(code))
    if not count_try(tries, is_right=is_of_app or _use_recovery_code(user, _plain(code))):
        return None
    if factor is None:
        return min(factors)  # a recovery code stands for any of the keys
    factor.save(update_fields=("last_step",))
    return app_name(factor.pk)


@transaction.atomic
def remove_app(user: User) -> None:
    """Switch the app off. Raises :class:`UserError` where it is the last factor and one is demanded."""
    locked_tries(user)
    if not has_app(user):
        raise UserError(_("There is no app to remove."))
    require_another(user)
    SecondFactor.objects.filter(user=user).delete()
    audit.record("Removed the authenticator app", row=user, label=user.get_username())
    end_codes_of_none(user)


def require_another(user: User) -> None:
    """Raises :class:`UserError` where the user's last factor would go and the service demands one."""
    if settings.IS_SECOND_FACTOR_REQUIRED and len(factors_of(user)) < 2:
        raise UserError(_("This service requires two-factor authentication. Set up another method first."))


def end_codes_of_none(user: User) -> None:
    """Void the recovery codes of a user who has no factor any more."""
    if not factors_of(user):
        RecoveryCode.objects.filter(user=user).delete()


@transaction.atomic
def renew_recovery_codes(user: User) -> list[str]:
    """Draw new recovery codes. The old ones are void."""
    audit.record("Drew new recovery codes", row=user, label=user.get_username())
    return draw_recovery_codes(user)


@transaction.atomic
def reset(user: User) -> bool:
    """Remove the app and all keys, so that the next login sets up another. Return False if there was none."""
    RecoveryCode.objects.filter(user=user).delete()
    deleted = SecondFactor.objects.filter(user=user).delete()[0] + SecurityKey.objects.filter(user=user).delete()[0]
    FactorTries.objects.filter(user=user).delete()
    if deleted:
        audit.record("Reset the second factor", row=user, label=user.get_username())
    return bool(deleted)


# --- tries -------------------------------------------------------------------------------------------------------


def locked_tries(user: User) -> FactorTries:
    """Return the user's failed tries, locked until the transaction ends."""
    FactorTries.objects.get_or_create(user=user)
    return FactorTries.objects.select_for_update().get(user=user)


def may_try(tries: FactorTries) -> bool:
    """Return whether the wait after the last failed try is over. A try before its end is not looked at."""
    if tries.failed_at is None:
        return True
    wait = min(2 ** min(tries.failures - 1, MAX_DOUBLINGS), MAX_WAIT_SECONDS)
    return timezone.now() >= tries.failed_at + timedelta(seconds=wait)


def count_try(tries: FactorTries, *, is_right: bool) -> bool:
    """Count a try. Return whether it was right."""
    tries.failures = 0 if is_right else tries.failures + 1
    tries.failed_at = None if is_right else timezone.now()
    tries.save(update_fields=("failures", "failed_at"))
    return is_right


# --- codes -------------------------------------------------------------------------------------------------------


def _named(kind: str) -> Concat:
    return Concat(Value(kind), "pk", output_field=CharField())


def _plain(code: str) -> str:
    return plain_code(code).upper()


def _is_code_of_app(factor: SecondFactor, code: str) -> bool:
    """Accept only a later time step than the last one used: an observed code cannot be replayed."""
    if not (len(code) == 6 and code.isascii() and code.isdigit()):
        return False
    key = base64.b32decode(decrypt(bytes(factor.secret), binding=crypto.second_factor_binding(factor.user_id)))
    totp = TOTP(key, step=STEP_SECONDS)
    totp.time = time.time()
    if not totp.verify(int(code), tolerance=TOLERANCE, min_t=factor.last_step + 1):
        return False
    factor.last_step = totp.t()
    return True


def _use_recovery_code(user: User, code: str) -> bool:
    unused = RecoveryCode.objects.filter(user=user, digest=_digest(code), used_at=None)
    if not unused.update(used_at=timezone.now()):
        return False
    audit.record("Used a recovery code", row=user, label=user.get_username())
    return True


def _digest(recovery_code: str) -> bytes:
    return stored_digest(recovery_code, kind="recovery code")


def draw_recovery_codes(user: User) -> list[str]:
    RecoveryCode.objects.filter(user=user).delete()
    codes = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=_digest(code)) for code in codes)
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]
