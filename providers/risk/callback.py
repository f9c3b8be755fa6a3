"""The owner's own server, which knows its users: a signed call as those with events, whose answer decides.

The body is ``{"to", "channel", "country", "network", "known"}``; the answer ``{"verdict": …}``, one of ``allow``,
``challenge`` and ``deny``, with a ``reason`` if the owner wants one in the log. The call is signed by Standard Webhooks
with the project's secrets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from providers.http.client import HttpAnswer, HttpClient
from providers.risk import base
from providers.risk.base import REASON_MAX_LENGTH, Judgement, Question, RiskAccount, Verdict

Sign = Callable[[str], Mapping[str, str]]  # returns the headers that sign a text
_VERDICTS = {"allow": Verdict.ALLOW, "challenge": Verdict.CHALLENGE, "deny": Verdict.DENY}


class Callback(base.Check):
    name = "callback"
    label = "Your server"
    needs = ("callback_url",)

    def request(
        self, question: Question, account: RiskAccount, *, http: HttpClient, sign: Sign | None = None, **_: Any
    ) -> HttpAnswer:
        """``sign`` makes the headers of the call."""
        body = {
            "to": question.to,
            "channel": question.channel,
            "country": question.country,
            "network": question.network,
            "known": question.is_known,
        }
        text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
        headers = {"content-type": "application/json", **(sign(text) if sign else {})}
        return http.request("POST", account.callback_url, headers=headers, content=text.encode(), timeout=base.TIMEOUTS)

    def judge(self, answer: HttpAnswer, account: RiskAccount) -> Judgement:
        found = base.body_of(answer) or {}
        said = found.get("verdict")
        if not isinstance(said, str) or said not in _VERDICTS:
            return base.unread(answer)
        reason = found.get("reason")
        return Judgement(_VERDICTS[said], reason[:REASON_MAX_LENGTH] if isinstance(reason, str) else "")
