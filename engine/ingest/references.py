"""References as programs export them: BibTeX, entry by entry (the file is cut where an `@` begins a
line), with LaTeX as plain text; and records with a tag a line: RIS (with rispy's names for the
tags), PubMed (`.nbib`, XML), Web of Science (`.ciw`) and EndNote (`.enw`, XML).

Columns: `key` (the citation key; `ID` of RIS; else the accession number, `id` or DOI, else
`hashed_id`), `title`, `abstract`, `year`, `author` of BibTeX and `authors` (a list, "First Last"),
`url`, `venue`, `doi`, `keywords` and the other fields and tags under their names, those of BibTeX
in lower case; tags without a column keep theirs."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import rispy
from bibtexparser.middlewares.names import (
    InvalidNameError,
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from pylatexenc import latex2text, latexwalker, macrospec  # type: ignore[import-untyped]
from rispy.config import WOK_TAG_KEY_MAPPING

from engine.bibliographic import composed, doi_in, first_last, verbatim, year_in
from engine.config import ASSETS
from engine.errors import BadInputError
from engine.ingest.files import InputFile, Row, hashed_id, opened, table

# It warns of each command that has no argument: megabytes for a file.
logging.getLogger("pylatexenc").setLevel(logging.ERROR)
_LINES = (ASSETS / "ingest" / "latex_words.txt").read_text(encoding="utf-8").splitlines()
_WORDS = {"n": " "} | dict(line.split(" ", 1) for line in _LINES)
"""Commands that stand for words, those of journals as ADS and the AAS write them."""


def _kept(node: Any, l2tobj: Any) -> str:
    """The words of a command, or what its last argument says; of an unknown one the latter."""
    arguments: list[Any] = list(getattr(node.nodeargd, "argnlist", None) or ())
    if hasattr(node.nodeargd, "verbatim_text"):
        return str(node.nodeargd.verbatim_text)
    if node.macroname in _WORDS:
        word = _WORDS[node.macroname]
        return word + node.macro_post_space if word.isalpha() and word.isascii() else word
    if any(arguments):
        return str(l2tobj.nodelist_to_text([arguments[-1]]))
    behind = node.parsing_state.s[node.pos + node.len :][:1]
    # A line break of other programs, "A\nsurvey", is no command.
    is_break = node.macroname.startswith("n") and len(node.macroname) > 2 and behind != "{"
    return f" {node.macroname[1:]}{node.macro_post_space}" if is_break else ""


_PARSED = latexwalker.get_default_latex_context_db()
_PARSED.add_context_category(
    "bibliographies",
    prepend=True,
    macros=[macrospec.std_macro("enquote", "*{"), macrospec.std_macro("href", "{{")],
)
_MEANT = latex2text.get_default_latex_context_db()
_MEANT.add_context_category(
    "bibliographies",
    prepend=True,
    macros=[latex2text.MacroTextSpec(name, _kept) for name in (*_WORDS, "url", "href", "enquote")],
)
_MEANT.set_unknown_macro_spec(latex2text.MacroTextSpec("", _kept))
_DECODER = latex2text.LatexNodes2Text(
    latex_context=_MEANT, math_mode="verbatim", keep_braced_groups=False
)
_ACCENT = r"\\(?:['`^\"~=.]|[uvHcdbkr](?![A-Za-z]))"
_STACKED = re.compile(rf"({_ACCENT})\s*({_ACCENT}\s*(?:\{{[^{{}}]*\}}|\\[ij](?![A-Za-z])|\w))")
# In an abstract "50% of" is words, though LaTeX would drop the rest of the line.
_LITERAL = re.compile(r"(?<!\\)([%&#])")
_BRACE = re.compile(r"(?<!\\)[{}]")


def plain(text: str) -> str:
    r"""Text without LaTeX: accents decoded, braces dropped, math as it is, ends trimmed.

    >>> plain(r"{BERT} f{\"u}r 50% of \textit{all}")
    'BERT für 50% of all'
    """
    if "\\" in text:
        # When it is not LaTeX after all, the words as written are better than none.
        with suppress(latexwalker.LatexWalkerError, ValueError, IndexError, RecursionError):
            escaped = _STACKED.sub(r"\1{\2}", _LITERAL.sub(r"\\\1", text))
            decoded = composed(_DECODER.latex_to_text(escaped, latex_context=_PARSED))
            return " ".join(decoded.split()) or unbraced(text).strip()
    # Decoding every abstract costs 9 ms per 1,000 characters, so most take this way only.
    text = unbraced(text).replace("~", " ")
    text = text.replace("---", "\N{EM DASH}").replace("--", "\N{EN DASH}")
    text = text.replace("``", "\N{LEFT DOUBLE QUOTATION MARK}")
    text = text.replace("''", "\N{RIGHT DOUBLE QUOTATION MARK}")
    return " ".join(text.split())


def unbraced(text: str) -> str:
    """Text without its (unescaped) braces."""
    return _BRACE.sub("", text)


# A block begins at the start of a line, or behind another one; its name and brace may be in the
# lines behind.
_BLOCK = r"@\s*(\w*)\s*([{(])"
_AT_LINE_START = re.compile(rf"\s*{_BLOCK}")
_COMMENT_OR_BLOCK = re.compile(rf"%.*|{_BLOCK}")
_HALF_BLOCK = re.compile(r"\s*@\s*\w*\s*\Z")
_KEY = re.compile(r"([^,={}\"]*?)\s*(?:,|(?=[})]\s*\Z))")
_INHERITED = re.compile(r"\b(?:crossref|xdata)\s*=\s*[{\"]\s*([^}\"]+)", re.IGNORECASE)
_OWN = {
    *("title", "subtitle", "abstract", "author", "doi", "url", "eprint", "pages", "key", "label"),
    *("crossref", "xdata", "keywords", "note", "file", "shorttitle", "language"),
}
"""Fields that are not inherited by the entries that refer to one."""
_MARKS = re.compile(r"\\.|[{}()\",=#%]", re.DOTALL)
"""What may end a value, and what is passed over: a command of LaTeX, as ``\\{`` or ``\\"``."""
_NEXT = re.compile(r"\s[\w-]+\s*=")
"""Where the next field begins, in a value without braces and quotes."""
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_VERBATIM = frozenset({"url", "doi", "file", "eprint", "ee", "biburl"})
_OPEN = "the entry does not end: a brace or quote is not closed."


@dataclass(slots=True)
class _Entry:
    """An entry as it is written."""

    line: int
    kind: str
    key: str
    # name -> pieces, with their braces and quotes, that are joined by #
    fields: dict[str, list[str]] = field(default_factory=dict)
    fault: str = ""  # why it cannot be read


def bibtex_rows(file: InputFile) -> Iterator[Row]:
    """One row per entry; one that cannot be parsed is a row with a problem."""
    parents, strings = _parents(file), {month: month for month in _MONTHS}
    for number, entry in enumerate(_entries(file, strings), start=1):
        where = f"{file.name}, row {number} (line {entry.line})"
        if entry.fault:
            remedy = "Write each field once, a comma between two of them, and braces in pairs."
            yield Row.broken(where, entry.fault, remedy)
        elif row := _row(where, entry, strings, parents):
            yield row


def _entries(file: InputFile, strings: dict[str, str]) -> Iterator[_Entry]:
    """Each entry; macros are added to ``strings``."""
    for line, text in _chunks(file):
        end = 0
        while begin := _COMMENT_OR_BLOCK.search(text, end):
            end = begin.end()
            if begin[0].startswith("%"):
                continue
            entry, end = _parsed(text, begin, line)
            kind = entry.kind.lower()
            if kind == "string" and not entry.fault:
                for name, pieces in entry.fields.items():
                    strings[name.lower()] = _value(pieces, strings, verbatim=True)
            elif kind != "comment" and (kind != "preamble" or entry.fault == _OPEN):
                yield entry


def _chunks(file: InputFile) -> Iterator[tuple[int, str]]:
    """The text from each line that begins a block, with the number of that line."""
    first, lines, numbered = 0, list[str](), file.lines()
    for number, line in numbered:
        while _HALF_BLOCK.match(line) and (behind := next(numbered, None)):
            line += behind[1]
        if _AT_LINE_START.match(line):
            if lines:
                yield first, "".join(lines)
            first, lines = number, [line]
        elif lines:
            lines.append(line)
    if lines:
        yield first, "".join(lines)


def _parsed(text: str, begin: re.Match[str], line: int) -> tuple[_Entry, int]:
    """The entry that begins there, and where it ends. As biber reads it, a comma that another one
    follows is passed over, and so is a comment outside of values."""
    kind, close = begin[1], "}" if begin[2] == "{" else ")"
    key, at = _KEY.match(text, begin.end()), begin.end()
    entry = _Entry(line + text.count("\n", 0, begin.start()), kind, key[1].strip() if key else "")
    at, depth, quoted, name = key.end() if key else at, 0, False, ""
    pieces, before = list[str](), ""  # before: what is in front of a comment
    for mark in _MARKS.finditer(text, at):
        sign = mark[0]
        if mark.start() < at:
            continue  # in a comment
        if sign == '"' and not depth:
            quoted = not quoted
        elif sign == "{" or (sign == "}" and depth):
            depth += 1 if sign == "{" else -1
        elif depth or quoted:
            continue
        elif sign == "%" and text[mark.start() - 1] in ' \t\r\n,{(}"':
            before, at = before + text[at : mark.start()], text.find("\n", mark.start())
            if at < 0:
                break
        elif sign == "=" and not name:
            name, before, at = (before + text[at : mark.start()]).strip(), "", mark.end()
        elif sign in ("#", ",", close):
            pieces.append((before + text[at : mark.start()]).strip())
            before, at = "", mark.end()
            if sign == "#":
                continue
            if name in entry.fields:
                entry.fault = entry.fault or f"the entry gives {name} twice."
            elif len(name.split()) > 1:
                entry.fault = entry.fault or f"there is no comma before {name.split()[-1]}."
            elif not all(map(_ends_as_it_begins, pieces)):
                entry.fault = entry.fault or f"there is more behind the value of {name}."
            elif name:
                entry.fields[name] = pieces
            elif pieces[0]:
                words = " ".join(pieces[0].split())[:80]
                entry.fault = entry.fault or f"there is no = behind {words!r}."
            name, pieces = "", []
            if sign == close:
                return entry, at
    entry.fault = _OPEN
    return entry, len(text)


def _ends_as_it_begins(piece: str) -> bool:
    """Whether a piece of a value ends where its braces or quotes do: behind a comma that is
    missing, the next field counts as part of it."""
    if piece[:1] not in ("{", '"'):
        return _NEXT.search(piece) is None
    depth, last = 0, len(piece) - 1
    for mark in _MARKS.finditer(piece, 1):
        if mark[0] == piece[0].replace("{", "}") and depth == 0:
            return mark.start() == last
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
    return True


def _parents(file: InputFile) -> dict[str, dict[str, Any]]:
    """The fields of entries that others refer to, by their keys in small letters."""
    wanted = {
        key.strip().lower()
        for _, line in file.lines()
        for found in _INHERITED.finditer(line)
        for key in found[1].split(",")
    }
    strings: dict[str, str] = {}
    return {
        entry.key.lower(): _fields(entry, strings)
        for entry in (_entries(file, strings) if wanted else ())
        if entry.key.lower() in wanted
    }


def _row(
    where: str, entry: _Entry, strings: Mapping[str, str], parents: Mapping[str, Mapping[str, Any]]
) -> Row | None:
    """The row of an entry; None for one that others inherit from and that has no text."""
    values = _fields(entry, strings)
    if entry.kind.lower() in ("proceedings", "xdata") and not values.get("abstract"):
        return None
    values = _with_inherited(values, parents, frozenset())
    venues = [values.pop(name, "") for name in ("journal", "journaltitle", "booktitle")]
    values["venue"] = next(filter(None, venues), "")
    values["year"] = values.get("year") or values.get("date")
    values["url"] = values.get("url") or values.get("ee") or _address(values)
    values["key"] = (
        entry.key
        or values.get("id")
        or doi_in(values.get("doi"))
        or hashed_id(str(values.get("title") or ""), values["year"])
    )
    return Row(where, values | {"type": entry.kind.lower()})


def _with_inherited(
    values: Mapping[str, Any], parents: Mapping[str, Mapping[str, Any]], seen: frozenset[str]
) -> dict[str, Any]:
    """An entry's fields, and those that it lacks of the entries that it refers to; ``seen`` are
    those that refer to it."""
    fields = dict(values)
    keys = f"{values.get('xdata', '')},{values.get('crossref', '')}".lower().split(",")
    for key in dict.fromkeys(map(str.strip, keys)):
        own = parents.get(key)
        if own is None or key in seen:
            continue
        parent = _with_inherited(own, parents, seen | {key})
        inherited = {name: value for name, value in parent.items() if name not in _OWN}
        if "title" in own:
            inherited["booktitle"] = own.get("booktitle", own["title"])
        fields = inherited | fields
    return fields


def _address(values: Mapping[str, Any]) -> str:
    """The address of an entry that has none under ``url``."""
    if str(values.get("archiveprefix", values.get("eprinttype", ""))).lower() == "arxiv":
        return f"https://arxiv.org/abs/{values.get('eprint', '')}"
    published = str(values.get("howpublished", ""))
    return published if published.startswith(("http://", "https://")) else ""


def _fields(entry: _Entry, strings: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for written, pieces in entry.fields.items():
        name = written.lower()
        words = _value(pieces, strings, verbatim=name in _VERBATIM or name == "author")
        words = verbatim(words) if name in _VERBATIM else words
        values[name] = _people(words) if name == "author" else words
    return values


def _value(pieces: Iterable[str], strings: Mapping[str, str], verbatim: bool = False) -> str:
    """Pieces as one text: braces and quotes taken off, macros looked up, LaTeX decoded."""
    joined = "".join(
        piece[1:-1]
        if piece[:1] in ("{", '"') and len(piece) > 1
        else strings.get(piece.lower(), piece)
        for piece in pieces
    )
    return joined if verbatim else plain(joined)


def _people(names: str) -> list[str | dict[str, str]]:
    # bibtexparser loses a command that a later name begins with (and \'Etienne).
    names = re.sub(r" and (?=\\)", " and {}", " ".join(names.split()))
    people = split_multiple_persons_names(names)
    return [_person(name) for name in people if name.lower() != "others"]


def _person(name: str) -> str | dict[str, str]:
    if name.startswith("{") and name.endswith("}"):
        return {"literal": plain(name)}  # an organisation, not a first and a last name
    try:
        parts = parse_single_name_into_parts(name)
    except InvalidNameError:
        return plain(unbraced(name))
    whole, family = plain(parts.merge_first_name_first), plain(" ".join(parts.last))
    if " " in family and parts.first:
        return {
            "given": plain(" ".join(parts.first)),
            "non-dropping-particle": plain(" ".join(parts.von)),
            "family": family,
            "suffix": plain(" ".join(parts.jr)),
        }
    # "Ada L" has the family's name L here, whatever databases mean by that.
    first, _, last = whole.rpartition(" ")
    return whole if "." in whole or first_last(whole) == whole else f"{last}, {first}"


# -- a tag a line ------------------------------------------------------------------------------

Lines = Iterator[tuple[int, str, str]]  # Number, tag ("" where a value goes on) and value
_RIS = rispy.RisParser.DEFAULT_MAPPING
_RIS_TAG = re.compile(r"\s*([A-Z][A-Z0-9])(\s+)-(?!-)(.*)", re.DOTALL)
_END = "ER"  # The tag that ends a record


def ris_lines(lines: Iterable[tuple[int, str]]) -> Lines:
    """Lines of RIS. Tags are also known with a tab, no-break spaces or blanks before or behind
    them. "IL - 6", with one blank, may be words: it is a tag in a record whose ``TY`` is written
    so, else only where it has two letters that RIS knows."""
    loose = False
    for number, line in lines:
        found = _RIS_TAG.match(line)
        tag, gap, value = found.groups() if found else ("", "", line)
        value = value.strip()
        if tag == "TY":
            loose = gap == " "
        if gap == " " and not (
            tag in _RIS and (loose or (tag.isalpha() and (tag != _END or not value)))
        ):
            tag, value = "", line.strip()
        yield number, tag, value


def _lines(tag: re.Pattern[str], lines: Iterable[tuple[int, str]]) -> Lines:
    for number, line in lines:
        found = tag.match(line.rstrip())
        yield number, found[1] if found else "", ((found[2] or "") if found else line).strip()


@dataclass(frozen=True, slots=True)
class _Tags:
    """The lines of one program."""

    lines: Callable[[Iterable[tuple[int, str]]], Lines]
    first: str  # the tag that begins a record
    columns: Mapping[str, str]  # tag -> column, in order of trust where several serve one column
    # columns in which a line without a tag is another value; in others the value goes on
    lists: tuple[str, ...] = ("authors", "keywords")
    others: bool = True  # tags without a column are kept
    keys: tuple[str, ...] = ("accession_number", "doi")  # columns that are the key, by trust


_TABLES = table("tags")


def _tags(program: str, tag: str, first: str, others: Mapping[str, str] | None = None) -> _Tags:
    """The tags of a program. `tag`: the pattern of one and its value; `others`: names of tags that
    no table of ours has."""
    columns = {tag: column for column, tags in _TABLES[program].items() for tag in tags.split()}
    lines = partial(_lines, re.compile(tag))
    return _Tags(lines, first, columns | dict(others or {}) | columns)


MEDLINE = _tags("medline", r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)", "PMID")
RIS = replace(
    _tags("ris", "", "TY", _RIS),
    lines=ris_lines,
    lists=("authors", "keywords", "secondary_authors", "tertiary_authors", "notes", "url"),
    others=False,
    keys=("id", "doi", "accession_number"),
)
WEB_OF_SCIENCE = _tags("web_of_science", r"([A-Z][A-Z0-9])(?: (.*))?\Z", "PT", WOK_TAG_KEY_MAPPING)
ENDNOTE = _tags("endnote", r"%(\S)(?: (.*))?\Z", "0")


def _rows(tags: _Tags, file: InputFile) -> Iterator[Row]:
    """One row per record, from its first tag to its end, or to the next one's first tag."""
    for number, (line, lines, whole) in enumerate(_records(tags, file), start=1):
        where = f"{file.name}, row {number} (line {line})"
        if whole:
            yield Row(where, _record(_values(tags, lines), tags.keys))
        else:
            fault = "the record that begins here has no ER line."
            yield Row.broken(where, fault, "End every record with a line 'ER  - '.")


def _records(tags: _Tags, file: InputFile) -> Iterator[tuple[int, list[tuple[str, str]], bool]]:
    """First line, and tags and values, of each record; False for the last where it alone lacks an
    end."""
    first, lines, ended = 0, list[tuple[str, str]](), False
    for number, tag, value in tags.lines(file.lines()):
        if lines and tag in (tags.first, _END):
            ended |= tag == _END
            yield first, lines, True
            lines = []
        if tag == tags.first:
            first, lines = number, [(tag, value)]
        elif lines and (tag or value):
            lines.append((tag, value))
    if lines:
        yield first, lines, not ended


def _values(tags: _Tags, lines: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Column -> values, of the most trusted tag that has any."""
    found: dict[str, list[list[str]]] = {}
    last = ""
    for tag, value in lines:
        last = tag or last
        if tag or tags.columns.get(last) in tags.lists:
            found.setdefault(last, []).append([value])
        else:
            found[last][-1].append(value)
    columns: dict[str, list[str]] = {}
    for tag in (*tags.columns, *(found if tags.others else ())):
        column = tags.columns.get(tag, tag)
        values = [" ".join(filter(None, parts)) for parts in found.pop(tag, ())]
        if column == "doi":
            values = [doi for doi in map(doi_in, values) if doi]
        if column == "year":
            values = list(filter(year_in, values)) or values
        if values := list(dict.fromkeys(filter(None, values))):
            columns.setdefault(column, values)
    return columns


def _record(columns: Mapping[str, list[str]], keys: tuple[str, ...] = MEDLINE.keys) -> Any:
    """The values of a record's columns as one each, but for its authors, with a key."""
    values: dict[str, Any] = {
        column: (" " if column in ("title", "abstract") else "; ").join(several)
        for column, several in columns.items()
    }
    first = {column: several[0] for column, several in columns.items()}
    values |= {name: first[name] for name in ("year", "doi", "type") if name in columns}
    key = next((first[name] for name in keys if name in columns), None)
    values["key"] = key or hashed_id(values.get("title", ""), values.get("year"))
    return values | ({"authors": columns["authors"]} if "authors" in columns else {})


# -- XML ---------------------------------------------------------------------------------

_ELEMENTS: dict[str, dict[str, str]] = _TABLES["xml"]
"""Element of a record -> column -> path of its values in it."""


def xml_rows(file: InputFile) -> Iterator[Row]:
    """One row per record."""
    number, root = 0, None
    try:
        with opened(file.path) as content:
            for event, element in iterparse(content, events=("start", "end")):
                root = element if root is None else root
                if event == "end" and element.tag in _ELEMENTS:
                    number += 1
                    yield Row(f"{file.name}, row {number}", _record(_xml_columns(element)))
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


def _xml_columns(element: Element) -> dict[str, list[str]]:
    columns = {
        column: list(filter(None, map(_words, element.iterfind(path))))
        for column, path in _ELEMENTS[element.tag].items()
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


READERS: dict[str, Callable[[InputFile], Iterator[Row]]] = {
    "ris": partial(_rows, RIS),
    "nbib": partial(_rows, MEDLINE),
    "ciw": partial(_rows, WEB_OF_SCIENCE),
    "enw": partial(_rows, ENDNOTE),
    "xml": xml_rows,
}
"""Format -> its rows."""
