"""Signs on pages: none that shows as a box because a font lacks it."""

from __future__ import annotations

import json
from pathlib import Path

from pages._common.shared import ASSETS

PAGES = Path(__file__).resolve().parents[2] / "pages"


def test_every_sign_of_the_pages_is_in_the_font_that_comes_along() -> None:
    """What the bundled font (Source Sans, of which font.json is a part) lacks is drawn as SVG."""
    font = json.loads((ASSETS / "figures" / "font.json").read_text("utf-8"))
    known = set(font["weights"]["400"]["glyphs"]) | {"\n"}
    files = [*(ASSETS / "components").iterdir(), *PAGES.rglob("*.py")]
    lacking = {f.name: set(f.read_text("utf-8")) - known for f in files}
    assert {name: signs for name, signs in lacking.items() if signs} == {}
