"""How far annotators agree: over all of them, by aspect, and pair by pair."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from engine.annotate.coefficients import FEWEST, Table, group_measures, pair_measures
from engine.types import Agreement, Judgment, Scale

Item = tuple[str, str]
Grades = Mapping[Item, Mapping[str, int]]
"""(query_id, doc_id) -> annotator -> grade."""


def find_agreement(
    judgments: Iterable[Judgment], scale: Scale, aspects: Mapping[str, str]
) -> Agreement:
    """Agreement over what stands. Adjudications are nobody's own grade and are left out.

    Coefficients over all take people only: a model that graded everything would say more than
    they do. It stands in pairs with each of them.

    Args:
        aspects: query_id -> aspect; "" for queries without one.
    """
    own = [j for j in judgments if j.origin != "adjudication"]
    everybody: dict[Item, dict[str, int]] = {}
    models: set[str] = set()
    for judgment in own:
        if judgment.relevance is not None and judgment.relevance in scale.values:
            item = (judgment.query_id, judgment.doc_id)
            everybody.setdefault(item, {})[judgment.annotator] = judgment.relevance
            models |= {judgment.annotator} if judgment.origin == "model" else set()
    people = {
        item: {who: grade for who, grade in said.items() if who not in models}
        for item, said in everybody.items()
    }
    names = tuple(sorted({who for said in everybody.values() for who in said}))
    confusion = _confusions(everybody, names, scale)
    overall = _counts(people, scale)
    by_aspect = {
        aspect: group_measures(
            _counts({i: s for i, s in people.items() if aspects.get(i[0], "") == aspect}, scale)
        )
        for aspect in sorted({aspects.get(query_id, "") for query_id, _ in people})
    }
    return Agreement(
        annotators=names,
        grades=scale.values,
        measures=group_measures(overall),
        pairs={pair: pair_measures(table) for pair, table in confusion.items()},
        by_aspect=by_aspect,
        confusion={pair: tuple(map(tuple, t.tolist())) for pair, t in confusion.items()},
        notes=(
            *_left_out(own, scale, sum(len(said) == 1 for said in people.values())),
            *_undefined(overall, len(names) - len(models)),
            *_models(models),
        ),
        models=tuple(sorted(models)),
    )


def _counts(grades: Grades, scale: Scale) -> Table:
    """Items x grades: how many gave it; only items that at least two people graded."""
    columns = {value: column for column, value in enumerate(scale.values)}
    rows = []
    for said in grades.values():
        if len(said) > 1:
            row = [0] * len(columns)
            for grade in said.values():
                row[columns[grade]] += 1
            rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(-1, len(columns))


def _confusions(grades: Grades, names: Sequence[str], scale: Scale) -> dict[tuple[str, str], Table]:
    """Counts of every pair of annotators that graded an item in common."""
    columns = {value: column for column, value in enumerate(scale.values)}
    found: dict[tuple[str, str], Table] = {}
    for said in grades.values():
        for pair in itertools.combinations(sorted(said), 2):
            table = found.setdefault(pair, np.zeros((len(columns), len(columns)), dtype=np.int64))
            table[columns[said[pair[0]]], columns[said[pair[1]]]] += 1
    return {p: found[p] for p in itertools.combinations(names, 2) if p in found}


def _left_out(own: Sequence[Judgment], scale: Scale, single: int) -> list[str]:
    verdicts = Counter(judgment.verdict for judgment in own)
    strange = sum(j.relevance is not None and j.relevance not in scale.values for j in own)
    parts = [
        _count(verdicts["skip"], "skip"),
        _count(verdicts["unsure"], "doubt"),
        _count(strange, "grade") + " outside the scale" if strange else "",
    ]
    named = [part for part in parts if part]
    notes = [f"Left out: {' and '.join(named)}."] if named else []
    if single:
        which = "items have" if single > 1 else "item has"
        notes.append(f"{single:,} {which} one grade only, and nothing to compare it with.")
    return notes


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number > 1)}" if number else ""


def _undefined(counts: Table, people: int) -> list[str]:
    if not len(counts):
        why = "no item has two grades yet" if people > 1 else "fewer than two people graded"
        return [f"Agreement is undefined: {why}."]
    notes = []
    if len(counts) < FEWEST:
        notes.append(f"Intervals need {FEWEST} items that two people graded.")
    raters = sorted(set(counts.sum(axis=1).tolist()))
    if len(raters) > 1:
        notes.append(
            f"Items have {raters[0]} to {raters[-1]} grades, so Fleiss' kappa is undefined; "
            "Krippendorff's alpha takes them as they are."
        )
    if (counts.sum(axis=0) > 0).sum() < 2:
        notes.append("Everybody gave the same grade to everything, so only raw agreement is known.")
    return notes


def _models(models: Iterable[str]) -> list[str]:
    names = ", ".join(sorted(models))
    return [f"{names} (a model) is compared in pairs only."] if names else []
