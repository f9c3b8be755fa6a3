"""Pictures for tests: PNG files made from pixels."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width=4, height=2, *, depth=8, colour=2, interlacing=0, more=(), rows=None, behind=b""):
    """A picture of one colour. ``more`` are further parts before the pixels."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlacing)
    if rows is None:
        rows = (b"\x00" + b"\x0f\x76\x6e" * width) * height
    parts = [(b"IHDR", header), *more, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(name, body) for name, body in parts) + behind
