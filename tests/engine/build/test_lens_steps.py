"""A collection from a lens: each step makes what the next one needs, and says what it took."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.llm.errors import NoEndpointError
from engine.llm.texts import find_quote
from engine.types import BuildLens, StepProgress
from tests.build_answers import builds_collections
from tests.judging import knowledge
from tests.lens_builds import (
    AUTHOR,
    GRADING,
    LABELLING,
    LENS,
    NAME,
    SMALL,
    WORDING,
    questions,
    run_all,
    run_step,
    session,
)
from tests.model_server import ModelServer, serving
from tests.small_corpus import DOCUMENTS
from tests.support import make_explorer

if TYPE_CHECKING:
    from engine.explorer import Explorer

OVERLOOKED = "maps-sensor"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A model that knows the small corpus's methods."""
    with serving(knowledge(), handlers=[builds_collections(SMALL)]) as running:
        yield running


@pytest.fixture(scope="module")
def built_home(
    small_home: Path, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A home with the collection, all steps done. For reading only."""
    home = tmp_path_factory.mktemp("built") / "home"
    shutil.copytree(small_home, home)
    builds = make_explorer(home).builds
    builds.save(LENS, AUTHOR)
    run_all(builds, model)
    return home


@pytest.fixture
def built(built_home: Path, home: Path) -> Explorer:
    """An explorer over a copy of ``built_home`` that the test may write to."""
    shutil.copytree(built_home, home)
    return make_explorer(home)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model of this test's own, to count what it is asked."""
    with serving(knowledge(), handlers=[builds_collections(SMALL)]) as running:
        yield running


# -- the five steps ----------------------------------------------------------------------------


def test_each_document_is_labelled_once_with_words_that_stand_in_it(built: Explorer) -> None:
    labels = {label.doc_id: label for label in built.builds.labels("small", NAME)}
    assert len(labels) == len(DOCUMENTS)
    shown = {doc_id: label for doc_id, label in labels.items() if label.text}
    assert len(shown) == len(SMALL.of) - 1
    assert labels[OVERLOOKED].text == "", "what does not show it is kept as that"
    for doc_id, label in shown.items():
        document = built.document("small", doc_id)
        assert label.maker == "model"
        assert label.author == "judge"
        if document.title == SMALL.misquoted:
            assert label.quote == "", "a quote that stands nowhere is not kept"
        else:
            assert find_quote(f"{document.title}\n{document.text}", label.quote)


def test_near_synonyms_become_one_cluster_that_is_worded_without_its_documents_words(
    built: Explorer,
) -> None:
    clusters = built.builds.clusters("small", NAME)
    assert sorted(len(c.doc_ids) for c in clusters) == [4, 5, 5, 5, 5, 6]
    assert {c.name for c in clusters} == {kind.name for kind in SMALL.kinds.values()}
    for cluster in clusters:
        methods = {built.document("small", i).title.split(" by ")[1][:6] for i in cluster.doc_ids}
        assert len(methods) == 1
    queries = {q.key: q for q in built.builds.queries("small", NAME)}
    by_name = {c.name: queries[c.key] for c in clusters}
    assert all(query.overlap.share <= LENS.overlap for query in queries.values())
    assert by_name["Mailed questionnaire"].tries == 2, "the first try gave words away"
    assert by_name["Bayesian regression"].tries == 1


def test_the_collection_is_a_project_that_says_whose_grades_it_has(built: Explorer) -> None:
    project = built.builds.project("small", NAME)
    assert project.model_grades
    provenance = built.builds.provenance("small", NAME)
    counts = (provenance.labelled, provenance.without, provenance.clusters, provenance.queries)
    assert counts == (30, 10, 6, 6)
    assert provenance.positives["wireless-sensors"] == 4
    assert provenance.found["wireless-sensors"] == 1, "what labelling overlooked is found again"
    assert sum(provenance.found.values()) == 1
    assert provenance.models == dict.fromkeys(built.builds.steps, "judge")
    assert (provenance.checked, sum(provenance.edits.values())) == (0, 0)
    grades = built.annotation.qrels(project).grades
    assert grades["wireless-sensors"][OVERLOOKED] == 2
    assert {j.annotator for j in built.annotation.judgments(project)} == {"model:judge"}
    item = (OVERLOOKED, "wireless-sensors")
    built.annotation.judge(project, item[1], item[0], "Bo", 0)
    again = built.builds.provenance("small", NAME)
    assert (again.checked, again.found["wireless-sensors"]) == (1, 0), "a person's grade counts"


def test_what_a_step_takes_is_said_first_and_running_again_asks_nothing(
    small_copy: Explorer, server: ModelServer
) -> None:
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    for step in builds.steps:
        assert builds.state("small", NAME).next == step
        estimate = builds.estimate("small", NAME, step, session(server))
        before = server.seen.questions
        told: list[StepProgress] = []
        report = run_step(builds, server, step, tell=told.append)
        slack = 1 if step == "label" else 0  # a document whose quote was asked for again
        assert 0 < server.seen.questions - before <= estimate.calls + slack
        assert report.input_tokens <= estimate.input_tokens * 1.2
        assert told[-1].done == told[-1].total
        assert report.left == 0
    assert builds.state("small", NAME).next is None
    before = server.seen.questions
    for report in run_all(builds, server):
        assert report.failed == report.left == 0
    assert server.seen.questions == before


def test_without_a_model_labels_collapse_by_their_vectors(small_copy: Explorer) -> None:
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    with pytest.raises(NoEndpointError):
        builds.run("small", NAME, "label", AUTHOR)
    with pytest.raises(BadInputError, match="'label' first"):
        builds.run("small", NAME, "collapse", AUTHOR)
    said = {
        "bees-survey": "Mailed questionnaire",
        "maps-survey": "mailed questionnaire",
        "bread-survey": "A mailed questionnaire",
        "bees-sensor": "Wireless sensors",
    }
    assert builds.set_labels("small", NAME, said, AUTHOR) == 4
    report = builds.run("small", NAME, "collapse", AUTHOR)
    assert "Without a model" in report.notes[0]
    [survey, sensor] = builds.clusters("small", NAME)
    assert survey.name in said.values()
    assert survey.doc_ids == ("bees-survey", "bread-survey", "maps-survey"), "corpus order"
    assert sensor.dropped, "one document is too few"
    with pytest.raises(BadInputError, match="1 documents; those of 2 to 50"):
        builds.drop("small", NAME, sensor.key, False, AUTHOR)


# -- stopping and going on ---------------------------------------------------------------------


def test_a_budget_ends_a_step_and_the_next_run_goes_on(
    small_copy: Explorer, server: ModelServer
) -> None:
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    report = run_step(builds, server, "label", most_calls=12)
    assert report.stopped == "budget"
    state = builds.state("small", NAME).steps[0]
    assert 0 < state.done == state.total - report.left
    assert not state.is_complete
    run_step(builds, server, "label")
    assert builds.state("small", NAME).steps[0].is_complete
    assert questions(server, LABELLING) <= len(DOCUMENTS) + 2, "no answer is asked for twice"


def test_a_cancelled_step_keeps_what_it_has(small_copy: Explorer, server: ModelServer) -> None:
    server.behaviour.latency = 0.2
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    job = builds.start("small", NAME, "label", AUTHOR, session(server))
    assert builds.running("small", NAME) == job
    while server.seen.questions < 8:
        assert builds.job(job).state == "running"
    builds.cancel(job)
    assert builds.running("small", NAME) is None
    while builds.job(job).state == "running":
        pass
    ended = builds.job(job)
    assert ended.state == "cancelled"
    assert ended.report is not None
    assert ended.report.left > 0
    server.behaviour.latency = 0.0
    run_step(builds, server, "label")
    assert builds.state("small", NAME).steps[0].is_complete


def test_bad_answers_cost_documents_not_the_run(small_copy: Explorer, server: ModelServer) -> None:
    server.behaviour.faults = {"prose": 0.3, "other-json": 0.2}
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    report = run_step(builds, server, "label")
    assert report.failed > 0
    state = builds.state("small", NAME).steps[0]
    assert state.total - state.done == report.failed
    server.behaviour.faults = {}
    assert run_step(builds, server, "label").failed == 0
    assert builds.state("small", NAME).steps[0].is_complete


def test_what_a_model_says_is_cleaned_and_limited(
    small_copy: Explorer, server: ModelServer
) -> None:
    def hostile(prompt: str, _: object) -> dict[str, object] | None:
        if LABELLING not in prompt:
            return None
        label = "x" * 201 if "by survey" in prompt else "<b>\u202e\x07Kind</b>\n two"
        return {"shows": True, "label": label, "quote": "Harbour pilots need to know"}

    server.behaviour.handlers = [hostile]
    builds = small_copy.builds
    builds.save(BuildLens(**{**_fields(LENS), "limit": 22}), AUTHOR)
    report = run_step(builds, server, "label")
    assert (report.made, report.failed) == (18, 4), "too long a label is no answer"
    labels = builds.labels("small", NAME)
    assert {label.text for label in labels} == {"< b>Kind< /b> two"}
    quoted = [label.doc_id for label in labels if label.quote]
    assert quoted == ["tides-network", "tides-interview", "tides-simulation"]


# -- what people change ------------------------------------------------------------------------


def test_what_people_change_survives_every_step_run_again(
    built: Explorer, server: ModelServer
) -> None:
    builds = built.builds
    clusters = {c.name: c for c in builds.clusters("small", NAME)}
    sensors, survey = clusters["Wireless sensors"], clusters["Mailed questionnaire"]
    regression, interviews = (
        clusters["Bayesian regression"],
        clusters["Interviews with practitioners"],
    )
    builds.set_labels("small", NAME, {OVERLOOKED: "Wireless sensors", "bees-network": ""}, "Bo")
    builds.merge("small", NAME, [survey.key, interviews.key], "Asking people", "Bo")
    builds.drop("small", NAME, regression.key, True, "Bo")
    builds.set_query("small", NAME, sensors.key, "Bo", text="Little watchers left alone")
    assert {s.step: s.edits for s in builds.state("small", NAME).steps} == {
        "label": 2, "collapse": 3, "verbalise": 1, "expand": 0,
    }  # fmt: skip

    builds.save(BuildLens(**{**_fields(LENS), "guidance": "Instruments count, too."}), AUTHOR)
    assert builds.state("small", NAME).steps[0].stale
    before = questions(server, LABELLING)
    for step in builds.steps[:3]:
        run_step(builds, server, step)
    assert questions(server, LABELLING) - before <= len(DOCUMENTS) - 2 + 1, "not over people's"
    labels = {label.doc_id: label for label in builds.labels("small", NAME)}
    assert (labels[OVERLOOKED].text, labels[OVERLOOKED].author) == ("Wireless sensors", "Bo")
    assert labels["bees-network"].text == ""
    after = {c.key: c for c in builds.clusters("small", NAME)}
    asking = next(c for c in after.values() if c.name == "Asking people")
    assert set(asking.doc_ids) == {*survey.doc_ids, *interviews.doc_ids}
    assert after[regression.key].dropped
    assert OVERLOOKED in after[sensors.key].doc_ids
    query = next(q for q in builds.queries("small", NAME) if q.key == sensors.key)
    assert (query.text, query.maker) == ("Little watchers left alone", "person")
    assert OVERLOOKED in query.doc_ids
    assert regression.key not in {q.key for q in builds.queries("small", NAME)}


def test_only_what_changed_is_asked_about_again(built: Explorer, server: ModelServer) -> None:
    builds = built.builds
    project = builds.project("small", NAME)
    before = {c.name: c for c in builds.clusters("small", NAME)}
    judged = built.annotation.judgments(project)
    built.annotation.judge(project, "wireless-sensors", "bees-sensor", "Bo", 1)
    survey, interviews = before["Mailed questionnaire"], before["Interviews with practitioners"]
    assert builds.state("small", NAME).next is None

    builds.merge("small", NAME, [survey.key, interviews.key], "Mailed questionnaire", "Bo")
    stale = {s.step: s.stale for s in builds.state("small", NAME).steps}
    assert stale == {"label": False, "collapse": False, "verbalise": True, "expand": True}
    run_step(builds, server, "verbalise")
    assert questions(server, WORDING) == 2, "one cluster, whose first try gives words away"
    run_step(builds, server, "expand")
    assert builds.state("small", NAME).next is None

    after = built.annotation.judgments(project)
    key = {(j.query_id, j.doc_id, j.annotator): j.relevance for j in after}
    assert key["wireless-sensors", "bees-sensor", "Bo"] == 1, "nothing is overwritten"
    assert {(j.query_id, j.doc_id, j.annotator) for j in judged} <= key.keys()
    moved = interviews.doc_ids[0]
    assert key["mailed-questionnaire", moved, "Bo"] == 2, "who put it there says so"
    assert questions(server, GRADING) == 0, "of candidates that were graded before, none again"


def test_a_document_taken_out_of_its_cluster_loses_the_grade_that_the_cluster_gave(
    built: Explorer, server: ModelServer
) -> None:
    builds = built.builds
    sensors = next(c for c in builds.clusters("small", NAME) if c.name == "Wireless sensors")
    query = next(q for q in builds.queries("small", NAME) if q.key == sensors.key)
    builds.set_query("small", NAME, sensors.key, "Bo", text="Little watchers left alone")
    run_step(builds, server, "expand")
    project = builds.project("small", NAME)
    assert len(built.annotation.queries(project)) == 7, "other words are another query"
    assert query.text in [q.text for q in built.annotation.queries(project).values()]

    out = sensors.doc_ids[0]
    builds.split("small", NAME, sensors.key, [out], "Something else", "Bo")
    run_step(builds, server, "verbalise")
    report = run_step(builds, server, "expand")
    assert any(note.startswith("1 document is in no cluster") for note in report.notes)
    grades = built.annotation.qrels(project).grades
    judgments = built.annotation.judgments(project, "wireless-sensors-2")
    assert len(grades["wireless-sensors-2"]) == len({j.doc_id for j in judgments})
    taken = next(j for j in judgments if j.doc_id == out)
    assert taken.event.startswith("grading-"), "it is a candidate like others now"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"doc_ids": ("bees-survey", "bees-survey")}, "'bees-survey' is in"),
        ({"doc_ids": ("bees-survey", "nowhere")}, "'nowhere'"),
        ({"doc_ids": ("bees-survey",)}, "is in no cluster any more"),
        ({"name": " \x00"}, "has no name"),
        ({"name": "x" * 201}, "201 characters"),
    ],
)
def test_clusters_that_cannot_be_are_refused_as_a_whole(
    built: Explorer, change: dict[str, object], said: str
) -> None:
    builds = built.builds
    before = builds.clusters("small", NAME)
    survey = next(c for c in before if c.name == "Mailed questionnaire")
    fields = {**_fields(survey), **change}
    others = [c for c in before if c.key != survey.key]
    with pytest.raises(BadInputError, match=said):
        builds.edit_clusters("small", NAME, [*others, type(survey)(**fields)], "Bo")
    assert builds.clusters("small", NAME) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"corpus": "nothing"}, "no corpus 'nothing'"),
        ({"attribute": " \n\x00"}, "no attribute"),
        ({"attribute": "x" * 1001}, "1,001 characters"),
        ({"name": "a/b"}, "'a/b'"),
        ({"name": ""}, "no name"),
        ({"distance": 0.0}, "distance is 0.0"),
        ({"distance": float("nan")}, "distance is nan"),
        ({"aspect": "colour"}, "no aspect 'colour'"),
        ({"systems": ("nothing",)}, "nothing"),
        ({"systems": ()}, "no source"),
        ({"smallest": 5, "largest": 4}, "5 to 4 documents"),
        ({"limit": 0}, "0 documents"),
        ({"overlap": 1.5}, "overlap is 1.5"),
        ({"depth": 0}, "depth"),
        ({"examples": tuple(map(str, range(21)))}, "21 examples"),
    ],
)
def test_a_lens_that_cannot_be_is_refused(
    small: Explorer, change: dict[str, object], said: str
) -> None:
    with pytest.raises(BadInputError, match=said):
        small.builds.save(BuildLens(**{**_fields(LENS), **change}), AUTHOR)
    assert small.builds.names() == []


def test_names_that_there_are_not_are_named(built: Explorer) -> None:
    with pytest.raises(UnknownNameError, match="It has methods"):
        built.builds.state("small", "nothing")
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        built.builds.set_labels("small", NAME, {"nowhere": "x"}, AUTHOR)
    with pytest.raises(UnknownNameError, match="'c99'"):
        built.builds.set_query("small", NAME, "c99", AUTHOR, text="x")


def _fields(record: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(record)  # type: ignore[call-overload,no-any-return]
