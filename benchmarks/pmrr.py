"""p-MRR of many queries: ours against mteb's, which must find the same value.

mteb is neither a dependency nor imported, which would take models and data sets along: the
functions that compute p-MRR are read out of its installed file and run as they stand.
"""

from __future__ import annotations

import ast
import importlib.metadata
import logging
import math
import os
import random
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, timed
from engine.measures.metrics import mean
from engine.measures.p_mrr import p_mrr

FOLDER = "SEEDLENS_MTEB"
INSTALL = (
    "p-MRR: skipped. mteb 2.26.24 is not installed. Install it apart with: pip install --no-deps "
    f"--target /tmp/mteb mteb==2.26.24, and name the folder with {FOLDER}=/tmp/mteb."
)
FUNCTIONS = ("get_rank_from_dict", "calculate_pmrr", "rank_score")
TARGET = 20.0
ROUNDS = 5
Scores = Mapping[str, float]


def measure(queries: int = 1000, documents: int = 1000, telling: int = 20) -> list[Figure]:
    """The same runs through both implementations; no figures where mteb is missing.

    Scores are distinct, all documents are ranked for both aspects. `documents`: ranked for each
    query. `telling`: those of them that p-MRR is computed from, 17 in CSFCube on average. mteb's
    time grows with them, ours hardly.
    """
    found = mtebs_p_mrr()
    if found is None:
        print(INSTALL, file=sys.stderr)
        return []
    theirs, version = found
    dice, doc_ids = random.Random(5), [f"doc-{i:05d}" for i in range(documents)]

    def drawn() -> Scores:
        return dict(zip(doc_ids, dice.sample(range(documents), documents), strict=True))

    scores = [(drawn(), drawn()) for _ in range(queries)]
    told = [dice.sample(doc_ids, telling) for _ in scores]
    grades = [(dict.fromkeys(own, 3), dict.fromkeys(own, 0)) for own in told]

    def ours(rankings: list[tuple[list[str], list[str]]]) -> float:
        pairs = zip(rankings, grades, strict=True)
        return mean([p_mrr(a, here, b, there) for (a, b), (here, there) in pairs]) or 0.0

    def sort() -> list[tuple[list[str], list[str]]]:
        both = ([sorted(own, key=own.__getitem__, reverse=True) for own in pair] for pair in scores)
        return [(here, there) for here, there in both]

    before = {f"{q}-og": here for q, (here, _) in enumerate(scores)}
    after = {f"{q}-changed": there for q, (_, there) in enumerate(scores)}
    values: list[float] = []
    slow = timed(
        lambda: values.append(theirs(before, after, {str(q): d for q, d in enumerate(told)}))
    )
    # Rounding remains: mteb computes by way of reciprocal ranks.
    overall, rankings = ours(sort()), sort()
    assert math.isclose(overall, values[0], rel_tol=0, abs_tol=1e-12)
    # The least of some rounds: what else the machine does only ever adds.
    from_scores = min(timed(lambda: ours(sort())) for _ in range(ROUNDS))
    from_ranking = min(timed(lambda: ours(rankings)) for _ in range(ROUNDS))
    baseline = f"mteb {version}"
    note = f"{queries:,} queries x {documents:,} documents, {telling} of them telling; p-MRR "
    note += f"{overall:+.6f} by both"
    sorting, sorted_ = "p-MRR of scores, sorting them included", "p-MRR of rankings"
    faster, fastest = slow / from_scores, slow / from_ranking
    return [
        Figure(f"p-MRR, {baseline}", slow, "s", note),
        Figure(sorting, from_scores, "s", least=TARGET, ratio=faster, baseline=baseline),
        Figure(sorted_, from_ranking, "s", ratio=fastest, baseline=baseline),
    ]


def mtebs_p_mrr() -> tuple[Callable[..., float], str] | None:
    """mteb's function from (run before, run after, documents that tell) to p-MRR, and its version.

    From the folder ``SEEDLENS_MTEB`` or this environment; None where it is not there.
    """
    named = os.environ.get(FOLDER)
    places = [named] if named else sys.path
    spec = PathFinder.find_spec("mteb", places)  # finds, and does not import
    if spec is None or spec.origin is None:
        return None
    versions = (d.version for d in importlib.metadata.distributions(name="mteb", path=places))
    file = Path(spec.origin).parent / "_evaluators" / "retrieval_metrics.py"
    if not file.is_file():
        return None
    module = ast.parse(file.read_text("utf-8"))
    kept = [n for n in module.body if isinstance(n, ast.FunctionDef) and n.name in FUNCTIONS]
    import pandas as pd

    module.body = [ast.parse("from __future__ import annotations").body[0], *kept]
    space: dict[str, Any] = {"pd": pd, "logger": logging.getLogger("mteb")}
    exec(compile(module, str(file), "exec"), space)  # noqa: S102 - installed by who runs this
    return space["calculate_pmrr"], next(versions, "?")
