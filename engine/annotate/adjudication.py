"""What the grades of several annotators come to: decisions, qrels, and how far they agree.

A decision is an event like any judgment, with the reason as its note, by its author;
annotators' own grades do not change.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.annotate.projects import is_unread
from engine.text import counted, noted
from engine.types.annotating import (
    ADJUDICATED,
    Agreement,
    AgreementMeasure,
    AgreementPoint,
    AgreementStep,
    Disagreement,
    GradingDifference,
    Item,
    Judgment,
    ModelCheck,
    Scale,
)
from engine.types.evaluations import Interval

Basis = Literal["adjudicated", "agreed", "single", "median", "model", "undecided"]
DECIDED_FIELDS = (
    *("query_id", "doc_id", "relevance", "annotator", "note", "time"),
    *("basis", "by", "annotators"),
)
"""Columns of adjudicated grades: ``basis`` says what each rests on, ``by`` who decided."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The grade of one (query, document), and what it rests on."""

    query_id: str
    doc_id: str
    relevance: int | None  # None while ``undecided``
    # ``adjudicated`` by a person, ``agreed`` by two or more, ``single``, the ``median`` of grades
    # that differ, or a ``model`` where no person graded
    basis: Basis
    annotators: tuple[str, ...]  # who graded: people, unless it rests on a ``model``
    decided: Judgment | None = None  # the adjudication; None without one

    @property
    def item(self) -> Item:
        return (self.query_id, self.doc_id)

    def row(self) -> dict[str, Any]:
        """:data:`DECIDED_FIELDS` as JSON-ready values."""
        decided = self.decided
        return {
            **{name: getattr(self, name) for name in ("query_id", "doc_id", "relevance")},
            "annotator": ADJUDICATED,
            "note": "" if decided is None else decided.note,
            "time": None if decided is None else decided.time.isoformat(),
            "basis": self.basis,
            "by": "" if decided is None else decided.annotator,
            "annotators": list(self.annotators),
        }


@dataclass(frozen=True, slots=True)
class DecidedQrels:
    """The qrels of a project."""

    # one per graded (query, document), in order of arrival, undecided ones included
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...] = ()  # plain sentences about what is not in the grades

    @property
    def grades(self) -> dict[str, dict[str, int]]:
        """query_id -> doc_id -> grade; what is undecided is unjudged."""
        by_query: dict[str, dict[str, int]] = {}
        for decision in self.decisions:
            if decision.relevance is not None:
                by_query.setdefault(decision.query_id, {})[decision.doc_id] = decision.relevance
        return by_query

    def rows(self) -> list[dict[str, Any]]:
        """The grades as rows of a table."""
        return [one.row() for one in self.decisions if one.relevance is not None]

    @property
    def undecided(self) -> int:
        return self.count("undecided")

    def count(self, basis: Basis) -> int:
        """How many decisions rest on this."""
        return sum(decision.basis == basis for decision in self.decisions)


def decide(
    judgments: Iterable[Judgment],
    *,
    median: bool = False,
    model_grades: bool = False,
    audit: bool = False,
    retired: Container[str] = (),
    scale: Scale | None = None,
) -> DecidedQrels:
    """The grade of every item: the adjudicated one, else the one that all annotators gave, else
    with ``median`` the (lower) median. Grades of models, audits, retired queries and other scales
    (None for any) count where the arguments say so."""
    everything = list(judgments)
    counting = [j for j in everything if audit or j.origin != "audit"]
    asked = [j for j in counting if j.query_id not in retired]
    judgments = [j for j in asked if scale is None or j.relevance in (None, *scale.values)]
    decisions: list[Decision] = []
    for (query_id, doc_id), said in _by_item(judgments).items():
        decided = _adjudication(said)
        graded = [j for j in said if j.relevance is not None and j.origin != "adjudication"]
        people = [j for j in graded if j.origin != "model"]
        who = tuple(j.annotator for j in people)
        if decided is not None:
            one = Decision(query_id, doc_id, decided.relevance, "adjudicated", who, decided)
            decisions.append(one)
        elif people:
            decisions.append(_settled(query_id, doc_id, people, median=median))
        elif graded and model_grades:
            one = _settled(query_id, doc_id, graded, median=median)
            decisions.append(one if one.relevance is None else replace(one, basis="model"))
    by_models = {j.item for j in judgments if j.origin == "model"} - {d.item for d in decisions}
    gone = {j.query_id for j in everything if j.query_id in retired}
    foreign, audits = len(asked) - len(judgments), len(everything) - len(counting)
    counts = Counter(decision.basis for decision in decisions)
    middle = "the (lower) median of grades that differ; nobody decided."
    notes = noted(
        (counts["undecided"], "item is/items are", "left out: grades differ, and nobody decided."),
        (counts["median"], "item has/items have", middle),
        (counts["model"], "grade rests/grades rest", "on a model alone: no person graded there."),
        (len(by_models), "item was/items were", "graded by a model only, and left out."),
        (len(gone), "query is/queries are", "retired: the grades are kept, and left out."),
        (foreign, "grade is/grades are", "not in the project's scale, and left out."),
        (audits, "audit grade is/audit grades are", "left out: given to check a model."),
    )
    return DecidedQrels(tuple(decisions), notes)


def _settled(query_id: str, doc_id: str, graded: Sequence[Judgment], *, median: bool) -> Decision:
    grades = [j.relevance for j in graded if j.relevance is not None]
    who = tuple(j.annotator for j in graded)
    if len(set(grades)) == 1:
        return Decision(query_id, doc_id, grades[0], "agreed" if grades[1:] else "single", who)
    if median:
        return Decision(query_id, doc_id, statistics.median_low(grades), "median", who)
    return Decision(query_id, doc_id, None, "undecided", who)


def find_disagreements(judgments: Iterable[Judgment]) -> list[Disagreement]:
    """Grades that differ, the widest spread first, then unsure ones; decided items last."""
    differing = []
    for (query_id, doc_id), everything in _by_item(judgments).items():
        said = [j for j in everything if j.origin not in ("adjudication", "audit")]
        grades = [j.relevance for j in said if j.relevance is not None and j.origin != "model"]
        spread = max(grades) - min(grades) if grades else 0
        decided = _adjudication(everything)
        if spread or decided is not None or any(j.verdict == "unsure" for j in said):
            differing.append(Disagreement(query_id, doc_id, tuple(said), spread, decided))
    return sorted(differing, key=lambda d: (d.decided is not None, -d.spread))


def _by_item(judgments: Iterable[Judgment]) -> Mapping[Item, list[Judgment]]:
    by_item: dict[Item, list[Judgment]] = {}
    for judgment in judgments:
        by_item.setdefault(judgment.item, []).append(judgment)
    return by_item


def _adjudication(said: Iterable[Judgment]) -> Judgment | None:
    """The last decision to arrive; when its author takes it back, the one before."""
    return next(reversed([j for j in said if j.origin == "adjudication"]), None)


GRADERS = ("person", "import", "model")  # origins of grades that annotators gave


def own_grades(
    judgments: Sequence[Judgment], *, models: bool = False
) -> dict[str, dict[str, dict[str, int]]]:
    """annotator -> query_id -> doc_id -> grade of people, with ``models`` also of models."""
    origins = GRADERS if models else GRADERS[:2]
    by_annotator: dict[str, dict[str, dict[str, int]]] = {}
    for judgment in judgments:
        if judgment.relevance is not None and judgment.origin in origins:
            own = by_annotator.setdefault(judgment.annotator, {}).setdefault(judgment.query_id, {})
            own[judgment.doc_id] = judgment.relevance
    return dict(sorted(by_annotator.items()))


def graded_by_model(judgments: Iterable[Judgment], annotator: str) -> dict[Item, Judgment]:
    """What one model read and graded, by item."""
    own = (j for j in judgments if j.annotator == annotator and j.origin == "model")
    return {j.item: j for j in own if j.relevance is not None and not is_unread(j)}


Table = NDArray[np.int64]
Values = NDArray[np.float64]
"""A coefficient of what was observed, and then of every resample; NaN where it is undefined."""
Weighting = Literal["linear", "quadratic"] | None

RAW = "raw"
FLEISS = "fleiss_kappa"
ALPHA = "krippendorff_alpha"
KAPPAS: dict[str, Weighting] = {
    "cohen_kappa": None,
    "cohen_kappa_linear": "linear",
    "cohen_kappa_quadratic": "quadratic",
}
DRAWS = 1000
FEWEST = 10  # items that an interval is made from: of fewer, resamples say nothing
LEVEL = 0.95
_EXACT = 1e-12


def pair_measures(confusion: Table) -> tuple[AgreementMeasure, ...]:
    """Raw agreement and Cohen's kappas of two annotators from k x k counts, grades ascending;
    weights count steps of the scale."""
    items = int(confusion.sum())
    tables = _with_resamples(confusion.ravel()).reshape(-1, *confusion.shape)
    raw = _ratio(np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2)))
    kappas = {name: cohen_kappa(tables, weighting) for name, weighting in KAPPAS.items()}
    return tuple(_measure(name, values, items) for name, values in {RAW: raw, **kappas}.items())


def group_measures(counts: Table) -> tuple[AgreementMeasure, ...]:
    """Raw agreement, Fleiss' kappa and Krippendorff's alpha from items x k counts of grades, at
    least two per item; Fleiss' kappa is undefined where items differ in how many."""
    items = len(counts)
    if not items:
        return tuple(AgreementMeasure(name, None, None, 0) for name in (RAW, FLEISS, ALPHA))
    # Items with the same grades count the same, so that only patterns are resampled.
    patterns, times = np.unique(counts, axis=0, return_counts=True)
    raters = patterns.sum(axis=1)
    agreeing = (patterns * (patterns - 1)).sum(axis=1) / (raters * (raters - 1))
    stack = _with_resamples(times)
    raw = stack @ agreeing / items
    is_even = len(set(raters.tolist())) == 1
    fleiss = fleiss_kappa(raw, stack @ patterns) if is_even else np.full(len(stack), np.nan)
    alpha = krippendorff_alpha(np.tensordot(stack, _coincidences(patterns), axes=1))
    named = {RAW: raw, FLEISS: fleiss, ALPHA: alpha}
    return tuple(_measure(name, values, items) for name, values in named.items())


def cohen_kappa(tables: NDArray[np.float64], weighting: Weighting = None) -> Values:
    """Cohen's kappa (1960, weighted 1968) of each k x k table; undefined where both annotators gave
    one and the same grade to everything."""
    total = tables.sum(axis=(1, 2))[:, None, None]
    chance = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :] / np.maximum(total, 1)
    steps = np.abs(np.subtract.outer(*[np.arange(tables.shape[1])] * 2)).astype(float)
    weights = {None: steps > 0, "linear": steps, "quadratic": steps**2}[weighting]
    return 1.0 - _ratio((weights * tables).sum(axis=(1, 2)), (weights * chance).sum(axis=(1, 2)))


def krippendorff_alpha(coincidences: NDArray[np.float64]) -> Values:
    """Krippendorff's alpha (2004, chapter 11) of ordinal grades, per k x k matrix of coincidences;
    undefined for a single grade.

    The distance of grades c < k is (n_c / 2 + n_(c+1) + ... + n_k / 2) squared.
    """
    sums = coincidences.sum(axis=2)
    middles = np.cumsum(sums, axis=1) - sums / 2
    distances = (middles[:, :, None] - middles[:, None, :]) ** 2
    total = sums.sum(axis=1)
    chance = sums[:, :, None] * sums[:, None, :] / np.maximum(total - 1, 1)[:, None, None]
    return 1.0 - _ratio(
        (distances * coincidences).sum(axis=(1, 2)), (distances * chance).sum(axis=(1, 2))
    )


def fleiss_kappa(raw: Values, grades: NDArray[np.float64]) -> Values:
    """Fleiss' kappa (1971), where all items have as many grades, from raw agreement of pairs and
    counts of each grade, as observed and resampled."""
    shares = grades / np.maximum(grades.sum(axis=1), 1)[:, None]
    return 1.0 - _ratio(1.0 - raw, 1.0 - (shares**2).sum(axis=1))


def _coincidences(patterns: Table) -> NDArray[np.float64]:
    """How often two grades meet in an item of each pattern; each grade weighs one in all."""
    values = patterns.astype(float)
    pairs: NDArray[np.float64] = values[:, :, None] * values[:, None, :]
    pairs -= values[:, :, None] * np.eye(patterns.shape[1])
    pairs /= (values.sum(axis=1) - 1)[:, None, None]
    return pairs


def _with_resamples(times: NDArray[Any]) -> NDArray[np.float64]:
    """Counts as observed and of bootstrap draws; no draws from fewer than :data:`FEWEST` items."""
    total = int(times.sum())
    if total < FEWEST:
        return times[None].astype(float)
    draws = np.random.default_rng(0).multinomial(total, times / total, size=DRAWS)
    return np.vstack([times, draws]).astype(float)


def _measure(name: str, values: Values, items: int) -> AgreementMeasure:
    """A value with its percentile bootstrap; None where half of the draws are undefined."""
    value, drawn = values[0], values[1:]
    if not np.isfinite(value):
        return AgreementMeasure(name, None, None, items)
    drawn = drawn[np.isfinite(drawn)]
    interval: Interval = None
    if drawn.size >= DRAWS / 2:
        tail = 50 * (1 - LEVEL)
        low, high = np.percentile(drawn, [tail, 100 - tail])
        interval = float(low), float(high)
    return AgreementMeasure(name, float(value), interval, items)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> Values:
    # NaN where chance allows no disagreement.
    ratios: Values = np.full(below.shape, np.nan)
    np.divide(above, below, out=ratios, where=below > _EXACT)
    return ratios


Grades = Mapping[Item, Mapping[str, int]]  # (query_id, doc_id) -> annotator -> grade


def find_agreement(
    judgments: Iterable[Judgment],
    scale: Scale,
    aspects: Mapping[str, str],
    *,
    audit: bool = False,
) -> Agreement:
    """Agreement of current judgments, without adjudications; over all of people only, with models
    in pairs. ``aspects`` by query_id, "" for none; ``audit`` counts grades given to check a
    model."""
    everything = [j for j in judgments if j.origin != "adjudication"]
    own = [j for j in everything if audit or j.origin != "audit"]
    everybody = _grades_of(own, scale)
    models = {j.annotator for j in own if j.origin == "model" and j.relevance in scale.values}
    people = {
        item: {who: grade for who, grade in said.items() if who not in models}
        for item, said in everybody.items()
    }
    names = tuple(sorted({who for said in everybody.values() for who in said}))
    confusion = _confusions(everybody, names, scale)
    overall = item_counts(people, scale)
    by_aspect: dict[str, dict[Item, Mapping[str, int]]] = {}
    for item, said in people.items():
        by_aspect.setdefault(aspects.get(item[0], ""), {})[item] = said
    return Agreement(
        annotators=names,
        grades=scale.values,
        measures=group_measures(overall),
        pairs={pair: pair_measures(table) for pair, table in confusion.items()},
        by_aspect={
            aspect: group_measures(item_counts(by_aspect[aspect], scale))
            for aspect in sorted(by_aspect)
        },
        confusion={pair: tuple(map(tuple, t.tolist())) for pair, t in confusion.items()},
        notes=(
            *_left_out(own, scale, len(everything) - len(own)),
            *_undefined(people, overall, len(names) - len(models)),
            *(f"{name} (a model) is compared in pairs only." for name in sorted(models)),
        ),
        models=tuple(sorted(models)),
    )


def _grades_of(judgments: Iterable[Judgment], scale: Scale) -> dict[Item, dict[str, int]]:
    grades: dict[Item, dict[str, int]] = {}
    for judgment in judgments:
        if judgment.relevance in scale.values:
            grades.setdefault(judgment.item, {})[judgment.annotator] = judgment.relevance
    return grades


def item_counts(grades: Grades, scale: Scale) -> Table:
    """Items x grades: how many gave it; only items that at least two people graded."""
    several = (Counter(said.values()) for said in grades.values() if len(said) > 1)
    rows = [[counts[value] for value in scale.values] for counts in several]
    return np.array(rows, dtype=np.int64).reshape(-1, len(scale.values))


def _confusions(grades: Grades, names: Sequence[str], scale: Scale) -> dict[tuple[str, str], Table]:
    common: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for said in grades.values():
        for one, other in itertools.combinations(sorted(said), 2):
            common.setdefault((one, other), []).append((said[one], said[other]))
    pairs = itertools.combinations(names, 2)
    return {pair: _confusion(common[pair], scale) for pair in pairs if pair in common}


def _confusion(both: Iterable[tuple[int, int]], scale: Scale) -> Table:
    """Counts of items, grades ascending."""
    counts = Counter(both)
    rows = [[counts[one, other] for other in scale.values] for one in scale.values]
    return np.array(rows, dtype=np.int64)


def _left_out(own: Sequence[Judgment], scale: Scale, audits: int) -> list[str]:
    verdicts = Counter(judgment.verdict for judgment in own)
    foreign = sum(j.relevance is not None and j.relevance not in scale.values for j in own)
    counts = {
        "skip": verdicts["skip"],
        "unsure/unsure": verdicts["unsure"],
        "grade outside the scale/grades outside the scale": foreign,
        "audit grade": audits,
    }
    parts = [counted(count, *what.split("/")) for what, count in counts.items() if count]
    return [f"Left out: {' and '.join(parts)}."] if parts else []


def _undefined(grades: Grades, counts: Table, people: int) -> list[str]:
    single = sum(len(said) == 1 for said in grades.values())
    alone = "one grade only, and nothing to compare it with."
    notes = [*noted((single, "item has/items have", alone))]
    if not len(counts):
        why = "no item has two grades yet" if people > 1 else "fewer than two people graded"
        return [*notes, f"Agreement is undefined: {why}."]
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


def agreement_over_time(
    judgments: Iterable[Judgment], scale: Scale, step: AgreementStep, most: int = 40
) -> list[AgreementPoint]:
    """Agreement of people over the items that two or more had graded, from the first on, per day or
    at even numbers of items, at ``most`` points. A changed grade counts as it is now, from the time
    of the change; the last point equals :func:`find_agreement`."""
    own = [j for j in judgments if j.origin in ("person", "import") and j.relevance in scale.values]
    own.sort(key=lambda judgment: judgment.time)
    seen = Counter[Item]()
    shared = []  # where in ``own`` an item got its second grade
    for at, judgment in enumerate(own):
        seen[judgment.item] += 1
        if seen[judgment.item] == 2:
            shared.append(at)
    points = []
    for count in _cuts([own[at].time for at in shared], step, most):
        until = own[: shared[count] if count < len(shared) else None]
        measures = group_measures(item_counts(_grades_of(until, scale), scale))
        points.append(AgreementPoint(count, until[-1].time, measures))
    return points


def _cuts(times: Sequence[datetime], step: AgreementStep, most: int) -> list[int]:
    """Number of items of each point, ascending; the last is all."""
    total = len(times)
    if step == "items":
        return sorted({-(-total * number // most) for number in range(1, most + 1)} - {0})
    ends = [at for at in range(1, total) if times[at].date() != times[at - 1].date()]
    return [*ends, *([total] if total else [])][-most:]


def models_of(judgments: Iterable[Judgment]) -> list[str]:
    """The models that graded something, the latest to do so last."""
    graded = [j.annotator for j in judgments if j.origin == "model" and j.relevance is not None]
    return list(dict.fromkeys(reversed(graded)))[::-1]


def check_model(
    annotator: str, judgments: Iterable[Judgment], scale: Scale, aspects: Mapping[str, str]
) -> ModelCheck:
    """People against one model on items that both graded; otherwise as :func:`find_agreement`."""
    judgments = list(judgments)
    own = graded_by_model(judgments, annotator)
    by_people = [j for j in judgments if j.origin != "model"]
    people = {d.item: d for d in decide(by_people, audit=True, scale=scale).decisions}
    shared = [(people[item], j) for item, j in own.items() if item in people]
    undecided = sum(decision.relevance is None for decision, _ in shared)
    both = [pair for pair in shared if all(one.relevance in scale.values for one in pair)]
    grades: dict[str, list[tuple[int, int]]] = {}
    for decision, judgment in both:
        pair = (decision.relevance or 0, judgment.relevance or 0)
        grades.setdefault(aspects.get(decision.query_id, ""), []).append(pair)
    table = _confusion(itertools.chain.from_iterable(grades.values()), scale)
    said: dict[Item, list[Judgment]] = {}
    for one in by_people:
        if one.origin != "adjudication" and one.relevance in scale.values:
            said.setdefault(one.item, []).append(one)
    differing = [
        GradingDifference(
            *decision.item,
            people=decision.relevance or 0,
            model=judgment.relevance or 0,
            reason=judgment.note,
            said={j.annotator: j.relevance or 0 for j in said.get(decision.item, ())},
            notes={j.annotator: j.note for j in said.get(decision.item, ()) if j.note},
            decided_by=decision.decided.annotator if decision.decided else "",
            decision=decision.decided.note if decision.decided else "",
        )
        for decision, judgment in both
        if decision.relevance != judgment.relevance
    ]
    why = "left out: people differ there, and nobody has decided."
    few = [f"Intervals need {FEWEST} items that both graded."] * (0 < len(both) < FEWEST)
    return ModelCheck(
        annotator=annotator,
        graded=len(own),
        items=len(both),
        undecided=undecided,
        grades=scale.values,
        measures=pair_measures(table),
        by_aspect={a: pair_measures(_confusion(grades[a], scale)) for a in sorted(grades)},
        confusion=tuple(map(tuple, table.tolist())),
        differences=tuple(sorted(differing, key=lambda d: -abs(d.people - d.model))),
        notes=(*noted((undecided, "item is/items are", why)), *few),
    )
