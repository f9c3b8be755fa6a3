"""What people read says who does what to whom, in the words of the field.

The list below is that of turns of phrase that earlier texts were full of and that no native speaker would write. It is
searched for in all texts: of the panel, the commands, the doctor, alerts and mails, the API's details and description,
what providers answer, the form, the hosted page and the clients' code, and in the guides. A text that must stay as it
is, since the API's recorded answers have it, is left out.
"""

import ast
import contextlib
import json
import re
import tomllib
from pathlib import Path

from verification.api.reference.views import description

ROOT = Path(__file__).parent.parent

# A turn of phrase, as a regular expression, and what to write instead.
DIALECT = {
    r"\btold\b|\btells (what|who|how|no|nothing|the|it|a)\b": "say who notifies, shows or reports what to whom",
    r"\b(is|are|was|were|be|been|being) (not |never )?asked\b|\basked (for|first)\b": "request, use, try",
    r"\b(is|are|was|were|be|been|not) taken (as|for|from|away|back|out|up|here|in)\b": "treat as, accept, remove",
    r"\b(do|does|did|has|have) not take(n)?\b|\btakes? no\b": "reject, or do not accept",
    r"\bstands?\b(?! for)": "is, appears, shows",
    r"\bholds?\b": "contain, apply, keep",
    r"\bat the most\b|\b(is|are) the most\b": "at most, or: the maximum is",
    r"\bin place of\b|\bin the place of\b": "instead of",
    r"\b(key|link|session|token|invitation|trial|code|bind|time)( of \w+)? is over\b": "has expired, has ended",
    r"\bset(s)?( \w+){0,2} aside\b": "paused after repeated failures",
    r"\banew\b": "again",
    r"\bbeside(s)?\b": "next to, with",
    r"\bbrings? (no|about|along|them|it)\b|\bbrought\b": "name the thing that happens",
    r"\bnothing (more )?(goes|gets) out\b": "is down; sends nothing more",
    r"\bgiven up\b": "no more retries; failed",
    r"\bwho(m)?ever\b": "anyone who, everyone who",
    r"\bmend\b": "fix",
    r"\bof (ours|yours)\b": "our, your",
    r"\b(is|are) honest\b": "legitimate",
    r"\bsurely\b": "leave it out",
    r"(?<!there )(?<!where )\b(is|was) no (?!longer|more|such|other)\b": "is not a",
    r"\bfall-back\b": "fallback",
    r"\b(is|are|was) away\b": "does not answer",
    r"\bgo(es)? by (them|it|this|these)\b": "follow, apply",
    r"\bwants? (no|to no)\b": "has opted out",
    r"\bfault of (its|their) own\b|\bfault on their side\b|\berror of ours\b": "server error of X",
    r"\b(was|were|been) heard of\b": "has reported, has been seen",
    r"\bworth nothing\b": "is no longer valid",
    r"\bcurrency of account\b": "account currency",
    r"\bkept no longer\b": "deleted",
    r"\bgo(es)? on (being|signing|serving)\b": "still does",
    r"\b(is|are|was|were|been) (made|gone)[.:]": "Created X; deleted",
    r"\b(is|are) (taken away|added already)\b": "removed; already exists",
    r"\bthose that\b": "the ones that",
}
WORDS = {re.compile(pattern, re.IGNORECASE): instead for pattern, instead in DIALECT.items()}

# The pages that are searched: all but the changelog.
GUIDES = (
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "ROADMAP.md",
    "SECURITY.md",
    "docs/**/*.md",
    "packages/*/README.md",
)
UNREAD = re.compile(r"^```.*?^```|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)  # code, and where links lead

SOURCES = ("config", "providers", "verification")
TRANSLATED = re.compile(r"{% translate \"([^\"]*)\"|{% blocktranslate.*?%}(.*?){% endblocktranslate %}", re.DOTALL)


def literals(path):
    """Return the sentences of a Python file, each with its line: all its texts of two words but the docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(node.value)  # docstrings
        if isinstance(node, ast.JoinedStr):
            left_out.update(each for each in node.values if isinstance(each, ast.Constant))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (each.value if isinstance(each, ast.Constant) else "{}" for each in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            yield node.lineno, node.value


def python_texts():
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            if path.name == "library_words.py":  # of Django and of the theme
                continue
            yield from ((f"{path.relative_to(ROOT)}:{line}", text) for line, text in literals(path))


def template_texts():
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for texts in TRANSLATED.findall(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(ROOT)), "".join(texts)


def other_texts():
    form = json.loads((ROOT / "packages/watchword-verify/src/languages/en.json").read_text(encoding="utf-8"))
    yield from ((f"form: {name}", text) for name, text in form.items())
    hosted = tomllib.loads((ROOT / "verification/contrib/hosted/words.toml").read_text(encoding="utf-8"))["en"]
    yield from ((f"hosted page: {name}", text) for name, text in hosted.items())
    messages = tomllib.loads((ROOT / "templates/messages/en.toml").read_text(encoding="utf-8"))
    yield from ((f"message: {name}", text) for name, text in messages.items())
    for path in sorted((ROOT / "verification/contrib/hosted/templates/hosted").glob("*.html")):
        yield path.name, re.sub(r"\{[%#{].*?[%#}]\}|<[^>]*>", " ", path.read_text(encoding="utf-8"))
    for line in (ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8").splitlines():
        if "summary:" in line:
            yield "rules.yml", line


def api_texts():
    """Return the texts of the API's description, each with its place: all but what the examples have."""

    def look(node, place):
        if isinstance(node, dict):
            for name, value in node.items():
                if name in ("description", "summary") and isinstance(value, str):
                    yield f"API: {place}", UNREAD.sub("…", value)
                elif name not in ("example", "examples"):
                    yield from look(value, f"{place}/{name}")
        elif isinstance(node, list):
            for number, value in enumerate(node):
                yield from look(value, f"{place}/{number}")

    yield from look(description(), "")


def guide_texts():
    for pattern in GUIDES:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            text = UNREAD.sub("…", path.read_text(encoding="utf-8"))
            yield from ((name, " ".join(part.split())) for part in text.split("\n\n"))


def client_texts():
    """Return what an editor shows of the clients: the docstrings of the Python one, the comments of the other."""
    for path in sorted((ROOT / "packages/watchword-python/src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.value.split())
    for path in sorted((ROOT / "packages/watchword-js/src").glob("*.ts")):
        for comment in re.findall(r"/\*\*.*?\*/", path.read_text(encoding="utf-8"), re.DOTALL):
            yield str(path.relative_to(ROOT)), " ".join(UNREAD.sub("…", comment).split())


def recorded():
    """Return what the recorded answers of the API say, of which no word may change."""
    found = set()

    def look(value):
        if isinstance(value, dict):
            found.update(value[name] for name in ("title", "detail", "error") if isinstance(value.get(name), str))
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                look(each)
        elif isinstance(value, str) and value.startswith("{"):
            with contextlib.suppress(ValueError):  # some requests are broken on purpose
                look(json.loads(value))

    look(json.loads((ROOT / "tests/api/corpus/corpus.json").read_text(encoding="utf-8")))
    return found


# Words of the API's contract, and texts of which the recorded answers make a sentence by a capital and a point.
KEPT = {"The database is away; nothing was accepted."}


def is_kept(text, fixed):
    return text in KEPT or text in fixed or f"{text[:1].upper()}{text[1:]}." in fixed


def hits_of(text):
    text = re.sub(r"\{\w+\}|%\(\w+\)s", "…", text)  # names of placeholders are nobody's reading
    return [f"“{match.group()}”: {instead}" for word, instead in WORDS.items() if (match := word.search(text))]


def is_prose(text):
    return " " in text.strip() and not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|SET|ALTER|CREATE|CASE)\b", text)


def test_no_text_has_a_turn_of_the_dialect():
    fixed = recorded()
    found = [
        f"{place}: {text.strip()[:160]!r}: {hit}"
        for place, text in (
            *python_texts(),
            *template_texts(),
            *other_texts(),
            *api_texts(),
            *guide_texts(),
            *client_texts(),
        )
        if is_prose(text) and not is_kept(text, fixed)
        for hit in hits_of(text)
    ]
    assert not found, "\n" + "\n".join(found)
