"""Logos: a PNG is read pixel by pixel and written anew, so that nothing else of the file is ever served."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core.errors import UserError

MAX_BYTES = 100 * 1024  # Bytes of the file: a logo of 512 pixels square has fewer.
MAX_SIDE = 1_024  # Pixels: four times what the page shows, for sharp screens.
SIGNATURE = b"\x89PNG\r\n\x1a\n"
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # samples of a pixel, by the type of colour
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}  # bits of a sample, by that type
PALETTE = 3  # the type of colour whose pixels are numbers of a palette
MAX_FILTER = 4  # the highest number of a row's filter
KEPT = (b"PLTE", b"tRNS")  # chunks beside the pixels without which they look different

_NO_PNG = gettext_lazy("The file is not a valid PNG. Save the logo as PNG.")


def clean_logo(data: bytes) -> bytes:
    """Return the picture as a PNG that holds its pixels and nothing else. Raises :class:`UserError`."""
    if len(data) > MAX_BYTES:
        raise UserError(
            _("The logo is larger than {number} kB. Make it smaller; 512 × 512 pixels is enough.").format(
                number=MAX_BYTES // 1024
            )
        )
    if not data.startswith(SIGNATURE):
        raise UserError(_("The logo must be a PNG. Other formats such as SVG can contain more than an image."))
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13 or chunks[-1][0] != b"IEND":
        raise UserError(_NO_PNG)
    header = chunks[0][1]
    rows = _rows(header, b"".join(body for name, body in chunks if name == b"IDAT"))
    kept = {name: body for name, body in chunks if name in KEPT}
    if header[9] == PALETTE and not 3 <= len(kept.get(b"PLTE", b"")) <= 768:
        raise UserError(_NO_PNG)
    made = [(b"IHDR", header), *((name, kept[name]) for name in KEPT if name in kept)]
    made += [(b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(_chunk(name, body) for name, body in made)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each part's name and body. What stands behind the last part is left out."""
    place, name = len(SIGNATURE), b""
    while name != b"IEND":
        if place + 12 > len(data):
            raise UserError(_NO_PNG)
        length, name = struct.unpack_from(">I4s", data, place)
        end = place + 12 + length
        if end > len(data) or zlib.crc32(data[place + 4 : end - 4]) != struct.unpack_from(">I", data, end - 4)[0]:
            raise UserError(_NO_PNG)
        yield name, data[place + 8 : end - 4]
        place = end


def _rows(header: bytes, packed: bytes) -> bytes:
    """Return the rows of pixels, each behind the number of its filter. Their length follows from the header."""
    width, height, depth, colour, packing, filtering, interlacing = struct.unpack(">IIBBBBB", header)
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise UserError(
            _("The logo is {width} × {height} pixels; the maximum is {max_side} × {max_side}.").format(
                width=width, height=height, max_side=MAX_SIDE
            )
        )
    if interlacing:
        raise UserError(_("The logo is an interlaced PNG. Save it without interlacing."))
    if depth not in DEPTHS.get(colour, ()) or packing or filtering:
        raise UserError(_NO_PNG)
    row = 1 + (width * SAMPLES[colour] * depth + 7) // 8
    reader = zlib.decompressobj()
    try:
        rows = reader.decompress(packed, row * height)  # no more is unpacked, whatever is packed there
    except zlib.error:
        raise UserError(_NO_PNG) from None
    if len(rows) != row * height or any(rows[at] > MAX_FILTER for at in range(0, len(rows), row)):
        raise UserError(_NO_PNG)
    return rows


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
