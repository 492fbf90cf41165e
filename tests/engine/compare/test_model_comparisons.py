"""Variants in a model's order: whether it follows their wordings, at what cost, how far it came."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.compare.comparisons import ModelComparisons
from engine.config import DEMO
from engine.lenses.definitions import RESEARCH
from engine.types.comparisons import Variant, VariantsJob, VariantsRequest
from tests.fakes.model_answers import MODEL, read_knowledge
from tests.fakes.model_server import obedient, serving
from tests.fakes.model_sessions import session
from tests.support import ended

SEED, ASPECT = "demo-0232", "method"
WORDS = RESEARCH.aspects[1].instruction
ASKED = Variant("asked", WORDS, "dense")
BARE = Variant("bare", "", "dense")
OTHER = Variant("other", RESEARCH.aspects[2].instruction, "dense")
REQUEST = VariantsRequest(
    "demo", SEED, None, ASPECT, (ASKED, BARE, OTHER), mode="pairwise-lite", depth=60
)

Rerank = Callable[..., VariantsJob]


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge(DEMO)


@pytest.fixture
def server(knowledge):
    """A model that goes by the wording, and without one by whatever is alike in anything."""
    with serving(knowledge) as running:
        running.behaviour.handlers = [obedient(running.answerer)]
        yield running


@pytest.fixture
def by_model(explorer, server, store):
    """The server as a model whose answers are kept for this test only."""
    settings = explorer.settings.model_copy(
        update={"openai_base_url": server.url, "llm_model": MODEL}
    )
    return ModelComparisons(settings, store, explorer.comparing._comparer)


def over(by_model, job_id):
    return ended(lambda: by_model.jobs.job(job_id))


def compared(explorer, orders=None):
    return explorer.comparing.compare(REQUEST, orders)


def verdicts(found):
    return {v.variant: v.kind for v in found.verdicts}


def test_a_model_that_follows_a_wording_is_told_from_one_that_only_ranks_better(
    explorer, by_model, server
):
    job = over(by_model, by_model.start(REQUEST))
    assert (job.state, set(job.progress.partial.whole)) == ("done", {"asked", "bare", "other"})
    before, after = compared(explorer), compared(explorer, job.progress.partial.orders)
    assert set(verdicts(before).values()) == {"nothing"}, "dense reads no wording"
    found = dict(verdicts(after))
    # How far it goes wrong depends on the last digits of the vectors, and so on the processor.
    assert found.pop("other") in ("wrong way", "little")
    assert found == {"asked": "follows", "bare": "nothing"}
    texts = {v.variant: v.text for v in after.verdicts}
    assert re.search(r"rose \(rank gain \+0\.\d\d\)", texts["asked"])
    assert after.by_model == ("asked", "bare", "other")
    ndcg = [c.variants[0].measures["nDCG@20 (CSFCube)"] or 0.0 for c in (before, after)]
    assert ndcg[1] > ndcg[0] + 0.1
    pair = next(p for p in after.pairs if (p.first, p.second) == ("asked", "bare"))
    assert (pair.rank_gain or 0.0) > 0.02
    assert (bool(before.movers), bool(after.movers)) == (False, True)
    tags = {line.split()[-1] for line in explorer.comparing.runs(after).splitlines()}
    assert tags == {"asked+model", "bare+model", "other+model"}

    deaf = replace(REQUEST, depth=59)
    server.behaviour.handlers = []
    found = over(by_model, by_model.start(deaf, session(server, SEEDLENS_LLM_MODEL="deaf")))
    kinds = verdicts(compared(explorer, found.progress.partial.orders))
    assert set(kinds.values()) == {"nothing"}, "it improves the ranking whatever is asked for"


def test_all_variants_share_one_estimate_and_what_is_known_costs_nothing(by_model, server):
    request = replace(REQUEST, depth=20)
    three = by_model.estimate(request)
    one = by_model.estimate(replace(request, variants=(BARE,)))
    assert (three.calls, three.rounds) == (3 * one.calls, 3 * one.rounds)
    assert server.seen.requests == 0
    assert by_model.recall(request) is None
    assert server.seen.requests == 0, "to look is not to ask"
    job = over(by_model, by_model.start(request))
    assert job.progress.partial.report.questions <= three.calls
    asked = server.seen.questions
    recalled = by_model.recall(request)
    assert recalled is not None
    known = by_model.jobs.job(recalled).progress.partial
    assert known.orders == job.progress.partial.orders
    assert (known.report.calls, server.seen.questions) == (0, asked)


def test_a_budget_buys_whole_variants_and_what_has_no_order_ranks_as_ever(explorer, by_model):
    request = replace(REQUEST, depth=20)
    calls = by_model.estimate(replace(request, variants=(BARE,))).calls
    job = over(by_model, by_model.start(request, most_calls=round(2.4 * calls)))
    assert job.progress.partial.report.stopped == "budget"
    assert set(job.progress.partial.whole) == {"bare", "asked"}
    orders = {
        name: order
        for name, order in job.progress.partial.orders.variants.items()
        if name in job.progress.partial.whole
    }
    after = compared(explorer, replace(job.progress.partial.orders, variants=orders))
    assert after.by_model == ("asked", "bare")
    assert "does not read wordings" in {v.variant: v.text for v in after.verdicts}["other"]
