"""The channels that a caller is told of, and those that a code could go over."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from verification.core.addresses import Address
from verification.core.errors import ApiError
from verification.models import ChannelType
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection.eligibility import allowed_channels
from verification.services.protection.recipient import RecipientPolicy


@dataclass(frozen=True, slots=True)
class ChannelAnswer:
    """A channel as one session sees it. ``timeout`` is the rest of its block in whole seconds."""

    name: str
    type: str
    is_active: bool
    timeout: int
    image_url: str
    link: str


def session_channel(
    channel: ChannelConfig, *, blocks: Mapping[str, int], active: Collection[str], link_payload: str
) -> ChannelAnswer:
    """Describe a channel. ``blocks``: seconds left of each block; ``active``: messengers that reach the recipient."""
    return ChannelAnswer(
        name=channel.name,
        type=channel.type,
        is_active=not channel.is_messenger or channel.type in active,
        timeout=blocks.get(channel.type, 0),
        image_url=channel.image_url,
        link=bot_link(channel, link_payload) or channel.link,
    )


def session_channels(
    channels: Iterable[ChannelConfig],
    *,
    blocks: Mapping[str, int],
    active: Collection[str],
    link_payload: str,
) -> list[ChannelAnswer]:
    return [session_channel(channel, blocks=blocks, active=active, link_payload=link_payload) for channel in channels]


def project_channels(project: ProjectConfig) -> list[ChannelAnswer]:
    """Describe the project's channels without a session. ``is_active`` is false only for bots, which need a start."""
    without_start = [channel.type for channel in project.channels.values() if not channel.is_bot]
    return session_channels(project.channels.values(), blocks={}, active=without_start, link_payload="")


def usable_channels(policy: RecipientPolicy, channel_type: str | None) -> list[ChannelConfig]:
    """Return the channels that a code could go over, the preferred first. With ``channel_type`` it is that one alone.

    Raises ``channel_not_available`` where the project has none for this kind of recipient. Raises
    ``recipient_not_allowed`` where a list, the country or the type of the number rules out all of them.
    """
    available = policy.project.preferred_channels(policy.address.kind)
    if channel_type is not None:
        available = [channel for channel in available if channel.type == channel_type]
    if not available:
        raise _not_available(policy.project, policy.address, channel_type)
    return available if policy.is_test else allowed_channels(policy, available)


def bot_link(channel: ChannelConfig, link_payload: str, *, provider_id: int | None = None) -> str:
    """Return the deep link that starts a bot of the channel with this payload; empty for a channel without a bot.

    The bot is the one with ``provider_id``, else the channel's first that has a link.
    """
    bots = [provider for provider in channel.providers if provider.is_bot]
    asked_for = [bot for bot in bots if bot.id == provider_id]
    return next(filter(None, (bot.link(link_payload) for bot in asked_for or bots)), "")


def _not_available(project: ProjectConfig, address: Address, channel_type: str | None) -> ApiError:
    recipients = "phone numbers" if address.is_phone else "e-mail addresses"
    if not address.is_phone and ChannelType.EMAIL in project.barred_channels:
        detail = "The project's assurance level (NIST SP 800-63B-4) allows no codes by e-mail."
    elif channel_type is None:
        detail = f"The project has no active channel for {recipients}. Its owner sets one up in the panel."
    else:
        detail = f"The project has no active channel {channel_type} for {recipients}. See the list of channels."
    return ApiError("channel_not_available", detail)
