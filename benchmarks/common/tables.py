"""Tables of figures: the median of the rounds, and the lowest and highest beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int = 0) -> str:
    """``median (lowest–highest)``; a dash for no values."""
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers:
        return "–"
    middle = f"{median(numbers):.{digits}f}"
    return middle if len(numbers) == 1 else f"{middle} ({min(numbers):.{digits}f}–{max(numbers):.{digits}f})"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligned columns: the first to the left, the others to the right."""
    lines = [[str(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )
