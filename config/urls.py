"""The address of every page and endpoint."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from verification.api.reference import views

admin.autodiscover()

handler400 = "verification.api.middleware.bad_request"
handler404 = "verification.api.middleware.not_found"
handler500 = "verification.api.middleware.server_error"

urlpatterns = [
    path("", RedirectView.as_view(url="/docs/")),
    path("", include("verification.api.urls")),
    path("docs/", views.reference),
    path("docs/errors/", views.errors),
    path("docs/openapi.json", views.openapi, {"name": "json"}),
    path("docs/openapi.yaml", views.openapi, {"name": "yaml"}),
    path("docs/set-up.schema.json", views.setup_schema),
    path("admin/", admin.site.urls),
]
