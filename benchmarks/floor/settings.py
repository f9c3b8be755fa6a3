"""Only what the views and the worker need: our database options, on a database of its own, and our broker."""

from benchmarks.common.service import FLOOR_DATABASE
from config import settings as ours

SECRET_KEY = ours.SECRET_KEY
ALLOWED_HOSTS = ours.ALLOWED_HOSTS
DATABASES = {"default": {**ours.DATABASES["default"], "NAME": FLOOR_DATABASE}}
ROOT_URLCONF = "benchmarks.floor.views"
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
INSTALLED_APPS: list[str] = ["rest_framework"]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
}
USE_TZ = True
BROKER_URL = ours.BROKER_URL
REDIS_TIMEOUT_SECONDS = ours.REDIS_TIMEOUT_SECONDS
WEB_BODY_SECONDS = ours.WEB_BODY_SECONDS  # which the web server's settings ask for
METRICS_TOKEN = ""  # no figures of the processes
