"""What became of a code that we sent and did not check: the customer's server reports that its user got in."""

from __future__ import annotations

from verification import sql
from verification.core.addresses import Address
from verification.core.errors import ApiError
from verification.services.projects.snapshot import ProjectConfig

NOT_SENT = "No manual send and no connection's message went to this recipient within the last day."


def report_verified(*, project: ProjectConfig, message_id: int | None = None, address: Address | None = None) -> None:
    """Note that the user of a message got in. The message or its recipient names it; a repeated report changes nothing.

    The recipient becomes known, and the send counts as verified in the traffic guard, the figures and the routing.

    Raises ``message_not_found`` for what is no message of the project's without a session, or for a recipient who was
    sent none within the last day.
    """
    row = sql.call(
        "report_verified", project=project.id, message=message_id, address=None if address is None else address.text
    )
    if row.outcome != "verified":
        raise ApiError(row.outcome, "" if address is None else NOT_SENT)
