"""The settings as production gets them, judged by Django's own deployment check and by ours."""

import base64
import os
import secrets
import subprocess
import sys

from tests.conftest import ROOT


def test_the_deployment_check_finds_nothing():
    production = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": "postgres://watchword:password@127.0.0.1:1/nowhere",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "BASE_URL": "https://codes.example.com",
        "ALLOWED_HOSTS": "codes.example.com",
        "TRUSTED_PROXIES": "1",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env=production,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("System check identified no issues")
