"""Clients that generators make of the API's description compile and run the flow, errors typed by their code.

`.ci/run` installs the generators; without them, or without a language, its test is skipped.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.clients.programs import MODULES, SEEN, TOOLS, flow, need, run
from verification.api.reference.views import description

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

HERE = Path(__file__).parent
ANNOTATIONS = Path("/usr/share/java/geronimo-annotation-1.3-spec.jar")  # javax.annotation, which Java 9 dropped
TYPESCRIPT = {
    "strict": True,
    "target": "es2022",
    "module": "es2022",
    "moduleResolution": "bundler",
    "lib": ["es2022", "dom"],
    "types": [],
}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("document") / "openapi.yaml"
    path.write_text(yaml.safe_dump(description(), sort_keys=False))
    return path


def generate(document, language, folder, properties):
    """Run openapi-generator, which comes as a Python package."""
    need(TOOLS / "bin" / "openapi-generator-cli", "java")
    run(
        TOOLS / "bin" / "openapi-generator-cli",
        "generate",
        *("-i", document, "-g", language, "-o", folder, "--additional-properties", properties),
        cwd=folder.parent,
    )


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
    assert len(re.findall(r"val to: kotlin\.String\b", source)) == 3
    assert re.search(r"val code: ErrorCode\b", source)
    assert len(re.findall(r"val verifyToken: java\.util\.UUID\b", source)) == 2
