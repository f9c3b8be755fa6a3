"""The guides' programs do what the guides say. A program whose language is not on this machine is skipped."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
MANUAL, INTEGRATE = DOCS / "manual-sends.md", DOCS / "integrate.md"

# language -> the file its program is kept in, and the command that runs it
RUN = {
    "python": ("open_envelope.py", [sys.executable]),
    "javascript": ("open_envelope.js", ["node"]),
    "php": ("open_envelope.php", ["php"]),
    "go": ("open_envelope.go", ["go", "run"]),
    "java": ("OpenEnvelope.java", ["java"]),
}


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def documented(row):
    """A value of the guide's test vector."""
    return re.search(rf"^\| {row} \| `([^`]+)` \|$", MANUAL.read_text(), re.MULTILINE)[1]


@pytest.fixture(params=RUN)
def open_envelope(request, tmp_path):
    """Runs the recipe of one language."""
    name, command = RUN[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"There is no {command[0]} on this machine to run the recipe with.")
    (recipe,) = blocks(MANUAL, request.param)
    (tmp_path / name).write_text(recipe)

    def run(envelope, secret_key):
        environment = {**os.environ, "SECRET_KEY": secret_key}
        return subprocess.run([*command, name, envelope], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def test_it_opens_the_documented_envelope(open_envelope):
    done = open_envelope(documented("envelope"), documented("secret key"))
    assert (done.stdout, done.returncode) == (f"{documented('code')}\n", 0), done.stderr


@pytest.mark.django_db
def test_it_opens_an_envelope_of_the_api(open_envelope, api):
    answer = api.manual_send(code="0042").data
    done = open_envelope(answer["code"], api.secret_key)
    assert (done.stdout, done.returncode) == ("0042\n", 0), done.stderr


def test_it_refuses_an_envelope_of_another_key(open_envelope):
    done = open_envelope(documented("envelope"), "ww_secret_another")
    assert documented("code") not in done.stdout
    assert done.returncode != 0


def test_the_documented_envelope_is_right():
    import hashlib

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key = hashlib.sha256(documented("secret key").encode())
    assert key.hexdigest() == documented("its SHA-256")
    iv, ciphertext, tag = map(decode, documented("envelope").removeprefix("aes256:").split(":"))
    assert AESGCM(key.digest()).decrypt(iv, ciphertext + tag, None) == documented("code").encode()


def decode(part):
    import base64

    return base64.b64decode(part, validate=True)


@pytest.mark.parametrize("source", blocks(INTEGRATE, "python"))
def test_the_server_code_in_python_compiles(source):
    compile(source, "integrate.md", "exec")


@pytest.mark.parametrize("source", blocks(INTEGRATE, "javascript"))
def test_the_code_in_javascript_can_be_read(source, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("There is no node on this machine to read the code with.")
    (tmp_path / "guide.mjs").write_text(source)
    done = subprocess.run(["node", "--check", "guide.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
