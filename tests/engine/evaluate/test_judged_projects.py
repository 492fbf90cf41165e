"""What was judged here is a test collection, and says how much of it is decided."""

from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import POSTS
from engine.types.annotating import GradeMeaning, Judgment, Project, Scale
from engine.types.evaluations import EvaluationRequest
from engine.types.searches import Query

METHOD = "bees-network_method"
GRADES = {"bread-network": 3, "tides-network": 3, "maps-survey": 0, "bread-sensor": 0}


def judged(explorer, who, project, **changes):
    for doc_id, grade in {**GRADES, **changes}.items():
        explorer.annotation.judge(project, Judgment(METHOD, doc_id, who, grade))


def of(explorer, key):
    return next(c for c in explorer.collections.all() if c.key == key)


def project_of_two(explorer):
    annotation = explorer.annotation
    project = annotation.save(Project("small", "p"), "lead")
    own = Query("small", seed="maps-survey", focus=(0,))
    annotation.add_queries(project, [Query("small", seed="bees-network", aspect="method"), own])
    judged(explorer, "ann", project)
    judged(explorer, "bob", project, **{"maps-survey": 1})
    own_id = next(i for i, q in annotation.queries(project).items() if q.focus)
    annotation.judge(project, Judgment(own_id, "emoji", "ann", 1))
    return project


def test_a_project_is_a_collection_of_what_is_decided_so_far(small_copy):
    assert [c.key for c in small_copy.collections.all()] == []
    project = project_of_two(small_copy)
    (info,) = small_copy.collections.all()
    assert (info.key, info.name, info.source_format) == ("small:p", "p", "project")
    assert (info.queries, info.judgments, info.complete, info.pooled) == (1, 3, False, False)
    assert info.annotators == ()
    said = " ".join(info.warnings)
    for words in ("1 item is left out", "1 query is left out", "human row is there once"):
        assert words in said

    small_copy.annotation.adjudicate(project, METHOD, "maps-survey", 0, "no", "lead")
    info = of(small_copy, "small:p")
    assert (info.judgments, info.annotators) == (4, ("ann", "bob"))
    assert "undecided" not in " ".join(info.warnings)


def test_systems_and_people_are_measured_on_a_project(small_copy):
    project = project_of_two(small_copy)
    small_copy.annotation.adjudicate(project, METHOD, "maps-survey", 0, "no", "lead")
    evaluations = small_copy.evaluations
    request = EvaluationRequest("small:p", ("dense",), human=True)
    found = evaluations.run(request).result.evaluation
    assert (found.queries, found.judged.grades, found.judged.complete) == (1, 4, False)
    assert found.unjudged_in_top_k["dense"] > 0.5
    assert set(found.systems["human"].annotators) == {"ann", "bob"}
    assert evaluations.find(request) is not None
    judged(small_copy, "eve", project)
    assert evaluations.find(request) is None, "other judgments, another evaluation"


def test_a_scale_that_begins_with_1_measures_as_one_that_begins_with_0(small_copy):
    annotation, found, people = small_copy.annotation, [], []
    asked = [Query("small", seed="bees-network", aspect=aspect) for aspect in ("method", "result")]
    grades = {"bread-network": (3, 0), "tides-network": (1, 0), "bees-survey": (0, 2)}
    for lowest in (0, 1):
        scale = Scale("own", tuple(GradeMeaning(lowest + n, f"{n}") for n in range(4)))
        project = annotation.save(Project("small", f"from-{lowest}", scale=scale), "lead")
        query_ids = annotation.add_queries(project, asked)
        for who in ("ann", "bob"):
            for doc_id, own in grades.items():
                for query_id, grade in zip(query_ids, own, strict=True):
                    said = Judgment(query_id, doc_id, who, lowest + grade)
                    annotation.judge(project, said)
        request = EvaluationRequest(f"small:from-{lowest}", ("dense",), human=True)
        evaluation = small_copy.evaluations.run(request).result.evaluation
        found.append((evaluation.systems["dense"].metrics, evaluation.systems["human"].metrics))
        found[-1] += (evaluation.judged.relevant,)
        people.append({w: s.metrics for w, s in small_copy.human_rows(project).items()})
    assert found[0] == found[1]
    assert found[0][-1] == 3
    assert people[0] == people[1]
    warnings = of(small_copy, "small:from-1").warnings
    assert "The lowest grade of the scale, 1, counts as 0: not relevant." in warnings
    exported = annotation.exchange.export(project)
    assert "The lowest grade of the scale is 1" in " ".join(exported.notes)
    assert annotation.exchange.qrels(project).grades[query_ids[0]]["bees-survey"] == 1


def test_what_is_asked_in_words_is_ranked_by_these_words(small_copy):
    annotation = small_copy.annotation
    project = annotation.save(Project("small", "worded"), "lead")
    plain = Query("small", seed="bees-network", aspect="method")
    worded = replace(plain, aspect=None, instruction="Find papers whose findings are alike.")
    for query_id in annotation.add_queries(project, [plain, worded]):
        annotation.judge(project, Judgment(query_id, "bread-network", "ann", 2))
    evaluations, request = small_copy.evaluations, EvaluationRequest("small:worded", ("aspect",))
    found = evaluations.run(request).result.evaluation
    ranked = {r.query_id: r.doc_ids for r in evaluations.rankings(request)["aspect"]}
    assert found.queries == len(ranked) == 2
    for query_id, query in annotation.queries(project).items():
        shown = small_copy.search(replace(query, system="aspect"))
        assert list(ranked[query_id])[:20] == [r.document.doc_id for r in shown.results]
    assert len(set(ranked.values())) == 2


def test_what_was_judged_while_exploring_is_a_collection_of_its_own(small_copy):
    query = Query("small", seed="bees-network")
    small_copy.notebook.judge(query, "bread-network", 2)
    info = of(small_copy, "small:")
    assert (info.source, info.queries, info.judgments) == ("judged while exploring", 1, 1)
    small_copy.notebook.judge(replace(query, focus=(1,)), "bread-network", 2)
    assert "1 query is left out" in " ".join(of(small_copy, "small:").warnings)
    with pytest.raises(UnknownNameError):
        small_copy.collections.info("nowhere:")


def test_why_queries_cannot_be_ranked_is_said_of_each_reason(small_copy):
    project = project_of_two(small_copy)
    small_copy.library.set_lens("small", POSTS)
    with pytest.raises(BadInputError, match="not in the lens of the corpus; asked by"):
        small_copy.collections.queries("small:p")
    own = next(iter(small_copy.annotation.add_queries(project, [Query("small", seed="emoji")])))
    small_copy.annotation.judge(project, Judgment(own, "maps-survey", "ann", 1))
    assert (
        "2 queries are left out: the aspect is not in the lens of the corpus (1); asked by single "
        "sentences of the seed (1)."
    ) in of(small_copy, "small:p").warnings
