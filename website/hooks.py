"""Hooks of MkDocs: the navigation of docs/README.md, the generated pages, and links that lead beyond docs/."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "var" / "website-pages"  # website/generated.py writes it
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
    "CONTRIBUTING.md": "contributing.md",
    "ROADMAP.md": "roadmap.md",
}  # files above docs/ that are pages here
# The service's own addresses.
SERVED = {"errors": "errors/index.md", "settings": "project-settings.md", "": "reference.md"}
_ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\)")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def on_config(config: Any) -> Any:
    config["mdx_configs"].setdefault("toc", {})["slugify"] = anchor
    config["nav"] = navigation()
    return config


def navigation() -> list[dict[str, Any]]:
    """Return the groups of the guides' index, then what is generated."""
    groups: dict[str, list[Any]] = {}
    group = ""
    for line in (ROOT / "docs" / "README.md").read_text().splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif entry := _ENTRY.match(line):
            path = entry["path"].removeprefix("../")
            groups.setdefault(group, []).append({entry["title"]: OUTSIDE.get(path, path)})
    listed = {path for entries in groups.values() for entry in entries for path in entry.values()}
    for entries in groups.values():
        for place, entry in enumerate(entries):
            if "providers/README.md" in entry.values():
                entries[place] = {next(iter(entry)): ["providers/README.md", *providers(listed)]}
    errors = sorted(f"errors/{path.name}" for path in (GENERATED / "errors").glob("*.md") if path.stem != "index")
    settings = {"Settings of a project": "project-settings.md"}
    reference = ["reference.md", {"Errors": ["errors/index.md", *errors]}, settings]
    return [{"Guides": "README.md"}, *({name: entries} for name, entries in groups.items()), {"Reference": reference}]


def providers(listed: set[str]) -> list[str]:
    paths = (f"providers/{path.name}" for path in sorted((ROOT / "docs" / "providers").glob("*.md")))
    return [path for path in paths if path not in listed]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages whose files do not stand in docs/."""
    for name, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    for path in sorted(GENERATED.rglob("*.*")):
        files.append(File.generated(config, path.relative_to(GENERATED).as_posix(), content=path.read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to pages of the site. Other files of the repository become plain text."""
    here = page.file.src_uri
    folder = posixpath.dirname(here)
    # The path of the page's file from the top of the repository, by which its own links are written.
    origin = "" if here in OUTSIDE.values() else posixpath.join("docs", folder)

    def resolved(link: re.Match[str]) -> str:
        path = link["path"]
        if re.match(r"[a-z]+:", path):
            return link[0]
        target = _served(path) if path.startswith("/docs/") else _page(posixpath.normpath(posixpath.join(origin, path)))
        if target is None:
            return link["text"]
        return f"[{link['text']}]({posixpath.relpath(target, folder or '.')}{link['anchor'] or ''})"

    parts = re.split(f"({_CODE.pattern})", markdown, flags=_CODE.flags)
    return "".join(part if part.startswith("```") else _LINK.sub(resolved, part) for part in parts)


def _page(path: str) -> str | None:
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def _served(address: str) -> str | None:
    """Return the page of an address under which the service itself serves it."""
    name = address.removeprefix("/docs/").strip("/")
    if name.startswith("guides/"):
        return f"{name.removeprefix('guides/')}.md"
    if name.startswith("errors/"):
        return f"{name}.md"
    return SERVED.get(name)


def anchor(text: str, separator: str) -> str:
    """Make the anchor of a heading as GitHub makes it, as the service's own pages do."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)
