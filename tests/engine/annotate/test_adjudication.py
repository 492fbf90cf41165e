"""From several people's grades to one: who decides, what is left out, and that nothing changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.annotate.adjudication import decide, find_disagreements
from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import Judgment, Project
from engine.types.searches import Query

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUERY = "bees-network_method"


def said(who, grade, doc_id="d", **more):
    verdict = "grade" if grade is not None else "unsure"
    judgment = Judgment("q", doc_id, who, grade, verdict, corpus="c", project="p", time=NOW)  # type: ignore[arg-type]
    return replace(judgment, **more)  # type: ignore[arg-type]


def test_a_grade_rests_on_a_decision_on_agreement_or_on_one_person():
    found = decide(
        [
            *(said("ann", 0, "split"), said("bob", 3, "split")),
            *(said("ann", 1, "open"), said("bob", 3, "open")),
            *(said("ann", 2, "both"), said("bob", 2, "both")),
            *(said("ann", 1, "one"), said("bob", None, "one")),
            said("bob", None, "nobody"),
            said("judge", 3, "model", origin="model"),
            said("lead", 1, "split", origin="adjudication"),
        ]
    )
    assert found.grades == {"q": {"split": 1, "both": 2, "one": 1}}
    assert {d.doc_id: d.basis for d in found.decisions} == {
        "split": "adjudicated",
        "open": "undecided",
        "both": "agreed",
        "one": "single",
    }
    assert found.undecided == 1
    assert any("1 item is left out" in note for note in found.notes)
    assert any("1 item was graded by a model only" in note for note in found.notes)


@pytest.mark.parametrize(("grades", "median"), [((1, 3), 1), ((0, 2, 3), 2), ((0, 1, 2, 3), 1)])
def test_an_undecided_item_gets_the_lower_median_only_when_asked(grades, median):
    judgments = [said(f"a{n}", grade) for n, grade in enumerate(grades)]
    assert decide(judgments).grades == {}
    found = decide(judgments, median=True)
    assert found.grades == {"q": {"d": median}}
    assert any("median" in note for note in found.notes)


def test_the_widest_disagreement_comes_first_then_doubts_and_what_is_decided_last():
    judgments = [
        *(said("ann", None, "doubt"), said("bob", 1, "doubt")),
        *(said("ann", 1, "near"), said("bob", 2, "near")),
        *(said("ann", 0, "far"), said("bob", 3, "far")),
        *(said("ann", 2, "agreed"), said("bob", 2, "agreed")),
        *(said("ann", 0, "decided"), said("bob", 3, "decided")),
        said("lead", 2, "decided", origin="adjudication"),
        *(said("ann", 2, "model"), said("judge", 0, "model", origin="model")),
    ]
    found = find_disagreements(judgments)
    assert [(d.doc_id, d.spread) for d in found] == [
        ("far", 3),
        ("near", 1),
        ("doubt", 0),
        ("decided", 3),
    ]
    assert found[-1].decided is not None
    assert found[-1].decided.relevance == 2
    assert [j.annotator for j in found[0].said] == ["ann", "bob"]


def project_of_three(explorer):
    annotation = explorer.annotation
    project = annotation.project("small")
    for who, grade in (("ann", 0), ("bob", 3), ("lead", 2)):
        annotation.judge(project, Judgment(QUERY, "bread-network", who, grade))
    return project


def test_a_decision_changes_nobody_s_grade_and_can_be_taken_back(small_copy):
    annotation = small_copy.annotation
    project = project_of_three(small_copy)
    before = annotation.judgments(project)
    assert annotation.exchange.qrels(project).undecided == 1
    decided = annotation.adjudicate(project, QUERY, "bread-network", 1, "as the guide says", "lead")
    assert (decided.origin, decided.annotator, decided.note) == (
        "adjudication",
        "lead",
        "as the guide says",
    )
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 1}}
    assert annotation.judgments(project) == [*before, decided]
    annotation.adjudicate(project, QUERY, "bread-network", None, "", "lead")
    assert annotation.exchange.qrels(project).undecided == 1
    assert annotation.judgments(project) == before


def test_a_decision_by_somebody_else_is_replaced_only_by_who_saw_it(small_copy):
    annotation = small_copy.annotation
    project = project_of_three(small_copy)
    item = (project, QUERY, "bread-network")
    first = annotation.adjudicate(*item, 1, "as the guide says", "ann", seen="")
    with pytest.raises(BadInputError, match=r"ann decided .* in the meantime"):
        annotation.adjudicate(*item, 3, "both count 3", "bob", seen="")
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 1}}
    annotation.adjudicate(*item, 1, "as the guide says", "ann", seen="")  # a double click
    with pytest.raises(BadInputError, match=r"ann decided .* in the meantime"):
        annotation.adjudicate(*item, 3, "both count 3", "bob", seen=first.event)
    second = annotation.judgments(project)[-1]
    annotation.adjudicate(*item, 3, "both count 3", "bob", seen=second.event)
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 3}}
    annotation.adjudicate(*item, 0, "whatever stands", "ann")
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 0}}


def test_only_a_decision_of_one_s_own_that_stands_is_taken_back(small_copy):
    annotation = small_copy.annotation
    project = annotation.project("small")
    annotation.judge(project, Judgment(QUERY, "bread-network", "ann", 0))
    back = (project, QUERY, "bread-network", None, "")
    with pytest.raises(BadInputError, match=r"'ann' decided nothing.*nothing to take back"):
        annotation.adjudicate(*back, "ann")
    annotation.adjudicate(project, QUERY, "bread-network", 1, "so", "lead")
    with pytest.raises(BadInputError, match=r"'ann' decided nothing.*decided by lead"):
        annotation.adjudicate(*back, "ann")
    assert len(annotation.history(project)) == 2
    for _ in range(2):  # an answer that got lost: the same is sent again
        annotation.adjudicate(*back, "lead", event="back")
    assert len(annotation.history(project)) == 3
    with pytest.raises(BadInputError, match="nothing to take back"):
        annotation.adjudicate(*back, "lead")
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 0}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"by": "ann"}, "cannot adjudicate.*leads are lead"),
    ({"relevance": 7}, "Grades are 0, 1, 2, 3"),
    ({"reason": " "}, "no reason"),
    ({"reason": "x" * 1_000_000}, "at most 10,000"),
    ({"query_id": "nothing_method"}, "nothing_method"),
    ({"doc_id": "nothing"}, "nothing"),
    ({"doc_id": "bees-network"}, "is the seed of"),
]


def test_a_decision_that_cannot_be_is_refused(small_copy):
    annotation = small_copy.annotation
    project = annotation.save(Project("small", leads=("lead",)), "lead")
    annotation.judge(project, Judgment(QUERY, "bread-network", "ann", 0))
    asked = {"query_id": QUERY, "doc_id": "bread-network", "relevance": 1, "reason": "why not"}
    for changes, words in REFUSED:
        with pytest.raises((BadInputError, UnknownNameError), match=words):
            annotation.adjudicate(project, **{**asked, "by": "lead", **changes})
    assert len(annotation.history(project)) == 1
    with pytest.raises(BadInputError, match=r"'ann' cannot change project.*lead"):
        annotation.save(replace(project, leads=("ann",)), "ann")
    assert annotation.save(replace(project, per_item=2), "lead").per_item == 2


def test_nobody_s_grades_are_held_against_their_own_decisions(small_copy):
    annotation = small_copy.annotation
    project = annotation.project("small")
    for doc_id, lead, ann in (("bread-network", 3, 0), ("maps-survey", 0, 3)):
        annotation.judge(project, Judgment(QUERY, doc_id, "lead", lead))
        annotation.judge(project, Judgment(QUERY, doc_id, "ann", ann))
        annotation.adjudicate(project, QUERY, doc_id, lead, "I said so", "lead")
    rows = small_copy.human_rows(project)
    assert rows["lead"].metrics["nDCG@10"] < 0.8, "not 1.0 by their own word"  # type: ignore[operator]
    assert rows["lead"].metrics["nDCG@10"] == pytest.approx(rows["ann"].metrics["nDCG@10"])


def test_a_corpus_s_own_project_takes_every_seed_and_aspect_and_nothing_else(small_copy):
    annotation = small_copy.annotation
    project = annotation.project("small")
    for query_id, aspect in (("bees-network_method", "method"), ("bees-network_any", None)):
        annotation.judge(project, Judgment(query_id, "bread-network", "ann", 2))
        query = annotation.queries(project)[query_id]
        assert (query.seed, query.aspect) == ("bees-network", aspect)
    for strange in ("bees-network", "bees-network_colour", "nobody_method", "_method", ""):
        with pytest.raises(UnknownNameError, match="id is SEED_ASPECT"):
            annotation.judge(project, Judgment(strange, "bread-network", "ann", 2))
    assert len(annotation.queries(project)) == 2


def test_what_somebody_decides_is_not_shown_as_their_own_grade(small_copy):
    annotation, notebook = small_copy.annotation, small_copy.notebook
    query = Query("small", seed="bees-network", aspect="method")
    notebook.judge(query, "bread-network", 2, annotator="ann")
    annotation.adjudicate(annotation.project("small"), QUERY, "bread-network", 0, "no", "ann")
    assert notebook.grades(query, "ann") == {"bread-network": 2}
    notebook.judge(query, "bread-network", None, annotator="ann")
    assert notebook.grades(query, "ann") == {}
