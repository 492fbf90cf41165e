"""Figures from hand-made records: what they show, and that nothing in them is markup."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from engine.config import ROOT
from engine.types.comparisons import Comparison, Frontier, FrontierPoint, Variant, VariantRanking
from engine.types.documents import Document
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.lenses import Aspect, Lens
from engine.types.searches import Ranking
from pages._common import charts as chart_style
from pages._common.charts import frame_csv
from pages._common.shared import ASSETS
from pages._compare import compare_charts

LENS = Lens(
    "two",
    "Two aspects",
    (Aspect("why", "Why", "W", "", ""), Aspect("how", "How & when", "H", "", "")),
)
EVIL = '<b>bold</b> & <a href="x">'


def compared(rankings, titles=None, likeness=(), grades=None):
    variants = tuple(
        VariantRanking(
            variant=Variant(name, f"wording of {name}"),
            ranking=Ranking(name, tuple(doc_ids), tuple(-float(i) for i in range(len(doc_ids)))),
            understood=(),
            avoided=(),
            weights=(),
            notes=(),
            measures={},
            likeness=likeness,
            seconds=0.0,
        )
        for name, doc_ids in rankings.items()
    )
    seed = Document("seed", "Seed", "A text.", ())
    return Comparison(
        "corpus", seed, "how", variants, (), (), (), titles or {}, False, "Nobody judged.", 0.0,
        grades=grades or {},
    )  # fmt: skip


def drawn(figure):
    """The figure as the browser gets it."""
    found: dict[str, Any] = json.loads(figure.to_json())
    return found


def frontier(found, current):
    """The chart of a frontier, on a light page."""
    frame = compare_charts.frontier_frame(found)
    return compare_charts.frontier(frame, current, judged=found.judged, dark=False)


def test_the_rank_flow_follows_each_paper_through_all_rankings():
    comparison = compared(
        {"base": ["a", "b", "c", "d"], "generic": ["b", "a", "d"], "short": ["x"]},
        {"a": "Paper A"},
    )
    flow = compare_charts.rank_flow(comparison, depth=2)
    lines = {line["doc_id"]: line for line in flow["lines"]}
    assert list(lines) == ["a", "b", "x"], "only the top, in the order in which it is met"
    assert lines["a"]["ranks"] == [1, 2, None]
    assert lines["x"]["ranks"] == [None, None, 1]
    assert lines["a"]["title"] == "Paper A"
    assert lines["b"]["title"] == "b", "a paper without a title goes by its id"
    assert lines["x"]["moved"] == 1.0
    assert [column["name"] for column in flow["columns"]] == [
        "wording of base",
        "wording of generic",
        "wording of short",
    ]


def test_the_matrix_writes_its_numbers_and_leaves_out_what_is_undefined():
    values = {("base", "base"): 1.0, ("base", "other"): 0.256, ("other", "base"): None}
    frame = compare_charts.matrix_frame(["base", "other"], values)
    figure = drawn(compare_charts.matrix(frame, "rbo", dark=False))
    (cells,) = figure["data"]
    assert list(zip(cells["base"], cells["x"], cells["text"], strict=True)) == [
        (-0.475, 0, "1.000"), (-0.475, 1, "0.256"), (0.525, 0, "–"), (0.525, 1, "–"),
    ]  # fmt: skip
    assert frame_csv(frame) == "variant,base,other\nbase,1.0,0.256\nother,,\n"


def test_long_names_are_wrapped_and_beside_many_the_columns_have_numbers():
    names = [f"paraphrase of the base wording, number {n}" for n in range(1, 5)]
    frame = compare_charts.matrix_frame(names, {(names[0], names[1]): 0.5})
    figure = drawn(compare_charts.matrix(frame, "rbo", dark=False))
    rows = figure["layout"]["yaxis"]["ticktext"]
    assert rows[3] == "4 · paraphrase of the base<br>wording, number 4"
    assert figure["layout"]["xaxis"]["ticktext"] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("measure", ["rbo", "rank_gain"])
def test_the_numbers_of_a_matrix_can_be_read_on_every_cell(measure, dark):
    steps = [i / 20 * (-1) ** i for i in range(21)]
    values = {("a", str(i)): v if measure == "rank_gain" else abs(v) for i, v in enumerate(steps)}
    names = ["a", *(str(i) for i in range(21))]
    frame = compare_charts.matrix_frame(names, values)
    (cells,) = drawn(compare_charts.matrix(frame, measure, dark=dark))["data"]
    shades = zip(cells["marker"]["color"], cells["insidetextfont"]["color"], strict=True)
    assert min(contrast(rgb(cell), rgb(text)) for cell, text in shades) >= 4.5


def rgb(colour):
    if colour.startswith("#"):
        return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(float(part) / 255 for part in colour[4:-1].split(","))


def contrast(one, other):
    """As WCAG defines it: 1 to 21."""

    def luminance(colour):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_lines_of_grades_are_told_apart_by_width_and_dash_and_seen_on_the_paper(dark):
    styles = compare_charts.grade_styles([0, 3, 1, 2], dark=dark)
    assert [s["width"] for s in styles.values()] == sorted({s["width"] for s in styles.values()})
    assert [bool(s["dash"]) for s in styles.values()] == [True, False, False, False]
    assert len({s["colour"] for s in styles.values()}) == 4
    papers = [chart_style.PAPER[dark], *([] if dark else [chart_style.FILE_PAPER])]
    colours = [chart_style.UNJUDGED[dark], *(s["colour"] for s in styles.values())]
    assert min(contrast(rgb(c), rgb(p)) for c in colours for p in papers) >= 3
    texts = [chart_style.INK[dark], chart_style.ACCENT[dark], chart_style.COUNTER[dark]]
    assert min(contrast(rgb(c), rgb(p)) for c in texts for p in papers) >= 4.5


def test_the_exported_chart_is_light_on_white_and_has_the_font_of_figures():
    points = tuple(FrontierPoint(s / 10, 1 - s / 20, s / 15) for s in range(11))
    spec = chart_style.for_file(frontier(Frontier(points, True), 0.5))
    assert spec["layout"]["paper_bgcolor"] == spec["layout"]["plot_bgcolor"] == "#ffffff"
    assert spec["layout"]["font"]["family"] == chart_style.FILE_FONT
    assert spec["data"][0]["text"][0] == "0%", "what is written into it stays"
    assert "hovertemplate" not in spec["data"][0]


def test_the_letters_of_figures_cover_what_papers_are_called():
    font = json.loads((ASSETS / "figures" / "font.json").read_text("utf-8"))
    assert font["family"] == chart_style.FILE_FONT
    for weight in font["weights"].values():
        assert set("AZaz09éßŁαβЖ–−·≥“”…") <= set(weight["glyphs"])


@pytest.mark.parametrize("dark", [False, True])
def test_names_are_shown_as_they_are_never_as_markup(dark):
    comparison = compared({EVIL: ["a"]}, likeness=(("Why", 0.2), ("How & when", -0.1)))
    for figure in (
        compare_charts.matrix(
            compare_charts.matrix_frame([EVIL], {(EVIL, EVIL): 1.0}), "rbo", dark=dark
        ),
        compare_charts.likeness(compare_charts.likeness_frame(comparison), LENS, dark=dark),
    ):
        written = figure.to_json()
        assert "<b>" not in written
        assert "<a " not in written
        assert "&lt;b&gt;" in written


def test_likeness_has_a_bar_for_every_aspect_with_its_letter():
    comparison = compared(
        {"base": ["a"], "other": ["b"]}, likeness=(("Why", 0.25), ("How & when", -1))
    )
    frame = compare_charts.likeness_frame(comparison)
    figure = drawn(compare_charts.likeness(frame, LENS, dark=False))
    assert [bar["name"] for bar in figure["data"]] == ["W · Why", "H · How &amp; when"]
    beside = [text for bar in figure["data"] for text in bar["text"]]
    assert beside == ["W +0.250", "W +0.250", "H −1.000", "H −1.000"]


def test_the_frontier_marks_the_steer_in_use_and_names_its_axes():
    points = tuple(FrontierPoint(s / 10, 1 - s / 20, s / 15) for s in range(11))
    figure = drawn(frontier(Frontier(points, True), 0.52))
    assert [*filter(None, figure["data"][0]["text"])] == ["0%", "50%", "100%"]
    assert figure["data"][1]["y"] == [0.75], "the point of steer 0.5"
    assert "rank gain over" in figure["layout"]["xaxis"]["title"]["text"]
    assert CSFCUBE_NDCG in figure["layout"]["yaxis"]["title"]["text"]
    estimated = drawn(frontier(Frontier(points, False), 0.5))
    assert "rank gain" not in estimated["layout"]["xaxis"]["title"]["text"]


# The theme


THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
LEAST = {"textColor": 4.5, "linkColor": 4.5, "primaryColor": 4.5, "borderColor": 3.0}
"""Words (those of the trail are in the primary colour), and the edges of fields and buttons."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", LEAST)
def test_words_and_edges_stand_out_from_both_backgrounds(scheme, name):
    """WCAG 2.2, 1.4.3 and 1.4.11."""
    colours = THEME[scheme]
    for ground in ("backgroundColor", "secondaryBackgroundColor"):
        assert contrast(rgb(colours[ground]), rgb(colours[name])) >= LEAST[name]
