"""What a session, a message, a wrong code or a token keeps of the request that asked for it."""

from __future__ import annotations

from typing import NamedTuple

from verification.core import request_ids
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection.client_networks import subnet_of


class RequestColumns(NamedTuple):
    """The values by the names of the SQL functions' parameters, which are those of the columns."""

    request: str | None
    caller_request: str
    subnet: str


NO_REQUEST = RequestColumns(None, "", "")  # a send that no request asked for


def request_columns(project: ProjectConfig, request_id: str, client_address: str | None) -> RequestColumns:
    """Return what a row keeps of a request.

    A ``client_address`` of None is the customer's own server, whose network tells nothing.
    """
    subnet = "" if client_address is None else subnet_of(project, client_address)
    return RequestColumns(*request_ids.request_id_columns(request_id), subnet)
