"""Error reports to Sentry, without what must not leave the house: no bodies, no local variables, no addresses."""

from django.core.exceptions import ImproperlyConfigured


def start(dsn: str) -> None:
    try:
        import sentry_sdk
    except ImportError:
        raise ImproperlyConfigured(
            "SENTRY_DSN is set but sentry-sdk is not installed (requirements/production.txt)."
        ) from None
    sentry_sdk.init(
        dsn,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        before_send=lambda event, _: {**event, "request": {"method": event.get("request", {}).get("method")}},
    )
