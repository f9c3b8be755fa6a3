"""Debian's Prometheus on loopback, with the service's own alarms, which it judges every second."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.live import ROOT, free_port, wait_until

PROGRAM = shutil.which("prometheus") or ""
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
DASHBOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
FASTER = 60  # an hour's window is a minute's here
LEAST_SECONDS = 10  # the shortest window: a rate needs several scrapes, and a busy machine leaves some out
# A process reports how busy its threads are every 5 s (REPORT_SECONDS). In 10 s there may be one report or two, so the
# rate is half of what it should be or more; in 30 s at most a seventh is missing.
REPORTED, REPORTED_SECONDS = "watchword_thread_busy_seconds_total", 30
SCRAPE_SECONDS = 1  # between two scrapes, and the time that one may take
PENDING = "2s"  # in place of each rule's `for`, whose own length promtool's tests hold
# Ages that no test can bring about by moving rows: PostgreSQL itself tells since when a transaction is open.
YOUNGER = {"watchword_database_oldest_transaction_seconds) > 900": "watchword_database_oldest_transaction_seconds) > 3"}


def faster(expression: str) -> str:
    """Return the same expression over windows that are cut short, `1h` to `60s`. Nothing else of it changes.

    What is compared with an earlier day is compared with some seconds ago: no test lasts a day's sixtieth.
    """

    def cut(found: re.Match[str]) -> str:
        name, number, unit = found.groups()
        least = REPORTED_SECONDS if name == REPORTED else LEAST_SECONDS
        return f"{name}[{max(least, int(number) * SECONDS[unit] // FASTER)}s]"

    shorter = re.sub(r"(\w*)\[(\d+)([smhd])\]", cut, expression)
    return re.sub(r"offset \d+[smhd]", f"offset {LEAST_SECONDS}s", shorter)


def faster_rules() -> dict[str, Any]:
    """Return the rules as they are shipped, by shorter windows and a shorter `for`."""
    text = RULES.read_text()
    for old, new in YOUNGER.items():
        assert old in text
        text = text.replace(old, new)
    rules: dict[str, Any] = yaml.safe_load(text)
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule["expr"] = faster(rule["expr"])
        if "for" in rule:
            rule["for"] = PENDING
    return rules


def queries(dashboard: Path, *, provider: int = 1) -> Iterator[str]:
    """Yield every query of a dashboard, with its variables filled in."""
    for panel in json.loads(dashboard.read_text())["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"].replace("$__rate_interval", "5m").replace("$installation", ".*")
            yield query.replace("$provider", str(provider))


class Prometheus:
    """Use as a context manager. ``jobs`` are the ports of loopback that it scrapes every second."""

    def __init__(self, folder: Path, token: str, **jobs: int) -> None:
        self.folder, self.port = folder, free_port()
        scrapes = [
            {
                "job_name": name.replace("_", "-"),
                "authorization": {"credentials": token},
                "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
            }
            for name, port in jobs.items()
        ]
        config = {
            "global": {"scrape_interval": f"{SCRAPE_SECONDS}s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "rules.yml")],
            "scrape_configs": scrapes,
        }
        (folder / "rules.yml").write_text(yaml.safe_dump(faster_rules()))
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    def __enter__(self) -> Prometheus:
        command = [PROGRAM, f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data"]
        with (self.folder / "prometheus.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log
            )
        wait_until(lambda: self.ask("rules") and self.value("up") is not None, "Prometheus has scraped")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)

    def ask(self, path: str, **query: str) -> Any:
        """Return the data of an answer of its API, None where there is none."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def series(self, query: str) -> list[dict[str, Any]]:
        found = self.ask("query", query=query)
        return found["result"] if found else []

    def value(self, query: str) -> float | None:
        found = self.series(query)
        return float(found[0]["value"][1]) if found else None

    def wait_for_judgement(self) -> list[dict[str, Any]]:
        """Return the rules once they were judged on scrapes of after this call."""
        begun = self._group()["lastEvaluation"]
        seen = {begun}
        wait_until(lambda: seen.add(self._group()["lastEvaluation"]) or len(seen) > 2, "the rules were judged twice")
        return self._group()["rules"]

    def _group(self) -> Any:
        return self.ask("rules")["groups"][0]

    def firing(self) -> set[str]:
        return {each["metric"]["alertname"] for each in self.series('ALERTS{alertstate="firing"}')}
