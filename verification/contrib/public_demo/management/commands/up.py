"""``up --demo``: the service with what visitors look at, and with its reset."""

from __future__ import annotations

from django.core.management import call_command

from verification.management.commands import up

EVERY_HOUR = ("--every", "3600")
PUBLIC = """
The public demo is ready.

  Demo    {url}/demo/    the form, what was sent and your server, side by side
  Panel   {url}/admin/   for everybody, to look at

Visitors change nothing, and nothing is sent. What they leave is removed every hour.

Ctrl-C stops it all.
"""


class Command(up.Command):
    def prepare(self) -> dict[str, list[str]]:
        call_command("resetdemo", stdout=self.stdout)
        return {"demo's reset": ["resetdemo", *EVERY_HOUR]}

    def describe(self, base_url: str, url: str) -> str:
        return PUBLIC.format(url=base_url)
