"""Every block of code in the pages is run by a test that names its page, or is checked here by its language.

Commands have the words that their parsers take, calls of the API meet an endpoint with the members that it knows, and
programs can be read by their own language.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import jsonschema
import pytest
import watchword
import yaml
from django.core.management import get_commands, load_command_class
from django.urls import resolve

from config.environment import is_sound
from tests.snippets import PAGES, ROOT, blocks, commands, lines, prose, words
from verification.api.reference.views import description
from verification.api.serializers.fields import ULID
from verification.management.commands.setproject import OF_PAGE
from verification.models import ChannelType
from verification.models.project_settings import SETTABLE
from verification.services.projects import hosted_page
from verification.services.projects.settings import CHANNEL_SETTABLE
from verification.services.providers import price_lists

# What a page shows and a test runs whole. The test's own text names the page.
RUN = {
    ("docs/demo.md", "ini"): "tests/contrib/public_demo/test_public_demo.py",
    ("docs/engineering/scale.md", "ini"): "tests/servers/pgbouncer.py",
    ("docs/engineering/scale.md", "sql"): "tests/faults/database/test_pgbouncer.py",
    ("docs/first-code.md", "go"): "tests/docs/test_first_code.py",
    ("docs/first-code.md", "java"): "tests/docs/test_first_code.py",
    ("docs/first-code.md", "php"): "tests/docs/test_first_code.py",
    ("docs/hosted-page.md", "php"): "tests/browser/test_hosted.py",
    ("docs/manual-sends.md", "go"): "tests/docs/test_recipes.py",
    ("docs/manual-sends.md", "java"): "tests/docs/test_recipes.py",
    ("docs/manual-sends.md", "php"): "tests/docs/test_recipes.py",
    ("docs/providers/kannel.md", "conf"): "tests/faults/providers/test_kannel_service.py",
    ("docs/typescript.md", "ts"): "tests/clients/test_client_code.py",
}
PICTURES = {"text", "mermaid"}  # drawings, samples of output and of tables: nothing in them is typed
# otpgateway's own endpoint, in the guide for those who come from it, and a vendor's, at which webhooks are entered.
OTHERS = ("localhost:9000", "https://api.sms-gate.app")
# Answered before any URL is looked up, and the functions of docs/testing.md, which a test runs.
APART = re.compile(r"/livez|/readyz|\$\d")


def named(*languages):
    found = [each for page in PAGES for language in languages for each in blocks(page, language)]
    return pytest.mark.parametrize("shown", found, ids=str)


SHELL = named("sh", "bash")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_language_that_a_test_knows(page):
    checked = {"sh", "bash", "python", "javascript", "js", "html", "css", "csv", "json", "yaml", "http"}
    for each in blocks(page):
        assert each.language, f"{each}: name its language; `text` is for what nobody types"
        if each.language not in checked | PICTURES:
            runner = RUN[page, each.language]
            assert page.rpartition("/")[2].removesuffix(".md") in (ROOT / runner).read_text()


SETTINGS = {
    *SETTABLE,
    *(f"{OF_PAGE}{name}" for name in hosted_page.SETTABLE),
    *(f"{channel}.{name}" for channel in ChannelType.values for name in CHANNEL_SETTABLE),
}

# --- commands ------------------------------------------------------------------------------------------------------


def parser_of(name):
    found = load_command_class(get_commands()[name], name)
    return found.create_parser("manage.py", name)


def options_of(name):
    return {option for action in parser_of(name)._actions for option in action.option_strings}


def judge(program, name, *arguments):
    """Raise where a command's parser refuses these words, or a setting has another name."""
    if program == "watchword-client":
        assert name in ("listen", "trigger")
        assert set(filter(lambda word: word.startswith("--"), arguments)) <= client_options()
        return
    parser_of(name).parse_args(arguments)
    if name == "setproject":
        assert {word.partition("=")[0] for word in arguments if "=" in word} <= SETTINGS


def client_options():
    source = (ROOT / "packages/watchword-python/src/watchword/command.py").read_text()
    return set(re.findall(r'add_argument\("(--\w+)"', source))


@SHELL
def test_a_shell_can_read_it_and_every_command_of_ours_takes_its_words(shown):
    read = subprocess.run(["bash", "-n"], input=shown.text, capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")
    for program, name, *arguments in commands(shown.text):
        judge(program, name, *arguments)


@pytest.mark.parametrize("page", PAGES)
def test_a_command_in_a_sentence_exists_and_has_the_options_that_are_named(page):
    for span in prose(page):
        for program, name, *arguments in commands(span):
            if program == "watchword-client":
                continue
            assert name in get_commands(), span
            assert {word for word in arguments if word.startswith("--")} <= options_of(name), span
            if name == "setproject":
                assert {word.partition("=")[0] for word in arguments if "=" in word} <= SETTINGS, span


# --- calls of the API ----------------------------------------------------------------------------------------------


def calls(text):
    """Return each ``curl`` as method, path and what it sends."""
    for line in lines(text):
        for match in re.finditer(r"(?<![\w-])curl (?!--retry)", line):
            given = words(line[match.end() :])
            data = [given[at + 1] for at, word in enumerate(given) if word in ("-d", "--data-urlencode")]
            [address] = [word for word in given if re.match(r"https?://|\$\w+/|localhost:", word)] or [""]
            method = given[given.index("-X") + 1] if "-X" in given else "POST" if data else "GET"
            if address and not address.startswith(OTHERS):
                yield method, re.sub(r"^(https?://[^/]+|\$\w+)", "", address).partition("?")[0], data


def operation(method, path):
    for template, operations in description()["paths"].items():
        form = template.replace("{session_id}", ULID.strip("^$"))  # no other word in its place is an id
        if re.fullmatch(re.sub(r"\{[a-z]\w*\}", "[^/]+", form), path):
            return operations[method.lower()]
    return None


@SHELL
def test_every_call_meets_an_endpoint_that_knows_its_members(shown):
    for method, path, data in calls(shown.text):
        if APART.search(path):
            continue
        resolve(re.sub(r"\$\w*SID", "VA" + "0" * 32, path))
        found = operation(method, path)
        if found and data:
            schema = found["requestBody"]["content"]["application/json"]["schema"]
            reference = schema["$ref"].rpartition("/")[2]
            members = description()["components"]["schemas"][reference]
            body = json.loads(data[0])
            assert set(members.get("required", ())) <= set(body) <= set(members["properties"])


# --- programs ------------------------------------------------------------------------------------------------------


@named("python")
def test_python_can_read_it_and_our_package_has_what_it_imports(shown):
    tree = ast.parse(shown.text, str(shown))
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "watchword"]
    assert [name.name for node in taken for name in node.names if not hasattr(watchword, name.name)] == []


def can_be_read_by_node(source, folder):
    if shutil.which("node") is None:
        pytest.skip("There is no node on this machine to read the code with.")
    (folder / "shown.mjs").write_text(source)
    done = subprocess.run(["node", "--check", "shown.mjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@named("javascript", "js")
def test_node_can_read_it(shown, tmp_path):
    can_be_read_by_node(shown.text, tmp_path)


class Reader(HTMLParser):
    """Collects scripts, and the attributes of our tag."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.attributes, self._is_script = [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._is_script = tag == "script"
        if tag == "watchword-verify":
            self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        if self._is_script and data.strip():
            self.scripts.append(data)


COMPONENT = "docs/component.md"
SOURCE = "".join(path.read_text() for path in sorted((ROOT / "packages/watchword-verify/src").glob("*.*")))


def table(heading):
    """Return the names in the first column of a table of the component's page."""
    section = (ROOT / COMPONENT).read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(.*?)`", row)}


@named("html")
def test_the_scripts_of_a_page_can_be_read_and_our_tag_has_the_attributes_of_the_table(shown, tmp_path):
    page = Reader(shown.text)
    assert page.attributes <= table("Attributes")
    for script in page.scripts:
        can_be_read_by_node(script, tmp_path)


@named("css")
def test_a_style_names_properties_and_parts_that_the_form_has(shown):
    assert set(re.findall(r"--ww-[\w-]+", shown.text)) <= table("Looks")
    assert set(re.findall(r"::part\(([\w-]+)\)", shown.text)) <= parts()


def parts():
    return {part for given in re.findall(r'part: "([\w -]+)"', SOURCE) for part in given.split()} | {"loading"}


def test_the_form_has_the_properties_and_parts_of_the_page():
    listed = (ROOT / COMPONENT).read_text().partition("Parts: ")[2].partition(".\n")[0]
    assert set(re.findall(r"`([\w-]+)`", listed)) <= parts()
    assert all(f"var({name}" in SOURCE for name in table("Looks") if name.startswith("--ww-"))


# --- data ----------------------------------------------------------------------------------------------------------


@named("json")
def test_json_can_be_read(shown):
    json.loads(shown.text)


@named("csv")
def test_a_list_of_prices_can_be_read(shown):
    rows = price_lists.read(shown.text)
    assert len(rows) == len(shown.text.splitlines()) - 1


@named("yaml")
def test_yaml_can_be_read(shown):
    assert isinstance(yaml.safe_load(shown.text), dict)


@named("http")
def test_a_call_of_ours_is_one_that_the_description_tells(shown):
    head, _, text = shown.text.partition("\n\n")
    assert {"webhook-id", "webhook-timestamp", "webhook-signature"} <= {
        line.partition(":")[0] for line in head.splitlines()
    }
    body = json.loads(text)
    told = description()
    [callback] = told["paths"]["/manual/send"]["post"]["callbacks"].values()
    [path] = [told["webhooks"][body["type"]]] if "type" in body else callback.values()
    schema = path["post"]["requestBody"]["content"]["application/json"]["schema"]
    jsonschema.validate(body, {**schema, "components": told["components"]})


ADDRESS = re.compile(r"\b((?:postgres|rediss?(?:\+sentinel)?)://[^\s`…]+)")


@pytest.mark.parametrize("page", [page for page in PAGES if ADDRESS.search((ROOT / page).read_text())])
def test_addresses_of_servers_are_read(page):
    found = ADDRESS.findall((ROOT / page).read_text())
    assert [address for address in found if not is_sound(address, [address.partition(":")[0]])] == []
