"""Risk checks: one file for each service that is asked about a number before an SMS or a call is paid for."""

from __future__ import annotations

from providers.risk.base import Check
from providers.risk.callback import Callback
from providers.risk.camara_sim_swap import CamaraSimSwap
from providers.risk.twilio_lookup import TwilioLookup
from providers.risk.vonage_identity import VonageIdentity

CHECKS: dict[str, Check] = {
    check.name: check for check in (TwilioLookup(), VonageIdentity(), CamaraSimSwap(), Callback())
}
