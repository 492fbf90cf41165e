"""People check a sample of what a model graded."""

from __future__ import annotations

import pytest
from sklearn.metrics import cohen_kappa_score

from engine.errors import UnknownNameError
from engine.types.annotating import Judgment
from tests.engine.annotate.grading_steps import DEPTH, JUDGE, QUERY, by_model, grade, make_project
from tests.fakes.model_sessions import ALIKE


def test_a_sample_is_drawn_from_what_no_person_graded_and_goes_on_where_it_was_left(graded):
    project = make_project(graded)
    annotation = graded.annotation
    assert annotation.grading.sample(project, 10) == []
    annotation.judge(project, Judgment(QUERY, ALIKE[0], "Ada", 1))
    grade(graded, project)
    first = annotation.grading.sample(project, 10)
    assert len(set(first)) == 10
    assert (QUERY, ALIKE[0]) not in first
    assert first == annotation.grading.sample(project, 10)
    assert first != annotation.grading.sample(project, 10, seed=1)
    assert len(annotation.grading.sample(project, 100)) == 38
    queue = annotation.queue(project, "Ada", frozenset(first))
    assert queue.progress().total == 10

    annotation.judge(project, Judgment(*first[0], "Ada", 2))
    annotation.judge(project, Judgment(*first[1], "Ada", verdict="skip"))
    assert annotation.grading.sample(project, 9)[:2] == first[1:3]
    assert annotation.grading.sample(project, 8, annotator="Ada") == first[2:]
    undone = annotation.undo(project, "Ada", frozenset(first))
    assert undone is not None
    assert (undone.doc_id, undone.verdict) == (first[1][1], "skip")
    assert annotation.undo(project, "Grace", frozenset(first)) is None


def test_the_check_says_what_an_independent_computation_says(graded):
    project = make_project(graded)
    annotation = graded.annotation
    grade(graded, project)
    people: list[int] = []
    model: list[int] = []
    found = by_model(graded, project)
    for number, (query_id, doc_id) in enumerate(annotation.grading.sample(project, 24)):
        theirs = found[doc_id] or 0
        mine = theirs if number % 3 else (theirs + 1) % 4
        annotation.judge(project, Judgment(query_id, doc_id, "Ada", mine, note="seen"))
        people.append(mine)
        model.append(theirs)
    check = annotation.grading.check(project)
    assert (check.annotator, check.graded, check.items) == (JUDGE, DEPTH, 24)
    values = {m.name: m for m in check.measures}
    assert values["raw"].value == pytest.approx(sum(map(int.__eq__, people, model)) / 24)
    for name, weights in (("", None), ("_linear", "linear"), ("_quadratic", "quadratic")):
        expected = cohen_kappa_score(people, model, weights=weights, labels=[0, 1, 2, 3])
        assert values[f"cohen_kappa{name}"].value == pytest.approx(expected)
        assert values[f"cohen_kappa{name}"].interval is not None
    assert [sum(row) for row in check.confusion] == [people.count(g) for g in range(4)]
    assert list(check.by_aspect) == ["method"]
    assert len(check.differences) == sum(a != b for a, b in zip(people, model, strict=True))
    difference = check.differences[0]
    assert difference.said == {"Ada": difference.people}
    assert difference.notes == {"Ada": "seen"}
    assert "does " in difference.reason


def test_where_people_differ_the_decision_is_held_against_the_model(graded):
    project = make_project(graded, depth=4)
    annotation = graded.annotation
    grade(graded, project)
    first, second, *_ = annotation.pool(project)
    for item in (first, second):
        annotation.judge(project, Judgment(QUERY, item.doc_id, "Ada", 0))
        annotation.judge(project, Judgment(QUERY, item.doc_id, "Grace", 2))
    check = annotation.grading.check(project)
    assert (check.items, check.undecided) == (0, 2)
    assert any("people differ" in note for note in check.notes)
    annotation.judge(project, Judgment(QUERY, first.doc_id, "Grace", 2, note="alike"))
    annotation.adjudicate(project, QUERY, first.doc_id, 2, "it counts", "Grace")
    check = annotation.grading.check(project)
    assert (check.items, check.undecided) == (1, 1)
    difference = check.differences[0]
    assert difference.people == 2
    assert difference.said == {"Ada": 0, "Grace": 2}, "nobody's own grade is written over"
    assert difference.notes == {"Grace": "alike"}
    assert (difference.decided_by, difference.decision) == ("Grace", "it counts")


def test_grades_that_check_a_model_count_only_where_they_are_asked_for(graded):
    project = make_project(graded, depth=4)
    annotation = graded.annotation
    grade(graded, project)
    first, second, *_ = annotation.grading.sample(project, 4)
    annotation.judge(project, Judgment(*first, "Ada", 2, origin="audit"))
    assert annotation.grading.check(project).items == 1
    assert first not in annotation.grading.sample(project, 4)
    assert annotation.queue(project, "Ada", frozenset((first, second))).progress().done == 1
    assert annotation.queue(project, "Ada").progress().left == 4
    assert (annotation.progress(project).complete, annotation.disagreements(project)) == (0, [])
    assert annotation.agreement(project).annotators == (JUDGE,)
    assert annotation.agreement(project, audit=True).annotators == ("Ada", JUDGE)
    found = annotation.exchange.qrels(project)
    assert (found.grades, "1 audit grade is left out: given to check a model." in found.notes) == (
        {}, True,
    )  # fmt: skip
    assert annotation.exchange.qrels(project, audit=True).grades == {QUERY: {first[1]: 2}}
    own = annotation.exchange.export(project, "csv", annotator="Ada", audit=True)
    assert own.judgments == 1
    with pytest.raises(UnknownNameError, match="judged nothing"):
        annotation.exchange.export(project, "csv", annotator="Ada")

    annotation.judge(project, Judgment(*first, "Ada", 1))
    assert annotation.exchange.qrels(project).grades == {QUERY: {first[1]: 1}}
    annotation.judge(project, Judgment(*first, "Ada", 3, origin="audit"))
    assert annotation.exchange.qrels(project).grades == {QUERY: {first[1]: 3}}, "it stays theirs"
