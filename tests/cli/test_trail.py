"""``seedlens trail``: trails listed, shown and exported."""

from __future__ import annotations

from pathlib import Path

from engine.types.searches import Query
from tests.cli.command_line import run_inside, write_lines
from tests.support import make_explorer


def test_trails_are_listed_shown_and_exported(home: Path, tmp_path: Path) -> None:
    rows = [
        {"doc_id": f"d{n}", "title": f"Birds {n}", "text": "Birds sing.", "year": 2000 + n,
         "authors": ["Ada Lovelace"], "venue": "Journal of Birds"}
        for n in range(3)
    ]  # fmt: skip
    source = write_lines(tmp_path / "birds.jsonl", rows)
    assert run_inside(home, "import", source, "--name", "birds").code == 0
    notebook = make_explorer(home).notebook
    notebook.add_step("walk", Query("birds", seed="d0"))
    notebook.keep("walk", "birds", "d1")
    notebook.annotate("walk", "birds", "d1", "sings well")
    notebook.name_trail("walk", "Singing")

    (listed,) = run_inside(home, "trail", "list", "--json").json
    assert (listed["trail_id"], listed["name"], listed["kept"]) == ("walk", "Singing", 1)
    assert listed["seeds"] == ["Birds 0"]
    assert "Singing" in run_inside(home, "trail", "list").stdout
    shown = run_inside(home, "trail", "show", "walk").stdout
    assert "Birds 1 (2001)" in shown
    assert "> sings well" in shown
    assert run_inside(home, "trail", "export", "walk").stdout.startswith(
        "@article{lovelace2001birds"
    )
    citation = run_inside(home, "trail", "export", "walk", "--format", "apa").stdout
    assert citation.strip() == "Lovelace, A. (2001). Birds 1. Journal of Birds."
    out = tmp_path / "out.ris"
    assert run_inside(home, "trail", "export", "walk", "--format", "ris", "--out", out).code == 0
    assert "AU  - Lovelace, Ada" in out.read_text()

    unknown = run_inside(home, "trail", "show", "nobody's")
    assert unknown.code == 2
    assert "seedlens trail list" in unknown.stderr
