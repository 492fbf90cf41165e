"""A collection from a lens: each step makes what the next one needs, and says what it took."""

from dataclasses import replace

import pytest

from engine.errors import BadInputError
from engine.llm.endpoints import NoEndpointError
from engine.llm.texts import Quoted
from engine.types.annotating import Judgment
from engine.types.builds import StepRequest
from tests.fakes.build_answers import (
    AUTHOR,
    LABELLING,
    LENS,
    NAME,
    SMALL_METHODS,
    run_all,
    run_step,
)
from tests.fakes.model_sessions import session
from tests.fakes.small_corpus import DOCUMENTS

OVERLOOKED = "maps-sensor"


# -- the five steps ----------------------------------------------------------------------------


def test_each_document_is_labelled_once_with_words_that_stand_in_it(built):
    labels = {label.doc_id: label for label in built.builds.open("small", NAME).labels()}
    assert len(labels) == len(DOCUMENTS)
    shown = {doc_id: label for doc_id, label in labels.items() if label.text}
    assert len(shown) == len(SMALL_METHODS.of) - 1
    assert labels[OVERLOOKED].text == "", "what does not show it is kept as that"
    for doc_id, label in shown.items():
        document = built.document("small", doc_id)
        assert label.maker == "model"
        assert label.author == "judge"
        if document.title == SMALL_METHODS.misquoted:
            assert label.quote == "", "a quote that stands nowhere is not kept"
        else:
            assert Quoted(f"{document.title}\n{document.text}").find(label.quote)


def test_near_synonyms_become_one_cluster_that_is_worded_without_its_documents_words(built):
    clusters = built.builds.open("small", NAME).clusters()
    assert sorted(len(c.doc_ids) for c in clusters) == [4, 5, 5, 5, 5, 6]
    assert {c.name for c in clusters} == {kind.name for kind in SMALL_METHODS.kinds.values()}
    for cluster in clusters:
        methods = {built.document("small", i).title.split(" by ")[1][:6] for i in cluster.doc_ids}
        assert len(methods) == 1
    queries = {q.key: q for q in built.builds.open("small", NAME).queries()}
    by_name = {c.name: queries[c.key] for c in clusters}
    assert all(query.overlap.share <= LENS.overlap for query in queries.values())
    assert by_name["Mailed questionnaire"].tries == 2, "the first try gave words away"
    assert by_name["Bayesian regression"].tries == 1


def test_the_collection_is_a_project_that_says_whose_grades_it_has(built):
    project = built.builds.open("small", NAME).project()
    assert project.model_grades
    provenance = built.builds.provenance("small", NAME)
    counts = (provenance.labelled, provenance.without, provenance.clusters, provenance.queries)
    assert counts == (30, 10, 6, 6)
    assert provenance.positives["wireless-sensors"] == 4
    assert provenance.found["wireless-sensors"] == 1, "what labelling overlooked is found again"
    assert sum(provenance.found.values()) == 1
    assert provenance.models == dict.fromkeys(built.builds.steps, "judge")
    assert (provenance.checked, sum(provenance.edits.values())) == (0, 0)
    grades = built.annotation.exchange.qrels(project).grades
    assert grades["wireless-sensors"][OVERLOOKED] == 2
    assert {j.annotator for j in built.annotation.judgments(project)} == {"model:judge"}
    item = (OVERLOOKED, "wireless-sensors")
    built.annotation.judge(project, Judgment(item[1], item[0], "Bo", 0))
    again = built.builds.provenance("small", NAME)
    assert (again.checked, again.found["wireless-sensors"]) == (1, 0), "a person's grade counts"


def test_what_a_step_takes_is_said_first_and_running_again_asks_nothing(small_copy, server):
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    for step in builds.steps:
        assert builds.open("small", NAME).state().next == step
        estimate = builds.estimate(StepRequest("small", NAME, step), session(server))
        before = server.seen.questions
        report = run_step(builds, server, step)
        slack = 1 if step == "label" else 0  # a document whose quote was asked for again
        assert 0 < server.seen.questions - before <= estimate.calls + slack
        assert report.left == 0
    assert builds.open("small", NAME).state().next is None
    before = server.seen.questions
    for report in run_all(builds, server):
        assert report.failed == report.left == 0
    assert server.seen.questions == before


def test_without_a_model_labels_collapse_by_their_vectors(small_copy):
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    with pytest.raises(NoEndpointError):
        builds.run(StepRequest("small", NAME, "label", AUTHOR))
    with pytest.raises(BadInputError, match="'label' first"):
        builds.run(StepRequest("small", NAME, "collapse", AUTHOR))
    said = {
        "bees-survey": "Mailed questionnaire",
        "maps-survey": "mailed questionnaire",
        "bread-survey": "A mailed questionnaire",
        "bees-sensor": "Wireless sensors",
    }
    assert builds.open("small", NAME).set_labels(said, AUTHOR) == 4
    report = builds.run(StepRequest("small", NAME, "collapse", AUTHOR))
    assert "Without a model" in report.notes[0]
    [survey, sensor] = builds.open("small", NAME).clusters()
    assert survey.name in said.values()
    assert survey.doc_ids == ("bees-survey", "bread-survey", "maps-survey"), "corpus order"
    assert sensor.dropped, "one document is too few"
    with pytest.raises(BadInputError, match="1 documents; those of 2 to 50"):
        builds.open("small", NAME).drop(sensor.key, False, AUTHOR)


# -- stopping and going on ---------------------------------------------------------------------


def test_what_a_model_says_is_cleaned_and_limited(small_copy, server):
    def hostile(prompt, _):
        if LABELLING not in prompt:
            return None
        label = "x" * 201 if "by survey" in prompt else "<b>\u202e\x07Kind</b>\n two"
        return {"expression": "implied", "label": label, "quote": "Harbour pilots need to know"}

    server.behaviour.handlers = [hostile]
    builds = small_copy.builds
    builds.save(replace(LENS, limit=22), AUTHOR)
    report = run_step(builds, server, "label")
    assert (report.result, report.failed) == (18, 4), "too long a label is no answer"
    labels = builds.open("small", NAME).labels()
    assert {label.text for label in labels} == {"< b>Kind< /b> two"}
    quoted = [label.doc_id for label in labels if label.quote]
    assert quoted == ["tides-network", "tides-interview", "tides-simulation"]


def test_what_was_stopped_is_unfinished_and_not_said_to_rest_on_what_has_changed(
    small_copy, server
):
    builds = small_copy.builds
    builds.save(LENS, AUTHOR)
    run_step(builds, server, "label")
    assert run_step(builds, server, "collapse", most_calls=1).stopped == "budget"
    stopped = builds.open("small", NAME).state().steps[1]
    assert stopped.done == stopped.total, "each document is in a cluster, by its label"
    assert (stopped.unfinished, stopped.stale, stopped.is_complete) == (True, False, False)
    run_step(builds, server, "collapse")
    run_step(builds, server, "verbalise")
    assert run_step(builds, server, "expand", most_calls=3).stopped == "budget"
    state = builds.open("small", NAME).state()
    assert [s.step for s in state.steps if s.unfinished] == ["expand"] == [state.next]
    assert not any(s.stale for s in state.steps)
    run_step(builds, server, "expand")
    assert builds.open("small", NAME).state().next is None
