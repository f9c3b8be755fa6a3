"""The wheel: what it asks for, what is in it, and that its command runs the whole service from anywhere."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from tests.live import ROOT, free_port, wait_until

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILDER = ROOT / "var" / "clients" / "bin" / "hatchling"
# What only a checkout has: tests, measuring, and the sources of what is published by itself or already in static/.
NOT_SHIPPED = {".ci", ".github", "benchmarks", "packages", "requirements", "tests", "website"}
START_SECONDS = 300
PACKAGING = {
    *(".dockerignore", ".gitignore", ".pre-commit-config.yaml", "Dockerfile", "compose.build.yaml", "compose.yaml"),
    *("mkdocs.yml", "pyproject.toml", "renovate.json"),
}


def test_the_commands_of_the_wheel_and_of_the_client_have_names_of_their_own():
    client = tomllib.loads((ROOT / "packages" / "watchword-python" / "pyproject.toml").read_text())
    assert not client["project"]["scripts"].keys() & PROJECT["project"]["scripts"].keys()


def test_every_file_of_the_repository_is_in_the_wheel_or_left_out_on_purpose():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("This is no checkout of git.")
    top = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    shipped = set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
    assert top - shipped == NOT_SHIPPED | PACKAGING
    assert {"requirements/traces.txt", "requirements/vendors.txt"} <= shipped  # which messages name


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A fresh environment with the wheel in it, which finds the packages of this one but nothing of the checkout."""
    if not BUILDER.exists():
        pytest.skip("hatchling is not installed: .ci/run does it.")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([BUILDER, "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("watchword-*.whl")
    venv.create(folder / "venv", with_pip=False)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "tested.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    return folder


def post(address, path, key, body):
    asked = urllib.request.Request(
        address + path, json.dumps(body).encode(), {"content-type": "application/json", "x-api-key": key}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.long
@pytest.mark.live
@pytest.mark.timeout(400)  # it waits for all migrations
def test_watchword_up_verifies_an_address_in_a_fresh_environment(installed):
    (wheel,) = installed.glob("*.whl")
    assert {Path(name).parts[0] for name in zipfile.ZipFile(wheel).namelist()} == {
        "watchword_service",
        f"watchword-{PROJECT['project']['version']}.dist-info",
    }
    port, output = free_port(), installed / "up.out"
    address = f"http://127.0.0.1:{port}"
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "HOME": str(installed), "EMBEDDED_DURABLE": "false"}
    command = [installed / "venv" / "bin" / "watchword", "up", "--port", str(port), "--workers", "1"]
    with output.open("wb") as file:
        process = subprocess.Popen(command, cwd=installed, env=environment, stdout=file, stderr=file)
    try:
        wait_until(lambda: "is ready" in output.read_text() or process.poll() is not None, "it is ready", START_SECONDS)
        home = installed / ".local" / "share" / "watchword"
        keys = json.loads((home / "demo.json").read_text())
        opened = post(address, "/session/create", keys["api_key"], {"to": "ada@example.com"})
        printed = re.compile(r"\[watchword\].*\b(\d{6})\b")
        code = wait_until(lambda: printed.search(output.read_text()), "the code is printed")[1]
        answer = {"session_id": opened["session_id"], "code": code}
        token = post(address, "/session/check", keys["api_key"], answer)["verify_token"]
        verified = post(address, "/session/verify", keys["secret_key"], {"verify_token": token})
        assert verified == {"email": "ada@example.com"}
        for page in ("/docs/guides/", "/docs/", "/admin/login/", "/demo/", "/static/admin/css/base.css"):
            with urllib.request.urlopen(address + page, timeout=30) as shown:
                assert shown.status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
