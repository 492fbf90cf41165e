"""Step 4: a cluster becomes a query that says what its documents share, not how they say it."""

from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from engine.build.build_prompts import Verbalised, verbalising
from engine.build.build_records import StoredQuery, queries_from_json, queries_to_json, query_basis
from engine.build.labelling import Made, Work, counted
from engine.corpora.opened import OpenCorpus
from engine.llm.client import Client
from engine.llm.messages import Prompt
from engine.measures.rouge import UnicodeWords
from engine.types.builds import Cluster, Overlap
from engine.types.documents import Document
from storage.builds import StepRow

if TYPE_CHECKING:
    from nltk.stem.snowball import EnglishStemmer  # type: ignore[import-untyped]


COMMON = 0.2
"""A word in more than this share of the corpus's documents tells none of them: to search for it
leaves a fifth of the corpus. A word in less of a query's own documents is there by chance, ..."""
RARE = 0.005
"""... unless hardly any other document has it: then it is a detail that tells a single one."""
SAMPLE = 2000
"""Documents, evenly spread over the corpus, in which words are counted."""
MOST_OPEN = 2
_tokenize = UnicodeWords().tokenize


class Vocabulary:
    """The words of one version of a corpus, read on first use. Safe to share between threads."""

    def __init__(self, corpus: OpenCorpus) -> None:
        self._corpus = corpus
        self._counted: Mapping[str, float] | None = None
        self._lock = Lock()

    @property
    def _shares(self) -> Mapping[str, float]:
        """Stem -> share of the corpus's documents that have it."""
        with self._lock:
            if self._counted is None:
                doc_ids = self._corpus.doc_ids
                sampled = doc_ids[:: max(1, -(-len(doc_ids) // SAMPLE))]
                counts = self._count(sampled)
                self._counted = {stem: count / len(sampled) for stem, count in counts.items()}
            return self._counted

    def _count(self, doc_ids: Sequence[str]) -> Counter[str]:
        """Stem -> how many of these documents have it."""
        counts: Counter[str] = Counter()
        known = [doc_id for doc_id in doc_ids if doc_id in self._corpus.row_of]
        for document in self._corpus.documents(known):
            counts.update(set(stems(_text(document)).values()))
        return counts

    def _tells(self, stem: str, count: int, documents: int) -> bool:
        """Whether a word that ``count`` of a query's documents have gives them away."""
        share = self._shares.get(stem, 0.0)
        return share <= COMMON and (count >= COMMON * documents or (count > 0 and share <= RARE))

    def overlap(self, query: str, doc_ids: Sequence[str]) -> Overlap:
        """How far a query gives these documents away; 0 for one without content words."""
        words, counts = stems(query), self._count(doc_ids)
        shared = {
            word: stem
            for word, stem in words.items()
            if counts[stem] and self._tells(stem, counts[stem], len(doc_ids))
        }
        different = set(words.values())
        share = len(set(shared.values())) / len(different) if different else 0.0
        return Overlap(share, tuple(shared))

    def telling(self, doc_ids: Sequence[str], most: int) -> list[str]:
        """Words that give these documents away, each as the shortest of its forms: first those
        that many of them have and few others."""
        counts: Counter[str] = Counter()
        shown: dict[str, str] = {}
        for document in self._corpus.documents([i for i in doc_ids if i in self._corpus.row_of]):
            found = stems(_text(document))
            counts.update(set(found.values()))
            for word, stem in found.items():
                shown[stem] = min(shown.get(stem, word), word, key=len)
        telling = [s for s, c in counts.items() if self._tells(s, c, len(doc_ids))]
        weights = {s: counts[s] * -math.log(self._shares.get(s, 0.0) + RARE) for s in telling}
        best = sorted(telling, key=lambda stem: -weights[stem])
        return [shown[stem] for stem in best[:most]]


class Vocabularies:
    """The vocabularies of corpora, a few of them kept."""

    def __init__(self) -> None:
        self._kept: dict[str, Vocabulary] = {}

    def of(self, corpus: OpenCorpus) -> Vocabulary:
        """The vocabulary of a corpus as it is now."""
        found = self._kept.pop(corpus.identity, None) or Vocabulary(corpus)
        self._kept[corpus.identity] = found
        while len(self._kept) > MOST_OPEN:
            self._kept.pop(next(iter(self._kept)), None)
        return found


def _text(document: Document) -> str:
    return f"{document.title}\n{document.text}"


def stems(text: str) -> Mapping[str, str]:
    """Content words of a text -> their stems, in the order in which they come up.

    >>> stems("The questionnaires were mailed to households, by mail.")
    {'questionnaires': 'questionnair', 'mailed': 'mail', 'households': 'household', 'mail': 'mail'}
    """
    words = dict.fromkeys(_tokenize(text))
    return {
        w: _stem(w) for w in words if w not in _stop_words() and not (len(w) < 2 and w.isascii())
    }


def different(words: Iterable[str]) -> list[str]:
    """Words of different stems, the first of each.

    >>> different(["mailed", "mails", "survey"])
    ['mailed', 'survey']
    """
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(_stem(word), word)
    return list(found.values())


@functools.lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word)) if word.isascii() else word


@functools.cache
def _stemmer() -> EnglishStemmer:
    from nltk.stem.snowball import EnglishStemmer  # over a second

    return EnglishStemmer()


@functools.cache
def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


BATCH = 16
"""Clusters that are worded together; what a kill can cost at most."""
TRIES = 3
MOST_AVOIDED = 40
"""Words that a model is told to avoid: those that most of the documents have."""


@dataclass(slots=True)
class _Draft:
    """A query in the making: the best try so far, and all words to avoid."""

    cluster: Cluster
    avoid: list[str]
    text: str = ""
    overlap: Overlap = field(default_factory=lambda: Overlap(1.0))
    tries: int = 0

    def hear(self, text: str, overlap: Overlap) -> None:
        """Take in a try; the words it gave away are the first to avoid next time."""
        if not self.text or overlap.share < self.overlap.share:
            self.text, self.overlap = text, overlap
        self.avoid = different([*overlap.words, *self.avoid])


async def verbalise(work: Work, client: Client, vocabulary: Vocabulary) -> Made:
    """Word what has no query yet or has changed since; a person's wording is never replaced."""
    store, lens = work.store, work.lens
    active = store.active(lens)
    pending, worded = store.unworded(lens), store.wordings(lens)
    by_people = [c for c in pending if c.key in worded and worded[c.key].maker == "person"]
    asked = [c for c in pending if c not in by_people]
    done = len(active) - len(pending)
    work.say(done, len(active))
    if by_people:
        kept = await asyncio.to_thread(_measured_anew, work, worded, by_people, vocabulary)
        await _keep(work, kept)
    made = failed = 0
    labels = store.shown_labels(lens)
    for start in range(0, len(asked), BATCH):
        if work.stopped:
            break
        group = asked[start : start + BATCH]
        drafts = await _worded(work, client, group, labels, vocabulary)
        # What was stopped between two tries is taken up again: its answers are in the ledger.
        ready = [d for d in drafts if d.text and (not work.stopped or _is_good(work, d))]
        found = [_stored(work, draft) for draft in ready]
        await _keep(work, found)
        made += len(found)
        failed += 0 if work.stopped else len(group) - len(found)
        work.say(done + len(by_people) + made + failed, len(active))
    if not work.stopped:
        await _keep(work, [])  # which says when it ran, even where nothing was left to do
    return Made(made, failed, len(asked) - made - failed, _notes(work, failed))


async def _worded(
    work: Work,
    client: Client,
    clusters: Sequence[Cluster],
    labels: Mapping[str, str],
    vocabulary: Vocabulary,
) -> list[_Draft]:
    """The best of up to three tries for each cluster."""

    def begin() -> list[_Draft]:
        return [_Draft(c, vocabulary.telling(c.doc_ids, MOST_AVOIDED)) for c in clusters]

    def question(draft: _Draft) -> Prompt[Verbalised]:
        counts = counted(labels, draft.cluster.doc_ids)
        return verbalising(
            work.lens, draft.cluster.name, counts, draft.avoid, again=draft.tries > 0
        )

    def hear(draft: _Draft, answer: Verbalised) -> None:
        draft.hear(answer.query, vocabulary.overlap(answer.query, draft.cluster.doc_ids))

    drafts = await asyncio.to_thread(begin)
    for _ in range(TRIES):
        again = [draft for draft in drafts if not _is_good(work, draft)]
        if not again or work.stopped:
            break
        answers = await client.ask([question(draft) for draft in again])
        for draft, answer in zip(again, answers, strict=True):
            draft.tries += 1
            if answer is not None:
                await asyncio.to_thread(hear, draft, answer)
    return drafts


def _is_good(work: Work, draft: _Draft) -> bool:
    return bool(draft.text) and draft.overlap.share <= work.lens.overlap


def _stored(work: Work, draft: _Draft) -> StoredQuery:
    return StoredQuery(
        key=draft.cluster.key,
        text=draft.text,
        doc_ids=draft.cluster.doc_ids,
        share=draft.overlap.share,
        words=draft.overlap.words,
        basis=query_basis(work.lens, draft.cluster),
        tries=draft.tries,
    )


def _measured_anew(
    work: Work,
    worded: Mapping[str, StoredQuery],
    clusters: Sequence[Cluster],
    vocabulary: Vocabulary,
) -> list[StoredQuery]:
    """People's wordings for clusters that changed: the text stays, its overlap need not."""
    found = []
    for cluster in clusters:
        old = worded[cluster.key]
        overlap = vocabulary.overlap(old.text, cluster.doc_ids)
        found.append(
            replace(
                old,
                doc_ids=cluster.doc_ids,
                share=overlap.share,
                words=overlap.words,
                basis=query_basis(work.lens, cluster),
            )
        )
    return found


async def _keep(work: Work, found: Sequence[StoredQuery]) -> None:
    """Add queries to what there is by now: people may have worded some meanwhile."""

    def added(row: StepRow | None) -> StepRow:
        queries = {} if row is None else queries_from_json(row.content)
        for query in found:
            there = queries.get(query.key)
            mine = there is not None and there.maker == "person" and there.basis == query.basis
            if not mine:
                was_dropped = there is not None and there.dropped
                queries[query.key] = replace(query, dropped=was_dropped)
        return work.row(queries_to_json(queries), "")  # each query has a basis of its own

    lens = work.lens
    await asyncio.to_thread(work.store.rows.change, lens.corpus, lens.name, "verbalise", added)


def _notes(work: Work, failed: int) -> tuple[str, ...]:
    notes = []
    over = [q for q in work.store.asked(work.lens) if q.overlap.share > work.lens.overlap]
    if over:
        which = f"{len(over):,} queries share" if len(over) > 1 else "1 query shares"
        notes.append(
            f"{which} more than {work.lens.overlap:.0%} of their words with their documents; the "
            "best of the tries is kept. Word them anew, or drop them."
        )
    if failed:
        which = f"{failed:,} clusters have" if failed > 1 else "1 cluster has"
        notes.append(f"{which} no usable answer and will be asked about again.")
    return tuple(notes)
