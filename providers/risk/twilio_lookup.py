"""Twilio Lookup v2, the package *SMS Pumping Risk*. It can be asked whoever sends the messages.

Source: https://www.twilio.com/docs/lookup/v2-api/sms-pumping-risk (read in November 2026). ``sms_pumping_risk_score``
goes from 0 to 100; ``number_blocked`` tells that Twilio's own guard refuses the number now; ``error_code`` is set where
there is no answer. Twilio advises against asking about numbers of the US and Canada, which this check therefore lets
pass. The price of a look-up is not told in the answer.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from providers.http.client import HttpAnswer, HttpClient
from providers.risk import base
from providers.risk.base import Judgement, Question, RiskAccount, Verdict

URL = "https://lookups.twilio.com"
NOT_ASKED = ("US", "CA")


class TwilioLookup(base.Check):
    name = "twilio_lookup"
    label = "Twilio Lookup"
    needs = ("twilio_account", "twilio_secret")

    def ask(self, question: Question, account: RiskAccount, *, http: HttpClient, **means: Any) -> Judgement:
        if question.country in NOT_ASKED:
            return Judgement(Verdict.ALLOW, "Watchword does not check numbers of this country")
        return super().ask(question, account, http=http, **means)

    def request(
        self, question: Question, account: RiskAccount, *, http: HttpClient, url: str = "", **_: Any
    ) -> HttpAnswer:
        """``url`` is for tests."""
        address = f"{url or URL}/v2/PhoneNumbers/{quote(question.to, safe='')}?Fields=sms_pumping_risk"
        auth = (account.twilio_account, account.twilio_secret)
        return http.request("GET", address, auth=auth, timeout=base.TIMEOUTS)

    def judge(self, answer: HttpAnswer, account: RiskAccount) -> Judgement:
        found = base.body_of(answer)
        risk = found.get("sms_pumping_risk") if found else None
        if not isinstance(risk, dict) or risk.get("error_code") is not None:
            return base.unread(answer)
        score = risk.get("sms_pumping_risk_score")
        if risk.get("number_blocked") is True:
            return Judgement(Verdict.DENY, "the number is blocked for SMS pumping")
        if isinstance(score, bool) or not isinstance(score, int | float):
            return base.unread(answer)
        verdict = Verdict.DENY if score >= account.max_score else Verdict.ALLOW
        return Judgement(verdict, f"risk score {score:g} of 100")
