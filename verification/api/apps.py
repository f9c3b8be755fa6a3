"""The API as an application of Django's."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "verification.api"
    label = "api"

    def ready(self) -> None:
        from corsheaders.signals import check_request_enabled

        from verification.api import cors  # it reads a model

        check_request_enabled.connect(cors.may_read)
