"""Only what the views need: our database options, on the database that is a copy of the service's."""

from benchmarks.common.service import BARE_DATABASE
from config import settings as ours

SECRET_KEY = ours.SECRET_KEY
ALLOWED_HOSTS = ours.ALLOWED_HOSTS
DATABASES = {"default": {**ours.DATABASES["default"], "NAME": BARE_DATABASE}}
ROOT_URLCONF = "benchmarks.bare.views"
MIDDLEWARE: list[str] = []
INSTALLED_APPS: list[str] = []
USE_TZ = True
WEB_BODY_SECONDS = ours.WEB_BODY_SECONDS  # which the web server's settings ask for
METRICS_TOKEN = ""  # no figures of the processes
