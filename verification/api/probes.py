"""The two addresses that a load balancer or an orchestrator asks, under any host name and without a key.

``/livez`` asks nobody: a process that answers runs, and to restart it would bring back nothing that is away.
``/readyz`` asks the database.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from verification.api.rendering import json_response
from verification.errors import Refusal
from verification.services.upkeep.health import failing

LIVE, READY = "/livez", "/readyz"
RETRY_SECONDS = 1  # wait that a caller of /readyz is told; the state is asked anew once a second
OK = {"status": "ok"}


def answer(request: HttpRequest) -> HttpResponse:
    """Answer a probe, whatever its method."""
    if request.path_info == READY and (reason := failing()):
        raise Refusal("service_unavailable", reason, retry_after=RETRY_SECONDS)
    return json_response(OK)
