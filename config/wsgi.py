"""The web server's entry: every process that serves requests comes in here."""

import os
import sys

from config.database import STATEMENT_TIMEOUT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", str(STATEMENT_TIMEOUT))

from django.conf import settings  # noqa: E402  (read from the environment above)
from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from config.processes.embedded import EmbeddedUnavailable  # noqa: E402

try:
    if settings.IS_EMBEDDED:
        settings.EMBEDDED.start()
except (ImproperlyConfigured, EmbeddedUnavailable) as error:
    print(f"watchword: {error}", file=sys.stderr)
    sys.exit(4)  # by which gunicorn knows that it is no use to start the process again
django_application = get_wsgi_application()

from providers import registry  # noqa: E402
from verification.api.wsgi import LazyQueryRequest, with_length_of_chunked_body, with_readable_content_type  # noqa: E402
from verification.core import addresses  # noqa: E402  (needs the loaded settings)
from verification.services.maintenance import health, key_ring  # noqa: E402

if reason := key_ring.refusal_at_start():
    print(f"watchword: {reason}", file=sys.stderr)
    sys.exit(4)

# What the first request would load is loaded now: it does not wait for that, and no process reads a file that an
# upgrade has changed under it.
addresses.warm()
registry.failures()
health.expected_migrations()
get_resolver().url_patterns  # noqa: B018
django_application.request_class = LazyQueryRequest
application = with_readable_content_type(with_length_of_chunked_body(django_application))
