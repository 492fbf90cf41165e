"""Numbers with what they count, as messages say them."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts, in the singular for 1.

    >>> counted(1, "call"), counted(1200, "call")
    ('1 call', '1,200 calls')
    >>> counted(1, "query was", "queries were"), counted(0, "query was", "queries were")
    ('1 query was', '0 queries were')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(count: int) -> str:
    """Bytes as people say them.

    >>> size(12_345_678), size(999)
    ('12.3 MB', '999 B')
    """
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
