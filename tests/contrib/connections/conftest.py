"""A connection of each system, and its far end."""

import pytest


@pytest.fixture(params=["supabase_sms", "logto sms", "zitadel sms"])
def far(request):
    from tests.contrib.connections.payloads import FAR

    return FAR[request.param]


@pytest.fixture
def connect(client, project):
    """Make a connection, and return what calls it."""
    from tests.contrib.connections.calls import Connected

    def made(far, channel="", **changes):
        return Connected(client, project, far, channel=channel, **changes)

    return made
