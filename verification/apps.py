from django.apps import AppConfig


class VerificationConfig(AppConfig):
    name = "verification"
    verbose_name = "Watchword"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from verification.checks import start  # noqa: F401  (registers them)
        from verification.models.audit import WATCHED
        from verification.models.fields import bound_moments
        from verification.sql import install, read_only

        connection_created.connect(bound_moments)
        connection_created.connect(read_only.refuse)
        install.after_every_migrate(self, watched=WATCHED)
