"""Error reports to Sentry, without what must not leave the house: no bodies, no variables, no addresses, no texts."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured


def start(dsn: str) -> None:
    try:
        import sentry_sdk
    except ImportError:
        raise ImproperlyConfigured(
            "SENTRY_DSN is set but sentry-sdk is not installed (requirements/production.txt)."
        ) from None
    try:
        sentry_sdk.init(
            dsn,
            send_default_pii=False,
            include_local_variables=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            before_send=scrub,
        )
    except sentry_sdk.utils.BadDsn:
        raise ImproperlyConfigured("SENTRY_DSN is not the DSN of a Sentry project.") from None


def scrub(event: Any, _hint: Any = None) -> Any:
    """Return what is sent of a report: where it happened and of what kind it was.

    The text of an exception may quote a row or a request. A path may hold a webhook's secret. Breadcrumbs hold
    statements and addresses.
    """
    kept = {name: value for name, value in event.items() if name not in UNSENT}
    for error in (kept.get("exception") or {}).get("values") or ():
        error["value"] = ""
    return kept | {"request": {"method": (event.get("request") or {}).get("method")}}


UNSENT = frozenset({"breadcrumbs", "extra", "request", "transaction", "user"})
