"""The address of the schema."""

from django.urls import path

from verification.contrib.config_files import dump, views

urlpatterns = [path(dump.SCHEMA_PATH.removeprefix("/"), views.show_schema)]
