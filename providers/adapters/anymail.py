"""E-mail services by their APIs, with django-anymail, which knows each of them.

The library composes the request, and the door sends it (:mod:`providers.http.libraries`). We give every option, so
that the library reads nothing from Django's settings. It is imported at the first message, or the first report.

Reports come only if the owner has entered our webhook address at the service (:mod:`providers.anymail.reports`).
Otherwise acceptance is the last that is known. Refusals are judged in :mod:`providers.anymail.refusals`.

We do not track opens and clicks: links and pixels harm code mails.

UNCONFIRMED: the addresses that the check asks, which are those of the services' documentation.
"""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Mapping
from email.utils import formataddr
from importlib import import_module
from typing import Any

from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.validators import validate_email
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.anymail import refusals, reports
from providers.anymail.services import AMAZON, EXTRA_PACKAGES, SERVICES, Service, needed_settings
from providers.base import Outcome, Setting, SettingKind
from providers.errors import HookUnreadable, ProviderError
from providers.http import libraries
from providers.http.libraries import LibraryCall
from providers.parsing import answers


class Adapter(base.Adapter):
    type = "anymail"
    label = _("E-mail service (Anymail)")
    channels = ("email",)
    packages = ("django-anymail", "requests")
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting(
            "service",
            _("Service"),
            SettingKind.CHOICE,
            required=True,
            choices=tuple((name, service.label) for name, service in SERVICES.items()),
            is_of_server=True,
        ),
        Setting("api_key", _("API key or token"), SettingKind.SECRET, help=_("For Amazon SES, the access key ID.")),
        Setting(
            "secret_key",
            _("Mailjet, Amazon SES: secret key"),
            SettingKind.SECRET,
            help=_("Mailjet's secret key, or Amazon's secret access key."),
        ),
        Setting("from_email", _("Sender address"), required=True),
        Setting("from_name", _("Sender name")),
        Setting("reply_to", _("Reply-to address")),
        Setting("sender_domain", _("Mailgun: sending domain")),
        Setting("region", _("Amazon SES, Scaleway: region"), help=_("Such as eu-central-1, or fr-par.")),
        Setting("project_id", _("Scaleway: project")),
        Setting("configuration_set", _("Amazon SES: configuration set"), help=_("The one that publishes reports.")),
        Setting(
            "has_webhook",
            _("Delivery reports are set up at the vendor"),
            SettingKind.BOOLEAN,
            default=False,
            help=_(
                "Turn on after entering this provider's webhook URL at the vendor. When off, accepted"
                " messages count as delivered."
            ),
        ),
        Setting("webhook_key", _("Signing key for reports"), SettingKind.SECRET),
        Setting(
            "webhook_login",
            _("Username and password for reports"),
            SettingKind.SECRET,
            help=_("Enter user:password if the vendor sends Basic authentication to the webhook URL."),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, help=_("Leave empty for the vendor's default.")),
    )
    vendor_setting = "service"
    shown_when = {
        "secret_key": ("service", ("mailjet", AMAZON)),
        "sender_domain": ("service", ("mailgun",)),
        "region": ("service", (AMAZON, "scaleway")),
        "project_id": ("service", ("scaleway",)),
        "configuration_set": ("service", (AMAZON,)),
        "webhook_key": ("has_webhook", (True,)),
        "webhook_login": ("has_webhook", (True,)),
    }

    @classmethod
    def needed_packages(cls, values: Mapping[str, object]) -> tuple[str, ...]:
        return cls.packages + EXTRA_PACKAGES.get(str(values.get("service", "")), ())

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        service = str(values["service"])
        errors: dict[str, str] = {}
        needed = needed_settings(service, has_webhook=bool(values["has_webhook"]))
        for name in needed:
            if not values[name]:
                errors[name] = gettext("{service} requires this setting").format(service=SERVICES[service].label)
        for name in ("from_email", "reply_to"):
            if values[name] and not _is_address(str(values[name])):
                errors[name] = gettext("enter a plain e-mail address")
        for name in ("region", "sender_domain", "project_id", "configuration_set"):
            if not re.fullmatch(r"[0-9A-Za-z._-]*", str(values[name])):
                errors[name] = gettext("use only letters, digits, dots and hyphens")
        for name in ("api_key", "secret_key"):
            if not re.fullmatch(r"[\x21-\x7e]*", str(values[name])):
                errors[name] = gettext("the key contains a space or a non-ASCII character")
        if values["webhook_login"] and ":" not in str(values["webhook_login"]):
            errors["webhook_login"] = gettext("enter it as user:password")
        if re.search(r"[?{}]", str(values["base_url"])):
            errors["base_url"] = gettext("enter the URL without a query string and without braces")
        if values["has_webhook"] and not SERVICES[service].view:
            errors["has_webhook"] = gettext("delivery reports of this vendor are not supported")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        if not message.to.isascii() or not message.text:
            raise ProviderError("this address or an empty text cannot be sent", Outcome.NOT_APPLICABLE)
        call = LibraryCall(self.http)
        mail: Any = self._compose(message)
        try:
            with libraries.through_door(call):
                self._backend(call).send_messages([mail])
        except Exception as error:  # the library's errors may quote the mail
            raise self._explain(error, call) from None
        return self._read(mail.anymail_status, call)

    def check(self) -> base.Health:
        service = self._service
        if self._name == AMAZON:
            return self._check_amazon()
        url = self.text("base_url") or service.url
        if not service.check_path:
            self.http.touch(url or str(getattr(self._backend(LibraryCall(self.http)), "api_url", "")))
            return base.Health.reached(f"{service.label} can be reached")
        call = LibraryCall(self.http)
        path = service.check_path.format(sender_domain=self.settings["sender_domain"])
        answer = call.ask("GET", f"{url.rstrip('/')}/{path}", self._login(), None)
        data = answers.read_object(answer)
        if answer.status != 200 and data.get("name") != "restricted_api_key":  # Resend's key that may only send
            raise self._explain(None, call)
        if not data:
            return base.Health(False, f"{service.label} answered, but not as expected.")
        return base.Health(True, f"{service.label} accepts the key.", _credits(data))

    def asks_back(self) -> bool:
        return self._name == AMAZON  # its subscription must be confirmed

    def verify_hook(self, request: base.HookRequest) -> None:
        self._open_view(request)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        view, django_request = self._open_view(request)
        try:
            with libraries.through_door(LibraryCall(self.http)):  # Amazon's subscription is confirmed by asking back
                events = view.parse_events(django_request)
        except Exception:  # whatever a garbled call does to the library
            raise HookUnreadable("the report cannot be read") from None
        if reports.has_ended(self._name, request):
            return base.HookReply((base.ReportsEnded(),))
        found = (reports.read_receipt(self._name, event) for event in events)
        return base.HookReply(tuple(receipt for receipt in found if receipt is not None))

    @property
    def _name(self) -> str:
        return self.text("service")

    @property
    def _service(self) -> Service:
        return SERVICES[self._name]

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
        """Make the library's backend with our transport already in it, so that it makes none of its own."""
        libraries.silence("anymail")
        options = {theirs: str(self.settings[ours]) or None for theirs, ours in self._service.options.items()}
        options |= {"ignore_unsupported_features": True, "debug_api_requests": False}  # type: ignore[dict-item]
        url = self.text("base_url")
        is_amazon = self._name == AMAZON
        if url and not is_amazon:
            options["api_url"] = url
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            backend = import_module(f"anymail.backends.{self._name}").EmailBackend(**options)
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
        except Exception as error:  # the library's errors may quote the request
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
            raise self._explain(None, call)  # the library takes some of Postmark's refusals for acceptances
        if words & {"invalid", "rejected"}:
            raise refusals.recipient_refused(self._name, call)
        if "failed" in words:
            raise ProviderError(f"{self._service.label}: the mail failed without a reason", Outcome.DECLINED)
        identity = answers.identity(status.message_id)
        if identity is None or not words:
            raise self._explain(None, call)
        return base.Result(Outcome.ACCEPTED, identity, is_delivered=not self.settings["has_webhook"])

    def _explain(self, error: Exception | None, call: LibraryCall) -> ProviderError:
        return refusals.explain(self._name, error, call)

    def _open_view(self, request: base.HookRequest) -> tuple[Any, Any]:
        return reports.open_view(self._name, self.settings, request, amazon=self._amazon)


def _credits(data: Mapping[str, Any]) -> str | None:
    """The credits that are left, which only Brevo tells."""
    plans = answers.objects(data.get("plan"))
    found = [plan["credits"] for plan in plans if isinstance(plan.get("credits"), int)]
    return f"{sum(found)} credits" if found else None


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.isascii()
