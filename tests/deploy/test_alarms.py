"""deploy/prometheus and deploy/grafana: each alarm fires, has its paragraph, and asks for metrics that there are."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from tests.conftest import ROOT
from tests.faults.conftest import METRICS_TOKEN
from tests.servers.prometheus import DASHBOARDS, faster_rules, queries
from tests.snippets import block

FOLDER = ROOT / "deploy" / "prometheus"
ALL = [rule for group in yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"] for rule in group["rules"]]
RULES = [rule for rule in ALL if "alert" in rule]
RECORDED = {rule["record"]: rule["expr"] for rule in ALL if "record" in rule}
TESTS = yaml.safe_load((FOLDER / "rules.test.yml").read_text())["tests"]
METRICS_PAGE = (ROOT / "docs" / "engineering" / "metrics.md").read_text()

ROUTES = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"

has_prometheus = pytest.mark.skipif(not shutil.which("promtool"), reason="Prometheus is not installed")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documented():
    return set(re.findall(r"^\| `(watchword_\w+)`", METRICS_PAGE, re.MULTILINE))


def asked_for(expression):
    names = re.findall(r"\b(watchword_\w+)", expression)
    return {re.sub(r"_seconds_(bucket|count|sum)$", "_seconds", name) for name in names}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alarm_has_its_paragraph_and_asks_for_metrics_that_there_are(rule):
    assert (
        f"\n### {rule['alert']}\n\n*{rule['labels']['severity'].capitalize()}.*"
        in (ROOT / "docs" / "engineering" / "runbook.md").read_text()
    )
    assert rule["annotations"]["runbook_url"].endswith(f"/docs/guides/engineering/runbook/#{rule['alert'].lower()}")
    assert asked_for(rule["expr"]) <= documented()


def test_what_is_recorded_is_used_and_asks_for_metrics_that_there_are():
    used = {name for rule in RULES for name in re.findall(r"watchword:\w+:\w+", rule["expr"])}
    assert used == set(RECORDED)
    assert set().union(*map(asked_for, RECORDED.values())) <= documented()
    for name, expression in RECORDED.items():
        assert set(re.findall(r"\[(\w+)\]", expression)) == {name.rpartition("rate")[2]}


def test_every_alarm_has_a_test_in_which_it_fires():
    fired = {each["alertname"] for test in TESTS for each in test["alert_rule_test"] if each["exp_alerts"]}
    assert fired == {rule["alert"] for rule in RULES}


def test_the_rules_of_that_service_differ_in_their_windows_alone():
    judged = {
        rule["alert"]: rule["expr"] for group in faster_rules()["groups"] for rule in group["rules"] if "alert" in rule
    }
    window = re.compile(r"\[\d+[smhd]\]")
    others = {rule["alert"] for rule in RULES if window.sub("", rule["expr"]) != window.sub("", judged[rule["alert"]])}
    assert others == {"WatchwordLongTransaction"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_asks_for_metrics_that_there_are_and_fits_its_grid(path):
    dashboard = json.loads(path.read_text())
    assert dashboard["title"].startswith("Watchword: ")
    assert {name for query in queries(path) for name in asked_for(query)} <= documented()
    for query in queries(path):  # of the installation that the reader chose
        assert query.count('installation=~".*"') == len(re.findall(r"\bwatchword_\w+\{", query)), query
        assert not re.search(r"\bwatchword_\w+(?![\w{])", query), query
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    taken = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len(set(taken)) and max(x for x, _ in taken) < 24


def test_there_is_a_dashboard_for_each_question():
    assert {path.stem for path in DASHBOARDS} == {"overview", "delivery", "provider", "abuse", "database"}


@has_prometheus
@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_prometheus_can_read_every_query_of_a_dashboard(path, tmp_path):
    found = list(queries(path))
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(found)]
    (tmp_path / "queries.yml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    assert f"{len(found)} rules found" in promtool("check", "rules", str(tmp_path / "queries.yml"))


@has_prometheus
def test_prometheus_takes_the_rules_and_each_fires_when_it_should():
    assert f"{len(ALL)} rules found" in promtool("check", "rules", "rules.yml")
    assert "SUCCESS" in promtool("test", "rules", "rules.test.yml")


def of_both(test):
    """The same of two installations: each has the series of the test, and each its alarms."""

    def named(each, installation):
        name, _, labels = each["series"].partition("{")
        return {**each, "series": f'{name}{{installation="{installation}",{labels or "}"}'}

    def alarms(expected):
        return [
            {**each, "exp_labels": each["exp_labels"] | {"installation": installation}}
            for each in expected
            for installation in ("production", "staging")
        ]

    series = [named(each, name) for each in test["input_series"] for name in ("production", "staging")]
    judged = [{**each, "exp_alerts": alarms(each["exp_alerts"])} for each in test["alert_rule_test"]]
    return {**test, "input_series": series, "alert_rule_test": judged}


@has_prometheus
def test_each_alarm_is_that_of_one_installation_where_several_are_watched(tmp_path):
    of_one = [test for test in TESTS if "installation" not in str(test) and "has no target" not in test["name"]]
    assert len(of_one) >= len(RULES)
    given = {
        "rule_files": [str(FOLDER / "rules.yml")],
        "evaluation_interval": "1m",
        "tests": list(map(of_both, of_one)),
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(given))
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "test.yml"))


def configurations():
    """Return the files of Prometheus that the pages show, by page."""
    typed = block("docs/install.md", "sh", "prometheus.yml")
    return {
        "metrics": block("docs/engineering/metrics.md", "yaml"),
        "install": typed.partition("prometheus.yml <<END\n")[2].partition("\nEND\n")[0],
    }


@has_prometheus
@pytest.mark.parametrize("page", ["metrics", "install"])
def test_prometheus_takes_the_configuration_of_a_page(page, tmp_path):
    (tmp_path / "token").write_text(METRICS_TOKEN)
    shown = configurations()[page].replace("/etc/prometheus/watchword.token", str(tmp_path / "token"))
    assert "/etc/prometheus/watchword.rules.yml" in shown
    given = shown.replace("/etc/prometheus/watchword.rules.yml", str(FOLDER / "rules.yml"))
    (tmp_path / "prometheus.yml").write_text(given)
    assert "SUCCESS" in promtool("check", "config", str(tmp_path / "prometheus.yml"))


@has_prometheus
def test_prometheus_takes_the_heartbeat_which_always_fires(tmp_path):
    assert "1 rules found" in promtool("check", "rules", "heartbeat.yml")
    labels = {"alertname": "WatchwordHeartbeat", "severity": "none"}
    alarm = {
        "exp_labels": labels,
        "exp_annotations": {"summary": "Prometheus judges its rules, and its alarms get out."},
    }
    fires = {"eval_time": "0m", "alertname": "WatchwordHeartbeat", "exp_alerts": [alarm]}
    given = {"rule_files": [str(FOLDER / "heartbeat.yml")], "tests": [{"alert_rule_test": [fires]}]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(given))
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "test.yml"))


@pytest.mark.skipif(not shutil.which("amtool"), reason="Alertmanager is not installed")
@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"alertname": "WatchwordHeartbeat", "severity": "none"}, "heartbeat"),
        ({"alertname": "WatchwordDown", "severity": "page"}, "telephone"),
        ({"alertname": "WatchwordDeadlocks", "severity": "ticket"}, "mailbox"),
    ],
)
def test_alertmanager_takes_the_example_and_sends_each_alarm_its_way(labels, receiver):
    pairs = [f"{name}={value}" for name, value in labels.items()]
    done = subprocess.run(
        ["amtool", "config", "routes", "test", f"--config.file={ROUTES}", *pairs], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, receiver)


def test_what_silences_another_alarm_and_what_is_silenced_are_alarms_of_ours_and_of_one_installation():
    rules = yaml.safe_load(ROUTES.read_text())["inhibit_rules"]
    assert all(rule["equal"] == ["installation"] for rule in rules)
    named = {
        name for rule in rules for side in rule.values() for each in side for name in re.findall(r"Watchword\w+", each)
    }
    assert named and named <= {rule["alert"] for rule in RULES}
