"""Recipients' addresses: from what a caller wrote to the one text that names a recipient.

Every limit and block hangs on that text, so two accepted writings of one address must give the same text. An address
that cannot be read with certainty is refused rather than repaired.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import idna
import phonenumbers
from phonenumbers import PhoneNumberType


class AddressKind(StrEnum):
    PHONE = "phone"
    EMAIL = "email"


class NumberType(StrEnum):
    """The type of a phone number by its numbering plan. A plan cannot tell whether a number is in service."""

    MOBILE = "mobile"
    FIXED_LINE = "fixed_line"
    FIXED_LINE_OR_MOBILE = "fixed_line_or_mobile"
    VOIP = "voip"
    PERSONAL_NUMBER = "personal_number"
    # From here on nothing is ever sent.
    PREMIUM_RATE = "premium_rate"
    SHARED_COST = "shared_cost"
    TOLL_FREE = "toll_free"
    UAN = "uan"
    PAGER = "pager"
    VOICEMAIL = "voicemail"
    # Satellite and other networks that belong to no country (+870, +881, +882, +883): dear to reach, a
    # favourite of toll fraud, and outside every list of allowed countries.
    NON_GEOGRAPHIC = "non_geographic"
    UNKNOWN = "unknown"
    NONE = ""  # not a phone number


_SMS_TYPES = frozenset({NumberType.MOBILE, NumberType.FIXED_LINE_OR_MOBILE})
_CALL_TYPES = _SMS_TYPES | {NumberType.FIXED_LINE, NumberType.VOIP}
_VOIP_TYPES = frozenset({NumberType.VOIP, NumberType.PERSONAL_NUMBER})
_SERVED_TYPES = _CALL_TYPES | _VOIP_TYPES
_RENEWABLE_TYPES = _SERVED_TYPES | {NumberType.UNKNOWN}  # that a project's prefix makes mobile numbers


class AddressInvalid(ValueError):
    """The text is no address that we accept. `str(error)` is one sentence, safe to show, without the text."""


@dataclass(frozen=True, slots=True)
class Address:
    """`text` is canonical: E.164 for a phone number, lower-case ASCII for an e-mail address.

    `country` is the ISO 3166 region of a phone number, or "" (e-mail, networks of no country, test numbers).
    """

    text: str
    kind: AddressKind
    country: str
    number_type: NumberType

    @property
    def is_phone(self) -> bool:
        return self.kind is AddressKind.PHONE


# --- Parsing ------------------------------------------------------------------------------------------


def domain_of(address: str) -> str:
    """Return the domain of an e-mail address; empty for a phone number."""
    return address.rpartition("@")[2] if "@" in address else ""


def parse_address(raw: str, *, test_addresses: Container[str] = (), extra_prefixes: tuple[str, ...] = ()) -> Address:
    """Return the address that `raw` names: with an `@` an e-mail address, otherwise a phone number.

    A number under one of `extra_prefixes` is a mobile number of its country if its length is possible there, unless the
    plans know it as one of a type that is never served.

    A phone number found in `test_addresses` (canonical texts) need not exist. It is looked up only after the number
    proved invalid, so the container may be a lazy one. Whether the address is a test login, the caller finds out by
    `address.text`.

    Raises AddressInvalid. A valid number of a type that is never served parses: see `is_reachable`.
    """
    if "@" in raw:
        return _parse_email(raw)
    form = parse_phone_form(raw)
    if address := _parse_number(form, extra_prefixes):
        return address
    if form in test_addresses:
        return Address(form, AddressKind.PHONE, "", NumberType.UNKNOWN)
    raise AddressInvalid("We know of no such phone number.")


def stored(text: str, *, extra_prefixes: tuple[str, ...] = ()) -> Address:
    """Return the address of a row of ours, whose `text` is canonical.

    The row was accepted once. A number that neither today's numbering plans nor the prefixes know keeps its text and
    country; its type is UNKNOWN then, as a test login's.
    """
    if "@" in text:
        return Address(text, AddressKind.EMAIL, "", NumberType.NONE)
    known = _parse_number(text, extra_prefixes)
    return known or Address(text, AddressKind.PHONE, country_of(text), NumberType.UNKNOWN)


def vouched(phone: str) -> str:
    """Return the canonical number that a messenger vouches for, or a keyword came from; empty for what is none.

    Accounts keep the form in which a number was registered. An old form with exactly one new form is that one.
    """
    try:
        form = parse_phone_form(phone)
    except AddressInvalid:
        return ""
    if address := _parse_number(form):
        return address.text
    for old, new in _RENUMBERED:
        if (renewed := old.sub(new, form)) != form and (address := _parse_number(renewed)):
            return address.text
    return form


def parse_test_address(raw: str) -> Address:
    """Return the address for a row of the test-login table. The number need not exist.

    `text` is what belongs in the table: a number that does exist is stored canonically, so that every
    writing of it finds the row.
    """
    if "@" in raw:
        return _parse_email(raw)
    return parse_address(raw, test_addresses=(parse_phone_form(raw),))


# --- Phone numbers ------------------------------------------------------------------------------------

# Characters of a number as written: 15 digits with a separator after each, a plus, a bracketed zero, and some room.
MAX_PHONE_LENGTH = 40

# ASCII only: digits of other scripts, no-break spaces and invisible marks would be second spellings.
_PHONE_WRITING = re.compile(r"\+[0-9][0-9 ()./-]*")
_NATIONAL_WRITING = re.compile(r"[0-9(][0-9 ()./-]*")
_SEPARATORS = str.maketrans("", "", " ()./-")
# ITU-T E.164: at most 15 digits, and no country code begins with 0. Under 7 digits there are only a few old
# fixed lines (Austria, Germany, Iran).
_PHONE_FORM = re.compile(r"\+[1-9][0-9]{6,14}")

# Numbers whose plan gave each old form one new form. A plus, the digits, and what they are now.
_RENUMBERED = [
    (re.compile(r"(\+55[1-9][0-9])([6-9][0-9]{7})$"), r"\g<1>9\2"),  # Brazil's ninth digit of mobiles, 2012 to 2016
    (re.compile(r"(\+229)([2-9][0-9]{7})$"), r"\g<1>01\2"),  # Benin, 2024
]
_MEXICAN_MOBILE = re.compile(r"\+521([0-9]{10})$")  # until 2019; phones and messengers still write it so

_NUMBER_TYPES = {
    PhoneNumberType.MOBILE: NumberType.MOBILE,
    PhoneNumberType.FIXED_LINE: NumberType.FIXED_LINE,
    PhoneNumberType.FIXED_LINE_OR_MOBILE: NumberType.FIXED_LINE_OR_MOBILE,
    PhoneNumberType.VOIP: NumberType.VOIP,
    PhoneNumberType.PERSONAL_NUMBER: NumberType.PERSONAL_NUMBER,
    PhoneNumberType.PREMIUM_RATE: NumberType.PREMIUM_RATE,
    PhoneNumberType.SHARED_COST: NumberType.SHARED_COST,
    PhoneNumberType.TOLL_FREE: NumberType.TOLL_FREE,
    PhoneNumberType.UAN: NumberType.UAN,
    PhoneNumberType.PAGER: NumberType.PAGER,
    PhoneNumberType.VOICEMAIL: NumberType.VOICEMAIL,
}


def parse_phone_form(raw: str) -> str:
    """Return `+` and the digits as written, separators removed; the number need not exist. `+52 1 …` is `+52 …`.

    Raises AddressInvalid for anything but an international writing of 7 to 15 ASCII digits.
    """
    text = raw.strip(" ")
    if len(text) <= MAX_PHONE_LENGTH and _PHONE_WRITING.fullmatch(text):
        form = text.translate(_SEPARATORS)
        if _PHONE_FORM.fullmatch(form):
            return _MEXICAN_MOBILE.sub(r"+52\1", form)
    raise AddressInvalid(
        "Give an e-mail address, or a phone number with a plus, the country code and at most 15 digits in all, such as "
        "+46701740605."
    )


def international_form(raw: str, country: str) -> str:
    """Return a number without a plus as E.164, read as it is dialled in this country; the number need not exist.

    Raises AddressInvalid for a writing that is no number, for a number of another country, and where the digits may
    also be the country's code and a number after it.
    """
    code = phonenumbers.country_code_for_region(country)
    form = raw.strip(" ").translate(_SEPARATORS)
    if len(raw) <= MAX_PHONE_LENGTH and _NATIONAL_WRITING.fullmatch(raw.strip(" ")):
        try:
            number = phonenumbers.parse(form, country)
        except phonenumbers.NumberParseException:
            number = None
        if number is not None and number.country_code == code:
            text = _e164(number)
            other = _parse_number(f"+{form}") if form.startswith(str(code)) else None
            if other is None or other.text == text:
                return text
    raise AddressInvalid("This is not a number of the country of numbers without a plus.")


def _parse_number(form: str, extra_prefixes: tuple[str, ...] = ()) -> Address | None:
    """Return the number in `form` as E.164, or None where no such number exists.

    `phonenumbers` drops a trunk prefix written after the country code: +49 (0)151… and +90 0532… become +49151… and
    +90532…. It drops the domestic 15 of Argentine mobiles. But +54 9 11… (mobile) and +54 11… (fixed line) stay two
    numbers.
    """
    try:
        # Digits only, so the library's reading of extensions, letters and second numbers never starts.
        number = phonenumbers.parse(form, None)
        text = _e164(number)
        # A text that read differently the second time would be a second recipient for one subscriber.
        if text != form and _e164(phonenumbers.parse(text, None)) != text:
            return None
    except phonenumbers.NumberParseException:
        return None
    country, number_type = _classify(number)
    if text.startswith(extra_prefixes) and number_type in _RENEWABLE_TYPES:
        possible = phonenumbers.is_possible_number_with_reason(number) == phonenumbers.ValidationResult.IS_POSSIBLE
        if possible and (country := country or country_of(text)):
            return Address(text, AddressKind.PHONE, country, NumberType.MOBILE)
    if number_type is NumberType.UNKNOWN:
        return None
    return Address(text, AddressKind.PHONE, country, number_type)


def _e164(number: phonenumbers.PhoneNumber) -> str:
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def _classify(number: phonenumbers.PhoneNumber) -> tuple[str, NumberType]:
    """Return country and type; UNKNOWN is what `is_valid_number` calls invalid, in half the time."""
    number_type = _NUMBER_TYPES.get(phonenumbers.number_type(number), NumberType.UNKNOWN)
    country = phonenumbers.region_code_for_number(number) or ""
    if country != phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY:
        return country, number_type
    return "", NumberType.NON_GEOGRAPHIC if number_type in _SERVED_TYPES else number_type


# --- E-mail addresses ---------------------------------------------------------------------------------

# RFC 5321, 4.5.3.1: 64 octets of local part, and a path of 256 with its two angle brackets.
MAX_LOCAL_LENGTH = 64
MAX_EMAIL_LENGTH = 254

# The dot-atom of RFC 5322 without `%` and `!`: old relays read a route in them (user%host@relay), and no
# mailbox needs them.
_LOCAL = re.compile(r"[A-Za-z0-9#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]+)*")
# A label of RFC 1123, 2.1.
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def _parse_email(raw: str) -> Address:
    local, _, domain = raw.strip(" ").partition("@")
    # An A-label is never shorter than what it encodes, so the limit holds for the writing too; and the
    # work below stays small.
    if len(local) + 1 + len(domain) > MAX_EMAIL_LENGTH or len(local) > MAX_LOCAL_LENGTH:
        raise AddressInvalid("This e-mail address is too long.")
    if not _LOCAL.fullmatch(local):
        raise AddressInvalid("The part of the e-mail address before the @ is not valid.")
    text = f"{local.lower()}@{_canonical_domain(domain)}"
    if len(text) > MAX_EMAIL_LENGTH:
        raise AddressInvalid("This e-mail address is too long.")
    return Address(text, AddressKind.EMAIL, "", NumberType.NONE)


def _canonical_domain(domain: str) -> str:
    """Return the domain in A-labels (RFC 5890), lower-case; AddressInvalid for anything but a mail domain."""
    try:
        if not all(_keeps_its_identity(char) for char in domain):
            raise AddressInvalid("The domain of the e-mail address has characters that look like others.")
        labels = [_canonical_label(label) for label in idna.uts46_remap(domain).split(".")]
    except idna.IDNAError:
        raise AddressInvalid("The domain of the e-mail address is not valid.") from None
    # A last label that begins with a digit is an IP address, or may be read as one; no top-level domain does.
    if len(labels) < 2 or labels[-1][0].isdigit():
        raise AddressInvalid("The domain of the e-mail address is not valid.")
    return ".".join(labels)


def _keeps_its_identity(char: str) -> bool:
    """Return whether the UTS 46 mapping changes nothing of `char` but its case.

    The mapping also replaces look-alikes: the Kelvin sign by k, full-width letters and dots by ASCII, ligatures by
    their letters. It drops invisible characters. Mail would then go to another domain than the one written.
    """
    if char.isascii():
        return True
    mapped = idna.uts46_remap(char, std3_rules=False)
    return mapped == char or (mapped == char.lower() and not any(each.isascii() for each in mapped))


def _canonical_label(label: str) -> str:
    # Two hyphens in the third place mark an encoded label: it must decode, and to what encodes as written.
    if _LABEL.fullmatch(label) and label[2:4] != "--":
        return label
    return idna.alabel(label).decode("ascii")


# --- Rules and display --------------------------------------------------------------------------------


def is_reachable(address: Address, channel: str, *, allow_voip: bool) -> bool:
    """Return whether this kind of address, and type of number, may get a message over `channel`.

    SMS needs a number that can be a mobile; voice and the messengers also take fixed lines and VoIP.
    `allow_voip` adds VoIP and personal numbers. A test number that does not exist is reachable over none, so test
    logins are not asked about.
    """
    if channel == "email" or address.kind is AddressKind.EMAIL:
        return channel == "email" and address.kind is AddressKind.EMAIL
    allowed = _SMS_TYPES if channel == "sms" else _CALL_TYPES
    return address.number_type in (allowed | _VOIP_TYPES if allow_voip else allowed)


_MASKABLE_PHONE = re.compile(r"\+[0-9]{7,15}")
_MASKABLE_EMAIL = re.compile(r"([A-Za-z0-9])([^@\s]*)@([A-Za-z0-9])[A-Za-z0-9.-]*(\.[A-Za-z][A-Za-z0-9-]{1,23})")


def mask(text: str) -> str:
    """Return a hint of an address for logs and the admin: +4915******78, j***@e***.com, otherwise ***.

    At least half of a number's digits are hidden; how many there are is hidden as well.
    """
    if _MASKABLE_PHONE.fullmatch(text):
        head = min(4, (len(text) - 1) // 2 - 2)
        return f"{text[: head + 1]}******{text[-2:]}"
    if match := _MASKABLE_EMAIL.fullmatch(text):
        first, rest, domain, top = match.groups()
        return f"{first if rest else ''}***@{domain}***{top}"
    return "***"


def keep_patterns() -> None:
    """Keep compiled patterns, in processes that run for long.

    Numbers of many countries keep evicting patterns from Python's own cache of 512: 0.4 ms a number instead of 0.04.
    """
    phonenumbers.enable_pattern_cache()


def warm() -> None:
    """Load and compile the numbering plans of all countries, about 0.3 seconds and a few megabytes.

    Processes that answer requests call it at start. Otherwise the first number of each country takes up to 20 ms.
    """
    keep_patterns()
    for region in phonenumbers.SUPPORTED_REGIONS:
        for number_type in (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE):
            example = phonenumbers.example_number_for_type(region, number_type)
            if example is not None:
                _parse_number(_e164(example))


def kind_of(text: str) -> AddressKind:
    """Return the kind of a canonical address."""
    return AddressKind.EMAIL if "@" in text else AddressKind.PHONE


def country_of(text: str) -> str:
    """Return the ISO region of a canonical number, or "" for a number without one and for an e-mail address.

    Of countries that share a calling code, a number that no plan knows is the main one's.
    """
    if not text.startswith("+"):
        return ""
    for end in (2, 3, 4):  # no calling code is the beginning of another
        regions = phonenumbers.COUNTRY_CODE_TO_REGION_CODE.get(int(text[1:end]), ())
        if regions == (phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY,):
            return ""
        if len(regions) == 1:
            return str(regions[0])
    try:
        number = phonenumbers.parse(text)
        country = phonenumbers.region_code_for_number(number)
        return country or phonenumbers.region_code_for_country_code(number.country_code or 0)
    except phonenumbers.NumberParseException:  # a test login's number need not exist
        return ""


@lru_cache(maxsize=512)  # more than there are countries
def usual_number(country: str) -> str:
    """Return an example of the country's mobile numbers; empty for none."""
    number = phonenumbers.example_number_for_type(country, phonenumbers.PhoneNumberType.MOBILE) if country else None
    return _e164(number) if number else ""
