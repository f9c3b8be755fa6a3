"""The origin of a request: its id and its caller's network, as they are kept with the rows that it makes."""

from __future__ import annotations

from typing import NamedTuple

from verification.core import ids
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import limits


class Origin(NamedTuple):
    """The columns of an origin, named as the parameters of the SQL functions are."""

    request: str | None
    caller_request: str
    subnet: str


OUR_OWN = Origin(None, "", "")  # a send that no request asked for


def origin_of(project: ProjectConfig, request_id: str, client_address: str | None) -> Origin:
    """Return the origin. A ``client_address`` of None is the customer's own server, whose network tells nothing."""
    subnet = "" if client_address is None else limits.subnet_of(project, client_address)
    return Origin(*ids.request_id_columns(request_id), subnet)
