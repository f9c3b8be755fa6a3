"""The operators' own SIM swap API, as CAMARA standardises it: of one operator, or of an aggregator of several.

Source: camaraproject/SimSwap, ``code/API_definitions/sim-swap.yaml`` (read in November 2026): ``POST {root}/check``
with ``phoneNumber`` and ``maxAge`` in hours (1 to 2400) answers ``{"swapped": bool}``. How a token is got is agreed
upon with each operator; we take the simplest way, OAuth's client credentials with the scope ``sim-swap:check``. An
operator that demands a consent of the user (a three-legged token) cannot be asked.
"""

from __future__ import annotations

from typing import Any

from providers.errors import Outcome, ProviderError
from providers.http.client import HttpAnswer, HttpClient
from providers.risk import base
from providers.risk.base import Judgement, Question, RiskAccount, Verdict

SCOPE = "sim-swap:check"


class CamaraSimSwap(base.Check):
    name = "camara_sim_swap"
    label = "CAMARA SIM Swap"
    needs = ("camara_url", "camara_token_url", "camara_client", "camara_secret")

    def request(
        self, question: Question, account: RiskAccount, *, http: HttpClient, token: str = "", **_: Any
    ) -> HttpAnswer:
        """``token`` is one of :func:`access_token` that is still good; without it a new one is asked for."""
        return http.request(
            "POST",
            f"{account.camara_url.rstrip('/')}/check",
            headers={"authorization": f"Bearer {token or access_token(account, http=http)}"},
            json={"phoneNumber": question.to, "maxAge": account.swap_hours},
            timeout=base.TIMEOUTS,
        )

    def judge(self, answer: HttpAnswer, account: RiskAccount) -> Judgement:
        found = base.body_of(answer)
        if found is None or not isinstance(found.get("swapped"), bool):
            return base.unread(answer)
        if found["swapped"]:
            return Judgement(Verdict.DENY, f"the SIM was changed within {account.swap_hours} hours")
        return Judgement(Verdict.ALLOW, f"the SIM was not changed within {account.swap_hours} hours")


def access_token(account: RiskAccount, *, http: HttpClient) -> str:
    """Return a new token. Raises :class:`ProviderError`."""
    answer = http.request(
        "POST",
        account.camara_token_url,
        form={"grant_type": "client_credentials", "scope": SCOPE},
        auth=(account.camara_client, account.camara_secret),
        timeout=base.TIMEOUTS,
    )
    token = (base.body_of(answer) or {}).get("access_token")
    if not isinstance(token, str) or not token.isascii():
        raise ProviderError(f"it returned no access token (HTTP {answer.status})", Outcome.MISCONFIGURED)
    return token
