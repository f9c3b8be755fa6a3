"""The previous release: where its code is, and which of its parts later versions have to keep."""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tests.upgrade.breaking import without_prose

# Settings ask where servers are; describing the API asks none of them.
UNUSED_SERVERS = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}
ROOT = Path(__file__).resolve().parent.parent.parent
# What this version is compared with, and upgraded from. Until the first release it is a commit, and what callers and
# processes rely on may change freely: name a later one then. From the first release on it is the newest tag.
RELEASE_BEFORE = "c2a551abcf68"

# From the name of a function to the end of what its callers see: parameters, columns and type of the result.
HEADER = re.compile(r"CREATE OR REPLACE (?:FUNCTION|AGGREGATE)\s+(\w+)\s*(\(.*?)(?=\s(?:LANGUAGE|AS)\b|;)", re.DOTALL)
COMMENT = re.compile(r"--[^\n]*")
SPACES = re.compile(r"\s+")


def is_released() -> bool:
    """Return whether the promises of docs/versions.md and docs/upgrade.md hold: the release before has a version."""
    return re.fullmatch(r"\d+\.\d+\.\d+", RELEASE_BEFORE) is not None


def previous_commit() -> str:
    """Return the commit to upgrade from. ``UPGRADE_FROM`` names another one than the previous release's."""
    return os.environ.get("UPGRADE_FROM") or RELEASE_BEFORE


@functools.cache
def previous_code() -> Path:
    """Return a folder with the code of the release before, which lasts as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="watchword-before-"))
    atexit.register(shutil.rmtree, folder)
    return unpack(previous_commit(), folder / "code")


def has_commit(commit: str) -> bool:
    """Return whether the checkout has this commit: a shallow clone or an archive may lack it."""
    return (
        subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True).returncode == 0
    )


def unpack(commit: str, folder: Path) -> Path:
    """Write the files of a commit into a new folder, and return it."""
    folder.mkdir()
    archived = subprocess.run(["git", "archive", "--format=zip", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    with zipfile.ZipFile(io.BytesIO(archived.stdout)) as files:
        files.extractall(folder)
    return folder


def interpreter_of(code: Path, folder: Path) -> str:
    """Make a virtual environment with what this code asks for, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    interpreter = str(folder / "bin" / "python")
    install = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, "-r", code / "requirements" / "production.txt"], check=True, stderr=subprocess.DEVNULL)
    return interpreter


def description(code: Path) -> dict[str, Any]:
    """Return the description of the API that this code makes, without its prose."""
    command = [sys.executable, "manage.py", "spectacular", "--format", "openapi-json"]
    environment = {**os.environ, **UNUSED_SERVERS, "EMBEDDED": "true", "BASE_URL": "https://codes.example.com"}
    made = subprocess.run(command, cwd=code, env=environment, stdout=subprocess.PIPE, check=True)
    document: dict[str, Any] = without_prose(json.loads(made.stdout))
    return document


def copy_of_this_version(folder: Path) -> Path:
    """Copy the checkout as it is, changes that are not committed included, into a new folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def migrations(root: Path = ROOT) -> dict[str, str]:
    """Return the text of each migration, by its name."""
    return {file.stem: file.read_text() for file in sorted((root / "verification" / "migrations").glob("[0-9]*.py"))}


def functions(root: Path = ROOT) -> dict[str, str]:
    """Return the header of each SQL function, by its name: parameters and result, without comments and line breaks."""
    found: dict[str, str] = {}
    for file in sorted((root / "verification" / "sql").rglob("*.sql")):
        for name, header in HEADER.findall(COMMENT.sub("", file.read_text())):
            assert name not in found, f"{file.name} has a second function {name}"
            found[name] = SPACES.sub(" ", header).strip()
    return found
