"""Queries and their filters: checked, named, written and read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from engine.errors import BadInputError, check_between, check_known, check_length
from engine.lenses.definitions import SHIPPED, find_aspect
from engine.types.lenses import Lens
from engine.types.limits import (
    LONGEST_FILTERS,
    LONGEST_INSTRUCTION,
    MOST_FILTERS,
    MOST_LEARNED,
    PASTED_CHARS,
)
from engine.types.searches import FIELD_MARKS, WHOLE, Filter, Query, Term, separated, unescaped

_QUERY = TypeAdapter(Query)


def check_query(query: Query, lens: Lens, systems: Iterable[str]) -> None:
    """Raise BadInputError (or UnknownNameError) for anything a query cannot be; ``systems`` are all
    names that there are."""
    if (query.seed is None) == (query.text is None):
        raise BadInputError("A search starts from one seed.", "Give either a doc_id or a text.")
    if query.text is not None:
        check_text(query.text)
    check_between("k", query.k, 1)
    check_between("The offset", query.offset, 0)
    check_between("steer", query.steer, 0, 1)
    check_length("instruction", query.instruction or "", LONGEST_INSTRUCTION)
    check_known("system", query.system, systems)
    if query.aspect is not None:
        find_aspect(lens, query.aspect)
    learned = (*query.like, *query.unlike)
    if len(learned) > MOST_LEARNED:
        raise BadInputError(
            f"{len(learned)} documents to learn from are too many.",
            f"Give at most {MOST_LEARNED}: each is a search of its own.",
        )
    if twice := next((d for i, d in enumerate(learned) if d in (query.seed, *learned[:i])), None):
        raise BadInputError(
            f"The document '{twice}' to learn from is named twice.",
            "Name each once, as liked or not, and not the seed.",
        )
    if parse_reading(",".join(query.reading)) != query.reading:
        raise BadInputError(f"The reading {query.reading} has no signs.", "Write ('+method',).")
    for part in query.reading:
        term = Term.parse(part)
        if term is not None and term.aspect:
            find_aspect(lens, term.aspect)
        elif term is None and query.reading != WHOLE:
            find_aspect(lens, part[1:])


def check_text(text: str) -> None:
    """Raise BadInputError for a pasted text that is blank or too long."""
    if not text.strip():
        raise BadInputError("The pasted text is empty.", "Paste a paragraph to start from.")
    remedy = "Paste the part that counts, or import the whole as a document."
    check_length("pasted text", text, PASTED_CHARS, remedy)


def parse_reading(text: str) -> tuple[str, ...]:
    r"""A query's reading: signed aspects and terms; + is the default sign.

    >>> parse_reading("method, -background, -term:tree kernels")
    ('+method', '-background', '-term:tree kernels')
    """
    parts = [re.sub("^−", "-", part) for part in separated(text, ",")]
    if tuple(map(str.lower, parts)) == WHOLE:
        return WHOLE
    parts = [part if part[0] in "+-" else f"+{part}" for part in parts]
    terms = [Term.parse(part) for part in parts]
    keys = [
        part[1:].strip().lower() if term is None else str(term)[1:].casefold()
        for part, term in zip(parts, terms, strict=True)
    ]
    if len(set(keys)) < len(keys) or not {"", *WHOLE}.isdisjoint(keys):
        raise BadInputError(
            f"The reading '{text}' cannot be used.",
            "Name each aspect and each term once, as in +method,-background,+term:tree kernels; "
            "or only 'any' for no aspect.",
        )
    return tuple(
        part[0] + key if term is None else str(term)
        for part, key, term in zip(parts, keys, terms, strict=True)
    )


def query_id(query: Query) -> str:
    """``<seed>_<aspect>``, with the hash of a pasted text as seed and ``any`` for no aspect; picked
    sentences, own wordings and corrections add ``~`` and a hash."""
    seed = query.seed
    if seed is None:
        seed = "text-" + hashlib.sha256((query.text or "").encode()).hexdigest()[:12]
    key = (query.aspect or "").lower()
    built_in = {a.instruction for lens in SHIPPED for a in lens.aspects if a.key == key}
    own = "" if query.instruction in built_in else (query.instruction or "")
    suffix = ""
    if query.focus or own or query.reading:
        said = "|".join(filter(None, (f"{query.focus}|{own}", ",".join(query.reading))))
        suffix = "~" + hashlib.sha256(said.encode()).hexdigest()[:8]
    return f"{seed}_{(query.aspect or 'any').lower()}{suffix}"


def query_to_dict(query: Query) -> dict[str, Any]:
    """A query as JSON-ready values, what is unset left out."""
    data = {k: v for k, v in asdict(query).items() if v not in (None, (), [])}
    if query.filters:
        data["filters"] = [str(f) for f in query.filters]
    return data


def query_to_json(query: Query) -> str:
    return json.dumps(query_to_dict(query), ensure_ascii=False, sort_keys=True)


def query_from_json(text: str) -> Query:
    """Read what :func:`query_to_json` wrote; unknown keys are an error, never guessed at."""
    try:
        return query_from_dict(json.loads(text))
    except ValueError as error:
        raise BadInputError(f"A stored query cannot be read: {error}.") from error


def query_from_dict(data: dict[str, Any]) -> Query:
    """Read what :func:`query_to_dict` made."""
    try:
        data = dict(data)
        if unknown := set(data) - {f.name for f in fields(Query)}:
            raise ValueError(f"unknown keys {sorted(unknown)}")
        filters = tuple(map(parse_filter, data.pop("filters", ())))
        query = _QUERY.validate_python(data)
        return replace(query, filters=filters, reading=parse_reading(",".join(query.reading)))
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInputError(f"A stored query cannot be read: {error}.") from error


StoredQuery = Annotated[Query, PlainValidator(query_from_dict), PlainSerializer(query_to_dict)]
"""A query in a record that is stored."""


_FILTER = re.compile(r"((?:\\.|[^<>=\\])+)(>=|<=|=)(.*)", re.DOTALL)


def parse_filter(text: str) -> Filter:
    """Read ``year>=2010`` or ``venue=ACL|EMNLP``; everything after the sign are the values.

    >>> str(parse_filter("year >= 2010"))
    'year>=2010'
    """
    match = _FILTER.fullmatch(text)
    field, op, said = (part.strip() for part in match.groups()) if match else ("", "", "")
    values = separated(said, "|")
    if not field or not values:
        raise BadInputError(
            f"The filter '{text}' cannot be read.",
            "Write field=value, field=one|another, year>=2010 or year<=2020.",
        )
    field = unescaped(field, FIELD_MARKS)
    return Filter.any_of(field, map(unescaped, values), op=op)  # type: ignore[arg-type]


def parse_filters(text: str) -> tuple[Filter, ...]:
    """Read filters between semicolons, all of which must hold, as links have them."""
    check_length("text of the filters", text, LONGEST_FILTERS, "Choose fewer values.")
    parts = separated(text, ";")
    if len(parts) > MOST_FILTERS:
        raise BadInputError(
            f"There are {len(parts):,} filters; at most {MOST_FILTERS} are read.",
            "Write several values of a field as one filter: venue=ACL|EMNLP.",
        )
    return tuple(map(parse_filter, parts))
