"""A request as a client sent it, and what makes its head one that we take."""

from __future__ import annotations

from dataclasses import dataclass, field

# Bytes of a request line and its headers, of a trailer, or of one chunk's extensions; a proxy passes on half of that.
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100  # of one request; browsers behind proxies send about thirty


@dataclass(slots=True)
class Request:
    """A request as it came: names in lower case, nothing decoded."""

    method: bytes = b""
    target: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes | bytearray = b""
    hosts: int = 0  # how many Host headers it has
    length: int | None = None  # of the body, as announced
    most: int = 0  # bytes of the body that are read
    is_chunked: bool = False
    is_awaiting: bool = False  # whether the client sends the body after a 100 Continue only
    fault: str = ""  # the problem's code of what is no request, or none of which it is sure where it ends
    is_whole: bool = True  # false: the body did not arrive in time
    is_last: bool = False  # whether the connection ends with its answer

    def add_header(self, name: bytes, value: bytes) -> None:
        """Take in a header, its name in lower case. Raises ``ValueError`` where no request of ours has it."""
        self.headers.append((name, value))
        if len(self.headers) > MAX_HEADERS:
            raise ValueError("too many headers")
        if name == b"content-length":
            self.length = int(value)
        elif name == b"transfer-encoding":
            if value.strip().lower() != b"chunked":  # nothing unpacks a body
                raise ValueError("another coding")
            self.is_chunked = True
        elif name == b"host":
            self.hosts += 1
        elif name == b"expect":
            self.is_awaiting = value.lower() == b"100-continue"

    def check_head(self, version: str) -> None:
        """Raise ``ValueError`` for a head that two servers could read differently, or one beyond all measure."""
        if sum(len(name) + len(value) for name, value in self.headers) + len(self.target) > MAX_HEAD_BYTES:
            raise ValueError("too long a head")
        if version not in ("1.1", "1.0"):
            raise ValueError("another protocol")
        if self.hosts > 1 or (version == "1.1" and not self.hosts):
            raise ValueError("no host, or several")
        if version == "1.0" and self.is_chunked:  # HTTP/1.0 has no chunks
            raise ValueError("no telling where the body ends")
        if version == "1.0":
            self.is_awaiting = False  # and no answer ahead of the answer
