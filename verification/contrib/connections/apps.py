from django.apps import AppConfig


class ConnectionsConfig(AppConfig):
    name = "verification.contrib.connections"
    label = "connections"
    verbose_name = "Connections of identity systems"
