"""The Compare page: what it says in every state, that a link brings it back, and the table of a
whole collection."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from engine.errors import BadInputError
from engine.types.comparisons import (
    ComparisonRequest,
    Sensitivity,
    SensitivityRequest,
    SensitivityRow,
    SystemSensitivity,
    Variant,
)
from pages._common.charts import frame_csv
from pages._compare.collection import matrix_frame, sensitivity_frame
from pages._compare.compare_page import edited, named_by_words
from pages._compare.compare_state import (
    LONGEST_LINK,
    MOST_VARIANTS,
    OPENING_SYSTEMS,
    CompareView,
    free_name,
    variants_from_json,
    variants_to_json,
)
from pages._compare.sections import ranks_csv
from tests.pages.visits import BROKEN, click, param, run, shown, visit
from tests.support import ended

EVIL = '<b>x</b> **y** <img src="z">'


def variants(page):
    return variants_from_json(param(page, "variants"))


def charts(page):
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def link(*rows):
    return json.dumps(rows)


BASE: dict[str, object] = {"name": "base", "wording": "Papers that report a similar finding."}
OTHER: dict[str, object] = {"name": "other", "wording": "Papers that use a similar method."}


def test_a_first_visit_sees_a_wording_followed_by_one_system_and_not_by_the_others(demo):
    page = visit("compare")
    assert [v.system for v in variants(page)] == list(OPENING_SYSTEMS)
    assert len({v.instruction for v in variants(page)}) == 1
    first, second, third = shown(page).split("cmp-verdict")[1:4]
    assert "follows" in first
    assert "does not read wordings" in second, "the best first"
    assert "follows" not in third
    assert "RBO" in first, "with the numbers behind it"
    columns = list(page.dataframe[2].value)
    assert "nDCG@20 (CSFCube)" in columns
    assert "nDCG@20" not in columns


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ('"x"', "not a list"),
        (link({**BASE, "__class__": "x"}), "variant 1: missing or unknown fields"),
        (link({**BASE, "steer": 7}), "variant 1: steer is 7"),
        ('[{"name":"a","wording":"b","steer":NaN}]', "variant 1: steer is nan"),
        (link({**BASE, "wording": 3}), "variant 1: wording"),
        (link({**BASE, "name": "  "}), "variant 1: name"),
        (link(*[BASE] * (MOST_VARIANTS + 1)), f"the maximum is {MOST_VARIANTS}"),
        ("[" * 50_000, "not JSON"),
        (link({**BASE, "reading": "+method,-method"}), "variant 1: invalid interpretation"),
        (link({**BASE, "sentences": "first"}), "variant 1: invalid interpretation"),
    ],
)
def test_variants_that_cannot_be_read_say_why(text, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        variants_from_json(text)


def test_a_link_that_cannot_be_read_is_explained_and_the_page_opens(demo):
    page = visit("compare", corpus="demo", variants="{")
    assert "not JSON" in shown(page)
    assert BROKEN not in shown(page)
    assert len(variants(page)) == 3, "the opening comparison is shown instead"
    wrong = {"depth": "7", "matrix": "magic", "show": "x", "corpus": "nowhere", "stored": "x"}
    page = visit("compare", **wrong)
    assert "sl-error" in shown(page)
    assert BROKEN not in shown(page)
    assert "cmp-verdict" in shown(page)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"variants": link(BASE, BASE)}, "Two variants are called"),
        ({"variants": link({**BASE, "reading": "+taste"})}, "There is no aspect"),
    ],
)
def test_a_comparison_that_cannot_be_made_leaves_the_controls_to_mend_it(demo, params, says):
    page = visit("compare", **{"corpus": "demo", **params})
    assert says in shown(page)
    assert BROKEN not in shown(page)
    assert page.selectbox(key="compare_corpus").value == "demo"
    assert page.button(key="compare_preset_paraphrases") is not None
    assert not page.get("plotly_chart")


def test_names_are_shown_as_they_were_typed(demo):
    page = visit("compare", variants=link(BASE, {**OTHER, "wording": EVIL}))
    assert "<img" not in shown(page)
    assert "&lt;img" in shown(page)
    for chart in charts(page):
        assert "<img" not in json.dumps(chart)
        assert "<b>x" not in json.dumps(chart)
    assert not page.markdown


def test_five_kinds_of_wording_and_the_paraphrases_are_one_click_away(demo):
    page = visit("compare")
    click(page, "compare_preset_five_kinds")
    five = variants(page)
    assert [v.name for v in five] == ["base", "generic", "definition", "paraphrase-1", "subset"]
    assert five[-1].subset
    click(page, "compare_preset_paraphrases")
    assert [v.name for v in variants(page)][:2] == ["base", "paraphrase-1"]


def test_another_aspect_changes_the_built_in_wordings_and_leaves_ones_own(demo):
    result, method = (demo.library.lens("demo").aspects[i].instruction for i in (2, 1))
    rows = link(
        {"name": "base", "wording": result},
        {"name": "mine", "wording": "my own words"},
        {"name": "chosen", "wording": "mine", "aspect": "result"},
    )
    page = visit("compare", aspect="result", variants=rows)
    page.get_by_key("compare_aspect").set_value("method").run()
    assert [v.instruction for v in variants(page)] == [method, "my own words", "mine"]
    assert variants(page)[2].aspect == "method", "which was chosen for it"
    assert param(page, "aspect") == "method"


def test_a_seed_and_an_aspect_that_are_not_there_are_named_and_others_compared(demo):
    page = visit("compare", corpus="demo", seed="nobody", aspect="taste")
    assert "There is no document &#x27;nobody&#x27;" in shown(page)
    assert "There is no aspect &#x27;taste&#x27;" in shown(page)
    assert "cmp-verdict" in shown(page)
    assert (param(page, "seed"), param(page, "aspect")) == ("demo-0232", "result")


def test_an_open_document_shows_its_evidence_and_one_that_is_gone_says_so(demo):
    page = visit("compare", document="demo-0100")
    assert not page.exception
    assert "sl-error" not in shown(page)
    page = visit("compare", document="nobody")
    assert "There is no document" in shown(page)
    assert "cmp-verdict" in shown(page)


def test_without_judgments_the_page_says_why_there_is_no_p_mrr(demo):
    text_id = demo.notebook.put_text(
        "Buses are late. We fit a Bayesian model with random effects. Delays shrink by a third."
    )
    page = visit("compare", corpus="demo", text=text_id, matrix="p_mrr",
                     variants=link(BASE, OTHER))  # fmt: skip
    assert "Nobody judged Method for this seed" in shown(page)
    assert "need no judgments" in shown(page)
    columns = list(page.dataframe[2].value)
    assert "RBO to Papers that report a similar finding." in columns, "no judgments are needed"
    assert not any("Rank gain" in column or column == "p-MRR" for column in columns)


# -- the grid, and what an audience sees -----------------------------------------------------


def test_every_wording_is_ranked_on_every_system_that_is_chosen_and_the_best_is_first(demo):
    page = visit("compare", corpus="demo", aspect="method", variants=link(BASE, OTHER))
    page.multiselect(key="compare_on_systems").set_value(["aspect", "dense"])
    page = run(page)
    assert [v.system for v in variants(page)] == ["aspect", "dense"] * 2
    grid = page.dataframe[0].value
    assert list(grid) == ["Instruction", "Aspect-aware (aspect)", "Meaning (dense)"]
    assert list(grid["Instruction"]) == [OTHER["wording"], BASE["wording"]]
    assert "p-MRR" in grid["Aspect-aware (aspect)"][0]
    assert "Best first, by nDCG@20 (CSFCube)." in shown(page)
    assert len(page.dataframe[1].value) == 20, "the list of the best cell"
    other = visit(
        "compare",
        **{**{n: param(page, n) for n in ("corpus", "seed", "variants")}, "cell": "other-dense"},
    )
    assert not other.dataframe[1].value.equals(page.dataframe[1].value)


def test_too_many_wordings_for_the_systems_are_refused_with_their_number():
    view = CompareView(variants=tuple(Variant(f"v{i}", f"words {i}") for i in range(5)))
    assert len(view.on_systems(["aspect", "dense"]).variants) == 10
    weights = [Variant(f"v{i}", "words", steer=i / 10) for i in (3, 7)]
    both = CompareView(variants=tuple(weights)).on_systems(["aspect", "dense"])
    assert [v for v in both.variants if v.system == "aspect"] == weights, "none is lost"
    assert len(both.variants) == 3
    with pytest.raises(BadInputError, match="5 instructions on 3 systems are 15 variants"):
        view.on_systems(["aspect", "dense", "bm25"])


def test_presenting_shows_verdicts_and_flow_without_controls(demo):
    page = visit("compare", present="1")
    assert "ranks first" in shown(page)
    assert "cmp-verdict" in shown(page)
    assert not page.selectbox
    click(page, "compare_present_off")
    assert param(page, "present") == ""
    assert page.selectbox(key="compare_corpus").value == "demo"


# -- links -----------------------------------------------------------------------------------


def test_variants_come_back_from_a_link_as_they_were():
    given = (
        Variant("base", "same “method” & <data>\n不同", "aspect", 0.35),
        Variant("none", "", "dense"),
        Variant("cut", "x", "late-interaction", 0.5, True),
        Variant("read", "x", aspect="method", focus=(2,), reading=("+method", "-background")),
    )
    text = variants_to_json(given)
    assert variants_from_json(text) == given
    assert "steer" not in json.loads(text)[1], "what is default is left out"


def test_a_link_that_would_be_too_long_is_stored_here_and_opens_again(demo):
    long = [{"name": f"long-{i}", "wording": f"same method {i} " + "ä" * 900} for i in range(4)]
    page = visit("compare", variants=link(*long))
    assert param(page, "variants") == ""
    stored = param(page, "stored")
    assert len(stored) < 100 < LONGEST_LINK
    again = visit("compare", seed=param(page, "seed"), stored=stored)
    assert "sl-error" not in shown(again)
    assert param(again, "stored") == stored
    assert "same method 3" in shown(again)


# -- the editor, and where a visit starts ----------------------------------------------------


def test_a_variant_that_was_duplicated_gets_a_name_of_its_own():
    rows = [BASE, BASE, {**BASE, "name": "mine"}]
    assert [v.name for v in edited(rows, before=2)] == ["base", "base-2", "mine"]
    assert free_name("base", ["base", "base-2"]) == "base-3"


def test_a_built_in_name_goes_with_its_instruction():
    base, mine = Variant("base-dense", "Same methods.", "dense"), Variant("mine", "x")
    built_in = {"base": "Same methods."}
    changed = [replace(base, instruction="own words"), mine]
    assert [v.name for v in named_by_words(changed, (base, mine), built_in)] == ["mine-2", "mine"]
    kept = [replace(base, steer=0.7), replace(mine, instruction="y")]
    assert named_by_words(kept, (base, mine), built_in) == kept


@pytest.mark.parametrize("rows", [None, [], [BASE] * 13, [{"name": "x"}], [{**BASE, "steer": "1"}]])
def test_rows_that_the_editor_cannot_have_made_are_refused(rows):
    with pytest.raises(BadInputError):
        edited(rows, before=1)


# -- a whole collection ----------------------------------------------------------------------


@pytest.fixture
def two_pairs(explorer, monkeypatch):
    """The demo's collection cut to two queries, so that its table takes a moment."""
    whole = explorer.comparing.collection("demo")
    few = replace(whole, topics=[t for t in whole.topics if t.aspect and t.seed][:2])
    monkeypatch.setattr(explorer.comparing, "collection", lambda _: few)


def test_a_corpus_without_a_collection_says_so(small, serve):
    serve(small)
    page = visit("compare", corpus="small", show="collection")
    assert "did not come from a test collection" in shown(page)
    assert "GritLM-7B" not in shown(page)


def of_rows(rows):
    return Sensitivity("lab", "lab", 1, (SystemSensitivity("dense", tuple(rows), {}, 0.0),), False)


def test_the_paraphrases_have_a_mean_as_in_the_paper():
    rows = [
        SensitivityRow(name, {"p-MRR": value, "rbo": None}, {"method": {"p-MRR": value}}, {}, 1.0)
        for name, value in (
            ("base", 0.5),
            ("paraphrase-1", 0.1),
            ("paraphrase-2", 0.3),
            ("subset", 1),
        )
    ]
    found = sensitivity_frame(of_rows(rows)).set_index("variant")
    assert list(found.index) == [
        "base", "paraphrase-1", "paraphrase-2", "paraphrases, mean", "subset"
    ]  # fmt: skip
    mean = found.loc["paraphrases, mean"]
    assert mean["p-MRR"] == mean["p-MRR method"] == pytest.approx(0.2)
    assert mean["rbo"] != mean["rbo"]
    assert len(sensitivity_frame(of_rows(rows[:2]))) == 2, "one paraphrase is its own mean"


def test_a_link_to_a_table_that_is_not_in_memory_offers_to_compute_just_that(demo):
    page = visit("compare", show="collection", systems="bm25,dense",
                     wordings="generic")  # fmt: skip
    assert "Not computed yet" in shown(page)
    assert page.get_by_key("compare_systems").value == ["bm25", "dense"]
    assert page.get_by_key("compare_wordings").value == ["generic"]
    click(page, "compare_start")
    job = demo.comparing.find_sensitivity(
        SensitivityRequest("demo", ("bm25", "dense"), ("generic",))
    )
    assert job is not None
    demo.comparing.jobs.cancel(job.id)
    assert param(page, "systems") == "bm25,dense"
    assert param(page, "wordings") == "generic"


def test_a_computed_table_is_there_for_the_next_visitor_and_downloads(demo, two_pairs):
    comparing = demo.comparing
    request = SensitivityRequest("demo", ("dense", "aspect"), ("base", "generic"))
    first = comparing.start_sensitivity(request)
    assert comparing.start_sensitivity(request) == first
    found = ended(lambda: comparing.find_sensitivity(request)).report
    page = visit("compare", show="collection", systems="dense,aspect",
                     wordings="base,generic")  # fmt: skip
    assert {"System", "RBO", "overlap", "correct aspect", "Seconds"} <= {*page.dataframe[0].value}
    assert {"Table (CSV)", "Everything (JSON)"} <= {b.label for b in page.get("download_button")}

    rows = list(csv.DictReader(io.StringIO(frame_csv(sensitivity_frame(found)))))
    assert [(r["system"], r["variant"]) for r in rows] == [
        ("dense", "base"), ("dense", "generic"), ("aspect", "base"), ("aspect", "generic")
    ]  # fmt: skip
    assert float(rows[2]["nDCG@20"]) == found.systems[1].rows[0].metrics["nDCG@20"]
    cells = list(csv.DictReader(io.StringIO(frame_csv(matrix_frame(found)))))
    assert {c["first"] for c in cells} == {"base", "generic"}
    told = json.loads(comparing.sensitivity_json(found))
    assert set(told["systems"]) == {"dense", "aspect"}


def test_the_csv_holds_every_document_with_its_rank_under_every_variant(explorer):
    asked = (Variant("base", "Papers that use a similar method."), Variant("dense", "", "dense"))
    comparison = explorer.comparing.compare(
        ComparisonRequest("demo", "demo-0232", None, "method", asked)
    )
    rows = list(csv.reader(io.StringIO(ranks_csv(explorer, comparison))))
    assert rows[0] == ["doc_id", "title", "base", "dense"]
    assert len(rows) == 1 + len(comparison.variants[0].ranking.doc_ids)
    by_rank = {int(row[3]): row for row in rows[1:]}
    assert by_rank[1][0] == comparison.variants[1].ranking.doc_ids[0]
    assert by_rank[1][1] == comparison.titles[by_rank[1][0]]
