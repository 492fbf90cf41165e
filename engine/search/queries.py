"""Checking a query at the door, naming it, and writing it down."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, fields, replace
from typing import Any

from pydantic import TypeAdapter

from engine.errors import BadInputError
from engine.lenses.definitions import SHIPPED, find_aspect
from engine.search.filters import parse_filter
from engine.search.systems import find_system
from engine.types.lenses import Lens
from engine.types.limits import LONGEST_INSTRUCTION, PASTED_CHARS
from engine.types.searches import WHOLE, Query, Term, separated

_QUERY = TypeAdapter(Query)


def check_query(query: Query, lens: Lens) -> None:
    """Raise BadInputError (or UnknownNameError) for anything a query cannot be."""
    if (query.seed is None) == (query.text is None):
        raise BadInputError("A search starts from one seed.", "Give either a doc_id or a text.")
    if query.text is not None:
        check_text(query.text)
    if query.k < 1:
        raise BadInputError(f"k is {query.k}.", "Ask for at least 1 result.")
    if query.offset < 0:
        raise BadInputError(f"The offset is {query.offset}.", "Count from 0.")
    if not 0.0 <= query.steer <= 1.0:
        raise BadInputError(f"steer is {query.steer}.", "Give a number from 0 to 1.")
    if query.instruction is not None and len(query.instruction) > LONGEST_INSTRUCTION:
        raise BadInputError(
            f"The instruction has {len(query.instruction)} characters; "
            f"at most {LONGEST_INSTRUCTION} are read.",
            "Say it shorter.",
        )
    find_system(query.system)
    if query.aspect is not None:
        find_aspect(lens, query.aspect)
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
    if len(text) > PASTED_CHARS:
        raise BadInputError(
            f"The pasted text has {len(text):,} characters; at most {PASTED_CHARS:,} are read.",
            "Paste the part that counts, or import the whole as a document.",
        )


def parse_reading(text: str) -> tuple[str, ...]:
    r"""A query's reading: signed aspects and terms; what has no sign is asked for.

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
    """``<seed>_<aspect>``; a pasted text is named by its hash, no aspect is ``any``.

    Picked sentences, a wording of one's own or a corrected reading are another information need:
    they add ``~`` and a hash, so that their grades are never mixed with the aspect's own.
    """
    seed = query.seed
    if seed is None:
        seed = "text-" + hashlib.sha256((query.text or "").encode()).hexdigest()[:12]
    own = "" if _is_built_in(query.instruction, query.aspect) else (query.instruction or "")
    suffix = ""
    if query.focus or own or query.reading:
        said = "|".join(filter(None, (f"{query.focus}|{own}", ",".join(query.reading))))
        suffix = "~" + hashlib.sha256(said.encode()).hexdigest()[:8]
    return f"{seed}_{(query.aspect or 'any').lower()}{suffix}"


def _is_built_in(instruction: str | None, aspect: str | None) -> bool:
    """Whether a wording is the aspect's own; another one's asks for something else."""
    key = (aspect or "").lower()
    return instruction in {a.instruction for lens in SHIPPED for a in lens.aspects if a.key == key}


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
        data = json.loads(text)
        if unknown := set(data) - {f.name for f in fields(Query)}:
            raise ValueError(f"unknown keys {sorted(unknown)}")
        filters = tuple(map(parse_filter, data.pop("filters", ())))
        query = _QUERY.validate_python(data)
        return replace(query, filters=filters, reading=parse_reading(",".join(query.reading)))
    except (ValueError, TypeError, AttributeError) as error:
        raise BadInputError(f"A stored query cannot be read: {error}.") from error
