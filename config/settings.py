"""All settings, read from the environment. docs/settings.md explains each one.

With neither ``DATABASE_URL`` nor ``REDIS_URL`` the service runs embedded: it starts its own PostgreSQL and Valkey under
``var/`` and makes its own secrets there. With both set it is in production mode, where a missing or weak secret stops
the start. With one of them it stops too, unless ``EMBEDDED=true`` says that this is meant.
"""

import importlib.util
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import database, panel_look, rest_framework, secrets
from config.environment import env
from config.processes.embedded import EmbeddedServers
from config.processes.supervisor import running_url

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"
FORM_VERSION = "0.1.0"  # of <watchword-verify>, as our own pages load it; packages/release.py form writes it

# --- where we run ------------------------------------------------------------------------------------------------

# A wheel's folder is the package manager's, which removes it with the next version: data lies elsewhere.
IS_CHECKOUT = (BASE_DIR / "pyproject.toml").exists()
# Everybody may look at the panel, and nothing is sent: docs/demo.md. Such a service has a folder of its own.
IS_PUBLIC_DEMO = env.bool("PUBLIC_DEMO", default=False)
_home = BASE_DIR / "var" if IS_CHECKOUT else Path.home() / ".local/share/watchword"
HOME_DIR = Path(env.str("WATCHWORD_HOME", default=str(_home / "demo" if IS_PUBLIC_DEMO else _home)))
DATABASE_URL = env.address(
    "DATABASE_URL", ("postgres", "postgresql"), default="", example="postgres://user:password@host/name"
)
# A server that follows that one, for the panel's lists and figures.
DATABASE_REPLICA_URL = env.address(
    "DATABASE_REPLICA_URL", ("postgres", "postgresql"), default="", example="postgres://user:password@replica/name"
)
REDIS_URL = env.address(
    "REDIS_URL",
    ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"),
    default="",
    example="redis://:password@host:6379/0 or redis+sentinel://:password@one:26379,two:26379/name/0",
)
# The embedded mode opens loopback to tenants, takes dummy secrets and makes an admin user. So it is chosen by setting
# neither address, or by name, and never by forgetting one.
_missing = [name for name, url in (("DATABASE_URL", DATABASE_URL), ("REDIS_URL", REDIS_URL)) if not url]
IS_EMBEDDED = env.bool("EMBEDDED", default=len(_missing) == 2)
if _missing and not IS_EMBEDDED:
    raise ImproperlyConfigured(
        f"{' and '.join(_missing)} not set. Production needs both addresses; EMBEDDED=true runs what is missing here,"
        " by the rules for development."
    )
if IS_PUBLIC_DEMO and not IS_EMBEDDED:
    raise ImproperlyConfigured("PUBLIC_DEMO shows its own database to everybody: leave DATABASE_URL unset.")
EMBEDDED = EmbeddedServers(
    HOME_DIR,
    durable=env.bool("EMBEDDED_DURABLE", default=True),
    postgres=not DATABASE_URL,
    valkey=not REDIS_URL,
)
if not DATABASE_URL:
    database.forget_libpq_variables()

DEBUG = env.bool("DEBUG", default=False)
_own_url = (running_url(HOME_DIR) if IS_EMBEDDED else "") or "http://127.0.0.1:8000"  # `up --port` chose another one
BASE_URL = env.origin("BASE_URL", default=_own_url, example="https://codes.example.com")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"] if IS_EMBEDDED else [])
TRUSTED_PROXIES = env.number("TRUSTED_PROXIES", default=0)  # hops in front of us that set X-Forwarded-For
OUTBOUND_ALLOWED_NETWORKS = env.list(
    "OUTBOUND_ALLOWED_NETWORKS", default=["127.0.0.0/8", "::1/128"] if IS_EMBEDDED else []
)


# Iterations of one try at a puzzle of our own challenge, of which a puzzle takes 256 on average. With 5,000 that keeps
# one core of a laptop busy for about 0.3 seconds. Judging an answer takes us one try, about 2 milliseconds.
ALTCHA_COST = env.number("ALTCHA_COST", default=5_000, least=1)
# Lets the providers `console` and `inbox` run, which show codes to whoever reads the worker's output or the panel.
SHOW_CODES_TO_OPERATORS = not IS_PUBLIC_DEMO and env.bool("SHOW_CODES_TO_OPERATORS", default=IS_EMBEDDED)
CHALLENGE_VERIFY_URLS: dict[str, str] = {}  # by provider, in place of the vendors' own; for tests

# --- secrets -----------------------------------------------------------------------------------------------------

_secrets = secrets.load(env, home=HOME_DIR, is_embedded=IS_EMBEDDED)
SECRET_KEY = _secrets.secret_key
SECRET_KEY_FALLBACKS = _secrets.secret_key_fallbacks  # earlier ones, which keep people logged in
ENCRYPTION_KEYS = _secrets.encryption_keys  # newest first; the older ones only decrypt

# --- Django ------------------------------------------------------------------------------------------------------

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
CONTRIB = (
    "config_files",
    "connections",
    "hosted",
    "route_optimizer",
    "text_trials",
    "twilio",
)  # the apps in verification/contrib
WITHOUT_APPS = env.choices("WITHOUT_APPS", CONTRIB)
PUBLIC_DEMO_APPS = ["verification.contrib.public_demo"] if IS_PUBLIC_DEMO else []
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "verification.admin.apps.PanelConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "axes",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    *PUBLIC_DEMO_APPS,  # before it, whose `up` it replaces
    "verification",
    *(f"verification.contrib.{name}" for name in CONTRIB if name not in WITHOUT_APPS),
]
MIDDLEWARE = [
    "verification.api.middleware.RequestIdMiddleware",
    "verification.api.middleware.TracingMiddleware",
    "verification.api.middleware.MetricsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "verification.api.page_middleware.PagePolicyMiddleware",
    "verification.api.middleware.AnswerHeadersMiddleware",
    "verification.api.middleware.ProbesMiddleware",
    "verification.api.cors.OriginsMiddleware",
    "verification.api.middleware.TrailingSlashMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "verification.api.page_middleware.PageSessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "verification.admin.auth.middleware.FormLengthMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "verification.api.page_middleware.PageUserMiddleware",
    *(f"{app}.middleware.VisitorMiddleware" for app in PUBLIC_DEMO_APPS),
    "verification.admin.auth.middleware.PanelMiddleware",
    "verification.api.page_middleware.PageMessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            # Not in a package ``templatetags``: Django loads all of those for a widget that unfold renders while its
            # classes are read, and ours need these classes.
            "libraries": {
                "panel": "verification.admin.base.template_tags",
                "written_dates": "verification.admin.base.written_dates",
            },
        },
    },
]

# The name in the audit log for what no user of the panel did.
_is_command = Path(sys.argv[0]).name in ("manage.py", "watchword") and bool(sys.argv[1:])
PROCESS_NAME = f"command: {sys.argv[1]}" if _is_command else "watchword"

DATABASE_POOLER = env.choice("DATABASE_POOLER", database.POOLERS, default="none")
_statement_timeout = env.number("DATABASE_STATEMENT_TIMEOUT", default=0)
DATABASE_LIMITS = database.limits(pooler=DATABASE_POOLER, statement_timeout=_statement_timeout)
_common: dict[str, Any] = {"pooler": DATABASE_POOLER, "statement_timeout": _statement_timeout, "name": PROCESS_NAME}
DATABASES = {
    "default": database.connected(env.db_url_config(DATABASE_URL or EMBEDDED.database_url), **_common),
}
if DATABASE_REPLICA_URL:
    DATABASES["replica"] = database.connected(env.db_url_config(DATABASE_REPLICA_URL), **_common)
DATABASE_ROUTERS = ["verification.admin.base.database_router.ReplicaRouter"] if DATABASE_REPLICA_URL else []
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_redis_url = REDIS_URL or EMBEDDED.redis_url
# A cache or broker that does not answer within a fifth of a second is away; we go on without it.
REDIS_TIMEOUT_SECONDS = 0.2
BROKER_URL = _redis_url
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": [_redis_url],  # a text would be parted at its commas
        "KEY_PREFIX": "watchword",
        "OPTIONS": {
            "CONNECTION_POOL_CLASS": "verification.core.valkey.Pool",
            # By default it unpickles, so that whoever writes to the cache would run code here.
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            "SOCKET_CONNECT_TIMEOUT": REDIS_TIMEOUT_SECONDS,
            "SOCKET_TIMEOUT": REDIS_TIMEOUT_SECONDS,
        },
    }
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# What failed logins may cost is in admin/auth/throttle.py. Who is locked out reads the same as after a wrong password.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AXES_HANDLER = "verification.admin.auth.throttle.LoginThrottle"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "username", "ip_address"]
AXES_FAILURE_LIMIT = 1
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "verification.admin.auth.throttle.client_network"
AXES_USERNAME_CALLABLE = "verification.admin.auth.throttle.client_username"
AXES_SENSITIVE_PARAMETERS = [
    *("username", "password", "code", "old_password", "new_password1", "new_password2"),
    *("_confirm", "_held", "csrfmiddlewaretoken"),
]
AXES_DISABLE_ACCESS_LOG = True  # the audit log has it
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
SILENCED_SYSTEM_CHECKS = [
    "axes.W002",  # its middleware would answer a lock-out with words of its own
    "security.W005",  # HSTS for subdomains and for browsers' lists: only the operator knows what else stands there
    "security.W021",
    "security.W008",  # no redirect to https: watchword.W005 says what to set
]

_second_factor = env.choice(
    "ADMIN_SECOND_FACTOR", ("offered", "required"), default="offered" if IS_EMBEDDED else "required"
)
IS_SECOND_FACTOR_REQUIRED = _second_factor == "required"

LANGUAGE_CODE = "en"
# The panel's languages, each by its own name. One is listed once its verification/locale is whole, as a test asks.
LANGUAGES = [("en", "English"), ("ru", "Русский"), ("uz", "Oʻzbekcha"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "verification" / "locale"]  # before Django's and the theme's own words
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = env.str("STATIC_ROOT", default="") or None  # only for who wants to collect them
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # serves the packages' files too, with no collectstatic before the first start
# The form's files never change once released: a new version has a folder of its own.
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/(watchword-verify|clients)/[0-9]+\.[0-9]+\.[0-9]+/"

# --- browsers ----------------------------------------------------------------------------------------------------

_is_https = BASE_URL.startswith("https://")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
# Only a trusted proxy tells which requests came by https. Without one, all of them would be sent round for ever.
SECURE_SSL_REDIRECT = _is_https and TRUSTED_PROXIES > 0
# No program follows a redirect with its key and body. An answer over http has told the key already.
SECURE_REDIRECT_EXEMPT = [r"^(session|manual|events|hooks|connect|v2)(/|$)", r"^(livez|readyz|metrics)$"]
SECURE_HSTS_SECONDS = env.number("HSTS_SECONDS", default=31_536_000) if _is_https else 0  # a year
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("HSTS_INCLUDE_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = False  # browsers' lists take years to leave: a proxy can say so for who wants it
CSRF_TRUSTED_ORIGINS = [BASE_URL] if _is_https else []  # our own, also where the proxy's word on https is not taken
CSRF_FAILURE_VIEW = "verification.admin.auth.error_pages.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _is_https
SESSION_COOKIE_NAME = "__Host-session" if _is_https else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if _is_https else "csrftoken"
CSRF_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_NAME = "__Host-language" if _is_https else "language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600  # seconds
LANGUAGE_COOKIE_SECURE = _is_https
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE_COOKIE_NAME = "__Host-timezone" if _is_https else "timezone"  # the panel's time_zone.js sets it
SESSION_ENGINE = "verification.admin.auth.session_store"  # Django's own keeps the cookie's value as it is
SESSION_COOKIE_AGE = 30 * 60  # seconds without a click; admin/auth/session.py renews, and ends busy ones after 12 hours
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # no cookie with names of objects
X_FRAME_OPTIONS = "DENY"
LOGIN_REDIRECT_URL = "admin:index"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        # Alpine, which the admin's pages are built with, evaluates its expressions.
        "script-src": ["'self'", "'unsafe-eval'"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "https:"],
        "connect-src": ["'self'"],
        "media-src": ["'self'"],  # the words of a call, spoken
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- web processes -----------------------------------------------------------------------------------------------

WEB_THREADS = env.number("WEB_THREADS", default=8, least=1, most=1_000)  # of a process
WEB_BODY_SECONDS = env.number("WEB_BODY_SECONDS", default=10, least=1)  # that a client may pause while it sends

DATA_UPLOAD_MAX_MEMORY_SIZE = (
    256 * 1024
)  # bytes: the longest form of the panel takes less, the API's limits are narrower

# Bytes of a provider's call. WhatsApp's reach 3 MB (batches of up to 1,000 reports), and SendGrid's 768 KB.
HOOK_MAX_BYTES = 3 * 1024 * 1024

INVOICE_MAX_BYTES = 3 * 1024 * 1024  # of a vendor's invoice that a member of a project compares, some 30,000 lines
# A file stays in memory, and longer ones are refused: whoever sends one, nothing reaches the disk.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024  # bytes of a form with a file: more than an invoice's

# Calls of one project's providers in a second, for each web process: as many as it can send messages in that time.
HOOKS_PER_SECOND = env.number("HOOKS_PER_SECOND", default=50, least=1)

# --- API ---------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = rest_framework.REST_FRAMEWORK
SPECTACULAR_SETTINGS = rest_framework.spectacular(VERSION, BASE_URL)

# Browsers call what takes an API key, and the puzzles. The projects list the origins: verification/api/cors.py.
CORS_URLS_REGEX = r"^/session/(create|send|channels|delivery|check|settings|challenge)/?$"
CORS_ALLOW_METHODS = ["GET", "POST"]
# OpenTelemetry in a page adds traceparent to its calls.
CORS_ALLOW_HEADERS = ["content-type", "x-api-key", "accept-language", "x-request-id", "traceparent"]
# By Date a page with a wrong clock knows a session's end.
CORS_EXPOSE_HEADERS = ["Date", "Retry-After", "X-Request-Id", "RateLimit", "RateLimit-Policy"]
CORS_PREFLIGHT_MAX_AGE = 600  # seconds for which a browser may remember that it is allowed

# --- operation ---------------------------------------------------------------------------------------------------

_email_url = env.address(
    "EMAIL_URL", env.EMAIL_SCHEMES, default="consolemail://", example="smtp+tls://user:password@host:587"
)
vars().update(env.email_url_config(_email_url))  # alerts to owners
if IS_PUBLIC_DEMO:
    EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
EMAIL_TIMEOUT = 10  # seconds, after which an alert is mailed again later
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("EMAIL_FROM", default=f"watchword@{urlsplit(BASE_URL).hostname}")
# Who may read the metrics; without it there are none, and nothing is counted for them.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
if METRICS_TOKEN and len(METRICS_TOKEN) < secrets.TOKEN_MIN_CHARACTERS:
    raise ImproperlyConfigured(f"METRICS_TOKEN needs at least {secrets.TOKEN_MIN_CHARACTERS} random characters.")
METRICS_DIR = Path(env.str("METRICS_DIR", default=str(HOME_DIR / "metrics")))  # of the processes of one machine
# The collector that traces are sent to, as OpenTelemetry names the setting; without it there are none.
OTEL_EXPORTER_OTLP_ENDPOINT = env.address(
    "OTEL_EXPORTER_OTLP_ENDPOINT", ("http", "https"), default="", example="http://collector:4318"
)
if OTEL_EXPORTER_OTLP_ENDPOINT and not (
    importlib.util.find_spec("opentelemetry") and importlib.util.find_spec("opentelemetry.exporter")
):
    raise ImproperlyConfigured(
        "OTEL_EXPORTER_OTLP_ENDPOINT is set but OpenTelemetry is not installed (requirements/traces.txt)."
    )
if "@" in OTEL_EXPORTER_OTLP_ENDPOINT:
    raise ImproperlyConfigured(
        "OTEL_EXPORTER_OTLP_ENDPOINT must not contain a user: put credentials into OTEL_EXPORTER_OTLP_HEADERS."
    )
# Networks whose callers are told by /readyz what is degraded.
OPERATOR_NETWORKS = env.networks("OPERATOR_NETWORKS", default=["127.0.0.0/8", "::1/128"] if IS_EMBEDDED else [])
LOG_FORMAT = env.choice("LOG_FORMAT", ("json", "console"), default="console" if IS_EMBEDDED else "json")
if LOG_FORMAT == "json" and not _email_url.removeprefix("consolemail://"):
    # A printed mail would stand between the lines of the log.
    EMAIL_BACKEND = "verification.core.mail_server.EmailBackend"
LOG_LEVEL = env.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), default="INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "watchword": {"()": "config.logs.formatter", "log_format": LOG_FORMAT},
    },
    "filters": {"forged_forms": {"()": "verification.core.logs.ForgedForms"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "watchword"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # These print arguments, URLs or bodies at INFO; ours say what an operator needs.
        "axes": {"level": "ERROR"},  # names users and addresses
        "dramatiq": {"level": "WARNING"},
        # Refusals are answered, and logged in a line of ours: not as warnings with their path, or errors with a trace.
        "django.request": {"level": "CRITICAL"},
        "django.security": {"level": "CRITICAL"},
        "django.security.csrf": {"level": "WARNING", "filters": ["forged_forms"]},
    },
}

SENTRY_DSN = env.str("SENTRY_DSN", default="")
if SENTRY_DSN:
    from config import sentry

    sentry.start(SENTRY_DSN)

UNFOLD = panel_look.UNFOLD
