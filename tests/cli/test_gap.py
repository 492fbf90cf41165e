"""``seedlens gap`` draws both bounds: in the terminal, and as a file that any viewer opens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from engine.cli.gap_chart import drawn, svg
from engine.types.models import ModelReport
from engine.types.reranking import Gap, GapPoint
from tests.cli.command_line import Outcome, run_inside
from tests.model_answers import MODEL, read_knowledge
from tests.model_server import ModelServer, serving
from tests.small_collection import write_collection

REPORT = ModelReport(mode="pairwise", depth=50, endpoint="http://localhost/v1", model="judge")
POINTS = (
    GapPoint(20, 20, 31, 0.3, 0.42, 0.80, (0.36, 0.48), (0.72, 0.88)),
    GapPoint(50, 50, 58, 0.6, 0.60, 0.81, (0.53, 0.67), (0.74, 0.87)),
)
GAP = Gap(
    "tiny <b>", "tiny", 12, "pairwise", "nDCG@20", {"bm25": 0.31, "dense": 0.5}, POINTS, REPORT
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("gap") / "tiny")


@pytest.fixture
def server(collection: Path) -> Iterator[ModelServer]:
    with serving(read_knowledge(collection)) as running:
        yield running


def measured(home: Path, collection: Path, server: ModelServer, *options: object) -> Outcome:
    settings = {"OPENAI_BASE_URL": server.url, "SEEDLENS_LLM_MODEL": MODEL}
    fixed = ("--verifier", "pointwise", "--pool-sizes", "5,20", "--sample", 1)
    return run_inside(
        home, "gap", collection, *fixed, "--systems", "bm25,dense", *options, **settings
    )


def test_the_terminal_and_a_file_show_both_bounds(
    home: Path, collection: Path, server: ModelServer, tmp_path: Path
) -> None:
    run = measured(home, collection, server, "--chart", tmp_path / "gap.svg")
    assert run.code == 0, run.stderr
    rows = {line.split("  ")[0].strip(): line for line in run.stdout.splitlines() if "○" in line}
    assert any("●" in line for line in rows.values())
    assert "pool 20" in run.stdout
    assert "◆" in run.stdout
    assert "bars: 95 % intervals" in words_of((tmp_path / "gap.svg").read_text("utf-8"))


@pytest.mark.parametrize("name", ["gap.png", "missing/gap.svg"])
def test_a_chart_that_cannot_be_written_is_refused_before_anything_is_asked(
    home: Path, collection: Path, server: ModelServer, tmp_path: Path, name: str
) -> None:
    run = measured(home, collection, server, "--chart", tmp_path / name)
    assert (run.code, run.stdout) == (2, "")
    assert server.seen.requests == 0


def test_a_drawing_puts_bounds_in_their_order_on_one_axis() -> None:
    lines = drawn(GAP).splitlines()
    first, second = (line for line in lines if line.strip().startswith("pool"))
    assert first.index("●") < first.index("┿" if "┿" in first else "│") < first.index("○")
    assert second.index("●") > first.index("●"), "a larger pool holds more"
    dense = next(line for line in lines if line.strip().startswith("dense"))
    assert dense.index("◆") == second.index("│"), "the best retriever is the line"
    assert first.endswith("-0.080 to +0.300")


def words_of(text: str) -> list[str]:
    """What an SVG file says in outlined letters."""
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    return [n.attrib["aria-label"] for n in root.iter() if n.get("class") == "letters"]


def test_a_file_is_sound_xml_that_needs_no_font_with_everything_named_in_it() -> None:
    text = svg(GAP)
    assert "<text" not in text
    words = words_of(text)
    for said in ("dense 0.500", "bm25 0.310", "gap −0.080", "to +0.300", "20", "50"):
        assert said in words
    assert "tiny <b>" in " ".join(words)
    alone = replace(GAP, points=POINTS[:1])
    assert svg(alone).count("<polyline") == 2, "one size is enough"
