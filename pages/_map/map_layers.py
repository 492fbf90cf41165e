"""What colours the points of a map, and what is marked on it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import Project
from engine.types.lenses import Lens
from engine.types.maps import CorpusMap, MapValues
from engine.types.searches import Query
from pages._map.map_parts import MOST_COLOURS
from pages._map.map_url import CLUSTER, LIKENESS, MARKS, WHOLE, MapView

NO_VALUE = 255
MOST_CATEGORIES = 11
"""Values with a colour of their own; all others share one, as twelve colours are told apart."""
OTHERS = "others"
YEAR, GRADE, FIELD = "year", "grade", "field:"
"""Begin or are the keys of colours."""
WHOLE_WORDS = "whole text"
MOST_FIELDS = 8
"""Fields that points can be coloured by: those that most documents have."""


@dataclass(frozen=True)
class Entry:
    """A line of the legend: a value from 0 to 254, and how many documents have it."""

    label: str
    value: int
    count: int


@dataclass(frozen=True)
class Colour:
    """How points are coloured.

    Attributes:
        key: names the values; equal as long as they are.
        scale: "clusters" (of the layout), "categories" or "range".
        values: one a document, 0 to 254 and 255 for none; None for clusters.
        entries: of the legend; a range without any shows its ends, ``low`` and ``high``.
        none_label: what 255 stands for.
    """

    key: str
    label: str
    scale: str
    values: NDArray[np.uint8] | None = None
    entries: Sequence[Entry] = ()
    low: str = ""
    high: str = ""
    none_label: str = "unknown"

    def legend(self) -> dict[str, object]:
        """What the component is told of it."""
        none = 0 if self.values is None else int((self.values == NO_VALUE).sum())
        return {
            "label": self.label, "scale": self.scale, "low": self.low, "high": self.high,
            "entries": [{"label": e.label, "value": e.value, "count": e.count}
                        for e in self.entries],
            "none": none, "none_label": self.none_label,
        }  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """Documents that are marked, by a shape and colour of their own.

    Attributes:
        rows: of the map.
    """

    name: str
    label: str
    rows: Sequence[int]


def of_range(
    key: str, label: str, values: NDArray[np.floating], write: Callable[[float], str]
) -> Colour:
    """Colours by a number; NaN for none.

    The lowest and highest hundredth share the ends, so that one odd value takes no colours away.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return Colour(key, label, "range", np.full(len(values), NO_VALUE, np.uint8))
    low, high = np.percentile(known, [1, 99])
    share = ((values - low) / max(high - low, 1e-9)).clip(0, 1)
    scaled = np.where(np.isnan(values), NO_VALUE, np.round(share * MOST_COLOURS)).astype(np.uint8)
    return Colour(key, label, "range", scaled, low=write(low), high=write(high))


def of_categories(key: str, label: str, codes: NDArray[np.int32], names: Sequence[str]) -> Colour:
    """Colours by the commonest categories.

    Args:
        codes: (n,) places in ``names``, most frequent first; -1 for none.
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    values = np.where(codes < 0, NO_VALUE, np.minimum(codes, MOST_CATEGORIES)).astype(np.uint8)
    entries = [Entry(names[i], i, int(counts[i])) for i in range(min(len(names), MOST_CATEGORIES))]
    if rest := int(counts[MOST_CATEGORIES:].sum()):
        entries.append(Entry(OTHERS, MOST_CATEGORIES, rest))
    return Colour(key, label, "categories", values, entries)


def of_grades(
    key: str, label: str, grades: NDArray[np.floating], names: Mapping[int, str]
) -> Colour:
    """Colours by grade, from the lowest to the highest of a scale.

    Args:
        grades: (n,), NaN for none.
        names: grade -> its name.
    """
    highest = max(max(names), 1)
    values = np.full(len(grades), NO_VALUE, np.uint8)
    entries = []
    for grade, name in sorted(names.items()):
        values[grades == grade] = value = round(grade / highest * MOST_COLOURS)
        entries.append(Entry(f"{grade} {name}", value, int((grades == grade).sum())))
    return Colour(key, label, "range", values, entries, none_label="not graded")


def choices(explorer: Explorer, view: MapView, lens: Lens, drawn: CorpusMap) -> dict[str, str]:
    """What points can be coloured by: the key that a link has -> words."""
    found = {CLUSTER: "Cluster"}
    names = {a.key: a.name for a in lens.aspects}
    found |= {f"{CLUSTER}:{n}": f"Cluster by {names.get(n, WHOLE_WORDS)}" for n in drawn.layouts}
    if view.seed or view.text_id:
        names = {WHOLE: "as a whole"} | {a.key: f"in {a.name}" for a in lens.aspects}
        found |= {
            f"{LIKENESS}{n}": f"Similarity to the seed {names.get(n, n)}" for n in drawn.layouts
        }
    fields = explorer.library.open(view.corpus).fields
    if fields[YEAR].counts:
        found[YEAR] = "Year"
    found[GRADE] = "Highest grade"
    by_use = sorted((f for f in fields if f != YEAR), key=lambda f: fields[f].without)
    return found | {f"{FIELD}{name}": name for name in by_use[:MOST_FIELDS]}


def colour(explorer: Explorer, view: MapView, words: str) -> Colour:
    """The colours of a view.

    Args:
        words: what is coloured by, as :func:`choices` has it.
    """
    if view.colour == CLUSTER:
        return Colour(CLUSTER, "cluster", "clusters")
    ask, kind = explorer.maps.values, view.colour
    if kind == GRADE:
        project = explorer.annotation.project(view.corpus, view.project)
        names = {grade.value: grade.name for grade in project.scale.grades}
        found = ask(view.corpus, GRADE, project=project)
        label = f"highest grade {f'in {project.name}' if project.name else 'on Explore'}"
        return _stamped(of_grades(kind, label, _numbers(found), names))
    if kind.startswith(LIKENESS):
        query = _query(explorer, view, kind.removeprefix(LIKENESS))
        words = words[0].lower() + words[1:]
        numbers = _numbers(ask(view.corpus, "likeness", query=query))
        if np.isnan(numbers).all():
            words += ", no value"
        return _stamped(of_range(kind, words, numbers, "{:.2f}".format))
    if kind.startswith(CLUSTER):
        found = ask(view.corpus, CLUSTER, layout=kind.removeprefix(f"{CLUSTER}:"))
    else:
        found = ask(view.corpus, kind.removeprefix(FIELD))
    if found.codes is not None:
        return _stamped(of_categories(kind, words, found.codes, found.names))
    return _stamped(of_range(kind, words.lower(), _numbers(found), "{:.0f}".format))


def _numbers(found: MapValues) -> NDArray[np.floating]:
    return np.empty(0, np.float32) if found.numbers is None else found.numbers


def _stamped(colour: Colour) -> Colour:
    """With a key that changes with the values: the browser is sent them anew."""
    values = b"" if colour.values is None else colour.values.tobytes()
    return replace(colour, key=f"{colour.key} {zlib.crc32(values):x}")


def _query(explorer: Explorer, view: MapView, layout: str) -> Query:
    """The search for the seed, a document or a pasted text, that a layout stands for."""
    text = explorer.notebook.text(view.text_id) if view.text_id else None
    aspect = None if layout == WHOLE else layout
    return Query(view.corpus, seed=None if view.text_id else view.seed, text=text, aspect=aspect)


def within(explorer: Explorer, view: MapView) -> list[int] | None:
    """The rows that the view's filters let through; None without filters that can be read."""
    try:
        filters = explorer.parse_filters(view.where)
    except BadInputError:  # the panel of filters shows it
        return None
    if not filters:
        return None
    allowed = explorer.library.open(view.corpus).scope(filters).allowed
    return None if allowed is None else np.flatnonzero(allowed).tolist()


def marks(explorer: Explorer, view: MapView) -> list[Mark]:
    """What is marked on the map, the seed last: it is drawn above all else."""
    project = explorer.annotation.project(view.corpus, view.project)
    lay = partial(explorer.maps.overlay, view.corpus, project=project)
    rows_of: dict[str, Callable[[], list[int]]] = {
        "pool": lambda: lay("pool").rows.tolist(),
        "judged": lambda: lay("judged").rows.tolist(),
        "results": lambda: _results(explorer, view, project),
        "holes": lambda: _holes(_results(explorer, view, project), lay("pool").rows),
    }
    found = [
        Mark(name, MARKS[name].replace("Top 20", f"Top 20 of {view.system}"), rows_of[name]())
        for name in view.marks
    ]
    row = explorer.library.open(view.corpus).row_of.get(view.seed)
    return found if row is None else [*found, Mark("seed", "Seed", [row])]


def _results(explorer: Explorer, view: MapView, project: Project) -> list[int]:
    """The top 20 for a query of the project, or for the seed as the map shows it."""
    queries = explorer.annotation.queries(project) if view.query else {}
    query = queries.get(view.query) or _query(explorer, view, view.layout)
    query = replace(query, system=view.system)
    rows: list[int] = explorer.maps.overlay(view.corpus, "results", query=query).rows.tolist()
    return rows


def _holes(rows: Sequence[int], pooled: NDArray[np.integer]) -> list[int]:
    held = set(pooled.tolist())
    return [row for row in rows if row not in held]
