"""The contract of a system: the proof of its calls, the codes in them, our answers, and the lines to paste there.

A system is one pure file in ``systems/`` with one class named ``System``. Everything around it reads the class: the
panel, the commands, the address. Nothing else is edited.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections.bodies import read_json
from verification.contrib.connections.calls import Answer, Call, CallUnreadable, Handed
from verification.core.addresses import AddressInvalid, international_form
from verification.core.errors import UserError
from verification.models.fields import clean_country

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

SECRET_BYTES = 32  # of a secret that we draw
SECRET_LENGTHS = range(16, 201)  # characters of a secret that the owner gives: fewer could be guessed
NOT_SENT = "The code could not be sent."  # all that a refusal tells: some systems show it to their users
_SECRET = re.compile(r"[!-~]+")  # what a header and the user part of a URL can hold
_E164_WITHOUT_PLUS = re.compile(r"[1-9][0-9]{6,14}")


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that the owner tells of the system, such as the name of a field.

    ``clean`` returns a given value as it is kept, and raises :class:`UserError`.
    """

    name: str
    label: StrOrPromise
    help: StrOrPromise = ""
    default: str = ""
    is_required: bool = False
    clean: Callable[[str], str] = str


# Of each system that passes numbers on as its users typed them.
COUNTRY = Option(
    "country",
    _("Country of numbers without a plus"),
    _("Such as Morocco or MA: they are read as that country's national numbers. If empty, they are refused."),
    clean=clean_country,
)


@dataclass(frozen=True, slots=True)
class PastedLine:
    """One line to paste into the system: the name of its field there, in the system's own words, and the text."""

    name: str
    text: str
    note: StrOrPromise = ""


class System:
    """The base of all systems. ``options`` holds the checked values of those that the class declares."""

    name: ClassVar[str]
    label: ClassVar[StrOrPromise]
    recipients: ClassVar[tuple[str, ...]] = ("phone", "email")  # the kinds that it hands codes over for
    declared: ClassVar[tuple[Option, ...]] = ()
    leaves_plus_out: ClassVar[bool] = False  # it stores E.164 without the plus; no other number gets one
    tells_address: ClassVar[bool] = False  # it tells the end user's address, by which limits count
    url_name: ClassVar[str] = "URL"  # what the system's own page calls our address, and the secret
    proof_name: ClassVar[str] = "Secret"

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = {option.name: options.get(option.name, "") or option.default for option in self.declared}

    @classmethod
    def new_secret(cls) -> str:
        """Draw a secret in the form that the system takes."""
        return secrets.token_urlsafe(SECRET_BYTES)

    @classmethod
    def clean_secret(cls, text: str) -> str:
        """Return a secret that the owner gives, as it is kept. Raises :class:`UserError`."""
        if len(text) not in SECRET_LENGTHS or not _SECRET.fullmatch(text):
            raise UserError(
                f"The secret has {SECRET_LENGTHS[0]} to {SECRET_LENGTHS[-1]} visible ASCII characters, and no space."
            )
        return text

    @classmethod
    def clean(cls, values: Mapping[str, str]) -> None:
        """Raise :class:`UserError` for options that do not do together."""

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        """Raise :class:`ProofInvalid` unless the system itself made this call. ``now`` is in seconds since 1970."""
        raise NotImplementedError

    def parse(self, call: Call) -> Mapping[str, Any]:
        """Return the body's object. Raises :class:`CallUnreadable`."""
        return read_json(call.body)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        """Return the codes of a proved call, mostly one. Raises :class:`CallUnreadable`."""
        raise NotImplementedError

    def recipient(self, to: str) -> str:
        """Return whom the system names, a phone number with its plus. Raises :class:`CallUnreadable`.

        Invisible characters, which come along when a number is copied, are dropped; nothing else is repaired.
        """
        if "@" in to or "phone" not in self.recipients:
            return to
        number = "".join(char for char in to if unicodedata.category(char) != "Cf").strip()
        if self.leaves_plus_out:
            return f"+{number}" if _E164_WITHOUT_PLUS.fullmatch(number) else number
        if number.startswith("+"):
            return number
        country = self.options.get(COUNTRY.name, "")
        if not country:
            raise CallUnreadable("the recipient has no plus, and the connection names no country")
        try:
            return international_form(number, country)
        except AddressInvalid:
            raise CallUnreadable(f"the recipient has no plus, and is not a number of {country}") from None

    def accepted(self, message_ids: list[int]) -> Answer:
        """Return what the system takes for success."""
        return Answer(200, {})

    def refused(self, status: int) -> Answer:
        """Return a refusal in the system's own form. It never tells the reason."""
        return Answer(status, {"message": NOT_SENT})

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        """Return what to paste into the system."""
        return [PastedLine(self.url_name, url), PastedLine(self.proof_name, secret)]
