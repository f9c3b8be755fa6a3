"""The changelog has the version, and a release is made of one commit."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile

import pytest
from django.conf import settings

from tests.conftest import ROOT

SPEC = importlib.util.spec_from_file_location("release", ROOT / "packages" / "release.py")
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)


def test_the_version_stands_everywhere_as_in_the_changelog():
    assert release.wrong_places(release.version()) == []
    assert release.version() == settings.VERSION


def test_the_forms_version_stands_everywhere_as_in_its_package_and_is_served():
    assert release.wrong_places(release.form_version(), places=release.FORM_PLACES) == []
    assert release.form_version() == settings.FORM_VERSION
    assert (ROOT / "static" / "watchword-verify" / release.form_version() / "watchword-verify.js").exists()


def test_another_version_is_found_in_every_place(tmp_path):
    for name, _ in release.PLACES:
        if (ROOT / name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    there = [name for name, _ in release.PLACES if (tmp_path / name).exists()]
    assert len(there) >= 6
    assert release.wrong_places("99.0.0", tmp_path) == there


def test_a_tag_of_another_version_is_not_built():
    command = [sys.executable, ROOT / "packages" / "release.py", "build", "--tag", "99.0.0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "The tag is 99.0.0" in done.stderr


def test_a_tag_of_what_the_changelog_calls_unreleased_is_not_built(tmp_path):
    clone = tmp_path / "clone"
    for name in ("packages/release.py", "CHANGELOG.md"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text((ROOT / name).read_text())
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(f"## 99.0.0 (unreleased)\n\n{changelog.read_text()}")
    command = [sys.executable, clone / "packages" / "release.py", "build", "--tag", "99.0.0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "99.0.0 is unreleased" in done.stderr


def test_what_docker_leaves_out_is_not_in_the_images_context():
    assert {"tests/", "benchmarks/", ".ci/", "var/"} <= set(release.not_in_image(ROOT))
    assert not any(line.startswith(("#", "**")) for line in release.not_in_image(ROOT))


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not (release.HATCHLING.exists() and (release.MODULES / "esbuild").exists() and shutil.which("npm")),
    reason="What makes wheels and packages is not installed; .ci/run installs it.",
)
def test_a_release_is_made_of_a_commit_with_checksums_of_all_its_files(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
    for name in ("npm", "clients"):
        (clone / "var").mkdir(exist_ok=True)
        (clone / "var" / name).symlink_to((ROOT / "var" / name).resolve())
    digests = []
    for _ in range(2):
        subprocess.run([sys.executable, clone / "packages" / "release.py", "build"], check=True, stdout=subprocess.PIPE)
        made = {path.name: path for path in (clone / "dist").iterdir()}
        sums = dict(line.split("  ")[::-1] for line in made.pop("SHA256SUMS").read_text().splitlines())
        assert sums == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in made.items()}
        digests.append(sums)
    assert digests[0] == digests[1]
    wanted = release.version()
    assert {
        f"watchword-{wanted}-py3-none-any.whl",
        f"watchword-{wanted}-image.tar.gz",
        f"watchword_client-{wanted}-py3-none-any.whl",
        f"watchword-client-{wanted}.tgz",
        f"watchword-verify-{release.form_version()}.tgz",
        f"watchword-{wanted}-production.cdx.json",
    } <= set(made)
    bill = json.loads(made[f"watchword-{wanted}-production.cdx.json"].read_text())
    assert bill["metadata"]["component"]["version"] == wanted
    with tarfile.open(made[f"watchword-{wanted}-image.tar.gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Dockerfile", "manage.py", "requirements/production.txt"} <= names
    assert [name for name in names if name.startswith("tests/")] == []
