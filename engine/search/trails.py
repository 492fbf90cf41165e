"""Handing over an exploration: its searches and kept documents, in every form of export."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from engine.collections.judgment_formats import csv_lines, json_lines
from engine.errors import UnknownNameError
from engine.search.queries import query_to_dict
from engine.search.reference_export import (
    csl_item,
    to_bibtex,
    to_citations,
    to_csl_json,
    to_ris,
)
from engine.text import plain
from engine.types.documents import Document, reference
from engine.types.searches import CITATION_STYLES, EXPORT_FORMATS, KeptDocument, Query

Kept = Sequence[KeptDocument]
"""In the order of the reading list."""


def trail_to_markdown(steps: Sequence[Query], kept: Kept, titles: dict[str, str]) -> str:
    """A readable account.

    Args:
        titles: doc_id -> title of the seeds.
    """
    lines = ["# Exploration", "", "## Searches", ""]
    for number, query in enumerate(steps, start=1):
        seed = titles.get(query.seed or "") or (query.text or "")[:80] or query.seed or ""
        wanted = query.aspect or "any aspect"
        if query.focus:
            wanted = f"sentences {', '.join(str(i + 1) for i in query.focus)}"
        wanted = f"{wanted} (read as {', '.join(query.reading)})" if query.reading else wanted
        lines.append(
            f"{number}. {plain(seed)} — similar in {plain(wanted)}, {query.system}, "
            f"steer {query.steer:g}, corpus {plain(query.corpus)}"
        )
        if query.instruction:
            lines.append(f"   > {plain(query.instruction)}")
    lines += ["", "## Reading list", ""]
    for one in kept:
        corpus, document = one.corpus, one.document
        where = f"({plain(corpus)}: {plain(document.doc_id)})"
        lines.append(f"- {reference(document, document.url)} {where}")
        if one.note:
            lines.append(f"  > {plain(one.note)}")
    if not kept:
        lines.append("Nothing was kept.")
    return "\n".join(lines) + "\n"


def trail_to_jsonl(steps: Sequence[Query], kept: Kept, titles: dict[str, str]) -> str:
    """One JSON object a line: the searches (``"type": "search"``), then the kept documents."""
    rows: list[dict[str, object]] = [
        {"type": "search", "title": titles.get(q.seed or ""), **query_to_dict(q)} for q in steps
    ]
    rows += [
        {
            "type": "document",
            "corpus": one.corpus,
            "doc_id": one.document.doc_id,
            "title": one.document.title,
            "text": one.document.text,
            "year": one.document.year,
            "authors": list(one.document.authors),
            "url": one.document.url,
            "metadata": dict(one.document.metadata),
            **({"note": one.note} if one.note else {}),
        }
        for one in kept
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


_REFERENCES: dict[str, Callable[[Kept], str]] = {
    "bibtex": to_bibtex,
    "ris": to_ris,
    "csl-json": to_csl_json,
    **{style: partial(to_citations, style=style) for style in CITATION_STYLES},
    **{f"{style}-html": partial(to_citations, style=style, page=True) for style in CITATION_STYLES},
}


def export_trail(kind: str, steps: Sequence[Query], kept: Kept, titles: dict[str, str]) -> str:
    """The trail in one of the forms of :data:`EXPORT_FORMATS`."""
    if kind in _REFERENCES:
        return _REFERENCES[kind](kept)
    if kind == "markdown":
        return trail_to_markdown(steps, kept, titles)
    if kind == "jsonl":
        return trail_to_jsonl(steps, kept, titles)
    raise UnknownNameError(f"There is no format '{kind}'.", f"Use {', '.join(EXPORT_FORMATS)}.")


def export_documents(kind: str, kept: Callable[[], Iterable[KeptDocument]]) -> Iterator[str]:
    """Documents with all their fields in one of :data:`DOCUMENT_FORMATS`, part by part.

    JSONL and CSV, which import reads back, hold one document at a time.

    Args:
        kept: gives the documents, as often as asked: the columns of a CSV are theirs.
    """
    if kind == "jsonl":
        yield from json_lines(document_fields(one.document) for one in kept())
    elif kind == "csv":
        columns = {name: None for one in kept() for name in document_fields(one.document)}
        yield from csv_lines((document_fields(one.document) for one in kept()), list(columns))
    else:
        yield export_trail(kind, (), list(kept()), {})


def document_fields(document: Document) -> dict[str, Any]:
    """A document as one flat row; a field of its own that is called as one of ours is
    ``metadata.<name>``."""
    item = csl_item(document)
    fields: dict[str, Any] = {
        name: getattr(document, name)
        for name in ("doc_id", "title", "text", "year", "authors", "url")
    }
    more = {"doi": item.get("DOI"), "venue": item.get("container-title")}
    names = {name.casefold() for name in document.metadata}
    fields |= {name: value for name, value in more.items() if value and name not in names}
    return fields | {
        f"metadata.{name}" if name in fields else name: value
        for name, value in document.metadata.items()
    }
