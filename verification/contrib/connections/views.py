"""``POST /connect/<public id>``: the address that an identity system calls with each code."""

from __future__ import annotations

import time
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from verification.contrib.connections import answers, connections
from verification.contrib.connections.calls import Call, ProofInvalid
from verification.contrib.connections.connections import ConnectionConfig
from verification.contrib.connections.handing_over import hand_over, not_understood
from verification.core import metrics, request_ids
from verification.core.client_address import client_address
from verification.core.errors import ApiError
from verification.core.request_bodies import read_body
from verification.services.protection import limits
from verification.services.protection.client_networks import network_of

ENDPOINT = "connect"  # its name in the metrics
MAX_BODY_BYTES = (
    64 * 1024
)  # bytes of a call: Supabase's and Okta's tell much of the user, and stay below a few thousand


@csrf_exempt
def receive(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Take a code over. The proof comes before anything of the body is read, and every failure is the system's own."""
    began = time.perf_counter()
    connection = None
    try:
        connection = _find(request, public_id)
        request.project_id = connection.project.id  # type: ignore[attr-defined]  # for the line of a refusal
        call = _read(request, connection)
        _prove(request, connection, call)
        message_ids = hand_over(connection, call, request_id=request_ids.request_id_of(request))
        connections.note_use(connection)
        response = answers.written(connection.system.accepted(message_ids))
    except Exception as error:
        response = answers.refused(error, request, connection.system if connection else None)
    response["Cache-Control"] = "no-store"
    response["X-Request-Id"] = request_ids.request_id_of(request)
    metrics.count_request(ENDPOINT, response.status_code, time.perf_counter() - began)
    return response


def _find(request: HttpRequest, public_id: UUID) -> ConnectionConfig:
    found = connections.find(public_id)
    if found is None:
        limits.count(limits.WRONG_PROOFS, network_of(client_address(request)))
        raise ApiError("not_found")
    if request.method != "POST":
        raise ApiError("method_not_allowed")
    return found


def _read(request: HttpRequest, connection: ConnectionConfig) -> Call:
    """Return the call with its body not yet parsed. Raises ``body_too_large`` and ``parse_error``."""
    body = read_body(request, request, MAX_BODY_BYTES)
    return Call({name.lower(): value for name, value in request.headers.items()}, body, connection.project.id)


def _prove(request: HttpRequest, connection: ConnectionConfig, call: Call) -> None:
    """Raise ``invalid_api_key`` for a call that the system did not make. Such calls are counted by client address."""
    try:
        connection.system.prove(call, connection.secret, now=time.time())
    except ProofInvalid as fault:
        limits.count(limits.WRONG_PROOFS, network_of(client_address(request)))
        raise not_understood(connection, str(fault), rule="connection_proof") from None
