"""What the adapters of Amazon's services share: the account's settings, a call by Amazon's library, its refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers.base import Adapter, Outcome, Setting, SettingKind, Value
from providers.errors import ProviderError
from providers.http import libraries
from providers.http.libraries import LibraryCall

REGION = r"[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-[0-9]{1,2}"
ACCOUNT = (
    Setting("region", _("Region"), required=True, help=_("Such as eu-central-1; the region must support SMS.")),
    Setting("access_key_id", _("Access key ID"), required=True),
    Setting("secret_access_key", _("Secret access key"), SettingKind.SECRET, required=True),
)
BASE_URL = Setting("base_url", _("API URL"), SettingKind.URL, help=_("Leave empty for Amazon's default in the region."))

Refusal = tuple[Outcome, str]
OPTED_OUT: Refusal = (Outcome.OPTED_OUT, "the recipient has opted out")


def account_errors(values: Mapping[str, Value]) -> dict[str, str]:
    """Return what is wrong with the settings of :data:`ACCOUNT`, by name."""
    errors = {}
    if not re.fullmatch(REGION, str(values["region"])):
        errors["region"] = gettext("enter a region such as eu-central-1")
    if not re.fullmatch(r"[0-9A-Za-z]{5,128}", str(values["access_key_id"])):
        errors["access_key_id"] = gettext("use only letters and digits")
    return errors


def ask(
    adapter: Adapter, service: str, operation: str, *, label: str, refusals: Mapping[str, Refusal], **parameters: Any
) -> dict[str, Any]:
    """Return what an operation of this service answers.

    Raises :class:`ProviderError`, for a refusal by Amazon's word for it in ``refusals``.
    """
    from botocore.exceptions import ClientError

    names = (*(setting.name for setting in ACCOUNT), BASE_URL.name)
    client = libraries.amazon_client(service, *(adapter.text(name) for name in names))
    call = LibraryCall(adapter.http)
    try:
        with libraries.through_door(call):
            answered = getattr(client, operation)(**parameters)
    except ClientError as error:
        raise _refusal(_words(error.response), label, refusals, call) from None
    except ProviderError:
        raise
    except Exception:  # an answer that is not Amazon's breaks the parser in many ways
        raise call.explain() from None
    return answered if isinstance(answered, dict) else {}


def _words(response: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reason that some refusals have, and the error's name."""
    error = response.get("Error")
    return str(response.get("Reason", "")), str(error.get("Code", "")) if isinstance(error, dict) else ""


def _refusal(words: Iterable[str], label: str, refusals: Mapping[str, Refusal], call: LibraryCall) -> ProviderError:
    """Judge a refusal by the first word that is known, else by the HTTP status. Its sentences may quote the number."""
    usual = call.explain()
    word = next((word for word in words if word in refusals), None)
    if word is None or call.answer is None or call.answer.status < 400:
        return usual
    outcome, told = refusals[word]
    return ProviderError(
        f"{label}: {told} ({word})",
        outcome,
        provider_status=word,
        retry_after=usual.retry_after,
    )
