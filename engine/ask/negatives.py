"""Hard negatives: documents that look like the answer's and do not hold it.

ImpliRet, section 4: negatives come from the pool of the gold document, whose documents share its
topic and style. A collection says which pool that is; where it does not, what retrievers confuse
with the gold document stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.rerank.candidates import merged, shuffled
from engine.search.searcher import Searcher
from engine.search.topics import Ranker
from engine.types.evaluations import RELEVANT, Collection, Topic
from engine.types.searches import Filter

POOL_FIELD = "tuple_set_id"
"""The field by which documents that were made together name their pool."""
CONFUSED_BY = ("bm25", "dense")
"""Systems whose best documents are taken where a collection has no pools."""
MOST_CONFUSED = 1_000


@dataclass(slots=True)
class Negatives:
    """Finds hard negatives: a sample of the pool, or the hardest first where there is none.

    Attributes:
        source: in words, where those asked for last came from.
    """

    searcher: Searcher
    collection: Collection
    source: str = ""
    _pools: dict[str, list[str]] = field(default_factory=dict)
    _mistaken: dict[str, list[str]] = field(default_factory=dict)

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
        if topic.pool is not None:
            self.source = "the query's judged pool"
            return self._sample(topic, topic.pool, count)
        if pool := self._made_together(topic):
            self.source = f"the gold document's pool ({POOL_FIELD})"
            return self._sample(topic, pool, count)
        self.source = f"what {' and '.join(CONFUSED_BY)} rank highest"
        return self._wrong(topic, self._confused(topic))[:count]

    def _sample(self, topic: Topic, pool: Sequence[str], count: int) -> list[str]:
        return list(shuffled(self._wrong(topic, pool), topic.query_id))[:count]

    def _wrong(self, topic: Topic, doc_ids: Sequence[str]) -> list[str]:
        """Those of them that the corpus has and that are not relevant."""
        grades = self.collection.qrels.get(topic.query_id, {})
        known = self.searcher.corpus.row_of
        left_out = {d for d, grade in grades.items() if grade >= RELEVANT} | {topic.seed}
        return [d for d in doc_ids if d in known and d not in left_out]

    def order(self, doc_ids: Sequence[str], topic: Topic) -> tuple[str, ...]:
        """An order that only the ids decide, another one for every number of documents."""
        return shuffled(doc_ids, f"{topic.query_id} of {len(doc_ids)}")

    def _made_together(self, topic: Topic) -> list[str]:
        gold = next(iter(self.gold(topic)), "")
        if gold not in self._pools:
            pool = self._pool_of(gold) if gold else []
            self._pools |= dict.fromkeys([gold, *pool], pool)  # it is that of its members too
        return self._pools[gold]

    def _pool_of(self, doc_id: str) -> list[str]:
        corpus = self.searcher.corpus
        pool = str(corpus.document(doc_id).metadata.get(POOL_FIELD, ""))
        if not pool:
            return []
        allowed = corpus.scope([Filter(POOL_FIELD, "=", pool)]).allowed
        return corpus.doc_ids.at(allowed.nonzero()[0])

    def _confused(self, topic: Topic) -> list[str]:
        if topic.query_id not in self._mistaken:
            ranker = Ranker(self.searcher, [topic], None)
            rankings = [ranker.run(name).rankings[0].doc_ids for name in CONFUSED_BY]
            self._mistaken[topic.query_id] = merged(rankings, MOST_CONFUSED)
        return self._mistaken[topic.query_id]
