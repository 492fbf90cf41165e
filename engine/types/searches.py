"""Searches: terms, filters and facets, queries, results, and trails of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self

from engine.types.corpora import FieldValues
from engine.types.documents import Document, FactMatch, Span
from engine.types.lenses import Aspect
from engine.types.scenarios import ScenarioMatch

if TYPE_CHECKING:
    import pandas as pd

HAS = 0.5  # Probability from which a document has a term
OBEYED, LEFT_OUT = 0.5, 0.9
"""Shares of the first results that must have a wanted term, and must not have an unwanted one."""
ANYWHERE = "term"  # In place of an aspect's key: the term may be anywhere in a document
_OR = re.compile(r"\s+(?:(?i:or|oder)|ou|o)\s+|或者?")
_WRITTEN = re.compile(r"([+-]?)([^:+\-][^:]*):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    r"""Content words that documents should have, or should not.

    Written as a part of :attr:`Query.reading`: ``+term:tree kernels``, ``-term:twitter``, or with
    an aspect ``+method:tree kernels``; a comma or a backslash has a backslash before it.

    >>> str(Term("tree kernels", aspect="method")), Term.parse("-term:twitter")
    ('+method:tree kernels', Term(text='twitter', wanted=False, aspect=''))
    """

    text: str  # as a person wrote it; alternatives have "or" between them
    wanted: bool = True
    aspect: str = ""  # key of the aspect whose sentences should have it; "" for anywhere

    @classmethod
    def parse(cls, part: str) -> Self | None:
        """The term of a part of a reading; None for an aspect's part."""
        written = _WRITTEN.fullmatch(part.strip())
        if written is None:
            return None
        sign, key, text = (group.strip() for group in written.groups())
        text = " ".join(re.sub(r"\\([,\\])", r"\1", text).split())
        return cls(text, sign != "-", "" if key.lower() == ANYWHERE else key.lower())

    def __str__(self) -> str:
        text = re.sub(r"([,\\])", r"\\\1", self.text)
        return f"{'+' if self.wanted else '-'}{self.aspect or ANYWHERE}:{text}"

    @property
    def alternatives(self) -> tuple[str, ...]:
        """What it names, one of which is enough.

        >>> Term("co-training or bootstrapping").alternatives
        ('co-training', 'bootstrapping')
        """
        return tuple(filter(None, map(str.strip, _OR.split(self.text)))) or (self.text,)


Means = Literal["words", "short form", "meaning"]


@dataclass(frozen=True, slots=True)
class TermPassage:
    """How well a document has a term."""

    term: Term
    probability: float  # that it has the term, 0 to 1
    means: Means = "words"  # by which it has it
    sentence: int = -1  # index of the sentence that has it best; -1 for the title, or for none
    marks: tuple[Span, ...] = ()  # spans of the term's words in the title or in the text as stored

    @property
    def has(self) -> bool:
        """Whether the document counts as one with the term."""
        return self.probability >= HAS


@dataclass(frozen=True, slots=True)
class TermUse:
    """How far a ranking obeys a term."""

    term: Term
    documents: int  # with the term, of the corpus; at least that many where `exact` is false
    available: int  # of these, those that may be results: no seed, none that a filter leaves out
    top: int  # with the term, of the first `shown` results
    shown: int
    exact: bool = True

    @property
    def share(self) -> float:
        """How far the first results obey it, 0 to 1."""
        if not self.term.wanted:
            return 1.0 - self.top / max(1, self.shown)
        return min(1.0, self.top / max(1, min(self.shown, self.available)))

    @property
    def obeyed(self) -> bool:
        """Whether the ranking obeys the term as far as it can."""
        return not self.available or self.share >= (OBEYED if self.term.wanted else LEFT_OUT)

    @property
    def outcome(self) -> str:
        """In words: ``mentions “tree kernels”: 18 of 20``."""
        if not self.available:
            return f"no other document mentions “{self.term.text}”"
        verb = "mentions" if self.term.wanted else "leaves out"
        if not self.obeyed:
            verb = "ignores" if self.share < OBEYED else f"partly {verb}"
        return f"{verb} “{self.term.text}”: in {self.top} of {self.shown}"

    def sentence(self, size: int) -> str:
        """How many of the corpus's ``size`` documents have it, and of the first results."""
        over = "" if self.exact else "over "
        return (
            f"“{self.term.text}”: in {over}{self.documents:,} of {size:,} documents, "
            f"in {self.top} of the first {self.shown} results"
        )


YEAR = "year"  # The one stored field that has an order; it has a column of its own
ASPECT = "has.aspect"
"""The field of a filter for documents with a sentence of an aspect: ``has.aspect=method``."""
DATE = "has.date"  # For documents that state or imply a date: `has.date>=2010-05`
PLACE = "has.place"  # For documents that name a place: `has.place=FR|JP`
AMOUNT = "has.amount."
"""For documents with an amount in the unit that follows: ``has.amount.USD>=100``."""
NUMBER = "number"  # The unit of an amount without one, in a filter
SELECTION = "in.selection"
"""The field of a selection, ``in.selection=KEY``; a key begins with its size."""


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """A country, or a region of one, that documents name."""

    code: str  # ISO 3166, as `Fact` has it
    name: str  # in English; the code where no name is known
    at: tuple[float, float] | None  # latitude, longitude of most of its people; None: unknown
    documents: int  # that name it


@dataclass(frozen=True, slots=True)
class AmountCount:
    """Amounts in one unit."""

    unit: str  # as a filter has it: "USD", "kg", `NUMBER` ...
    documents: int  # with such an amount
    quantiles: tuple[float, float, float, float, float]  # minimum, quartiles, maximum


@dataclass(frozen=True, slots=True)
class Facets:
    """How many documents have what; each facet among those that meet the filters on all others."""

    documents: int  # that meet all filters
    total: int  # of the corpus
    years: Mapping[int, int]  # year -> documents, ascending; empty where the corpus has none
    undated: int  # documents without a year
    # name -> values, most frequent and filtered ones; most dividing fields first
    fields: Mapping[str, FieldValues]
    aspects: tuple[tuple[Aspect, int], ...]  # with documents that have a sentence of it
    aspects_of: int  # the documents among which aspects were counted
    dates: Mapping[int, int]  # year -> documents that state or imply a date in it, ascending
    places: tuple[PlaceCount, ...]  # most frequent first
    land: tuple[tuple[int, int], ...]  # south-western corners of 2-degree squares with cities
    amounts: tuple[AmountCount, ...]  # by unit, most frequent first
    seconds: float  # that counting took


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

    Of several values between ``|`` one is enough; a ``|``, ``;`` or backslash of a value, and also
    ``<``, ``>`` and ``=`` of a field's name, has a backslash before it where a filter is written.
    Values are compared as text, as a whole; those of ``year`` as numbers. Fields that begin with
    ``has.`` are found in the documents; ``in.selection`` names documents that somebody selected.

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
        """For people: ``venue = ACL or EMNLP``, ``has USD ≥ 100``, ``within 312 selected
        documents``."""
        if self.field == SELECTION and self.op == "=":
            sizes = " or ".join(map(_size_of, self.values))
            return f"within {sizes} selected document{'s' * (sizes != '1')}"
        sign = {"=": "=", ">=": "≥", "<=": "≤"}[self.op]
        field = self.field
        if field in (ASPECT, DATE, PLACE, SELECTION) or field.startswith(AMOUNT):
            field = field.replace(AMOUNT, "has ").replace(".", " ")
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
    focus: tuple[int, ...] = ()  # indices of seed sentences, in place of those of the aspect
    reading: tuple[str, ...] = ()  # correction: signed aspects (`+method`), `Term`s, or `WHOLE`
    system: str = "aspect"
    steer: float = 0.5  # 0 (whole document) to 1 (aspect only)
    k: int = PAGE_SIZE
    offset: int = 0
    symmetric: bool = False  # late interaction scores both directions
    filters: tuple[Filter, ...] = ()
    # doc_ids that the ranking learns from: further seeds, and documents to keep away from
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pair of passages that explains a rank."""

    seed_span: Span
    doc_span: Span
    seed_text: str
    doc_text: str
    score: float  # cosine similarity of the two passages in context, -1 to 1
    seed_marks: tuple[Span, ...] = ()  # spans of the aligned words
    doc_marks: tuple[Span, ...] = ()
    seed_role: int | None = None
    role: int | None = None  # index of the aspect that the document's passage serves, or None


@dataclass(frozen=True, slots=True)
class Result:
    """One document of a ranking, with its evidence."""

    rank: int  # 1 is best
    document: Document
    score: float
    rank_change: int | None  # places gained or lost against no aspect; None: not within its depth
    evidence: tuple[Evidence, ...]
    explanation: str | None = None
    facts: tuple[FactMatch, ...] = ()  # answers to the query's facts
    scenario: ScenarioMatch | None = None  # nearest to the query
    terms: tuple[TermPassage, ...] = ()  # how well it has each term of the query
    strength: str = ""  # of its likeness in what was asked for: weak, moderate or strong

    @property
    def doc_id(self) -> str:
        return self.document.doc_id


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that words were looked up for, and where they were found."""

    document: Document
    where: Literal["title", "text", "meaning"]  # all words or id; BM25; near
    snippet: str = ""  # best sentence; "" where the title says it
    title_marks: tuple[Span, ...] = ()  # of the words, in title and snippet
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
    instruction_following: float | None  # share of the top 20 not found without an aspect
    weights: tuple[float, ...]  # how the aspect was read, one weight per seed sentence
    notes: tuple[str, ...] = ()  # for readers of this ranking
    understood: tuple[tuple[str, float], ...] = ()  # (aspect name, weight) as read, sum to 1
    avoided: tuple[str, ...] = ()  # names of the aspects that its wording rules out
    reading: tuple[str, ...] = ()  # the aspects asked for and ruled out, as `reading` has them
    sentences: tuple[int, ...] = ()  # picked or quoted ones of the seed
    terms: tuple[TermUse, ...] = ()  # how far the ranking obeys each term of the query

    def to_frame(self) -> pd.DataFrame:
        """One row per result: ``rank``, ``doc_id``, ``title``, ``year``, ``score``,
        ``rank_change``, and of the strongest evidence ``seed_passage``, ``passage``,
        ``similarity``; integers are ``Int64``."""
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


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document of a reading list, with the corpus it comes from and the reader's note."""

    corpus: str
    document: Document
    note: str = ""
    tags: tuple[str, ...] = ()
    query: Query | None = None  # the search that it was found by
    evidence: tuple[str, str] | None = None  # passages of the seed and of the document


LIST_ORDERS = ("hand", "year", "title")  # Orders of a reading list


@dataclass(frozen=True, slots=True)
class ReadingListInfo:
    """A reading list in the list of lists."""

    list_id: str
    name: str
    documents: int  # how many
    tags: tuple[str, ...]  # of its documents, in alphabetical order
    owner: str  # "" for one made without login
    time: datetime  # of the last change, in UTC
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class TrailInfo:
    """A trail in the list of trails."""

    trail_id: str
    name: str  # "" until somebody gives one
    seeds: tuple[str, ...]  # titles of its seeds in order, each once
    searches: int  # how many
    kept: int  # number of documents in its reading list
    time: datetime  # of its last search, in UTC


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search under a name; ``link`` is the query part of its address on Explore."""

    name: str
    link: str


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A form in which a trail is exported."""

    label: str  # what people read
    suffix: str  # of the file
    mime: str = "text/plain"  # media type of the file


CITATION_STYLES = {
    "apa": "APA, 7th edition",
    "chicago": "Chicago, author-date",
    "ieee": "IEEE",
    "acm": "ACM",
    "harvard": "Harvard (Cite Them Right)",
    "mla": "MLA, 9th edition",
    "nature": "Nature",
}
EXPORT_FORMATS = {
    "bibtex": ExportFormat("BibTeX", "bib", "application/x-bibtex"),
    "ris": ExportFormat("RIS", "ris", "application/x-research-info-systems"),
    "csl-json": ExportFormat("CSL-JSON", "json", "application/json"),
    **{key: ExportFormat(f"Citations: {name}", "txt") for key, name in CITATION_STYLES.items()},
    **{
        f"{key}-html": ExportFormat(f"Citations with italics: {name}", "html", "text/html")
        for key, name in CITATION_STYLES.items()
    },
    "markdown": ExportFormat("Markdown, with the searches", "md", "text/markdown"),
    "jsonl": ExportFormat("JSONL, with the searches", "jsonl", "application/jsonl"),
}
"""Name, as on the command line -> what it is."""
DOCUMENT_FORMATS = (
    "jsonl",
    "csv",
    *(name for name in EXPORT_FORMATS if name not in ("jsonl", "markdown")),
)
"""Forms in which documents of a corpus are exported."""
