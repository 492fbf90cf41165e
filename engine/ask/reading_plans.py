"""What a reader test asks under which conditions, before any model is asked.

Hard negatives look like the answer's documents and do not hold it. ImpliRet, section 4: they come
from the pool of the gold document, whose documents share its topic and style. A collection says
which pool that is; where it does not, they are what retrievers confuse with the gold document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.ask.passages import need_scenarios, scenarios_of
from engine.ask.reading_prompts import is_cut, reading
from engine.errors import BadInputError
from engine.llm.judges import document_text
from engine.llm.messages import Prompt
from engine.rerank.candidates import merged, shuffled
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, check_documents, sampled, usable_topics
from engine.types.callbacks import tell_nobody
from engine.types.evaluations import RELEVANT, Collection, Topic
from engine.types.searches import Filter

POOL_FIELD = "tuple_set_id"
"""The field by which documents that were made together name their pool."""
CONFUSED_BY = ("bm25", "dense")
"""Systems whose best documents are taken where a collection has no pools."""
MOST_CONFUSED = 1_000


@dataclass(slots=True)
class Negatives:
    """Finds hard negatives: a sample of the pool, or the hardest first where there is none."""

    searcher: Searcher
    collection: Collection
    source: str = ""  # in words, where those found last came from
    _found: dict[str, list[str]] = field(default_factory=dict)

    def gold(self, topic: Topic) -> list[str]:
        """Relevant documents that the corpus holds, highest grades first."""
        grades = self.collection.qrels.get(topic.query_id, {})
        known = self.searcher.corpus.row_of
        relevant = [d for d, grade in grades.items() if grade >= RELEVANT and d in known]
        return sorted(relevant, key=lambda d: (-grades[d], d))

    def of(self, topic: Topic, count: int) -> list[str]:
        """``count`` documents that are not relevant; fewer where the pool has no more.

        The same every time; more of them hold the fewer.
        """
        if count < 1:
            return []
        if topic.query_id not in self._found:
            self._found[topic.query_id] = self._in_order(topic)
        return self._found[topic.query_id][:count]

    def _in_order(self, topic: Topic) -> list[str]:
        """All of them, in the order in which they are taken."""
        corpus = self.searcher.corpus
        hardest_first = False
        if topic.pool is not None:
            pool, self.source = list(topic.pool), "the query's judged pool"
        elif pool := self._made_together(topic):
            self.source = f"the gold document's pool ({POOL_FIELD})"
        else:
            ranker = Ranker(self.searcher, [topic], None)
            rankings = [ranker.run(name).rankings[0].doc_ids for name in CONFUSED_BY]
            pool, hardest_first = merged(rankings, MOST_CONFUSED), True
            self.source = f"what {' and '.join(CONFUSED_BY)} rank highest"
        grades = self.collection.qrels.get(topic.query_id, {})
        left_out = {d for d, grade in grades.items() if grade >= RELEVANT} | {topic.seed}
        wrong = [d for d in pool if d in corpus.row_of and d not in left_out]
        return wrong if hardest_first else list(shuffled(wrong, topic.query_id))

    def _made_together(self, topic: Topic) -> list[str]:
        corpus, gold = self.searcher.corpus, self.gold(topic)
        pool = str(corpus.document(gold[0]).metadata.get(POOL_FIELD, "")) if gold else ""
        if not pool:
            return []
        allowed = corpus.scope([Filter(POOL_FIELD, "=", pool)]).allowed
        return corpus.doc_ids.at(allowed.nonzero()[0])


SIZES = (1, 10, 30)  # Documents given, as in ImpliRet's table 3
MOST_DOCUMENTS = 200
GOLD = ""
"""In place of a system: the gold document among hard negatives."""


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """What to test.

    Attributes:
        sizes: documents given, one condition each.
        systems: whose best documents are read as well; every size of each.
        scenarios: every condition once more, with the documents' scenarios.
        grade: a judge grades the answers.
        sample: queries to ask; see :func:`engine.search.topics.sampled`.
    """

    sizes: tuple[int, ...] = SIZES
    systems: tuple[str, ...] = ()
    scenarios: bool = False
    grade: bool = False
    sample: int | None = None

    def __post_init__(self) -> None:
        wrong = [size for size in self.sizes if not 1 <= size <= MOST_DOCUMENTS]
        if wrong or not self.sizes:
            raise BadInputError(
                f"The numbers of documents are {', '.join(map(str, self.sizes)) or 'missing'}.",
                f"Give numbers from 1 to {MOST_DOCUMENTS}, like 1,10,30.",
            )
        for name in self.systems:
            find_system(name)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a reader is given: ``system`` is :data:`GOLD` or what chose the documents."""

    system: str
    k: int
    scenarios: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One query under one condition, with its documents in the order in which they are read."""

    query_id: str
    question: str
    reference: str
    doc_ids: tuple[str, ...]
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreparedReading:
    """All that is known before the model is asked."""

    searcher: Searcher
    collection: Collection
    plan: ReadingPlan
    given: Mapping[Condition, Sequence[Asked]]
    without_answer: int
    negatives: str

    @property
    def queries(self) -> int:
        return len(next(iter(self.given.values())))

    def prompts(self, condition: Condition, every: int = 1) -> list[Prompt[str]]:
        """The questions of a condition, or of every n-th query."""
        asked = self.given[condition][::every]
        texts = self._texts(asked)
        notes = scenarios_of(self.searcher.corpus, sorted(texts)) if condition.scenarios else {}
        prompts = []
        for one in asked:
            beside = [notes.get(d, ()) for d in one.doc_ids] if condition.scenarios else []
            prompts.append(reading(one.question, [texts[d] for d in one.doc_ids], beside))
        return prompts

    def cut(self, condition: Condition) -> int:
        """Documents of which a reader sees the beginning only, over all queries."""
        asked = self.given[condition]
        cut = {d for d, text in self._texts(asked).items() if is_cut(text)}
        return sum(d in cut for one in asked for d in one.doc_ids)

    def _texts(self, asked: Sequence[Asked]) -> dict[str, str]:
        doc_ids = sorted({d for one in asked for d in one.doc_ids})
        return {d.doc_id: document_text(d) for d in self.searcher.corpus.documents(doc_ids)}


def prepare(
    searcher: Searcher,
    collection: Collection,
    plan: ReadingPlan,
    on_query: Callable[[], None] = tell_nobody,
) -> PreparedReading:
    """Choose the documents of every query under every condition."""
    readable = [t for t in collection.topics if t.answer and t.text]
    if not readable:
        raise BadInputError(
            f"No query of '{collection.name}' has both a question and a reference answer.",
            "Take a collection with answers, ImpliRet say, or add an 'answer' to the rows of "
            "topics.jsonl.",
        )
    topics = usable_topics(sampled(readable, plan.sample), searcher)
    check_documents(collection, searcher)
    if plan.scenarios:
        need_scenarios(searcher.corpus)
    negatives = Negatives(searcher, collection)
    topics = [t for t in topics if negatives.gold(t)]
    if not topics:
        raise BadInputError(
            f"The corpus '{searcher.corpus.name}' holds no relevant document of these queries.",
            "Name the corpus that holds the collection's documents with --corpus.",
        )
    given: dict[Condition, Sequence[Asked]] = {}
    for system, k, chosen in _chosen(searcher, topics, plan, negatives, on_query):
        asked = [_asked(topic, chosen[topic.query_id], negatives) for topic in topics]
        for along in (False, True) if plan.scenarios else (False,):
            given[Condition(system, k, along)] = asked
    without = len(collection.topics) - len(readable)
    return PreparedReading(searcher, collection, plan, given, without, negatives.source)


def _chosen(
    searcher: Searcher,
    topics: Sequence[Topic],
    plan: ReadingPlan,
    negatives: Negatives,
    on_query: Callable[[], None],
) -> Iterator[tuple[str, int, dict[str, tuple[str, ...]]]]:
    """System, number of documents, and by query_id which documents these are."""
    sizes = sorted(set(plan.sizes))
    for k in sizes:
        yield GOLD, k, {t.query_id: _among_negatives(t, k, negatives) for t in topics}
    ranker = Ranker(searcher, topics, None)
    for system in dict.fromkeys(plan.systems):
        rankings = ranker.run(system, on_query).rankings
        for k in sizes:
            yield system, k, {r.query_id: r.doc_ids[:k] for r in rankings}


def _among_negatives(topic: Topic, k: int, negatives: Negatives) -> tuple[str, ...]:
    gold = negatives.gold(topic)[:k]
    doc_ids = [*gold, *negatives.of(topic, k - len(gold))]
    # An order that only the ids decide, another one for every number of documents.
    return shuffled(doc_ids, f"{topic.query_id} of {len(doc_ids)}")


def _asked(topic: Topic, doc_ids: tuple[str, ...], negatives: Negatives) -> Asked:
    relevant = set(negatives.gold(topic))
    gold = tuple(d for d in doc_ids if d in relevant)
    return Asked(topic.query_id, topic.text or "", topic.answer or "", doc_ids, gold)
