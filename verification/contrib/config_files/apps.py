from django.apps import AppConfig


class ConfigFilesConfig(AppConfig):
    name = "verification.contrib.config_files"
    label = "config_files"
    verbose_name = "Set-up files"
