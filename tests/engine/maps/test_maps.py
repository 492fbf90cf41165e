"""The map of a corpus: made, kept, extended, looked at, coloured and laid over."""

from dataclasses import replace

import numpy as np
import pytest

from engine.corpora import map_making
from engine.corpora.registry import store_of
from engine.errors import (
    BadInputError,
    NotAllowedError,
    StorageError,
    UnknownNameError,
)
from engine.lenses.definitions import POSTS
from engine.types.annotating import PoolRequest
from engine.types.corpora import ImportRequest
from engine.types.maps import WHOLE_DOCUMENT
from engine.types.people import Person
from engine.types.searches import Query
from storage.maps import FILE
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import ended, make_explorer, write_jsonl

SEED = "bees-network"
ADA = Person("ada@example.org", "Ada", "annotator")


@pytest.fixture(scope="module")
def mapped(mapped_home):
    return make_explorer(mapped_home)


@pytest.fixture
def few(fresh):
    """A corpus of twelve documents, whose map takes no time."""
    fresh.library.add("few", DOCUMENTS[:12])
    return fresh


def seen(explorer, corpus="small"):
    return explorer.maps.view(corpus)


def file_of(explorer):
    """The map of ``few``."""
    return store_of(explorer.home, explorer.ledger.corpus("few")) / FILE


# -- what is kept --------------------------------------------------------------------------


def test_a_corpus_without_a_map_says_so(small):
    assert small.maps.view("small") is None
    with pytest.raises(BadInputError, match="seedlens map small"):
        small.maps.values("small", "cluster")
    with pytest.raises(UnknownNameError):
        small.maps.view("nothing")


def test_there_is_a_layout_of_whole_documents_and_one_for_each_aspect(mapped):
    found, opened = seen(mapped), mapped.library.open("small")
    assert [*found.layouts] == [WHOLE_DOCUMENT, *opened.aspects]
    assert (found.doc_ids, found.titles) == (tuple(opened.doc_ids), tuple(opened.titles))
    assert (found.sampled, found.missing) == (None, 0)
    for name, layout in found.layouts.items():
        has_position = ~np.isnan(layout.positions[:, 0])
        column = "vector" if name == WHOLE_DOCUMENT else f"aspect_{name}"
        rows = np.arange(len(opened), dtype=np.intp)
        vectors = opened.vectors(rows, [column])[column]
        assert np.array_equal(has_position, np.linalg.norm(vectors, axis=1) > 0)
        for level in layout.levels:
            assert np.array_equal(level.labels >= 0, has_position)
            assert len(set(level.names)) == len(level.names) == level.labels.max() + 1
    assert not np.isnan(found.layouts[WHOLE_DOCUMENT].positions).any()
    assert np.isnan(found.layouts["method"].positions).any(), "one has no method"


def test_a_map_is_the_same_object_until_it_is_made_anew(few):
    few.maps.build("few")
    first = seen(few, "few")
    assert few.maps.build("few").layouts == (), "nothing is new"
    assert seen(few, "few") is first
    assert len(few.maps.build("few", rebuild=True).layouts) == len(first.layouts)
    again = seen(few, "few")
    assert again is not first
    for name, layout in again.layouts.items():
        kept = first.layouts[name]
        assert np.array_equal(layout.positions, kept.positions, equal_nan=True), "the same seed"
        assert [level.names for level in layout.levels] == [level.names for level in kept.levels]


def test_new_documents_are_placed_and_the_others_stay(mapped_copy):
    before = seen(mapped_copy)
    texts = {one["doc_id"]: one for one in DOCUMENTS}
    new = [{**texts[SEED], "doc_id": "new"}, {"doc_id": "insects", "text": "Bees are insects."}]
    mapped_copy.library.add("small", new)
    between = seen(mapped_copy)
    assert between.missing == 2
    assert np.isnan(between.layouts[WHOLE_DOCUMENT].positions).any()
    report = mapped_copy.maps.build("small")
    after = seen(mapped_copy)
    assert (report.placed, after.missing) == (2, 0)
    row_of = {doc_id: row for row, doc_id in enumerate(after.doc_ids)}
    old = [row_of[doc_id] for doc_id in before.doc_ids]
    for name, layout in after.layouts.items():
        kept = before.layouts[name]
        assert np.array_equal(layout.positions[old], kept.positions, equal_nan=True)
        for now, then in zip(layout.levels, kept.levels, strict=True):
            assert np.array_equal(now.labels[old], then.labels)
            assert now.labels[row_of["new"]] == now.labels[row_of[SEED]], "its twin's"
        twins = layout.positions[[row_of["new"], row_of[SEED]]]
        assert np.abs(np.diff(twins, axis=0)).max() < 0.02


def test_a_document_whose_text_changed_is_placed_anew(mapped_copy):
    before = seen(mapped_copy)
    other = next(one for one in DOCUMENTS if one["doc_id"] == "bridges-survey")
    mapped_copy.library.add("small", [{**other, "doc_id": SEED}])
    assert mapped_copy.maps.build("small").placed == 1

    def place(drawn, doc_id):
        return drawn.layouts[WHOLE_DOCUMENT].positions[drawn.doc_ids.index(doc_id)]

    after = seen(mapped_copy)
    assert np.abs(place(after, SEED) - place(after, "bridges-survey")).max() < 0.02
    assert not np.allclose(place(after, SEED), place(before, SEED))


def test_a_damaged_map_is_named_and_made_anew(few):
    few.maps.build("few")
    file_of(few).write_bytes(b"PAR1 and no more")
    with pytest.raises(StorageError, match="cannot be read") as refused:
        few.maps.view("few")
    assert "seedlens map" in refused.value.remedy
    assert few.library.set_lens("few", POSTS), "it keeps no corpus from another lens"
    assert few.maps.build("few").layouts
    assert seen(few, "few").missing == 0


def test_a_map_that_is_cancelled_changes_nothing(few):
    few.maps.build("few")
    kept = file_of(few).read_bytes()
    report = few.maps.build("few", ended=lambda: True, rebuild=True)
    assert (report.stopped, report.layouts) == ("cancelled", ())
    assert file_of(few).read_bytes() == kept


def test_a_map_is_made_in_the_background(few):
    maps = few.maps
    job_id = maps.start("few", owner="Grace")
    done = ended(lambda: maps.jobs.job(job_id))
    assert (done.state, done.owner, done.request) == ("done", "Grace", "few")
    assert maps.view("few") is not None
    with pytest.raises(UnknownNameError):
        maps.start("nothing")
    with pytest.raises(NotAllowedError):
        few.acting_as(ADA).maps.start("few")


# -- imports -------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_an_import_ends_with_the_map(home, tmp_path, count):
    explorer = make_explorer(home, maps=True)
    rows = [{"doc_id": f"d{at}", "text": "Bees sleep at night."} for at in range(count)]
    told: list[str] = []

    def tell(progress):
        told.append(progress.phase)
        if progress.phase == "mapping":
            assert explorer.library.corpus("few").state == "ready", "it can be searched before"

    source = write_jsonl(tmp_path / "few.jsonl", rows)
    explorer.library.import_documents(ImportRequest(source, "few"), tell)
    assert told[-5:] == ["done", *["mapping"] * 4]
    found = explorer.maps.view("few")
    assert not np.isnan(found.layouts[WHOLE_DOCUMENT].positions).any()


def test_an_import_stands_where_its_map_fails_or_is_cancelled(home, tmp_path, monkeypatch):
    explorer = make_explorer(home, maps=True)
    request = ImportRequest(write_jsonl(tmp_path / "few.jsonl", DOCUMENTS[:12]), "few")

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(map_making, "find_positions", fail)
    report = explorer.library.import_documents(request)
    assert (report.documents, report.cancelled) == (12, False)
    assert "map could not be made (MemoryError)" in report.warnings[-1]
    assert explorer.search(Query("few", seed=SEED)).results
    monkeypatch.undo()
    phases: list[str] = []
    watch = lambda progress: phases.append(progress.phase)  # noqa: E731
    report = explorer.library.import_documents(request, watch, lambda: "mapping" in phases)
    assert (report.unchanged, report.cancelled) == (12, False)
    assert explorer.maps.view("few") is None
    explorer.library.import_documents(request)
    assert explorer.maps.view("few") is not None


def test_a_corpus_that_more_than_doubles_is_laid_out_anew(home):
    explorer = make_explorer(home, maps=True)
    explorer.library.add("few", DOCUMENTS[:1])
    explorer.library.add("few", DOCUMENTS[:12])
    positions = seen(explorer, "few").layouts[WHOLE_DOCUMENT].positions
    assert len(np.unique(positions, axis=0)) == 12


# -- values and overlays -------------------------------------------------------------------


def test_documents_are_coloured_by_years_fields_clusters_and_likeness(mapped):
    maps, opened = mapped.maps, mapped.library.open("small")
    years = maps.values("small", "year").numbers
    assert [-1 if np.isnan(year) else int(year) for year in years] == opened.years.tolist()
    for field, stored in opened.fields.items():
        if field != "year":
            found = maps.values("small", field)
            assert (found.codes == -1).sum() == stored.without
            for code, name in enumerate(found.names):
                assert 1 <= (found.codes == code).sum() <= stored.counts[name]
    level = seen(mapped).layouts["method"].levels[0]
    by_cluster = maps.values("small", "cluster", layout="method")
    assert by_cluster.codes is level.labels
    assert by_cluster.names == level.names
    for aspect in (None, "method"):
        query = Query("small", seed=SEED, aspect=aspect)
        likeness = maps.values("small", "likeness", query=query).numbers
        assert np.nanargmax(likeness) == opened.row_of[SEED]
        assert likeness[opened.row_of[SEED]] == pytest.approx(1.0, abs=1e-3)
        laid = seen(mapped).layouts[aspect or WHOLE_DOCUMENT].positions[:, 0]
        assert np.array_equal(np.isnan(likeness), np.isnan(laid)), (
            "no likeness in what is not there"
        )


def test_judged_documents_pools_and_results_are_laid_over(mapped_copy):
    maps, annotation = mapped_copy.maps, mapped_copy.annotation
    project, query = annotation.project("small"), Query("small", seed=SEED, aspect="method")
    other, third = [one for one in seen(mapped_copy).doc_ids if one != SEED][:2]
    mapped_copy.notebook.judge(query, other, 1)
    mapped_copy.notebook.judge(replace(query, aspect="result"), other, 3)
    mapped_copy.acting_as(ADA).notebook.judge(query, third, 2)
    annotation.fill_pool(project, PoolRequest(systems=("dense",), depth=5))
    row_of = mapped_copy.library.open("small").row_of
    judged, pool, results = (
        maps.overlay("small", kind, project=project, query=query)
        for kind in ("judged", "pool", "results")
    )
    assert set(judged) == {row_of[other], row_of[third]}
    assert set(pool) == {row_of[item.doc_id] for item in annotation.pool(project)}
    assert pool
    ranked = mapped_copy.search(query).results
    assert results == [row_of[one.doc_id] for one in ranked]
    grades = maps.values("small", "grade", project=project).numbers
    assert (grades[row_of[other]], grades[row_of[third]], np.isnan(grades).sum()) == (3, 2, 38)
    ada = mapped_copy.acting_as(ADA).maps
    own = ada.values("small", "grade", project=project).numbers
    assert np.flatnonzero(~np.isnan(own)).tolist() == [row_of[third]], "others' are for leads"
    assert ada.overlay("small", "judged", project=project) == [row_of[third]]


def test_what_is_needed_and_was_not_given_is_named(mapped):
    maps = mapped.maps
    for refused, by, match in (
        (maps.values, "likeness", "seed"),
        (maps.values, "grade", "project"),
        (maps.overlay, "pool", "project"),
        (maps.overlay, "results", "query"),
    ):
        with pytest.raises(BadInputError, match=match):
            refused("small", by)
    asked = Query("small", seed=SEED, aspect="x")
    for by, more, match in (
        ("colour", {}, "no field 'colour'"),
        ("cluster", {"layout": "taste"}, "no layout 'taste'"),
        ("likeness", {"query": Query("small", seed="x")}, "'x'"),
        ("likeness", {"query": asked}, "no aspect 'x'"),
    ):
        with pytest.raises(UnknownNameError, match=match):
            maps.values("small", by, **more)


# -- another lens ----------------------------------------------------------------------------


def test_under_another_lens_whole_documents_stay_and_the_maps_by_aspect_are_made(few):
    few.maps.build("few")
    before = seen(few, "few")
    few.library.set_lens("few", POSTS)
    between = seen(few, "few")
    assert [*between.layouts] == [WHOLE_DOCUMENT], "those by aspect were of other sentences"
    keys = tuple(aspect.key for aspect in POSTS.aspects)
    report = few.maps.build("few")
    assert (report.layouts, report.placed) == (keys, 0)
    after = seen(few, "few")
    assert [*after.layouts] == [WHOLE_DOCUMENT, *keys]
    for now in (between, after):
        whole, was = now.layouts[WHOLE_DOCUMENT], before.layouts[WHOLE_DOCUMENT]
        assert np.array_equal(whole.positions, was.positions)
        assert [level.names for level in whole.levels] == [level.names for level in was.levels]
