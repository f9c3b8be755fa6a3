"""Encryption and digests of what a database dump must not give away."""

import base64
import hashlib
import secrets

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from verification.core import caching, crypto
from verification.core.crypto import DecryptionFailed, code_digest, decrypt, encrypt, key_id_of, key_ids, seal_for_key

SESSION = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER_SESSION = "01ARZ3NDEKTSV4RRFFQ69G5FAW"


@pytest.fixture
def ring(settings):
    """Sets the keys, newest first."""

    def turn(*keys):
        settings.ENCRYPTION_KEYS = list(keys)
        caching.clear_all()

    return turn


@pytest.fixture
def pepper(settings):
    def change(secret_key):
        settings.SECRET_KEY = secret_key
        caching.clear_all()

    return change


# --- encryption ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", ["", "123456", "пароль 😀", "x" * 10_000])
def test_what_is_encrypted_can_be_read_at_its_place(plain):
    assert decrypt(encrypt(plain, binding="table:1:column"), binding="table:1:column") == plain


@pytest.mark.requirement(94)
@pytest.mark.parametrize("binding", ["table:2:column", "table:1:other", "table:1", ""])
def test_a_ciphertext_that_was_copied_elsewhere_does_not_open(binding):
    ciphertext = encrypt("123456", binding="table:1:column")
    with pytest.raises(DecryptionFailed):
        decrypt(ciphertext, binding=binding)


def test_a_changed_ciphertext_does_not_open():
    ciphertext = encrypt("123456", binding="here")
    for position in range(len(ciphertext)):
        changed = bytearray(ciphertext)
        changed[position] ^= 1
        with pytest.raises(DecryptionFailed):
            decrypt(bytes(changed), binding="here")


@pytest.mark.parametrize("length", [0, 1, 5, 17, 32])
def test_a_shortened_ciphertext_does_not_open(length):
    with pytest.raises(DecryptionFailed):
        decrypt(encrypt("123456", binding="here")[:length], binding="here")


def test_the_same_text_is_never_encrypted_to_the_same_bytes():
    assert len({encrypt("123456", binding="here") for _ in range(100)}) == 100


def test_after_a_rotation_the_old_key_still_opens_and_the_new_one_seals(ring):
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    ring(old)
    before = encrypt("123456", binding="here")
    ring(new, old)
    after = encrypt("123456", binding="here")
    assert decrypt(before, binding="here") == decrypt(after, binding="here") == "123456"
    assert [key_id_of(after), key_id_of(before)] == key_ids()


def test_without_its_key_nothing_opens(ring):
    ring(secrets.token_bytes(32))
    ciphertext = encrypt("123456", binding="here")
    ring(secrets.token_bytes(32))
    with pytest.raises(DecryptionFailed):
        decrypt(ciphertext, binding="here")


# --- digests of codes ------------------------------------------------------------------------------------------------


def test_a_code_has_one_digest_in_one_session():
    assert code_digest("123456", session_id=SESSION) == code_digest("123456", session_id=SESSION)


@pytest.mark.requirement(18)
def test_the_same_code_has_another_digest_in_another_session():
    assert code_digest("123456", session_id=SESSION) != code_digest("123456", session_id=OTHER_SESSION)


@pytest.mark.requirement(33)
def test_similar_codes_have_different_digests():
    assert len({code_digest(code, session_id=SESSION) for code in ("123456", "012345", "12345", "", "123456 ")}) == 5


@pytest.mark.requirement(18)
def test_without_the_pepper_a_dump_gives_no_code_away():
    digest = code_digest("0042", session_id=SESSION)
    guesses = (f"{code:04d}" for code in range(10_000))
    found = [
        code
        for code in guesses
        for text in (code, f"{SESSION}{code}", f"{SESSION}:{code}")
        if hashlib.sha256(text.encode()).digest() == digest
    ]
    assert found == []


def test_another_secret_key_is_another_pepper(pepper):
    before = code_digest("123456", session_id=SESSION)
    pepper("another secret key of sufficient length for a test")
    assert code_digest("123456", session_id=SESSION) != before


# --- the envelope of manual send -------------------------------------------------------------------------------------


def unseal(envelope, secret_key):
    iv, ciphertext, tag = (base64.b64decode(part, validate=True) for part in envelope.split(":")[1:])
    return AESGCM(hashlib.sha256(secret_key.encode()).digest()).decrypt(iv, ciphertext + tag, None).decode()


def test_the_envelope_opens_with_the_secret_key_as_documented():
    assert unseal(seal_for_key("0042", secret_key="ww_secret_x"), "ww_secret_x") == "0042"


def test_the_envelope_begins_with_its_label_and_has_three_segments():
    label, *segments = seal_for_key("123456", secret_key="k").split(":")
    assert label == "aes256"
    assert [len(base64.b64decode(segment, validate=True)) for segment in segments] == [12, 6, 16]
    assert all(len(segment) % 4 == 0 for segment in segments)


def test_another_key_does_not_open_the_envelope():
    with pytest.raises(InvalidTag):
        unseal(seal_for_key("0042", secret_key="k"), "K")


@pytest.mark.requirement(24)
def test_two_envelopes_of_one_code_differ():
    assert seal_for_key("0042", secret_key="k") != seal_for_key("0042", secret_key="k")


@pytest.mark.requirement(95)
def test_what_signs_puzzles_is_another_key_than_the_pepper():
    assert crypto.puzzle_keys()[0] != crypto._peppers()[0]
    assert len(crypto.puzzle_keys()[0]) == 32
