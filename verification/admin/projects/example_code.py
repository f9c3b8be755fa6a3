"""The first call in six languages, with the service's own address and the project's key filled in.

The programs are those of the guide docs/first-code.md, which a test runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action

from verification.admin.base.display import page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.models import ApiKey, KeyKind, Project
from verification.services.projects import hosted_page

GUIDE = "docs/first-code.md"
ADDRESS, KEY = "https://verify.example.com", "ww_api_…"  # what stands in the guide in place of the reader's own
_PROGRAM = re.compile(r"^## (?P<language>[^\n]+)\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the guide. ``language`` is its heading."""

    language: str
    text: str


@cache
def programs() -> tuple[Program, ...]:
    """Return the programs of the guide, in its order."""
    guide = (settings.BASE_DIR / GUIDE).read_text()
    return tuple(Program(found["language"], found["text"]) for found in _PROGRAM.finditer(guide))


def filled_in(address: str, key: str) -> list[Program]:
    """Return the programs with this address and key."""
    return [Program(each.language, each.text.replace(ADDRESS, address).replace(KEY, key)) for each in programs()]


@action(description=gettext_lazy("Example code"), icon="code", permissions=["change"], url_path="code")
def show_code(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the programs with the beginning of the newest live API key that somebody was given.

    Its whole text is stored nowhere.
    """
    project: Project = model_admin.find(request, object_id)
    given = ApiKey.objects.live().filter(project=project, kind=KeyKind.API).exclude(pk__in=hosted_page.keys_in_use())
    key = given.order_by("-created_at").first()
    context = model_admin.page_context(
        request,
        _("Example code"),
        object=project,
        key=key,
        programs=filled_in(settings.BASE_URL, str(key) if key else KEY),
        back=page_address(project),
    )
    return TemplateResponse(request, "admin/verification/project/code.html", context)
