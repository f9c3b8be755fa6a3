"""The alphabet of codes, and drawing one."""

import secrets
import string

DIGITS = string.digits
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # without I, L and O, which are read as 1 and 0
DIGITS_BESIDE_LETTERS = "23456789"  # without 0 and 1, for the same reason


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
