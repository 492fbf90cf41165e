"""Map: what it shows of a link, and what is made of a selection."""

import json
import shutil

import pytest

from engine.types.annotating import Project
from engine.types.searches import Query
from pages._explore.explore_state import View
from pages._map.map_parts import rows_from_bits
from pages._map.map_state import MOST_IN_LINK
from pages._map.selection import RUN
from tests.fakes.model_answers import Knowledge, names
from tests.fakes.model_server import serving
from tests.pages.visits import (
    APP,
    BROKEN,
    address,
    click,
    facets_of,
    param,
    run,
    run_until,
    script,
    shown,
    visit,
)
from tests.support import make_explorer


@pytest.fixture(scope="module")
def mapped_home(small_home, tmp_path_factory):
    """A home with the small corpus and its map. For reading only."""
    home = tmp_path_factory.mktemp("mapped") / "home"
    shutil.copytree(small_home, home)
    make_explorer(home).maps.build("small")
    return home


@pytest.fixture
def mapped(mapped_home, home, serve):
    """What the pages open: a copy of that home."""
    shutil.copytree(mapped_home, home)
    return serve(make_explorer(home))


def ids(explorer, count):
    return [one.doc_id for one in explorer.browse("small", 0, count)]


def told(page):
    """What the map was told."""
    for component in page.get("bidi_component"):
        if component.proto.component_name == "seedlens_map":
            return dict(json.loads(component.proto.json))
    return {}


def test_a_link_names_layout_colour_and_selection(mapped):
    chosen = ids(mapped, 3)
    page = visit("map", corpus="small", layout="method", colour="year", chosen=",".join(chosen))
    assert BROKEN not in shown(page)
    data = told(page)
    assert " method " in data["layout"]
    assert data["colour"]["scale"] == "range"
    rows = rows_from_bits(data["selected"], data["size"])
    assert [mapped.maps.view("small").doc_ids[row] for row in rows] == chosen
    assert "3 documents selected" in shown(page)
    assert f"seed={chosen[0]}" in shown(page)
    kinds = [component.proto.component_name for component in page.get("bidi_component")]
    assert kinds.count("seedlens_map_part") == 3, "places, titles and colours"


@pytest.mark.parametrize("colour", ["grade", "field:venue", "cluster:method"])
def test_points_are_coloured_by_what_the_corpus_knows(mapped, colour):
    page = visit("map", corpus="small", colour=colour, marks="pool,judged,holes,results")
    assert BROKEN not in shown(page)
    marked = {layer["name"]: layer["rows"] for layer in told(page)["layers"]}
    assert len(marked["results"]) == len(marked["holes"]) == 20
    assert len(marked["seed"]) == 1


def test_what_a_link_names_and_the_map_lacks_is_said_or_left_out(mapped):
    wrong = {"layout": "nothing", "colour": "field:no", "chosen": "gone", "project": "no1"}
    wrong |= {"query": "no2", "system": "no3", "marks": "results", "text": "no4"}
    page = visit("map", corpus="small", **wrong)
    assert BROKEN not in shown(page)
    words = ("no1", "no3", "no4", "no layout", "field:no", "No selection", "another seed")
    assert [word for word in words if word not in shown(page)] == []
    assert param(page, "text") == ""
    assert " document " in told(page)["layout"]


def test_likeness_to_a_pasted_seed_colours_points_and_its_results_are_marked(mapped):
    text_id = mapped.notebook.put_text("We count bees with cheap sensors. Fewer died.")
    explore = View("small", text_id=text_id, aspect="method")
    link = {"corpus": "small", "text": text_id, "colour": "likeness:method", "marks": "results"}
    page = visit("map", layout="method", **link)
    assert BROKEN not in shown(page)
    data = told(page)
    assert data["colour"]["label"] == "similarity to the seed in Method"
    assert data["colour"]["low"] < data["colour"]["high"]
    (marked,) = data["layers"]
    searched = mapped.search(explore.to_query(mapped))
    row_of = mapped.library.open("small").row_of
    assert marked["rows"] == [row_of[one.doc_id] for one in searched.results]


def test_documents_that_a_filter_rules_out_are_faint(mapped):
    page = visit("map", corpus="small", where="has.aspect=method")
    data = told(page)
    opened = mapped.library.open("small")
    allowed = opened.scope(mapped.parse_filters("has.aspect=method")).allowed
    assert rows_from_bits(data["within"], data["size"]) == allowed.nonzero()[0].tolist()
    assert 0 < allowed.sum() < len(allowed)
    passing = f"{allowed.sum()} of {len(allowed)} documents match"
    assert passing in shown(page, "caption", "markdown")
    chosen = "bees-network,no-method"
    page = visit("map", corpus="small", where="has.aspect=method", chosen=chosen)
    assert "1 document selected" in shown(page)


def test_a_selection_becomes_a_reading_list_a_seed_and_a_file(mapped):
    one = ids(mapped, 5)[4]
    page = visit("map", corpus="small", chosen=one)
    click(page, "map_keep")
    assert "1 document is in “Reading list”." in shown(page)
    kept = mapped.reading_lists.documents()
    assert [document.document.doc_id for document in kept] == [one]
    click(page, "map_seed")
    assert param(page, "seed") == one
    page.session_state["map_export"] = True
    run(page)
    assert "Download CSV" in [button.proto.label for button in page.get("download_button")]
    assert one in mapped.notebook.export_documents("small", [one], "jsonl")


def test_a_selection_becomes_a_pool_of_a_project(mapped):
    seed, *others = ids(mapped, 4)
    project = mapped.annotation.save(Project("small", "p"), "lead")
    mapped.annotation.add_queries(project, [Query("small", seed=seed, aspect="method")])
    page = address("map", corpus="small", chosen=",".join([seed, *others]))
    page.session_state["map_judge"] = True
    last = mapped.annotation.save(Project("small", "q"), "lead")
    mapped.annotation.add_queries(last, [Query("small", seed=seed, aspect="method")])
    run(page).selectbox(key="map_pool_project").set_value("q")
    click(page, "map_pool_add")
    assert "Settings changed before your click" in shown(page)
    assert not mapped.annotation.pool(project)
    page.selectbox(key="map_pool_project").set_value("p")
    click(run(page), "map_pool_add")
    pooled = mapped.annotation.pool(project)
    assert [item.doc_id for item in pooled] == others, "all but the seed"
    assert {source.name for item in pooled for source in item.sources} == {f"run:{RUN}"}
    assert "3 documents are in the pool" in shown(page)


def test_a_corpus_without_a_map_is_offered_one(small_copy, serve):
    page = visit("map", corpus=serve(small_copy).library.names()[0])
    assert "small has no map yet" in shown(page)
    assert not page.button(key="map_compute").disabled


def test_a_selection_becomes_the_filter_of_explore(mapped):
    chosen = ids(mapped, 3)
    explore = visit(APP)
    explore.switch_page(script("map"))
    explore.query_params.update(corpus="small", seed=chosen[0], chosen=",".join(chosen))
    click(run(explore), "map_filter")
    assert BROKEN not in shown(explore)
    (chip,) = [one for one in explore.button if one.label.startswith("×")]
    assert chip.label == "× within 3 selected documents"
    assert facets_of(explore)["documents"] == 3
    where = param(explore, "where")
    within = told(visit("map", corpus="small", where=where))["within"]
    assert rows_from_bits(within, 40) == [0, 1, 2], "the map keeps to it, too"
    chip.click()
    assert not param(run(explore), "where")


def test_a_larger_selection_has_a_name_in_the_link(mapped):
    chosen = ids(mapped, MOST_IN_LINK + 5)
    kept = mapped.select("small", chosen).value
    other = visit("map", corpus="small", selection=kept, at="0.2,0.7,3.00")
    assert f"{len(chosen)} documents selected" in shown(other)
    assert param(other, "at") == "0.2,0.7,3.00", "the part that is seen stays in the link"
    assert "at is far" in shown(visit("map", corpus="small", at="far"))
    filtered = visit("map", corpus="small", selection=kept, where="has.aspect=method")
    within = rows_from_bits(told(filtered)["within"], 40)
    assert f"{len({*within} & {*range(len(chosen))})} documents selected" in shown(filtered)
    unknown = visit("map", corpus="small", selection="7-0123456789abcdef")
    assert "is not stored here" in shown(unknown)
    assert "No selection" in shown(unknown)


def test_a_connected_model_words_the_names_of_clusters_until_they_are_taken_back(
    mapped, serve, connect
):
    with serving(Knowledge({}, {})) as server:
        connect(server.url)
        explorer = serve(make_explorer(mapped.home.root))
        server.behaviour.handlers = [names()]
        page = visit("map", corpus="small", layout="method")
        before = told(page)["layout"]
        page.session_state["map_names"] = True
        assert "1 request" in shown(run(page))
        click(page, "map_names_ask")
        run_until(page, lambda: "generated by" in shown(page, "caption", "markdown"), what="names")
        assert told(page)["layout"] != before, "the browser is sent the names"
        click(page, "map_names_back")
        assert told(page)["layout"] == before
        server.behaviour.handlers = [lambda *_: "no names"]
        page = visit("map", corpus="small", layout="result")
        page.session_state["map_names"] = True
        click(run(page), "map_names_ask")
        run_until(page, lambda: "gave no names" in shown(page), what="what went wrong")
        assert not any(one.worded_by for one in explorer.maps.view("small").layouts.values())
