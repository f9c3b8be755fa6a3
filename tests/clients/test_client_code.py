"""The source of our clients: what is generated is current, the documented vectors hold, and the guides compile."""

import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import watchword

from tests.clients.programs import MODULES, need, run
from tests.fakes.http_server import FakeHttpServer, answer
from tests.live import ROOT
from verification.core.error_codes import CATALOGUE

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

PACKAGES = ROOT / "packages"
MANUAL = (ROOT / "docs" / "manual-sends.md").read_text()


def documented(pattern):
    return re.search(pattern, MANUAL, re.MULTILINE)[1]


SECRET = documented(r"signed\s+with\s+`(whsec_[^`]+)`")
HEADERS = dict(re.findall(r"^(webhook-[a-z]+): (.+)$", MANUAL, re.MULTILINE))
BODY = documented(r"^webhook-signature.*\n\n(\{.*\})$")
AT = int(HEADERS["webhook-timestamp"])
OTHER = "whsec_" + "A" * 43 + "="
ENVELOPE, KEY, CODE = (documented(rf"^\| {row} \| `([^`]+)` \|$") for row in ("envelope", "secret key", "code"))


def generator():
    spec = importlib.util.spec_from_file_location("generate_clients", PACKAGES / "generate_clients.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_npm_ci_finds_its_lock_file_in_a_checkout(tmp_path):
    need("npm")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGES / "watchword-js" / name, tmp_path)
    run("npm", "ci", "--dry-run", "--offline", "--no-audit", cwd=tmp_path, npm_config_cache=str(tmp_path / "cache"))
    package, lock = (json.loads((tmp_path / f"package{end}.json").read_text()) for end in ("", "-lock"))
    assert lock["version"] == lock["packages"][""]["version"] == package["version"]


def test_what_is_generated_is_current():
    stale = [path.name for path, text in generator().made().items() if path.read_text() != text]
    assert stale == [], "Run packages/generate_clients.py."


def test_each_code_of_the_catalogue_has_one_class_in_both_clients():
    assert set(watchword.problems.PROBLEMS) == set(CATALOGUE)
    assert len(set(watchword.problems.PROBLEMS.values())) == len(CATALOGUE)
    typescript = (PACKAGES / "watchword-js" / "src" / "problems.ts").read_text()
    assert set(re.findall(r"^  (\w+): \w+,$", typescript, re.MULTILINE)) == set(CATALOGUE)


def in_python(headers, body, secret, now):
    try:
        return watchword.verify_callback(headers, body.encode(), secret, now=now).id
    except watchword.CallbackRefused:
        return "CallbackRefused"


@pytest.fixture(params=["python", "javascript"])
def verify(request):
    if request.param == "python":
        return in_python
    need("node")
    home = request.getfixturevalue("javascript")

    def in_javascript(headers, body, secret, now):
        program = (
            'import { verifyCallback } from "watchword-client";'
            f"const [headers, body, secret, now] = {json.dumps([headers, body, secret, now])};"
            "const told = await verifyCallback(headers, body, secret, { now }).catch((error) => ({ id: error.name }));"
            "console.log(JSON.stringify(told.id));"
        )
        return json.loads(run("node", "--input-type=module", "-e", program, cwd=home))

    return in_javascript


@pytest.mark.parametrize("secret", [SECRET, [OTHER, SECRET]], ids=["one", "in a rotation"])
def test_the_documented_callback_is_genuine(verify, secret):
    assert verify({name.title(): value for name, value in HEADERS.items()}, BODY, secret, AT + 60) == 5125890120348313


@pytest.mark.parametrize(
    ("changes", "body", "secret", "now"),
    [
        ({}, BODY.replace("success", "expired"), SECRET, AT),
        ({}, BODY, OTHER, AT),
        ({}, BODY, SECRET, AT + 301),
        ({}, BODY, SECRET, AT - 301),
        ({"webhook-id": "msg_2"}, BODY, SECRET, AT),
        ({"webhook-timestamp": "soon"}, BODY, SECRET, AT),
        ({"webhook-signature": ""}, BODY, SECRET, AT),
        ({"webhook-signature": "v1,é"}, BODY, SECRET, AT),
    ],
    ids=["changed", "other secret", "old", "of the future", "other id", "no time", "no signature", "no ASCII"],
)
def test_any_other_callback_is_refused(verify, changes, body, secret, now):
    assert verify({**HEADERS, **changes}, body, secret, now) == "CallbackRefused"


@pytest.mark.parametrize(
    "envelope", ["aes256", "aes256:AAAA:AAAA", "plain:" + ENVELOPE.partition(":")[2], ENVELOPE + ":", "aes256:?:?:?"]
)
def test_the_documented_envelope_opens_and_others_are_refused(envelope, javascript):
    need("node")
    assert watchword.open_envelope(ENVELOPE, KEY) == CODE
    for each, key in [(envelope, KEY), (ENVELOPE, "ww_secret_another"), (ENVELOPE.replace("5mkV", "6mkV"), KEY)]:
        with pytest.raises(watchword.EnvelopeRefused):
            watchword.open_envelope(each, key)
    program = f"""
        import {{ openEnvelope }} from "watchword-client";
        const tried = {json.dumps([[ENVELOPE, KEY], [envelope, KEY], [ENVELOPE, "ww_secret_another"]])};
        const opened = tried.map((each) => openEnvelope(...each).catch((error) => error.name));
        console.log(JSON.stringify(await Promise.all(opened)));
    """
    seen = json.loads(run("node", "--input-type=module", "-e", program, cwd=javascript))
    assert seen == [CODE, "EnvelopeRefused", "EnvelopeRefused"]


def test_no_repr_shows_a_key_or_a_token():
    client = watchword.Watchword("https://codes.example.com", api_key="ww_api_hidden", secret_key="ww_secret_hidden")
    checked = watchword.CheckedCode.from_json({"verify_token": "hidden", "is_test": False})
    verified = watchword.Verified("+46701740605", None, False)
    shown = repr([client, vars(client), checked, verified])
    assert "hidden" not in shown and "+4670" not in shown
    assert "recipient='+…05'" in shown


@pytest.mark.parametrize("call", ["verify", "check_code"])
def test_a_call_without_its_key_says_which_one_is_missing(call):
    client = watchword.AsyncWatchword("https://codes.example.com")
    with pytest.raises(ValueError, match="secret_key" if call == "verify" else "api_key"):
        asyncio.run(getattr(client, call)(*["x"] * (1 if call == "verify" else 2)))


def test_a_page_cannot_be_given_the_secret_key(javascript):
    need("node")
    program = """
        import { Watchword } from "watchword-client";
        globalThis.document = {};
        new Watchword({ baseUrl: "https://codes.example.com", apiKey: "ww_api_1" });
        new Watchword({ baseUrl: "https://codes.example.com", secretKey: "ww_secret_1" });
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program], cwd=javascript, capture_output=True, text=True
    )
    assert "belongs on your server" in done.stderr and done.returncode != 0


def blocks(guide, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "docs" / guide).read_text(), re.DOTALL | re.M)


def test_the_python_package_and_its_readme_are_typed(tmp_path):
    for number, block in enumerate(blocks("python.md", "python")):
        (tmp_path / f"readme_{number}.py").write_text(block)
    source = PACKAGES / "watchword-python" / "src"
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", "--python-version=3.11"]
    files = [source / "watchword", *tmp_path.glob("*.py")]
    run(sys.executable, "-m", "mypy", *options, *files, cwd=tmp_path, MYPYPATH=str(source))


def test_the_readme_in_typescript_compiles(javascript, tmp_path):
    shutil.copytree(javascript / "node_modules", tmp_path / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for number, block in enumerate(blocks("typescript.md", "ts")):
        (tmp_path / f"readme_{number}.ts").write_text(block)
    compiler = {"strict": True, "noEmit": True, "module": "nodenext", "lib": ["es2022", "dom"], "types": []}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": compiler, "include": ["*.ts"]}))
    run(MODULES / ".bin" / "tsc", "--project", tmp_path, cwd=tmp_path)


def test_a_refusal_without_a_session_is_read_as_an_event():
    data = dict.fromkeys(("session_id", "channel", "language", "created_at", "expires_at"))
    data |= {"recipient": "+467******05", "reason": "country", "is_test": False}
    body = {"type": "session.refused", "timestamp": "2026-05-04T09:31:12.418Z", "data": data}
    event = watchword.SessionEvent.from_json(body)
    assert (event.data.reason, event.data.session_id, event.data.created_at) == ("country", None, None)


LISTEN = [
    sys.executable,
    "-c",
    "import sys; from watchword.command import main; sys.exit(main())",
    "listen",
    "--oldest",
]
EVENT = {"id": "evt_1", "type": "session.opened", "timestamp": "2026-11-24T10:00:00.000Z", "body": {}}


@pytest.fixture
def listening():
    """A service that has another event for whoever asks, and the environment of the command that asks it."""
    page = json.dumps({"events": [EVENT] * 100, "after": "1-1", "has_more": True}).encode()
    with FakeHttpServer(default=answer(200, page, {"content-type": "application/json"})) as server:
        source = str(PACKAGES / "watchword-python" / "src")
        yield {**os.environ, "PYTHONPATH": source, "WATCHWORD_URL": server.url, "WATCHWORD_SECRET_KEY": "ww_secret_x"}


def test_listen_ends_without_a_word_when_its_reader_has_gone(listening):
    process = subprocess.Popen(LISTEN, env=listening, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    process.stdout.close()  # as `| head -1` does
    said = process.stderr.read()
    assert process.wait(timeout=60) == 0
    assert "Traceback" not in said and "BrokenPipe" not in said
    assert first == "2026-11-24T10:00:00.000Z  session.opened  evt_1\n"  # as the service's own command writes a time
