"""p-MRR of many queries: ours against mteb's row by row, which must find the same values.

mteb is neither a dependency nor imported, which would take models and data sets along: the
three functions that compute p-MRR are read out of its installed file and run as they stand.
"""

from __future__ import annotations

import ast
import importlib.metadata
import logging
import math
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import Figure, timed
from engine.measures.metrics import mean
from engine.measures.p_mrr import p_mrr
from engine.types.evaluations import Grades

FOLDER = "SEEDLENS_MTEB"
INSTALL = (
    "p-MRR: skipped. mteb 2.26.24 is not installed. Install it apart with: pip install --no-deps "
    f"--target /tmp/mteb mteb==2.26.24, and name the folder with {FOLDER}=/tmp/mteb."
)
FUNCTIONS = ("get_rank_from_dict", "calculate_pmrr", "rank_score")
TARGET = 20.0
ROUNDS = 5
CHECKED = 100
"""Queries whose own value is compared, besides the mean of all."""

Scores = Mapping[str, float]
TheirPMRR = Callable[[Mapping[str, Scores], Mapping[str, Scores], Mapping[str, list[str]]], float]


class Case(NamedTuple):
    """One query asked for two aspects, over one pool, so that both definitions coincide.

    Scores are distinct, every document is ranked for both aspects, and some document is
    relevant for the first aspect and not for the second.
    """

    query_id: str
    here: Scores
    there: Scores
    grades: Grades
    other_grades: Grades

    def ours(self) -> float:
        """p-MRR of its scores."""
        here, there = ranked(self.here), ranked(self.there)
        value = p_mrr(here, self.grades, there, self.other_grades)
        assert value is not None, self.query_id
        return value


def measure(queries: int = 1000, documents: int = 1000, telling: int = 20) -> list[Figure]:
    """The same runs through both implementations; no figures where mteb is missing.

    `documents`: ranked for each query. `telling`: those of them that p-MRR is computed from, 17 in
    CSFCube on average. mteb's time grows with them, ours hardly.
    """
    found = mtebs_p_mrr()
    if found is None:
        print(INSTALL, file=sys.stderr)
        return []
    theirs, version = found
    cases = random_cases(queries, documents, telling)
    everything = mteb_input(cases)
    overall = mean([case.ours() for case in cases])
    values: list[float] = []
    slow = timed(lambda: values.append(theirs(*everything)))
    pairs = [("overall", overall, values[0])]
    pairs += [(c.query_id, c.ours(), theirs(*mteb_input([c]))) for c in cases[:CHECKED]]
    for what, ours, other in pairs:  # rounding remains: mteb computes by way of reciprocal ranks
        assert math.isclose(ours or 0.0, other, rel_tol=0, abs_tol=1e-12), what
    rankings = [(ranked(case.here), ranked(case.there)) for case in cases]
    both = list(zip(cases, rankings, strict=True))
    # The least of some rounds: what else the machine does only ever adds.
    from_scores = min(timed(lambda: [c.ours() for c in cases]) for _ in range(ROUNDS))
    from_ranking = min(
        timed(lambda: [p_mrr(a, c.grades, b, c.other_grades) for c, (a, b) in both])
        for _ in range(ROUNDS)
    )
    baseline = f"mteb {version}"
    note = f"{queries:,} queries x {documents:,} documents, {telling} of them telling; p-MRR "
    note += f"{overall:+.6f} by both, and equal for each of {min(queries, CHECKED)} queries"
    sorting, sorted_ = "p-MRR of scores, sorting them included", "p-MRR of rankings"
    faster, fastest = slow / from_scores, slow / from_ranking
    return [
        Figure(f"p-MRR, {baseline}", slow, "s", note),
        Figure(sorting, from_scores, "s", least=TARGET, ratio=faster, baseline=baseline),
        Figure(sorted_, from_ranking, "s", ratio=fastest, baseline=baseline),
    ]


def random_cases(queries: int, documents: int, telling: int, seed: int = 5) -> list[Case]:
    """Random scores and grades from 0 to 3, the same in every run."""
    dice = random.Random(seed)
    doc_ids = [f"doc-{i:05d}" for i in range(documents)]

    def scores() -> dict[str, float]:
        steps = dice.sample(range(documents), documents)
        return {d: step / documents for d, step in zip(doc_ids, steps, strict=True)}

    cases = []
    for q in range(queries):
        # Of the others, half are relevant for both aspects and half for none of the two.
        told = set(dice.sample(doc_ids, telling))
        grades = {d: dice.randint(1, 3) if d in told else 3 * dice.randint(0, 1) for d in doc_ids}
        other = {d: 0 if d in told else grades[d] for d in doc_ids}
        cases.append(Case(f"q{q}", scores(), scores(), grades, other))
    return cases


def ranked(scores: Scores) -> list[str]:
    """Best first; no two scores are equal here."""
    return sorted(scores, key=scores.__getitem__, reverse=True)


def mteb_input(
    cases: Sequence[Case],
) -> tuple[dict[str, Scores], dict[str, Scores], dict[str, list[str]]]:
    """Run before and run after, by mteb's names of queries, and the documents that tell."""
    return (
        {f"{case.query_id}-og": case.here for case in cases},
        {f"{case.query_id}-changed": case.there for case in cases},
        {
            c.query_id: [d for d, grade in c.grades.items() if grade >= 1 and not c.other_grades[d]]
            for c in cases
        },
    )


def mtebs_p_mrr() -> tuple[TheirPMRR, str] | None:
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
