"""Hooks that tell Schemathesis which well-formed values exist, as no description does."""

import os
import random
import unicodedata
import zlib
from urllib.parse import urlencode

import phonenumbers
import schemathesis
from hypothesis import strategies as st
from phonenumbers import PhoneNumberFormat, PhoneNumberType

PROVIDER_ID = int(os.environ["PROVIDER_ID"])
DECLARED = ("to", "type", "channel", "send", "reference", "session_id", "code", "verify_token", "provider_id")
DECLARED += ("callback_url",)
QUERY_BYTES = 8_000  # of the 8,190 that config/gunicorn.py allows a request line
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

RECIPIENTS = [*WRITINGS, *EMAILS]

schemathesis.openapi.format("uri", st.sampled_from(URLS))


@schemathesis.hook
def filter_query(context, query):
    """A longer line is a 414 of the web server's, which the service never sees."""
    return len(urlencode(query or {}, doseq=True)) < QUERY_BYTES


@schemathesis.hook
def before_call(context, case, kwargs):
    """Every request comes from another client, so that the limit of unknown keys per address is never met."""
    case.headers["X-Forwarded-For"] = ".".join(str(random.randrange(1, 255)) for _ in range(4))
    case.body = with_what_exists(case.body)
    if isinstance(case.query, dict) and isinstance(case.query.get("to"), str):
        case.query["to"] = recipient_for(case.query["to"])


def with_what_exists(body):
    """Obey what the description says in words alone.

    A recipient is a phone number or an e-mail address, unknown members keep the rules of a body, a provider must exist,
    and `type` and `channel` name one channel.
    """
    if not isinstance(body, dict):
        return body
    body = {name: value for name, value in body.items() if name in DECLARED or is_plain(value)}
    if isinstance(body.get("to"), str):
        body["to"] = recipient_for(body["to"])
    if isinstance(code := body.get("code"), str) and all(is_ignored(char) for char in code):
        body["code"] = "x" * len(code)
    if "type" in body and "channel" in body:
        body["channel"] = body["type"]
    if is_id(body.get("provider_id")):
        body["provider_id"] = PROVIDER_ID
        body["channel"] = "sms"
    return body


def is_ignored(char):
    """Return whether a check ignores the character."""
    return char.isspace() or unicodedata.category(char) in ("Pd", "Cf")


def recipient_for(text):
    """Return a recipient in the place of a text that the description allows."""
    if not 0 < len(text) <= 1000:
        return text
    return RECIPIENTS[zlib.crc32(text.encode("utf-8", "surrogatepass")) % len(RECIPIENTS)]


def is_id(value):
    """Return whether JSON Schema takes the value for one of our ids: 38.0 is as whole as 38."""
    return type(value) in (int, float) and value == int(value) and 0 < value < 2**53


@schemathesis.check
def a_problem_is_documented(context, response, case):
    """The code of a problem stands among the examples of its operation and status. One schema serves all of them."""
    if response.status_code < 400 or response.status_code == 405:
        return
    documented = case.operation.definition.raw["responses"][str(response.status_code)]["content"]
    examples = documented["application/problem+json"]["examples"]
    assert response.json()["code"] in examples, f"{response.json()['code']} is not documented here"


def is_plain(value):
    """Return whether a value nests little and has no number longer than 18 characters."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return all(not isinstance(item, dict | list) and is_plain(item) for item in items)
    return isinstance(value, bool | str) or value is None or len(f"{value}") <= 18
