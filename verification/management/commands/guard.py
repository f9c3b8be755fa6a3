"""``guard PROJECT``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, table
from verification.services.projects.projects import find_project
from verification.services.protection.guard import conversion, findings

HOURS = 24


class Command(WatchwordCommand):
    help = f"Show what the traffic guard blocks or watches now, and the SMS and calls of the last {HOURS} hours."
    epilog = "examples:\n  manage.py guard Shop\n  manage.py guard Shop --lift +49151123"

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument(
            "--lift",
            metavar="SUBJECT",
            help="Lift the blocks on this prefix, country or network, or all of them; their counts start again at "
            "zero.",
        )

    def handle(self, *, project: str, lift: str | None, json: bool, **_: Any) -> None:
        found = find_project(project)
        if lift is not None:
            running = [finding for finding in findings.running_findings(found) if lift in (finding.subject, "all")]
            if not running:
                raise UserError(
                    f"There is no active block on {lift!r}. Without --lift the command lists the active ones."
                )
            lifted = sum(findings.lift(finding) for finding in running)
            self.show({"project": found.pk, "lifted": lifted}, f"Lifted: {lifted}.", as_json=json)
            return
        running = findings.running_findings(found)
        lines = {
            "countries": conversion.by_country([found.pk], hours=HOURS),
            "prefixes": conversion.by_prefix([found.pk], hours=HOURS),
        }
        data = {
            "project": found.pk,
            "mode": found.traffic_guard,
            "hours": HOURS,
            "findings": [
                {
                    "rule": finding.rule,
                    "subject": finding.subject,
                    "level": finding.level,
                    "since": finding.since.isoformat(),
                    "until": finding.until.isoformat(),
                    "refused": finding.refused,
                    "figures": finding.figures,
                }
                for finding in running
            ],
            **{name: [line.as_dict() for line in rows] for name, rows in lines.items()},
        }
        text = [f"Traffic guard of {found.name}: {found.traffic_guard}", ""]
        text += [
            table(
                ("rule", "subject", "until (UTC)", "refused"),
                (
                    (finding.rule, finding.subject, f"{finding.until:%d %b %H:%M}", finding.refused)
                    for finding in running
                ),
            )
            if running
            else "No active blocks, nothing watched."
        ]
        for name, rows in lines.items():
            if rows:
                body = ((*line.as_dict().values(),) for line in rows)
                text += ["", table((name, "sends", "verified", "percent", "refused"), body)]
        self.show(data, "\n".join(text), as_json=json)
