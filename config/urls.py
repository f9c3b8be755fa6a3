"""Where every page and endpoint stands."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("verification.api.urls")),
    path("admin/", admin.site.urls),
]
