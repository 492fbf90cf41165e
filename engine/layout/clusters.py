"""Clusters of positions at two levels, and names for them from their own words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice, takewhile

import numpy as np
from numpy.typing import NDArray

from engine.numeric import FloatArray
from engine.sentences import stop_words

MOST_COARSE, MOST_FINE = 12, 60
NAME_WORDS = 3
WORDS_LOOKED_AT = 12  # Best words of a cluster of which its name is made
WORD = r"(?u)\b[^\W\d_][\w-]{2,}\b"
Labels = NDArray[np.int32]


def find_clusters(positions: FloatArray) -> tuple[Labels, Labels]:
    """Clusters (n,) of positions (n, 2), -1 for NaN: coarse ones, joined by Ward's method from the
    fine ones, which are found by k-means."""
    from sklearn.cluster import AgglomerativeClustering, KMeans

    labels = np.full((2, len(positions)), -1, dtype=np.int32)
    there = np.flatnonzero(~np.isnan(positions[:, 0]))
    if not len(there):
        return labels[0], labels[1]
    placed = positions[there]
    different = len(np.unique(placed, axis=0))
    coarse = min(MOST_COARSE, different, max(1, round(len(placed) ** 0.25)))
    fine = min(MOST_FINE, different, max(coarse, round(len(placed) ** 0.5 / 1.6)))
    found = KMeans(fine, n_init=1, random_state=0).fit(placed)
    joined = np.zeros(fine, dtype=np.int32)
    if coarse > 1:
        joined = AgglomerativeClustering(coarse).fit_predict(found.cluster_centers_)
    labels[0, there], labels[1, there] = joined[found.labels_], found.labels_
    return labels[0], labels[1]


def name_clusters(labels: Labels, texts: Sequence[str]) -> tuple[str, ...]:
    """A name for each cluster of labels (n,), two or three words of the texts (n,), no two alike:
    those with the highest c-TF-IDF (Grootendorst, 2022), with the square root of the share that a
    word has of its cluster's."""
    count = int(labels.max(initial=-1)) + 1
    ranked = _ranked_words(labels, texts, count)
    names: list[str] = []
    for at, words in enumerate(ranked):
        few = combinations(words, min(NAME_WORDS, len(words)))
        free = (", ".join(one) for one in islice(few, len(ranked) + 1))
        name = next((one for one in free if one and one not in names), "")
        names.append(name or f"cluster {at + 1}")
    return tuple(names)


def _ranked_words(labels: Labels, texts: Sequence[str], count: int) -> list[list[str]]:
    """The best words of each cluster, best first, one of the forms of each."""
    from sklearn.feature_extraction.text import CountVectorizer

    read = np.flatnonzero(labels >= 0)
    joined = [""] * count
    for cluster in range(count):
        joined[cluster] = " ".join(texts[row] for row in read[labels[read] == cluster].tolist())
    vectorizer = CountVectorizer(stop_words=sorted(stop_words()), token_pattern=WORD)
    try:
        counts = vectorizer.fit_transform(joined).toarray().astype(np.float32)
    except ValueError:  # not a single word
        return [[] for _ in range(count)]
    words = vectorizer.get_feature_names_out()
    own = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    total = counts.sum(axis=0)
    scores = np.sqrt(own) * np.log1p(counts.sum() / max(1, count) / total)
    scores[counts < min(2.0, counts.max())] = 0.0
    return [_best(words, row) for row in scores]


def _best(words: NDArray[np.str_], scores: FloatArray) -> list[str]:
    order = np.argsort(-scores, kind="stable")[: 4 * WORDS_LOOKED_AT]
    best: list[str] = []
    for at in order[scores[order] > 0].tolist():
        word = str(words[at])
        if not any(_are_forms(word, other) for other in best):
            best.append(word)
    return best[:WORDS_LOOKED_AT]


def _are_forms(one: str, other: str) -> bool:
    """Whether two words begin alike so far that they may be forms of one.

    >>> _are_forms("embedding", "embeddings"), _are_forms("sentence", "sentiment")
    (True, False)
    """
    letters = zip(one, other, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], letters))
    return alike >= max(4, 0.6 * max(len(one), len(other)))
