"""A copy of the database without the environment's keys: whatever stands in it is tried on whatever could open."""

import base64
import contextlib
import hashlib
import hmac
import json
import uuid

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from verification.core import caching
from verification.core.errors import ApiError
from verification.models import KeyKind
from verification.services.maintenance.reencryption import COLUMNS
from verification.services.projects import keys
from verification.services.projects.snapshot import load_project
from verification.services.sessions import check
from verification.services.users import second_factor

pytestmark = pytest.mark.django_db

CODE, MANUAL_CODE, TO = "424242", "918273", "+4915112345678"
KEY_BYTES, CUT_BYTES = 32, 16  # of an AES key; the shortest form in which a digest is kept


@pytest.fixture
def lived(api, project, client):
    """A service in the middle of its work, with everything that is stored for a while. Returns what opens something."""
    project.test_login("reviewer@example.com", CODE)
    session_id = api.create("reviewer@example.com").data["session_id"]
    token = api.check(session_id, CODE).data["verify_token"]
    api.check(api.create(TO).data["session_id"], "111111")
    sent = api.manual_send(TO, code=MANUAL_CODE, headers={"idempotency-key": "order-1"}).data
    client.get(reverse("admin:index"))  # loads the pages, and with them what a login starts
    user = User.objects.create_superuser("root")
    factor, _ = second_factor.begin(user)
    client.force_login(user)
    over = keys.issue_key(project=project.row, kind=KeyKind.SECRET)
    keys.revoke_key(over.id)
    caching.clear_all()
    assert client.get(reverse("admin:index")).status_code == 200
    return {"envelope": sent["code"], "token": token, "cookie": client.cookies["session"].value, "factor": factor}


@pytest.fixture
def stored(lived):
    """Every value of every table: bytes as they are, texts and what stands within JSON as texts."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                for value in row:
                    found |= set(leaves(value))
    assert len(found) > 200
    return found


def leaves(value):
    if isinstance(value, (bytes, memoryview)):
        yield bytes(value)
    elif isinstance(value, str):
        yield value
        with contextlib.suppress(ValueError):
            parsed = json.loads(value)
            if not isinstance(parsed, str):
                yield from leaves(parsed)
    elif isinstance(value, dict):
        for item in (*value, *value.values()):
            yield from leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, uuid.UUID):
        yield str(value)


def as_bytes(value):
    """A value in every reading that a thief would think of."""
    if isinstance(value, bytes):
        return {value}
    readings = {value.encode()}
    for decode in (bytes.fromhex, base64.b64decode, base64.urlsafe_b64decode):
        with contextlib.suppress(ValueError):
            readings.add(decode(value))
    return readings


def as_texts(value):
    if isinstance(value, str):
        return {value}
    texts = {value.hex(), base64.b64encode(value).decode(), value.decode(errors="ignore")}
    return texts | ({str(uuid.UUID(bytes=value[:16]))} if len(value) >= 16 else set())


def open_envelope(key, envelope):
    iv, ciphertext, tag = (base64.b64decode(part) for part in envelope.split(":")[1:])
    try:
        return AESGCM(key).decrypt(iv, ciphertext + tag, None).decode()
    except InvalidTag:
        return None


def keys_of(stored):
    """Return whatever could be an AES key: each value, and its SHA-256."""
    readings = {reading for value in stored for reading in as_bytes(value)}
    return {reading for reading in readings if len(reading) == KEY_BYTES} | {
        hashlib.sha256(reading).digest() for reading in readings
    }


def test_the_search_finds_what_it_looks_for(lived, project):
    """Otherwise nothing that is tried below would prove anything."""
    key = hashlib.sha256(project.secret_key.encode()).digest()
    assert key in keys_of({project.secret_key}) & keys_of({key}) & keys_of({key.hex()})
    assert open_envelope(key, lived["envelope"]) == MANUAL_CODE


@pytest.mark.requirement(3, 24)
def test_nothing_stored_opens_an_envelope_of_manual_send(lived, stored):
    assert [key for key in keys_of(stored) if open_envelope(key, lived["envelope"])] == []


@pytest.mark.requirement(23)
def test_no_envelope_is_stored_at_all(stored):
    assert [value for value in stored if isinstance(value, str) and "aes256:" in value] == []
    assert [value for value in stored if isinstance(value, bytes) and b"aes256:" in value] == []


@pytest.mark.requirement(18)
def test_nothing_stored_opens_what_is_encrypted(stored):
    candidates = [AESGCM(key) for key in keys_of(stored)]
    sealed = []
    for column in COLUMNS:
        for ciphertext, *bound_to in column.rows().values_list(column.column, *column.bound_to):
            sealed.append((bytes(ciphertext), column.binding(*bound_to).encode()))
    assert len(sealed) >= len(COLUMNS) - 3 - 3  # the secrets of risk checks
    for ciphertext, binding in sealed:
        for cipher in candidates:
            with contextlib.suppress(InvalidTag):
                cipher.decrypt(ciphertext[5:17], ciphertext[17:], binding)
                pytest.fail(f"The database opens {binding.decode()}.")


@pytest.mark.requirement(3)
def test_nothing_stored_is_taken_as_a_key(stored):
    for text in {text for value in stored for text in as_texts(value)}:
        with pytest.raises(ApiError, match="unknown"):
            keys.authenticate(text)


@pytest.mark.requirement(96)
def test_nothing_stored_is_taken_as_a_verify_token(project, lived, stored):
    config = load_project(project.id)
    for text in {text for value in stored for text in as_texts(value)}:
        with pytest.raises(ApiError, match="token"):
            check.redeem_verify_token(project=config, token=text)
    assert check.redeem_verify_token(project=config, token=lived["token"]).is_test


@pytest.mark.requirement(85, 96)
def test_no_stored_session_of_the_panel_is_a_cookie(lived, stored):
    assert lived["cookie"] not in {text for value in stored for text in as_texts(value)}
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_key, session_data FROM django_session")
        rows = cursor.fetchall()
    assert rows
    for text in [text for row in rows for text in row]:
        thief = Client()
        thief.cookies["session"] = text
        assert thief.get(reverse("admin:index")).status_code == 302


@pytest.mark.requirement(18)
def test_no_digest_is_that_of_a_code(lived, stored):
    """Trying all codes finds one if and only if the right one, put together from what stands in the copy, is found."""
    digests = {reading[:CUT_BYTES] for value in stored for reading in as_bytes(value) if len(reading) >= CUT_BYTES}
    body = {"to": TO, "channel": "sms", "code": MANUAL_CODE}
    beside = {value for value in stored if isinstance(value, str) and len(value) < 100}
    tried = [json.dumps(body, sort_keys=True), json.dumps(body), json.dumps(body, separators=(",", ":"))]
    for code in (CODE, MANUAL_CODE, "111111"):
        tried += [code, *(f"{known}{between}{code}" for known in beside for between in ("", ":"))]
    found = [
        text
        for text in tried
        for name in ("sha256", "sha1", "md5")
        if hashlib.new(name, text.encode()).digest()[:CUT_BYTES] in digests
    ]
    keyed = [
        known
        for known in beside
        for code in (CODE, MANUAL_CODE, tried[0])
        if hmac.digest(known.encode(), code.encode(), "sha256")[:CUT_BYTES] in digests
    ]
    assert (found, keyed) == ([], [])
