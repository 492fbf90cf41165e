"""Figures from hand-made records: what they show, and that nothing in them is markup."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.types.comparisons import Comparison, Frontier, FrontierPoint, Variant, VariantRanking
from engine.types.documents import Document
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.lenses import Aspect, Lens
from engine.types.searches import Ranking
from pages._common import chart_style
from pages._compare import compare_charts

LENS = Lens(
    "two",
    "Two aspects",
    (Aspect("why", "Why", "W", "", ""), Aspect("how", "How & when", "H", "", "")),
)
EVIL = '<b>bold</b> & <a href="x">'


def compared(
    rankings: dict[str, list[str]],
    titles: dict[str, str] | None = None,
    likeness: tuple[tuple[str, float], ...] = (),
) -> Comparison:
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
        "corpus", seed, "how", variants, (), (), (), titles or {}, False, "Nobody judged.", 0.0
    )


def drawn(figure: Any) -> dict[str, Any]:
    """The figure as the browser gets it."""
    found: dict[str, Any] = json.loads(figure.to_json())
    return found


def test_the_rank_flow_follows_each_paper_through_all_rankings() -> None:
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
    assert [column["name"] for column in flow["columns"]] == ["base", "generic", "short"]


def test_a_paper_that_never_moves_is_drawn_as_calm_as_can_be() -> None:
    flow = compare_charts.rank_flow(compared({"one": ["a", "b"], "two": ["a", "b"]}), depth=20)
    assert [line["moved"] for line in flow["lines"]] == [0.0, 0.0]


def test_the_matrix_writes_its_numbers_and_leaves_out_what_is_undefined() -> None:
    values = {("base", "base"): 1.0, ("base", "other"): 0.256, ("other", "base"): None}
    figure = drawn(compare_charts.matrix(["base", "other"], values, "rbo", dark=False))
    texts = {(a["y"], a["x"]): a["text"] for a in figure["layout"]["annotations"]}
    assert texts == {(0, 0): "1.00", (0, 1): "0.26", (1, 0): "–", (1, 1): "–"}


def test_a_measure_with_a_sign_shows_it() -> None:
    figure = drawn(
        compare_charts.matrix(["a", "b"], {("a", "b"): 0.1, ("b", "a"): -0.1}, "p_mrr", dark=True)
    )
    assert {"+0.10", "-0.10"} <= {a["text"] for a in figure["layout"]["annotations"]}
    assert figure["data"][0]["zmin"] == -1.0


def test_two_names_that_shorten_to_the_same_stay_two_rows() -> None:
    names = ["paraphrase of the base wording one", "paraphrase of the base wording two"]
    figure = drawn(compare_charts.matrix(names, {(names[0], names[1]): 0.5}, "rbo", dark=False))
    assert figure["layout"]["xaxis"]["tickvals"] == [0, 1]
    assert len(set(figure["layout"]["xaxis"]["ticktext"])) == 1


@pytest.mark.parametrize("dark", [False, True])
def test_names_are_shown_as_they_are_never_as_markup(dark: bool) -> None:
    comparison = compared({EVIL: ["a"]}, likeness=(("Why", 0.2), ("How & when", -0.1)))
    for figure in (
        compare_charts.matrix([EVIL], {(EVIL, EVIL): 1.0}, "rbo", dark=dark),
        compare_charts.likeness(comparison, LENS, dark=dark),
    ):
        written = figure.to_json()
        assert "<b>" not in written
        assert "<a " not in written
        assert "&lt;b&gt;" in written


def test_long_titles_and_names_are_cut_to_one_line() -> None:
    assert chart_style.label("word\nanother   word") == "word another word"
    long = chart_style.label("x" * 200)
    assert len(long) == chart_style.LONGEST_LABEL
    assert long.endswith("…")


def test_likeness_has_a_bar_for_every_aspect_with_its_letter() -> None:
    comparison = compared(
        {"base": ["a"], "other": ["b"]}, likeness=(("Why", 0.25), ("How & when", -1))
    )
    figure = drawn(compare_charts.likeness(comparison, LENS, dark=False))
    assert [bar["name"] for bar in figure["data"]] == ["W · Why", "H · How &amp; when"]
    assert figure["data"][0]["text"] == ["W +0.25", "W +0.25"]


def test_without_an_estimate_there_is_no_likeness_to_draw() -> None:
    assert compare_charts.likeness(compared({"base": ["a"]}), LENS, dark=False) is None


def test_the_frontier_marks_the_steer_in_use_and_names_its_axes() -> None:
    points = tuple(FrontierPoint(s / 10, 1 - s / 20, s / 15) for s in range(11))
    figure = drawn(compare_charts.frontier(Frontier(points, True), 0.52, dark=False))
    assert figure["data"][0]["text"][:2] == ["0%", "10%"]
    assert figure["data"][1]["y"] == [0.75], "the point of steer 0.5"
    assert "p-MRR" in figure["layout"]["xaxis"]["title"]["text"]
    assert CSFCUBE_NDCG in figure["layout"]["yaxis"]["title"]["text"]
    estimated = drawn(compare_charts.frontier(Frontier(points, False), 0.5, dark=False))
    assert "p-MRR" not in estimated["layout"]["xaxis"]["title"]["text"]


def test_a_steer_whose_obedience_is_undefined_is_left_out_of_the_frontier() -> None:
    points = (FrontierPoint(0.0, 0.9, None), FrontierPoint(0.5, 0.8, 0.1))
    figure = drawn(compare_charts.frontier(Frontier(points, True), 0.0, dark=False))
    assert figure["data"][0]["text"] == ["50%"]
    assert len(compare_charts.frontier(Frontier(points[:1], True), 0.0, dark=False).data) == 1


def test_equal_comparisons_make_equal_figures() -> None:
    """Else the browser would draw them again after every click."""
    names = ["a", "b"]
    first, second = (
        compare_charts.matrix(names, {("a", "b"): 0.5}, "rbo", dark=False).to_json()
        for _ in range(2)
    )
    assert first == second
