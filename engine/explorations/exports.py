"""Handing over an exploration: its searches and kept documents, in every form of export."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from types import MappingProxyType
from typing import Any

import rispy
from bibtexparser import Library, write_string
from bibtexparser.exceptions import ParsingException
from bibtexparser.middlewares import default_unparse_stack
from bibtexparser.middlewares.names import InvalidNameError, parse_single_name_into_parts
from bibtexparser.model import Entry, Field

from engine.bibliographic import DOIS, SUFFIXES, doi_in, doi_of, first_last, web_address
from engine.collections.judgment_formats import csv_lines, json_lines
from engine.config import ASSETS
from engine.errors import BadInputError, SeedLensError, check_known
from engine.queries import query_to_dict
from engine.text import escaped_address, plain
from engine.types.documents import Document, reference
from engine.types.limits import MOST_CITED
from engine.types.searches import CITATION_STYLES, EXPORT_FORMATS, KeptDocument, Query

CslItem = dict[str, Any]
Kept = Sequence[KeptDocument]  # in the order of the reading list

_RECORDS = tomllib.loads((ASSETS / "citations" / "records.toml").read_text("utf-8"))
_TYPES: dict[str, dict[str, str]] = _RECORDS["types"]
_TYPE_WORDS = {word: kind for kind, names in _TYPES.items() for word in names["words"].split()}
_TYPE_FIELDS, _CONTAINERS = _RECORDS["type_fields"].split(), _RECORDS["containers"].split()
_FIELDS = [
    (csl, names["bibtex"], names["ris"], names["others"].split())
    for csl, names in _RECORDS["fields"].items()
]


def _named(pattern: str) -> re.Pattern[str]:
    """A pattern in which the names of lists of words stand for any of these."""
    words = {name: "|".join(_RECORDS[name].split()) for name in _WORDS}
    return re.compile(pattern.format(**words), re.IGNORECASE)


_WORDS = ("organisations", "conferences", "conference_names", "society_journals", "preprints")
_JOURNALS = _named(r"proceedings of the ({society_journals})")
_CONFERENCES = _named(r"\b({conferences})\b|^({conference_names})\b(?!.*\bjournal\b)")
_PREPRINTS, _ORGANISATION = _named(r"\b({preprints})\b"), _named(r"\b({organisations})\b|[&/@]|\d")
_EDITORS = re.compile(r";\s*|\s+and\s+")
_GENRES = {"phdthesis": "PhD thesis", "mastersthesis": "Master's thesis"}
_SMALL_WORDS = ("a", "an", "the", "on", "of", "for", "in", "to", "and", "from", "with", "by", "at")
_SIGNS = "backslash braceleft braceright asciitilde asciicircum less greater bar"
_LATEX = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in zip("\\{}~^<>|", _SIGNS.split(), strict=True)}
    | {sign: f"\\{sign}" for sign in "$&%#_"}
)
_OWN = ("doc_id", "title", "text", "year", "authors", "url")
"""Fields of a document that are no metadata."""


class _RisWriter(rispy.RisWriter):  # type: ignore[misc]
    def set_header(self, _: int) -> str:
        """Records are not numbered."""
        return ""


def csl_items(kept: Kept) -> list[CslItem]:
    """The documents as CSL-JSON data, with unique citation keys such as ``lovelace1843notes``."""
    items, used = [], set[str]()
    for one in kept:
        item = csl_item(one.document)
        base = _own_key(one.document) or _key(item)
        keys = (base if number == 1 else f"{base}-{number}" for number in count(1))
        key = next(key for key in keys if key.lower() not in used)
        used.add(key.lower())
        words = "; ".join(filter(None, (item.get("keyword"), *one.tags))) if one.tags else ""
        own = {"note": one.note, "keyword": words}
        items.append({"id": key, **item} | {name: text for name, text in own.items() if text})
    return items


def csl_item(document: Document) -> CslItem:
    """A document as CSL-JSON data without an id; what is not known of it is left out."""
    known = {
        name.strip().lower().replace(" ", "_"): _line(value)
        for name, value in document.metadata.items()
    }
    container = _first(known, _CONTAINERS)
    kinds = ("family_names", "organisations")
    undivided = [name for kind in kinds for name in known.get(kind, "").split("; ") if name]
    dois = (doi_in(known.get(name)) for name in DOIS)
    editors = _first(known, ("editor", "editors", "secondary_authors"))
    item: CslItem = {
        "type": _type(known, container),
        "title": _line(document.title) or _line(document.text)[:80],
        "author": [_person(_line(name), undivided) for name in document.authors],
        "editor": [_person(first_last(name), ()) for name in _EDITORS.split(editors) if name],
        "issued": {"date-parts": [[document.year]]} if document.year else None,
        "container-title": container,
        **{
            csl: _first(known, (csl.lower(), bibtex, *others)) for csl, bibtex, _, others in _FIELDS
        },
        "genre": _GENRES.get(known.get("type", "").lower(), ""),
        "DOI": next(filter(None, dois), None) or doi_in(document.url) or "",
        "URL": web_address(document.url or "") or "",
        "abstract": _line(document.text) if document.text != document.title else "",
    }
    if first := _first(known, ("start_page", "page_start", "bp")):
        last = _first(known, ("end_page", "page_end", "ep"))
        item["page"] = "-".join(filter(None, (first, last)))
    if len(re.sub(r"[^\dXx]", "", item["ISSN"])) in (10, 13):  # RIS has one tag for both
        item["ISBN"] = item["ISBN"] or item.pop("ISSN")
    item["page"] = re.sub(r"\s*[-\N{EN DASH}\N{EM DASH}]+\s*", "-", item["page"])
    return {name: value for name, value in item.items() if value}


def _line(value: object) -> str:
    return " ".join(str(value).split())


def _first(known: Mapping[str, str], names: Sequence[str]) -> str:
    return next((known[name] for name in names if known.get(name)), "")


def _type(known: Mapping[str, str], container: str) -> str:
    words = (re.sub(r"[^a-z]", "", known.get(name, "").lower()) for name in _TYPE_FIELDS)
    if kind := next((_TYPE_WORDS[word] for word in words if word in _TYPE_WORDS), ""):
        return kind
    if known.get("school"):
        return "thesis"
    if _PREPRINTS.search(container):
        return "article"
    named = _CONFERENCES.search(container) and not _JOURNALS.search(container)
    if named or known.get("booktitle") or known.get("conference"):
        return "paper-conference"
    if container and not known.get("howpublished"):
        return "article-journal"
    return "report" if known.get("institution") else "document"


def _person(name: str, undivided: Sequence[str]) -> dict[str, str]:
    """A CSL name: in parts for a person, whole for ``undivided`` organisations."""
    words = name.split()
    suffix = words.pop() if len(words) > 2 and words[-1].rstrip(".") in SUFFIXES else ""
    before, is_acronym = " ".join(words), len(words) == 1 and name.isupper()
    if "," in name or _ORGANISATION.search(name) or is_acronym or name in undivided:
        return {"literal": name}
    if family := next((one for one in undivided if before.endswith(f" {one}")), ""):
        given = before.removesuffix(family).split()
        first = next((n for n, word in enumerate(given) if n and word[0].islower()), len(given))
        parts = given[:first], given[first:], [family]
    else:
        try:
            read = parse_single_name_into_parts(before)
        except (InvalidNameError, ParsingException):
            return {"literal": name}
        parts = read.first, read.von, read.last
        if " ".join(chain(*parts)) != before or not read.first:
            return {"literal": name} if len(words) > 1 else {"family": name}
    names = zip(("given", "non-dropping-particle", "family"), map(" ".join, parts), strict=True)
    return {part: text for part, text in (*names, ("suffix", suffix)) if text}


def _own_key(document: Document) -> str:
    """The citation key of a document that came from BibTeX."""
    others = "mastersthesis inbook proceedings unpublished manual booklet online"
    known = {*(names["bibtex"] for names in _TYPES.values()), *others.split()}
    from_bibtex = str(document.metadata.get("type", "")) in known
    plain_key = re.fullmatch(r"[A-Za-z][A-Za-z0-9:_./+-]*", document.doc_id)
    return document.doc_id if from_bibtex and plain_key else ""


def _key(item: CslItem) -> str:
    author: dict[str, str] = next(iter(item.get("author", ())), {})
    name = author.get("family") or author.get("literal", "").split(" ")[0]
    words = (_ascii(word) for word in re.split(r"[^\w']+", item.get("title", "")))
    word = next((word for word in words if word and word not in _SMALL_WORDS), "")
    year = item["issued"]["date-parts"][0][0] if "issued" in item else ""
    return f"{_ascii(name) or 'anon'}{year}{word[:20]}"


def _ascii(text: str) -> str:
    # One by one: to sort the marks of a whole text takes the square of their number.
    parts = "".join(unicodedata.normalize("NFKD", character) for character in text)
    return re.sub(r"[^a-z0-9]", "", parts.lower())


def to_csl_json(kept: Kept) -> str:
    """An array of items, as Zotero and pandoc read it."""
    return json.dumps(csl_items(kept), ensure_ascii=False, indent=1) + "\n"


def to_bibtex(kept: Kept) -> str:
    """One UTF-8 entry per document; notes are in ``annote``, which styles do not print."""
    entries = []
    for item in csl_items(kept):
        is_masters = item.get("genre", "").startswith("Master")
        kind = "mastersthesis" if is_masters else _TYPES[item["type"]]["bibtex"]
        fields = [Field(name, value) for name, value in _bibtex_fields(item, kind)]
        entries.append(Entry(kind, item["id"], fields))
    in_place = default_unparse_stack(allow_inplace_modification=True)
    return str(write_string(Library(entries), in_place))


def _bibtex_fields(item: CslItem, kind: str) -> Iterator[tuple[str, str]]:
    yield "title", _protected(item.get("title", ""))
    for people in ("author", "editor"):
        if people in item:
            yield people, " and ".join(map(_bibtex_name, item[people]))
    if "issued" in item:
        yield "year", str(item["issued"]["date-parts"][0][0])
    if "container-title" in item:
        container = {"article": "journal", "misc": "howpublished"}.get(kind, "booktitle")
        yield container, _protected(item["container-title"])
    publishers = {"phdthesis": "school", "mastersthesis": "school", "techreport": "institution"}
    publisher = publishers.get(kind, "publisher")
    for csl, name, _, _ in _FIELDS:
        if csl in item:
            text = item[csl].replace("-", "--") if csl == "page" else item[csl]
            yield publisher if csl == "publisher" else name, _latex(text)
    if "DOI" in item:
        yield "doi", escaped_address(item["DOI"])
    if _has_own_link(item):
        yield "url", escaped_address(item["URL"])
    for csl, name in (("abstract", "abstract"), ("note", "annote")):
        if csl in item:
            yield name, _latex(item[csl])


def to_ris(kept: Kept) -> str:
    """One record per document; each line of a reader's note is an ``N1``."""
    return str(rispy.dumps([*map(_ris_record, csl_items(kept))], implementation=_RisWriter))


def _ris_record(item: CslItem) -> dict[str, Any]:
    kind = _TYPES[item["type"]]["ris"]
    first, _, last = item.get("page", "").partition("-")
    record: dict[str, Any] = {
        "type_of_reference": kind,
        "id": item["id"],
        "title": item.get("title"),
        "authors": [_ris_name(person) for person in item.get("author", ())],
        "secondary_authors": [_ris_name(person) for person in item.get("editor", ())],
        "year": item["issued"]["date-parts"][0][0] if "issued" in item else None,
        "journal_name" if kind == "JOUR" else "secondary_title": item.get("container-title"),
        **{name: item[csl] for csl, _, name, _ in reversed(_FIELDS) if name and csl in item},
        "start_page": first,
        "end_page": last,
        "doi": item.get("DOI"),
        "urls": [item["URL"]] if _has_own_link(item) else [],
        "abstract": item.get("abstract"),
        "notes": list(filter(None, map(_line, item.get("note", "").splitlines()))),
    }
    if "keywords" in record:
        record["keywords"] = re.split(r"\s*[;,]\s*", record["keywords"])
    return {name: value for name, value in record.items() if value}


def to_citations(kept: Kept, style: str, *, page: bool = False) -> str:
    """A bibliography in a style of ``assets/citations``, as plain text or (``page``) HTML."""
    import pypandoc

    if len(kept) > MOST_CITED:
        raise BadInputError(
            f"{len(kept):,} documents are too many to be formatted as citations.",
            f"Take at most {MOST_CITED:,}, or export BibTeX, RIS or CSL-JSON.",
        )

    left_out = ("abstract", "note")
    items = [{k: v for k, v in item.items() if k not in left_out} for item in csl_items(kept)]
    sheet = ASSETS / "citations" / f"{style}.csl"
    as_page = ["--standalone", "--metadata=pagetitle:References"] if page else []
    options = ["--citeproc", f"--csl={sheet}", "--wrap=none", *as_page]
    how: Any = {"format": "csljson", "verify_format": False, "sandbox": True}
    try:
        text = pypandoc.convert_text(
            json.dumps(items), "html" if page else "plain", extra_args=options, **how
        )
    except (OSError, RuntimeError) as error:
        raise SeedLensError(
            f"The citations could not be formatted: {_line(error)[:200]}",
            "Install pypandoc_binary, or export BibTeX, RIS or CSL-JSON.",
        ) from error
    return str(text)


def _has_own_link(item: CslItem) -> bool:
    """Whether there is a link besides the DOI."""
    return "URL" in item and ("DOI" not in item or doi_of(item["URL"]) is None)


def _latex(text: str) -> str:
    return _line(text).translate(_LATEX)


def _protected(text: str) -> str:
    """LaTeX in which words such as BERT keep their capitals in every style."""
    pieces = re.split(r"([^\W_]+)", _line(text))
    return "".join(
        f"{{{piece}}}" if piece[1:] != piece[1:].lower() else piece.translate(_LATEX)
        for piece in pieces
    )


def _bibtex_name(person: Mapping[str, str]) -> str:
    if "given" not in person:
        return f"{{{_latex(person.get('literal') or person['family'])}}}"
    family, particle = _latex(person["family"]), _particle(person).translate(_LATEX)
    if "suffix" in person:
        family = f"{{{family} {person['suffix']}}}"
    return f"{particle}{family}, {_latex(person['given'])}"


def _ris_name(person: Mapping[str, str]) -> str:
    if "given" not in person:
        return person.get("literal") or person["family"]
    family = " ".join(filter(None, (person["family"], person.get("suffix"))))
    return f"{_particle(person)}{family}, {person['given']}"


def _particle(person: Mapping[str, str]) -> str:
    return f"{person.get('non-dropping-particle', '')} ".lstrip()


Titles = Mapping[Query, str]  # of the seeds of searches


def to_markdown(
    kept: Kept,
    titles: Titles,
    steps: Sequence[Query] | None,
    heading: str,
    corpora: Mapping[str, str],
) -> str:
    """A readable account, in which corpora have their titles."""
    lines = [f"# {plain(heading)}", "", *["## Searches", ""] * (steps is not None)]
    for number, query in enumerate(steps or (), start=1):
        where = plain(corpora.get(query.corpus, query.corpus))
        searched = f"{_searched(query, titles)}, {query.system}, steer {query.steer:g}"
        lines.append(f"{number}. {searched}, corpus {where}")
        lines += [f"   > {plain(query.instruction)}"] if query.instruction else []
    lines += ["", "## Reading list", ""] if steps is not None else []
    for one in kept:
        document, corpus = one.document, plain(corpora.get(one.corpus, one.corpus))
        where = f"({corpus}: {plain(document.doc_id)})"
        lines.append(f"- {reference(document, document.url)} {where}")
        if one.note:
            lines.append(f"  > {plain(one.note)}")
        if one.tags:
            lines.append(f"  - Tags: {plain(', '.join(one.tags))}")
        if one.query is not None:
            wording = f": {plain(one.query.instruction)}" if one.query.instruction else ""
            lines.append(f"  - Found from {_searched(one.query, titles)}{wording}")
        for name, passage in zip(("Seed", "Document"), one.evidence or (), strict=False):
            lines.append(f"  - {name}: “{plain(passage)}”")
    if not kept:
        lines.append("Nothing was kept.")
    return "\n".join(lines) + "\n"


def _searched(query: Query, titles: Titles) -> str:
    seed = titles.get(query) or (query.text or "")[:80] or query.seed or ""
    wanted = query.aspect or "any aspect"
    if query.focus:
        wanted = f"sentences {', '.join(str(i + 1) for i in query.focus)}"
    wanted = f"{wanted} (read as {', '.join(query.reading)})" if query.reading else wanted
    return f"{plain(seed)} — similar in {plain(wanted)}"


def to_jsonl(kept: Kept, titles: Titles, steps: Sequence[Query] | None) -> str:
    """One JSON object a line: the searches (``"type": "search"``), then the kept documents."""
    rows: list[dict[str, object]] = [
        {"type": "search", "title": titles.get(q), **query_to_dict(q)} for q in steps or ()
    ]
    for one in kept:
        own = {name: getattr(one.document, name) for name in _OWN}
        own["metadata"] = dict(one.document.metadata)
        query, passages = one.query, zip(("seed", "document"), one.evidence or (), strict=False)
        why = {
            "note": one.note,
            "tags": one.tags,
            "found_by": query and {"title": titles.get(query), **query_to_dict(query)},
            "evidence": dict(passages),
        }
        more = {name: value for name, value in why.items() if value}
        rows.append({"type": "document", "corpus": one.corpus, **own, **more})
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


_REFERENCES: dict[str, Callable[[Kept], str]] = {
    "bibtex": to_bibtex,
    "ris": to_ris,
    "csl-json": to_csl_json,
    **{style: partial(to_citations, style=style) for style in CITATION_STYLES},
    **{f"{style}-html": partial(to_citations, style=style, page=True) for style in CITATION_STYLES},
}


def export_kept(
    kind: str,
    kept: Kept,
    titles: Titles,
    steps: Sequence[Query] | None = None,
    heading: str = "Exploration",
    corpora: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Kept documents, after the searches of a trail, in one of :data:`EXPORT_FORMATS`."""
    check_known("format", kind, EXPORT_FORMATS)
    if kind == "markdown":
        return to_markdown(kept, titles, steps, heading, corpora)
    return to_jsonl(kept, titles, steps) if kind == "jsonl" else _REFERENCES[kind](kept)


def export_documents(kind: str, kept: Callable[[], Iterable[KeptDocument]]) -> Iterator[str]:
    """Documents with all fields in one of :data:`DOCUMENT_FORMATS`, part by part: JSONL and CSV,
    which import reads back, hold one at a time. ``kept`` is called again for the columns of a
    CSV."""
    if kind == "jsonl":
        yield from json_lines(document_fields(one.document) for one in kept())
    elif kind == "csv":
        columns = {name: None for one in kept() for name in document_fields(one.document)}
        yield from csv_lines((document_fields(one.document) for one in kept()), list(columns))
    else:
        yield export_kept(kind, list(kept()), {})


def document_fields(document: Document) -> dict[str, Any]:
    """A document as one flat row; a reserved name of metadata becomes ``metadata.<name>``."""
    item = csl_item(document)
    fields: dict[str, Any] = {name: getattr(document, name) for name in _OWN}
    more = {"doi": item.get("DOI"), "venue": item.get("container-title")}
    names = {name.casefold() for name in document.metadata}
    fields |= {name: value for name, value in more.items() if value and name not in names}
    return fields | {
        f"metadata.{name}" if name in fields else name: value
        for name, value in document.metadata.items()
    }
