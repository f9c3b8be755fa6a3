"""The code of a session: its settings, and new codes, each bound to the session that it is for."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass

from providers import sandbox
from verification.core import crypto, ids
from verification.core.crypto import code_digest, decrypt, encrypt
from verification.core.session_rules import DIGITS, DIGITS_BESIDE_LETTERS, LETTERS
from verification.services.protection.recipient import RecipientPolicy


@dataclass(frozen=True, slots=True)
class CodeSettings:
    length: int
    digits: bool
    letters: bool


@dataclass(frozen=True, slots=True)
class DrawnCode:
    """A code bound to the session it was drawn for, as it is stored."""

    session_id: str
    digest: bytes
    encrypted: bytes
    settings: CodeSettings
    test_login: str | None  # revision of the test login whose fixed code this is


def alphabet(*, digits: bool, letters: bool) -> str:
    """The characters of a project's codes. Raises ``ValueError`` for neither digits nor letters."""
    if letters:
        return LETTERS + (DIGITS_BESIDE_LETTERS if digits else "")
    if digits:
        return DIGITS
    raise ValueError("A code needs digits, letters or both.")


def generate_code(length: int, *, digits: bool = True, letters: bool = False) -> str:
    """Draw a code, uniformly over the whole alphabet, leading zeros included."""
    characters = alphabet(digits=digits, letters=letters)
    if characters is DIGITS:  # the usual ones, in one draw
        return f"{secrets.randbelow(10**length):0{length}d}"
    return "".join(secrets.choice(characters) for _ in range(length))


def new_session_code(policy: RecipientPolicy) -> DrawnCode:
    """Draw the code of a new session, and the session's id. A test login gets its fixed code."""
    session_id = ids.generate_session_id()
    project, login = policy.project, policy.test_login
    if login is not None:
        fixed = decrypt(login.sealed_code, binding=crypto.test_login_binding(project.public_id, policy.address.text))
        settings = CodeSettings(
            len(fixed),
            any(c in string.digits for c in fixed),
            any(c in string.ascii_uppercase for c in fixed),
        )
        return _seal(fixed, session_id, settings, test_login=login.revision)
    settings = CodeSettings(project.code_length, project.code_digits, project.code_letters)
    return _seal(_generate(policy, settings), session_id, settings)


def replacement_code(policy: RecipientPolicy, session_id: str, settings: CodeSettings) -> DrawnCode:
    """Draw another code for a session that has one, with the same length and characters."""
    return _seal(_generate(policy, settings), session_id, settings)


def _generate(policy: RecipientPolicy, settings: CodeSettings) -> str:
    """Draw a code. A recipient of the sandbox gets the fixed one, or one that no test can know."""
    forced = policy.sandbox
    fixed = sandbox.fixed_code(settings.length, digits=settings.digits) if forced.is_simulated else None
    if fixed and forced.has_known_code:
        return fixed
    while True:
        code = generate_code(settings.length, digits=settings.digits, letters=settings.letters)
        if code != fixed:
            return code


def _seal(code: str, session_id: str, settings: CodeSettings, *, test_login: str | None = None) -> DrawnCode:
    return DrawnCode(
        session_id=session_id,
        digest=code_digest(code, session_id=session_id),
        encrypted=encrypt(code, binding=crypto.session_code_binding(session_id)),
        settings=settings,
        test_login=test_login,
    )
