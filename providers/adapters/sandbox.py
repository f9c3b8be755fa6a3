"""The sandbox: sends nothing, and answers by the recipient as docs/testing.md says. It serves test projects alone."""

from __future__ import annotations

from typing import ClassVar

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.errors import Outcome, ProviderError
from providers.sandbox import RECEIPT_SECONDS, Simulated, outcome_of

TRIED_SECONDS = 3600  # for which a first try is remembered: longer than any code lives
GIVE_UP_SECONDS = 3600.0  # before the next try of a provider that stays down: longer than any code lives


class Adapter(base.Adapter):
    type = "sandbox"
    label = _("Sandbox (sends nothing; for test projects)")
    channels: ClassVar[tuple[str, ...]] = base.CHANNELS
    is_local = True
    is_simulation = True
    receipt_window_seconds = RECEIPT_SECONDS

    def send(self, message: base.OutgoingMessage) -> base.Result:
        number = f"sandbox-{message.id}"
        match outcome_of(message.to):
            case None:
                raise ProviderError("this is not a sandbox recipient", Outcome.NOT_APPLICABLE)
            case Simulated.LATE | Simulated.NEVER | Simulated.BOUNCED:
                return base.Result.accepted(number)
            case Simulated.REFUSED:
                raise ProviderError("the carrier refused the recipient", Outcome.REFUSED, provider_status="refused")
            case Simulated.ALL_DOWN:
                raise ProviderError(
                    "the provider is down", Outcome.TEMPORARY, provider_status="down", retry_after=GIVE_UP_SECONDS
                )
            case Simulated.RECOVERS if self._is_first(message):
                raise ProviderError("the provider is down for a moment", Outcome.TEMPORARY, provider_status="down")
        return base.Result.accepted(number, is_delivered=True)

    def _is_first(self, message: base.OutgoingMessage) -> bool:
        name = f"tried-{message.id}"
        if self.store.get(name):
            return False
        self.store.set(name, "1", TRIED_SECONDS)
        return True

    def check(self) -> base.Health:
        return base.Health(True, "The sandbox answers by the recipient and sends nothing.")
