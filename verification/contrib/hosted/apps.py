from django.apps import AppConfig


class HostedConfig(AppConfig):
    name = "verification.contrib.hosted"
    label = "hosted"
    verbose_name = "Hosted page"
