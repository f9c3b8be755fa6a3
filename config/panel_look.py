"""The look of the panel, as Unfold, its theme, reads it: titles, icons, scripts, menu and colours."""

from collections.abc import Callable
from typing import Any

from django.templatetags.static import static


def _file(name: str) -> Callable[..., str]:
    """Return a function, as Unfold wants, that returns the address of one of our static files."""
    return lambda request: static(f"verification/{name}")


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Watchword",
    "SITE_HEADER": "Watchword",
    "SITE_URL": "",
    "SITE_ICON": _file("logo.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _file("logo.svg")}],
    "STYLES": [_file("admin/panel.css"), _file("admin/lists.css")],
    "SCRIPTS": [
        _file("admin/copy.js"),
        _file("admin/countries.js"),
        _file("admin/landmarks.js"),
        _file("admin/find.js"),
        _file("admin/time_zone.js"),
        _file("admin/presets.js"),
        _file("admin/picker.js"),
        _file("admin/colour.js"),
        _file("admin/shown_when.js"),
    ],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "verification.admin.dashboard.page.fill",
    "ACCOUNT": {"navigation": "verification.admin.base.navigation.account"},
    "SIDEBAR": {"navigation": "verification.admin.base.navigation.sidebar"},
    "COLORS": {
        "primary": {
            "50": "oklch(96.2% .018 272.314)",
            "100": "oklch(93% .034 272.788)",
            "200": "oklch(87% .065 274.039)",
            "300": "oklch(78.5% .115 274.713)",
            "400": "oklch(67.3% .182 276.935)",
            "500": "oklch(58.5% .233 277.117)",
            "600": "oklch(51.1% .262 276.966)",
            "700": "oklch(45.7% .24 277.023)",
            "800": "oklch(39.8% .195 277.366)",
            "900": "oklch(35.9% .144 278.697)",
            "950": "oklch(25.7% .09 281.288)",
        },
    },
}
