"""Scenarios follow the documents that they are of, and go when they are told to."""

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import POSTS
from engine.types.corpora import ImportRequest
from engine.types.scenarios import ScenarioRequest
from tests.engine.scenarios.scenario_runs import COUNT, EXTRACTS


def test_scenarios_of_a_document_that_has_changed_are_left_aside_until_they_are_written_anew(
    small_copy,
):
    small_copy.scenarios.run(EXTRACTS)
    text = "Glass is blown by hand. The furnace never goes out."
    small_copy.library.add("small", [{"doc_id": "plain", "title": "Glass", "text": text}])
    state = small_copy.scenarios.status("small")
    assert (state.covered, state.outdated) == (COUNT - 1, 1)
    assert small_copy.scenarios.of_document("small", "plain") == ()
    assert small_copy.scenarios.run(EXTRACTS).result.written == 1
    found = small_copy.scenarios.of_document("small", "plain")
    assert all(s.explanation in text for s in found)
    assert small_copy.scenarios.status("small").outdated == 0


def test_scenarios_go_with_their_corpus_and_come_back_with_it(small_copy, small_source):
    written = small_copy.scenarios.run(EXTRACTS).result.scenarios
    small_copy.scenarios.set_weight("small", 0.4)
    small_copy.library.delete("small")
    with pytest.raises(UnknownNameError):
        small_copy.scenarios.status("small")
    small_copy.library.restore("small")
    small_copy.library.set_lens("small", POSTS)
    state = small_copy.scenarios.status("small")
    assert (state.scenarios, state.weight) == (written, 0.4), "another lens leaves them"

    small_copy.library.delete("small")
    small_copy.library.empty_trash()
    small_copy.library.import_documents(ImportRequest(small_source, "small"))
    assert small_copy.scenarios.status("small").scenarios == 0


def test_requests_that_cannot_be_met_are_refused_at_the_door(small_copy):
    for request, said in (
        (ScenarioRequest("small", "extractive", weight=1.5), "1.5"),
        (ScenarioRequest("small", "extractive", limit=0), "limit is 0"),
        (ScenarioRequest("small", "extractive", component="X"), "'X'"),  # type: ignore[arg-type]
        (ScenarioRequest("small", "distilled", folder="/nowhere"), "/nowhere"),
        (ScenarioRequest("nothing", "extractive"), "no corpus 'nothing'"),
    ):
        with pytest.raises(BadInputError, match=said):
            small_copy.scenarios.run(request)
    assert small_copy.scenarios.status("small").weight == 0.7
