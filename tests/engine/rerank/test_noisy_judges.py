"""Every way to rerank, with judges that err, prefer a position, or say nothing."""

import math

import pytest

from benchmarks.simulated_judges import MIDDLE, SimulatedJudge
from engine.measures.metrics import csfcube_ndcg
from engine.rerank.modes import MODES
from tests.engine.rerank.test_rerank import (
    COMPARING,
    ByUtility,
    best,
    candidates,
    fraction,
    hashed,
    informed,
    run,
)

FITTED = ["pairwise", "pairwise-lite", "pairwise-thorough"]


class Same:
    """Gives one answer to everything."""

    def __init__(self, answer):
        self.answer = answer

    async def compare(self, pairs):
        return [self.answer] * len(pairs)

    async def grade_each(self, doc_ids):
        return [self.answer] * len(doc_ids)

    async def order(self, lists):
        """As shown for 1, reversed for 0."""
        if self.answer not in (0.0, 1.0):
            return [None] * len(lists)
        return [list(each) if self.answer else list(each)[::-1] for each in lists]


class Lossy(ByUtility):
    """Loses the answers to ``share`` of the questions, by their hash."""

    def __init__(self, utility, share):
        super().__init__(utility)
        self.share = share

    def kept(self, questions, answers):
        lost = [fraction(repr(question)) < self.share for question in questions]
        return [None if gone else a for gone, a in zip(lost, answers, strict=True)]

    async def compare(self, pairs):
        return self.kept(pairs, await super().compare(pairs))

    async def grade_each(self, doc_ids):
        return self.kept(doc_ids, await super().grade_each(doc_ids))

    async def order(self, lists):
        return self.kept(lists, await super().order(lists))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", [None, math.nan, 7.0, 0.5, 1.0, 0.0])
def test_a_judge_that_knows_nothing_leaves_the_first_stage(mode, answer):
    """No answer, nonsense, ties everywhere, always the first shown, always the second shown."""
    lists = MODES[mode].asks == "order"
    for n in (5, 40) if lists and answer == 0 else (2, 5, 40):
        found = run(Same(answer), mode, n)
        assert list(found.order) == candidates(n)
        nonsense = answer not in (0.0, 1.0) if lists else answer not in (0.0, 0.5, 1.0)
        assert found.unanswered == (found.calls if nonsense else 0)


@pytest.mark.parametrize("mode", MODES)
def test_a_third_of_the_answers_missing_still_helps(mode):
    docs = candidates(60)
    found = run(Lossy(hashed, 0.3), mode, docs)
    assert sorted(found.order) == sorted(docs)
    assert found.unanswered < 0.4 * found.calls
    before, after, possible = (
        sum(map(hashed, order[:20])) for order in (docs, found.order, best(docs, hashed))
    )
    # Neighbours who cannot be compared bar the way of whoever climbs past them.
    assert after - before > (0.2 if mode == "sliding" else 0.7) * (possible - before)


@pytest.mark.parametrize("mode", COMPARING)
def test_a_preference_for_the_first_is_seen_and_cancelled(mode):
    docs = candidates(40)
    fair = run(ByUtility(informed, bias=0.0, soft=1.0), mode, docs)
    leaning = run(ByUtility(informed, bias=1.5, soft=1.0), mode, docs)
    averse = run(ByUtility(informed, bias=-1.5, soft=1.0), mode, docs)
    assert fair.position_bias == pytest.approx(0.5, abs=0.02)
    assert leaning.position_bias == pytest.approx(1 / (1 + math.exp(-1.5)), abs=0.05)
    assert averse.position_bias == pytest.approx(1 / (1 + math.exp(1.5)), abs=0.05)
    for biased in (leaning, averse):
        moved = [abs(biased.order.index(d) - fair.order.index(d)) for d in fair.order[:20]]
        assert sum(moved) / 20 < (4 if mode == "pairwise-lite" else 2.5)


@pytest.mark.parametrize("mode", [*FITTED, "heapsort", "allpair", "listwise"])
def test_confidence_is_least_at_the_cut(mode):
    found = run(ByUtility(informed), mode, 70)
    sure = [found.confidence[d] for d in found.order]
    assert all(0.5 <= value <= 1 for value in sure)
    assert min(sure[:3] + sure[-20:]) > max(sure[19:21])


@pytest.mark.parametrize("mode", ["pointwise", "tournament"])
def test_what_was_not_compared_claims_no_confidence(mode):
    found = run(ByUtility(hashed), mode)
    assert found.position_bias is None
    assert not found.confidence


def test_with_a_judge_that_errs_the_default_beats_heapsort_at_half_the_questions():
    """Behind a first stage about as good as a dense ranking: its nDCG@20 is some 0.5."""
    gained, calls = {"pairwise": 0.0, "heapsort": 0.0}, {"pairwise": 0, "heapsort": 0}
    for query in map(str, range(12)):
        share = {d: fraction(query + d) for d in candidates(100)}
        grades = {d: (share[d] > 0.9) + (share[d] > 0.7) for d in share}
        docs = best(list(grades), lambda d, q=query, g=grades: g[d] + 10 * fraction(q + " " + d))
        for mode in gained:
            found = run(SimulatedJudge(MIDDLE, query, grades), mode, docs)
            gained[mode] += csfcube_ndcg(found.order, grades) / 12
            calls[mode] += found.calls
        assert csfcube_ndcg(found.order, grades) > csfcube_ndcg(docs, grades)
    assert gained["pairwise"] > gained["heapsort"]
    assert calls["pairwise"] < 0.55 * calls["heapsort"]
