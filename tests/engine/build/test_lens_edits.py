"""A collection from a lens in people's hands: what they change stays, and nothing else is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import Judgment, Project
from engine.types.builds import StepRequest
from engine.types.searches import Query
from tests.fakes.build_answers import (
    AUTHOR,
    GRADING,
    LABELLING,
    LENS,
    NAME,
    SMALL_METHODS,
    WORDING,
    builds_collections,
    questions,
    run_all,
    run_step,
)
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge, session
from tests.fakes.small_corpus import DOCUMENTS

OVERLOOKED = "maps-sensor"


def opened(explorer):
    return explorer.builds.open("small", NAME)


def clusters_of(explorer):
    """By name."""
    return {cluster.name: cluster for cluster in opened(explorer).clusters()}


def query_of(explorer, cluster):
    return next(query for query in opened(explorer).queries() if query.key == cluster.key)


# -- what people change ------------------------------------------------------------------------


def test_what_people_change_survives_every_step_run_again(built, server):
    builds = built.builds
    clusters = clusters_of(built)
    sensors, survey = clusters["Wireless sensors"], clusters["Mailed questionnaire"]
    regression = clusters["Bayesian regression"]
    interviews = clusters["Interviews with practitioners"]
    opened(built).set_labels({OVERLOOKED: "Wireless sensors", "bees-network": ""}, "Bo")
    opened(built).merge([survey.key, interviews.key], "Asking people", "Bo")
    opened(built).drop(regression.key, True, "Bo")
    opened(built).set_query(sensors.key, "Bo", text="Little watchers left alone")
    assert {s.step: s.edits for s in opened(built).state().steps} == {
        "label": 2, "collapse": 3, "verbalise": 1, "expand": 0,
    }  # fmt: skip

    builds.save(replace(LENS, guidance="Instruments count, too."), AUTHOR)
    assert opened(built).state().steps[0].stale
    before = questions(server, LABELLING)
    for step in builds.steps[:3]:
        run_step(builds, server, step)
    assert questions(server, LABELLING) - before <= len(DOCUMENTS) - 2 + 1, "not over people's"
    labels = {label.doc_id: label for label in opened(built).labels()}
    assert (labels[OVERLOOKED].text, labels[OVERLOOKED].author) == ("Wireless sensors", "Bo")
    assert labels["bees-network"].text == ""
    after = {c.key: c for c in opened(built).clusters()}
    asking = next(c for c in after.values() if c.name == "Asking people")
    assert set(asking.doc_ids) == {*survey.doc_ids, *interviews.doc_ids}
    assert after[regression.key].dropped
    assert OVERLOOKED in after[sensors.key].doc_ids
    query = query_of(built, sensors)
    assert (query.text, query.maker) == ("Little watchers left alone", "person")
    assert OVERLOOKED in query.doc_ids
    assert regression.key not in {q.key for q in opened(built).queries()}


def test_only_what_changed_is_asked_about_again(built, server):
    builds = built.builds
    project = opened(built).project()
    before = clusters_of(built)
    judged = built.annotation.judgments(project)
    built.annotation.judge(project, Judgment("wireless-sensors", "bees-sensor", "Bo", 1))
    survey, interviews = before["Mailed questionnaire"], before["Interviews with practitioners"]
    assert opened(built).state().next is None

    opened(built).merge([survey.key, interviews.key], "Mailed questionnaire", "Bo")
    stale = {s.step: s.stale for s in opened(built).state().steps}
    assert stale == {"label": False, "collapse": False, "verbalise": True, "expand": True}
    run_step(builds, server, "verbalise")
    assert questions(server, WORDING) == 2, "one cluster, whose first try gives words away"
    run_step(builds, server, "expand")
    assert opened(built).state().next is None

    after = built.annotation.judgments(project)
    key = {(j.query_id, j.doc_id, j.annotator): j.relevance for j in after}
    assert key["wireless-sensors", "bees-sensor", "Bo"] == 1, "nothing is overwritten"
    assert {(j.query_id, j.doc_id, j.annotator) for j in judged} <= key.keys()
    moved = interviews.doc_ids[0]
    assert key["mailed-questionnaire", moved, "Bo"] == 2, "who put it there says so"
    assert questions(server, GRADING) == 0, "of candidates that were graded before, none again"


def test_documents_of_a_cluster_are_relevant_only_if_they_fit_its_query(small_copy, server):
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    run_step(builds, server, "label")
    build, wrong = builds.open("small", NAME), "tides-interview"
    build.set_labels({wrong: SMALL_METHODS.kinds["sensor"].name}, "Bo")
    run_step(builds, server, "collapse")
    sensors = next(c for c in build.clusters() if c.name == "Wireless sensors")
    assert wrong in sensors.doc_ids
    other = next(c.key for c in build.clusters() if c.key != sensors.key)
    build.move(sensors.key, ["bees-sensor"], other, "Cy")
    build.move(other, ["bees-sensor"], sensors.key, "Bo")
    for step in ("verbalise", "expand"):
        run_step(builds, server, step)
    grades = small_copy.annotation.exchange.qrels(build.project()).grades["wireless-sensors"]
    assert (grades[wrong], grades["bees-sensor"]) == (0, 2)
    made = builds.provenance("small", NAME)
    assert made.rejected["wireless-sensors"] == (wrong,)
    assert made.confirmed["wireless-sensors"] == made.positives["wireless-sensors"] - 1
    assert build.project().scale.relevant == 2
    judgments = small_copy.annotation.judgments(build.project(), "wireless-sensors")
    by_people = [j.doc_id for j in judgments if j.annotator == "Bo"]
    assert by_people == ["bees-sensor"], "who put a document into a cluster graded it"
    grading = [prompt.partition("The candidate:")[0] for prompt in server.seen.prompts]
    graded_to = [shown for shown in grading if "An example, graded" in shown]
    assert graded_to
    title = small_copy.document("small", wrong).title
    assert not any(title in shown for shown in graded_to), "no example that does not fit"


def test_documents_that_state_the_attribute_are_distractors(small_copy):
    stating, title = "bees-sensor", small_copy.document("small", "bees-sensor").title
    builds = small_copy.builds
    with serving(
        knowledge(),
        handlers=[builds_collections(replace(SMALL_METHODS, stated=frozenset({title})))],
    ) as server:
        builds.save(LENS, AUTHOR)
        run_all(builds, server)
        build = builds.open("small", NAME)
        assert {x.doc_id for x in build.labels() if x.expression == "stated"} == {stating}
        sensors = next(c for c in build.clusters() if c.name == "Wireless sensors")
        assert stating not in sensors.doc_ids
        assert sensors.distractors == (stating,)
        grades = small_copy.annotation.exchange.qrels(build.project()).grades
        assert grades["wireless-sensors"][stating] == 0
        assert builds.provenance("small", NAME).expressions == {"implied": 29, "stated": 1}
        builds.save(replace(LENS, gold="both"), AUTHOR)
        assert build.state().next is None
        build = builds.open("small", NAME)
        assert build.state().next == "collapse"
        run_all(builds, server)
        grades = small_copy.annotation.exchange.qrels(build.project()).grades
        assert grades["wireless-sensors"][stating] == 2
        builds.save(LENS, AUTHOR)
        builds.open("small", NAME).set_labels({stating: "Wireless sensors"}, "Bo", "implied")
        run_all(builds, server)
        assert stating in {i for c in builds.open("small", NAME).clusters() for i in c.doc_ids}


def test_other_words_are_another_query(built, server):
    builds = built.builds
    sensors = clusters_of(built)["Wireless sensors"]
    query = query_of(built, sensors)
    opened(built).set_query(sensors.key, "Bo", text="Little watchers left alone")
    run_step(builds, server, "expand")
    project = opened(built).project()
    everything = built.annotation.queries(project, retired=True)
    assert len(everything) == 7
    assert query.text in [q.text for q in everything.values()]


def test_what_a_build_asks_no_more_leaves_its_project_until_it_comes_back(built, server):
    builds, annotation = built.builds, built.annotation
    project = opened(built).project()
    clusters = clusters_of(built)
    sensors, survey = clusters["Wireless sensors"], clusters["Mailed questionnaire"]
    first = query_of(built, sensors)
    annotation.judge(project, Judgment("wireless-sensors", "bees-sensor", "Bo", 1))
    annotation.judge(project, Judgment("wireless-sensors", "bees-sensor", "Cy", 2))

    opened(built).set_query(sensors.key, "Bo", text="Little watchers left alone")
    opened(built).set_query(survey.key, "Bo", dropped=True)
    [mine] = annotation.add_queries(project, [Query("small", text="My own question")])
    report = run_step(builds, server, "expand")
    assert report.notes[0].startswith("2 queries that the build asks no more are out")
    gone, new = {"wireless-sensors", "mailed-questionnaire"}, "wireless-sensors-2"
    asked = set(annotation.queries(project)) - {mine}
    assert len(asked) == len(annotation.queries(project)) - 1, "a person's own is left to them"
    assert (len(asked), asked & gone) == (5, set())
    assert {item.query_id for item in annotation.pool(project)} == asked
    assert {item.query_id for item in annotation.queue(project, "Bo").items} == asked
    assert set(annotation.exchange.qrels(project).grades) == asked
    assert annotation.disagreements(project) == []
    measured = next(c for c in built.collections.all() if c.key == f"small:{NAME}")
    assert measured.queries == 5
    [trec] = annotation.exchange.export(project, "trec").files.values()
    assert {line.split()[0] for line in trec} == asked
    [own] = annotation.exchange.export(project, "jsonl", annotator="Bo").files.values()
    assert "wireless-sensors" in "".join(own), "what was judged is kept"

    opened(built).set_query(sensors.key, "Bo", text=first.text)
    opened(built).set_query(survey.key, "Bo", dropped=False)
    before = questions(server, GRADING)
    run_step(builds, server, "expand")
    assert set(annotation.queries(project)) == (asked | gone | {mine}) - {new}
    assert [d.query_id for d in annotation.disagreements(project)] == ["wireless-sensors"]
    assert questions(server, GRADING) == before, "what was graded is not asked about again"


def test_a_build_never_joins_a_project_that_people_made(built, server):
    builds, annotation = built.builds, built.annotation
    builds.save(replace(LENS, depth=9), AUTHOR)  # whose project is its own
    second = replace(LENS, name="second")
    builds.save(second, AUTHOR)
    theirs = annotation.save(Project("small", "second"), "Bo")
    with pytest.raises(BadInputError, match="project 'second' that is not this build's"):
        builds.save(replace(second, depth=3), AUTHOR)
    said = {"bees-survey": "by mail", "maps-survey": "by mail"}
    builds.open("small", "second").set_labels(said, AUTHOR)
    builds.run(StepRequest("small", "second", "collapse", AUTHOR))
    [cluster] = builds.open("small", "second").clusters()
    builds.open("small", "second").set_query(cluster.key, AUTHOR, text="Who asks people at home")
    with pytest.raises(BadInputError, match="not this build's"):
        builds.run(StepRequest("small", "second", "expand", AUTHOR), endpoint=session(server))
    assert annotation.queries(theirs) == {}
    assert server.seen.questions == 0


def test_a_project_that_was_deleted_is_made_again_and_no_other_is_taken_for_it(built, server):
    builds, annotation = built.builds, built.annotation
    project = opened(built).project()
    annotation.delete(project, "lead")
    expand = opened(built).state().steps[-1]
    assert (expand.total, expand.stale) == (0, True)
    new = annotation.create(Project("small", NAME), "lead")
    with pytest.raises(BadInputError, match="not this build's"):
        run_step(builds, server, "expand")
    annotation.delete(new, "lead")
    run_step(builds, server, "expand")
    again = opened(built).project()
    assert again.key not in (project.key, new.key)
    assert {*annotation.pooled(again)} == {*annotation.pooled(project)}
    annotation.rename(again, "renamed", "lead")
    assert opened(built).project().name == "renamed"


NO_LENSES: list[tuple[dict[str, Any], str]] = [
    ({"corpus": "nothing"}, "no corpus 'nothing'"),
    ({"attribute": " \n\x00"}, "no attribute"),
    ({"name": "a/b"}, "'a/b'"),
    ({"name": ""}, "no name"),
    ({"distance": 0.0}, "distance is 0.0"),
    ({"distance": float("nan")}, "distance is nan"),
    ({"aspect": "colour"}, "no aspect 'colour'"),
    ({"systems": ("nothing",)}, "nothing"),
    ({"systems": ()}, "no source"),
    ({"smallest": 5, "largest": 4}, "5 to 4 documents"),
    ({"limit": 0}, "limit of documents is 0"),
    ({"overlap": 1.5}, "overlap is 1.5"),
    ({"depth": 0}, "depth"),
]


def test_a_lens_that_cannot_be_is_refused(small):
    for change, said in NO_LENSES:
        with pytest.raises(BadInputError, match=said):
            small.builds.save(replace(LENS, **change), AUTHOR)
    assert small.builds.names() == []


def test_names_that_there_are_not_are_named(built):
    with pytest.raises(UnknownNameError, match="It has methods"):
        built.builds.open("small", "nothing").state()
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        opened(built).set_labels({"nowhere": "x"}, AUTHOR)
    with pytest.raises(UnknownNameError, match="'c99'"):
        opened(built).set_query("c99", AUTHOR, text="x")


def test_grades_that_an_earlier_version_wrote_unread_hold_until_they_are_read(built, server):
    project, query_id = opened(built).project(), "wireless-sensors"
    made = {"origin": "model", "event": "build-1"}
    for judgment in built.annotation.judgments(project, query_id):
        if judgment.doc_id == "bees-sensor":
            old = replace(judgment, annotator="model:labels", relevance=2, **made)
            gone = replace(judgment, verdict="withdrawn", relevance=None, event="test-1")
            built.ledger.judging.add([gone, old])
    stopped = run_step(built.builds, server, "expand", most_calls=0)
    assert stopped.stopped == "budget"
    grades = built.annotation.exchange.qrels(project).grades
    assert grades[query_id]["bees-sensor"] == 2, "nothing is lost"
    run_step(built.builds, server, "expand")
    judgments = built.annotation.judgments(project, query_id)
    current = {j.annotator: j.relevance for j in judgments if j.doc_id == "bees-sensor"}
    assert current == {"model:judge": 2}
    assert opened(built).state().next is None


def test_a_label_that_flips_and_flips_back_leaves_the_grade_that_was_read(built, server):
    project, query_id = opened(built).project(), "wireless-sensors"
    for expression, expected in (("stated", 0), ("implied", 2)):
        opened(built).set_labels({"bees-sensor": "Wireless sensors"}, "Bo", expression)
        assert opened(built).state().next is not None
        for step in ("collapse", "verbalise", "expand"):
            run_step(built.builds, server, step)
        grades = built.annotation.exchange.qrels(project).grades
        assert grades[query_id]["bees-sensor"] == expected
        assert opened(built).state().next is None
