"""Projects, pools and queues: who is asked for what, and that nothing said is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.annotate.pool import Pool, Queue, pace
from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import POSTS
from engine.types.annotating import (
    BINARY,
    GRADED,
    GradeMeaning,
    Judgment,
    PoolItem,
    PoolRequest,
    Project,
    Scale,
    Source,
)
from engine.types.corpora import ImportRequest
from engine.types.searches import Query, Ranking
from storage.judgment_events import CurrentJudgments
from tests.engine.annotate.grading_steps import QUERY, project_with_pool
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import ended, write_jsonl

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ITEMS = [PoolItem("q1", f"d{n}", (Source("dense", n + 1),)) for n in range(6)]


def said(doc_id, annotator="ann", seconds=0, **more):
    time = NOW + timedelta(seconds=seconds)
    judgment = Judgment("q1", doc_id, annotator, 2, time=time, corpus="c", project="p")
    return replace(judgment, **more)  # type: ignore[arg-type]


def queue(judgments=(), annotator="ann", items=ITEMS, **project):
    project_ = Project("c", "p", **project)
    return Queue(project_, annotator, Pool(items), CurrentJudgments(judgments))


def test_an_event_that_says_two_things_is_refused_and_never_acknowledged_unstored(small_copy):
    annotation = small_copy.annotation
    project, query_id = annotation.project("small"), "bees-network_method"
    for _ in range(2):  # an answer that got lost: the same is sent again
        annotation.judge(project, Judgment(query_id, "bread-network", "ann", 1, event="e"))
    for who, grade in (("ann", 2), ("bob", 1)):
        with pytest.raises(BadInputError, match="'e' is stored already with another content"):
            annotation.judge(project, Judgment(query_id, "bread-network", who, grade, event="e"))
    with pytest.raises(BadInputError, match="another content"):
        annotation.adjudicate(project, query_id, "bread-network", 1, "so", "ann", event="e")
    assert [(j.annotator, j.relevance) for j in annotation.history(project)] == [("ann", 1)]


def test_everybody_is_asked_for_everything_in_an_order_of_their_own():
    ann, bob = ([i.doc_id for i in queue(annotator=who).items] for who in ("ann", "bob"))
    assert sorted(ann) == sorted(bob) == [item.doc_id for item in ITEMS]
    assert ann != bob
    assert ann == [i.doc_id for i in queue().items]
    same = [queue(annotator=who, order="same").items for who in ("ann", "bob")]
    assert same[0] == same[1] != tuple(ITEMS)


def test_an_item_is_due_until_enough_people_have_judged_it():
    bob = said("d0", "bob")
    assert "d0" not in {i.doc_id for i in ITEMS if queue([bob]).is_due(i)}
    assert "d0" in {i.doc_id for i in ITEMS if queue([bob], per_item=2).is_due(i)}
    skipped = replace(bob, verdict="skip", relevance=None)
    assert "d0" in {i.doc_id for i in ITEMS if queue([skipped]).is_due(i)}
    model = replace(bob, origin="model")
    assert "d0" in {i.doc_id for i in ITEMS if queue([model]).is_due(i)}


def test_what_only_one_source_ranks_high_is_what_they_disagree_on_most():
    def item(doc_id, **ranks):
        return PoolItem("q1", doc_id, tuple(Source(name, rank) for name, rank in ranks.items()))

    items = [item("both", a=1, b=1), item("low", b=9), item("near", a=2, b=3), item("alone", a=1)]
    items += [PoolItem("q2", doc_id, (Source("c", 1),)) for doc_id in ("x", "y")]
    asked = queue(items=items, order="disagreement").items
    assert [i.doc_id for i in asked if i.query_id == "q1"] == ["alone", "near", "low", "both"]
    assert [i.doc_id for i in asked if i.query_id == "q2"] == ["x", "y"], "c is alone there"


def test_the_next_item_follows_the_one_just_judged_and_wraps_around():
    order = [(i.query_id, i.doc_id) for i in queue().items]
    assert queue().position(order[2]) == 3
    judged = [said(order[2][1])]
    assert [i.item for i in queue(judged).due(3)] == [*order[3:], *order[:2]]
    assert not [*queue([said(i.doc_id) for i in ITEMS]).due()]


def test_progress_counts_skips_and_leaves_out_breaks_from_the_pace():
    skip = said("d1", seconds=20, verdict="skip", relevance=None)
    found = queue([said("d0"), skip, said("d2", seconds=30)]).progress()
    assert (found.done, found.total, found.left, found.skipped) == (3, 6, 3, 1)
    assert found.per_minute == pytest.approx(4.0)
    assert pace([said("d0"), said("d1", seconds=3600)]) is None


NO_PROJECTS: list[tuple[dict[str, Any], str]] = [
    ({"name": "no spaces"}, "letters, digits"),
    ({"per_item": 0}, "at least 1"),
    ({"annotators": ("",)}, "no name"),
    ({"annotators": ("Adjudicated",)}, "the name of adjudicated"),
    ({"annotators": ("a\x07b",)}, "control characters"),
    ({"guidelines": {"": "x" * 50_001}}, "guidelines has"),
    ({"guidelines": {"colour": "x"}}, "colour"),
    ({"scale": Scale("one", GRADED.grades[:1])}, "at least two"),
    ({"scale": Scale("big", (*BINARY.grades, GradeMeaning(10, "x")))}, "0 to 9"),
]


def test_a_project_that_cannot_be_is_refused(small):
    for changes, words in NO_PROJECTS:
        with pytest.raises((BadInputError, UnknownNameError), match=words):
            small.annotation.save(replace(Project("small", "p"), **changes), "ann")
    assert small.annotation.projects() == []


def test_a_project_comes_back_as_it_was_saved_without_control_characters(small_copy):
    annotation = small_copy.annotation
    custom = Scale("three", (GradeMeaning(2, "yes"), GradeMeaning(0, "no"), GradeMeaning(1, "so")))
    project = Project("small", "p", {"": "Read\x00 **all** of <b>it</b>."}, custom, ("ann", "bob"))
    saved = annotation.save(project, "ann")
    assert annotation.project("small", "p") == saved
    assert saved.guidelines == {"": "Read **all** of <b>it</b>."}
    assert saved.scale.values == (0, 1, 2)
    with pytest.raises(UnknownNameError, match=r"no project 'q'.*It has p"):
        annotation.project("small", "q")


def test_a_pool_is_the_union_of_the_tops_and_grows_without_losing_anything(small_copy):
    annotation = small_copy.annotation
    project, query_id = project_with_pool(small_copy), QUERY
    query = annotation.queries(project)[query_id]
    tops = {
        name: [r.doc_id for r in small_copy.search(replace(query, system=name, k=5)).results]
        for name in ("bm25", "dense")
    }
    items = {item.doc_id: item.sources for item in annotation.pool(project)}
    assert set(items) == {*tops["bm25"], *tops["dense"]}
    assert query.seed not in items
    assert Source("dense", 1) in items[tops["dense"][0]]

    annotation.judge(project, Judgment(query_id, tops["dense"][0], "ann", 3))
    assert annotation.fill_pool(project, PoolRequest(("bm25", "dense"), depth=5)) == 0
    assert annotation.fill_pool(project, PoolRequest(("aspect",), variants=("generic",))) > 0
    assert set(items) < {item.doc_id for item in annotation.pool(project)}
    assert [j.relevance for j in annotation.judgments(project)] == [3]


def test_unjudged_documents_are_counted_in_the_top_of_a_system(small_copy):
    annotation = small_copy.annotation
    project, query_id = project_with_pool(small_copy), QUERY
    top = annotation.unjudged(project, ["dense"], 4)[0].missing[query_id]
    annotation.judge(project, Judgment(query_id, top[1], "ann", 0))
    dense = annotation.unjudged(project, ["dense"], 4)[0]
    assert dense.missing == {query_id: (top[0], *top[2:])}
    assert dense.judged == pytest.approx(0.25)


def test_the_seed_in_a_run_takes_nobody_s_place(small_copy):
    annotation = small_copy.annotation
    project = annotation.save(Project("small", "p"), "lead")
    (query_id,) = annotation.add_queries(project, [Query("small", seed="bees-network")])
    ranked = ("bees-network", "bees-survey", "bread-network", "maps-survey")
    runs = {"mine": [Ranking(query_id, ranked, (4.0, 3.0, 2.0, 1.0))]}
    assert annotation.fill_pool(project, PoolRequest((), depth=2, runs=runs)) == 2
    pooled = {item.doc_id: item.sources for item in annotation.pool(project)}
    assert pooled == {d: (Source("run:mine", n),) for n, d in enumerate(ranked[1:3], start=1)}
    for doc_id in pooled:
        annotation.judge(project, Judgment(query_id, doc_id, "ann", 1))
    (mine,) = annotation.unjudged(project, k=2, runs=runs)
    assert (mine.judged, mine.missing) == (1.0, {})


def test_an_annotator_goes_through_the_queue_back_and_over(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy)
    seen = []
    while (due := next(annotation.queue(project, "ann").due(), None)) is not None:
        seen.append(due.doc_id)
        annotation.judge(project, Judgment(due.query_id, due.doc_id, "ann", 1))
    assert sorted(seen) == sorted(i.doc_id for i in annotation.pool(project))
    assert annotation.queue(project, "ann").progress().left == 0
    undone = annotation.undo(project, "ann")
    assert undone is not None
    assert undone.doc_id == seen[-1]
    assert [item.doc_id for item in annotation.queue(project, "ann").due()] == [seen[-1]]


NO_JUDGMENTS: list[tuple[dict[str, Any], str]] = [
    ({"relevance": 4}, "Grades are 0, 1, 2, 3"),
    ({"relevance": True}, "Grades are"),
    ({"relevance": 2.0}, "Grades are"),
    ({"annotator": "  "}, "no name"),
    ({"annotator": "eve"}, "not among the annotators"),
    ({"note": "x" * 1_000_000}, "at most 10,000"),
    ({"query_id": "nothing_method"}, "not in project"),
    ({"doc_id": "nothing"}, "nothing"),
    ({"verdict": "skip"}, "Leave the grade out"),
    ({"event": "e" * 201}, "The event has 201 characters"),
    ({"event": "build-1"}, "begins like those of SeedLens"),
]


def test_a_judgment_that_cannot_be_is_refused_and_nothing_is_stored(small_copy):
    annotation = small_copy.annotation
    project, query_id = project_with_pool(small_copy, annotators=("ann",)), QUERY
    judgment = Judgment(query_id, annotation.pool(project)[0].doc_id, "ann", 2)
    for changes, words in NO_JUDGMENTS:
        with pytest.raises((BadInputError, UnknownNameError), match=words):
            annotation.judge(project, replace(judgment, **changes))
    assert annotation.history(project) == []


def test_notes_lose_control_characters_and_keep_markup_as_text(small_copy):
    annotation = small_copy.annotation
    project, query_id = project_with_pool(small_copy), QUERY
    doc_id = annotation.pool(project)[0].doc_id
    note = "<b>why</b>\x1b[31m\x00"
    annotation.judge(project, Judgment(query_id, doc_id, "ann", 2, note=note, marks=((0, 9),)))
    (judgment,) = annotation.judgments(project)
    assert (judgment.note, judgment.marks) == ("<b>why</b>[31m", ((0, 9),))
    assert (judgment.rank, judgment.system, judgment.blind) == (None, "", True)


SEEDS = ("bees-network", "bread-network", "tides-network", "maps-survey")
REQUEST = PoolRequest(("bm25", "dense"), 5)


def filled(explorer, project):
    return ended(lambda: explorer.annotation.filling.jobs.latest(project.key))


@pytest.fixture
def project(small_copy):
    project = small_copy.annotation.save(Project("small", "p"), "lead")
    asked = [Query("small", seed=seed, aspect="method") for seed in SEEDS]
    small_copy.annotation.add_queries(project, asked)
    return project


def test_a_pool_is_filled_query_by_query_and_what_failed_is_said(small_copy, project):
    filling, ids = small_copy.annotation.filling, list(small_copy.annotation.queries(project))
    assert filling.jobs.latest(project.key) is None
    filling.start(project, REQUEST, ids)
    job = filled(small_copy, project)
    assert (job.state, job.progress.done) == ("done", len(SEEDS))
    assert job.report is not None
    assert job.report.added == len(small_copy.annotation.pool(project)) > 0
    filling.start(project, PoolRequest(("nonsense",), 5), ids)
    job = filled(small_copy, project)
    assert job.state == "failed"
    assert "nonsense" in job.error


def test_a_kill_costs_the_query_at_hand_and_no_queries_are_not_all(small_copy, project):
    annotation, ids = small_copy.annotation, list(small_copy.annotation.queries(project))
    assert annotation.fill_pool(project, REQUEST, []) == 0
    assert annotation.pool(project) == []

    def die():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotation.fill_pool(project, REQUEST, on_query=die)
    assert {item.query_id for item in annotation.pool(project)} == {ids[0]}


def test_a_query_whose_seed_left_the_corpus_is_named_and_the_others_are_pooled(
    small_copy, project, tmp_path
):
    annotation = small_copy.annotation
    gone, *others = annotation.queries(project)
    left = [one for one in DOCUMENTS if one["doc_id"] != SEEDS[0]]
    small_copy.library.delete("small")
    source = write_jsonl(tmp_path / "left.jsonl", left)
    small_copy.library.import_documents(ImportRequest(source, "small"))
    assert annotation.unaskable(project) == (gone,)
    annotation.filling.start(project, REQUEST, [gone, *others])
    job = filled(small_copy, project)
    assert job.report is not None
    assert (job.state, job.report.left) == ("done", 0)
    assert {item.query_id for item in annotation.pool(project)} == {*others}
    assert annotation.fill_pool(project, replace(REQUEST, depth=6)) > 0
    brought = PoolRequest((), runs={"mine": [Ranking(gone, ("emoji",), (1.0,))]})
    assert annotation.fill_pool(project, brought) == 1, "a run needs no seed"
    (bm25,) = annotation.unjudged(project, ("bm25",))
    assert {*bm25.missing} == {*others}
    assert {q for q, _ in annotation.share(project, "Ada", "tab").next} == {*others}
    small_copy.library.set_lens("small", POSTS)
    assert annotation.unaskable(project) == (gone, *others), "nor an aspect that left the lens"
    assert annotation.share(project, "Ada", "tab").next == []


def test_it_is_cancelled_after_the_query_at_hand_and_runs_once_at_a_time(small_copy, project):
    filling = small_copy.annotation.filling
    first, *_ = small_copy.annotation.queries(project)
    job_id = filling.start(project, REQUEST, [first] * 5_000)
    with pytest.raises(BadInputError, match="being filled already"):
        filling.start(project, REQUEST, [first])
    filling.jobs.cancel(job_id)
    job = filled(small_copy, project)
    assert job.state == "cancelled"
    assert job.report is not None
    assert job.report.left > 0
    assert job.report.left + job.report.queries == 5_000


def test_relevant_documents_of_a_pool_are_estimated_from_those_judged(small_copy):
    project = project_with_pool(small_copy, systems=("dense",), depth=40)
    annotation = small_copy.annotation
    assert annotation.recall(project) == {}
    (query_id,) = annotation.queries(project)
    pool = [one.doc_id for one in annotation.pool(project)]
    relevant = {doc_id for doc_id in pool if doc_id.endswith("-network")}
    for doc_id in pool[:12]:
        grade = 3 if doc_id in relevant else 0
        annotation.judge(project, Judgment(query_id, doc_id, "Ada", grade))
    made = annotation.recall(project)
    assert made[""] == made[query_id]
    one = made[query_id]
    assert (one.judged, one.found) == (12, len(relevant.intersection(pool[:12])))
    assert one.low <= len(relevant) <= one.high <= len(pool)
