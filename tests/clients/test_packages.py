"""Our packages and examples run the flow against a live service, as a customer installs and runs them."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import watchword

from tests.clients.programs import CODE, MODULES, SEEN, TO, TOOLS, flow, need, run
from tests.fakes.http_server import FakeHttpServer, answer
from tests.live import ROOT

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

HERE = Path(__file__).parent
PYTHON = ROOT / "packages" / "watchword-python"
RUNTIMES = {
    "node": ["node"],
    "deno": [MODULES / ".bin" / "deno", "run", "--quiet", "--no-prompt", "--allow-net", "--allow-env"],
    "bun": [MODULES / ".bin" / "bun", "run"],
}
TYPESCRIPT = {
    "strict": True,
    "target": "es2022",
    "module": "nodenext",
    "lib": ["es2022", "dom"],
    "types": [],
    "skipLibCheck": False,
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that pip makes, unpacked; hatchling comes from ``.ci/run``, so that no registry is asked."""
    need(TOOLS / "bin" / "hatchling")
    made = tmp_path_factory.mktemp("wheel")
    source = made / "watchword-python"
    shutil.copytree(PYTHON, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [TOOLS / "bin" / "python", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    run(*command, "-w", made, source, cwd=made)
    (packed,) = made.glob("watchword_client-*.whl")
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(made / "installed")
    return made / "installed"


@pytest.fixture(scope="module")
def compiled(javascript):
    """The flow in TypeScript, compiled with the types that the package ships."""
    shutil.copy(HERE / "flow_watchword.ts", javascript / "flow.ts")
    (javascript / "tsconfig.json").write_text(json.dumps({"compilerOptions": TYPESCRIPT, "files": ["flow.ts"]}))
    run(MODULES / ".bin" / "tsc", "--project", javascript, cwd=javascript)
    return javascript


def test_the_wheel_holds_the_types_and_asks_for_httpx_alone(wheel):
    assert (wheel / "watchword" / "py.typed").exists()
    (metadata,) = wheel.glob("*.dist-info/METADATA")
    asked = [line for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist")]
    assert asked == ["Requires-Dist: httpx<1,>=0.27", "Requires-Dist: cryptography>=42; extra == 'decrypt'"]


def test_pip_installs_the_wheel_from_the_service_by_the_guides_own_line(environment, tmp_path):
    """Without what it needs, which this environment has. pip compares the hash."""
    (named,) = re.findall(r"^pip install '(.+)'$", (ROOT / "docs" / "python.md").read_text(), re.MULTILINE)
    named = named.replace("https://codes.example.com", environment["BASE_URL"])
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-cache-dir",
        "--target",
        tmp_path / "installed",
    ]
    run(*pip, named, cwd=tmp_path)
    program = [sys.executable, HERE / "flow_watchword.py", "sync"]
    assert flow(run(*program, cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"), **environment)) == SEEN
    wrong = subprocess.run([*pip, f"{named[:-1]}{'1' if named[-1] == '0' else '0'}"], capture_output=True, text=True)
    assert wrong.returncode and "DO NOT MATCH THE HASHES" in wrong.stderr


def test_npm_installs_the_package_from_the_service_by_the_guides_own_line(environment, tmp_path):
    need("npm", "node")
    (named,) = re.findall(r"^npm (?:install) (\S+)$", (ROOT / "docs" / "typescript.md").read_text(), re.MULTILINE)
    named = named.replace("https://codes.example.com", environment["BASE_URL"])
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run(
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        named,
        cwd=tmp_path,
        npm_config_cache=str(tmp_path / "c"),
    )
    program = 'import { Watchword } from "watchword-client"; console.log(typeof Watchword);'
    (tmp_path / "program.js").write_text(program)
    assert run("node", "program.js", cwd=tmp_path).strip() == "function"
    lock = json.loads((tmp_path / "package-lock.json").read_text())["packages"]["node_modules/watchword-client"]
    assert lock["resolved"] == named and lock["integrity"].startswith("sha512-")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_python(wheel, environment, kind, tmp_path):
    program = [sys.executable, HERE / "flow_watchword.py", kind]
    assert flow(run(*program, cwd=tmp_path, PYTHONPATH=str(wheel), **environment)) == SEEN


def test_the_command_forwards_events_signed_and_stops_at_the_last(wheel, environment, tmp_path):
    program = [sys.executable, "-c", "import sys; from watchword.command import main; sys.exit(main())"]
    keys = {"WATCHWORD_URL": environment["BASE_URL"], "WATCHWORD_SECRET_KEY": environment["SECRET_KEY"]}
    own = {**keys, "WATCHWORD_WEBHOOK_SECRET": environment["WEBHOOK_SECRET"], "PYTHONPATH": str(wheel)}
    run(sys.executable, HERE / "flow_watchword.py", "sync", cwd=tmp_path, PYTHONPATH=str(wheel), **environment)
    with FakeHttpServer() as server:
        server.script(answer(204, b""))
        forward = ["--forward", f"{server.url}/hook"]
        told = run(*program, "listen", "--oldest", "--once", "--json", *forward, cwd=tmp_path, **own).splitlines()
    lines = [json.loads(line) for line in told]
    assert lines[0]["answer"] == "HTTP 204"
    assert [line["type"] for line in lines if line["id"].startswith("evt_")][:2] == [
        "session.opened",
        "session.verified",
    ]
    events = [request for request in server.requests if request.headers["webhook-id"].startswith("evt_")]
    verified = watchword.verify_event(events[1].headers, events[1].body, environment["WEBHOOK_SECRET"])
    assert (verified.type, verified.data.is_test) == ("session.verified", True)
    (entry,) = wheel.glob("*.dist-info/entry_points.txt")
    assert "watchword-client = watchword.command:main" in entry.read_text()


def test_the_command_filters_replays_and_makes_up(wheel, environment, tmp_path):
    program = [sys.executable, "-c", "import sys; from watchword.command import main; sys.exit(main())"]
    keys = {"WATCHWORD_URL": environment["BASE_URL"], "WATCHWORD_SECRET_KEY": environment["SECRET_KEY"]}
    own = {**keys, "WATCHWORD_WEBHOOK_SECRET": environment["WEBHOOK_SECRET"], "PYTHONPATH": str(wheel)}
    run(sys.executable, HERE / "flow_watchword.py", "sync", cwd=tmp_path, PYTHONPATH=str(wheel), **environment)
    shown = ["listen", "--oldest", "--once", "--json", "--type", "session.verified"]
    listed = [json.loads(line) for line in run(*program, *shown, cwd=tmp_path, **own).splitlines()]
    assert {line["type"] for line in listed} == {"session.verified"}
    with FakeHttpServer() as server:
        server.script(answer(204, b""), answer(204, b""))
        forward = ["--forward", f"{server.url}/hook", "--json"]
        replayed = json.loads(run(*program, "listen", "--id", listed[0]["id"], *forward, cwd=tmp_path, **own))
        made_up = json.loads(run(*program, "trigger", "session.locked", *forward, cwd=tmp_path, **own))
        again, sample = server.requests
    assert replayed == {**listed[0], "answer": "HTTP 204"} and again.headers["webhook-id"] == listed[0]["id"]
    locked = watchword.verify_event(sample.headers, sample.body, environment["WEBHOOK_SECRET"])
    assert (locked.type, made_up["answer"]) == ("session.locked", "HTTP 204")
    refused = subprocess.run(
        [*program, "trigger", "session.locked", "--forward", server.url], env={**os.environ, **own}, capture_output=True
    )
    assert refused.returncode == 1 and b"no answer" in refused.stdout


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_typescript(compiled, environment, runtime):
    command = RUNTIMES[runtime]
    need(command[0])
    assert flow(run(*command, "flow.js", cwd=compiled, **environment)) == SEEN


EXAMPLES = {
    "php": ["php", "php/verify.php"],
    "go": ["go", "run", "go/main.go"],
    "java": ["java", "java/Verify.java"],
    "ruby": ["ruby", "ruby/verify.rb"],
}


@pytest.mark.parametrize("command", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_verifies_after_a_wrong_code(environment, command):
    need(command[0])
    keys = {f"WATCHWORD_{name}": environment[name] for name in ("API_KEY", "SECRET_KEY")}
    own = {**keys, "WATCHWORD_URL": environment["BASE_URL"], "ALLOW_TEST_LOGINS": "1"}
    said = run(*command, TO, cwd=ROOT / "examples", stdin=f"000000\n{CODE}\n", **own)
    assert said == f"Code: That is not the code. Tries left: 4.\nCode: Verified: {TO}\n"
