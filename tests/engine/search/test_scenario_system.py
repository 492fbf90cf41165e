"""The system ``scenario`` finds what documents only imply, and says by which scenario."""

import shutil

import pytest

from engine.corpora.scenario_store import embed
from engine.errors import BadInputError
from engine.types.scenarios import COMPONENTS, ScenarioRequest
from engine.types.searches import Query
from tests.fakes.model_answers import IMPLIED, MODEL, writes_scenarios
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer

FERRIES = "A timetable of ferries: when may a ferry leave, and how late can it be?"


@pytest.fixture(scope="module")
def writer():
    """A model that writes scenarios for the small corpus."""
    with serving(knowledge(), handlers=[writes_scenarios]) as running:
        yield running


@pytest.fixture(scope="module")
def profiled_home(small_home, writer, tmp_path_factory):
    """A home with the small corpus and its scenarios. For reading only."""
    home = tmp_path_factory.mktemp("profiled") / "home"
    shutil.copytree(small_home, home)
    connected(home, writer).scenarios.run(ScenarioRequest("small"))
    return home


@pytest.fixture
def profiled(profiled_home, home, writer):
    """The same, to be written to."""
    shutil.copytree(profiled_home, home)
    return connected(home, writer)


def connected(home, writer, **settings):
    return make_explorer(home, openai_base_url=writer.url, llm_model=MODEL, **settings)


def places(explorer, text, system):
    found = explorer.search(Query("small", text=text, system=system, k=len(DOCUMENTS)))
    return [result.doc_id for result in found.results]


def test_a_document_is_found_by_what_it_only_implies_and_the_result_says_why(profiled):
    assert not any("ferr" in str(d).lower() for d in DOCUMENTS), "nobody says it"
    dense, scenario = (places(profiled, FERRIES, s) for s in ("dense", "scenario"))
    assert scenario[0] == "tides-sensor"
    assert dense.index("tides-sensor") > 0

    first = profiled.search(Query("small", text=FERRIES, system="scenario")).results[0]
    need, why = IMPLIED["Tides by sensor"]
    assert (first.scenario.scenario.need, first.scenario.scenario.explanation) == (need, why)
    assert first.scenario.scenario.generated
    assert first.evidence, "and the passages are shown as ever"


def test_the_score_is_the_weighted_sum_of_document_and_best_scenario(profiled):
    found = profiled.search(Query("small", seed="bees-network", system="scenario"))
    dense = profiled.search(Query("small", seed="bees-network", system="dense", k=40))
    own = {r.doc_id: r.score for r in dense.results}
    for result in found.results:
        match = result.scenario
        expected = 0.7 * own[result.doc_id] + 0.3 * match.score
        assert result.score == pytest.approx(expected, abs=2e-3)
    scores = [r.score for r in found.results]
    assert scores == sorted(scores, reverse=True)


def test_the_weight_can_be_set_and_holds_from_the_next_search(profiled):
    profiled.scenarios.set_weight("small", 1.0)
    alone = places(profiled, FERRIES, "scenario")
    assert alone == places(profiled, FERRIES, "dense")
    profiled.scenarios.set_weight("small", 0.0)
    found = profiled.search(Query("small", text=FERRIES, system="scenario"))
    assert all(r.scenario and r.score == pytest.approx(r.scenario.score) for r in found.results)


def test_another_component_can_be_embedded_without_asking_again(profiled, writer, encoder):
    asked, component = writer.seen.questions, COMPONENTS[-1]
    request = ScenarioRequest("small", "generated", component)
    estimate = profiled.scenarios.estimate(request)
    report = profiled.scenarios.run(request)
    assert writer.seen.questions == asked
    assert report.result.embedded == estimate.counts["embedded"]
    state = profiled.scenarios.status("small")
    assert (state.component, state.other_components) == (component, 0)
    query = profiled.searcher("small").encode_text(FERRIES).vector
    for result in profiled.search(Query("small", text=FERRIES, system="scenario")).results[:3]:
        [vector] = embed([result.scenario.scenario], component, encoder)
        assert result.scenario.component == component
        assert result.scenario.score == pytest.approx(float(vector @ query), abs=2e-3)


def test_a_document_without_scenarios_keeps_its_own_score(small_copy, writer):
    explorer = connected(small_copy.home.root, writer)
    explorer.scenarios.run(ScenarioRequest("small", limit=3))
    query = Query("small", seed="bees-network", system="scenario", k=40)
    found = {r.doc_id: r for r in explorer.search(query).results}
    dense = explorer.search(Query("small", seed="bees-network", system="dense", k=40))
    assert len(found) == len(dense.results)
    without = [r for r in dense.results if found[r.doc_id].scenario is None]
    assert len(without) >= len(DOCUMENTS) - 4
    for result in without:
        assert found[result.doc_id].score == pytest.approx(result.score, abs=1e-5)


def test_a_corpus_without_scenarios_says_how_to_write_them(small):
    with pytest.raises(BadInputError, match="seedlens scenarios small"):
        small.search(Query("small", seed="bees-network", system="scenario"))


def test_searches_see_at_once_what_is_written_and_removed(small_copy):
    query = Query("small", seed="bees-network", system="scenario")
    small_copy.scenarios.run(ScenarioRequest("small", "extractive"))
    first = small_copy.search(query).results[0]
    assert not first.scenario.scenario.generated
    small_copy.scenarios.remove("small")
    with pytest.raises(BadInputError):
        small_copy.search(query)
    small_copy.scenarios.run(ScenarioRequest("small", "extractive"))
    assert small_copy.search(query).results[0].scenario == first.scenario


def test_a_changed_document_is_not_found_by_its_old_scenarios(profiled):
    changed = {"doc_id": "tides-sensor", "text": "Hens lay fewer eggs in winter."}
    profiled.library.add("small", [changed])
    found = profiled.search(Query("small", text=FERRIES, system="scenario", k=40))
    [one] = [r for r in found.results if r.doc_id == "tides-sensor"]
    assert one.scenario is None
    assert one.rank > 1


def test_scenarios_that_do_not_fit_into_memory_rank_alike(profiled_home, writer):
    inside = connected(profiled_home, writer)
    outside = connected(profiled_home, writer, resident_megabytes=0)
    for asked in ({"text": FERRIES}, {"seed": "bees-network"}):
        query = Query("small", system="scenario", **asked)
        a, b = (
            [(r.doc_id, r.scenario and r.scenario.scenario) for r in explorer.search(query).results]
            for explorer in (inside, outside)
        )
        assert a == b
