"""Which column serves which field of a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.errors import UnknownNameError
from engine.ingest.rows import listed

# In order of trust: the first name that is a column wins, and no column serves twice.
NAMES: dict[str, tuple[str, ...]] = {
    "doc_id": (
        "doc_id", "id", "_id", "docid", "paper_id", "pmid", "key", "citation_key", "citekey",
        "bibtexkey", "item_key", "eid", "accession_number", "doi", "number",
    ),
    "title": ("title", "article_title", "name", "headline"),
    "text": (
        "text", "abstract", "body", "content", "contents", "document", "description",
        "summary", "abstract_text", "abstract_note",
    ),
    "sentences": ("sentences",),
    "roles": ("roles", "labels", "pred_labels"),
    "year": ("year", "date", "publication_year", "publication_date"),
    "authors": ("authors", "author", "author_full_names", "creator"),
    "url": ("url", "link", "doi_url"),
}  # fmt: skip
FIELDS = tuple(NAMES)


def resolve(
    columns: Iterable[str],
    preset: Mapping[str, str] | None = None,
    chosen: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Field -> column: the format's own fields or a guess, with the person's choice on top.

    Args:
        chosen: ``{"doc_id": "PMID"}``, or ``id`` as people call it; an empty column means: this
            field has none.

    Raises:
        UnknownNameError: a field or column of that name does not exist.
    """
    columns = tuple(columns)
    chosen = {_field(name): column for name, column in (chosen or {}).items()}
    _verify(chosen, columns)
    free = [column for column in columns if column not in chosen.values()]
    base = dict(preset) if preset is not None else _guess(free, set(FIELDS) - set(chosen))
    return {field: column for field, column in (base | chosen).items() if column}


def _field(name: str) -> str:
    return "doc_id" if name == "id" else name


def _verify(chosen: Mapping[str, str], columns: tuple[str, ...]) -> None:
    for field, column in chosen.items():
        if field not in FIELDS:
            raise UnknownNameError(
                f"A document has no field {field!r}.", f"Fields are: {', '.join(FIELDS)}."
            )
        # Without a readable row no column is known; the row's own error says more.
        if column and columns and column not in columns:
            raise UnknownNameError(
                f"The source has no column {column!r} (chosen for {field}).",
                f"Its columns are: {listed(columns)}.",
            )


def _guess(columns: list[str], fields: set[str]) -> dict[str, str]:
    guessed: dict[str, str] = {}
    for field, names in NAMES.items():
        if field not in fields:
            continue
        # "metadata.year" serves when no column of its own is called so.
        for name in (*names, *(f"metadata.{name}" for name in names if field != "doc_id")):
            match = next((c for c in columns if plain_name(c) == name), None)
            if match is not None and match not in guessed.values():
                guessed[field] = match
                break
    return guessed


def plain_name(column: str) -> str:
    """A column's name without case, spaces and hyphens.

    >>> plain_name("Author(s)"), plain_name("Abstract Note")
    ('authors', 'abstract_note')
    """
    return column.strip().lower().replace("(s)", "s").replace(" ", "_").replace("-", "_")
