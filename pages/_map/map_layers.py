"""What colours the points of a map, and what is marked on it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.types.maps import MapValues
from engine.types.searches import Query
from pages._map.map_parts import MOST_COLOURS
from pages._map.map_state import CLUSTER, LIKENESS, MARKS, WHOLE, MapPage

NO_VALUE = 255
MOST_CATEGORIES = 11
"""Values with a colour of their own; all others are grey, as people distinguish twelve colours."""
OTHERS = "others"
YEAR, GRADE, FIELD = "year", "grade", "field:"  # Begin or are the keys of colours
MOST_FIELDS = 8  # Fields that points can be coloured by: those that most documents have


@dataclass(frozen=True)
class Entry:
    """A line of the legend: a value from 0 to 254, and how many documents have it."""

    label: str
    value: int
    count: int


@dataclass(frozen=True)
class Colour:
    """How points are coloured."""

    key: str  # names the values; equal as long as they are
    label: str
    scale: str  # "clusters" (of the layout), "categories" or "range"
    values: NDArray[np.uint8] | None = None  # 0 to 254, 255 for none; None for clusters
    entries: Sequence[Entry] = ()  # of the legend; a range without any shows low and high
    low: str = ""
    high: str = ""
    none_label: str = "unknown"  # what 255 stands for

    def legend(self) -> dict[str, object]:
        """What the component shows of it."""
        return {
            **{name: getattr(self, name) for name in ("label", "scale", "low", "high")},
            "entries": [asdict(entry) for entry in self.entries],
            "none": 0 if self.values is None else int((self.values == NO_VALUE).sum()),
            "none_label": self.none_label,
        }


def of_range(
    key: str, label: str, values: NDArray[np.floating], write: Callable[[float], str]
) -> Colour:
    """Colours by a number, NaN for none; the lowest and highest hundredth share the ends."""
    known = values[~np.isnan(values)]
    if not known.size:
        return Colour(key, label, "range", np.full(len(values), NO_VALUE, np.uint8))
    low, high = np.percentile(known, [1, 99])
    share = ((values - low) / max(high - low, 1e-9)).clip(0, 1)
    scaled = np.where(np.isnan(values), NO_VALUE, np.round(share * MOST_COLOURS)).astype(np.uint8)
    return Colour(key, label, "range", scaled, low=write(low), high=write(high))


def of_categories(key: str, label: str, codes: NDArray[np.int32], names: Sequence[str]) -> Colour:
    """Colours by the commonest categories; codes: (n,) places in ``names``, most frequent first, -1
    for none."""
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    values = np.where(codes < 0, NO_VALUE, np.minimum(codes, MOST_CATEGORIES)).astype(np.uint8)
    entries = [Entry(names[i], i, int(counts[i])) for i in range(min(len(names), MOST_CATEGORIES))]
    if rest := int(counts[MOST_CATEGORIES:].sum()):
        entries.append(Entry(OTHERS, MOST_CATEGORIES, rest))
    return Colour(key, label, "categories", values, entries)


def of_grades(
    key: str, label: str, grades: NDArray[np.floating], names: Mapping[int, str]
) -> Colour:
    """Colours by grade, (n,), NaN for none; names: grade -> its name."""
    highest = max(max(names), 1)
    values = np.full(len(grades), NO_VALUE, np.uint8)
    entries = []
    for grade, name in sorted(names.items()):
        values[grades == grade] = value = round(grade / highest * MOST_COLOURS)
        entries.append(Entry(f"{grade} {name}", value, int((grades == grade).sum())))
    return Colour(key, label, "range", values, entries, none_label="not graded")


def choices(page: MapPage) -> dict[str, str]:
    """What points can be coloured by: the key that a link has -> words."""
    view, layouts, found = page.view, page.drawn.layouts, {CLUSTER: "Cluster"}
    names = {a.key: a.name for a in page.lens.aspects}
    found |= {f"{CLUSTER}:{n}": f"Cluster by {names.get(n, 'whole text')}" for n in layouts}
    if view.seed or view.text_id:
        ways = {WHOLE: "as a whole"} | {key: f"in {name}" for key, name in names.items()}
        found |= {f"{LIKENESS}{n}": f"Similarity to the seed {ways.get(n, n)}" for n in layouts}
    fields = page.explorer.library.open(page.corpus).fields
    if fields[YEAR].counts:
        found[YEAR] = "Year"
    found[GRADE] = "Highest grade"
    by_use = sorted((f for f in fields if f != YEAR), key=lambda f: fields[f].without)
    return found | {f"{FIELD}{name}": name for name in by_use[:MOST_FIELDS]}


def colour(page: MapPage, words: str) -> Colour:
    """The colours of a view, called ``words``; the key changes with the values."""
    if page.view.colour == CLUSTER:
        coarse = page.drawn.layouts[page.view.layout].levels[0]
        counts = np.bincount(coarse.labels[coarse.labels >= 0], minlength=len(coarse.names))
        named = zip(coarse.names, counts.tolist(), strict=True)
        entries = [Entry(name, value, count) for value, (name, count) in enumerate(named)]
        return Colour(CLUSTER, "cluster", "clusters", entries=entries)
    found = _coloured(page, words)
    values = b"" if found.values is None else found.values.tobytes()
    return replace(found, key=f"{found.key} {zlib.crc32(values):x}")


def _coloured(page: MapPage, words: str) -> Colour:
    corpus, kind, ask = page.corpus, page.view.colour, page.explorer.maps.values
    if kind == GRADE:
        project = page.project
        names = {grade.value: grade.name for grade in project.scale.grades}
        label = f"highest grade {f'in {project.name}' if project.name else 'on Explore'}"
        return of_grades(kind, label, _numbers(ask(corpus, GRADE, project=project)), names)
    if kind.startswith(LIKENESS):
        query = page.query(kind.removeprefix(LIKENESS))
        numbers = _numbers(ask(corpus, "likeness", query=query))
        lacking = ", no value" if np.isnan(numbers).all() else ""
        label = f"{words[0].lower()}{words[1:]}{lacking}"
        return of_range(kind, label, numbers, "{:.2f}".format)
    if kind.startswith(CLUSTER):
        found = ask(corpus, CLUSTER, layout=kind.removeprefix(f"{CLUSTER}:"))
    else:
        found = ask(corpus, kind.removeprefix(FIELD))
    if found.codes is not None:
        return of_categories(kind, words, found.codes, found.names)
    return of_range(kind, words.lower(), _numbers(found), "{:.0f}".format)


def _numbers(found: MapValues) -> NDArray[np.floating]:
    return np.empty(0, np.float32) if found.numbers is None else found.numbers


def marks(page: MapPage) -> list[dict[str, Any]]:
    """Name, label and rows of what is marked on the map, the seed last: above all else."""
    view, explorer, found = page.view, page.explorer, []
    given: Any = {"project": page.project, "query": _query(page)}
    for name in view.marks:
        kind: Any = "results" if name == "holes" else name
        marked = explorer.maps.overlay(page.corpus, kind, **given)
        if name == "holes":
            pooled = set(explorer.maps.overlay(page.corpus, "pool", **given))
            marked = [row for row in marked if row not in pooled]
        label = MARKS[name].replace("Top 20", f"Top 20 of {view.system}")
        found.append({"name": name, "label": label, "rows": marked})
    row = explorer.library.open(page.corpus).row_of.get(view.seed)
    seed = {"name": "seed", "label": "Seed", "rows": [row]}
    return found if row is None else [*found, seed]


def _query(page: MapPage) -> Query:
    """The query of the project, or the seed as the map shows it."""
    view, explorer = page.view, page.explorer
    queries = explorer.annotation.queries(page.project) if view.query else {}
    return replace(queries.get(view.query) or page.query(view.layout), system=view.system)
