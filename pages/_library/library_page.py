"""What the parts of the Library page share."""

from __future__ import annotations

from pathlib import Path

EXPLORE = str(Path(__file__).resolve().parents[1] / "explore.py")


def time_left(seconds: float | None) -> str:
    """``about 40 s left``: rounded, as an estimate should be; empty when there is none."""
    if seconds is None:
        return ""
    if seconds < 55:
        return f"about {max(5, round(seconds / 5) * 5)} s left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    return f"about {minutes // 60} h {minutes % 60} min left"
