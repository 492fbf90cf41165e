"""p-MRR of many queries: ours against mteb's row by row, which must find the same values.

``python -m benchmarks.pmrr [--queries 1000] [--documents 1000] [--telling 20] [--mteb DIR]``

mteb is neither a dependency nor imported, which would take models and data sets along: the
three functions that compute p-MRR are read out of its installed file and run as they stand.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import logging
import math
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, table, timed
from engine.measures.metrics import mean
from engine.measures.p_mrr import p_mrr
from engine.types.evaluations import Grades

PART = "pmrr"
FOLDER = "SEEDLENS_MTEB"
INSTALL = (
    "mteb is not installed. Install it apart with: "
    "pip install --no-deps --target /tmp/mteb mteb, and name the folder with "
    f"--mteb /tmp/mteb or {FOLDER}=/tmp/mteb."
)
FUNCTIONS = ("get_rank_from_dict", "calculate_pmrr", "rank_score")
TARGET = 20.0
ROUNDS = 5
TELLING = 20
"""Documents that p-MRR is computed from, a query: 17 in CSFCube on average. mteb's time grows
with them, ours hardly."""
CHECKED = 100
"""Queries whose own value is compared, besides the mean of all."""
EQUAL = 1e-12
"""Both compute the same fractions, mteb by way of reciprocal ranks: rounding remains."""

Scores = Mapping[str, float]
TheirPMRR = Callable[[Mapping[str, Scores], Mapping[str, Scores], Mapping[str, list[str]]], float]


class MtebMissingError(RuntimeError):
    """mteb, or its p-MRR, is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Case:
    """One query asked for two aspects, over one pool, so that both definitions coincide.

    Scores are distinct, every document is ranked for both aspects, and some document is
    relevant for the first aspect and not for the second.
    """

    query_id: str
    here: Scores
    there: Scores
    grades: Grades
    other_grades: Grades


def main() -> None:
    """Measure and print; exit with 2 and one line where mteb is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=1000, help="ranked for each query")
    parser.add_argument("--telling", type=int, default=TELLING,
                        help="documents of each query that p-MRR is computed from")  # fmt: skip
    parser.add_argument("--mteb", type=Path, metavar="DIR", help=f"else ${FOLDER}, else sys.path")
    options = parser.parse_args()
    if options.queries < 1 or not 1 <= options.telling <= options.documents:
        parser.error("at least one query, and from 1 to --documents telling documents")
    try:
        print(table(compare(options.queries, options.documents, options.telling, options.mteb)))
    except MtebMissingError as e:
        print(e, file=sys.stderr)
        sys.exit(2)


def measure() -> list[Figure]:
    """All figures of this part; none, with the reason on stderr, where mteb is missing."""
    try:
        return compare()
    except MtebMissingError as e:
        print(f"p-MRR: skipped. {e}", file=sys.stderr)
        return []


def compare(
    queries: int = 1000, documents: int = 1000, telling: int = TELLING, folder: Path | None = None
) -> list[Figure]:
    """The same runs through both implementations.

    Raises:
        MtebMissingError: there is nothing to compare with.
        AssertionError: the values differ, overall or for one query.
    """
    theirs, version = mtebs_p_mrr(folder)
    cases = random_cases(queries, documents, telling)
    everything = mteb_input(cases)
    rankings = [(ranked(case.here), ranked(case.there)) for case in cases]

    values = [_ours(case, *pair) for case, pair in zip(cases, rankings, strict=True)]
    overall = mean(values)
    values: list[float] = []
    slow = timed(lambda: values.append(theirs(*everything)))
    _assert_equal(overall, values[0], "overall")
    for case, value in zip(cases[:CHECKED], values[:CHECKED], strict=True):
        _assert_equal(value, theirs(*mteb_input([case])), case.query_id)

    from_scores = _fastest(lambda: [_ours(c, ranked(c.here), ranked(c.there)) for c in cases])
    from_ranking = _fastest(
        lambda: [_ours(case, *pair) for case, pair in zip(cases, rankings, strict=True)]
    )
    baseline = f"mteb {version}"
    note = (
        f"{queries:,} queries x {documents:,} documents, {telling} of them telling; p-MRR "
        f"{overall:+.6f} by both, and equal for each of {min(queries, CHECKED)} queries"
    )
    return [
        Figure(PART, f"p-MRR, {baseline}", slow, "s", note=note),
        Figure(PART, "p-MRR of scores, sorting them included", from_scores, "s",
               slow / from_scores, baseline, TARGET),
        Figure(PART, "p-MRR of rankings", from_ranking, "s", slow / from_ranking, baseline),
    ]  # fmt: skip


def random_cases(queries: int, documents: int, telling: int, seed: int = 5) -> list[Case]:
    """Random scores and grades from 0 to 3, the same in every run."""
    dice = random.Random(seed)
    doc_ids = [f"doc-{i:05d}" for i in range(documents)]
    cases = []
    for q in range(queries):
        # Of the others, half are relevant for both aspects and half for none of the two.
        told = set(dice.sample(doc_ids, telling))
        grades = {d: dice.randint(1, 3) if d in told else 3 * dice.randint(0, 1) for d in doc_ids}
        other = {d: 0 if d in told else grades[d] for d in doc_ids}
        cases.append(Case(f"q{q}", _scores(doc_ids, dice), _scores(doc_ids, dice), grades, other))
    return cases


def _scores(doc_ids: Sequence[str], dice: random.Random) -> dict[str, float]:
    """A distinct score for each, in random order."""
    steps = dice.sample(range(len(doc_ids)), len(doc_ids))
    return {doc_id: step / len(doc_ids) for doc_id, step in zip(doc_ids, steps, strict=True)}


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
            case.query_id: [
                doc_id
                for doc_id, grade in case.grades.items()
                if grade >= 1 and case.other_grades[doc_id] == 0
            ]
            for case in cases
        },
    )


def _ours(case: Case, here: Sequence[str], there: Sequence[str]) -> float | None:
    return p_mrr(here, case.grades, there, case.other_grades)


def _fastest(work: Callable[[], object]) -> float:
    """Seconds, the least of some rounds: what else the machine does only ever adds."""
    return min(timed(work) for _ in range(ROUNDS))


def _assert_equal(ours: float | None, theirs: float, what: str) -> None:
    assert ours is not None, what
    assert math.isclose(ours, theirs, rel_tol=0, abs_tol=EQUAL), (what, ours, theirs)


def mtebs_p_mrr(folder: Path | None = None) -> tuple[TheirPMRR, str]:
    """mteb's function from (run before, run after, documents that tell) to p-MRR, and its version.

    Args:
        folder: where mteb was installed to; ``SEEDLENS_MTEB`` or this environment otherwise.

    Raises:
        MtebMissingError: no mteb there, or one that keeps p-MRR elsewhere.
    """
    named = folder or os.environ.get(FOLDER)
    places = [str(named)] if named else sys.path
    spec = PathFinder.find_spec("mteb", places)  # finds, and does not import
    if spec is None or spec.origin is None:
        raise MtebMissingError(INSTALL)
    version = next(
        (d.version for d in importlib.metadata.distributions(name="mteb", path=places)), "?"
    )
    file = Path(spec.origin).parent / "_evaluators" / "retrieval_metrics.py"
    if not file.is_file():
        raise MtebMissingError(f"mteb {version} has no {file.name}. Known to work: mteb==2.26.24.")
    return _functions(file, version)["calculate_pmrr"], version


def _functions(file: Path, version: str) -> dict[str, Any]:
    """:data:`FUNCTIONS` of an installed file, without whatever else the file imports."""
    try:
        import pandas as pd
    except ImportError as e:
        raise MtebMissingError("mteb's p-MRR needs pandas: pip install pandas.") from e
    module = ast.parse(file.read_text("utf-8"))
    kept = [n for n in module.body if isinstance(n, ast.FunctionDef) and n.name in FUNCTIONS]
    if len(kept) != len(FUNCTIONS):
        raise MtebMissingError(
            f"mteb {version} computes p-MRR elsewhere. Known to work: mteb==2.26.24."
        )
    module.body = [ast.parse("from __future__ import annotations").body[0], *kept]
    space: dict[str, Any] = {"pd": pd, "logger": logging.getLogger("mteb")}
    exec(compile(module, str(file), "exec"), space)  # noqa: S102 - installed by who runs this
    return space


if __name__ == "__main__":
    main()
