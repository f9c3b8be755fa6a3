"""Calling the API in tests: one method a endpoint, JSON in, JSON out."""

import json
from urllib.parse import urlencode

ENDPOINTS = (  # method, path, kind of key
    ("POST", "/session/create", "api"),
    ("POST", "/session/send", "api"),
    ("GET", "/session/channels", "api"),
    ("POST", "/session/check", "api"),
    ("GET", "/session/settings", "api"),
    ("GET", "/session/delivery", "api"),
    ("POST", "/session/verify", "secret"),
    ("GET", "/session", "secret"),
    ("GET", "/session/01ARZ3NDEKTSV4RRFFQ69G5FAV", "secret"),
    ("POST", "/manual/send", "secret"),
    ("GET", "/manual/message/1", "secret"),
    ("POST", "/manual/verified", "secret"),
    ("GET", "/manual/channels", "secret"),
    ("GET", "/events", "secret"),
    ("GET", "/events/evt_1", "secret"),
)
POSTS = tuple(endpoint for endpoint in ENDPOINTS if endpoint[0] == "POST")

WRONG = "nope"  # spends an attempt and is no code of any project


def problem(response):
    """Return the status and the code of a failure, which tell it from others."""
    return response.status_code, response.data["code"]


def wrong_fields(response):
    """The fields that a ``validation_error`` names."""
    assert problem(response) == (400, "validation_error")
    return [error["field"] for error in response.data["errors"]]


class Api:
    def __init__(self, client, api_key, secret_key):
        self.client = client
        self.api_key = api_key
        self.secret_key = secret_key

    def key(self, kind):
        return self.api_key if kind == "api" else self.secret_key

    def call(
        self, method, path, body=None, *, key="", headers=None, raw=None, content_type="application/json", **environ
    ):
        headers = {**({"x-api-key": key} if key else {}), **(headers or {})}
        data = raw if raw is not None else ("" if body is None else json.dumps(body))
        response = self.client.generic(method, path, data, content_type=content_type, headers=headers, **environ)
        response.data = json.loads(response.content) if response.content else None
        return response

    def create(self, to="+4915112345678", *, headers=None, **body):
        return self.call("POST", "/session/create", {"to": to, **body}, key=self.api_key, headers=headers)

    def send(self, session_id, type="sms", *, headers=None, **body):
        body = {"session_id": session_id, "type": type, **body}
        return self.call("POST", "/session/send", body, key=self.api_key, headers=headers)

    def check(self, session_id, code):
        return self.call("POST", "/session/check", {"session_id": session_id, "code": code}, key=self.api_key)

    def verify(self, token, *, headers=None):
        return self.call("POST", "/session/verify", {"verify_token": token}, key=self.secret_key, headers=headers)

    def read(self, session_id):
        return self.call("GET", f"/session/{session_id}", key=self.secret_key)

    def sessions(self, **query):
        return self.call("GET", f"/session?{urlencode(query)}", key=self.secret_key)

    def cancel(self, session_id):
        return self.call("POST", f"/session/{session_id}/cancel", key=self.secret_key)

    def delivery(self, session_id):
        return self.call("GET", f"/session/delivery?session_id={session_id}", key=self.api_key)

    def channels(self, session_id=None):
        query = f"?session_id={session_id}" if session_id else ""
        return self.call("GET", f"/session/channels{query}", key=self.api_key)

    def settings(self, session_id=None, *, headers=None):
        query = f"?session_id={session_id}" if session_id else ""
        return self.call("GET", f"/session/settings{query}", key=self.api_key, headers=headers)

    def puzzle(self, project, *, headers=None):
        return self.call("GET", f"/session/challenge?project={project}", headers=headers)

    def manual_send(self, to="+4915112345678", channel="sms", *, headers=None, **body):
        body = {"to": to, "channel": channel, **body}
        return self.call("POST", "/manual/send", body, key=self.secret_key, headers=headers)

    def events(self, after=None, **query):
        given = query if after is None else {"after": after, **query}
        asked = "&".join(f"{name}={value}" for name, value in given.items())
        return self.call("GET", f"/events?{asked}", key=self.secret_key)

    def event(self, event_id):
        return self.call("GET", f"/events/{event_id}", key=self.secret_key)

    def manual_message(self, message_id):
        return self.call("GET", f"/manual/message/{message_id}", key=self.secret_key)

    def report_verified(self, **body):
        return self.call("POST", "/manual/verified", body, key=self.secret_key)

    def manual_channels(self):
        return self.call("GET", "/manual/channels", key=self.secret_key)
