"""What Schemathesis cannot know from the description: which well-formed values exist."""

import os
import random

import phonenumbers
import schemathesis
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

PROVIDER_ID = int(os.environ["PROVIDER_ID"])
REGIONS = ("AR", "BR", "DE", "FR", "GB", "IN", "MX", "NG", "SE", "US")
TYPES = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE, PhoneNumberType.TOLL_FREE)
NUMBERS = [phonenumbers.example_number_for_type(region, type) for region in REGIONS for type in TYPES]
WRITINGS = [
    phonenumbers.format_number(number, form)
    for number in NUMBERS
    for form in (PhoneNumberFormat.E164, PhoneNumberFormat.INTERNATIONAL)
]

schemathesis.openapi.format("phone", st.sampled_from(WRITINGS))
schemathesis.openapi.format(
    "email", st.from_regex(r"[a-z0-9]{1,20}(\.[a-z0-9]{1,20})?@[a-z]{1,20}\.(com|de)", fullmatch=True)
)
schemathesis.openapi.format(
    "uri", st.from_regex(r"https://[a-z]{1,20}\.example(:8443)?/[a-z0-9?=&]{0,40}", fullmatch=True)
)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Every request comes from another client, so that the limit of unknown keys per address is never met."""
    case.headers["X-Forwarded-For"] = ".".join(str(random.randrange(1, 255)) for _ in range(4))


@schemathesis.hook
def map_body(context, body):
    """A provider's id that could exist becomes one that does."""
    if isinstance(body, dict) and type(body.get("provider_id")) is int and 0 < body["provider_id"] < 2**53:
        body["provider_id"] = PROVIDER_ID
        body["channel"] = "sms"
    return body
