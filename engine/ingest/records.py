"""Records as other programs nest them (OpenAlex, arXiv, annotation tools) as plain columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.bibliographic import abstract_of, year_in
from engine.ingest import latex
from engine.ingest.mapping import NESTED, is_known

LISTS = ("results", "items", "data", "works", "records", "documents", "articles", "papers")
"""Under what an answer of a service has its records."""


def records_of(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The records of an object: those in its list, where it is an answer of a service, else it."""
    if not any(map(is_known, value.keys() - set(LISTS))):
        for name in LISTS:
            found = value.get(name)
            if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
                return found
    return (value,)


def plain_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Column -> value, with objects of :data:`engine.ingest.mapping.NESTED` spread one level:
    ``{"metadata": {"year": 1}}`` is ``{"metadata.year": 1}``."""
    if "abstract_inverted_index" in values:
        values = _openalex(values)
    elif isinstance(values.get("authors_parsed"), list):
        values = _arxiv(values)
    if isinstance(values.get("journal"), Mapping):
        values = _with_journal(values)
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if name in NESTED and isinstance(value, Mapping):
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _openalex(work: Mapping[str, Any]) -> dict[str, Any]:
    """A work of OpenAlex, as its API and its snapshot have it."""
    places = _object(work.get("biblio"))
    pages = (places.get("first_page"), places.get("last_page"))
    authors = map(_object, work.get("authorships") or ())
    left_out = (
        *("abstract_inverted_index", "authorships", "biblio", "primary_location", "display_name"),
    )
    return {name: value for name, value in work.items() if name not in left_out} | {
        "id": str(work.get("id") or "").rpartition("/")[2],
        "title": work.get("title") or work.get("display_name"),
        "abstract": abstract_of(work["abstract_inverted_index"]),
        "authors": [_object(one.get("author")).get("display_name") for one in authors],
        "venue": _object(_object(work.get("primary_location")).get("source")).get("display_name"),
        "volume": places.get("volume"),
        "issue": places.get("issue"),
        "pages": "-".join(filter(None, pages)),
    }


def _arxiv(paper: Mapping[str, Any]) -> dict[str, Any]:
    """A paper of arXiv's snapshot: LaTeX in its texts, names as [last, first, suffix, ...]."""
    first = next(iter(paper.get("versions") or ()), None)
    texts = {
        name: latex.plain(text) if "\\" in text else " ".join(text.split())
        for name in ("title", "abstract")
        if isinstance(text := paper.get(name), str)
    }
    names = (name for name in paper["authors_parsed"] if isinstance(name, list))
    left_out = ("authors_parsed", "versions")
    return (
        {name: value for name, value in paper.items() if name not in left_out}
        | texts
        | {
            "authors": [
                " ".join(filter(None, (*name[1:2], *name[:1], *name[2:3]))) for name in names
            ],
            "year": year_in(_object(first).get("created")) or year_in(paper.get("update_date")),
            "url": f"https://arxiv.org/abs/{paper.get('id')}",
        }
    )


def _with_journal(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose journal is an object, as services have it: ``{"name": ..., "pages": ...}``."""
    journal = record["journal"]
    names = (journal.get(key) for key in ("name", "title", "display_name"))
    parts = {
        key: journal[key]
        for key in ("volume", "issue", "pages", "issn", "publisher")
        if isinstance(journal.get(key), str | int)
    }
    return {
        **parts,
        **record,
        "journal": next((one for one in names if isinstance(one, str)), None),
    }


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
