"""The words of a call as a standard voice of the server speaks them."""

import io
import shutil
import wave

import pytest

from tests import voices
from verification.core.errors import UserError
from verification.services.texts import speech

HOSTILE = "-f /etc/passwd --compile; $(id) `id` {code}"


@pytest.fixture
def voice(tmp_path, monkeypatch):
    return voices.install(tmp_path, monkeypatch)


@pytest.mark.requirement(92)
def test_the_words_go_by_standard_input_and_no_argument_is_a_user_s(voice):
    speech.speak(HOSTILE, "de-AT")
    assert voice.words == HOSTILE
    assert voice.arguments == ["-v", "de", "-s", "140", "--stdin", "--stdout"]


def test_the_recording_tells_its_length(voice):
    with wave.open(io.BytesIO(speech.speak("471836", "en"))) as file:
        assert (file.getnchannels(), file.getnframes() / file.getframerate()) == (1, pytest.approx(0.05, abs=0.01))


@pytest.mark.parametrize(
    ("language", "name"),
    [("de", "de"), ("de-AT", "de"), ("pt-BR", "pt-br"), ("pt", "pt"), ("en", "en-us"), ("xx", ""), ("-f", "")],
)
def test_the_voice_is_one_that_the_program_names(voice, language, name):
    assert speech.voice_of(language) == name


@pytest.mark.parametrize("then", ["exit 1", "printf nothing", "kill -9 $$"])
def test_a_program_that_fails_is_told_in_a_sentence(voice, then):
    voice.then(then)
    with pytest.raises(UserError, match="This server's voice failed"):
        speech.speak("471836", "de")


def test_a_program_that_does_not_end_is_ended(voice, monkeypatch):
    voice.then("exec sleep 600")
    monkeypatch.setattr(speech, "MAX_SECONDS", 0.2)
    with pytest.raises(UserError, match="This server's voice failed"):
        speech.speak("471836", "de")


def test_too_long_a_text_reaches_no_program(voice):
    with pytest.raises(UserError, match="too long"):
        speech.speak("a" * (speech.MAX_CHARACTERS + 1), "de")
    assert voice.words is None


def test_without_a_program_no_language_has_a_voice(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert speech.voice_of("en") == ""
    with pytest.raises(UserError, match="This server has no voice for"):
        speech.speak("471836", "en")


@pytest.mark.skipif(not any(map(shutil.which, speech.PROGRAMS)), reason="needs espeak-ng, which speaks")
@pytest.mark.parametrize("language", ["en", "de", "fr", "ru", "es-MX", "pt-BR", "zh"])
def test_an_installed_voice_speaks_for_some_seconds(language):
    with wave.open(io.BytesIO(speech.speak("4, 7, 1, 8, 3, 6. " * 2, language))) as file:
        assert 2 < file.getnframes() / file.getframerate() < 60
