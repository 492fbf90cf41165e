"""What counts of the grades that a model gave."""

import json
from dataclasses import replace

import pytest

from engine.annotate.projects import model_annotator
from engine.errors import BadInputError
from engine.types.annotating import Judgment
from engine.types.searches import Query
from tests.engine.annotate.grading_steps import DEPTH, JUDGE, QUERY, by_model, grade, make_project
from tests.fakes.model_sessions import ALIKE, SEED


def test_its_grades_count_only_where_the_project_says_so_and_no_person_graded(graded):
    project = make_project(graded)
    annotation = graded.annotation
    annotation.judge(project, Judgment(QUERY, ALIKE[0], "Ada", 1))
    grade(graded, project, judged=True)
    found = annotation.exchange.qrels(project)
    assert found.grades == {QUERY: {ALIKE[0]: 1}}
    assert any("38 items were graded by a model only, and left out" in n for n in found.notes)
    assert annotation.unjudged(project, ["dense"], 10)[0].judged == pytest.approx(0.1)
    assert "".join(annotation.exchange.export(project).files["p.qrels"]).count("\n") == 1
    (info,) = [c for c in graded.collections.all() if c.key == "small:p"]
    assert info.judgments == 1
    assert any("left out" in warning for warning in info.warnings)

    project = annotation.save(replace(project, model_grades=True), "lead")
    found = annotation.exchange.qrels(project)
    assert len(found.grades[QUERY]) == DEPTH
    assert found.grades[QUERY][ALIKE[0]] == 1, "a person's grade stands"
    assert found.count("model") == 38
    assert any("38 grades rest on a model alone" in note for note in found.notes)
    assert annotation.unjudged(project, ["dense"], 10)[0].judged == 1.0
    (info,) = [c for c in graded.collections.all() if c.key == "small:p"]
    assert info.judgments == DEPTH
    assert any("38 grades rest on a model alone" in warning for warning in info.warnings)
    exported = annotation.exchange.export(project, "jsonl")
    assert any("rest on a model alone" in note for note in exported.notes)
    rows = [json.loads(line) for line in "".join(exported.files["p.jsonl"]).splitlines()]
    assert {row["basis"] for row in rows} == {"single", "model"}


def test_an_item_needs_as_many_people_as_before_and_agreement_keeps_the_model_apart(graded):
    project = make_project(graded, depth=12, per_item=2)
    grade(graded, project)
    annotation = graded.annotation
    assert annotation.queue(project, "Ada").progress().left == 12
    for item in annotation.pool(project):
        annotation.judge(project, Judgment(QUERY, item.doc_id, "Ada", 0))
        annotation.judge(
            project, Judgment(QUERY, item.doc_id, "Grace", 0 if "network" in item.doc_id else 1)
        )
    found = annotation.agreement(project)
    assert found.models == (JUDGE,)
    assert found.measures[0].items == 12
    assert [pair for pair in found.pairs if not found.with_model(pair)] == [("Ada", "Grace")]
    assert [pair for pair in found.pairs if found.with_model(pair)] == [
        ("Ada", JUDGE), ("Grace", JUDGE),
    ]  # fmt: skip
    assert set(graded.human_rows(project)) == {"Ada", "Grace"}


def test_nobody_judges_or_takes_back_by_a_models_name(graded):
    project = make_project(graded, depth=2)
    grade(graded, project)
    annotation = graded.annotation
    doc_id = annotation.pool(project)[0].doc_id
    for act in (
        lambda: annotation.judge(project, Judgment(QUERY, doc_id, " Model:other", 1)),
        lambda: annotation.adjudicate(project, QUERY, doc_id, 1, "so", JUDGE),
        lambda: annotation.undo(project, JUDGE),
    ):
        with pytest.raises(BadInputError, match="language model"):
            act()
    assert len(by_model(graded, project)) == 2
    long = model_annotator("a/" * 60 + "one")
    assert len(long) <= 64
    assert long != model_annotator("a/" * 60 + "two")


@pytest.mark.parametrize("kind", ["csv", "hand-over"])
def test_files_with_a_models_grades_round_trip_exactly(graded, tmp_path, small_home, kind):
    project = make_project(graded, depth=8)
    graded.annotation.judge(project, Judgment(QUERY, ALIKE[0], "Ada", 1))
    grade(graded, project)
    found = graded.annotation.exchange.export(project, kind, annotator=JUDGE)
    (file,) = found.write(tmp_path / f"grades.{kind.replace('hand-over', 'jsonl')}")
    other = graded.annotation.save(replace(project, name="q"), "lead")
    graded.annotation.add_queries(other, [Query("small", seed=SEED, aspect="method")])
    taken = graded.annotation.exchange.import_("small", file, "q")
    assert taken.added == len(by_model(graded, project))
    assert by_model(graded, other) == by_model(graded, project)
    assert graded.annotation.exchange.qrels(other).grades == {}, "still no qrels"
    assert graded.annotation.exchange.import_("small", file, "q").added == 0
