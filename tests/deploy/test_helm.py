"""The chart of deploy/helm, rendered by Helm's own engine and judged by the schemas of Kubernetes."""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess

import pytest
import yaml

from tests.deploy.test_image import settings_that_are_told
from tests.live import ROOT
from verification.core.networks import NEIGHBOURS

CHART = ROOT / "deploy" / "helm" / "watchword"
PYTHON = ROOT / "var" / "helm" / "bin" / "python"
NEEDED = {"host": "codes.example.com", "existingSecret": "watchword"}
EVERYTHING = NEEDED | {
    "image": {"repository": "registry.example.com/watchword", "digest": "sha256:" + "a" * 64},
    "connections": {"enabled": True},
    "worker": {"autoscaling": {"enabled": True}},
    "web": {"autoscaling": {"enabled": True}},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "tls", "annotations": {"a": "b"}},
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {
        "enabled": True,
        "webFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "privateTo": [{"to": [{"ipBlock": {"cidr": "10.0.0.5/32"}}], "ports": [{"port": 5432}]}],
    },
    "extraEnv": [{"name": "EMAIL_URL", "valueFrom": {"secretKeyRef": {"name": "mail", "key": "url"}}}],
    "podAnnotations": {"reloader.stakater.com/search": "true"},
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "codes", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "priorityClassName": "high",
    "serviceAccountName": "codes",
    "migration": {"nodeSelector": {"disk": "any"}, "serviceAccountName": "migrations"},
}
# One start of Helm's library answers for all values, as it takes a second.
PROGRAM = """
import json, sys
import helm_python, kubernetes_validate, yaml
chart, cases = json.load(sys.stdin)
answers = []
for values in cases:
    try:
        with helm_python.Chart.load(chart) as loaded:
            texts = loaded.render(values, name="codes", namespace="codes").values()
    except helm_python.HelmError as error:
        answers.append({"error": str(error)})
        continue
    objects = [each for text in texts for each in yaml.safe_load_all(text) if each]
    wrong = []
    for each in objects:
        if each["apiVersion"].startswith("monitoring.coreos.com"):
            continue  # the operator's own kind
        try:
            kubernetes_validate.validate(each, "1.30", strict=True)
        except kubernetes_validate.ValidationError as error:
            wrong.append(f"{each['kind']}: {error}")
    findings = helm_python.lint(chart, values, strict=True)["messages"]
    findings = [each["error"] for each in findings if each["severity"] > 1]  # warnings and errors
    answers.append({"objects": objects, "wrong": wrong, "findings": findings})
print(json.dumps(answers))
"""

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="Helm's library is not installed: .ci/run does it.")


def rendered(*cases):
    done = subprocess.run(
        [PYTHON, "-c", PROGRAM], input=json.dumps([str(CHART), cases]), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answers():
    refused = (
        {},
        {"host": "codes.example.com"},
        NEEDED | {"settings": {"SECRET_KEY": "in a file that anyone reads"}},
        NEEDED | {"webb": {"replicas": 3}},
        NEEDED | {"podMonitor": {"enable": True}},
        NEEDED | {"extraEnv": [{"name": "ENCRYPTION_KEYS", "value": "in a file that anyone reads"}]},
    )
    return dict(
        zip(
            (
                "least",
                "most",
                "walled",
                "no host",
                "no secret",
                "open secret",
                "mistyped",
                "mistyped within",
                "open key",
            ),
            rendered(NEEDED, EVERYTHING, NEEDED | {"networkPolicy": {"enabled": True}}, *refused),
            strict=True,
        )
    )


def by_name(answer):
    return {(each["kind"], each["metadata"]["name"]): each for each in answer["objects"]}


@pytest.mark.parametrize("case", ["least", "most", "walled"])
def test_the_chart_renders_to_what_kubernetes_takes(answers, case):
    assert (answers[case]["wrong"], answers[case]["findings"]) == ([], [])


@pytest.mark.parametrize("case", ["no host", "no secret", "open secret", "mistyped", "mistyped within", "open key"])
def test_values_that_cannot_serve_are_refused_by_the_schema(answers, case):
    assert re.search("schema", answers[case]["error"])


def test_nothing_runs_but_what_was_asked_for(answers):
    assert set(by_name(answers["least"])) == {
        ("Deployment", "codes-web"),
        ("Service", "codes-web"),
        ("Deployment", "codes-worker"),
        ("Job", "codes-migrate"),
        ("PodDisruptionBudget", "codes-web"),
        ("PodDisruptionBudget", "codes-worker"),
    }
    assert set(by_name(answers["most"])) - set(by_name(answers["least"])) == {
        ("Deployment", "codes-connections"),
        ("HorizontalPodAutoscaler", "codes-web"),
        ("HorizontalPodAutoscaler", "codes-worker"),
        ("Ingress", "codes"),
        ("NetworkPolicy", "codes-web"),
        ("NetworkPolicy", "codes-workers"),
        ("PodDisruptionBudget", "codes-connections"),
        ("PodMonitor", "codes"),
        ("PrometheusRule", "codes"),
    }


def test_every_pod_runs_without_rights_on_a_root_that_is_read_only(answers):
    kinds = ("Deployment", "Job")
    pods = [each["spec"]["template"]["spec"] for each in answers["most"]["objects"] if each["kind"] in kinds]
    assert len(pods) == 4
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["envFrom"] == [{"secretRef": {"name": "watchword"}}]
            assert container["image"].endswith("@sha256:" + "a" * 64)
            assert {each["name"] for each in container["env"]} <= settings_that_are_told()


def test_the_migrations_run_before_anything_else_of_a_version(answers):
    job = by_name(answers["least"])["Job", "codes-migrate"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["spec"]["template"]["spec"]["containers"][0]["command"] == ["python", "manage.py", "migrate"]


def test_one_worker_holds_the_connections_and_the_queue_decides_how_many_others_run(answers):
    made = by_name(answers["most"])
    connections = made["Deployment", "codes-connections"]["spec"]
    assert (connections["replicas"], connections["strategy"]) == (1, {"type": "Recreate"})
    assert "--connections" in connections["template"]["spec"]["containers"][0]["command"]
    assert "replicas" not in made["Deployment", "codes-worker"]["spec"]
    (metric,) = made["HorizontalPodAutoscaler", "codes-worker"]["spec"]["metrics"]
    name = metric["external"]["metric"]["name"]
    assert f"`{name}` | `queue`" in (ROOT / "docs" / "engineering" / "metrics.md").read_text()


def test_the_chart_has_the_versions_of_the_service():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (version,) = re.findall(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)


@pytest.mark.parametrize("kind", ["worker", "connections"])
def test_a_worker_is_probed_by_the_file_that_it_touches(answers, kind):
    """By the database it would be restarted whenever that is away."""
    pod = by_name(answers["most"])["Deployment", f"codes-{kind}"]["spec"]["template"]["spec"]
    container = next(each for each in pod["containers"] if each["name"] == kind)
    command = container["livenessProbe"]["exec"]["command"]
    assert command == ["sh", "-c", 'test -n "$(find /tmp/worker.alive -mmin -1)"']
    assert container["command"][-2:] == ["--alive-file", "/tmp/worker.alive"]


def test_prometheus_knows_the_pods_by_the_job_that_the_alarms_ask_for(answers):
    made = by_name(answers["most"])
    label = made["PodMonitor", "codes"]["spec"]["jobLabel"]
    (endpoint,) = made["PodMonitor", "codes"]["spec"]["podMetricsEndpoints"]
    assert endpoint["relabelings"] == [{"targetLabel": "installation", "replacement": "codes/codes"}]
    pods = [each["spec"]["template"]["metadata"]["labels"] for (kind, _), each in made.items() if kind == "Deployment"]
    jobs = set(re.findall(r'up\{job="([a-z]+)"\}', (ROOT / "deploy" / "prometheus" / "rules.yml").read_text()))
    assert {labels[label] for labels in pods} == jobs == {"watchword"}


def pods_of(answer):
    return {
        each["metadata"]["name"]: each["spec"]["template"] for each in answer["objects"] if each["kind"] == "Deployment"
    }


def test_a_slow_start_is_no_reason_to_be_ended(answers):
    """A probe of life begins once that of the start has passed, which waits for a minute."""
    for pod in pods_of(answers["most"]).values():
        container = pod["spec"]["containers"][0]
        start = container["startupProbe"]
        assert start["periodSeconds"] * start["failureThreshold"] == 60
        assert "initialDelaySeconds" not in container["livenessProbe"]


def test_every_pod_starts_again_with_a_secret_that_changed(answers):
    """The digest is that of nothing here, where there is no cluster to look the secret up in."""
    for pod in pods_of(answers["most"]).values():
        annotations = pod["metadata"]["annotations"]
        assert re.fullmatch("[0-9a-f]{64}", annotations["checksum/existing-secret"])
        assert annotations["reloader.stakater.com/search"] == "true"
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    assert 'lookup "v1" "Secret" .Release.Namespace .Values.existingSecret' in helpers


def test_an_entry_of_another_secret_reaches_every_container(answers):
    entry = {"name": "EMAIL_URL", "valueFrom": {"secretKeyRef": {"name": "mail", "key": "url"}}}
    containers = [each for pod in pods_of(answers["most"]).values() for each in pod["spec"]["containers"]]
    assert len(containers) == 5 and all(entry in each["env"] for each in containers)


def test_the_operator_s_prometheus_gets_the_alarms_with_this_host_s_runbook(answers):
    given = by_name(answers["most"])["PrometheusRule", "codes"]
    ours = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text()
    assert given["spec"] == yaml.safe_load(ours.replace("codes.example.com", NEEDED["host"]))
    assert given["metadata"]["labels"]["release"] == "prometheus"


def test_a_chart_of_another_host_leads_to_the_runbook_there():
    (answer,) = rendered(NEEDED | {"host": "codes.shop.example", "prometheusRule": {"enabled": True}})
    groups = by_name(answer)["PrometheusRule", "codes"]["spec"]["groups"]
    urls = {rule["annotations"]["runbook_url"] for group in groups for rule in group["rules"] if "alert" in rule}
    assert urls and all(url.startswith("https://codes.shop.example/docs/guides/engineering/runbook/#") for url in urls)


def test_pods_of_a_kind_are_on_several_nodes_and_each_kind_may_run_elsewhere(answers):
    made = by_name(answers["most"])
    for kind in ("web", "worker", "connections"):
        pod = made["Deployment", f"codes-{kind}"]["spec"]["template"]
        (spread,) = pod["spec"]["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"] == pod["metadata"]["labels"]
        assert pod["spec"]["nodeSelector"] == {"disk": "ssd"} and pod["spec"]["serviceAccountName"] == "codes"
        assert (pod["spec"]["priorityClassName"], pod["spec"]["affinity"]) == ("high", {"podAntiAffinity": {}})
    migration = made["Job", "codes-migrate"]["spec"]["template"]["spec"]
    assert (migration["nodeSelector"], migration["serviceAccountName"]) == ({"disk": "any"}, "migrations")


def test_no_kind_has_to_run_in_more_pods_than_it_may():
    numbers = {"autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 2}}
    for answer in rendered(NEEDED | {"web": numbers}, NEEDED | {"worker": numbers}):
        assert "minReplicas is more than maxReplicas" in answer["error"]


def test_a_pod_answers_until_nobody_is_sent_to_it_and_then_what_it_has(answers):
    for pod in (each["spec"] for name, each in pods_of(answers["most"]).items() if name == "codes-web"):
        (container,) = pod["containers"]
        command, seconds = container["lifecycle"]["preStop"]["exec"]["command"]
        assert command == "sleep" and int(seconds) + 8 < pod["terminationGracePeriodSeconds"]


def test_the_ingress_takes_the_largest_bundle_of_reports():
    (answer,) = rendered(NEEDED | {"ingress": {"enabled": True}})
    annotations = by_name(answer)["Ingress", "codes"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == "3m"


def peers(policy):
    return [peer for rule in policy["spec"]["ingress"] for peer in rule["from"]]


def test_only_those_who_are_named_reach_the_pods(answers):
    made = by_name(answers["most"])
    web, workers = made["NetworkPolicy", "codes-web"], made["NetworkPolicy", "codes-workers"]
    policy = EVERYTHING["networkPolicy"]
    assert peers(web) == policy["webFrom"] + policy["metricsFrom"]
    assert peers(workers) == policy["metricsFrom"]
    walled = by_name(answers["walled"])
    assert peers(walled["NetworkPolicy", "codes-web"]) == [{"namespaceSelector": {}}]
    assert peers(walled["NetworkPolicy", "codes-workers"]) == []


def test_of_private_networks_pods_reach_what_is_named_and_no_metadata_of_a_cloud(answers):
    for kind in ("web", "workers"):
        egress = by_name(answers["most"])["NetworkPolicy", f"codes-{kind}"]["spec"]["egress"]
        assert EVERYTHING["networkPolicy"]["privateTo"][0] in egress
        (outside,) = [rule["to"] for rule in egress if "ports" not in rule]
        closed = [ipaddress.ip_network(network) for peer in outside for network in peer["ipBlock"]["except"]]
        mapped = [ipaddress.ip_network(network) for network in ("::ffff:10.0.0.0/104", "64:ff9b::a00:0/104")]
        for inside in (*NEIGHBOURS, *mapped):
            assert any(inside.version == each.version and inside.subnet_of(each) for each in closed)
