"""Handing over an exploration: its searches and kept documents, as Markdown, BibTeX or JSONL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from bibtexparser import Library, write_string
from bibtexparser.model import Entry, Field
from pylatexenc.latexencode import unicode_to_latex  # type: ignore[import-untyped]

from engine.errors import UnknownNameError
from engine.search.queries import query_to_dict
from engine.types.documents import Document
from engine.types.searches import Query

Kept = Sequence[tuple[str, Document]]
"""(corpus, document) in the order kept."""


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
            f"{number}. {_plain(seed)} — similar in {wanted}, {query.system}, "
            f"steer {query.steer:g}, corpus {_plain(query.corpus)}"
        )
        if query.instruction:
            lines.append(f"   > {_plain(query.instruction)}")
    lines += ["", "## Kept", ""]
    for corpus, document in kept:
        year = f" ({document.year})" if document.year else ""
        people = f" {_plain(', '.join(document.authors))}." if document.authors else ""
        where = f" {document.url}" if document.url else ""
        lines.append(
            f"- {_plain(_title(document))}{year}.{people}{where} "
            f"[{_plain(corpus)}: {_plain(document.doc_id)}]"
        )
    if not kept:
        lines.append("Nothing was kept.")
    return "\n".join(lines) + "\n"


def trail_to_bibtex(steps: Sequence[Query], kept: Kept, titles: dict[str, str]) -> str:
    """The kept documents as BibTeX entries; keys are unique, made of the ids."""
    del steps, titles
    entries, used = [], set()
    for corpus, document in kept:
        key = re.sub(r"[^A-Za-z0-9:_-]+", "-", document.doc_id).strip("-") or "document"
        while key in used:
            key += "x"
        used.add(key)
        fields = {
            "title": document.title,
            "author": " and ".join(document.authors),
            "year": str(document.year or ""),
            "url": document.url or "",
            "journal": str(document.metadata.get("venue") or ""),
            "abstract": document.text,
            "note": f"{corpus}: {document.doc_id}",
        }
        named = [Field(n, v if n == "url" else _latex(v)) for n, v in fields.items() if v]
        entries.append(Entry("article" if fields["journal"] else "misc", key, named))
    return str(write_string(Library(entries)))


def trail_to_jsonl(steps: Sequence[Query], kept: Kept, titles: dict[str, str]) -> str:
    """One JSON object a line: the searches (``"type": "search"``), then the kept documents."""
    rows: list[dict[str, object]] = [
        {"type": "search", "title": titles.get(q.seed or ""), **query_to_dict(q)} for q in steps
    ]
    rows += [
        {
            "type": "document",
            "corpus": corpus,
            "doc_id": d.doc_id,
            "title": d.title,
            "text": d.text,
            "year": d.year,
            "authors": list(d.authors),
            "url": d.url,
            "metadata": dict(d.metadata),
        }
        for corpus, d in kept
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


FORMATS: dict[str, Callable[[Sequence[Query], Kept, dict[str, str]], str]] = {
    "markdown": trail_to_markdown,
    "bibtex": trail_to_bibtex,
    "jsonl": trail_to_jsonl,
}


def export_trail(kind: str, steps: Sequence[Query], kept: Kept, titles: dict[str, str]) -> str:
    """The trail in one of :data:`FORMATS`."""
    if kind not in FORMATS:
        raise UnknownNameError(f"There is no format '{kind}'.", f"Use {', '.join(FORMATS)}.")
    return FORMATS[kind](steps, kept, titles)


def _title(document: Document) -> str:
    return document.title or document.text[:80]


def _plain(text: str) -> str:
    """Words that Markdown shows as they are."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~$])", r"\\\1", " ".join(text.split()))


def _latex(text: str) -> str:
    return str(
        unicode_to_latex(
            " ".join(text.split()), unknown_char_policy="keep", unknown_char_warning=False
        )
    )
