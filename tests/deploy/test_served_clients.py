"""The clients that the service serves are made of their sources, and stay as they are."""

import hashlib
import tarfile
import zipfile

import pytest
from django.test import Client

from tests.conftest import ROOT
from tests.upgrade.test_release import release

SERVED = ROOT / release.SERVED / release.version()
WHEEL = f"watchword_client-{release.version()}-py3-none-any.whl"
PACKAGE = f"watchword-client-{release.version()}.tgz"


def test_the_hashes_that_the_folder_and_the_guide_name_are_the_files():
    sums = dict(reversed(line.split("  ")) for line in (SERVED / release.SUMS).read_text().splitlines())
    assert sums == {name: hashlib.sha256((SERVED / name).read_bytes()).hexdigest() for name in (WHEEL, PACKAGE)}
    assert f"/static/clients/{release.version()}/{WHEEL}#sha256={sums[WHEEL]}" in (ROOT / "docs/python.md").read_text()
    assert f"/static/clients/{release.version()}/{PACKAGE}" in (ROOT / "docs/typescript.md").read_text()


def members(file):
    """Each file of an archive with its bytes and its time. Compression differs between releases of zlib."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            return {each.filename: (archive.read(each), each.date_time) for each in archive.infolist()}
    with tarfile.open(file) as archive:
        return {each.name: (archive.extractfile(each).read(), each.mtime) for each in archive.getmembers()}


@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not (release.HATCHLING.exists() and (release.MODULES / "typescript").exists()),
    reason="What makes wheels and packages is not installed; .ci/run installs it.",
)
def test_the_clients_that_are_served_are_what_the_sources_make(tmp_path):
    """Else run ``packages/release.py clients``."""
    release.make_clients(ROOT, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {WHEEL, PACKAGE}
    for name in (WHEEL, PACKAGE):
        assert members(tmp_path / name) == members(SERVED / name)


@pytest.mark.django_db
@pytest.mark.parametrize("name", [WHEEL, PACKAGE, release.SUMS])
def test_the_service_serves_the_clients_for_ever(name):
    answer = Client().get(f"/static/clients/{release.version()}/{name}")
    assert answer.status_code == 200
    assert b"".join(answer) == (SERVED / name).read_bytes()
    assert "immutable" in answer["Cache-Control"]
