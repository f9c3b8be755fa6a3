"""A set-up file is read as people write it, and what could fill a memory is refused."""

import pytest

from verification.contrib.config_files.load import FileRefused, read


def test_plain_words_are_what_they_look_like():
    found = read(
        b"countries: [NO, DE]\nprefix: +49\nyes: no\nsize: 12\nscore: 0.5\non: true\nnone: ~\nversion: 1.2.3\n"
    )
    assert found.value == {
        "countries": ["NO", "DE"],
        "prefix": "+49",
        "yes": "no",
        "size": 12,
        "score": 0.5,
        "on": True,
        "none": None,
        "version": "1.2.3",
    }


def test_quoted_words_are_texts_and_texts_may_have_lines():
    assert read("a: '12'\nb: \"true\"\nc: |-\n  one\n  two\n").value == {"a": "12", "b": "true", "c": "one\ntwo"}


def test_each_value_has_the_line_of_its_name():
    found = read("projects:\n  Shop:\n    fallback:\n      - channel: sms\n        wait_seconds: 5\n")
    assert found.line_of(("projects", "Shop")) == 2
    assert found.line_of(("projects", "Shop", "fallback", 0, "wait_seconds")) == 5
    assert found.line_of(("projects", "Shop", "fallback", 0, "missing")) == 4


def test_json_is_taken_too():
    assert read('{"projects": {"Shop": {"fallback": []}}}').value == {"projects": {"Shop": {"fallback": []}}}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a: &x [1]\nb: *x\n", "line 1: a: anchors and aliases are not supported"),
        (b"a: !secret X\n", r"line 1: a: tags are not supported; write a secret as {secret: NAME}"),
        (b"a: !!python/object/apply:os.system [id]\n", "tags are not supported"),
        (b"a: 1\nb: 2\na: 3\n", "line 3: a: this appears twice"),
        (b"a: 1\n---\nb: 2\n", "starts a second one"),
        (b"a: [1\nb: 2\n", "line 2: This is not YAML"),
        (b"? [a]\n: 1\n", "a name in plain text is expected here"),
        (b"a: \x01\n", "This is not YAML"),
        (b"a: \xff\n", "The file is not UTF-8 text"),
        (b'a: "x\\0y"\n', "line 1: a: a text cannot contain NUL"),
        (b'"x\\0y": 1\n', "a text cannot contain NUL"),
        (b'a: "\\ud800"\n', "This is not YAML"),
        (b"", "The file is empty"),
        (b"a: " + b"[" * 5_000, "values can be nested at most 12 levels deep"),
        (b"a" * (10 * 1024 * 1024 + 1), "the maximum is 10,485,760"),
    ],
)
def test_what_is_no_plain_file_is_refused_with_its_line(content, complaint):
    with pytest.raises(FileRefused, match=complaint):
        read(content)
