"""A project that serves Twilio's paths."""

import pytest


@pytest.fixture
def twilio(client, project):
    from tests.contrib.twilio.calls import Twilio

    return Twilio(client, project.set(twilio_endpoints=True))


@pytest.fixture
def problem():
    """Return the status and the code of a refusal, which Twilio's libraries raise."""

    def read(response):
        assert set(response.data) == {"code", "message", "more_info", "status"}
        assert response.data["status"] == response.status_code
        return response.status_code, response.data["code"]

    return read
