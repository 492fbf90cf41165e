"""What a person sees and can do on the Library page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.config import ROOT
from engine.errors import CorpusBusyError
from engine.lenses.definitions import POSTS, RESEARCH
from engine.types.corpora import ImportJob, ImportReport, ImportRequest, Progress, Repairs
from pages._common.tasks import time_left
from storage.locks import MACHINE
from tests.fakes.pdfs import made as made_paper
from tests.fakes.small_corpus import DOCUMENTS
from tests.pages.import_page import give_path, shown
from tests.pages.visits import click, run, visit
from tests.support import store_job, wait_until, write_jsonl

HOSTILE = "<img src=x onerror=alert(1)>**bold**"
CSV = (
    "PMID,headline,abstract,when\n"
    f'7,"{HOSTILE}","We looked. We <b>found</b> it.",2011\n'
    "8,Second,Nothing came out of it.,2012\n"
)


def keys(page):
    return {b.key for b in page.button if b.key}


def upload(page, name, content):
    data = content.encode() if isinstance(content, str) else content
    page.file_uploader[0].upload(name, data, "text/plain")
    return run(page)


def box(page, field):
    return next(b for b in page.selectbox if str(b.key).startswith(f"library_map_{field}_"))


def name_input(page):
    return next(t for t in page.text_input if str(t.key).startswith("library_name_"))


def a_job(explorer, **changes):
    job = ImportJob(
        id="20260101T000000000000-abcdef",
        request=ImportRequest(Path(f"/nowhere/{HOSTILE}.csv"), "papers", "csv", {}, lens=RESEARCH),
        state="done",
        progress=Progress("indexing", 1024, 4205, 20.0, 51.2),
        started_at="2026-01-01T00:00:00+00:00",
        machine=MACHINE,
    )
    return store_job(explorer.library.jobs, replace(job, **changes))


@pytest.fixture
def empty(fresh, serve):
    serve(fresh)
    return visit("library")


def test_an_empty_library_says_what_to_do(empty):
    assert "No corpus yet" in shown(empty)
    assert keys(empty) == {"library_demo"}
    assert "Import papers and other documents" in shown(empty)


def test_an_uploaded_file_is_shown_as_it_is_and_as_it_will_be_read(empty, fresh):
    page = upload(empty, "My papers.csv", CSV)
    assert list(page.dataframe[0].value.columns) == ["PMID", "headline", "abstract", "when"]
    assert page.dataframe[0].value.iloc[0, 1] == HOSTILE
    guessed = {f: box(page, f).value for f in ("doc_id", "title", "text", "year")}
    assert guessed == {"doc_id": "PMID", "title": "headline", "text": "abstract", "year": ""}
    said = shown(page)
    assert "&lt;img src=x onerror=alert(1)&gt;" in said
    assert "<img" not in said
    assert "<li>We looked.</li>" in said
    rendered = [m.value for m in page.markdown] + [c.value for c in page.caption]
    assert not any("bold" in text for text in rendered)
    assert name_input(page).value == "My-papers"
    (stored,) = fresh.home.uploads.rglob("*.csv")
    assert stored.read_text() == CSV


def test_changing_a_column_shows_the_document_anew(empty):
    page = upload(empty, "papers.csv", CSV)
    box(page, "year").set_value("when")
    box(page, "title").set_value("")
    said = shown(run(page))
    assert "2011" in said
    assert "(no title)" in said


def test_columns_of_other_names_are_asked_for_before_what_becomes_of_rows(empty):
    content = "Nr.;Titel der Arbeit;Kernaussage\n1;Zucker;Wir messen.\n2;Leer;\n"
    page = upload(empty, "papers.csv", content)
    assert "0 records, 0 with abstracts" in shown(page)
    assert "No abstracts found" in shown(page)
    assert page.button(key="library_index").disabled
    box(page, "text").set_value("Kernaussage")
    page = run(page)
    assert "1 record, 1 with abstracts" in shown(page)
    assert question(page, "empty").label == "1 row without an abstract"


def test_what_is_changed_just_before_the_click_is_not_imported_as_it_was(empty, started):
    """Until the page gets to it again, the button of before is there to be clicked."""
    page = upload(empty, "papers.csv", CSV)
    box(page, "text").set_value("headline")
    page = click(page, "library_index")
    assert "Settings changed before your click" in shown(page)
    assert started == []
    page = click(page, "library_index")
    assert [(asked.mapping or {}).get("text") for asked in started] == ["headline"]


def test_a_path_that_cannot_be_read_is_explained(empty):
    for path, message in (
        ("/no/such/file.csv", "/no/such/file.csv does not exist"),
        (str(ROOT / "assets"), "folder of unknown layout"),
    ):
        page = give_path(empty, path)
        assert message in shown(page)
        assert "library_index" not in keys(page)


MESSY = (
    "Verfasser;Titel;Zusammenfassung;DOI\r\n"
    "A. Lee, B. Okafor;Größe;Wir zählen „Bienen“.;10.1000/A\r\n"
    ";;;\r\n"
    "C. Wu;Nur ein Titel;;10.1000/B\r\n"
    "C. Wu;;;\r\n"
    "D. Müller;Ohne DOI;Text ohne DOI.;\r\n"
)


def encoding(page):
    return next(b for b in page.selectbox if str(b.key).startswith("library_encoding_"))


def question(page, kind):
    return next(r for r in page.radio if str(r.key).startswith(f"library_choice_{kind}_"))


def test_a_messy_file_is_mended_by_choices_and_indexed_so(empty, fresh, started):
    page = upload(empty, "papers.csv", MESSY.encode("cp1252"))
    encoding(page).set_value("utf-8")
    page = run(page)
    assert "not UTF-8" in shown(page)
    assert "library_index" not in keys(page)
    encoding(page).set_value("")
    page = run(page)
    said = "Using csv, Windows-1252 (Western Europe), delimiter: semicolon."
    assert said in shown(page)
    assert "A. Lee, B. Okafor" in shown(page)
    said = shown(page)
    assert "3 records, 2 with abstracts" in said
    assert "1 row without text was left out: row 3 (line 5)." in said
    labels = {q.label: q.value for q in page.radio}
    assert labels == {"2 rows without an abstract": "title", "1 row without an ID": "doi"}
    question(page, "empty").set_value("skip")
    page = run(page)
    assert "2 records, 2 with abstracts" in shown(page)
    page = click(page, "library_index")
    (request,) = started
    usual = Repairs(skip_broken=True, ids_from_doi=True, number_ids=True)
    assert request.repairs == replace(usual, skip_empty=True)
    assert fresh.library.import_documents(request).added == 2
    corpus = fresh.library.open("papers")
    assert {corpus.document(i).title for i in ("10.1000/a", "papers-4")} == {"Größe", "Ohne DOI"}


def test_repeated_ids_are_for_a_person_to_decide(empty, started):
    page = upload(empty, "twice.csv", "id,title,abstract\n1,One,A text.\n1,Two,Another text.\n")
    assert "1 row undecided" in shown(page)
    assert page.button(key="library_index").disabled
    question(page, "duplicate").set_value("merge")
    click(run(page), "library_index")
    assert started[0].repairs.duplicates == "merge"


def test_names_are_checked_as_one_types(small_copy, serve):
    serve(small_copy)
    page = upload(visit("library"), "papers.csv", CSV)
    assert not page.button(key="library_index").disabled
    name_input(page).set_value("../<b>")
    page = run(page)
    assert "cannot be the name of a corpus" in shown(page)
    assert "<b>" not in shown(page)
    assert page.button(key="library_index").disabled
    name_input(page).set_value("small")
    page = run(page)
    assert "Adds to small (40 documents)" in shown(page)
    assert not page.button(key="library_index").disabled
    name_input(page).set_value("My papers 2024")
    assert not run(page).button(key="library_index").disabled


def test_documents_are_added_to_a_corpus_by_its_button(small_copy, serve, started):
    serve(small_copy)
    page = upload(click(visit("library"), "library_add_small"), "papers.csv", CSV)
    assert "Adds to small (40 documents)" in shown(page)
    assert not [t for t in page.text_input if str(t.key).startswith("library_name_")]
    click(page, "library_index")
    assert [asked.name for asked in started] == ["small"]


def test_an_import_takes_the_lens_that_was_chosen_and_may_leave_the_sources_roles(
    empty, started, tmp_path
):
    page = give_path(empty, write_jsonl(tmp_path / "papers.jsonl", DOCUMENTS[:3]))
    page.selectbox(key="library_new_lens").set_value("posts")
    page.checkbox[0].set_value(False)
    page = run(page)
    assert "A · Advice" in shown(page)
    click(page, "library_index")
    (request,) = started
    assert (request.lens, request.mapping["roles"]) == (POSTS, "")


def test_a_corpus_gets_another_name_and_a_record_other_fields(small_copy, serve):
    serve(small_copy)
    page = visit("library")
    page.session_state["library_inside_small"] = True
    page = run(page)
    page.text_input(key="library_rename_small_to").set_value("My papers 2024")
    page = click(page, "library_rename_small_do")
    assert "<strong>My papers 2024</strong>" in shown(page)
    page.text_input(key="library_edit_title_small").set_value("network")
    page = run(page)
    assert "library_save_small" not in keys(page), "no record was chosen"
    page = click(page, next(key for key in keys(page) if "library_edit_found_" in key))
    fields = {str(one.label): one for one in page.text_input}
    title = fields["Title"].value
    assert f"Editing: <strong>{title}" in shown(page)
    fields["Year"].set_value("soon")
    page = click(page, "library_save_small")
    assert "&#x27;soon&#x27; is not a year" in shown(page)
    fields = {str(one.label): one for one in page.text_input}
    fields["Year"].set_value("1990")
    fields["Journal"].set_value(HOSTILE)
    page = click(page, "library_save_small")
    found = [small_copy.document("small", i) for i in small_copy.library.open("small").doc_ids]
    (edited,) = (one for one in found if one.title == title)
    assert (edited.year, edited.metadata["venue"]) == (1990, HOSTILE)
    assert [one.value for one in page.toast] == ["Saved."]
    page = click(page, "library_undo_import_small")
    assert small_copy.document("small", edited.doc_id).year != 1990


def test_the_form_of_a_record_changes_what_was_typed_alone(small_copy, serve):
    row = {"doc_id": "new", "title": "Zoo", "text": "Zebras graze.", "open": True, "grant": 7}
    row["url"] = "https://doi.org/10.1/zoo"
    authors = ["Ministry of Health and Welfare", "Lee, Ann"]
    small_copy.library.add("small", [{**row, "authors": authors}])
    before = small_copy.document("small", "new")
    serve(small_copy)
    page = visit("library")
    page.session_state["library_inside_small"] = True
    page.session_state["library_edit_read_small"] = "new"
    page = run(page)
    fields = {str(one.label): one for one in page.text_input}
    assert fields["DOI"].value == "10.1/zoo"
    fields["Year"].set_value("1990")
    small_copy.library.edit("small", "new", {"text": "Zebras sleep."})  # in another tab
    click(page, "library_save_small")
    after = small_copy.document("small", "new")
    assert (after.year, after.text) == (1990, "Zebras sleep.")
    assert (after.authors, after.metadata) == (before.authors, before.metadata)


def test_a_deleted_corpus_can_be_brought_back(small_copy, serve):
    serve(small_copy)
    page = visit("library")
    assert "library_open_small" in keys(page)
    page = click(page, "library_delete_small")
    assert "holds 40 documents" in shown(page)
    page = click(page, "library_confirm")
    assert small_copy.library.corpora() == []
    assert "small was deleted." in shown(page)
    page = click(page, "library_undo_small")
    assert [c.name for c in small_copy.library.corpora()] == ["small"]
    assert "library_undo_small" not in keys(page)
    assert "library_open_small" in keys(page)


def test_what_is_in_a_corpus_is_told_when_asked(small_copy, serve):
    serve(small_copy)
    page = visit("library")
    assert "First titles" not in shown(page)
    page.session_state["library_inside_small"] = True
    said = shown(run(page))
    assert "Bees by network" in said
    assert "1999 to 2021 (6 without a year)" in said
    assert "small.jsonl (jsonl)" in said


def test_a_running_import_shows_how_far_how_fast_and_how_long(fresh, serve, home):
    from os import getpid

    job = a_job(fresh, state="running", pid=getpid())
    serve(fresh)
    page = visit("library")
    assert "Indexing · 1,024 of 4,205 documents · 51 documents/s · about 1 min left" in shown(page)
    assert "&lt;img src=x" in shown(page)
    page = click(page, f"library_cancel_{job.id}")
    assert "stopping after the current step" in shown(page)
    assert page.button(key=f"library_cancel_{job.id}").disabled


def test_an_import_of_the_command_line_is_listed_and_its_corpus_is_not_deleted(
    small_copy, serve, tmp_path
):
    serve(small_copy)
    request = ImportRequest(tmp_path / "more.jsonl", "small", lens=RESEARCH)
    jobs = small_copy.library.jobs
    with jobs.here(request, "the command line", lambda _: None, lambda: False) as (tell, stopped):
        tell(Progress("indexing", 3, 9, 1.0))
        tell(Progress("finishing", 9, 9, 2.0))
        page = visit("library")
        assert "started by the command line" in shown(page)
        assert page.button(key="library_delete_small").disabled
        with pytest.raises(CorpusBusyError, match="started by the command line"):
            small_copy.library.delete("small")
        assert not stopped()
        (job,) = jobs.list()
        click(page, f"library_cancel_{job.id}")
        wait_until(stopped, what="its end")
    assert jobs.list() == []
    assert not run(page).button(key="library_delete_small").disabled


def test_how_an_import_ended_is_told(fresh, serve):
    report = ImportReport("papers", 300, 290, 0, 10, 300, 6.0, ("3 documents had no year.",))
    a_job(fresh, report=report)
    cut = ImportReport("papers", 8, 8, 0, 0, 8, 1.0, cancelled=True)
    a_job(fresh, id="20260102T000000000000-abcdef", state="cancelled", report=cut)
    failed = a_job(
        fresh, id="20260103T000000000000-abcdef", state="failed", error=HOSTILE, remedy="Mend it."
    )
    a_job(fresh, id="20260104T000000000000-abcdef", state="running", pid=2**30)
    serve(fresh)
    said = shown(page := visit("library"))
    assert "300 documents: 290 added, 0 updated, 10 unchanged" in said
    assert "3 documents had no year." in said
    assert "Stopped after 8 documents" in said
    assert "&lt;img src=x onerror=alert(1)&gt;**bold**</strong> Mend it." in said
    assert said.count("The import was interrupted") == 1
    assert f"library_resume_{failed.id}" in keys(page)
    assert "library_resume_20260101T000000000000-abcdef" not in keys(page)
    page = click(page, f"library_dismiss_{failed.id}")
    assert "Mend it." not in shown(page)


def test_a_half_indexed_corpus_is_called_incomplete_and_cannot_be_opened(small_copy, serve):
    row = small_copy.ledger.corpus("small")
    assert row is not None
    small_copy.ledger.put_corpus(replace(row, state="indexing", expected=4205))
    serve(small_copy)
    page = visit("library")
    assert "incomplete: 40 of 4,205" in shown(page)
    assert page.button(key="library_open_small").disabled
    assert "small.jsonl again into small" in shown(page)


def test_the_time_left_is_rounded():
    assert time_left(None) == ""
    said = {41: "about 40 s left", 721: "about 12 min left", 7800: "about 2 h 10 min left"}
    assert {seconds: time_left(seconds) for seconds in said} == said


def test_many_corpora_come_in_pages(fresh, serve, small):
    row = small.ledger.corpus("small")
    assert row is not None
    for n in range(25):
        fresh.ledger.put_corpus(replace(row, name=f"corpus-{n:02}"))
    serve(fresh)
    page = visit("library")
    assert len([k for k in keys(page) if k.startswith("library_open_")]) == 20
    assert page.get("pagination")


# Its source runs as a script of its own, where only builtins have names.
def scenarios_page(explorer):
    from pages._library.scenarios import reader

    reader(explorer, "small")


def test_scenarios_are_looked_up_by_words_of_a_text(small):
    page = run(AppTest.from_function(scenarios_page, args=(small,)))
    page.text_input(key="library_scenarios_title_small").set_value("labelled photographs")
    run(page)
    found = [button.key for button in page.button if "_found_" in button.key]
    assert "-network" in found[0], "no title has the words"


@pytest.mark.nightly
def test_several_pdfs_are_read_together_and_each_that_cannot_be_is_named(empty):
    papers = [made_paper("acl-1"), made_paper("acm")]
    files = [(f"{made.name}.pdf", made.content, "application/pdf") for made in papers]
    empty.file_uploader[0].set_value([*files, ("scan.pdf", b"%PDF", "application/pdf")])
    page = run(empty)
    assert "Using pdf." in shown(page)
    assert "2 records, 2 with abstracts" in shown(page)
    assert "Left out: scan.pdf: the file is damaged, or no PDF." in shown(page)
    assert papers[0].title in shown(page)
    parts = next(box for box in page.selectbox if box.label == "Document unit")
    page = run(parts.select("sections") and page)
    parts_of_papers = sum(1 + len(paper.sections) for paper in papers)
    assert f"{parts_of_papers} records" in shown(page)
    assert not next(b for b in page.button if b.key == "library_index").disabled


def test_looking_up_abstracts_is_offered_where_some_are_missing(empty):
    page = upload(empty, "my.bib", "@article{a, title={One}, doi={10.1000/x}}")
    tick = next(box for box in page.checkbox if box.label.startswith("Look up missing abstracts"))
    assert tick.label.endswith("1 document has a DOI but no text")
    assert tick.value is False
    page = upload(page, "full.bib", "@article{a, title={One}, abstract={It.}, doi={10.1000/x}}")
    assert not [box for box in page.checkbox if box.label.startswith("Look up")]
