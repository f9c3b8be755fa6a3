"""The look of the panel, as Unfold, its theme, reads it: titles, icons, scripts, menu and colours."""

from typing import Any

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Watchword",
    "SITE_HEADER": "Watchword",
    "SITE_URL": "",
    "SITE_ICON": "verification.admin.base.navigation.logo",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "verification.admin.base.navigation.logo"}],
    "STYLES": ["verification.admin.base.navigation.styles", "verification.admin.base.navigation.list_styles"],
    "SCRIPTS": [
        "verification.admin.base.navigation.copy_script",
        "verification.admin.base.navigation.country_script",
        "verification.admin.base.navigation.landmark_script",
        "verification.admin.base.navigation.find_script",
        "verification.admin.base.navigation.time_zone_script",
        "verification.admin.base.navigation.preset_script",
        "verification.admin.base.navigation.picker_script",
        "verification.admin.base.navigation.colour_script",
        "verification.admin.base.navigation.shown_when_script",
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
