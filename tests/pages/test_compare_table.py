"""The table of a whole collection on the Compare page, and what is taken home from the page."""

import csv
import io
import json
from dataclasses import replace

import pytest

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
from pages._compare.sections import ranks_csv
from tests.pages.visits import click, param, shown, visit
from tests.support import wait_until


@pytest.fixture
def two_pairs(explorer, monkeypatch):
    """The demo's collection cut to two queries, so that its table takes a moment."""
    whole = explorer.comparing.collection("demo")
    few = replace(whole, topics=[t for t in whole.topics if t.aspect and t.seed][:2])
    monkeypatch.setattr(explorer.comparing, "collection", lambda _: few)


def table_of(explorer, systems):
    """The table of two wordings, once it is computed."""

    def computed():
        request = SensitivityRequest("demo", systems, ("base", "generic"))
        job = explorer.comparing.find_sensitivity(request)
        assert job is not None
        assert not job.error
        return job.report

    return wait_until(computed, what="the table")


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
    found = table_of(demo, ("dense", "aspect"))
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
