"""Ids that stand in no file, where the documents of these ids are others."""

from __future__ import annotations

from collections.abc import Container, Mapping

from engine.config import Settings
from engine.corpora.folders import store_of
from engine.corpora.indexing import cut, text_length
from engine.errors import BadInputError
from engine.ingest import Source, unique_documents
from engine.types.corpora import ImportRequest
from storage.home import Home
from storage.ledger import Ledger
from storage.vectors import DocumentTable

MADE_IDS = (
    ("Rows of {} have no id, and the numbers that they would get",
     "Give the rows ids. Of another file, a name of its own does"),
    ("Papers of {} are called by the names of their files, which", "Give the files other names"),
)  # fmt: skip
"""Where ids come from that stand in no file, and what helps: numbers of rows, names of files."""


def check_made_ids(
    home: Home, ledger: Ledger, request: ImportRequest, source: Source, settings: Settings
) -> None:
    """Raise BadInputError where ids that stand in no file are those of other documents: rows of
    another file may be numbered alike, rows may have moved, and many papers are called
    ``main.pdf``. A document may be corrected in its place."""
    if not source.makes_ids:
        return
    known = ledger.listed_corpus(request.name)
    store = store_of(home, known) if known else home.trash / request.name
    table = DocumentTable.open(store) if DocumentTable.is_stored(store) else None
    if known:
        others = _others(source, table, settings) if table else []
        what = "which would be replaced"
    else:
        judged = _judged(ledger, request.name)
        others = _others(source, table, settings, judged) if judged else []
        what = "which was deleted, and what was judged of them would be said of these"
    if others:
        made, remedy = MADE_IDS[source.format == "pdf"]
        raise BadInputError(
            f"{made.format(source.name)}, such as '{others[0]}', are those of other documents "
            f"in '{request.name}', {what}.",
            f"{remedy}, or import it into another corpus.",
        )


def _judged(ledger: Ledger, corpus: str) -> set[str]:
    """The judged documents of a corpus, which may be there no more."""
    rows, latest = ledger.projects.all(), ledger.judging.latest
    projects = {"", *(row.project for row in rows if row.corpus == corpus)}
    return {one.doc_id for project in projects for one in latest(corpus, project)}


def _others(
    source: Source,
    table: DocumentTable | None,
    settings: Settings,
    among: Container[str] | None = None,
) -> list[str]:
    """The made ids of a source that are those of other documents, where most are, or where what
    the source has under some of them is stored under another one.

    Args:
        table: the documents there are; None where they are lost, and all are others.
        among: ids that count; None for all.
    """
    same, others, changed = 0, list[str](), dict[str, int]()
    made = (
        one
        for one in unique_documents(source, max_chars=settings.max_document_chars)
        if source.makes(one.doc_id) and (among is None or one.doc_id in among)
    )
    for group in cut(made, settings.shard_documents, text_length):
        ids = [one.doc_id for one in group]
        rows = table.rows(ids, ["title", "text"]).to_pylist() if table else []
        stored = {row["doc_id"]: row for row in rows}
        for one in group:
            row = stored.get(one.doc_id)
            if row is None:
                others += [one.doc_id] if table is None else []
                continue
            if one.text != row["text"]:
                changed[one.doc_id] = hash((one.title, one.text))
            if one.text == row["text"] or (one.title and one.title == row["title"]):
                same += 1
            else:
                others.append(one.doc_id)
    return others if len(others) > same else _moved(changed, table)


def _moved(changed: Mapping[str, int], table: DocumentTable | None) -> list[str]:
    """Ids of documents whose title and text are stored under other ids.

    Args:
        changed: hash of title and text by id; under their own ids other texts are stored.
    """
    wanted, found = set(changed.values()), set[int]()
    for batch in table.columns(["title", "text"]) if table and wanted else ():
        pairs = zip(batch["title"].to_pylist(), batch["text"].to_pylist(), strict=True)
        found |= wanted.intersection(map(hash, pairs))
    return [doc_id for doc_id, words in changed.items() if words in found]
