"""Who may be sent to, by what is known before the database is asked: lists, countries, types of number.

Callers hear one answer whichever rule it was; the owner's log says which.
"""

from __future__ import annotations

from collections.abc import Mapping

from verification.addresses import Address, is_reachable, mask
from verification.errors import Refusal
from verification.models import ListSubject
from verification.services.configuration import ChannelConfig, ProjectConfig
from verification.services.limits import network_of

NOWHERE = "no country"  # satellite and other networks that belong to none


def admitted(
    project: ProjectConfig, address: Address, channels: list[ChannelConfig], *, client_address: str = ""
) -> list[ChannelConfig]:
    """Those of ``channels`` over which this recipient may be sent to, in their order.

    Raises ``recipient_not_allowed``.
    """
    if subject := project.lists.blocked_by(address, client_address):
        raise _refused(project, "block_list", _named(subject, address, client_address), {"entry": subject})
    reaching = [channel for channel in channels if is_reachable(address, channel.type, allow_voip=project.allow_voip)]
    if not reaching:
        figures = {"type": address.number_type.value, "country": address.country or NOWHERE}
        raise _refused(project, "number_type", mask(address.text), figures)
    if address.is_phone:
        reaching = [channel for channel in reaching if _serves_country(project, channel, address.country)]
        if not reaching:
            raise _refused(
                project, "country", address.country or NOWHERE, {"channels": [channel.type for channel in channels]}
            )
    return reaching


def _serves_country(project: ProjectConfig, channel: ChannelConfig, country: str) -> bool:
    """An empty list allows every country; once there is one, a number of no known country is refused."""
    return all(not allowed or country in allowed for allowed in (project.countries, channel.countries))


def _named(subject: str, address: Address, client_address: str) -> str:
    match subject:
        case ListSubject.CLIENT:
            return network_of(client_address)
        case ListSubject.COUNTRY:
            return address.country
        case _:
            return mask(address.text)


def _refused(project: ProjectConfig, rule: str, subject: str, figures: Mapping[str, object]) -> Refusal:
    refusal = Refusal("recipient_not_allowed", "Nothing can be sent to this recipient.")
    refusal.decision = {"project_id": project.id, "rule": rule, "subject": subject, "figures": figures}
    return refusal
