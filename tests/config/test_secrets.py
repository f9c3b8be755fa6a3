"""The service's own secrets: a weak, missing or doubled one stops the start with one line that says which."""

import base64
import re
import secrets

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse
from environ.fileaware_mapping import FileAwareMapping

from config.environment import Environment
from config.secrets import load


def some_secret():
    return secrets.token_urlsafe(48)


def some_key():
    return base64.b64encode(secrets.token_bytes(32)).decode()


SECRET, KEY = some_secret(), some_key()
GOOD = {"SECRET_KEY": SECRET, "ENCRYPTION_KEYS": KEY}


def load_from(tmp_path, values, *, is_embedded=False):
    class Env(Environment):
        ENVIRON = FileAwareMapping(env=values)

    return load(Env(), home=tmp_path, is_embedded=is_embedded)


def test_good_ones_are_taken(tmp_path):
    old_secret, old_key = some_secret(), some_key()
    values = {**GOOD, "SECRET_KEY_FALLBACKS": old_secret, "ENCRYPTION_KEYS": f"{KEY},{old_key}"}
    loaded = load_from(tmp_path, values)
    assert (loaded.secret_key, loaded.secret_key_fallbacks) == (SECRET, [old_secret])
    assert loaded.encryption_keys == [base64.b64decode(KEY), base64.b64decode(old_key)]


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("padding", ["=", ""])
def test_a_key_may_be_written_in_either_base64(tmp_path, encode, padding):
    key = bytes(range(224, 256))  # of which every coding has signs that the other lacks
    text = encode(key).decode().rstrip("=") + padding
    assert load_from(tmp_path, GOOD | {"ENCRYPTION_KEYS": text}).encryption_keys == [key]
    with pytest.raises(ImproperlyConfigured, match="contain the same secret"):
        load_from(tmp_path, {"SECRET_KEY": text * 2, "ENCRYPTION_KEYS": text})


def test_one_may_stand_in_a_file(tmp_path):
    (tmp_path / "key").write_text(f"{SECRET}\n")
    loaded = load_from(tmp_path, {"SECRET_KEY_FILE": str(tmp_path / "key"), "ENCRYPTION_KEYS": KEY})
    assert loaded.secret_key == SECRET


@pytest.mark.requirement(94, 95)
@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set"),
        ({"SECRET_KEY": SECRET[:49]}, "SECRET_KEY is too weak"),
        ({"SECRET_KEY": "abcdefg" * 10}, "SECRET_KEY is too weak"),
        ({"SECRET_KEY": "django-insecure-" + SECRET}, "SECRET_KEY looks like a placeholder"),
        (
            {"SECRET_KEY": "please-CHANGE-me-to-at-least-50-random-characters-now"},
            "SECRET_KEY looks like a placeholder",
        ),
        ({"SECRET_KEY_FALLBACKS": "short"}, "SECRET_KEY_FALLBACKS is too weak"),
        ({"SECRET_KEY_FALLBACKS": SECRET}, "contain the same secret twice"),
        ({"ENCRYPTION_KEYS": ""}, "ENCRYPTION_KEYS is not set"),
        ({"ENCRYPTION_KEYS": base64.b64encode(bytes(16)).decode()}, "not 32 random bytes"),
        ({"ENCRYPTION_KEYS": base64.b64encode(bytes(32)).decode()}, "not 32 random bytes"),
        ({"ENCRYPTION_KEYS": base64.b64encode(b"password" * 4).decode()}, "not 32 random bytes"),
        ({"ENCRYPTION_KEYS": "no base64!"}, "not 32 random bytes"),
        ({"ENCRYPTION_KEYS": f"{KEY},{KEY}"}, "ENCRYPTION_KEYS contains the same key twice"),
        ({"SECRET_KEY": KEY + KEY}, "SECRET_KEY and ENCRYPTION_KEYS contain the same secret"),
    ],
)
def test_a_bad_one_stops_the_start_with_one_line(tmp_path, values, line):
    with pytest.raises(ImproperlyConfigured, match=re.escape(line)) as stopped:
        load_from(tmp_path, GOOD | values)
    text = str(stopped.value)
    assert "\n" not in text
    assert SECRET not in text and KEY not in text


def test_embedded_they_are_made_once_for_their_owner_alone(tmp_path):
    first = load_from(tmp_path, {}, is_embedded=True)
    assert load_from(tmp_path, {}, is_embedded=True) == first
    assert (tmp_path / "secrets.json").stat().st_mode & 0o077 == 0


def test_a_home_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        ImproperlyConfigured, match=r"^Cannot store secrets in \S+: Not a directory\. Set WATCHWORD_HOME"
    ):
        load_from(tmp_path / "file" / "var", {}, is_embedded=True)


def test_a_damaged_file_of_secrets_is_one_line_and_stays(tmp_path):
    path = tmp_path / "secrets.json"
    path.write_text("{")
    with pytest.raises(ImproperlyConfigured, match=r"secrets\.json is damaged\. "):
        load_from(tmp_path, {}, is_embedded=True)
    assert path.read_text() == "{"


@pytest.mark.requirement(95)
@pytest.mark.django_db
@pytest.mark.parametrize(("fallbacks", "status"), [([SECRET], 200), ([], 302)])
def test_a_new_secret_key_logs_nobody_out_while_the_old_one_is_a_fallback(settings, fallbacks, status):
    settings.SECRET_KEY = SECRET
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = some_secret(), fallbacks
    assert client.get(reverse("admin:index")).status_code == status
