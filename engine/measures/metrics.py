"""Measures of a ranking. What ir_measures has is computed by it; the rest stands here."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import ir_measures
from ir_measures import AP, RR, Judged, R, nDCG

from engine.measures.ranking_change import ranks
from engine.types.evaluations import RELEVANT, Grades, Qrels
from engine.types.searches import Ranking

MEASURES = (nDCG @ 10, nDCG @ 20, RR, AP, R @ 20, R @ 100, Judged @ 20)
OF_RELEVANCE = (RR, AP, R @ 20, R @ 100)
OF_GRADES = tuple(measure for measure in MEASURES if measure not in OF_RELEVANCE)


def measure_runs(
    qrels: Qrels, rankings: Sequence[Ranking], relevant_from: int = RELEVANT
) -> dict[str, dict[str, float]]:
    """query_id -> name -> value, 0 to 1, for :data:`MEASURES` by ir_measures; AP, RR and recall
    count grades from ``relevant_from``."""
    run = {r.query_id: _falling(r.doc_ids) for r in rankings if r.doc_ids}
    wanted = {query_id: dict(qrels.get(query_id, {})) for query_id in run}
    relevant = {
        query_id: {doc_id: int(grade >= relevant_from) for doc_id, grade in own.items()}
        for query_id, own in wanted.items()
    }
    values: dict[str, dict[str, float]] = {r.query_id: {} for r in rankings}
    for measures, grades in ((OF_GRADES, wanted), (OF_RELEVANCE, relevant)):
        for metric in ir_measures.iter_calc(measures, grades, run):
            values[metric.query_id][str(metric.measure)] = float(metric.value)
    for ranking in rankings:
        for measure in MEASURES:  # without a judged or a ranked document it is missing
            values[ranking.query_id].setdefault(str(measure), 0.0)
    return values


def _falling(doc_ids: Sequence[str]) -> dict[str, float]:
    """Scores that fall with the rank, so that evaluators do not break ties again."""
    return {doc_id: float(-rank) for doc_id, rank in ranks(doc_ids).items()}


def csfcube_ndcg(doc_ids: Sequence[str], grades: Grades, k: int = 20) -> float:
    """nDCG@k as in CSFCube's evaluation script (Mysore et al. 2021).

    Gain is the grade, discount ``1 / log2(max(rank, 2))``, the ideal the best order of all judged
    documents. 0 when nothing is relevant.

    >>> csfcube_ndcg(["b", "a"], {"a": 3, "b": 0})
    1.0
    """

    def gain(relevances: Sequence[int]) -> float:
        return sum(g / math.log2(max(i, 2)) for i, g in enumerate(relevances[:k], start=1))

    ideal = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(doc_id, 0) for doc_id in ranks(doc_ids)]) / ideal if ideal else 0.0


def judged_at(doc_ids: Sequence[str], grades: Grades, k: int) -> float:
    """Judged@k: share of the first ``k`` with a grade, 0 included; 0 for an empty ranking.

    >>> judged_at(["a", "x"], {"a": 0}, k=20)
    0.5
    """
    top = list(ranks(doc_ids))[:k]
    return sum(doc_id in grades for doc_id in top) / len(top) if top else 0.0


def ranking_by_grades(grades: Grades, tie_break: Sequence[str]) -> list[str]:
    """The pool by one annotator's grades: the ceiling for systems. Ungraded documents count as 0.

    Args:
        tie_break: the whole pool, ranked; equal grades keep this order.

    >>> ranking_by_grades({"a": 1, "c": 3}, tie_break=["b", "a", "c"])
    ['c', 'a', 'b']
    """
    return sorted(ranks(tie_break), key=lambda doc_id: -grades.get(doc_id, 0))


def robustness(wordings: Sequence[Mapping[str, float]]) -> float | None:
    """Mean over queries of the lowest value over wordings, each a query_id -> value; None without
    wordings.

    Of nDCG@10 it is Robustness@10 (Oh et al., InstructIR, 2024), as in mteb.

    >>> robustness([{"q1": 1.0, "q2": 0.5}, {"q1": 0.5, "q2": 0.75}])
    0.5
    """
    queries = wordings[0] if wordings else ()
    return mean([min(wording[query_id] for wording in wordings) for query_id in queries])


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are defined; None when none is."""
    defined = [v for v in values if v is not None]
    return math.fsum(defined) / len(defined) if defined else None


_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, kana, Chinese characters: written without blanks between words."""

_PIECE = re.compile(r"\w+\W{0,30}|\W{1,30}")
"""What is normalised at a time: letters with the marks and signs after them. To sort the marks of a
letter takes the square of their number; no word has more than 30 (UAX 15, stream-safe text)."""


def rouge_1_recall(answer: str, reference: str) -> float:
    """``sum(min(count in answer, count in reference)) / words of the reference``, without stemming;
    0 for an empty reference. Lin, ROUGE (2004).

    >>> rouge_1_recall("It is the Nothing phone of 2019.", "Nothing 2019 model")
    0.6666666666666666
    """
    wanted = Counter(tokenize(reference))
    return (wanted & Counter(tokenize(answer))).total() / (wanted.total() or 1)


def tokenize(text: str) -> list[str]:
    """Lower-case words; single characters in scripts without spaces.

    >>> tokenize("Zoë paid $1,950 in 東京.")
    ['zoë', 'paid', '1', '950', 'in', '東', '京']
    """
    composed = "".join(unicodedata.normalize("NFKC", piece) for piece in _PIECE.findall(text))
    spread = _UNSPACED.sub(lambda sign: f" {sign[0]} ", composed)
    return _WORD.findall(spread.lower())
