"""Every way to rerank: what it finds, what it costs, and how it ends."""

import hashlib
import math

import pytest

from engine.llm.client import finish
from engine.rerank.modes import MODES, estimate, rerank
from engine.rerank.protocols import Options, StopAsking

COMPARING = [name for name, mode in MODES.items() if mode.asks == "compare"]
SEQUENTIAL = ["heapsort", "sliding"]


class ByUtility:
    """Knows how good every document is; remembers what it was asked.

    Args:
        bias: log-odds that it gives away to the document shown first.
        soft: answers with probabilities of these log-odds per unit; 0 for hard answers.
    """

    def __init__(self, utility, bias=0.0, soft=0.0):
        self.utility, self.bias, self.soft = utility, bias, soft
        self.rounds = []

    async def compare(self, pairs):
        self.rounds.append(list(pairs))
        return [self.answer(*pair) for pair in pairs]

    def answer(self, first, second):
        margin = self.utility(first) - self.utility(second) + self.bias
        if self.soft:
            return 1 / (1 + math.exp(-margin * self.soft))
        return 0.5 if margin == 0 else float(margin > 0)

    async def grade_each(self, doc_ids):
        self.rounds.append(list(doc_ids))
        return [self.utility(doc_id) / 1000 for doc_id in doc_ids]

    async def order(self, lists):
        self.rounds.append([tuple(each) for each in lists])
        return [sorted(each, key=self.utility, reverse=True) for each in lists]


def fraction(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def hashed(doc_id):
    """A utility, 0 to 1000, that has nothing to do with the first stage."""
    return 1000 * fraction(doc_id)


def informed(doc_id):
    """A utility that goes roughly with the first stage, as a reranker's pool does."""
    return 6 * (1 - int(doc_id[1:]) / 100) + 4 * fraction(doc_id)


def candidates(n):
    return [f"d{i}" for i in range(n)]


def run(judge, mode, docs=60, **more):
    docs = candidates(docs) if isinstance(docs, int) else docs
    return finish(rerank(docs, judge, mode, **more))


def best(docs, utility):
    return sorted(docs, key=utility, reverse=True)


def swaps(order, utility):
    """Share of the pairs that stand the wrong way round."""
    values = [utility(d) for d in order]
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    return sum(a < b for a, b in pairs) / len(pairs)


@pytest.mark.parametrize("mode", MODES)
def test_a_judge_without_error_gives_the_exact_top_and_the_order_of_a_few(mode):
    for n in (0, 1, 2, 3, 4, 5, 7):
        found = run(ByUtility(hashed), mode, n)
        assert list(found.order) == best(candidates(n), hashed), n
    exact = {"heapsort": 20, "allpair": 20, "sliding": 20, "pointwise": 60, "tournament": 10}
    top = exact.get(mode, 0)
    found = run(ByUtility(hashed), mode, options=Options(top=min(top or 20, 20)))
    assert list(found.order[:top]) == best(candidates(60), hashed)[:top]


FEW = {"pairwise-lite": 2, "pairwise": 1, "pairwise-thorough": 0, "listwise": 2}


@pytest.mark.parametrize(("mode", "missed"), FEW.items())
def test_few_questions_find_nearly_all_of_the_top(mode, missed):
    docs = candidates(100)
    found = run(ByUtility(informed), mode, docs)
    wanted = best(docs, informed)
    assert len(set(found.order[:20]) - set(wanted[:20])) <= missed
    assert swaps(found.order[:20], informed) < 0.1 < swaps(docs[:20], informed)


@pytest.mark.parametrize("mode", MODES)
def test_identical_repeats_ask_identical_questions_and_none_twice(mode):
    first, second = ByUtility(hashed, soft=0.01), ByUtility(hashed, soft=0.01)
    assert run(first, mode, 50) == run(second, mode, 50)
    assert first.rounds == second.rounds
    asked = [question for each in first.rounds for question in each]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("mode", MODES)
def test_the_cost_told_before_is_the_cost(mode):
    for n in (1, 2, 3, 4, 5, 6, 13, 20, 21, 50):
        judge = ByUtility(hashed)
        found = run(judge, mode, n)
        assert found.rounds == len(judge.rounds)
        assert found.calls == sum(map(len, judge.rounds))
        told = estimate(mode, n)
        assert told.exact is (mode not in SEQUENTIAL)
        if told.exact:
            assert (told.calls, told.rounds) == (found.calls, found.rounds), n
        else:
            assert told.calls == pytest.approx(found.calls, rel=0.25, abs=4)
            assert told.rounds == pytest.approx(found.rounds, rel=0.25, abs=2)


def test_the_default_takes_half_of_heapsorts_questions_in_a_fiftieth_of_its_rounds():
    default, heapsort = estimate("pairwise", 100), estimate("heapsort", 100)
    assert default.calls <= 0.55 * heapsort.calls
    assert default.rounds <= heapsort.rounds / 50
    assert estimate("allpair", 100).calls == 9900


class Tired(ByUtility):
    """Gives up comparing after three rounds."""

    async def compare(self, pairs):
        if len(self.rounds) == 3:
            raise StopAsking
        return await super().compare(pairs)


@pytest.mark.parametrize("mode", MODES)
def test_stopping_or_a_judge_that_gives_up_returns_the_order_of_the_last_round(mode):
    told = []

    def second_round(progress):
        told.append(progress)
        return progress.rounds == 2

    found = run(ByUtility(hashed), mode, 60, on_round=second_round)
    assert found.order == told[-1].order
    assert sorted(found.order) == sorted(candidates(60))
    assert [progress.rounds for progress in told] == list(range(1, len(told) + 1))
    assert found.stopped is (mode not in ("allpair", "pointwise"))
    found = run(Tired(hashed), mode, 60, on_round=told.append)
    assert found.order == told[-1].order
    assert found.stopped is (mode in COMPARING and mode != "allpair")


@pytest.mark.parametrize("mode", MODES)
def test_documents_behind_the_depth_stay_where_they_are(mode):
    judge = ByUtility(hashed)
    found = run(judge, mode, 30, options=Options(depth=12))
    assert list(found.order[12:]) == candidates(30)[12:]
    assert set(found.order[:12]) == set(candidates(12))
    assert "d12" not in repr(judge.rounds)
    assert run(ByUtility(hashed), mode, 12, options=Options(depth=500)).order == found.order[:12]


@pytest.mark.parametrize("mode", MODES)
def test_documents_of_the_same_text_are_judged_once_and_stay_together(mode):
    texts = {"d3": "a copy", "d17": "a copy", "d5": "another", "d7": "", "d9": ""}
    judge = ByUtility(hashed)
    found = run(judge, mode, 30, options=Options(texts=texts))
    assert found.order.index("d17") == found.order.index("d3") + 1
    assert "'d17'" not in repr(judge.rounds)
    assert "'d9'" in repr(judge.rounds), "documents without text are no copies of each other"
    assert len(found.order) == 30


def test_lists_may_come_back_with_strangers_repeats_and_gaps():
    class Careless(ByUtility):
        async def order(self, lists):
            answers = await super().order(lists)
            return [["?", *(x or [])[:5], (x or [""])[0]] for x in answers]

    for mode in ("listwise", "tournament"):
        found = run(Careless(hashed), mode)
        assert sorted(found.order) == sorted(candidates(60))
        assert found.order[0] == best(candidates(60), hashed)[0]


def test_what_cannot_be_reranked_is_refused_at_once():
    with pytest.raises(ValueError, match="'a' is a candidate twice"):
        run(ByUtility(hashed), "pairwise", ["a", "b", "a"])
    with pytest.raises(ValueError, match="no reranking mode 'bogo'; there are pairwise"):
        run(ByUtility(hashed), "bogo")
    with pytest.raises(ValueError, match="at least 1"):
        Options(depth=0)
