"""Aspect-conditioned retrieval: the whole document against one of its aspects, set by steer."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config import ASSETS
from engine.corpora.contracts import (
    Focus,
    RankedDocuments,
    Request,
    Rows,
    Seed,
    TokenRows,
    VectorPart,
    passage_direction,
    token_roles,
    without_context,
)
from engine.corpora.schema import aspect_column
from engine.numeric import FloatArray, distinct, standardised, unit
from engine.search.systems.baselines import Corpus, query_words, words_in_focus
from engine.search.systems.late_interaction import (
    MOST_TOKENS,
    aspect_similarity,
    idf_similarity,
    token_cosines,
)
from engine.types.searches import PAGE_SIZE

WEIGHTS = ASSETS / "aspect" / "weights.json"
CANDIDATES, IN_ASPECT = 60, 40
"""Documents that the document's vector, and each of the aspect's vector and words, retrieve to be
scored by all signals; the rest follow in the order of their vectors. Of the documents with a
demo seed's method (problem, result), 0.69 are among them, with 60 by either vector 0.58."""
CONVEXITY = 0.6
NEIGHBOURS = 10
TEMPERATURE = 0.05
NEIGHBOUR_SHARE = 0.35
"""What the scores of a document's neighbours count for, from steer 1/3 on; below, in proportion.

Measured on CSFCube's open half at steer 0.5 (``tools/fit/aspect.py``)."""
BLOCK = 512  # Documents whose neighbours are looked for together
TELLING = 0.8
"""Idf from which a token is compared: half the pairs, and nDCG@20 and p-MRR on CSFCube's open
half differ by at most 0.005."""
GAP = 1e-6  # Score that sets the rest apart: an equal one would be a tie, and ties go by doc_id


class Neighbours(NamedTuple):
    """The candidates most alike to each candidate in the aspect, by which its score is smoothed."""

    rows: Rows  # (n, k) positions among the candidates
    weights: FloatArray  # (n, k) softmax of the cosines; 0 for a document without the aspect


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals (n,) of n candidates; higher is more alike."""

    whole: Mapping[str, FloatArray]  # of the whole document, independent of the aspect
    aspect: Mapping[str, FloatArray]  # empty without a focus
    neighbours: Neighbours | None = None  # None without a focus


@functools.lru_cache(maxsize=1)
def fitted_weights() -> dict[str, dict[str, float]]:
    """Weights from ``tools/fit/aspect.py``: ``{"whole": {signal: weight}, "aspect": {...}}``,
    and ``"joined"``, the aspect's weight against the whole at steer 0.5."""
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {part: data[part] for part in ("whole", "aspect", "joined")}


def combined(signals: Mapping[str, FloatArray], weights: Mapping[str, float]) -> FloatArray:
    """The standardised weighted sum of standardised signals; those with positive weights made
    convex (:func:`convex`)."""
    parts = [
        weight * (convex(signals[name]) if weight > 0 else standardised(signals[name]))
        for name, weight in weights.items()
    ]
    return standardised(np.sum(parts, axis=0))


def convex(values: FloatArray) -> FloatArray:
    """Standardised ``exp(0.6 clip(z, -3, 4))``: high values count for more. Between 0.6 and 1
    nDCG@20 on CSFCube's open half changes little; 0 is no change."""
    return standardised(np.exp(CONVEXITY * np.clip(standardised(values), -3.0, 4.0)))


def joined(
    whole: FloatArray, aspect: FloatArray, steer: float, neighbours: Neighbours | None
) -> FloatArray:
    """Scores (n,) of whole and aspect at this steer, leaning on those of neighbours."""
    scores = standardised((1.0 - steer) * whole + steer * aspect)
    if neighbours is None:
        return scores
    share = NEIGHBOUR_SHARE * min(1.0, 3.0 * steer)
    known = neighbours.weights.sum(axis=1)
    around = (neighbours.weights * scores[neighbours.rows]).sum(axis=1)
    return np.asarray((1.0 - share * known) * scores + share * around, dtype=np.float32)


def find_neighbours(space: FloatArray) -> Neighbours | None:
    """Most alike candidates in the aspect, None for a single one; inner products of ``space``
    (n, d) are cosines. A document without the aspect, with zeros, has no neighbours."""
    count = min(NEIGHBOURS, len(space) - 1)
    if count < 1:
        return None
    rows, weights = [], []
    for start in range(0, len(space), BLOCK):
        block = space[start : start + BLOCK]
        cosines = block @ space.T
        own = np.arange(len(block))
        cosines[own, start + own] = -np.inf
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        closeness = np.take_along_axis(cosines, nearest, axis=1) / TEMPERATURE
        odds = np.exp(closeness - closeness.max(axis=1, keepdims=True))
        share = odds / odds.sum(axis=1, keepdims=True)
        rows.append(nearest)
        weights.append(np.where(block.any(axis=1, keepdims=True), share, np.float32(0.0)))
    return Neighbours(np.concatenate(rows), np.concatenate(weights))


class AspectSystem:
    """``(1 - steer) whole + steer aspect``, both standardised among the candidates.

    *whole*: token MaxSim in both directions, tokens weighted by idf, and BM25 of the whole seed.
    *aspect*: cosine of the seed's sentences in focus with the document's of the aspect; their token
    MaxSim, with less weight for seed tokens that its other sentences have too; BM25 of the
    sentences in focus; penalties for likeness to these sentences through other aspects, and to the
    seed's other aspects. The sum is smoothed over :class:`Neighbours`. All signals come from the
    index's one encoder pass. Steer 0 is the whole document, 1 the aspect alone; without an aspect
    steer is 0.

    Weights were fitted on few queries; ``assets/aspect/weights.json`` has the method and held-out
    results.
    """

    name = "aspect"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        steer = 0.0 if request.focus is None else request.steer * request.focus.strength
        if steer == 0.0:  # then the aspect retrieves nothing either
            request = replace(request, focus=None)
        focus = request.focus
        parts = _vector_parts(corpus, request)
        # Documents alike as a whole are among the candidates: the rest lean to the aspect.
        ranking = corpus.by_vectors(_weighed(parts, min(1.0, 2.0 * steer)), request)
        if not len(ranking):
            return ranking
        # The candidates are the same whatever the steer; a judged pool is scored whole.
        pooled = request.scope.pool is not None
        rows = ranking.rows if pooled else _preferred_candidates(corpus, request)
        signals = find_signals(corpus, request, rows)
        weights = fitted_weights()
        scores = combined(signals.whole, weights["whole"])
        if focus is not None:
            aspect = combined(signals.aspect, _emphasised(weights, focus))
            aspect *= weights["joined"]["aspect"]
            scores = joined(scores, aspect, steer, signals.neighbours)
        # The rest keep their order, below what was scored by all signals. Scores compare
        # within a ranking only, so it is the few best that are moved.
        rest = np.isin(ranking.rows, rows, invert=True)
        if rest.any():
            scores = scores + (float(ranking.scores[rest][0]) + GAP - float(scores.min()))
        best = corpus.ranked(rows, scores, len(rows))
        return RankedDocuments(
            ranking.corpus_ids,
            np.concatenate([best.rows, ranking.rows[rest]]),
            np.concatenate([best.scores, ranking.scores[rest]]),
        )[: request.most]


def _preferred_candidates(corpus: Corpus, request: Request) -> Rows:
    """As :func:`find_candidates`; only preferred documents where these fill a page."""
    preferred = request.preferred
    if preferred is None or not len(preferred):
        return find_candidates(corpus, request)
    rows = find_candidates(corpus, replace(request, scope=request.scope.among(preferred)))
    if len(rows) >= PAGE_SIZE:
        return rows
    return distinct([rows, find_candidates(corpus, request)])


def _vector_parts(corpus: Corpus, request: Request) -> list[VectorPart]:
    """The document's vector, then the aspects' with the weights of the focus."""
    seed, focus = request.seed, request.focus
    parts = [VectorPart("vector", seed.vector, 1.0)]
    if focus is not None:
        vector = focus_vector(seed, focus)
        parts += [
            VectorPart(aspect_column(key), vector, float(weight))
            for key, weight in zip(corpus.aspects, focus.aspect_weights, strict=True)
            if weight > 0
        ]
    return parts


def find_candidates(corpus: Corpus, request: Request) -> Rows:
    """Documents (n,) to be scored by all signals: alike by a vector, or by words in focus."""
    document, *aspects = _vector_parts(corpus, request)
    found = [corpus.candidates([document], request, CANDIDATES)]
    if aspects:
        found.append(corpus.candidates(aspects, request, IN_ASPECT))
        found.append(corpus.by_words(words_in_focus(request), request).rows[:IN_ASPECT])
    return distinct(found)


def _weighed(parts: Sequence[VectorPart], steer: float) -> list[VectorPart]:
    """Document and aspect vectors, weighted by steer."""
    document, *aspects = parts
    weighed = [document._replace(weight=1.0 - steer)]
    weighed += [part._replace(weight=steer * part.weight) for part in aspects]
    return [part for part in weighed if part.weight > 0]


def focus_vector(seed: Seed, focus: Focus) -> FloatArray:
    """(d,): the seed's sentences in focus, beside the seed as a whole."""
    return passage_direction(focus.sentence_weights, seed.sentences, seed.vector)


def find_signals(corpus: Corpus, request: Request, rows: Rows) -> Signals:
    """Every signal of the candidates ``rows``."""
    seed, focus = request.seed, request.focus
    document = seed.document
    words = query_words(document.title, document.text)
    tokens, aspect_tokens = _token_signals(corpus, request, rows)
    whole = {"tokens": tokens, "words": np.log1p(corpus.word_scores(words, rows))}
    if focus is None:
        return Signals(whole, {})
    vectors = corpus.vectors(rows, [aspect_column(key) for key in corpus.aspects])
    columns = [vectors[aspect_column(key)] for key in corpus.aspects]
    vector = focus_vector(seed, focus)
    cosines = np.stack([column @ vector for column in columns], axis=1)
    others = _others(focus)
    aspect = {
        "aspect": cosines @ focus.aspect_weights,
        "tokens": aspect_tokens,
        "words": np.log1p(corpus.word_scores(words_in_focus(request), rows)),
        "others": cosines @ others,
        "same": _same(seed, columns, others),
    }
    parts = zip(columns, focus.aspect_weights, strict=True)
    space = np.concatenate([np.sqrt(weight) * c for c, weight in parts if weight > 0], axis=1)
    return Signals(whole, aspect, find_neighbours(space))


def _same(seed: Seed, columns: Sequence[FloatArray], others: FloatArray) -> FloatArray:
    """Sum (n,) of cosines of ``columns`` (n, d) with the seed's own, times ``others`` (a,)."""
    roles = seed.roles(len(columns))
    own = without_context(unit(roles.T @ seed.sentences), np.tile(seed.vector, (len(columns), 1)))
    others = np.where(own.any(axis=1), others, 0.0)
    total = max(float(others.sum()), 1e-6)
    cosines = [
        weight / total * (column @ vector)
        for column, vector, weight in zip(columns, own, others, strict=True)
    ]
    return np.asarray(np.sum(cosines, axis=0), dtype=np.float32)


def told_by(idf: FloatArray) -> NDArray[np.bool_]:
    """Which tokens (t,) of a text are compared: the telling ones, of a long text the most so."""
    if np.count_nonzero(telling := idf >= TELLING) > MOST_TOKENS:
        telling[np.argsort(-idf, kind="stable")[MOST_TOKENS:]] = False
    return telling


def _told(found: TokenRows) -> TokenRows:
    """The compared tokens of a document, chosen by idf: a long text has many more."""
    told = told_by(found.idf)
    vectors, starts = found.vectors[told], found.starts[told]
    return TokenRows(vectors, starts, found.idf[told], found.roles[told])


def _token_signals(corpus: Corpus, request: Request, rows: Rows) -> tuple[FloatArray, FloatArray]:
    """Token MaxSim (n,) of the whole and of the aspect (zeros without a focus), cached."""
    seed, focus, places = request.seed, request.focus, rows.tolist()
    name = f"tokens {seed.document.doc_id} {hash((seed.document.title, seed.document.text))}"
    known, known_aspect = corpus.remembered(name), {}
    if focus is not None:
        read = (focus.sentence_weights.tobytes(), focus.aspect_weights.tobytes())
        known_aspect = corpus.remembered(f"{name} {hash(read)}")
    new = [
        row for row in places if row not in known or (focus is not None and row not in known_aspect)
    ]
    stored = [_told(found) for found in corpus.tokens(np.array(new, dtype=np.intp))]
    mine = told_by(seed.idf)
    tokens, seed_idf = seed.tokens[mine], seed.idf[mine]
    if focus is not None:
        weights = _seed_token_weights(request, focus)[mine]
        own = weights, seed_idf * _own_terms(tokens, weights)
    for group in token_cosines(tokens, [found.vectors for found in stored]):
        of_group = [new[i] for i in group.documents]
        idf = np.concatenate([stored[i].idf for i in group.documents])
        values = idf_similarity(group, seed_idf, idf)
        known.update(zip(of_group, values.tolist(), strict=True))
        if focus is not None:
            roles = np.concatenate([stored[i].roles for i in group.documents])
            values = aspect_similarity(group, own, (roles @ focus.aspect_weights, idf))
            known_aspect.update(zip(of_group, values.tolist(), strict=True))
    # A document without tokens is like nothing.
    whole, aspect = (
        np.array([values.get(row, 0.0) for row in places], dtype=np.float32)
        for values in (known, known_aspect)
    )
    return whole, aspect


def _emphasised(weights: Mapping[str, Mapping[str, float]], focus: Focus) -> dict[str, float]:
    """The aspect's weights, with penalties up to doubled by ruled-out aspects."""
    more = 1.0 + float(focus.avoided.max())
    return {name: w * more if w < 0 else w for name, w in weights["aspect"].items()}


def _others(focus: Focus) -> FloatArray:
    """(a,) Weights of the penalty per aspect: all except the ones asked for."""
    rest = 1.0 - focus.aspect_weights / max(float(focus.aspect_weights.max()), 1e-6)
    # What a person rules out weighs as much as all that nobody mentioned.
    rest = rest + focus.avoided * max(1.0, float(rest.sum()))
    total = float(rest.sum())
    return np.asarray(rest / total if total > 0 else rest, dtype=np.float32)


def _own_terms(tokens: FloatArray, weights: FloatArray) -> FloatArray:
    """(t,) 0 to 1: how far no token out of focus, the title's included, is like each token."""
    said = tokens @ tokens.T * (1.0 - weights)
    return np.asarray(1.0 - np.clip(said.max(axis=1, initial=0.0), 0.0, 1.0), dtype=np.float32)


def _seed_token_weights(request: Request, focus: Focus) -> FloatArray:
    """(t,) 0 to 1: how far each token of the seed is in focus."""
    seed = request.seed
    roles = seed.roles(len(focus.aspect_weights)) @ focus.aspect_weights
    sentences = focus.sentence_weights * np.maximum(roles, 1e-3) ** 2
    starts = np.array([s.span[0] for s in seed.document.sentences], dtype=np.int32)
    return token_roles(seed.token_starts, starts, (sentences / sentences.max())[:, None])[:, 0]
