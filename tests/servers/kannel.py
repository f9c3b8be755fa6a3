"""The real Kannel (bearerbox, smsbox) with Kannel's own fake SMSC behind it: all on loopback, on free ports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.request import urlopen

from tests.live import free_port

FAKESMSC = Path("/usr/lib/kannel/test/fakesmsc")
USERNAME, PASSWORD, STATUS_PASSWORD = "tester", "foobar", "statuspw"
START_SECONDS = 60  # on a busy machine
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # the boxes lie where only root's PATH looks

# The names are Kannel's; an unknown one ends its start.
CONFIGURATION = """
group = core
admin-port = {admin}
admin-interface = "127.0.0.1"
admin-password = adminpw
status-password = {status_password}
admin-deny-ip = ""
admin-allow-ip = "127.0.0.1"
smsbox-port = {box}
smsbox-interface = "127.0.0.1"
box-allow-ip = "127.0.0.1"
dlr-storage = internal

group = smsc
smsc = fake
smsc-id = FAKE
host = 127.0.0.1
port = {smsc}
connect-allow-ip = 127.0.0.1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = {sendsms}
sendsms-interface = "127.0.0.1"
global-sender = 13013

group = sendsms-user
username = {username}
password = {password}
max-messages = 3
concatenation = true

group = sms-service
keyword = default
{service}
"""


def is_installed() -> bool:
    return FAKESMSC.exists() and bool(_box("bearerbox") and _box("smsbox"))


class Kannel:
    """Use as a context manager; ``folder`` takes its configuration and its logs.

    ``service`` is what it does with what users write, and ``texts`` are what they do, as in "4915 13013 text STOP".
    """

    def __init__(self, folder: Path, *, service: str = 'text = "no service"', texts: Sequence[str] = ()) -> None:
        self.folder, self.service, self.texts = folder, service, texts
        self.ports = {name: free_port() for name in ("admin", "box", "smsc", "sendsms")}
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Kannel:
        configuration = self.folder / "kannel.conf"
        configuration.write_text(
            CONFIGURATION.format(
                **self.ports,
                username=USERNAME,
                password=PASSWORD,
                status_password=STATUS_PASSWORD,
                service=self.service,
            )
        )
        try:
            self._start("bearerbox", _box("bearerbox"), str(configuration))
            _wait(lambda: "Status: running" in self.status(), "bearerbox runs")
            self._start("smsbox", _box("smsbox"), str(configuration))
            options = ["-H", "127.0.0.1", "-r", str(self.ports["smsc"]), "-m", str(len(self.texts))]
            self._start("fakesmsc", str(FAKESMSC), *options, *self.texts)
            _wait(lambda: "smsbox:" in self.status() and "(online" in self.status(), "smsbox and SMSC are connected")
            _wait(lambda: _listens(self.ports["sendsms"]), "smsbox listens")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
            if process.stdin:
                process.stdin.close()
        self._processes.clear()

    @property
    def sendsms_url(self) -> str:
        return f"http://127.0.0.1:{self.ports['sendsms']}/cgi-bin/sendsms"

    @property
    def status_url(self) -> str:
        return f"http://127.0.0.1:{self.ports['admin']}/status.txt"

    def status(self) -> str:
        try:
            with urlopen(f"{self.status_url}?password={STATUS_PASSWORD}", timeout=2) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    def received(self) -> str:
        """Return the fake SMSC's log of what it was given."""
        return (self.folder / "fakesmsc.log").read_text("utf-8", "replace")

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            # The fake SMSC ends with its standard input, so that one is held open.
            process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT
            )
        self._processes.append(process)


def _box(name: str) -> str:
    return shutil.which(name, path=_PATH) or ""


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait(is_so: Callable[[], bool], what: str) -> None:
    ends_at = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > ends_at:
            raise TimeoutError(f"not within {START_SECONDS} seconds: {what}")
        time.sleep(0.05)
