"""The flow of Twilio's published quickstart, written anew: register, verify the number, log in to a secret page.

Nothing here knows of Watchword; ``address.py`` (docs/from-twilio.md) makes the client. Requests are made to the pages
without a network between.
"""

import json
import os
from urllib.parse import parse_qs, urlencode

from address import client

service = client.verify.services(os.environ["VERIFY_SERVICE_SID"])
users = {}  # by name: password, phone number, whether it is verified


def start_verification(to, channel):
    if channel not in ("sms", "call", "whatsapp"):
        channel = "sms"
    return service.verifications.create(to=to, channel=channel).sid


def register(name, password, phone, channel):
    if name in users:
        return "That name is taken."
    if start_verification(phone, channel) is None:
        return "No code could be sent."
    users[name] = {"password": password, "phone": phone, "is_verified": False}
    return "Enter the code."


def verify(name, code):
    try:
        check = service.verification_checks.create(to=users[name]["phone"], code=code)
    except Exception as error:
        return f"Error validating code: {type(error).__name__}"
    if check.status != "approved":
        return "The code is incorrect."
    users[name]["is_verified"] = True
    return "The number is verified. Please log in."


def log_in(name, password):
    user = users.get(name)
    if user is None or user["password"] != password:
        return "Wrong name or password."
    return "The secret page." if user["is_verified"] else "Verify your number first."


PAGES = {"/register": register, "/verify": verify, "/login": log_in}


def visit(path, **fields):
    """Post a form to a page."""
    posted = parse_qs(urlencode(fields))
    return PAGES[path](**{name: values[0] for name, values in posted.items()})


said = [
    visit("/register", name="ann", password="apple", phone=os.environ["TO"], channel="pigeon"),
    visit("/login", name="ann", password="apple"),
    visit("/verify", name="ann", code="000000"),
    visit("/verify", name="ann", code=os.environ["CODE"]),
    visit("/verify", name="ann", code=os.environ["CODE"]),
    visit("/login", name="ann", password="apple"),
]
print(json.dumps(said))
