"""A set-up file is read as people write it, and what could fill a memory is refused."""

import pytest

from verification.contrib.config_files.load import FileRefused, read


def test_plain_words_are_what_they_look_like_and_quoted_ones_are_texts():
    text = (
        "a: [NO, DE]\nb: +49\nyes: no\non: true\n~: ~\n12: 12\nc: 0.5\nd: 1.2.3\ne: 2027-01-01\nf: '12'\n<<: \"true\"\n"
    )
    assert read(text) == {
        **{"a": ["NO", "DE"], "b": "+49", "yes": "no", "on": True, "~": None, "12": 12, "c": 0.5},
        **{"d": "1.2.3", "e": "2027-01-01", "f": "12", "<<": "true"},
    }
    assert read("c: |-\n  one\n  two\n") == {"c": "one\ntwo"}
    assert read('{"projects": {"Shop": {"fallback": []}}}') == {"projects": {"Shop": {"fallback": []}}}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a: &x [1]\nb: *x\n", "line 1: anchors and aliases are not supported"),
        (b"a: !secret X\n", r"line 1: tags are not supported; write a secret as {secret: NAME}"),
        (b"a: !!python/object/apply:os.system [id]\n", "tags are not supported"),
        (b"a: 1\nb: 2\na: 3\n", "line 3: a appears twice"),
        (b"a: 1\n---\nb: 2\n", "starts a second one"),
        (b"a: [1\nb: 2\n", "line 2: This is not YAML"),
        (b"? [a]\n: 1\n", "a name in plain text is expected here"),
        (b"a: \x01\n", "This is not YAML"),
        (b"a: \xff\n", "The file is not UTF-8 text"),
        (b'a: "x\\0y"\n', "line 1: a text cannot contain NUL"),
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
