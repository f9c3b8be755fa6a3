"""E-mail services by their APIs, with django-anymail, which knows each of them.

The library composes the request and the door asks it (:mod:`providers.door.libraries`). Nothing is read from Django's
settings for it: every option is given. It is imported at the first message, or the first report.

Reports are read, and where the service signs them verified, by anymail's own views. They come only where the owner has
entered our webhook address at the service; else acceptance is the last that is known.

A refusal is the recipient's fault where the service tells of recipients that it refused, and of those of Mandrill and
Postmark the reason decides; a mail that failed for no reason told ends no message, nor does an HTTP 400 or 422.

Opens and clicks are not tracked, for links and pixels harm code mails.

UNCONFIRMED: the words with which services tell of used-up credits, beside HTTP 402; the addresses that the check asks,
which are those of the services' documentation.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formataddr
from importlib import import_module
from typing import Any

from django.core.exceptions import SuspiciousOperation, ValidationError
from django.core.handlers.wsgi import WSGIRequest
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.door import libraries
from providers.door.libraries import LibraryCall
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.reading import answers, hooks


@dataclass(frozen=True, slots=True)
class Service:
    """How one service names our settings. ``options`` maps the library's names to ours."""

    label: str
    options: Mapping[str, str]
    view: str = ""
    hook_options: Mapping[str, str] | None = None  # of the view, as ``options``
    always_signed: bool = False  # its view works with the key only
    check: str = ""  # a path that asks something cheap, with the log-in of ``check_header``
    check_header: str = "Authorization: Bearer {}"
    url: str = ""


_KEY = {"api_key": "api_key"}
_TOKEN = {"api_token": "api_key"}
_SIGNING = {"signing_secret": "webhook_key"}
SERVICES = {
    "amazon_ses": Service(
        "Amazon SES", {"configuration_set_name": "configuration_set"}, "amazon_ses.AmazonSESTracking", {}
    ),
    "brevo": Service(
        "Brevo", _KEY, "brevo.BrevoTracking", {}, check="account", check_header="api-key: {}",
        url="https://api.brevo.com/v3/",
    ),
    "mailersend": Service(
        "MailerSend", _TOKEN, "mailersend.MailerSendTracking", _SIGNING, True, "api-quota",
        url="https://api.mailersend.com/v1/",
    ),
    "mailgun": Service(
        "Mailgun", {**_KEY, "sender_domain": "sender_domain"}, "mailgun.MailgunTracking",
        {"webhook_signing_key": "webhook_key"}, True, "domains/{sender_domain}", "basic api",
        "https://api.mailgun.net/v3/",
    ),
    "mailjet": Service("Mailjet", {**_KEY, "secret_key": "secret_key"}, "mailjet.MailjetTracking", {}),
    "mailtrap": Service("Mailtrap", _TOKEN, "mailtrap.MailtrapTracking", _SIGNING),
    "mandrill": Service(
        "Mandrill", _KEY, "mandrill.MandrillCombined", {"webhook_key": "webhook_key", "webhook_url": "webhook_url"},
        True,
    ),
    "postal": Service("Postal", _KEY, "postal.PostalTracking", {"webhook_key": "webhook_key"}, True),
    "postmark": Service(
        "Postmark", {"server_token": "api_key"}, "postmark.PostmarkTracking", {}, check="server",
        check_header="X-Postmark-Server-Token: {}", url="https://api.postmarkapp.com/",
    ),
    "resend": Service(
        "Resend", _KEY, "resend.ResendTracking", _SIGNING, check="domains", url="https://api.resend.com/"
    ),
    "scaleway": Service(
        "Scaleway", {"secret_key": "api_key", "project_id": "project_id", "region": "region"}
    ),
    "sendgrid": Service(
        "SendGrid", _KEY, "sendgrid.SendGridTracking", {"tracking_webhook_verification_key": "webhook_key"},
        check="scopes", url="https://api.sendgrid.com/v3/",
    ),
    "sparkpost": Service(
        "SparkPost", _KEY, "sparkpost.SparkPostTracking", {}, check="account", check_header="Authorization: {}",
        url="https://api.sparkpost.com/api/v1/",
    ),
    "unisender_go": Service("Unisender Go", _KEY, "unisender_go.UnisenderGoTracking", _KEY, True),
}  # fmt: skip
_NEEDS_URL = frozenset({"postal", "unisender_go"})
_ASKS_BY_GET = frozenset({"unisender_go"})  # whether the address answers, when it is entered; others by HEAD
_BY_BASIC = frozenset({"amazon_ses"})  # confirm a subscription only where a password proves that it is ours

_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "opened": ReceiptStatus.SUCCESS,
    "clicked": ReceiptStatus.SUCCESS,
    "complained": ReceiptStatus.SUCCESS,  # it was read, and nothing more is wanted
    "unsubscribed": ReceiptStatus.SUCCESS,
    "bounced": ReceiptStatus.FAILED,
    "rejected": ReceiptStatus.FAILED,
    "failed": ReceiptStatus.FAILED,
}
_SOFT = re.compile(r"soft|transient|undetermined|temporar", re.IGNORECASE)
_HARD = re.compile(r"hard.?bounce|permanent", re.IGNORECASE)
_FUNDS = re.compile(r"not_enough_credits|(daily|monthly)_quota_exceeded|maximum credits exceeded", re.IGNORECASE)
_SENDER = re.compile(r"invalid_from_address|from address|sender signature|from\.email|verify (your|a) domain", re.I)
INACTIVE_RECIPIENT = 406
_POSTMARK = {  # numbers of Postmark's documentation
    300: (Outcome.REFUSED, "an address is not valid"),
    400: (Outcome.MISCONFIGURED, "the sender is not known"),
    401: (Outcome.MISCONFIGURED, "the sender is not confirmed"),
    405: (Outcome.OUT_OF_FUNDS, "the credits are used up"),
    INACTIVE_RECIPIENT: (Outcome.REFUSED, "the recipient is on the suppression list"),
    412: (Outcome.MISCONFIGURED, "the account is not approved yet"),
}
_MANDRILL = {  # reasons of Mandrill's documentation
    "hard-bounce": (Outcome.REFUSED, "the mailbox does not exist"),
    "soft-bounce": (Outcome.REFUSED, "the mailbox took no mail several times"),
    "spam": (Outcome.REFUSED, "the recipient has complained"),
    "unsub": (Outcome.REFUSED, "the recipient wants no mail"),
    "invalid": (Outcome.REFUSED, "the address is not valid"),
    "custom": (Outcome.DECLINED, "the account's own list denies the recipient"),
    "invalid-sender": (Outcome.MISCONFIGURED, "the sender is not accepted"),
    "test-mode-limit": (Outcome.MISCONFIGURED, "the key is one for tests"),
    "unsigned": (Outcome.MISCONFIGURED, "the sender's domain is not signed"),
    "rule": (Outcome.MISCONFIGURED, "a rule of the account forbids it"),
}
_MANDRILL_SUPPRESSED = frozenset({"hard-bounce", "spam", "unsub"})
_AMAZON = {
    "AccountSuspendedException": (Outcome.MISCONFIGURED, "the account is suspended"),
    "LimitExceededException": (Outcome.RATE_LIMITED, "the sending limit is reached"),
    "MailFromDomainNotVerifiedException": (Outcome.MISCONFIGURED, "the sender is not verified"),
    "MessageRejected": (Outcome.MISCONFIGURED, "the sender or the content is not accepted"),
    "SendingPausedException": (Outcome.MISCONFIGURED, "sending is paused for the account"),
    "TooManyRequestsException": (Outcome.RATE_LIMITED, "messages are sent too fast"),
}


class Adapter(base.Adapter):
    type = "anymail"
    label = "E-mail service (Anymail)"
    channels = ("email",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting(
            "service",
            "Service",
            SettingKind.CHOICE,
            required=True,
            choices=tuple((name, service.label) for name, service in SERVICES.items()),
        ),
        Setting("api_key", "API key or token", SettingKind.SECRET, help="For Amazon SES the access key id."),
        Setting(
            "secret_key", "Second key", SettingKind.SECRET, help="Mailjet's secret key, or Amazon's secret access key."
        ),
        Setting("from_email", "Sender's address", required=True),
        Setting("from_name", "Sender's name"),
        Setting("reply_to", "Reply-to address"),
        Setting("sender_domain", "Mailgun: sending domain"),
        Setting("region", "Amazon SES, Scaleway: region", help="Such as eu-central-1, or fr-par."),
        Setting("project_id", "Scaleway: project"),
        Setting("configuration_set", "Amazon SES: configuration set", help="The one that publishes reports."),
        Setting(
            "has_webhook",
            "Reports are set up at the service",
            SettingKind.BOOLEAN,
            default=False,
            help="Our webhook address is entered there. Without it acceptance counts as delivery.",
        ),
        Setting("webhook_key", "Key that reports are signed with", SettingKind.SECRET),
        Setting(
            "webhook_login",
            "User name and password of reports",
            SettingKind.SECRET,
            help="As in user:password, where the service logs in to our address.",
        ),
        Setting("base_url", "Address of the API", SettingKind.URL, help="Empty: the service's usual one."),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        service = str(values["service"])
        errors = {}
        needed = {"api_key", *SERVICES[service].options.values()} - {"configuration_set"}
        needed |= {"secret_key", "region"} if service == "amazon_ses" else set()
        needed |= {"base_url"} if service in _NEEDS_URL else set()
        if values["has_webhook"]:
            needed |= {"webhook_key"} if SERVICES[service].always_signed and service != "unisender_go" else set()
            needed |= {"webhook_login"} if service in _BY_BASIC else set()
        for name in needed:
            if not values[name]:
                errors[name] = f"{SERVICES[service].label} needs this setting"
        for name in ("from_email", "reply_to"):
            if values[name] and not _is_address(str(values[name])):
                errors[name] = "a plain e-mail address is expected"
        for name in ("region", "sender_domain", "project_id", "configuration_set"):
            if not re.fullmatch(r"[0-9A-Za-z._-]*", str(values[name])):
                errors[name] = "letters, digits, dots and hyphens are expected"
        for name in ("api_key", "secret_key"):
            if not re.fullmatch(r"[\x21-\x7e]*", str(values[name])):
                errors[name] = "the key holds a space or a character outside ASCII"
        if values["webhook_login"] and ":" not in str(values["webhook_login"]):
            errors["webhook_login"] = "user:password is expected"
        if re.search(r"[?{}]", str(values["base_url"])):
            errors["base_url"] = "the address is expected without a query and without braces"
        if values["has_webhook"] and not SERVICES[service].view:
            errors["has_webhook"] = "this service's reports cannot be read"
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        if not message.to.isascii() or not message.text:
            raise ProviderError("this address or an empty text cannot be sent", Outcome.NOT_APPLICABLE)
        call = LibraryCall(self.http)
        mail: Any = self._compose(message)
        try:
            with libraries.through_door(call):
                self._backend(call).send_messages([mail])
        except Exception as error:  # the library's own, of which each may quote the mail
            raise self._explain(error, call) from None
        return self._read(mail.anymail_status, call)

    def check(self) -> base.Health:
        service = self._service
        if self.settings["service"] == "amazon_ses":
            return self._check_amazon()
        url = self.text("base_url") or service.url
        if not service.check:
            self.http.touch(url or str(getattr(self._backend(LibraryCall(self.http)), "api_url", "")))
            return base.Health.reached(f"{service.label} can be reached")
        call = LibraryCall(self.http)
        path = service.check.format(sender_domain=self.settings["sender_domain"])
        answer = call.ask("GET", f"{url.rstrip('/')}/{path}", self._login(), None)
        data = answers.read_object(answer)
        if answer.status != 200 and data.get("name") != "restricted_api_key":  # Resend's key that may only send
            raise self._explain(None, call)
        if not data:
            return base.Health(False, f"{service.label} answered, but not as it should.")
        return base.Health(True, f"{service.label} accepts the key.", _credits(data))

    def asks_back(self) -> bool:
        return self.settings["service"] == "amazon_ses"  # which has its subscription confirmed

    def verify_hook(self, request: base.HookRequest) -> None:
        if not self._is_question(request):
            self._view(request)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        if self._is_question(request):
            return base.HookReply()
        view, asked = self._view(request)
        call = LibraryCall(self.http)
        try:
            with libraries.through_door(call):
                events = view.parse_events(asked)
        except Exception:  # whatever a garbled call does to the library
            raise HookUnreadable("the report cannot be read") from None
        found = (self._receipt(event) for event in events)
        return base.HookReply(tuple(receipt for receipt in found if receipt is not None))

    @property
    def _service(self) -> Service:
        return SERVICES[self.text("service")]

    def _compose(self, message: base.OutgoingMessage) -> EmailMultiAlternatives:
        reply_to = self.text("reply_to")
        mail: Any = EmailMultiAlternatives(
            subject=" ".join(message.subject.split()),
            body=message.text,
            from_email=formataddr((self.text("from_name"), self.text("from_email"))),
            to=[message.to],
            reply_to=[reply_to] if reply_to else None,
            headers={"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"},
        )
        if message.html:
            mail.attach_alternative(message.html, "text/html")
        mail.track_opens = mail.track_clicks = False
        mail.metadata = {"message": str(message.id)}
        return mail  # type: ignore[no-any-return]

    def _backend(self, call: LibraryCall) -> Any:
        """With our transport in it already, so that it makes none of its own."""
        libraries.silence("anymail")
        options = {theirs: str(self.settings[ours]) or None for theirs, ours in self._service.options.items()}
        options |= {"ignore_unsupported_features": True, "debug_api_requests": False}  # type: ignore[dict-item]
        url = self.text("base_url")
        is_amazon = self.settings["service"] == "amazon_ses"
        if url and not is_amazon:
            options["api_url"] = url
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            backend = import_module(f"anymail.backends.{self.text('service')}").EmailBackend(**options)
        if is_amazon:
            backend.client = self._amazon("sesv2")
        else:
            backend.session = libraries.requests_session(call)
        return backend

    def _amazon(self, service: str, region: str = "") -> Any:
        names = ("api_key", "secret_key", "base_url")
        region = region or self.text("region")
        return libraries.amazon_client(service, region, *(self.text(name) for name in names))

    def _check_amazon(self) -> base.Health:
        call = LibraryCall(self.http)
        try:
            with libraries.through_door(call):
                account = self._amazon("sesv2").get_account()
            left = account["SendQuota"]["Max24HourSend"] - account["SendQuota"]["SentLast24Hours"]
        except Exception as error:  # as in send
            raise self._explain(error, call) from None
        is_ok = bool(account.get("SendingEnabled")) and left > 0
        return base.Health(is_ok, f"Amazon SES accepts the access key; {left:.0f} mails are left for today.")

    def _login(self) -> dict[str, str]:
        key, how = self.text("api_key"), self._service.check_header
        if how.startswith("basic "):
            login = f"{how.removeprefix('basic ')}:{key}"
            return {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()}
        name, _, value = how.partition(": ")
        return {name: value.format(key)}

    def _read(self, status: Any, call: LibraryCall) -> base.Result:
        words = status.status or set()
        if call.answer is not None and call.answer.status >= 400:
            raise self._explain(None, call)  # the library makes a good answer of some of Postmark's
        if words & {"invalid", "rejected"}:
            raise self._refused(call)
        if "failed" in words:
            raise ProviderError(f"{self._service.label}: the mail failed for no reason told", Outcome.DECLINED)
        identity = answers.identity(status.message_id)
        if identity is None or not words:
            raise ProviderError(f"{self._service.label} accepted, but told no id", Outcome.UNKNOWN)
        return base.Result(Outcome.ACCEPTED, identity, is_delivered=not self.settings["has_webhook"])

    def _explain(self, error: Exception | None, call: LibraryCall) -> ProviderError:
        """By what went over the wire. The service's words are looked through for what we know, and never quoted."""
        name = self._service.label
        usual = call.explain()
        answer = call.answer
        if error.__class__.__name__ == "AnymailRecipientsRefused":
            return self._refused(call)
        if answer is None or answer.status < 400:
            return usual
        response = getattr(error.__cause__ or error, "response", None) if error else None
        told: tuple[Outcome, str] | None = None
        code: object = ""
        if isinstance(response, dict):
            code = response.get("Error", {}).get("Code", "")
            told = _AMAZON.get(str(code))
        elif self.settings["service"] == "postmark":
            code = answers.number(answers.read_object(answer).get("ErrorCode"))
            told = _POSTMARK.get(int(str(code or 0))) if answer.status == 422 else None
        if told is None and _FUNDS.search(answer.text):
            told, code = (Outcome.OUT_OF_FUNDS, "the credits are used up"), answer.status
        elif told is None and answer.status in (400, 422) and _SENDER.search(answer.text):
            told, code = (Outcome.MISCONFIGURED, "the sender is not accepted"), answer.status
        if told is None:
            return usual
        return ProviderError(
            f"{name}: {told[1]} ({code})",
            told[0],
            provider_status=str(code),
            retry_after=usual.retry_after,
            is_suppressed=told is _POSTMARK[INACTIVE_RECIPIENT],
        )

    def _refused(self, call: LibraryCall) -> ProviderError:
        """The one recipient of a mail is refused, by Mandrill for a reason that may be ours."""
        reason = _mandrill_reason(call) if self.settings["service"] == "mandrill" else ""
        outcome, words = _MANDRILL.get(reason, (Outcome.REFUSED, "the recipient is refused"))
        told = f" ({reason})" if reason in _MANDRILL else ""
        return ProviderError(
            f"{self._service.label}: {words}{told}",
            outcome,
            provider_status=reason if told else "",
            is_suppressed=reason in _MANDRILL_SUPPRESSED,
        )

    def _is_question(self, request: base.HookRequest) -> bool:
        """Whether the service only asks if there is somebody at the address."""
        return request.method == "GET" and self.settings["service"] in _ASKS_BY_GET

    def _view(self, request: base.HookRequest) -> tuple[Any, Any]:
        """The library's view and the call as Django's request, verified. Raises :class:`HookForged`."""
        service = self._service
        if not self.settings["has_webhook"] or not service.view or request.method != "POST":
            raise HookForged("no reports are set up")
        libraries.silence("anymail")
        module, _, name = service.view.partition(".")
        given = {**self.settings, "webhook_url": request.url}
        options = {theirs: str(given[ours]) for theirs, ours in (service.hook_options or {}).items() if given[ours]}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make = getattr(import_module(f"anymail.webhooks.{module}"), f"{name}WebhookView")
                view = make(webhook_secret=self.text("webhook_login") or [], **options)
            asked = _as_django(request)
            view.run_validators(asked)
        except SuspiciousOperation:
            raise HookForged("the report does not carry its signature or password") from None
        except Exception:  # a garbled call, or a key that is none
            raise HookForged("the report cannot be verified") from None
        if hasattr(view, "get_boto_client"):
            view.get_boto_client = self._subscriber
        return view, asked

    def _subscriber(self, service: str, region_name: str = "") -> Any:
        """For the view, which confirms Amazon's subscription with it."""
        if not re.fullmatch(r"[a-z]{2,4}(-[a-z]{2,12}){1,3}-[0-9]{1,2}", region_name):
            raise HookUnreadable("the topic is in no region")
        return _SharedClient(self._amazon(service, region_name))

    def _receipt(self, event: Any) -> base.Receipt | None:
        """Of one recipient; a mail of ours has no more than one."""
        word, reason = str(event.event_type), str(event.reject_reason or "")
        status = _STATUSES.get(word)
        metadata = event.metadata if isinstance(event.metadata, dict) else {}
        identity, ours = answers.identity(event.message_id), hooks.our_id(metadata.get("message"))
        if status is None or (identity is None and ours is None):
            return None
        is_bad = status is ReceiptStatus.FAILED
        said = f"{word} {reason}".strip()
        return base.Receipt(
            status,
            provider_message_id=identity,
            message_id=ours,
            error=f"{self._service.label}: it was not delivered ({said})" if is_bad else "",
            provider_status=said,
            is_suppressed=word in ("complained", "unsubscribed") or (is_bad and self._is_hard(event, reason)),
        )

    def _is_hard(self, event: Any, reason: str) -> bool:
        """Whether no later mail will get through. The library calls a full mailbox bounced too, and a wrong name by
        some services without a reason; only what the service itself calls hard or does not call soft counts.
        """
        if reason in ("invalid", "unsubscribed"):
            return True
        raw = event.esp_event if isinstance(event.esp_event, dict) else {}
        data = raw.get("data")
        bounce = data.get("bounce") if isinstance(data, dict) else None
        kind = bounce.get("type") if isinstance(bounce, dict) else ""
        words = [str(word) for word in (raw.get("event"), raw.get("Type"), raw.get("status"), event.description, kind)]
        if raw.get("hard_bounce") is False or any(map(_SOFT.search, words)) or self.settings["service"] == "sparkpost":
            return False
        is_bounce = raw.get("event") == "bounce" and raw.get("type") == "bounce"
        is_hard = raw.get("hard_bounce") is True or is_bounce or any(map(_HARD.search, words))
        return reason == "bounced" or is_hard


class _SharedClient:
    """A client that does not close, for others use it too."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def close(self) -> None:
        pass


def _as_django(request: base.HookRequest) -> WSGIRequest:
    names = {"content-type": "CONTENT_TYPE", "content-length": "_"}
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": "/",
        "QUERY_STRING": request.query,
        "CONTENT_LENGTH": str(len(request.body)),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "443",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.url_scheme": "https",
    }
    for name, value in request.headers.items():
        environ[names.get(name, "HTTP_" + name.upper().replace("-", "_"))] = value
    asked = WSGIRequest(environ)
    asked.body  # noqa: B018  # read before any view reads the form
    return asked


def _mandrill_reason(call: LibraryCall) -> str:
    try:
        told = answers.objects(call.answer.json() if call.answer else None)
    except ValueError:
        return ""
    return str(told[0].get("reject_reason")) if told else ""


def _credits(data: Mapping[str, Any]) -> str | None:
    """What Brevo tells; no other service does."""
    plans = answers.objects(data.get("plan"))
    found = [plan["credits"] for plan in plans if isinstance(plan.get("credits"), int)]
    return f"{sum(found)} credits" if found else None


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.isascii()
