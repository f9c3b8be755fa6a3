"""The web server's entry: every process that serves requests comes in here."""

import os
import sys

from config.database import STATEMENT_TIMEOUT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", str(STATEMENT_TIMEOUT))

from django.conf import settings  # noqa: E402  (read from the environment above)
from django.core.cache import close_caches  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.core.signals import request_finished, request_started  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import close_old_connections, reset_queries  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from config.processes.embedded import EmbeddedUnavailable  # noqa: E402

try:
    if settings.IS_EMBEDDED:
        settings.EMBEDDED.start()
except (ImproperlyConfigured, EmbeddedUnavailable) as error:
    sys.exit(f"watchword: {error}")
django_application = get_wsgi_application()

from providers import registry  # noqa: E402
from verification import addresses  # noqa: E402  (needs the loaded settings)
from verification.api.direct import direct  # noqa: E402
from verification.api.edge import edge  # noqa: E402
from verification.services.upkeep import health, key_ring  # noqa: E402

if reason := key_ring.refusal_at_start():
    sys.exit(f"watchword: {reason}")

# Django tidies up four times around a request, which is a seventh of the cost of a check. Once is enough: at its end a
# connection that failed is closed. The log of queries is a debugger's, and the cache keeps its connections anyway.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_caches)

# What the first request would load is loaded now: it does not wait for that, and no process reads a file that an
# upgrade has changed under it.
addresses.warm()
registry.failures()
health.expected_migrations()
get_resolver().url_patterns  # noqa: B018
application = edge(direct(django_application))
