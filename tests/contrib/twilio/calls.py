"""Calls of Twilio's paths, by a caller that logs in as Twilio's libraries do."""

import base64
import json
from urllib.parse import quote

from verification.core import sids
from verification.models import ApiKey

FORM = "application/x-www-form-urlencoded"


class Twilio:
    def __init__(self, client, project):
        self.client, self.project = client, project
        self.account = sids.of_project(sids.ACCOUNT, project.row.public_id)
        self.service = sids.of_project(sids.SERVICE, project.row.public_id)
        self.key = sids.of_key(ApiKey.objects.get(project=project.row, kind="secret").digest)

    def call(
        self, method, path, *, login=None, header=None, content_type="application/x-www-form-urlencoded", **fields
    ):
        name, password = login or (self.account, self.project.secret_key)
        header = header or "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()
        body = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())
        response = self.client.generic(
            method, f"/v2/Services/{path}", body, content_type=content_type, headers={"authorization": header}
        )
        response.data = json.loads(response.content)
        return response

    def start(self, to="+4915112345678", channel="sms", **fields):
        return self.call("POST", f"{self.service}/Verifications", To=to, Channel=channel, **fields)

    def fetch(self, name):
        return self.call("GET", f"{self.service}/Verifications/{quote(name, safe='')}")

    def update(self, name, status):
        return self.call("POST", f"{self.service}/Verifications/{quote(name, safe='')}", Status=status)

    def check(self, code, **named):
        return self.call("POST", f"{self.service}/VerificationCheck", Code=code, **(named or {"To": "+4915112345678"}))
