"""Eskiz (Uzbekistan): codes as SMS by its API, with a token that is shared by all processes.

The token lives for about 30 days and is kept in the provider's store. When Eskiz refuses it, one process logs in
anew, and the others take the token that it got. If Eskiz refuses the new token too, the settings are wrong.

Eskiz takes only texts of approved templates. Receipts are not signed. So beside the secret in the webhook address, we
ask Eskiz whether the receipt is true.

All this comes from two clients that agree. UNCONFIRMED: the words of a refused token, so every 401 means one; the words
of a refused text, so the field that a refusal names tells whose fault it is; the fields of a receipt, so we try the
usual names; the content of ``country_code`` for other countries, so those are off at first.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import UNLISTED, HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, Timeouts, classify_status
from providers.http.deadline import Deadline
from providers.parsing import answers, gsm, hooks

# The time for a call, with its log-in.
TOTAL_SECONDS = 5.0
# The time to connect.
CONNECT_SECONDS = 2.0
# The time to ask whether a receipt is true: Eskiz waits for our answer meanwhile.
ASK_BACK = Timeouts(1.0, 2.0)
# The time for which we keep a token. It lives for about 30 days.
TOKEN_SECONDS = 25 * 24 * 3600
# The time for which one process alone may replace a refused token.
TURN_SECONDS = 30
# The wait for another process's log-in before we make our own, and the pause between two looks.
WAIT_SECONDS, LOOK_SECONDS = 1.5, 0.1
UZBEKISTAN = "998"

_TOKEN = re.compile(r"[\x21-\x7e]{1,4000}")
_QUEUED = frozenset({"WAITING", "NEW"})
_STATUSES = {
    "ACCEPTED": ReceiptStatus.SENT,
    "ENROUTE": ReceiptStatus.SENT,
    "PARTDELIVERED": ReceiptStatus.SENT,
    "DELIVERED": ReceiptStatus.SUCCESS,
    "DELIVRD": ReceiptStatus.SUCCESS,
    "EXPIRED": ReceiptStatus.EXPIRED,
    "REJECTED": ReceiptStatus.FAILED,
    "REJECTD": ReceiptStatus.FAILED,
    "UNDELIV": ReceiptStatus.FAILED,
    "UNDELIVERABLE": ReceiptStatus.FAILED,
    "DELETED": ReceiptStatus.FAILED,
}
_OPEN = frozenset({Outcome.UNKNOWN, Outcome.UNCLEAR})
# By the field that a refusal names; the first that is there counts.
_FIELDS: dict[str, tuple[Outcome, str]] = {
    "mobile_phone": (Outcome.REFUSED, "the number is not valid"),
    "from": (Outcome.MISCONFIGURED, "the sender is not accepted"),
    "message": (Outcome.MISCONFIGURED, "the text is not accepted; texts need an approved template"),
}
_UNNAMED = (UNLISTED[0], "the number, the text or the sender is not accepted; texts need an approved template")
_ID_FIELDS = ("request_id", "message_id", "id")


class Adapter(base.Adapter):
    type = "eskiz"
    label = _("Eskiz")
    channels = ("sms",)
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("email", _("Account e-mail address"), required=True),
        Setting(
            "password",
            _("Password"),
            SettingKind.SECRET,
            required=True,
            help=_("The API password from your Eskiz account."),
        ),
        Setting("sender", _("Sender"), default="4546", help=_("4546 until your account has its own sender name.")),
        Setting(
            "is_international",
            _("Also send outside Uzbekistan"),
            SettingKind.BOOLEAN,
            default=False,
            help=_("Uses Eskiz's international service, which has separate prices."),
        ),
        Setting(
            "confirms_receipts",
            _("Verify delivery reports with Eskiz"),
            SettingKind.BOOLEAN,
            default=True,
            help=_("Eskiz does not sign delivery reports. When off, only the secret in the webhook URL protects them."),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://notify.eskiz.uz/api"),
    )

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        digits = message.to.removeprefix("+")
        url = hooks.report_url(message, self.http.allowed_networks)
        form = {"mobile_phone": digits, "message": message.text}
        if digits.startswith(UZBEKISTAN):
            path = "/message/sms/send"
            form["from"] = message.sender or self.text("sender")
            form |= {"callback_url": url} if url else {}
        elif self.settings["is_international"]:
            path, url = "/message/sms/send-global", ""
            form |= {"country_code": message.country, "unicode": "0" if gsm.is_gsm7(message.text) else "1"}
        else:
            raise ProviderError("Eskiz is set up for numbers of Uzbekistan only", Outcome.NOT_APPLICABLE)
        return _read(self._ask("POST", path, form=form), is_delivered=not url)

    def check(self) -> base.Health:
        answer = self._ask("GET", "/auth/user")
        if answer.status != 200:
            raise classify_status(answer)
        data = answers.read_object(answer)
        user = data.get("data") if isinstance(data.get("data"), dict) else data
        return answers.balance_health("Eskiz", user.get("balance") if isinstance(user, dict) else None, "UZS")

    def asks_back(self) -> bool:
        return bool(self.settings["confirms_receipts"])

    def verify_hook(self, request: base.HookRequest) -> None:
        """Ask Eskiz for the status and compare it with the receipt's. Without an answer we do not take the receipt."""
        if not self.settings["confirms_receipts"]:
            return
        identity, word = _read_receipt(request)
        if _STATUSES.get(word) is None:
            return  # such a receipt changes nothing
        try:
            answer = self._ask("GET", f"/message/sms/status_by_id/{identity}", timeouts=ASK_BACK)
        except ProviderError:
            raise HookForged("Eskiz could not confirm the delivery report") from None
        data = answers.read_object(answer).get("data")
        found = _status_word(data.get("status")) if answer.status == 200 and isinstance(data, dict) else ""
        if _STATUSES.get(found) is not _STATUSES[word]:
            raise HookForged("Eskiz does not confirm this delivery report")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        identity, word = _read_receipt(request)
        status = _STATUSES.get(word)
        if status is None:
            return base.HookReply()
        receipt = hooks.receipt(status, vendor="Eskiz", identity=identity, word=word)
        return base.HookReply((receipt,))

    def _ask(self, method: str, path: str, *, timeouts: Timeouts | None = None, **content: Any) -> HttpAnswer:
        """Ask with the token that all processes share. If Eskiz refuses it, ask once more with a new one."""
        deadline = Deadline(timeouts.total if timeouts else TOTAL_SECONDS)
        token = self._stored_token() or self._new_token("", deadline)
        answer = self._request(method, path, deadline, token, **content)
        if answer.status != 401:
            return answer
        answer = self._request(method, path, deadline, self._new_token(token, deadline), **content)
        if answer.status == 401:
            raise ProviderError("Eskiz rejects a new token", Outcome.MISCONFIGURED, provider_status="401")
        return answer

    def _request(self, method: str, path: str, deadline: Deadline, token: str, **content: Any) -> HttpAnswer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        seconds = _left(deadline)
        timeouts = Timeouts(min(CONNECT_SECONDS, seconds), seconds)
        url = self.text("base_url").rstrip("/") + path
        return self.http.request(method, url, headers=headers, timeout=timeouts, **content)

    def _new_token(self, refused: str, deadline: Deadline) -> str:
        """Return a token other than ``refused``. The first process logs in; the others wait a moment for its token."""
        ends_at = time.monotonic()
        if not self._queue_up(refused):
            ends_at += min(WAIT_SECONDS, _left(deadline) / 2)
        while True:
            found = self._stored_token()
            if found and found != refused:
                return found
            if time.monotonic() >= ends_at:
                break
            time.sleep(LOOK_SECONDS)
        token = self._log_in(deadline)
        with suppress(Exception):  # any error may come from the store; without it the next call logs in again
            self.store.set(f"token-{self._account()}", token, TOKEN_SECONDS)
        return token

    def _queue_up(self, refused: str) -> bool:
        """Join a shared queue; return whether we are its head. Without a store, everyone is."""
        turn = f"turn-{self._account()}-{hashlib.sha256(refused.encode()).hexdigest()[:16]}"
        mine = secrets.token_hex(8)
        try:
            self.store.push(turn, mine, keep=1000, seconds=TURN_SECONDS)
            return self.store.list(turn)[-1:] == [mine]
        except Exception:  # any error may come from the store
            return True

    def _log_in(self, deadline: Deadline) -> str:
        """Log in and return the token. A failed log-in has surely sent no message, so its outcome is never unknown."""
        form = {"email": self.settings["email"], "password": self.settings["password"]}
        try:
            answer = self._request("POST", "/auth/login", deadline, "", form=form)
        except ProviderError as error:
            is_open = error.outcome in _OPEN
            raise ProviderError(str(error), Outcome.TEMPORARY if is_open else error.outcome) from None
        data = answers.read_object(answer).get("data")
        token = data.get("token") if isinstance(data, dict) else None
        if 200 <= answer.status < 300 and isinstance(token, str) and _TOKEN.fullmatch(token):
            return token
        failure = classify_status(answer)
        if failure.outcome in _OPEN:
            failure.outcome = Outcome.TEMPORARY
        if answer.status < 300:
            text = "Eskiz: the login returned no token"
            raise ProviderError(text, Outcome.MISCONFIGURED, provider_status=failure.provider_status)
        if failure.outcome is Outcome.DECLINED and answer.status == 404:
            failure.outcome = Outcome.MISCONFIGURED
        elif failure.outcome is Outcome.DECLINED or answer.status == 401:
            failure = ProviderError(
                "Eskiz rejects the e-mail address or password",
                Outcome.MISCONFIGURED,
                provider_status=failure.provider_status,
            )
        raise failure

    def _stored_token(self) -> str:
        """Return the shared token; empty if there is none or the store does not answer."""
        try:
            return self.store.get(f"token-{self._account()}") or ""
        except Exception:  # any error may come from the store
            return ""

    def _account(self) -> str:
        """Return a digest of the log-in that a token belongs to: another password has no token yet."""
        return _account(*(self.text(name) for name in ("base_url", "email", "password")))


@lru_cache(maxsize=64)
def _account(base_url: str, email: str, password: str) -> str:
    """Return a slow hash: the store has it in the open, as a part of names, and people choose passwords."""
    salt = f"{base_url}\n{email}".encode()
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1, dklen=8).hex()  # 16 MB, some 50 ms


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    data = answers.read_object(answer)
    identity, word = answers.identity(data.get("id")), _status_word(data.get("status"))
    if answer.status in (400, 422) or (answer.status == 200 and word == "ERROR"):
        raise _refusal(answer, data)
    if not 200 <= answer.status < 300 or identity is None or not (word in _QUEUED or word in _STATUSES):
        raise classify_status(answer)
    return base.Result(Outcome.ACCEPTED, identity, provider_status=word, is_delivered=is_delivered)


def _refusal(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refusal by the name of the field alone, because Eskiz' sentences may quote the number."""
    parts = [data.get("errors"), data.get("message"), data.get("data")]
    named = {name for part in parts if isinstance(part, dict) for name in part}
    outcome, words = next((_FIELDS[field] for field in _FIELDS if field in named), _UNNAMED)
    return ProviderError(f"Eskiz: {words}", outcome, provider_status=str(answer.status))


def _read_receipt(request: base.HookRequest) -> tuple[str, str]:
    """Return the id and the status of a receipt. Raises :class:`HookUnreadable`."""
    fields = hooks.posted_fields(request)
    identity = next((found for name in _ID_FIELDS if (found := answers.identity(fields.get(name)))), None)
    if identity is None or not re.fullmatch(r"[0-9A-Za-z-]{1,100}", identity):
        raise HookUnreadable("the delivery report names no message")
    return identity, _status_word(fields.get("status"))


def _status_word(value: object) -> str:
    """Return one of Eskiz' statuses in capitals; empty for anything else."""
    return value.upper() if isinstance(value, str) and re.fullmatch(r"[A-Za-z]{1,20}", value) else ""


def _left(deadline: Deadline) -> float:
    try:
        return deadline.left()
    except TimeoutError:
        raise ProviderError("Eskiz did not answer in time; nothing was sent", Outcome.TEMPORARY) from None
