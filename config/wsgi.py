"""The web server's entry: every process that serves requests comes in here."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", "10000")  # milliseconds; a page must not hold a thread for ever

from django.conf import settings  # noqa: E402  (read from the environment above)
from django.core.wsgi import get_wsgi_application  # noqa: E402

if settings.IS_EMBEDDED:
    settings.EMBEDDED.start()
django_application = get_wsgi_application()

from verification import addresses  # noqa: E402  (needs the loaded settings)
from verification.api.edge import edge  # noqa: E402

addresses.warm()
application = edge(django_application)
