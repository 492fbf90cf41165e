"""XML of EndNote and PubMed, read record by record; columns as in :mod:`engine.ingest.tagged`."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from engine.bibliographic import doi_in
from engine.errors import BadInputError
from engine.ingest.encodings import opened
from engine.ingest.rows import InputFile, Row
from engine.ingest.tagged import record

_ENDNOTE = {
    "accession_number": ".//accession-num",
    "title": "titles/title",
    "abstract": "abstract",
    "year": "dates/year",
    "authors": "contributors/authors/author",
    "venue": "titles/secondary-title",
    "doi": "electronic-resource-num",
    "url": "urls/related-urls/url",
    "volume": "volume",
    "issue": "number",
    "pages": "pages",
    "keywords": "keywords/keyword",
    "publisher": "publisher",
    "issn": "isbn",
    "language": "language",
}
_PUBMED = {
    "accession_number": "MedlineCitation/PMID",
    "title": ".//ArticleTitle",
    "abstract": ".//Article/Abstract/AbstractText",
    "year": ".//JournalIssue/PubDate/*",
    "authors": ".//AuthorList/Author",
    "venue": ".//Journal/Title",
    "doi": ".//ArticleIdList/ArticleId",
    "volume": ".//JournalIssue/Volume",
    "issue": ".//JournalIssue/Issue",
    "pages": ".//MedlinePgn",
    "keywords": ".//Keyword",
    "issn": ".//Journal/ISSN",
    "language": ".//Language",
}
_COLUMNS = {"record": _ENDNOTE, "PubmedArticle": _PUBMED}
"""Element of a record -> column -> path of its values in it."""


def rows(file: InputFile) -> Iterator[Row]:
    """One row per record."""
    number, root = 0, None
    try:
        with opened(file.path) as content:
            for event, element in iterparse(content, events=("start", "end")):
                root = element if root is None else root
                if event == "end" and element.tag in _COLUMNS:
                    number += 1
                    yield Row(f"{file.name}, row {number}", record(_columns(element)))
                    root.clear()
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise BadInputError(
            f"{file.name}, after row {number}: XML that cannot be read ({error}).",
            "Export it again, or as RIS.",
        ) from error
    if root is not None and not number:
        raise BadInputError(
            f"{file.name} is XML of {root.tag!r}; that of EndNote and PubMed is read.",
            "Export RIS, BibTeX or CSV.",
        )


def _columns(element: Element) -> dict[str, list[str]]:
    columns = {
        column: list(filter(None, map(_words, element.iterfind(path))))
        for column, path in _COLUMNS[element.tag].items()
    }
    columns["doi"] = list(filter(None, map(doi_in, columns["doi"])))
    return {column: values for column, values in columns.items() if values}


def _words(element: Element) -> str:
    if element.tag == "Author":  # of PubMed
        parts = (element.findtext(part) for part in ("LastName", "ForeName"))
        return ", ".join(filter(None, parts)) or element.findtext("CollectiveName") or ""
    words = " ".join("".join(element.itertext()).split())
    label = element.get("Label")
    return f"{label}: {words}" if label and words else words
