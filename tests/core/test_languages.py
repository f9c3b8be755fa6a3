"""The names of languages, as a reader's own language writes them."""

import pytest
from django.utils import translation

from verification.core.formats import language_in_sentence
from verification.models import MessageTemplate


@pytest.mark.parametrize(
    ("reader", "code", "name"),
    [
        ("en", "en", "English"),
        ("ru", "en", "английский"),
        ("es", "pt-BR", "portugués de Brasil"),
        ("en", "zh", "Simplified Chinese"),
        ("en", "de-AT", "German (de-AT)"),
        ("en", "tlh", "tlh"),  # which Django does not know
    ],
)
def test_a_language_is_named(reader, code, name):
    with translation.override(reader):
        assert language_in_sentence(code) == name


def test_a_text_is_called_by_its_language():
    assert str(MessageTemplate(channel="sms", language="en")) == "SMS, English"
