"""The floor's entry for the web server."""

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.floor.settings"

from django.core.wsgi import get_wsgi_application  # noqa: E402  (reads the environment above)

application = get_wsgi_application()
