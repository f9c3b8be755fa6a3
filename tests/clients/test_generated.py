"""Clients that generators make of the API's description compile and run the flow, errors typed by their code.

`.ci/run` installs the generators; without them, or without a language, its test is skipped.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.live import ROOT, LiveService
from verification.api.reference.views import description

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

HERE = Path(__file__).parent
TOOLS = ROOT / "var" / "clients"  # a virtual environment with the Python packages
MODULES = ROOT / "var" / "npm" / "node_modules"
ANNOTATIONS = Path("/usr/share/java/geronimo-annotation-1.3-spec.jar")  # javax.annotation, which Java 9 dropped
TYPESCRIPT = {
    "strict": True,
    "target": "es2022",
    "module": "es2022",
    "moduleResolution": "bundler",
    "lib": ["es2022", "dom"],
    "types": [],
}
TO, CODE = "+46701740605", "493817"
SEEN = {
    "wrong": "invalid_code",
    "attempts_left": 4,
    "is_test": True,
    "phone": TO,
    "is_same": True,
    "status": "success",
}
SETUP = f"""
import json
from verification.services.gateways import accounts as providers
from verification.services.projects import projects, test_logins
new = projects.create_project(name="Generated")
providers.add_provider(project=new.project, channel="sms", provider_type="inbox", name="sms", values={{}})
test_logins.add_test_login(project=new.project, to="{TO}", code="{CODE}")
print(json.dumps({{"API_KEY": new.api_key, "SECRET_KEY": new.secret_key}}))
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    live = LiveService(tmp_path_factory.mktemp("service"), web_processes=1)
    try:
        yield live.start(workers=0)
    finally:
        live.stop()


@pytest.fixture(scope="module")
def environment(service):
    keys = json.loads(service.manage("shell", "-v", "0", "-c", SETUP))
    return {"BASE_URL": service.environment["BASE_URL"], "TO": TO, "CODE": CODE, **keys}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("document") / "openapi.yaml"
    path.write_text(yaml.safe_dump(description(), sort_keys=False))
    return path


def need(*paths):
    for path in paths:
        if not Path(path).exists() and shutil.which(str(path)) is None:
            pytest.skip(f"There is no {Path(path).name} on this machine to generate or run this client with.")


def run(*command, cwd, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def generate(document, language, folder, properties):
    """Run openapi-generator, which comes as a Python package."""
    need(TOOLS / "bin" / "openapi-generator-cli", "java")
    run(
        TOOLS / "bin" / "openapi-generator-cli",
        "generate",
        *("-i", document, "-g", language, "-o", folder, "--additional-properties", properties),
        cwd=folder.parent,
    )


def flow(output):
    """Read what a program saw: its last line."""
    return json.loads(output.splitlines()[-1])


def test_python(document, environment, tmp_path):
    need(TOOLS / "bin" / "openapi-python-client")
    made = tmp_path / "client"
    path = f"{TOOLS / 'bin'}:{os.environ['PATH']}"  # it formats what it makes by the ruff beside it
    said = run(
        TOOLS / "bin" / "openapi-python-client",
        *("generate", "--path", document, "--output-path", made),
        cwd=tmp_path,
        PATH=path,
    )
    assert "arning" not in said, said
    assert (
        flow(run(TOOLS / "bin" / "python", HERE / "flow_python.py", cwd=made, PYTHONPATH=str(made), **environment))
        == SEEN
    )


def test_typescript(document, environment, tmp_path):
    need(MODULES / "openapi-typescript", MODULES / "openapi-fetch", MODULES / "typescript", "node")
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": TYPESCRIPT, "files": ["flow.ts"]}))
    shutil.copy(HERE / "flow_typescript.ts", tmp_path / "flow.ts")
    run(MODULES / ".bin" / "openapi-typescript", document, "-o", tmp_path / "schema.d.ts", cwd=tmp_path)
    run(MODULES / ".bin" / "tsc", "--project", tmp_path, cwd=tmp_path)
    assert flow(run("node", "flow.js", cwd=tmp_path, **environment)) == SEEN


def test_go(document, environment, tmp_path):
    need("go")
    made = tmp_path / "client"
    generate(document, "go", made, "packageName=watchword,withGoMod=false")
    shutil.rmtree(made / "test")  # its own tests want a package from elsewhere
    program = made / "flow"
    program.mkdir()
    shutil.copy(HERE / "flow_go.go", program / "main.go")
    (made / "go.mod").write_text("module example.com/watchword\n\ngo 1.18\n")
    assert flow(run("go", "run", "./flow", cwd=made, **environment)) == SEEN


def test_java(document, environment, tmp_path):
    need("javac", ANNOTATIONS)
    made = tmp_path / "client"
    generate(document, "java", made, "library=native,openApiNullable=false")
    # The generator is written in Java and brings what its clients need.
    (jackson,) = TOOLS.rglob("openapi-generator.jar")
    path = f"{jackson}:{ANNOTATIONS}:{tmp_path / 'classes'}"
    sources = [*(made / "src" / "main").rglob("*.java"), HERE / "Flow.java"]
    run("javac", "-nowarn", "-d", tmp_path / "classes", "-cp", path, *sources, cwd=tmp_path)
    assert flow(run("java", "-cp", path, "Flow", cwd=tmp_path, **environment)) == SEEN


def test_kotlin_gets_whole_ids_and_plain_recipients(document, tmp_path):
    """Its libraries cannot be had from the registries that CI reaches, so it is read and not compiled."""
    made = tmp_path / "client"
    generate(document, "kotlin", made, "library=jvm-okhttp4,serializationLibrary=jackson")
    source = "".join(path.read_text() for path in (made / "src" / "main").rglob("*.kt"))
    assert re.search(r"fun readMessage\(id: kotlin\.Long\b", source)
    assert len(re.findall(r"val to: kotlin\.String\b", source)) == 2
    assert re.search(r"val code: ErrorCode\b", source)
    assert len(re.findall(r"val verifyToken: java\.util\.UUID\b", source)) == 2
