"""BibTeX, entry by entry (the file is cut where an `@` begins a line), and LaTeX as plain text.

Columns: `key` (the citation key, else `id`, `doi`, else `rows.hashed_id`), `title`, `abstract`,
`year`, `author` (a list, "First Last"), `url`, `venue` and the entry's other fields under their
lower-case names."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from bibtexparser.entrypoint import parse_string
from bibtexparser.exceptions import ParsingException
from bibtexparser.middlewares.names import (
    InvalidNameError,
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from bibtexparser.model import Block, DuplicateFieldKeyBlock, Entry, ParsingFailedBlock, String
from pylatexenc import latex2text, latexwalker, macrospec  # type: ignore[import-untyped]

from engine.bibliographic import composed, doi_in, first_last, verbatim
from engine.config import ASSETS
from engine.errors import BadInputError
from engine.ingest.rows import InputFile, Row, hashed_id

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


# The same rule as bibtexparser's: a block begins only at the start of a line.
_BLOCK = re.compile(r"\s*@\s*(\w*)\s*([{(])")
_HALF_BLOCK = re.compile(r"\s*@\s*\w*\s*\Z")  # Its brace, or its name too, may be in the next line
_NO_KEY = re.compile(r"(@(?!(?:string|comment|preamble)\b)\w+[{(])(?=\s*[\w-]+\s*=)", re.IGNORECASE)
_INHERITED = re.compile(r"\b(?:crossref|xdata)\s*=\s*[{\"]\s*([^}\"]+)", re.IGNORECASE)
_OWN_NAMES = (
    "title subtitle abstract author doi url eprint pages key label crossref xdata keywords note "
    "file shorttitle language"
)
_OWN = frozenset(_OWN_NAMES.split())
"""Fields that are not inherited by the entries that refer to one."""
_COMMENT = re.compile(r"\s*@comment\b", re.IGNORECASE)
_MARKS = re.compile(r"\\.|[{}\"]", re.DOTALL)
"""What may end a value, and what is passed over: a command of LaTeX, as ``\\{`` or ``\\"``."""
_EMPTY_FIELD = r",(?=\s*,)"
_NEXT = re.compile(r"\s[\w-]+\s*=")
"""Where the next field begins, in a value without braces and quotes."""
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_VERBATIM = frozenset({"url", "doi", "file", "eprint", "ee", "biburl"})

# Every fault becomes an error of ours that names the line; its warnings would say it twice.
logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)


def rows(file: InputFile) -> Iterator[Row]:
    """One row per entry; a block that cannot be parsed is a row with a problem."""
    parents, strings = _parents(file), {month: month for month in _MONTHS}
    number = 0
    for line, block in _blocks(file, strings):
        comment = _COMMENT.match(block.raw or "")
        if not isinstance(block, Entry | ParsingFailedBlock) or comment:
            continue
        number += 1
        where = f"{file.name}, row {number} (line {line})"
        if isinstance(block, ParsingFailedBlock):
            yield _failed(where, block)
        elif name := next((f.key for f in block.fields if not _is_value(f.value)), ""):
            fault = f"there is more behind the value of {name}."
            yield Row.broken(where, fault, "Write a comma between two fields, and braces in pairs.")
        elif row := _row(where, block, strings, parents):
            yield row


def _blocks(file: InputFile, strings: dict[str, str]) -> Iterator[tuple[int, Block]]:
    """Each block with its line, but those of macros, which are added to ``strings``."""
    for first_line, chunk in _chunks(file):
        chunk = _without_empty_fields(_NO_KEY.sub(r"\1,", chunk, count=1))
        try:
            blocks = parse_string(chunk, parse_stack=[]).blocks
        except ParsingException as e:
            raise BadInputError(
                f"{file.name}, line {first_line}: not BibTeX that can be read ({e}).",
                "Correct the entry that begins there, or export the file again.",
            ) from e
        for block in blocks:
            if isinstance(block, String):
                strings[block.key.lower()] = _value(block.value, strings, verbatim=True)
            else:
                yield first_line + (block.start_line or 0), block


def _chunks(file: InputFile) -> Iterator[tuple[int, str]]:
    """Each block with the number of its first line; words before the first are a comment."""
    first, lines = 0, list[str]()
    for number, line in _whole_beginnings(file.lines()):
        if _BLOCK.match(line):
            if lines:
                yield first, "".join(lines)
            first, lines = number, [line]
        elif lines:
            lines.append(line)
    if lines:
        yield first, "".join(lines)


def _whole_beginnings(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines, of which those that begin a block are joined to that with its brace."""
    held: list[tuple[int, str]] = []
    for number, line in lines:
        held.append((number, line))
        whole = "".join(text for _, text in held)
        if _BLOCK.match(whole):
            yield held[0][0], _BLOCK.sub(r"@\1\2", whole, count=1)
        elif _HALF_BLOCK.match(whole):
            continue
        else:
            yield from held
        held = []
    yield from held


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
        block.key.lower(): _fields(block, strings)
        for _, block in (_blocks(file, strings) if wanted else ())
        if isinstance(block, Entry) and block.key.lower() in wanted
    }


def _without_empty_fields(chunk: str) -> str:
    """An entry without the commas outside values that another comma follows, as biber reads it."""
    begin = _BLOCK.match(chunk)
    return "".join(_split(chunk, _EMPTY_FIELD, int(begin[2] == "{"))) if begin else chunk


def _split(text: str, sign: str, outside: int = 0) -> list[str]:
    """A text cut at every sign (a pattern) outside quotes and ``outside`` pairs of braces."""
    parts, at, depth, quoted = [], 0, 0, False
    for mark in re.finditer(rf"{_MARKS.pattern}|{sign}", text, re.DOTALL):
        if mark[0] == '"' and depth == outside:
            quoted = not quoted
        elif mark[0] in ("{", "}"):
            depth += 1 if mark[0] == "{" else -1
        elif mark[0] in (",", "#") and depth == outside and not quoted:
            parts.append(text[at : mark.start()])
            at = mark.end()
    return [*parts, text[at:]]


def _failed(where: str, block: ParsingFailedBlock) -> Row:
    if isinstance(block, DuplicateFieldKeyBlock):
        names = ", ".join(sorted(block.duplicate_keys))
        fault, remedy = f"the entry gives {names} twice.", "Keep one of them, remove the other."
    else:
        reason = " ".join(str(getattr(block.error, "abort_reason", block.error)).split())
        fault = f"the entry cannot be parsed: {reason}"
        remedy = "Check the braces, quotes and commas of the entry."
    return Row.broken(where, fault, remedy, block.error)


def _row(
    where: str, entry: Entry, strings: Mapping[str, str], parents: Mapping[str, Mapping[str, Any]]
) -> Row | None:
    """The row of an entry; None for one that others inherit from and that has no text."""
    values = _fields(entry, strings)
    if entry.entry_type.lower() in ("proceedings", "xdata") and not values.get("abstract"):
        return None
    values = _with_inherited(values, parents, frozenset())
    venues = [values.pop(name, "") for name in ("journal", "journaltitle", "booktitle")]
    values["venue"] = next(filter(None, venues), "")
    values["year"] = values.get("year") or values.get("date")
    values["url"] = values.get("url") or values.get("ee") or _address(values)
    values["key"] = (
        entry.key.strip()
        or values.get("id")
        or doi_in(values.get("doi"))
        or hashed_id(str(values.get("title") or ""), values["year"])
    )
    return Row(where, values | {"type": entry.entry_type})


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


def _fields(entry: Entry, strings: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in entry.fields:
        name = item.key.lower()
        words = _value(item.value, strings, verbatim=name in _VERBATIM or name == "author")
        words = verbatim(words) if name in _VERBATIM else words
        values[name] = _people(words) if name == "author" else words
    return values


def _is_value(raw: str) -> bool:
    """Whether a field's value ends where its braces or quotes do: behind a comma that is missing,
    the next field counts as part of it."""
    return all(map(_ends_as_it_begins, _pieces(raw)))


def _ends_as_it_begins(piece: str) -> bool:
    if piece[:1] not in ("{", '"'):
        return _NEXT.search(piece) is None
    depth, last = 0, len(piece) - 1
    for mark in _MARKS.finditer(piece, 1):
        if mark[0] == piece[0].replace("{", "}") and depth == 0:
            return mark.start() == last
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
    return True


def _value(raw: str, strings: Mapping[str, str], verbatim: bool = False) -> str:
    """``{A} # macro`` as text: pieces joined, macros looked up, LaTeX decoded."""
    pieces = []
    for piece in _pieces(raw):
        if piece[:1] in ("{", '"') and len(piece) > 1:
            pieces.append(piece[1:-1])
        else:
            pieces.append(strings.get(piece.lower(), piece))
    joined = "".join(pieces)
    return joined if verbatim else plain(joined)


def _pieces(raw: str) -> list[str]:
    return [piece.strip() for piece in (_split(raw, "#") if "#" in raw else [raw])]


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
