"""Give a test project the sandbox, as the last provider of each channel."""

from __future__ import annotations

from verification.models import ChannelType, Project
from verification.services.providers.accounts import add_provider

NAME = "Sandbox"
PRIORITY = 900  # after whatever shows messages to a developer
BOT_CHANNEL = ChannelType.MESSENGER_A  # the channel on which users start a bot first


def add_sandbox(project: Project) -> None:
    """Connect the sandbox on every channel. Raises :class:`verification.core.errors.UserError` for a live project."""
    for channel in ChannelType.values:
        provider_type = "sandbox_bot" if channel == BOT_CHANNEL else "sandbox"
        add_provider(
            project=project, channel=channel, provider_type=provider_type, name=NAME, values={}, priority=PRIORITY
        )
