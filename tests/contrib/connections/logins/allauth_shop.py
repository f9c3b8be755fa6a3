"""A shop whose users log in by django-allauth, with the adapter and the settings of docs/with-django-allauth.md.

It runs in an environment of its own, in a folder where ``shop/adapter.py`` is the page's. It signs a user up by phone,
logs them out and in again by code. Each code comes from the test, which reads it where the user would.
"""

import json
import os
import sys
import types
from pathlib import Path

import django
from django.conf import settings

PHONE = os.environ["PHONE"]
PAGE_SETTINGS: dict[str, object] = {}
exec(Path("settings_of_the_page.py").read_text(), PAGE_SETTINGS)  # noqa: S102  # the block of the page
Path("shop/__init__.py").touch()
Path("shop/models.py").write_text(
    "from django.contrib.auth.models import AbstractUser\n"
    "from django.db import models\n"
    "class User(AbstractUser):\n"
    "    phone = models.CharField(max_length=20, unique=True, null=True)\n"
    "    phone_verified = models.BooleanField(default=False)\n"
)
sys.path.insert(0, os.getcwd())
settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["testserver"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=[
        *("django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages"),
        *("shop", "allauth", "allauth.account"),
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.locale.LocaleMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    AUTH_USER_MODEL="shop.User",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF="shop_urls",
    LOGIN_REDIRECT_URL="/in",
    USE_TZ=True,
    **{
        **{name: value for name, value in PAGE_SETTINGS.items() if name.isupper()},
        **{name: os.environ[name] for name in os.environ if name.startswith("WATCHWORD_")},
    },
)
sys.modules["shop_urls"] = types.ModuleType("shop_urls")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import include, path, reverse  # noqa: E402

sys.modules["shop_urls"].urlpatterns = [  # type: ignore[attr-defined]
    path("accounts/", include("allauth.urls")),
    path("in", lambda request: HttpResponse(str(request.user.is_authenticated))),
]
call_command("migrate", run_syncdb=True, verbosity=0)
browser = Client(headers={"accept-language": "de"})


def ask(what):
    """Ask the test for the code that the user has got."""
    print(what, flush=True)
    return sys.stdin.readline().strip()


def is_in():
    return browser.get("/in").content == b"True"


seen = {}
posted = browser.post(reverse("account_signup"), {"phone": PHONE}, follow=True)
confirm = posted.redirect_chain[-1][0]
browser.post(confirm, {"code": "000000"})
seen["in after a wrong code"] = is_in()
browser.post(confirm, {"code": ask("code of the sign-up")}, follow=True)
seen["in after the right one"] = is_in()
browser.post(reverse("account_logout"))
seen["in after the log-out"] = is_in()
posted = browser.post(reverse("account_request_login_code"), {"phone": PHONE}, follow=True)
browser.post(posted.redirect_chain[-1][0], {"code": ask("code of the log-in")}, follow=True)
seen["in after the log-in"] = is_in()
print(json.dumps(seen), flush=True)
