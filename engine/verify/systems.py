"""Retrieval that a language model helps with: one rewording, or several hops with notes.

After OBLIQ-Bench, section 5. Both search with the dense vectors of the corpus; where the model
gives no answer, the seed's own vector stands in and the question counts as unanswered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.errors import UnknownNameError
from engine.llm.client import Client
from engine.llm.criterion import Criterion
from engine.llm.judges import document_text
from engine.llm.tasks import Notes, noting, rewording
from engine.numeric import FloatArray
from engine.retrieve.base import Request, ScoredDocument, VectorPart, scored_documents
from engine.searching import Searcher

HOPS = 4
PER_HOP = 25


@dataclass(frozen=True, slots=True)
class Found:
    """A ranking, and how many of the questions on the way to it led nowhere.

    Attributes:
        queries: what was searched for instead of the seed, in order.
        notes: what the model noted, in order.
    """

    ranking: list[ScoredDocument]
    unanswered: int = 0
    queries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


ModelSystem = Callable[[Client, Searcher, Request, Criterion], Awaitable[Found]]


async def rewrite(
    client: Client, searcher: Searcher, request: Request, criterion: Criterion
) -> Found:
    """One rewording of the query, then dense retrieval with it."""
    [wordings] = await client.ask([rewording(question(criterion), 1)])
    if not wordings:
        return Found(_dense(searcher, request, request.seed.vector), unanswered=1)
    vector = searcher.encode_text(wordings[0]).vector
    return Found(_dense(searcher, request, vector), queries=(wordings[0],))


async def multi_hop(
    client: Client, searcher: Searcher, request: Request, criterion: Criterion
) -> Found:
    """Four hops of 25 documents, each searched for with what the notes of the last one ask.

    What the model noted something about comes first, in the order of the hops; then what it
    read besides; then the rest, as the seed alone ranks it. Where it asks for nothing, the next
    hop reads on down the ranking of the last query.
    """
    hops = _Hops({}, {})
    own = ranking = _dense(searcher, request, request.seed.vector)
    asked: list[str] = []
    for _ in range(HOPS):
        batch = [s.doc_id for s in ranking if s.doc_id not in hops.read][:PER_HOP]
        if not batch or client.stopped:
            break
        documents = {d.doc_id: document_text(d) for d in searcher.corpus.documents(batch)}
        [notes] = await client.ask([noting(question(criterion), hops.notes, documents)])
        wanted = hops.keep(documents, notes)
        if wanted:
            asked.append(wanted)
            ranking = _dense(searcher, request, searcher.encode_text(wanted).vector)
    order = dict.fromkeys([*hops.selected, *hops.read, *(s.doc_id for s in own)])
    scores = map(float, range(len(order), 0, -1))
    return Found(scored_documents(order, scores), hops.unanswered, tuple(asked), tuple(hops.notes))


MODEL_SYSTEMS: Mapping[str, ModelSystem] = {"rewrite": rewrite, "multi-hop": multi_hop}
"""Like :data:`engine.retrieve.SYSTEMS`, for those that cannot rank without an endpoint."""


def find_model_system(name: str) -> ModelSystem:
    """The system called ``name``, or UnknownNameError that lists them."""
    if name not in MODEL_SYSTEMS:
        raise UnknownNameError(
            f"No system with a language model is called '{name}'.",
            f"Use one of {', '.join(MODEL_SYSTEMS)}.",
        )
    return MODEL_SYSTEMS[name]


def question(criterion: Criterion) -> str:
    """The criterion as a search in words."""
    wish = criterion.instruction or "Find documents that are like this one as a whole."
    if criterion.aspect:
        wish += f" ({criterion.aspect}: {criterion.definition})"
    return f"{wish}\nThe document to start from:\n{criterion.seed}"


@dataclass(slots=True)
class _Hops:
    """What the hops so far have brought; both mappings are used as ordered sets."""

    read: dict[str, None]
    selected: dict[str, None]
    notes: list[str] = field(default_factory=list)
    unanswered: int = 0

    def keep(self, documents: Mapping[str, str], notes: Notes | None) -> str:
        """Add a hop; returns what to search for next, "" where the model does not say."""
        self.read.update(dict.fromkeys(documents))
        if notes is None:
            self.unanswered += 1
            return ""
        self.selected.update(dict.fromkeys(note.doc_id for note in notes.notes))
        self.notes += [note.text for note in notes.notes]
        return notes.next_query


def _dense(searcher: Searcher, request: Request, vector: FloatArray) -> list[ScoredDocument]:
    plain = replace(request, focus=None, instructed=None)
    return searcher.corpus.by_vectors([VectorPart("vector", vector, 1.0)], plain)


def names_of(systems: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of systems that rank by themselves, and of those that need a model."""
    own = [name for name in systems if name not in MODEL_SYSTEMS]
    return own, [name for name in systems if name in MODEL_SYSTEMS]
