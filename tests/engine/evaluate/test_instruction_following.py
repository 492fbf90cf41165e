"""What SeedLens claims on CSFCube's open half: rankings that obey, and rank better.

On the 22 queries whose pools are small, which need 1,385 documents: the figures of all 27 are
those that ``seedlens evaluate`` prints.
"""

import pytest

from engine.collections.readers import read_collection
from engine.compare.sensitivity_table import sensitivity
from engine.evaluate.evaluation_run import evaluate
from engine.measures.p_mrr import P_MRR
from engine.types.evaluations import CSFCUBE_NDCG
from tests.fakes.csfcube_files import write_judged
from tests.support import make_explorer

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def judged(csfcube, tmp_path_factory):
    """The queries with at most 150 candidates, over the documents in their pools."""
    folder = tmp_path_factory.mktemp("data") / "csfcube-judged"
    collection = read_collection(write_judged(csfcube, folder, most=150))
    explorer = make_explorer(tmp_path_factory.mktemp("home"), shard_documents=256)
    explorer.library.import_collection(collection)
    return explorer, collection


def scores(judged, corpus, steer=0.5):
    explorer, collection = judged
    found = evaluate(explorer.searcher(corpus), collection, ["aspect"], steer=steer)
    return found.systems["aspect"]


@pytest.mark.timeout(600)
def test_the_aspect_system_ranks_better_than_dense_and_obeys(judged):
    explorer, collection = judged
    dense = evaluate(explorer.searcher("csfcube-judged"), collection, ["dense"]).systems["dense"]
    default, top = (scores(judged, "csfcube-judged", s).metrics for s in (0.5, 1.0))
    assert default[CSFCUBE_NDCG] >= dense.metrics[CSFCUBE_NDCG] + 0.03  # type: ignore[operator]
    assert default[CSFCUBE_NDCG] >= 0.64  # type: ignore[operator]
    assert default[P_MRR] >= 0.10  # type: ignore[operator]
    assert top[CSFCUBE_NDCG] >= 0.61  # type: ignore[operator]
    assert top[P_MRR] >= 0.13  # type: ignore[operator]
    assert dense.metrics[P_MRR] == 0.0


@pytest.fixture(scope="module")
def table(judged):
    explorer, collection = judged
    return sensitivity(explorer.searcher("csfcube-judged"), collection, ["dense", "aspect"])


def test_paraphrases_are_obeyed_like_the_base_wording(table):
    rows = {row.variant: row.metrics[P_MRR] for row in table.systems[1].rows}
    paraphrases = [value for name, value in rows.items() if name.startswith("paraphrase")]
    assert len(paraphrases) >= 3
    assert sum(paraphrases) / len(paraphrases) >= 0.9 * rows["base"]  # type: ignore[arg-type, operator]
    assert rows["definition"] >= 0.9 * rows["base"]  # type: ignore[operator]
