"""How far people agree with a model, and what of its grades they should look at."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from engine.annotate.adjudication import Decision, decide
from engine.annotate.agreement import FEWEST, Table, pair_measures
from engine.types.annotating import Judgment, PoolItem, Scale
from engine.types.grading import GradingDifference, ModelCheck

Item = tuple[str, str]
"""(query_id, doc_id)"""


def models_of(judgments: Iterable[Judgment]) -> list[str]:
    """The models that graded something, the latest to do so last."""
    graded = [j.annotator for j in judgments if j.origin == "model" and j.relevance is not None]
    return list(dict.fromkeys(reversed(graded)))[::-1]


def draw_sample(
    pool: Iterable[PoolItem],
    judgments: Sequence[Judgment],
    count: int,
    seed: int = 0,
    annotator: str = "",
    known: Collection[str] | None = None,
) -> list[Item]:
    """Items that a model graded and no person has, drawn at random.

    The same seed draws in the same order, so that what is left of a sample comes first when
    another is drawn.

    Args:
        annotator: who is to look at them; what they skipped is left out.
        known: documents of the corpus; None for any.
    """
    graded, seen = set[Item](), set[Item]()
    for judgment in judgments:
        item = (judgment.query_id, judgment.doc_id)
        if judgment.origin == "model":
            graded |= {item} if judgment.relevance is not None else set()
        elif judgment.verdict in ("grade", "unsure") or judgment.annotator == annotator:
            seen.add(item)
    items = [(i.query_id, i.doc_id) for i in pool]
    left = {i for i in items if i in graded - seen and (known is None or i[1] in known)}
    return sorted(left, key=lambda item: _drawn(seed, item))[: max(0, count)]


def _drawn(seed: int, item: Item) -> str:
    return hashlib.sha256("\x00".join((str(seed), *item)).encode()).hexdigest()


def check_model(
    annotator: str, judgments: Iterable[Judgment], scale: Scale, aspects: Mapping[str, str]
) -> ModelCheck:
    """People against one model, on the items that both graded.

    Args:
        aspects: query_id -> aspect; "" for queries without one.
    """
    judgments = list(judgments)
    own = {
        (j.query_id, j.doc_id): j
        for j in judgments
        if j.annotator == annotator and j.origin == "model" and j.relevance is not None
    }
    people = {
        (d.query_id, d.doc_id): d
        for d in decide((j for j in judgments if j.origin != "model"), scale=scale).decisions
    }
    both = [
        (people[item], judgment)
        for item, judgment in own.items()
        if item in people
        and people[item].relevance in scale.values
        and judgment.relevance in scale.values
    ]
    undecided = sum(item in people and people[item].relevance is None for item in own)
    by_aspect = {
        aspect: pair_measures(
            _confusion([b for b in both if aspects.get(b[0].query_id, "") == aspect], scale)
        )
        for aspect in sorted({aspects.get(decision.query_id, "") for decision, _ in both})
    }
    table = _confusion(both, scale)
    notes = {(j.query_id, j.doc_id, j.annotator): j.note for j in judgments if j.origin != "model"}
    differing = [_difference(d, j, notes) for d, j in both if d.relevance != j.relevance]
    return ModelCheck(
        annotator=annotator,
        graded=len(own),
        items=len(both),
        undecided=undecided,
        grades=scale.values,
        measures=pair_measures(table),
        by_aspect=by_aspect,
        confusion=tuple(map(tuple, table.tolist())),
        differences=tuple(sorted(differing, key=lambda d: -abs(d.people - d.model))),
        notes=_notes(len(both), undecided),
    )


def _confusion(both: Iterable[tuple[Decision, Judgment]], scale: Scale) -> Table:
    """Counts, rows by the grade of people, columns by the model's."""
    places = {value: place for place, value in enumerate(scale.values)}
    table = np.zeros((len(places), len(places)), dtype=np.int64)
    for decision, judgment in both:
        table[places[decision.relevance or 0], places[judgment.relevance or 0]] += 1
    return table


def _difference(
    decision: Decision, judgment: Judgment, notes: Mapping[tuple[str, str, str], str]
) -> GradingDifference:
    item = (decision.query_id, decision.doc_id)
    decided = decision.decided
    who = [*decision.annotators, *([decided.annotator] if decided is not None else [])]
    said = {w: notes.get((*item, w), "") for w in who}
    if decided is not None:
        said[decided.annotator] = decided.note
    return GradingDifference(
        *item,
        people=decision.relevance or 0,
        model=judgment.relevance or 0,
        reason=judgment.note,
        annotators=tuple(dict.fromkeys(who)),
        notes={w: note for w, note in said.items() if note},
    )


def _notes(items: int, undecided: int) -> tuple[str, ...]:
    notes = []
    if undecided:
        which = f"{undecided:,} items are" if undecided > 1 else "1 item is"
        notes.append(f"{which} left out: people differ there, and nobody has decided.")
    if 0 < items < FEWEST:
        notes.append(f"Intervals need {FEWEST} items that both graded.")
    return tuple(notes)
