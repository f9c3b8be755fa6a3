"""Write the pages of the static site that come from declarations: errors, settings, and the operations of the API.

Run it in the service's environment with the folder to write to. website/hooks.py adds these files to the site.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BASE_URL = "https://codes.example.com"  # the installation of the guides' examples
# Settings without which Django does not start; nothing of them comes to a page.
STAND_INS = {
    "DEBUG": "true",
    "BASE_URL": BASE_URL,
}


def main(folder: Path) -> None:
    sys.path.insert(0, str(ROOT))
    for name, value in STAND_INS.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from verification.api.reference import error_guide, views
    from verification.models.project_settings.described import described

    description = views.description()
    entries = error_guide.entries()
    pages = {
        "errors/index.md": errors_page(entries),
        "project-settings.md": settings_page(described()),
        "reference.md": reference_page(description),
        **{f"errors/{entry.code}.md": error_page(entry, description) for entry in entries},
    }
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "openapi.json").write_text(json.dumps(description, indent=1))


def errors_page(entries: list[Any]) -> str:
    rows = [f"| {entry.status} | [`{entry.code}`]({entry.code}.md) | {entry.title} |" for entry in entries]
    intro = "Everything that fails is answered with problem details (RFC 9457). Program against `code`."
    return "\n".join(["# Errors", "", intro, "", "| Status | Code | Title |", "|---|---|---|", *rows, ""])


def error_page(entry: Any, description: dict[str, Any]) -> str:
    from verification.api.reference import error_pages
    from verification.core.error_codes import CATALOGUE

    page = error_pages.page_of(entry.code, description, BASE_URL)
    anchors = [(endpoint, anchor(endpoint.summary)) for endpoint in page.endpoints]
    answered = [f"- `{one.method}` [`{one.path}`](../reference.md#{place}): {one.summary}" for one, place in anchors]
    if page.is_at_every_endpoint:
        answered = ["Every endpoint of the [API](../reference.md)."]
    if page.is_without_endpoint:
        answered += ["", "The service itself, for an address or a method that no endpoint has."]
    parts = [
        f"# `{entry.code}`",
        f"**{entry.status}** · {entry.title}",
        "## What it means",
        entry.meaning,
        "## What to do",
        entry.remedy,
        "## The answer",
        f"```json\n{page.sample}\n```",
        "## Who answers so",
        "\n".join(answered),
        "## More",
        f"[{page.further[0]}](../{CATALOGUE[entry.code].further})",
    ]
    return "\n\n".join(parts) + "\n"


def settings_page(groups: dict[str, list[Any]]) -> str:
    parts = ["# Settings of a project", "Set in the panel, or as `manage.py setproject PROJECT NAME=VALUE`."]
    for title, settings in groups.items():
        parts.append(f"## {title}")
        for setting in settings:
            default = f", default `{setting.default}`" if setting.default else ""
            secret = ", stored encrypted and never shown" if setting.is_secret else ""
            parts += [f"### `{setting.name}`", f"`{setting.kind}`{default}{secret}", setting.about]
    return "\n\n".join(part for part in parts if part) + "\n"


def reference_page(description: dict[str, Any]) -> str:
    parts = ["# API reference", "For tools: [openapi.json](openapi.json).", lowered(description["info"]["description"])]
    for path, methods in description["paths"].items():
        for method, told in methods.items():
            codes = sorted({code for answer in told["responses"].values() for code in examples(answer)})
            parts += [f"## {told['summary']}", f"`{method.upper()} {path}`", lowered(told["description"])]
            parts.append("Errors: " + ", ".join(f"[`{code}`](errors/{code}.md)" for code in codes) + ".")
    return "\n\n".join(parts) + "\n"


def examples(answer: dict[str, Any]) -> list[str]:
    return list(answer.get("content", {}).get("application/problem+json", {}).get("examples", ()))


def lowered(text: str) -> str:
    """Set the headings of a text below those of the page."""
    return re.sub(r"^(#+ )", r"##\1", text, flags=re.MULTILINE)


def anchor(heading: str) -> str:
    """Make the anchor of a heading as the guides and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
