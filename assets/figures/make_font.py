"""Makes ``font.json``: the letters of exported figures, as a web font and as outlines.

    pip install fonttools brotli
    python assets/figures/make_font.py

The source is Source Sans 3, which Streamlit ships: © 2023 Adobe, SIL Open Font License 1.1 (see
OFL.txt beside this file). What is made has another name, as the licence asks of changed fonts.
"""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import streamlit
from fontTools.pens.basePen import BasePen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

FAMILY = "SeedLens Figure"
WEIGHTS = (400, 600)
CHARACTERS = (
    (0x20, 0x17F), (0x370, 0x3CF), (0x400, 0x45F), (0x2010, 0x203A), (0x2070, 0x209F),
    (0x20AC, 0x20AC), (0x2122, 0x2122), (0x2190, 0x2193), (0x2200, 0x22FF), (0x25A0, 0x25CF),
    (0x2713, 0x2713),
)  # fmt: skip
"""Latin, Greek, Cyrillic, and the signs of papers' titles."""


class OutlinePen(BasePen):  # type: ignore[misc]
    """Writes absolute M, L, Q and Z in font units, y downwards as in SVG."""

    def __init__(self, glyphs: Any) -> None:
        super().__init__(glyphs)
        self.path = ""

    def _add(self, command: str, *points: tuple[float, float]) -> None:
        self.path += command + " ".join(f"{round(x)} {round(-y)}" for x, y in points)

    def _moveTo(self, pt: tuple[float, float]) -> None:  # noqa: N802
        self._add("M", pt)

    def _lineTo(self, pt: tuple[float, float]) -> None:  # noqa: N802
        self._add("L", pt)

    def _qCurveToOne(self, pt1: tuple[float, float], pt2: tuple[float, float]) -> None:  # noqa: N802
        self._add("Q", pt1, pt2)

    def _closePath(self) -> None:  # noqa: N802
        self.path += "Z"


def weight_of(source: Path, weight: int) -> dict[str, Any]:
    """One weight: ``woff2`` (base64) and ``glyphs``: character -> [advance, path]."""
    font = instantiateVariableFont(TTFont(source), {"wght": weight}, inplace=True)
    options = Options()
    # No ligatures: one character is one outline.
    options.layout_features, options.hinting, options.notdef_outline = ["kern"], False, True
    options.name_IDs = [0, 13, 14]
    subsetter = Subsetter(options)
    wanted = {c for low, high in CHARACTERS for c in range(low, high + 1)}
    subsetter.populate(unicodes=wanted & set(font.getBestCmap()))
    subsetter.subset(font)
    glyphs = font.getGlyphSet()
    outlines = {}
    for code, name in sorted(font.getBestCmap().items()):
        pen = OutlinePen(glyphs)
        glyphs[name].draw(pen)
        outlines[chr(code)] = [glyphs[name].width, pen.path]
    font.flavor, packed = "woff2", io.BytesIO()
    font.save(packed)
    return {"woff2": base64.b64encode(packed.getvalue()).decode(), "glyphs": outlines}


def main() -> None:
    """Write ``font.json`` beside this file."""
    media = Path(streamlit.__file__).parent / "static" / "static" / "media"
    source = next(media.glob("SourceSansVF-Upright*.woff2"))
    made = {
        "family": FAMILY,
        "units": TTFont(source)["head"].unitsPerEm,
        "weights": {str(weight): weight_of(source, weight) for weight in WEIGHTS},
    }
    file = Path(__file__).with_name("font.json")
    file.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
