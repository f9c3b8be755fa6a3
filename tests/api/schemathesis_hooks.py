"""What Schemathesis cannot know from the description: which well-formed values exist."""

import os
import random

import phonenumbers
import schemathesis
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

PROVIDER_ID = int(os.environ["PROVIDER_ID"])
DECLARED = ("to", "type", "send", "session_id", "code", "verify_token", "channel", "provider_id", "callback_url")
REGIONS = ("AR", "BR", "DE", "FR", "GB", "IN", "MX", "NG", "SE", "US")
TYPES = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE, PhoneNumberType.TOLL_FREE)
NUMBERS = [phonenumbers.example_number_for_type(region, type) for region in REGIONS for type in TYPES]
WRITINGS = [
    phonenumbers.format_number(number, form)
    for number in NUMBERS
    for form in (PhoneNumberFormat.E164, PhoneNumberFormat.INTERNATIONAL)
]

# Short ones, and the longest: random text of exactly that length would be searched for at great cost.
EMAILS = [
    *(f"{local}@{domain}" for local in ("ada", "b.c", "d+e", "0") for domain in ("example.com", "mail.example.de")),
    *(f"{'a' * 64}@{'.'.join(['b' * 63] * 2)}.{'c' * (length - 197)}.com" for length in (253, 254)),
]
URLS = [
    *(f"https://{host}/{path}" for host in ("shop.example", "a.b.example:8443") for path in ("", "hook?id=1&x=y")),
    *("https://shop.example/".ljust(length, "x") for length in (2047, 2048)),
]

schemathesis.openapi.format("phone", st.sampled_from(WRITINGS))
schemathesis.openapi.format("email", st.sampled_from(EMAILS))
schemathesis.openapi.format("uri", st.sampled_from(URLS))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Every request comes from another client, so that the limit of unknown keys per address is never met."""
    case.headers["X-Forwarded-For"] = ".".join(str(random.randrange(1, 255)) for _ in range(4))


@schemathesis.hook
def map_body(context, body):
    """What the description says in words alone: unknown members obey the rules of a body too; a provider must exist."""
    if not isinstance(body, dict):
        return body
    body = {name: value for name, value in body.items() if name in DECLARED or is_plain(value)}
    if type(body.get("provider_id")) is int and 0 < body["provider_id"] < 2**53:
        body["provider_id"] = PROVIDER_ID
        body["channel"] = "sms"
    return body


def is_plain(value):
    """Whether a value nests little and has no number of over 20 digits."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return all(not isinstance(item, dict | list) and is_plain(item) for item in items)
    return isinstance(value, bool | str) or value is None or len(f"{value}") <= 18
