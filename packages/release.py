"""Make a release from the checkout: its version, and its files in ``dist/``.

    packages/release.py version     # write the changelog's version wherever the version stands
    packages/release.py clients     # static/clients/: both clients as the service serves them, their hash in the guide
    packages/release.py form        # build the form's version of its package.json, and name it wherever it stands
    packages/release.py build       # dist/: wheel, image context, chart, clients, bills of materials, checksums
    packages/release.py notes       # what the changelog says of the version, for the release's page

The newest heading of CHANGELOG.md that has a version decides; it says `unreleased` until its day. It needs Python 3.11
and git; the wheels take hatchling and polib, and the npm packages npm, esbuild and TypeScript, all of which ``.ci/run``
installs under ``var/``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HATCHLING = ROOT / "var" / "clients" / "bin" / "python"  # a Python that has it
MODULES = ROOT / "var" / "npm" / "node_modules"
CHART = Path("deploy", "helm", "watchword")
SERVED = Path("static", "clients")
CLIENTS = Path("packages", "watchword-python"), Path("packages", "watchword-js")
CLIENTS_AT = 315_532_800  # seconds: 1980, the first year of a ZIP archive, as nothing but their sources may change them
SUMS = "SHA256SUMS"

HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2}|unreleased)\)$", re.MULTILINE)
NUMBER = r"\d+\.\d+\.\d+"
# Each place of the version: a file, and the text around the number.
PLACES = (
    ("config/settings.py", rf'(?m)(^VERSION = "){NUMBER}(")'),
    ("pyproject.toml", rf'(?m)(^version = "){NUMBER}(")'),
    ("packages/watchword-python/pyproject.toml", rf'(?m)(^version = "){NUMBER}(")'),
    ("packages/watchword-js/package.json", rf'(?m)(^  "version": "){NUMBER}(")'),
    ("packages/watchword-js/package-lock.json", rf'("name": "watchword-client",\s+"version": "){NUMBER}(")'),
    ("docs/python.md", rf"(/static/clients/){NUMBER}(/)"),
    ("docs/python.md", rf"(watchword_client-){NUMBER}(-py3)"),
    ("docs/typescript.md", rf"(/static/clients/){NUMBER}(/)"),
    ("docs/typescript.md", rf"(watchword-client-){NUMBER}(\.tgz)"),
    ("docs/install.md", rf"(watchword-){NUMBER}(-py3)"),
    ("deploy/helm/watchword/Chart.yaml", rf'(?m)(^version: "?){NUMBER}("?$)'),
    ("deploy/helm/watchword/Chart.yaml", rf'(?m)(^appVersion: "?){NUMBER}("?$)'),
)
# The form has a version of its own: pages pin its files by their hash, so each change of them has another address.
FORM = ROOT / "packages" / "watchword-verify" / "package.json"
FORM_PLACES = (
    ("config/settings.py", rf'(?m)(^FORM_VERSION = "){NUMBER}(")'),
    ("docs/component.md", rf"(/static/watchword-verify/){NUMBER}(/)"),
    ("docs/from-firebase.md", rf"(/static/watchword-verify/){NUMBER}(/)"),
)


def form_version() -> str:
    return str(json.loads(FORM.read_text())["version"])


def version() -> str:
    """Return the version of the changelog's newest heading. A section ``Unreleased`` above it has none yet."""
    newest = HEADING.search((ROOT / "CHANGELOG.md").read_text())
    if newest is None:
        sys.exit("CHANGELOG.md has no heading such as: ## 0.1.0 (2026-11-23)")
    return newest[1]


def notes(image: str = "") -> str:
    """Return the changelog's newest section that has a version, below how the image is taken if there is one."""
    text = (ROOT / "CHANGELOG.md").read_text()
    newest = HEADING.search(text)
    if newest is None:
        sys.exit("CHANGELOG.md has no heading such as: ## 0.1.0 (2026-11-23)")
    section = re.split(r"^## ", text[newest.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()
    taken = f"The image, for `.env` beside compose.yaml: `WATCHWORD_IMAGE={image}`\n\n" if image else ""
    return f"{taken}{section}\n"


def wrong_places(wanted: str, root: Path = ROOT, places: tuple[tuple[str, str], ...] = PLACES) -> list[str]:
    """Return the files in which another version stands, or none where one is expected."""
    return [
        name
        for name, pattern in places
        if (root / name).exists() and (root / name).read_text() != _with_version(root / name, pattern, wanted)
    ]


def write_version(wanted: str, places: tuple[tuple[str, str], ...] = PLACES) -> None:
    for name, pattern in places:
        if (ROOT / name).exists():
            (ROOT / name).write_text(_with_version(ROOT / name, pattern, wanted))


def build_form() -> None:
    """Build the form where the service serves it, and write its version and hash wherever they stand.

    A folder of a released version stays as it is, as customers' pages name it: raise the version in package.json first.
    """
    wanted = form_version()
    _run("node", "packages/watchword-verify/build.js", ESBUILD=str(MODULES / "esbuild"))
    write_version(wanted, FORM_PLACES)
    integrity = (ROOT / "static" / "watchword-verify" / wanted / "integrity.txt").read_text().strip()
    guide = ROOT / "docs" / "component.md"
    guide.write_text(re.sub(r'integrity="sha384-[^"]+"', f'integrity="{integrity}"', guide.read_text()))


def write_clients() -> None:
    """Write the clients that the service serves, from the sources as they stand, and the wheel's hash into its guide.

    Earlier versions stay: customers' requirements name them.
    """
    target = ROOT / SERVED / version()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    make_clients(ROOT, target)
    _write_sums(target)
    (wheel,) = target.glob("*.whl")
    guide = ROOT / "docs" / "python.md"
    guide.write_text(re.sub(r"(\.whl#sha256=)\w+", rf"\g<1>{_digest(wheel)}", guide.read_text()))


def make_clients(source: Path, target: Path) -> None:
    """Make the wheel and the npm package of the clients."""
    with tempfile.TemporaryDirectory() as folder:
        for client in CLIENTS:
            left_out = shutil.ignore_patterns("__pycache__", "dist", "node_modules", "*.tgz", "package-lock.json")
            shutil.copytree(source / client, Path(folder) / client.name, ignore=left_out)
        python, javascript = (Path(folder) / client.name for client in CLIENTS)
        _wheel(python, target, CLIENTS_AT)
        _npm_package(javascript, target)


def _write_sums(folder: Path) -> None:
    made = sorted(path for path in folder.iterdir() if path.name != SUMS)
    (folder / SUMS).write_text("".join(f"{_digest(file)}  {file.name}\n" for file in made))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _with_version(file: Path, pattern: str, wanted: str) -> str:
    text, count = re.subn(pattern, rf"\g<1>{wanted}\g<2>", file.read_text())
    if not count:
        sys.exit(f"{file} has no version where one is expected: {pattern}")
    return text


def build(target: Path) -> list[Path]:
    """Make all files of the release from the last commit, anew, and return them."""
    wanted = version()
    if wrong := wrong_places(wanted):
        sys.exit(
            f"Another version than {wanted} of the changelog: {', '.join(wrong)}. Run packages/release.py version."
        )
    if wrong := wrong_places(form_version(), places=FORM_PLACES):
        sys.exit(
            f"Another version of the form than {form_version()}: {', '.join(wrong)}. Run packages/release.py form."
        )
    if _run("git", "status", "--porcelain"):
        sys.exit("There are changes that are not committed: a release is made of a commit.")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    at = int(_run("git", "log", "-1", "--format=%ct"))  # every file in an archive has the commit's time
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        with tarfile.open(fileobj=io.BytesIO(_bytes("git", "archive", "--format=tar", "HEAD"))) as files:
            files.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian 12's Python has none
            files.extractall(source)  # noqa: S202  (our own commit)
        _wheel(source, target, at)
        make_clients(source, target)
        _npm_package(source / "packages" / "watchword-verify", target)
        left_out = not_in_image(source)
        names = [name for name in _names(source) if not name.startswith(left_out)]
        _archive(source, names, target / f"watchword-{wanted}-image.tar.gz", f"watchword-{wanted}", at)
        if (source / CHART).exists():
            _archive(source / CHART, _names(source / CHART), target / f"watchword-{wanted}.tgz", "watchword", at)
        for which in ("production", "local"):
            bill = _bytes(sys.executable, source / "requirements" / "sbom", which)
            (target / f"watchword-{wanted}-{which}.cdx.json").write_bytes(bill)
    _write_sums(target)
    return sorted(target.iterdir())


def not_in_image(source: Path) -> tuple[str, ...]:
    """Return the folders that .dockerignore leaves out, of those under version control."""
    lines = (source / ".dockerignore").read_text().splitlines()
    return tuple(f"{line}/" for line in lines if line and not line.startswith("#") and "*" not in line)


def _wheel(folder: Path, target: Path, at: int) -> None:
    """Make a wheel, in which every file has this time, in seconds."""
    command = [HATCHLING, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", target, folder]
    _run(*command, SOURCE_DATE_EPOCH=str(at))


def _npm_package(folder: Path, target: Path) -> None:
    """Make an npm package, in which npm gives every file a time of its own choice."""
    path = f"{MODULES / '.bin'}{os.pathsep}{os.environ['PATH']}"
    (folder / "node_modules").symlink_to(MODULES)
    _run("npm", "pack", "--silent", "--pack-destination", target, cwd=folder, PATH=path)


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _archive(folder: Path, names: Iterable[str], to: Path, top: str, at: int) -> None:
    """Write an archive that is the same wherever and whenever it is made."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in names:
            file = folder / name
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime = file.stat().st_size, at
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            with file.open("rb") as opened:
                archive.addfile(entry, opened)
    to.write_bytes(gzip.compress(content.getvalue(), mtime=at))


def _run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    return _bytes(*command, cwd=cwd, **environment).decode()


def _bytes(*command: object, cwd: Path = ROOT, **environment: str) -> bytes:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE
    )
    if done.returncode:
        sys.exit(f"This failed: {' '.join(map(str, command))}")
    return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version", help="write the changelog's version wherever the version stands")
    commands.add_parser("clients", help="write the clients that the service serves into static/clients/")
    commands.add_parser("form", help="build the form, and name its version and hash wherever they stand")
    building = commands.add_parser("build", help="make the files of the release")
    building.add_argument("--to", type=Path, default=ROOT / "dist", help="default dist/, which is emptied before")
    building.add_argument("--tag", help="refuse to build anything else than the version of this tag")
    telling = commands.add_parser("notes", help="print what the changelog says of the version")
    telling.add_argument("--image", default="", help="the image with its digest, which the text begins with")
    given = parser.parse_args()
    if given.command == "version":
        write_version(version())
        if not (ROOT / SERVED / version()).exists():
            write_clients()
    elif given.command == "clients":
        write_clients()
    elif given.command == "form":
        build_form()
    elif given.command == "notes":
        print(notes(given.image), end="")
    else:
        if given.tag not in (None, version()):
            sys.exit(f"The tag is {given.tag}, and the changelog's newest version {version()}.")
        if given.tag and f"## {given.tag} (unreleased)" in (ROOT / "CHANGELOG.md").read_text():
            sys.exit(f"CHANGELOG.md says that {given.tag} is unreleased: give it the day's date.")
        print(*build(given.to.resolve()), sep="\n")
