"""Corpora that come from services: imported, extended, updated, and what is remembered of them."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pyarrow as pa
import pytest

from engine.corpora import backup
from engine.errors import BadInputError, NotAllowedError, ServiceError
from engine.lenses.definitions import RESEARCH
from engine.types.corpora import ImportRequest, NamedDataset, Progress, Repairs, ServiceQueries
from engine.types.people import Person
from engine.types.searches import Query
from storage.home import Home
from storage.ledger import Ledger
from tests.fakes.service_server import Paper, serving_papers
from tests.support import make_explorer, stored_rows

GRACE = Person("grace@example.org", "Grace", "lead")
EVE = Person("eve@example.org", "Eve", "annotator")


@pytest.fixture
def services():
    """130 papers, which take two pages of OpenAlex."""
    with serving_papers(130) as server:
        yield server


@pytest.fixture
def served(services, home):
    """An explorer over an empty home that asks these services."""
    return make_explorer(home, **services.settings, openalex_key="a-key-of-mine")


def asked(served, text="openalex:everything", **others):
    service, _, words = text.partition(":")
    query = served.library.service_query(service, words)
    return ServiceQueries((replace(query, **others),))  # type: ignore[arg-type]


def bring(served, model, queries, name="papers"):
    request = ImportRequest(queries, name, encoder=str(model))
    return served.library.import_documents(request)


def test_a_corpus_of_a_service_is_updated_and_what_did_not_change_keeps_its_vectors(
    served, services, tiny_model
):
    report = bring(served, tiny_model, asked(served))
    assert (report.added, report.documents, report.warnings) == (130, 130, ())
    document = served.document("papers", "W7")
    assert (document.title, document.text) == (Paper(7).name, Paper(7).text)
    assert document.url == "https://doi.org/10.5555/paper.7"
    assert {"source": "OpenAlex", "field": "Computer Science"}.items() <= document.metadata.items()
    [source] = served.library.corpus("papers").sources
    assert (source.name, str(source.query), source.documents) == (
        "OpenAlex", "openalex:everything", 130,
    )  # fmt: skip
    assert served.library.corpus("papers").source == "openalex:everything"
    assert not list(served.home.retrieved.glob("*/")), "what was imported is kept once"
    before = stored_rows(served, "papers")
    filters = served.parse_filters("source=OpenAlex; field=Computer Science; year>=2020")
    found = served.search(Query("papers", seed="W7", system="dense", filters=filters))
    assert 0 < found.total < 130

    services.papers = [Paper(6, title="Another title"), *map(Paper, range(7, 141))]
    report = bring(served, tiny_model, served.library.sources_to_update("papers"))
    assert (report.added, report.updated, report.unchanged) == (10, 1, 124)
    assert report.documents == 140, "what the service has no more stays"
    after = stored_rows(served, "papers")
    kept = [id_ for id_ in before["doc_id"].to_pylist() if id_ != "W6"]
    same = [t.filter(pa.compute.is_in(t["doc_id"], pa.array(kept))) for t in (before, after)]
    assert same[0].equals(same[1])
    assert served.document("papers", "W6").title == "Another title"
    assert served.library.corpus("papers").sources[0].documents == 135


def test_a_library_of_zotero_is_asked_for_changes_alone(served, services, tiny_model):
    def update():
        services.seen.clear()
        report = bring(served, tiny_model, served.library.sources_to_update("papers"))
        asked_since = [request.params.get("since") for request in services.seen]
        return report.added, report.updated, report.documents, asked_since

    assert bring(served, tiny_model, asked(served, "zotero:users/7")).documents == 128
    services.papers += [Paper(131, version=18)]
    services.papers[5] = Paper(6, title="Another title", version=19)
    assert update() == (1, 1, 129, ["17"])
    assert served.document("papers", Paper(6).key).title == "Another title"
    [source] = served.library.corpus("papers").sources
    assert (source.documents, source.version, source.query.since) == (129, "19", "")
    assert update() == (0, 0, 129, ["19"]), "nothing new is no error"
    assert bring(served, tiny_model, asked(served, "zotero:users/7")).unchanged == 129

    # What a limit cut off would not come with the changes, nor what is not synchronised yet.
    bring(served, tiny_model, asked(served, "zotero:users/7", limit=20))
    assert update() == (0, 0, 129, [None])
    served.library.delete("papers")
    bring(served, tiny_model, asked(served, "zotero:local"))
    assert update() == (0, 0, 129, [None, None])


def test_several_services_fill_one_corpus_and_are_all_asked_for_an_update(
    served, services, tiny_model, tmp_path
):
    bring(served, tiny_model, asked(served, "openalex:W1,W2,W3,W777"))
    report = bring(served, tiny_model, asked(served, "acl:2024.acl-long"))
    assert (report.added, report.documents) == (10, 13)
    names = [(one.name, one.documents) for one in served.library.corpus("papers").sources]
    assert names == [("OpenAlex", 3), ("ACL Anthology", 10)]
    report = bring(served, tiny_model, served.library.sources_to_update("papers"))
    assert (report.read, report.unchanged, report.documents) == (13, 13, 13)
    assert report.warnings == ("1 id does not exist at OpenAlex: W777.",)

    # What is remembered goes where the corpus goes.
    known = served.library.corpus("papers").sources
    served.library.delete("papers")
    assert served.library.corpora() == []
    served.library.restore("papers")
    assert served.library.corpus("papers").sources == known
    served.library.set_lens("papers", replace(RESEARCH, key="mine", name="Mine"))
    assert served.library.corpus("papers").sources == known
    file = tmp_path / "home.zip"
    backup.back_up(served.home, Ledger(served.home.ledger), file)
    backup.restore(file, Home(tmp_path / "again"))
    assert make_explorer(tmp_path / "again").library.corpus("papers").sources == known
    served.library.add("rows", [{"id": "1", "text": "One."}], encoder=str(tiny_model))
    with pytest.raises(BadInputError, match="came from no service"):
        served.library.sources_to_update("rows")


def test_documents_without_an_abstract_stand_by_their_title_or_are_left_out(
    served, services, tiny_model
):
    services.papers = [Paper(1), Paper(2, abstract=False), Paper(3)]
    report = bring(served, tiny_model, asked(served), "all")
    assert report.documents == 3
    assert served.document("all", "W2").text == Paper(2).name
    report = bring(served, tiny_model, asked(served, with_abstract=True), "some")
    assert report.documents == 2
    assert "1 row without text was left out" in " ".join(report.warnings)
    assert served.library.corpus("some").sources[0].query.with_abstract
    services.papers = [Paper(2, abstract=False)]
    with pytest.raises(BadInputError, match="1 document for openalex:everything, and no abstract"):
        bring(served, tiny_model, asked(served, with_abstract=True), "none")


def test_a_service_that_fails_leaves_no_corpus_and_the_same_import_goes_on(
    served, services, tiny_model
):
    services.behaviour.faults = deque(["ok", "429 retry=5000"])
    with pytest.raises(ServiceError, match="wants no more requests for 83 minutes"):
        bring(served, tiny_model, asked(served))
    assert served.library.corpora() == []
    services.seen.clear()
    assert bring(served, tiny_model, asked(served)).documents == 130
    assert services.seen[0].params["cursor"] == "at-100"
    with pytest.raises(BadInputError, match="finds nothing for openalex:nothinglikeit"):
        bring(served, tiny_model, asked(served, "openalex:nothinglikeit"), "nothing")
    with pytest.raises(BadInputError, match=r"1 id does not exist at arXiv: 1999\.99999"):
        bring(served, tiny_model, asked(served, "arxiv:1999.99999"), "nothing")


def test_an_import_that_is_cancelled_while_it_retrieves_goes_on(served, services, tiny_model):
    told: list[Progress] = []
    request = ImportRequest(asked(served), "papers", encoder=str(tiny_model))
    report = served.library.import_documents(request, told.append, lambda: len(told) >= 2)
    assert (report.cancelled, report.read, report.documents) == (True, 100, 0)
    assert [(p.phase, p.done, p.total) for p in told] == [
        ("retrieving", 0, 1000), ("retrieving", 100, 130),
    ]  # fmt: skip
    assert served.library.import_documents(request).documents == 130


def test_leads_may_ask_services_but_not_the_zotero_of_whoever_runs_seedlens(served, services):
    lead, other = (served.acting_as(person).library for person in (GRACE, EVE))
    assert lead.look_up(asked(served).queries[0]).total == 130
    seen = len(services.seen)
    local = asked(served, "zotero:local")
    for do in (
        lambda: lead.look_up(local.queries[0]),
        lambda: lead.start_import(ImportRequest(local, "c")),
        lambda: other.look_up(asked(served).queries[0]),
        lambda: other.start_import(ImportRequest(asked(served), "c")),
        lambda: other.update("c"),
    ):
        with pytest.raises(NotAllowedError):
            do()
    assert len(services.seen) == seen
    assert served.library.look_up(local.queries[0]).total == 130


def test_a_data_set_that_is_cancelled_before_it_came_can_be_resumed(served):
    pytest.importorskip("ir_datasets", reason="the extra 'datasets' is not installed")
    told: list[str] = []
    request = ImportRequest(NamedDataset("beir/scifact"), "c")
    report = served.library.import_documents(
        request, lambda progress: told.append(progress.phase), lambda: True
    )
    assert (report.cancelled, report.documents, told) == (True, 0, ["retrieving"])
    assert served.library.corpora() == []
    with served.library.jobs.here(request, "Ada", lambda _: None, bool):
        [job] = served.library.jobs.list()
    assert served.library.source_name(str(job.request.source)) == "ir:beir/scifact"


BIB = """
@article{known, title={A title of its own}, doi={10.5555/PAPER.7}, year={2020}}
@article{full, title={With an abstract}, abstract={It is here.}, doi={10.5555/paper.8}}
@article{unknown, title={Nobody knows it}, doi={10.5555/paper.777}}
@article{other, title={With an abstract at Crossref}, doi={10.5555/paper.9}}
@article{without, title={No DOI}}
"""


@pytest.fixture
def library(tmp_path):
    file = tmp_path / "library.bib"
    file.write_text(BIB)
    return file


def filling(file, model):
    return ImportRequest(file, "papers", encoder=str(model), repairs=Repairs(fill_abstracts=True))


def test_missing_abstracts_are_looked_up_by_doi(served, services, tiny_model, library):
    services.papers[8] = Paper(9, abstract=False, at_crossref=True)
    assert served.library.examine(ImportRequest(library, "c")).fillable == 3
    report = served.library.import_documents(filling(library, tiny_model))
    assert report.documents == 5
    said = "OpenAlex and Crossref have 2 of the 3 abstracts that were missing."
    assert said in report.warnings
    names = ("known", "full", "unknown", "other")
    texts = {name: served.document("papers", name).text for name in names}
    assert texts == {
        "known": Paper(7).text,
        "full": "It is here.",
        "unknown": "Nobody knows it",  # its title, as without looking it up
        "other": f"Aims: {Paper(9).text} It holds for n < 3.",
    }
    assert served.document("papers", "known").title == "A title of its own"
    asked_for = [request.params["filter"] for request in services.seen]
    assert asked_for == [
        "doi:10.5555/paper.7|10.5555/paper.777|10.5555/paper.9",
        "doi:10.5555/paper.777,doi:10.5555/paper.9",
    ]
    assert not list(served.home.retrieved.glob("*/"))
