from django.contrib.admin.apps import AdminConfig


class PanelConfig(AdminConfig):
    default_site = "verification.panel.site.PanelSite"
