"""The Compare page: what it says in every state, and that a link brings it back."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.collections import read_collection
from engine.compare.comparisons import FINISHED_KEPT
from engine.config import ROOT
from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types import Sensitivity, SensitivityRow, Variant
from pages import _compare
from pages._compare_components import edited
from pages._compare_exports import ranks_csv
from pages._compare_tables import matrix_csv, table_csv, with_mean
from pages._compare_view import (
    LONGEST_LINK,
    MOST_VARIANTS,
    free_name,
    params_of_search,
    variants_from_json,
    variants_to_json,
)
from pages._paper import WORDINGS
from pages._shared import escape_label

BROKEN = "Something went wrong in SeedLens itself"
EVIL = '<b>x</b> **y** <img src="z">'


@pytest.fixture(autouse=True)
def _no_cache_outlives_a_test() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def open_page(explorer: Explorer, monkeypatch: pytest.MonkeyPatch, **params: str) -> AppTest:
    monkeypatch.setattr("pages._shared.open_engine", lambda: explorer)
    page = AppTest.from_file(str(ROOT / "pages" / "compare.py"), default_timeout=60)
    for name, value in params.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception, page.exception
    return page


def words(page: AppTest) -> str:
    """All HTML of the page."""
    return " ".join(element.proto.body for element in page.get("html"))


def param(page: AppTest, name: str) -> str:
    found = page.query_params.get(name, "")
    return found[0] if isinstance(found, list) else found


def variants(page: AppTest) -> tuple[Variant, ...]:
    return variants_from_json(param(page, "variants"))


def charts(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def link(*rows: dict[str, object]) -> str:
    return json.dumps(rows)


BASE: dict[str, object] = {"name": "base", "wording": "Papers that report a similar finding."}
OTHER: dict[str, object] = {"name": "other", "wording": "Papers that use a similar method."}


def test_a_first_visit_sees_a_wording_followed_by_one_system_and_not_by_the_others(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch)
    shown = words(page)
    assert [v.system for v in variants(page)] == list(_compare.OPENING_SYSTEMS)
    assert len({v.instruction for v in variants(page)}) == 1
    first, second, third = shown.split("cmp-verdict")[1:4]
    assert "follows" in first
    assert "follows" not in second
    assert "does not read wordings" in third
    assert "RBO" in first, "with the numbers behind it"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "no list"),
        ('"x"', "no list"),
        (link({"name": "base"}), "variant 1 does not have the fields"),
        (link({**BASE, "__class__": "x"}), "variant 1 does not have the fields"),
        (link({**BASE, "steer": 7}), "the steer of variant 1 is 7"),
        ('[{"name":"a","wording":"b","steer":NaN}]', "the steer of variant 1 is nan"),
        (link({**BASE, "steer": True}), "the steer of variant 1"),
        (link({**BASE, "wording": 3}), "the wording of variant 1"),
        (link({**BASE, "name": "  "}), "the name of variant 1"),
        (link(*[BASE] * (MOST_VARIANTS + 1)), f"{MOST_VARIANTS} are the most"),
        ('[{"name":"a","wording":"\\ud800"}]', "half a character"),
        ("[" * 50_000, "not JSON"),
    ],
)
def test_a_link_whose_variants_cannot_be_read_says_why_and_the_page_opens(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    page = open_page(explorer, monkeypatch, corpus="demo", variants=text)
    assert says in words(page)
    assert BROKEN not in words(page)
    assert len(variants(page)) == 3, "the opening comparison is shown instead"


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"aspect": "taste"}, "There is no aspect"),
        ({"seed": "nobody"}, "There is no document"),
        ({"variants": link({**BASE, "system": "magic"})}, "There is no system"),
        ({"variants": link(BASE, BASE)}, "Two variants are called"),
        ({"variants": link({**BASE, "wording": "w" * 2001})}, "2001 characters"),
    ],
)
def test_a_comparison_that_cannot_be_made_leaves_the_controls_to_mend_it(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, params: dict[str, str], says: str
) -> None:
    page = open_page(explorer, monkeypatch, **{"corpus": "demo", **params})
    assert says in words(page)
    assert BROKEN not in words(page)
    assert page.selectbox(key="compare_corpus").value == "demo"
    assert page.button(key="compare_preset_paraphrases") is not None
    assert not page.get("plotly_chart")


@pytest.mark.parametrize(
    ("name", "value"),
    [("depth", "7"), ("matrix", "magic"), ("show", "x"), ("corpus", "nowhere"), ("stored", "x")],
)
def test_any_other_parameter_that_cannot_be_read_is_explained(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    page = open_page(explorer, monkeypatch, **{name: value})
    assert "sl-error" in words(page)
    assert BROKEN not in words(page)
    assert "cmp-verdict" in words(page)


def test_one_variant_shows_its_ranking_and_that_it_takes_two(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch, variants=link(BASE))
    assert "It takes two to compare" in words(page)
    assert "How far the wordings rank apart" not in words(page)
    assert page.get("bidi_component")


def test_no_wording_is_a_variant_too_and_is_called_so(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch, variants=link({**BASE, "wording": " "}, OTHER))
    comparison = compared(explorer, page)
    assert _compare._reading(comparison, 0).startswith("No instruction")
    assert _compare._reading(comparison, 1).startswith("Read as Method")


def compared(explorer: Explorer, page: AppTest) -> Any:
    return explorer.comparing.compare(
        "demo", param(page, "seed"), None, param(page, "aspect"), variants(page)
    )


def test_names_are_shown_as_they_were_typed(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch, variants=link(BASE, {**OTHER, "name": EVIL}))
    assert "<img" not in words(page)
    assert "&lt;img" in words(page)
    for chart in charts(page):
        assert "<img" not in json.dumps(chart)
        assert "<b>x" not in json.dumps(chart)
    assert not page.markdown


def test_an_aspect_of_ones_own_lens_is_shown_as_it_was_named(
    small_copy: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    aspect = {
        "name": "**x** <b>",
        "definition": "Sentences that say what hurts.",
        "examples": ["My knee is swollen.", "At night I cough."],
    }
    other = {**aspect, "name": "Other", "examples": ["Take two a day.", "Rest for a week."]}
    lens = small_copy.library.own_lens({"name": "Own", "aspects": [aspect, other]})
    small_copy.library.set_lens("small", lens)
    page = open_page(small_copy, monkeypatch, corpus="small")
    (label, _) = page.get_by_key("compare_aspect").options
    assert escape_label("**x** <b>") in label
    assert "<b>" not in words(page)


def test_the_papers_five_and_the_paraphrases_are_one_click_away(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch)
    page.button(key="compare_preset_papers_five").click().run()
    five = variants(page)
    assert [v.name for v in five] == ["base", "generic", "definition", "paraphrase-1", "subset"]
    assert five[-1].subset
    page.button(key="compare_preset_paraphrases").click().run()
    assert [v.name for v in variants(page)][:2] == ["base", "paraphrase-1"]


def test_another_aspect_changes_the_built_in_wordings_and_leaves_ones_own(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, method = (explorer.library.lens("demo").aspects[i].instruction for i in (2, 1))
    rows = link({"name": "base", "wording": result}, {"name": "mine", "wording": "my own words"})
    page = open_page(explorer, monkeypatch, aspect="result", variants=rows)
    page.get_by_key("compare_aspect").set_value("method").run()
    assert [v.instruction for v in variants(page)] == [method, "my own words"]
    assert param(page, "aspect") == "method"


def test_an_open_document_shows_its_evidence_and_one_that_is_gone_says_so(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch, document="demo-0100")
    assert not page.exception
    assert "sl-error" not in words(page)
    page = open_page(explorer, monkeypatch, document="nobody")
    assert "There is no document" in words(page)
    assert "cmp-verdict" in words(page)


def test_without_judgments_the_page_says_why_there_is_no_p_mrr(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text_id = explorer.notebook.put_text(
        "Buses are late. We fit a Bayesian model with random effects. Delays shrink by a third."
    )
    page = open_page(explorer, monkeypatch, corpus="demo", text=text_id, matrix="p_mrr",
                     variants=link(BASE, OTHER))  # fmt: skip
    assert "Nobody judged Method for this seed" in words(page)
    assert "need no judgments" in words(page)
    assert "RBO to base" in words(page), "measures without judgments are there"
    assert "p-MRR to base" not in words(page)


def test_a_seed_without_a_sentence_of_the_aspect_says_so(
    small: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = next(
        d.doc_id for d in small.browse("small", 0, 40) if not any(s.role == 1 for s in d.sentences)
    )
    page = open_page(small, monkeypatch, corpus="small", seed=lacking, aspect="method")
    assert "The seed has no sentence of Method" in words(page)


def test_a_corpus_without_a_collection_says_so_beside_the_papers_figures(
    small: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(small, monkeypatch, corpus="small", show="collection")
    assert "did not come from a test collection" in words(page)
    assert "GritLM-7B" in words(page)
    assert f"{WORDINGS['subset'][1][0]:+.2f}" in words(page)


def test_the_paraphrases_have_a_mean_as_in_the_paper() -> None:
    rows = [
        SensitivityRow(name, {"p-MRR": value, "rbo": None}, {"method": {"p-MRR": value}}, {}, 1.0)
        for name, value in (
            ("base", 0.5),
            ("paraphrase-1", 0.1),
            ("paraphrase-2", 0.3),
            ("subset", 1),
        )
    ]
    found = with_mean(rows)
    names = [row.variant for row in found]
    assert names == ["base", "paraphrase-1", "paraphrase-2", "paraphrases, mean", "subset"]
    assert found[3].metrics == {"p-MRR": pytest.approx(0.2), "rbo": None}
    assert found[3].by_aspect["method"]["p-MRR"] == pytest.approx(0.2)
    assert with_mean(rows[:2]) == rows[:2], "one paraphrase is its own mean"


def test_a_link_to_a_table_that_is_not_in_memory_offers_to_compute_just_that(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(explorer, monkeypatch, show="collection", systems="bm25,dense",
                     wordings="generic")  # fmt: skip
    assert "Not computed since" in words(page)
    assert page.get_by_key("compare_systems").value == ["bm25", "dense"]
    assert page.get_by_key("compare_wordings").value == ["generic"]
    page.button(key="compare_start").click().run()
    job = explorer.comparing.find_sensitivity("demo", ("bm25", "dense"), ("generic",))
    assert job is not None
    explorer.comparing.stop_sensitivity(job.id)
    assert param(page, "systems") == "bm25,dense"
    assert param(page, "wordings") == "generic"


@pytest.mark.parametrize("name", ["systems", "wordings"])
def test_a_table_of_what_there_is_not_is_explained(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    page = open_page(explorer, monkeypatch, show="collection", **{name: "magic"})
    assert "is none of" in words(page)
    assert BROKEN not in words(page)


def test_a_computed_table_is_there_for_the_next_visitor_and_downloads(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, two_pairs: None
) -> None:
    comparing = explorer.comparing
    first = comparing.start_sensitivity("demo", ("dense", "aspect"), ("base", "generic"))
    assert comparing.start_sensitivity("demo", ("dense", "aspect"), ("base", "generic")) == first
    found = table_of(explorer, ("dense", "aspect"))
    page = open_page(explorer, monkeypatch, show="collection", systems="dense,aspect",
                     wordings="base,generic")  # fmt: skip
    assert "read as asked" in words(page)
    assert {"Table (CSV)", "Everything (JSON)"} <= {b.label for b in page.get("download_button")}

    rows = list(csv.DictReader(io.StringIO(table_csv(found))))
    assert [(r["system"], r["variant"]) for r in rows] == [
        ("dense", "base"), ("dense", "generic"), ("aspect", "base"), ("aspect", "generic")
    ]  # fmt: skip
    assert float(rows[2]["nDCG@20"]) == found.systems[1].rows[0].metrics["nDCG@20"]
    cells = list(csv.DictReader(io.StringIO(matrix_csv(found))))
    assert {c["first"] for c in cells} == {"base", "generic"}
    told = json.loads(comparing.sensitivity_json(found))
    assert set(told["systems"]) == {"dense", "aspect"}


def test_of_finished_tables_only_the_last_few_stay_in_memory(
    explorer: Explorer, two_pairs: None
) -> None:
    ids = []
    for _ in range(FINISHED_KEPT + 1):
        ids.append(explorer.comparing.start_sensitivity("demo", ("dense",), ("base", "generic")))
        table_of(explorer, ("dense",))
    assert len(set(ids)) == len(ids), "what is finished is computed anew when asked for"
    assert explorer.comparing.sensitivity_state(ids[0]) is None
    assert all(explorer.comparing.sensitivity_state(i) is not None for i in ids[1:])


@pytest.fixture
def two_pairs(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's collection cut to two queries, so that its table takes a moment."""
    whole = explorer.comparing.collection("demo")
    few = replace(whole, topics=[t for t in whole.topics if t.aspect and t.seed][:2])
    monkeypatch.setattr(explorer.comparing, "collection", lambda _: few)


def table_of(explorer: Explorer, systems: tuple[str, ...]) -> Sensitivity:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        job = explorer.comparing.find_sensitivity("demo", systems, ("base", "generic"))
        assert job is not None
        assert not job.error
        if job.result is not None:
            return job.result
        time.sleep(0.02)
    raise AssertionError("it never ended")


# -- links -----------------------------------------------------------------------------------


def test_variants_come_back_from_a_link_as_they_were() -> None:
    given = (
        Variant("base", "same “method” & <data>\n不同", "aspect", 0.35),
        Variant("none", "", "dense"),
        Variant("cut", "x", "late-interaction", 0.5, True),
    )
    text = variants_to_json(given)
    assert variants_from_json(text) == given
    assert "steer" not in json.loads(text)[1], "what is default is left out"


def test_a_search_from_elsewhere_opens_with_its_own_wording_beside_none(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Variant("mine", "the same data", "aspect", 0.7)
    params = params_of_search("demo", "demo-0353", "", "method", own)
    page = open_page(explorer, monkeypatch, **params)
    assert variants(page) == (own, Variant("none", "", "aspect", 0.7))
    assert param(page, "seed") == "demo-0353"
    params = params_of_search("demo", "demo-0353", "", "method", None)
    assert "variants" not in params


def test_a_link_that_would_be_too_long_is_stored_here_and_opens_again(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [{"name": f"long-{i}", "wording": f"same method {i} " + "ä" * 900} for i in range(4)]
    page = open_page(explorer, monkeypatch, variants=link(*long))
    assert param(page, "variants") == ""
    stored = param(page, "stored")
    assert len(stored) < 100 < LONGEST_LINK
    again = open_page(explorer, monkeypatch, seed=param(page, "seed"), stored=stored)
    assert "sl-error" not in words(again)
    assert param(again, "stored") == stored
    assert "long-3" in words(again)


# -- the editor and the exports --------------------------------------------------------------


def test_a_variant_that_was_duplicated_gets_a_name_of_its_own() -> None:
    rows = [BASE, BASE, {**BASE, "name": "mine"}]
    assert [v.name for v in edited(rows, before=2)] == ["base", "base-2", "mine"]
    assert free_name("base", ["base", "base-2"]) == "base-3"


def test_a_name_that_a_person_typed_twice_stays_for_the_comparison_to_refuse() -> None:
    assert [v.name for v in edited([BASE, BASE], before=2)] == ["base", "base"]


@pytest.mark.parametrize("rows", [None, [], [BASE] * 9, [{"name": "x"}], [{**BASE, "steer": "1"}]])
def test_rows_that_the_editor_cannot_have_made_are_refused(rows: object) -> None:
    with pytest.raises(BadInputError):
        edited(rows, before=1)


def test_the_csv_holds_every_document_with_its_rank_under_every_variant(
    explorer: Explorer,
) -> None:
    asked = (Variant("base", "Papers that use a similar method."), Variant("dense", "", "dense"))
    comparison = explorer.comparing.compare("demo", "demo-0275", None, "method", asked)
    rows = list(csv.reader(io.StringIO(ranks_csv(explorer, comparison))))
    assert rows[0] == ["doc_id", "title", "base", "dense"]
    assert len(rows) == 1 + len(comparison.variants[0].ranking.doc_ids)
    by_rank = {int(row[3]): row for row in rows[1:]}
    assert by_rank[1][0] == comparison.variants[1].ranking.doc_ids[0]
    assert by_rank[1][1] == comparison.titles[by_rank[1][0]]


def test_a_collection_starts_on_a_seed_that_is_judged_for_two_aspects(csfcube: Path) -> None:
    topics = [(t.seed or "", t.aspect) for t in read_collection(csfcube).topics]
    seed, aspect = _compare.telling_pair(topics, ["background", "method", "result"]) or ("", "")
    assert (seed, aspect) in topics
    assert aspect == "method"
    assert len({a for s, a in topics if s == seed}) > 1
    assert _compare.telling_pair(topics[:1], ["background", "method", "result"]) is None
