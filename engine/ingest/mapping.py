"""Which column serves which field of a document."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engine.bibliographic import year_in
from engine.errors import UnknownNameError
from engine.ingest.rows import listed

# In order of trust: the first name that is a column wins, and no column serves twice. Names of
# databases (Web of Science, Scopus, Dimensions, Lens, Embase, Covidence, IEEE, OpenAlex, CNKI) and
# of tables in English, German, French, Spanish and Chinese, as ``plain_name`` writes them.
NAMES: dict[str, tuple[str, ...]] = {
    field: tuple(names.split())
    for field, names in {
        "doc_id": "doc_id id _id docid paper_id ut ut_unique_wos_id publication_id lens_id pui "
        "pmid key citation_key citekey bibtexkey item_key eid accession_number covidence kennung "
        "identifiant identificador 编号 doi number",
        "title": "title article_title document_title display_name ti name headline titel titre "
        "titulo 标题 题名 篇名 title_题名",
        "text": "text abstract ab abstract_text abstract_note abstractnote body content contents "
        "document description summary zusammenfassung kurzfassung volltext resume resumen texte "
        "texto 摘要 内容 正文 文本 summary_摘要 data",
        "sentences": "sentences",
        "roles": "roles labels pred_labels",
        "year": "year publication_year published_year pub_year pubyear py jahr erscheinungsjahr "
        "annee annee_de_publication ano ano_de_publicacion 年 年份 出版年 出版年份 发表年份 "
        "year_年 date publication_date published date_published datum fecha 日期 发表时间 "
        "pubtime_发表时间",
        "authors": "authors author author_full_names author_names af au creator creators "
        "authorships.author.display_name autoren autor verfasser auteurs auteur autores 作者 "
        "author_作者",
        "url": "url link doi_url external_url lien enlace 链接",
    }.items()
}
NESTED = ("metadata", "fields", "data", "inputs", "meta")
"""Objects in which JSON of other programs (Argilla, Label Studio, Prodigy) has a document's fields;
``data.text`` is the text where no column is called so."""
FIELDS = tuple(NAMES)
_KNOWN = frozenset(name for names in NAMES.values() for name in names)
_LIKE = {
    "title": re.compile("tit|head|name|subject|betreff|标题|题"),
    "year": re.compile("year|date|publ|jahr|datum|annee|fecha|年|日期|时间"),
    "authors": re.compile("auth|creat|writ|aut|verf|作者"),
}
"""What is in the names of columns that may hold a field, though no name is known."""


def resolve(
    columns: Iterable[str],
    preset: Mapping[str, str] | None = None,
    chosen: Mapping[str, str] | None = None,
    identifying: Collection[str] = (),
) -> dict[str, str]:
    """Field -> column: the format's own fields or a guess, with the person's choice on top.

    `chosen`: `{"doc_id": "PMID"}`, or `id` as people call it; `data.text` for a field of an object;
    an empty column means: this field has none. `identifying`: columns that every row looked at has,
    each another value: one of them is the id where there is such a one.
    """
    columns = tuple(columns)
    chosen = {_field(name): column for name, column in (chosen or {}).items()}
    _verify(chosen, columns)
    free = [column for column in columns if column not in chosen.values()]
    if preset is None:
        preset = _guess(free, [field for field in FIELDS if field not in chosen], identifying)
    return {field: column for field, column in ({**preset, **chosen}).items() if column}


def _field(name: str) -> str:
    return "doc_id" if name == "id" else name


def _verify(chosen: Mapping[str, str], columns: tuple[str, ...]) -> None:
    for field, column in chosen.items():
        if field not in FIELDS:
            raise UnknownNameError(
                f"A document has no field {field!r}.", f"Fields are: {', '.join(FIELDS)}."
            )
        # Without a readable row no column is known; the row's own error says more.
        if column and columns and not {column, column.partition(".")[0]} & {*columns}:
            raise UnknownNameError(
                f"The source has no column {column!r} (chosen for {field}).",
                f"Its columns are: {listed(columns)}.",
            )


def _guess(columns: list[str], fields: list[str], identifying: Collection[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for column in columns:
        named.setdefault(plain_name(column), column)
    if {"ti", "py"} <= named.keys():
        named.pop("id", None)  # of Web of Science, where these are keywords
    guessed: dict[str, str] = {}
    for field in fields:
        own = [named[name] for name in NAMES[field] if name in named]
        if field == "doc_id":
            own.sort(key=lambda column: column not in identifying)
        else:
            nested = (f"{key}.{name}" for key in NESTED for name in NAMES[field])
            own += [named[name] for name in nested if name in named]
        match = next((column for column in own if column not in guessed.values()), None)
        if match is not None:
            guessed[field] = match
    return guessed


def plain_name(column: str) -> str:
    """A column's name in small letters without accents, ``_`` for blanks and other signs.

    >>> plain_name("Author(s)"), plain_name("Abstract Note"), plain_name("Année de publication")
    ('authors', 'abstract_note', 'annee_de_publication')
    """
    apart = unicodedata.normalize("NFKD", column.strip().casefold())
    letters = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return re.sub(r"[^\w.]+", "_", re.sub(r"\(s\)|/s\b", "s", letters)).rstrip("_")


def is_known(column: str) -> bool:
    """Whether columns of that name serve a field."""
    return plain_name(column) in _KNOWN


def value_at(values: Mapping[str, Any], column: str) -> Any:
    """The value of a column, or of a field of the object in one: ``data.text``."""
    name, dot, rest = column.partition(".")
    inner = values.get(name)
    if column in values or not dot or not isinstance(inner, Mapping):
        return values.get(column)
    return value_at(inner, rest)


def likely(field: str, values: Mapping[str, Any]) -> list[str]:
    """Columns of a row that may hold a title, a year or authors, by their names or values."""
    return [
        column
        for column, value in values.items()
        if value not in (None, "")
        and (
            _LIKE[field].search(plain_name(column))
            or (field == "year" and len(str(value)) < 30 and year_in(value) is not None)
        )
    ]
