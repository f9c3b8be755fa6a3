"""The sync flow in Twilio's Python library, its errors included. ``address.py`` is shown in docs/from-twilio.md."""

import json
import os

from address import Watchword, client
from twilio.base.exceptions import TwilioRestException
from twilio.rest import Client

TO, CODE, STRANGER, GUESSED = (os.environ[name] for name in ("TO", "CODE", "STRANGER", "GUESSED"))
SERVICE = os.environ["VERIFY_SERVICE_SID"]


def refused(act, *arguments, **named):
    try:
        act(*arguments, **named)
    except TwilioRestException as error:
        return [error.status, error.code]
    return "not refused"


service = client.verify.v2.services(SERVICE)
start, check = service.verifications.create, service.verification_checks.create
with_key = Client(os.environ["API_KEY_SID"], os.environ["TWILIO_AUTH_TOKEN"], http_client=Watchword())
stranger = Client(client.username, "ww_secret_unknown", http_client=Watchword())
seen = {}

started = start(to=TO, channel="sms")
seen["started"] = [started.status, started.channel, started.valid, started.to]
wrong = check(to=TO, code="000000")
seen["wrong"] = [wrong.status, wrong.valid, wrong.sid == started.sid]
fetched = with_key.verify.v2.services(SERVICE).verifications(started.sid).fetch()
seen["fetched"] = [fetched.status, fetched.sid == started.sid, fetched.date_created == started.date_created]
right = check(verification_sid=started.sid, code=CODE)
seen["right"] = [right.status, right.valid]
seen["again"] = refused(check, to=TO, code=CODE)

sent = start(to=STRANGER, channel="sms")
seen["sends"] = [each["channel"] for each in sent.send_code_attempts]
seen["too soon"] = refused(start, to=STRANGER, channel="sms")
seen["too many sends"] = refused(start, to=STRANGER, channel="call")
seen["canceled"] = service.verifications(STRANGER).update(status="canceled").status
seen["gone"] = refused(service.verifications(sent.sid).fetch)

start(to=GUESSED, channel="sms")
seen["guesses"] = [check(to=GUESSED, code="nope").status for _ in range(5)]
seen["too many guesses"] = refused(check, to=GUESSED, code="nope")

seen["no number"] = refused(start, to="12", channel="sms")
seen["no channel"] = refused(start, to=TO, channel="whatsapp")
seen["own code"] = refused(start, to=TO, channel="sms", custom_code="123456")
seen["unknown key"] = refused(stranger.verify.v2.services(SERVICE).verifications.create, to=TO, channel="sms")
print(json.dumps(seen))
