"""The guides' programs do what the guides say. A program whose language is not on this machine is skipped."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from standardwebhooks import Webhook

from tests.conftest import ROOT

DOCS = ROOT / "docs"
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


def recipe(language, name):
    """The one block of this language that defines ``name``, whatever the language writes it like."""
    spelled = re.compile(name.replace("_", "_?"), re.IGNORECASE)
    (found,) = (block for block in blocks(MANUAL, language) if spelled.search(block))
    return found


def documented(row):
    """A value of the guide's test vector."""
    return re.search(rf"^\| {row} \| `([^`]+)` \|$", MANUAL.read_text(), re.MULTILINE)[1]


@pytest.fixture(params=RUN)
def open_envelope(request, tmp_path):
    """Runs the recipe of one language."""
    name, command = RUN[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"There is no {command[0]} on this machine to run the recipe with.")
    (tmp_path / name).write_text(recipe(request.param, "open_envelope"))

    def run(envelope, secret_key):
        environment = {**os.environ, "WATCHWORD_SECRET_KEY": secret_key}
        return subprocess.run([*command, name, envelope], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


@pytest.mark.requirement(24)
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


@pytest.mark.parametrize(
    "envelope", ["aes256", "aes256:AAAA:AAAA", "plain:AAECAwQFBgcICQoL:5mkVbht+:8IJuAVvZH2Zms1xUFbUrkw=="]
)
def test_php_tells_what_is_no_envelope_without_a_warning(tmp_path, envelope):
    if shutil.which("php") is None:
        pytest.skip("There is no php on this machine to run the recipe with.")
    (tmp_path / "open_envelope.php").write_text(recipe("php", "open_envelope"))
    done = subprocess.run(["php", tmp_path / "open_envelope.php", envelope], capture_output=True, text=True)
    assert done.returncode != 0
    assert "not an envelope" in done.stdout + done.stderr and "Warning" not in done.stdout + done.stderr


def test_the_documented_envelope_is_right():
    key = hashlib.sha256(documented("secret key").encode())
    assert key.hexdigest() == documented("its SHA-256")
    parts = documented("envelope").removeprefix("aes256:").split(":")
    iv, ciphertext, tag = (base64.b64decode(part, validate=True) for part in parts)
    assert AESGCM(key.digest()).decrypt(iv, ciphertext + tag, None) == documented("code").encode()


# --- callbacks ---------------------------------------------------------------------------------------------------

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(32)).decode()
BODY = '{"id":1,"channel":"sms","status":"success","error":null,"finished_at":"2026-05-04T09:30:04.381Z"}'


def in_python(headers, body):
    scope = {}
    exec(recipe("python", "is_genuine"), scope)
    return scope["is_genuine"](headers, body.encode(), SECRET)


def in_javascript(headers, body):
    if shutil.which("node") is None:
        pytest.skip("There is no node on this machine to run the recipe with.")
    call = f"isGenuine({json.dumps(headers)}, Buffer.from({json.dumps(body)}), {json.dumps(SECRET)})"
    source = f"{recipe('javascript', 'is_genuine')}\nconsole.log({call});"
    done = subprocess.run(["node", "-e", source], capture_output=True, text=True)
    return {"true\n": True, "false\n": False}[done.stdout]


@pytest.fixture(params=[in_python, in_javascript])
def is_genuine(request):
    return request.param


def signed(*secrets, at=None, body=BODY):
    at = at or datetime.now(UTC)
    signatures = " ".join(Webhook(secret).sign("msg_1", at, body) for secret in secrets)
    return {"webhook-id": "msg_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signatures}


@pytest.mark.requirement(78)
def test_it_believes_a_genuine_callback(is_genuine):
    assert is_genuine(signed(SECRET), BODY)


def test_it_believes_one_signed_by_two_secrets(is_genuine):
    assert is_genuine(signed(OTHER, SECRET), BODY)


def test_it_doubts_a_callback_of_another_secret(is_genuine):
    assert not is_genuine(signed(OTHER), BODY)


def test_it_doubts_a_changed_callback(is_genuine):
    assert not is_genuine(signed(SECRET), BODY.replace("success", "expired"))


def test_it_doubts_an_old_callback(is_genuine):
    assert not is_genuine(signed(SECRET, at=datetime.now(UTC) - timedelta(minutes=6)), BODY)


# --- the code of the integration guide ---------------------------------------------------------------------------


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


def test_the_hash_of_an_android_app_is_made_as_android_makes_it(tmp_path):
    if not (shutil.which("xxd") and shutil.which("openssl")):
        pytest.skip("There is no xxd or openssl on this machine to run the recipe with.")
    certificate = bytes(range(256)) * 4
    (tmp_path / "certificate").write_bytes(certificate)
    (tmp_path / "keytool").write_text(f"#!/bin/sh\ncat {tmp_path}/certificate\n")
    (tmp_path / "keytool").chmod(0o755)
    (found,) = (block for block in blocks(INTEGRATE, "sh") if "keytool" in block)
    recipe = found.partition("manage.py")[0]
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-ec", recipe], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    expected = hashlib.sha256(b"com.example.shop " + certificate.hex().encode()).digest()
    assert done.stdout == base64.b64encode(expected)[:11].decode() + "\n", done.stderr
