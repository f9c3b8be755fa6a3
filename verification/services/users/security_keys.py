"""Security keys and passkeys as a second factor (WebAuthn). py_webauthn reads and verifies what a browser sends.

A key is bound to the host on which it was added, and the browser signs for no other: a page that imitates the panel
gets nothing. The challenge is the caller's to bind to a session and to use once.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from webauthn import (
    base64url_to_bytes,
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import parse_authentication_credential_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from verification.core.crypto import stored_digest
from verification.core.errors import UserError
from verification.models import SecurityKey
from verification.services.records import audit
from verification.services.users import second_factor

MAX_KEYS = 10  # of one user: one for each device, and spare ones
MAX_CREDENTIAL_BYTES = 1_023  # WebAuthn's bound of a credential's id
MAX_ANSWER_CHARACTERS = 20_000  # of a browser's answer: the longest attestations take some 10,000
BROWSER_MILLISECONDS = 300_000  # how long a browser waits for the key: time to fetch it from another room
# Asked for and not insisted on: the password is known already, and old keys have neither a PIN nor a fingerprint.
VERIFICATION = UserVerificationRequirement.PREFERRED
REFUSED = gettext_lazy("The key was not accepted. Reload the page and try again.")


@dataclass(frozen=True, slots=True)
class Ceremony:
    """The facts that a browser's answer must fit: the panel's host and origins, and the challenge of this session."""

    host: str
    origins: tuple[str, ...]
    challenge: bytes


def of(user: User) -> list[SecurityKey]:
    return list(SecurityKey.objects.filter(user=user).order_by("added_at", "pk"))


def options_to_add(user: User, *, host: str, challenge: bytes) -> str:
    """Return as JSON what the browser is asked for when a key is added. Keys that are known are not added twice."""
    return options_to_json(
        generate_registration_options(
            rp_id=host,
            rp_name=second_factor.ISSUER,
            user_id=stored_digest(str(user.pk), kind="user of a security key"),
            user_name=user.get_username(),
            challenge=challenge,
            timeout=BROWSER_MILLISECONDS,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.DISCOURAGED,  # the user is known by then; a key has few places
                user_verification=VERIFICATION,
            ),
            exclude_credentials=_descriptors(user, host),
        )
    )


def options_to_sign(user: User, *, host: str, challenge: bytes) -> str:
    """Return as JSON what the browser is asked for at a login. It is empty where no key is of this host."""
    keys = _descriptors(user, host)
    if not keys:
        return ""
    return options_to_json(
        generate_authentication_options(
            rp_id=host,
            challenge=challenge,
            timeout=BROWSER_MILLISECONDS,
            allow_credentials=keys,
            user_verification=VERIFICATION,
        )
    )


@transaction.atomic
def add(user: User, *, name: str, answer: str, ceremony: Ceremony) -> tuple[SecurityKey, list[str]]:
    """Add the key that answered. Return it, and recovery codes if it is the first factor. Raises :class:`UserError`."""
    second_factor.locked_tries(user)
    if SecurityKey.objects.filter(user=user).count() >= MAX_KEYS:
        raise UserError(
            _("You have reached the limit of {max_keys} keys. Remove one you no longer use.").format(max_keys=MAX_KEYS)
        )
    if SecurityKey.objects.filter(user=user, name__iexact=name).exists():
        raise UserError(_("You already have a key with this name. Choose another."))
    try:
        verified = verify_registration_response(
            credential=answer[:MAX_ANSWER_CHARACTERS],
            expected_challenge=ceremony.challenge,
            expected_rp_id=ceremony.host,
            expected_origin=list(ceremony.origins),
        )
    except Exception:  # noqa: BLE001  # whatever the readers of CBOR, certificates and JSON stumble over
        raise UserError(REFUSED) from None
    if len(verified.credential_id) > MAX_CREDENTIAL_BYTES:
        raise UserError(REFUSED)
    is_first = not second_factor.factors_of(user)
    try:
        with transaction.atomic():
            key = SecurityKey.objects.create(
                user=user,
                name=name,
                host=ceremony.host,
                credential=verified.credential_id,
                public_key=verified.credential_public_key,
                signatures=verified.sign_count,
            )
    except IntegrityError:
        raise UserError(_("This key is already added.")) from None
    audit.record(f"Added the security key {name}", row=user, label=user.get_username(), who=user.get_username())
    return key, second_factor.draw_recovery_codes(user) if is_first else []


@transaction.atomic
def check(user: User, *, answer: str, ceremony: Ceremony) -> str | None:
    """Return the name of the factor whose key signed the challenge, or None. The key's count must have risen.

    A count that has not risen is that of a copy of the key, or of an answer that was seen before: it is on record.
    """
    tries = second_factor.locked_tries(user)
    if not second_factor.may_try(tries):
        return None
    key = _signed_by(user, answer[:MAX_ANSWER_CHARACTERS], ceremony)
    if not second_factor.count_try(tries, is_right=key is not None) or key is None:
        return None
    return second_factor.key_name(key.pk)


@transaction.atomic
def remove(user: User, key_id: int) -> str:
    """Remove a key. Return its name. Raises :class:`UserError` for the last factor where one is demanded."""
    second_factor.locked_tries(user)
    key = SecurityKey.objects.filter(user=user, pk=key_id).first()
    if key is None:
        raise UserError(_("This key was already removed."))
    second_factor.require_another(user)
    key.delete()
    audit.record(f"Removed the security key {key.name}", row=user, label=user.get_username())
    second_factor.end_codes_of_none(user)
    return key.name


def _signed_by(user: User, answer: str, ceremony: Ceremony) -> SecurityKey | None:
    try:
        credential = parse_authentication_credential_json(answer)
        key = SecurityKey.objects.get(user=user, host=ceremony.host, credential=base64url_to_bytes(credential.id))
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=ceremony.challenge,
            expected_rp_id=ceremony.host,
            expected_origin=list(ceremony.origins),
            credential_public_key=bytes(key.public_key),
            credential_current_sign_count=0,  # the count is judged below, so that a copied key leaves a line
        )
    except Exception:  # noqa: BLE001  # whatever the readers of CBOR and JSON stumble over, and a key that is unknown
        return None
    if key.signatures and verified.new_sign_count <= key.signatures:
        audit.record(
            f"Refused the security key {key.name}: its count has not risen, it may have been copied",
            row=user,
            label=user.get_username(),
            who=user.get_username(),
        )
        return None
    SecurityKey.objects.filter(pk=key.pk).update(signatures=verified.new_sign_count, used_at=timezone.now())
    return key


def _descriptors(user: User, host: str) -> list[PublicKeyCredentialDescriptor]:
    keys = SecurityKey.objects.filter(user=user, host=host).order_by(F("used_at").desc(nulls_last=True), "pk")
    return [PublicKeyCredentialDescriptor(id=bytes(each)) for each in keys.values_list("credential", flat=True)]
