import contextlib
import io
import json
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError, UnsupportedMediaType

from verification.api.parsers import (
    MAX_BODY_BYTES,
    MAX_MEMBERS,
    MAX_NUMBER_DIGITS,
    StrictJSONParser,
    parse_object,
)
from verification.core.errors import ApiError

# On a busy machine a pause of the process is no failure.
patient = hypothesis_settings(deadline=None)

# --- The object ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b' \r\n\t{"a": 1} \n', {"a": 1}),
        (b'{"a":null,"b":true,"c":"x","d":[],"e":{}}', {"a": None, "b": True, "c": "x", "d": [], "e": {}}),
        (b'{"code":"012345"}', {"code": "012345"}),
        (b'{"a":-12345678901234567890}', {"a": -12345678901234567890}),
        (b'{"a":1.5e3}', {"a": 1500.0}),
        (b'{"a":1e-999}', {"a": 0.0}),
        ('{"a":"é😀"}'.encode(), {"a": "é😀"}),
        (b'{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        (b'{"a":"\\\\u0000"}', {"a": "\\u0000"}),
        (b'{"a":{"b":[{"c":[1]}]}}', {"a": {"b": [{"c": [1]}]}}),
        (b'{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
        (b'{"a":"[[[[[[{{{{{{"}', {"a": "[[[[[[{{{{{{"}),
        (b'{"a":"\\"[[[[[[{{{{{{\\\\"}', {"a": '"[[[[[[{{{{{{\\'}),
        (b'{"a":[[],[],[],[],[],[]]}', {"a": [[], [], [], [], [], []]}),
    ],
)
def test_it_reads_an_object(body, value):
    assert parse_object(body) == value


@pytest.mark.requirement(101)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"null", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'"{}"', "not a JSON object"),
        (b"1", "not a JSON object"),
        (b"{", "not valid JSON"),
        (b"{}{}", "not valid JSON"),
        (b"{'a':1}", "not valid JSON"),
        (b'{"a":1,}', "not valid JSON"),
        (b'{"a":01}', "not valid JSON"),
        (b'{"a":+1}', "not valid JSON"),
        (b'{"a":1}//', "not valid JSON"),
        (b'{"a":"\n"}', "not valid JSON"),
        (b'{"a":"\\x"}', "not valid JSON"),
        (b"a=1&b=2", "not valid JSON"),
        ("\u00a0{}".encode(), "not valid JSON"),
        (b'{"a":1,"a":2}', "same name"),
        (b'{"a":1,"\\u0061":2}', "same name"),
        (b'{"x":[{"a":1,"a":1}]}', "same name"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":Infinity}', "NaN"),
        (b'{"a":-Infinity}', "NaN"),
        (b'{"a":1e999}', "too large"),
        (b'{"a":-1e999}', "too large"),
        (b'{"a":123456789012345678901}', "digits"),
        (b'{"a":0.12345678901234567890}', "digits"),
        (b'{"a":' + b"9" * 10000 + b"}", "digits"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"a":"\\udc00\\ud800"}', "surrogate"),
        (b'{"\\uDFFF":1}', "surrogate"),
        (b'{"a":[{"b":"\\ud800x"}]}', "surrogate"),
        (b'{"a":"\xed\xa0\x80"}', "UTF-8"),
        (b'{"a":"\x00"}', "NUL"),
        (b'{"a":1}\x00', "NUL"),
        (b'{"a":"\\u0000"}', "NUL"),
        (b'{"a\\u0000":1}', "NUL"),
        (b'{"a":["\\u0000"]}', "NUL"),
        (b'\xef\xbb\xbf{"a":1}', "byte order mark"),
        ('{"a":1}'.encode("utf-16"), "UTF-8"),
        ('{"a":1}'.encode("utf-16-le"), "NUL"),
        ('{"a":1}'.encode("utf-32-be"), "NUL"),
        (b'{"a":"\xe9"}', "UTF-8"),
        (b'{"a":"\xc0\x80"}', "UTF-8"),
        (b'{"a":[[[[[]]]]]}', "nested"),
        (b'{"a":{"a":{"a":{"a":{"a":{}}}}}}', "nested"),
        (b'{"x":"\\"","a":[[[[[]]]]]}', "nested"),
        (b"[" * 2000 + b"]" * 2000, "nested"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "nested"),
        (b'{"a":' + b"[" * 8000 + b"]" * 8000 + b"}", "nested"),
    ],
)
def test_it_refuses_what_two_readers_could_read_differently(body, reason):
    with pytest.raises(ParseError, match=reason) as refusal:
        parse_object(body)
    assert str(refusal.value.detail).endswith(".")


def test_an_object_has_a_limited_number_of_members():
    assert len(parse_object(json.dumps(dict.fromkeys(map(str, range(MAX_MEMBERS)))).encode())) == MAX_MEMBERS
    with pytest.raises(ParseError, match="members"):
        parse_object(json.dumps(dict.fromkeys(map(str, range(MAX_MEMBERS + 1)))).encode())


def test_the_reason_does_not_repeat_the_body():
    with pytest.raises(ParseError) as refusal:
        parse_object(b'{"code":"837261", oops}')
    assert "837261" not in str(refusal.value)
    assert "oops" not in str(refusal.value)


@pytest.mark.parametrize("unit", [b'"', b'\\"', b'"\\', b"[", b'["', b'{"a":"', b"\\", b'"[\\"', b"[]", b'"{'])
def test_the_worst_body_takes_no_longer_than_its_size_deserves(unit):
    body = b'{"a":[[[[[' + unit * (MAX_BODY_BYTES // len(unit))
    start = time.perf_counter()
    with pytest.raises(ParseError):
        parse_object(body)
    assert time.perf_counter() - start < 0.5


@pytest.mark.requirement(101)
def test_a_small_stack_is_enough():
    def deep(levels):
        return deep(levels - 1) if levels else pytest.raises(ParseError, parse_object, b"[" * 16000)

    deep(sys.getrecursionlimit() // 3)


numbers = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers.filter(lambda number: sum(map(str.isdigit, repr(number))) <= MAX_NUMBER_DIGITS),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text("ab\\\"[{é😀'", max_size=5), values, max_size=3)
    ),
    max_leaves=8,
)


def _levels(value):
    if isinstance(value, dict):
        return 1 + max(map(_levels, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_levels, value), default=0)
    return 0


@patient
@given(st.dictionaries(st.text("ab\\\"[{]}é😀'", max_size=5), json_values, max_size=5), st.booleans())
def test_it_agrees_with_the_standard_library_up_to_five_levels(value, ascii_only):
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    if _levels(value) > 5:
        with pytest.raises(ParseError, match="nested"):
            parse_object(body)
    else:
        assert parse_object(body) == value


@patient
@given(st.binary(max_size=60) | st.text('{}[]":,\\u0d8aeE+-.19tn \x00\ufeff', max_size=60).map(str.encode))
def test_no_body_gives_anything_but_an_object_or_a_refusal(body):
    with contextlib.suppress(ParseError):
        assert isinstance(parse_object(body), dict)


# --- The parser ------------------------------------------------------------------------------------------------------


def read_object(stream, media_type="application/json"):
    return StrictJSONParser().parse(stream, media_type, {"request": SimpleNamespace(META={})})


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json; Charset=utf8",
        "application/json; profile=x",
    ],
)
def test_the_reader_reads_utf8(media_type):
    assert read_object(io.BytesIO(b'{"a":"\xc3\xa9"}'), media_type) == {"a": "é"}


@pytest.mark.parametrize(
    "charset",
    ["=utf-16", "=latin-1", '="us-ascii"', "=", "=bz2_codec", "=utf-7", "*=utf-8''utf-16"],
)
def test_the_reader_refuses_another_charset(charset):
    with pytest.raises(UnsupportedMediaType):
        read_object(io.BytesIO(b"{}"), f"application/json; charset{charset}")


def _body_of(size):
    return b'{"a":"' + b"x" * (size - 8) + b'"}'


def test_the_reader_reads_a_body_of_the_largest_size():
    assert len(read_object(io.BytesIO(_body_of(MAX_BODY_BYTES)))["a"]) == MAX_BODY_BYTES - 8


def test_the_reader_stops_reading_one_byte_over_the_limit():
    stream = io.BytesIO(_body_of(10 * MAX_BODY_BYTES))
    with pytest.raises(ApiError, match="larger than"):
        read_object(stream)
    assert stream.tell() == MAX_BODY_BYTES + 1


def test_the_reader_passes_on_why_a_body_is_unreadable():
    with pytest.raises(ParseError, match="empty"):
        read_object(io.BytesIO(b""))
