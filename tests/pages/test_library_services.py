"""Adding documents from a service, and updating a corpus that came from one, on Library."""

from __future__ import annotations

from collections import deque

import pytest

from engine.types.corpora import ImportRequest, NamedDataset, ServiceQueries
from tests.fakes.service_server import Paper, serving_papers
from tests.pages.import_page import shown
from tests.pages.visits import click, run, visit
from tests.support import make_explorer

HOSTILE = "<img src=x onerror=alert(1)> [a](http://x)"


@pytest.fixture
def services():
    with serving_papers([Paper(1, title=HOSTILE), *map(Paper, range(2, 1201))]) as server:
        yield server


@pytest.fixture
def served(services, home, serve):
    """An explorer over an empty home that asks these services; the pages open it."""
    return serve(make_explorer(home, **services.settings))


def form(service="openalex", text=""):
    """The page with the form of a service, filled in."""
    page = visit("library")
    page.get_by_key("library_way").set_value("Online service")
    run(page)
    page.get_by_key("library_service").set_value(service)
    run(page)
    if text:
        page.text_area(key=f"library_service_text_{service}").set_value(text)
        run(page)
    return page


def test_what_a_service_has_is_shown_before_it_is_retrieved(served, services, started):
    page = form()
    assert "OpenAlex ids and DOIs" in shown(page)
    page = click(page, "library_service_look")
    assert "Nothing is asked for. Give search words" in shown(page).replace("</strong>", "")
    page.text_area(key="library_service_text_openalex").set_value("everything")
    assert services.seen == [], "typing asks nothing"
    page = click(page, "library_service_look")  # one click, also right after typing
    said = shown(page)
    assert "1,200 documents from OpenAlex" in said
    assert Paper(5).name in said
    assert Paper(6).name not in said
    assert "Importing the first 1,000." in said
    assert "<img" not in said
    assert "&lt;img src=x" in said
    name = next(t for t in page.text_input if str(t.key).startswith("library_name_"))
    assert name.value == "openalex-everything"
    name.set_value("sea")
    page.number_input(key="library_service_limit").set_value(50)
    page.checkbox(key="library_service_abstract").set_value(True)
    page = run(page)
    assert "Importing the first 50." in shown(page)
    assert len(services.seen) == 1, "only the button asks"
    page = click(page, "library_service_start")
    [request] = started
    assert isinstance(request.source, ServiceQueries)
    [query] = request.source.queries
    assert (request.name, query.words, query.limit) == ("sea", "everything", 50)
    assert query.with_abstract
    assert page.text_area(key="library_service_text_openalex").value == "", "it is under way"


def test_a_service_that_does_not_answer_is_asked_once_for_each_click(served, services, started):
    services.behaviour.faults = deque(["429 retry=7200"])
    page = click(form(text="everything"), "library_service_look")
    assert "OpenAlex wants no more requests for 2.0 hours" in shown(page)
    assert "library_service_start" not in {b.key for b in page.button}
    page = run(run(page))
    assert len(services.seen) == 1
    page = click(page, "library_service_look")
    assert "1,200 documents from OpenAlex" in shown(page)


def test_ids_are_asked_for_all_and_those_that_do_not_exist_are_named(served, started):
    page = click(form("acl", "2024.acl-long, 2031.nope-<b>"), "library_service_look")
    assert "&#x27;2031.nope-&lt;b&gt;&#x27; is no id" in shown(page)
    page.text_area(key="library_service_text_acl").set_value("2024.acl-long, P18-1999")
    page = click(run(page), "library_service_look")
    assert "2 ids." in shown(page)
    page = click(page, "library_service_start")
    assert started[0].source.queries[0].limit == 100_000
    page = form("s2", "10.5555/paper.1 10.5555/paper.777777")
    page = click(page, "library_service_look")
    assert "Unknown IDs among the first: DOI:10.5555/paper.777777." in shown(page)
    page = click(form("s2", "nothinglikeit"), "library_service_look")
    assert "No results at Semantic Scholar." in shown(page)
    assert "library_service_start" not in {b.key for b in page.button}


def test_a_corpus_of_a_service_can_be_updated_and_says_where_it_is_from(served, serve, started):
    query = served.library.service_query("acl", "2024.acl-long")
    request = ImportRequest(ServiceQueries((query,)), "papers")
    served.library.import_documents(request)
    page = visit("library")
    assert page.button(key="library_update_papers").label == "Update papers"
    page.session_state["library_inside_papers"] = True
    page = run(page)
    assert "ACL Anthology, 2024.acl-long: 10 documents on 20" in shown(page)
    assert "documents.jsonl" not in shown(page)
    click(page, "library_update_papers")
    assert (started[0].name, started[0].source.queries) == ("papers", (query,))


def test_a_data_set_says_what_it_brings_and_nothing_is_downloaded_before_it_is_started(
    served, services, started
):
    pytest.importorskip("ir_datasets", reason="the extra 'datasets' is not installed")
    page = visit("library")
    page.get_by_key("library_way").set_value("Test collection")
    page = run(page)
    assert "library_dataset_start" not in {b.key for b in page.button}
    page.selectbox(key="library_dataset").set_value("beir/scifact")
    said = shown(run(page))
    assert "beir/scifact: 5,183 documents" in said
    assert "339 judgments, those of beir/scifact/test, available on Evaluate" in said
    assert page.button(key="library_dataset_start").label == "Download and import"
    assert not list(served.home.root.glob("uploads/*/"))
    page = click(page, "library_dataset_start")
    assert [(r.name, r.source) for r in started] == [("beir-scifact", NamedDataset("beir/scifact"))]
    assert page.selectbox(key="library_dataset").value is None, "it is under way"
    page.selectbox(key="library_dataset").set_value("cord19")
    assert "No queries with judgments" in shown(run(page))
