"""Queries and what they find."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from engine.types.documents import Document, Span
from engine.types.facets import AMOUNT, SELECTION, is_derived
from engine.types.facts import FactMatch
from engine.types.scenarios import ScenarioMatch
from engine.types.terms import TermPassage, TermUse

if TYPE_CHECKING:
    import pandas as pd

PAGE_SIZE = 20
WHOLE = ("any",)  # As a query's reading: no aspect is asked for, whatever its wording says
Operator = Literal["=", ">=", "<="]
VALUE_MARKS = "\\|;"
FIELD_MARKS = VALUE_MARKS + "<>="
"""What has a backslash before it in a value of a filter, and in its field."""


def separated(text: str, mark: str) -> list[str]:
    r"""The parts of ``text`` between the marks, trimmed, empty ones left out.

    A backslash before a mark makes it part of the text; :func:`unescaped` takes it away.

    >>> separated(r"ACL | A\|B", "|")
    ['ACL', 'A\\|B']
    """
    parts = re.findall(rf"(?:\\.|[^\\{re.escape(mark)}]|\\$)+", text, re.DOTALL)
    return [part for part in map(str.strip, parts) if part]


def escaped(value: str, marks: str = VALUE_MARKS) -> str:
    """``value`` as a filter holds it: with a backslash before what would separate its parts."""
    return re.sub(f"([{re.escape(marks)}])", r"\\\1", value)


def unescaped(part: str, marks: str = VALUE_MARKS) -> str:
    """What :func:`escaped` made of a value, as it was."""
    return re.sub(rf"\\([{re.escape(marks)}])", r"\1", part)


def _size_of(selection: str) -> str:
    """How many documents a selection has, as its key says; a key of a link may be anything."""
    size = selection.partition("-")[0]
    return f"{int(size):,}" if size.isdecimal() and len(size) < 10 else "unknown"


@dataclass(frozen=True, slots=True)
class Filter:
    r"""A condition on a field: ``year >= 2010``, ``venue = ACL``, ``venue = ACL|EMNLP``.

    Between ``|`` stand several values, of which one is enough. A ``|``, ``;`` or backslash that
    belongs to a value has a backslash before it; :meth:`any_of` sees to that. In the name of a
    field ``<``, ``>`` and ``=`` have one, too, where a filter is written as text. Values are
    compared as text, as a whole; those of ``year`` as numbers. What documents say themselves has
    fields that begin with ``has.``, and ``in.selection`` names documents that somebody selected:
    see :mod:`engine.types.facets`.

    >>> Filter("venue", "=", "ACL|EMNLP").values
    ('ACL', 'EMNLP')
    >>> str(Filter.any_of("venue", ["A|B", "C"]))
    'venue=A\\|B|C'
    """

    field: str
    op: Operator
    value: str

    @classmethod
    def any_of(cls, field: str, values: Iterable[str], op: Operator = "=") -> Self:
        """The filter that is met by any one of ``values``."""
        return cls(field, op, "|".join(map(escaped, values)))

    @property
    def values(self) -> tuple[str, ...]:
        """The values, of which one is enough."""
        return tuple(map(unescaped, separated(self.value, "|"))) or (self.value,)

    @property
    def words(self) -> str:
        """For people to read: ``venue = ACL or EMNLP``, ``year ≥ 2010``, ``has USD ≥ 100``,
        ``within 312 selected documents``."""
        if self.field == SELECTION and self.op == "=":
            sizes = " or ".join(map(_size_of, self.values))
            return f"within {sizes} selected document{'s' * (sizes != '1')}"
        sign = {"=": "=", ">=": "≥", "<=": "≤"}[self.op]
        field = self.field.replace(AMOUNT, "has ") if is_derived(self.field) else self.field
        field = field.replace(".", " ") if is_derived(self.field) else field
        return f"{field} {sign} {' or '.join(self.values)}"

    def __str__(self) -> str:
        return f"{escaped(self.field, FIELD_MARKS)}{self.op}{self.value}"


@dataclass(frozen=True, slots=True)
class FilterEffect:
    """What one filter of a search leaves."""

    filter: Filter
    alone: int  # documents that meet it
    rest: int  # documents that meet all other filters of the search
    all: int  # documents that may be ranked: those of the corpus without the seed

    def __str__(self) -> str:
        return (
            f"{self.filter.words} leaves {self.alone:,} of {self.all:,}; without it {self.rest:,}"
        )


@dataclass(frozen=True, slots=True)
class Query:
    """One search: a seed (``seed`` or ``text``, exactly one), an aspect, and how to rank."""

    corpus: str
    seed: str | None = None
    text: str | None = None
    aspect: str | None = None
    instruction: str | None = None
    # indices of single seed sentences to ask for "more like exactly this"; when given they take the
    # place of the aspect's sentences
    focus: tuple[int, ...] = ()
    # corrects what aspect and wording were read as: the aspects asked for and ruled out by sign and
    # key (`+method`, `-background`), the terms (`Term`), or `WHOLE`. Empty: they are read as they
    # stand.
    reading: tuple[str, ...] = ()
    system: str = "aspect"
    steer: float = 0.5  # 0 (whole document) to 1 (aspect only)
    k: int = PAGE_SIZE
    offset: int = 0
    symmetric: bool = False  # late interaction scores both directions
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pair of passages that explains a rank."""

    seed_span: Span
    doc_span: Span
    seed_text: str
    doc_text: str
    score: float  # cosine similarity of the two passages in context, -1 to 1
    # seed_marks, doc_marks: spans of the words that carried the match (token alignment)
    seed_marks: tuple[Span, ...] = ()
    doc_marks: tuple[Span, ...] = ()
    seed_role: int | None = None
    role: int | None = None  # index of the aspect that the document's passage serves, or None


@dataclass(frozen=True, slots=True)
class Result:
    """One document of a ranking, with its evidence."""

    rank: int  # 1 is best
    document: Document
    score: float
    # places gained (positive) or lost against the same search without an aspect; None when it was
    # not within the depth of that search
    rank_change: int | None
    evidence: tuple[Evidence, ...]
    explanation: str | None = None
    # the document's facts that answer the query's, where the search goes by facts
    facts: tuple[FactMatch, ...] = ()
    # its scenario that is nearest to the query, where the system goes by scenarios
    scenario: ScenarioMatch | None = None
    terms: tuple[TermPassage, ...] = ()  # how well it has each term of the query
    strength: str = ""  # of its likeness in what was asked for: weak, moderate or strong

    @property
    def doc_id(self) -> str:
        return self.document.doc_id


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that words were looked up for, and where they were found."""

    document: Document
    # `title` (all words, or its id), `text` (by BM25), or `meaning` (near to the words, which it
    # need not have)
    where: Literal["title", "text", "meaning"]
    # the sentence that fits best; empty where the title says it, or there is none
    snippet: str = ""
    # title_marks, marks: spans of the words in the title, and in `snippet`
    title_marks: tuple[Span, ...] = ()
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResults:
    """A page of a ranking, and what it lacks."""

    query: Query
    seed: Document
    results: tuple[Result, ...]
    total: int  # documents that the ranking holds (within its depth)
    corpus_size: int
    truncated: bool  # True when more documents exist than the ranking holds
    seconds: float
    # share of the top 20 that differs from the same search without an aspect, 0 to 1; None when the
    # search has no aspect
    instruction_following: float | None
    weights: tuple[float, ...]  # how the aspect was read, one weight per seed sentence
    # plain sentences about anything a reader should know of this ranking
    notes: tuple[str, ...] = ()
    # (aspect name, weight) that the query was read to ask for, sum to 1
    understood: tuple[tuple[str, float], ...] = ()
    avoided: tuple[str, ...] = ()  # names of the aspects that its wording rules out
    reading: tuple[str, ...] = ()  # the aspects asked for and ruled out, as `reading` has them
    # indices of the seed's sentences that were picked, or that the wording quotes
    sentences: tuple[int, ...] = ()
    terms: tuple[TermUse, ...] = ()  # how far the ranking obeys each term of the query

    def to_frame(self) -> pd.DataFrame:
        """One row per result, best first.

        Columns: ``rank``, ``doc_id``, ``title``, ``year``, ``score``, ``rank_change``, and of the
        strongest evidence ``seed_passage``, ``passage`` and ``similarity``. Integers that may be
        missing have the type ``Int64``.
        """
        import pandas as pd

        best = [r.evidence[0] if r.evidence else None for r in self.results]
        columns = {
            "rank": [r.rank for r in self.results],
            "doc_id": [r.doc_id for r in self.results],
            "title": [r.document.title for r in self.results],
            "year": pd.array([r.document.year for r in self.results], dtype="Int64"),
            "score": [r.score for r in self.results],
            "rank_change": pd.array([r.rank_change for r in self.results], dtype="Int64"),
            "seed_passage": [e and e.seed_text for e in best],
            "passage": [e and e.doc_text for e in best],
            "similarity": [e and e.score for e in best],
        }
        return pd.DataFrame(columns)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ordered documents of one query on one system, without evidence (for runs)."""

    query_id: str
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per document, best first: ``query_id``, ``doc_id``, ``rank`` and ``score``."""
        import pandas as pd

        ranks = range(1, len(self.doc_ids) + 1)
        columns = {"doc_id": self.doc_ids, "rank": ranks, "score": self.scores}
        frame = pd.DataFrame(columns)
        frame.insert(0, "query_id", self.query_id)
        return frame
