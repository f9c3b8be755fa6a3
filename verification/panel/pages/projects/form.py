"""The form of a project: what its settings are called, how they are typed in, and what is refused."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from unfold.widgets import UnfoldAdminPasswordWidget

from verification.errors import Misuse
from verification.models import Project
from verification.networks import clean_network
from verification.panel.frame.fields import LinesField, cleaned
from verification.services.projects.ceilings import CEILINGS, require_below_ceiling
from verification.services.projects.lists import clean_country
from verification.services.projects.projects import (
    clean_alert_url,
    clean_android_hash,
    clean_challenge_host,
    clean_domain,
    clean_origin,
    judge_challenge,
    require_free_name,
    seal_challenge_secret,
)
from verification.services.texts.own import clean_language, judge_name


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    origins = LinesField(
        clean_item=clean_origin,
        help_text="Browser origins that may call the session endpoints, one a line, such as https://app.example.com.",
    )
    languages = LinesField(
        clean_item=clean_language,
        help_text="One a line, such as en or pt-BR. Empty means every language there is a text in.",
    )
    server_addresses = LinesField(
        help_text="IP addresses of the customer's own servers, one a line. The limit per client address leaves them"
        " alone.",
    )

    alert_emails = LinesField(
        label="Mail alerts to",
        help_text="One address a line. Empty means the project's members.",
    )

    secret_key_networks = LinesField(
        label="Secret keys only from",
        clean_item=clean_network,
        help_text="Networks of your servers, one a line, such as 203.0.113.0/24. Secret keys are taken from nowhere"
        " else. Empty means from anywhere.",
    )
    countries = LinesField(
        clean_item=clean_country,
        help_text="Where phone numbers may be from, two letters each, such as DE. Empty means every country.",
    )

    challenge_hosts = LinesField(
        label="Hosts",
        clean_item=clean_challenge_host,
        rows=2,
        help_text="Where the provider's widget may stand, one a line, such as shop.example; of Android apps the name of"
        " the package. Empty means the hosts of the origins.",
    )
    new_challenge_secret = forms.CharField(
        label="Secret",
        required=False,
        max_length=200,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Of the account at the provider; ALTCHA needs none. It is stored encrypted and not shown again. Left"
        " empty, what is stored stays.",
    )

    neighbours: QuerySet[Project] = Project.objects.none()  # what the user sees, among which names are told apart

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            require_free_name(name, among=self.neighbours, but=self.instance)
        except Misuse as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean(self) -> dict[str, Any]:
        cleaned_data: dict[str, Any] = super().clean() or self.cleaned_data
        if secret := cleaned_data.get("new_challenge_secret"):
            self.instance.challenge_secret = seal_challenge_secret(self.instance, secret)
        for name in CEILINGS.keys() & cleaned_data.keys() & set(self.changed_data):
            try:
                require_below_ceiling(name, cleaned_data[name])
            except Misuse as error:
                self.add_error(name, str(error))
        return cleaned_data

    def _post_clean(self) -> None:
        """The row has its new values here, and what it must not be saved with is told at the choice of the mode."""
        super()._post_clean()  # type: ignore[misc]  # Django's, but not in the stubs
        for judge, field in ((judge_challenge, "challenge_mode"), (judge_name, "name")):
            try:
                judge(self.instance)
            except Misuse as error:
                self.add_error(field if field in self.fields else None, str(error))

    def clean_alert_url(self) -> str:
        return cleaned(clean_alert_url, self.cleaned_data["alert_url"])

    def clean_language(self) -> str:
        return cleaned(clean_language, self.cleaned_data["language"])

    def clean_web_otp_domain(self) -> str:
        return cleaned(clean_domain, self.cleaned_data["web_otp_domain"])

    def clean_android_hash(self) -> str:
        return cleaned(clean_android_hash, self.cleaned_data["android_hash"])

    class Meta:
        labels = {
            "challenge_mode": "Ask for a challenge",
            "challenge_provider": "Provider",
            "challenge_site_key": "Site key",
            "challenge_min_score": "Least score",
            "challenge_fails_open": "Let in while it is away",
            "site_url": "Site",
            "is_enabled": "Enabled",
            "language": "Default language",
            "code_length": "Length",
            "code_digits": "Digits",
            "code_letters": "Letters",
            "new_code_on_send": "New code on every send",
            "default_phone_channel": "Default for phone numbers",
            "default_email_channel": "Default for e-mail addresses",
            "allow_voip": "Allow VoIP numbers",
            "test_logins_enabled": "Test logins",
            "code_in_subject": "Code in the subject",
            "web_otp_domain": "Domain for filling in",
            "android_hash": "Android app hash",
            "sends_per_10_minutes": "Sends in 10 minutes",
            "sends_per_hour": "Sends an hour",
            "sends_per_day": "Sends a day",
            "wrong_codes_per_15_minutes": "Wrong codes in 15 minutes",
            "wrong_codes_per_day": "Wrong codes a day",
            "creates_per_address": "Creates per client address",
            "requests_per_second": "Requests a second",
            "alert_url": "Call with alerts",
            "traffic_guard_manual": "Enforce for manual sends",
            "guard_prefix_numbers": "Numbers of one prefix",
            "guard_prefix_minutes": "Minutes for a prefix",
            "guard_country_sends": "Sends to a country",
            "guard_country_percent": "Percent verified",
            "guard_country_minutes": "Minutes for a country",
            "guard_block_minutes": "First block, minutes",
            "guard_block_max_minutes": "Longest block, minutes",
            "guard_quiet_hours": "Quiet hours",
            "guess_minutes": "Minutes counted",
            "guess_wrong_checks": "Wrong codes",
            "guess_wrong_percent": "Percent wrong",
            "guess_network_recipients": "Recipients of one network",
            "guess_same_value_sessions": "Sessions with one guess",
            "guess_assumed": "Wrong codes of an attack",
            "guess_heavy": "Wrong codes of a heavy attack",
            "guess_subnet_day": "Wrong codes of a subnet",
            "guess_subnet_tries": "The same under attack",
        }
        help_texts = {
            "web_otp_domain": "Such as shop.example. SMS then end with @shop.example #123456, which browsers and iOS"
            " fill in by themselves.",
            "android_hash": "The 11 characters by which Android hands SMS to your app, such as FA+9qCX9VSu.",
            "code_letters": "Look-alikes such as 0 and O are left out. At least one of the two must be on.",
        }
