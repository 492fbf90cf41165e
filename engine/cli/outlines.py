"""Text of SVG files as outlines, so that whoever opens them needs no font."""

from __future__ import annotations

import functools
import html
import json
from typing import Any, Literal

from engine.config import ASSETS

Anchor = Literal["start", "middle", "end"]
_UNKNOWN = "\N{WHITE SQUARE}"


@functools.cache
def _font() -> dict[str, Any]:
    font: dict[str, Any] = json.loads((ASSETS / "figures" / "font.json").read_text("utf-8"))
    return font


def width_of(text: str, size: float, weight: int = 400) -> float:
    """How wide a text is, in pixels, where its letters are ``size`` pixels high.

    Args:
        weight: 400, or 600 for bold.
    """
    units: float = _font()["units"]
    return sum(advance for advance, _ in _letters(text, weight)) * size / units


def outlined(
    text: str, x: float, y: float, size: float, *, weight: int = 400, anchor: Anchor = "start",
    fill: str = "inherit",
) -> str:  # fmt: skip
    """A text as an SVG group; letters that the font has not are white squares.

    Args:
        x, y: where its baseline begins, has its middle or ends (``anchor``), in pixels.
    """
    scale = size / _font()["units"]
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width_of(text, size, weight)
    place, letters = 0.0, []
    for advance, path in _letters(text, weight):
        letters.append(f'<path transform="translate({place:.0f} 0)" d="{path}"/>' if path else "")
        place += advance
    return (
        f'<g class="letters" aria-label="{html.escape(text, quote=True)}" fill="{fill}" '
        f'transform="translate({left:.2f} {y:.2f}) scale({scale:.5f})">{"".join(letters)}</g>'
    )


def wrapped(text: str, pixels: float, size: float) -> list[str]:
    """A text on lines of at most so many pixels; a longer word has a line of its own."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > pixels:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _letters(text: str, weight: int) -> list[tuple[float, str]]:
    glyphs = _font()["weights"][str(weight)]["glyphs"]
    return [glyphs.get(letter, glyphs[_UNKNOWN]) for letter in text]
