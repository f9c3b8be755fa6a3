"""The e-mail services of django-anymail that an owner can choose, and what each calls our settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

AMAZON = "amazon_ses"
MANDRILL = "mandrill"
POSTMARK = "postmark"
SPARKPOST = "sparkpost"
RESEND = "resend"

# What django-anymail imports for single services: Amazon's own library, and the one that reads Resend's reports.
EXTRA_PACKAGES = {AMAZON: ("boto3",), RESEND: ("svix",)}


@dataclass(frozen=True, slots=True)
class Service:
    """One service. ``options`` and ``view_options`` map the library's names of options to our settings.

    ``view`` names the library's view that reads reports, as module and class without its ending; empty if none does.
    ``check_path`` asks something cheap, with the log-in that ``check_header`` describes; empty if nothing can be asked.

    A view that ``is_always_signed`` refuses to work without its key. A service that ``needs_url`` has no usual address.
    One that ``needs_login`` has its subscription confirmed, and only a password proves that the call is its own.
    """

    label: StrOrPromise
    options: Mapping[str, str]
    view: str = ""
    view_options: Mapping[str, str] = field(default_factory=dict)
    is_always_signed: bool = False
    needs_url: bool = False
    needs_login: bool = False
    url: str = ""
    check_path: str = ""
    check_header: str = "Authorization: Bearer {}"


_KEY = {"api_key": "api_key"}
_TOKEN = {"api_token": "api_key"}
_SIGNING_SECRET = {"signing_secret": "webhook_key"}

SERVICES = {
    AMAZON: Service(
        label=_("Amazon SES"),
        options={"configuration_set_name": "configuration_set"},
        view="amazon_ses.AmazonSESTracking",
        needs_login=True,
    ),
    "brevo": Service(
        label=_("Brevo"),
        options=_KEY,
        view="brevo.BrevoTracking",
        url="https://api.brevo.com/v3/",
        check_path="account",
        check_header="api-key: {}",
    ),
    "mailersend": Service(
        label=_("MailerSend"),
        options=_TOKEN,
        view="mailersend.MailerSendTracking",
        view_options=_SIGNING_SECRET,
        is_always_signed=True,
        url="https://api.mailersend.com/v1/",
        check_path="api-quota",
    ),
    "mailgun": Service(
        label=_("Mailgun"),
        options={**_KEY, "sender_domain": "sender_domain"},
        view="mailgun.MailgunTracking",
        view_options={"webhook_signing_key": "webhook_key"},
        is_always_signed=True,
        url="https://api.mailgun.net/v3/",
        check_path="domains/{sender_domain}",
        check_header="basic api",
    ),
    "mailjet": Service(
        label=_("Mailjet"),
        options={**_KEY, "secret_key": "secret_key"},
        view="mailjet.MailjetTracking",
    ),
    "mailtrap": Service(
        label=_("Mailtrap"),
        options=_TOKEN,
        view="mailtrap.MailtrapTracking",
        view_options=_SIGNING_SECRET,
    ),
    MANDRILL: Service(
        label=_("Mandrill"),
        options=_KEY,
        view="mandrill.MandrillCombined",
        view_options={"webhook_key": "webhook_key", "webhook_url": "webhook_url"},
        is_always_signed=True,
    ),
    "postal": Service(
        label=_("Postal"),
        options=_KEY,
        view="postal.PostalTracking",
        view_options={"webhook_key": "webhook_key"},
        is_always_signed=True,
        needs_url=True,
    ),
    POSTMARK: Service(
        label=_("Postmark"),
        options={"server_token": "api_key"},
        view="postmark.PostmarkTracking",
        url="https://api.postmarkapp.com/",
        check_path="server",
        check_header="X-Postmark-Server-Token: {}",
    ),
    RESEND: Service(
        label=_("Resend"),
        options=_KEY,
        view="resend.ResendTracking",
        view_options=_SIGNING_SECRET,
        url="https://api.resend.com/",
        check_path="domains",
    ),
    "scaleway": Service(
        label=_("Scaleway"),
        options={"secret_key": "api_key", "project_id": "project_id", "region": "region"},
    ),
    "sendgrid": Service(
        label=_("SendGrid"),
        options=_KEY,
        view="sendgrid.SendGridTracking",
        view_options={"tracking_webhook_verification_key": "webhook_key"},
        url="https://api.sendgrid.com/v3/",
        check_path="scopes",
    ),
    SPARKPOST: Service(
        label=_("SparkPost"),
        options=_KEY,
        view="sparkpost.SparkPostTracking",
        url="https://api.sparkpost.com/api/v1/",
        check_path="account",
        check_header="Authorization: {}",
    ),
    "unisender_go": Service(
        label=_("Unisender Go"),
        options=_KEY,
        view="unisender_go.UnisenderGoTracking",
        view_options=_KEY,
        is_always_signed=True,
        needs_url=True,
    ),
}


def needed_settings(name: str, *, has_webhook: bool) -> set[str]:
    """Return the names of our settings that a service cannot do without."""
    service = SERVICES[name]
    needed = {"api_key", *service.options.values()} - {"configuration_set"}
    if name == AMAZON:
        needed |= {"secret_key", "region"}
    if service.needs_url:
        needed.add("base_url")
    if has_webhook and service.is_always_signed:
        needed |= {"webhook_key"} & set(service.view_options.values())
    if has_webhook and service.needs_login:
        needed.add("webhook_login")
    return needed
