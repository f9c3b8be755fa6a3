"""The address of every page and endpoint."""

from django.apps import apps
from django.contrib import admin
from django.urls import include, path, re_path
from django.utils.module_loading import module_has_submodule
from django.views.generic import RedirectView

from verification.admin.apps import discover
from verification.api import urls as api_urls
from verification.api.reference import for_agents, views

CONTRIB = "verification.contrib."  # the apps that an installation may leave out

discover()

handler400 = "verification.api.middleware.bad_request"
handler404 = "verification.api.middleware.not_found"
handler500 = "verification.api.middleware.server_error"

urlpatterns = [
    *api_urls.urlpatterns,  # looked through in order: first what is asked most, without an include on the way
    path("", RedirectView.as_view(url="/docs/")),
    *[
        path("", include(f"{each.name}.urls"))
        for each in apps.get_app_configs()
        if each.name.startswith(CONTRIB) and module_has_submodule(each.module, "urls")
    ],
    path("llms.txt", for_agents.index),
    path("llms-full.txt", for_agents.full),
    path("docs/", views.reference),
    path("docs/errors/", views.errors),
    path("docs/errors/<slug:code>/", views.error),
    path("docs/settings/", views.settings_page),
    path("docs/guides/", views.guide_index),
    re_path(r"^docs/guides/(?P<name>[\w./-]+\.(?:png|svg|webp))$", views.guide_picture),
    path("docs/guides/<path:slug>/", views.guide),
    path("docs/openapi.json", views.openapi, {"name": "json"}),
    path("docs/openapi.yaml", views.openapi, {"name": "yaml"}),
    path("admin/", admin.site.urls),
]
