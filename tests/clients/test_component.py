"""The form's files: small, as the source makes them, whole in every language, and served to any page."""

import base64
import gzip
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess

import pytest
from django.test import Client

from tests.conftest import ROOT
from verification.services.texts.rendering import languages

PACKAGE = ROOT / "packages" / "watchword-verify"
VERSION = json.loads((PACKAGE / "package.json").read_text())["version"]
SERVED = ROOT / "static" / "watchword-verify" / VERSION
MODULE = SERVED / "watchword-verify.js"
ESBUILD = ROOT / "var" / "npm" / "node_modules" / "esbuild"
MOST_BYTES = 20_000  # gzipped: what a login page can afford
PLACEHOLDER = re.compile(r"\{\w+\}")


def words(language):
    return json.loads((SERVED / "languages" / f"{language}.json").read_text())


def run_module(name, program):
    """Run a program of Node's on a module of the source, and return what it prints."""
    if not shutil.which("node"):
        pytest.skip("There is no Node.js on this machine.")
    imported = f"import * as it from {json.dumps((PACKAGE / 'src' / name).as_uri())};"
    command = ["node", "--no-warnings", "--input-type=module", "-e", imported + program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_module_is_small():
    assert len(gzip.compress(MODULE.read_bytes(), 9)) < MOST_BYTES


def test_what_is_served_is_what_the_source_makes(tmp_path):
    if not ESBUILD.exists():
        pytest.skip("esbuild is not installed: npm install --prefix var/npm esbuild@0.28.2")
    command = ["node", str(PACKAGE / "build.js"), str(tmp_path)]
    subprocess.run(command, env={**os.environ, "ESBUILD": str(ESBUILD)}, check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert made == {path.relative_to(SERVED): path.read_bytes() for path in SERVED.rglob("*.*")}


def test_the_hash_that_the_guide_and_the_folder_name_is_the_modules():
    integrity = "sha384-" + base64.b64encode(hashlib.sha384(MODULE.read_bytes()).digest()).decode()
    assert (SERVED / "integrity.txt").read_text().strip() == integrity
    assert f'integrity="{integrity}"' in (ROOT / "docs" / "component.md").read_text()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["watchword-verify.js", "languages/ar.json"])
def test_any_page_may_load_the_files_and_keep_them_for_ever(name):
    answer = Client().get(f"/static/watchword-verify/{VERSION}/{name}", headers={"origin": "https://shop.example"})
    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "immutable" in answer["Cache-Control"]


def test_the_form_speaks_the_languages_of_the_messages():
    assert sorted(path.stem for path in (SERVED / "languages").iterdir()) == sorted(languages())


@pytest.mark.parametrize("language", languages())
def test_every_language_says_everything_with_the_same_placeholders(language):
    english, own = words("en"), words(language)
    assert own.keys() == english.keys()
    assert all(own.values())
    found = {name: set(PLACEHOLDER.findall(text)) for name, text in own.items()}
    assert found == {name: set(PLACEHOLDER.findall(text)) for name, text in english.items()}


def test_the_countries_are_those_of_the_numbering_plans():
    generator = runpy.run_path(str(PACKAGE / "generate_countries.py"))
    assert (PACKAGE / "src" / "countries.js").read_text() == generator["table"]()


@pytest.mark.parametrize(
    ("region", "typed", "number"),
    [
        ("DE", "0151 12345678", "+4915112345678"),
        ("DE", "+46 70 174 06 05", "+46701740605"),
        ("DE", "0046 70-174 06 05", "+46701740605"),
        ("US", "1 (201) 555-0123", "+12015550123"),
        ("US", "201.555.0123", "+12015550123"),
        ("IT", "06 1234 5678", "+390612345678"),
        ("HU", "06 20 123 4567", "+36201234567"),
        ("RU", "8 912 345-67-89", "+79123456789"),
        ("AE", "٠٥٠ ١٢٣ ٤٥٦٧", "+971501234567"),
        ("IN", "०८१२३४ ५६७८९", "+918123456789"),
        ("MM", "၀၉၄၅၀၁၂၃၄၅၆", "+959450123456"),
        ("DE", "+49 (0)151 234-567/89 (mobil)", "+4915123456789"),
        # A plus before the first digit is the country's, whatever stands before it.
        ("CN", "\u202d+1 312 555 0123\u202c", "+13125550123"),
        ("US", "\u2068+49 1512 3456789", "+4915123456789"),
        ("CN", "Call me: (\uff0b1) 312 555 0123", "+13125550123"),
        ("DE", "\ufe621 312 555 0123", "+13125550123"),
        ("DE", "\u207a1 312 555 0123", "+13125550123"),
        # As it is called from abroad, by the prefix of the country.
        ("US", "011 49 1512 3456789", "+4915123456789"),
        ("AU", "0011 1 312 555 0123", "+13125550123"),
        ("JP", "010 1 312 555 0123", "+13125550123"),
        ("RU", "8~10 49 1512 3456789", "+4915123456789"),
        ("BR", "0015 49 1512 3456789", "+4915123456789"),
        ("KR", "0082 10 1234 5678", "+821012345678"),
        # What can be several numbers, or none, is nobody's.
        ("KR", "0081 90 1234 5678", ""),
        ("BR", "0055 11 98765 4321", ""),
        ("US", "0011 49 1512 3456789", ""),
        ("DE", "+0049 1512 3456789", ""),
        ("DE", "49+1512 3456789", ""),
        ("DE", "+49 1512 3456789, +49 1512 3456780", ""),
        ("DE", "+49 1512 345678 ext. 9", ""),
        ("DE", "0151\u00b2 23456789", ""),
        ("DE", "https://wa.me/13125550123", ""),
    ],
)
def test_a_number_is_read_as_people_of_the_country_write_it(region, typed, number):
    program = f"console.log(JSON.stringify(it.asE164({json.dumps(typed)}, it.countries.get({json.dumps(region)}))))"
    assert run_module("phone.js", program) == number


@pytest.mark.parametrize(
    ("text", "letters", "code"),
    [
        (" 493 817 ", False, "493817"),
        ("٤٩٣٨١٧", False, "493817"),
        ("493817 is your Shop code. Valid for 3 min.", False, "493817"),
        ("Your Shop24 code is: 493-817.", False, "493817"),
        ("k7qw2m", True, "K7QW2M"),
        ("K7QW2M is your Shop code. Don't share it.", True, "K7QW2M"),
        ("49", False, "49"),
        ("49x3", False, "493"),
        ("૪૯૩၈၁၇", False, "493817"),
        ("Order 77 493817", False, "493817"),
        ("Order 77 493 817", False, "493817"),
        ("Code 4\u200b9\u20133 817.", False, "493817"),
        ("Shop code AB3 K9Z now", True, "AB3K9Z"),
        ("Please enter AB3-K9Z", True, "AB3K9Z"),
    ],
)
def test_a_code_is_found_in_what_was_pasted(text, letters, code):
    assert code_in(text, letters)["read"] == code


@pytest.mark.parametrize(
    ("text", "letters", "code"),
    [
        ("Order 77 493817", False, "493817"),
        ("Shop code AB3 K9Z now", True, "AB3K9Z"),
        ("493817 … @shop.example #493817", False, "493817"),
        ("Order 771122, code 493817", False, ""),
        ("4938171", False, ""),
        ("49x3817", False, ""),
        ("123 456 789", False, ""),
        ("please enter the code", True, ""),
    ],
)
def test_only_the_one_whole_code_of_a_text_is_sent_by_itself(text, letters, code):
    assert code_in(text, letters)["whole"] == code


def code_in(text, letters):
    given = f"{json.dumps(text)}, {json.dumps({'length': 6, 'digits': True, 'letters': letters})}"
    program = f"console.log(JSON.stringify({{read: it.readCode({given}), whole: it.wholeCode({given})}}))"
    return run_module("code_field.js", program)


def test_a_server_that_renders_pages_can_import_the_package(tmp_path):
    if not shutil.which("node"):
        pytest.skip("There is no Node.js on this machine.")
    package = tmp_path / "node_modules" / "watchword-verify"
    shutil.copytree(SERVED, package / "dist")
    for name in ("package.json", "server.js"):
        shutil.copy(PACKAGE / name, package)
    program = 'import { WatchwordVerify } from "watchword-verify"; console.log(typeof WatchwordVerify);'
    command = ["node", "--input-type=module", "-e", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "function"), done.stderr
