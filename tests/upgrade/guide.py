"""The commands of a guide, as an operator types them."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

from tests.live import LiveService

ROOT = Path(__file__).resolve().parent.parent.parent
# age encrypts to a public key, which is no matter of ours: here a dump passes as it is.
AGE = '#!/bin/sh\nif [ "$1" = --decrypt ]; then exec cp "$6" "$5"; fi\nexec cat\n'


def block(page: str, heading: str, number: int = 0) -> str:
    """Return the shell commands below a heading of a page in docs/."""
    text = (ROOT / "docs" / page).read_text()
    section = re.split(r"(?m)^#+ ", text.partition(f"# {heading}\n")[2], maxsplit=1)[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[number]


def commands(page: str, heading: str) -> list[str]:
    """Return the commands of a block of one-line commands, without what is said about them."""
    return [line.partition("  #")[0].strip() for line in block(page, heading).splitlines()]


class Operator:
    """Types commands on the machine of a service, in a folder of their own."""

    def __init__(self, service: LiveService, folder: Path, **environment: str) -> None:
        self.service, self.folder, self.environment = service, folder, environment
        self.programs = folder / "bin"
        self.programs.mkdir()
        self._add("manage.py", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {ROOT}/manage.py "$@"\n')
        self._add("age", AGE)

    def type(self, text: str, *, path: Path | str = "") -> str:
        """Run a text of shell commands, the first that fails ends it; return what they print."""
        environment = {**self.service.environment, **self.environment}
        environment["PATH"] = os.pathsep.join([str(self.programs), *([str(path)] if path else []), os.environ["PATH"]])
        command = ["bash", "-e", "-o", "pipefail", "-c", text]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _add(self, name: str, text: str) -> None:
        program = self.programs / name
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
