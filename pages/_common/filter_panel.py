"""Which documents are looked at: facets with counts that set filters, and what is set.

The same on every page that has a filter; the page keeps the filters in its URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

import streamlit as st

from engine.errors import BadInputError, SeedLensError
from engine.explorer import Explorer
from engine.types.corpora import FieldValues
from engine.types.searches import AMOUNT, ASPECT, DATE, PLACE, YEAR, Facets, Filter
from pages._common.components import component, listen
from pages._common.kit import button, fold, line
from pages._common.shared import attempt, escape, escape_label, note
from pages._common.state import PageView

MOST_OFFERED = 200  # values of a field; of a field with more, the others can be typed
MOST_UNFOLDED = 3  # fields, before a person unfolds more
CELL = 2  # degrees: the side of the squares of Facets.land
Filters = Sequence[Filter]
_PANEL = component("facets")


class PageFilters:
    """Which documents a page is about: the filters in the field ``where`` of its state; ``also``:
    fields that a change sets along."""

    def __init__(
        self, explorer: Explorer, corpus: str, state: type[PageView], *, key: str, **also: Any
    ) -> None:
        self._explorer, self._corpus, self._state = explorer, corpus, state
        self._key, self._also = key, also
        self.unread = ""
        self.filters: Filters = ()
        try:
            self.filters = explorer.parse_filters(self._where())
        except BadInputError:
            self.unread = self._where()

    def _where(self) -> str:
        return str(getattr(self._state.read(), "where", ""))

    def _write(self, filters: Filters) -> None:
        fields: dict[str, Any] = {"where": "; ".join(map(str, filters)), **self._also}
        self._state.change(lambda now: replace(now, **fields))

    def change(self, changed: Callable[[Filters], Filters]) -> None:
        """Change the filters that the page has now."""
        self._write(changed(self._explorer.parse_filters(self._where())))

    def chips(self) -> None:
        """What is set, each with a button that removes it; nothing where nothing is set."""
        with st.container():  # in any case: what follows keeps its place
            if self.unread:
                with line():
                    st.html(f"Invalid filter: <strong>{escape(self.unread)}</strong>")
                    self._remover("Remove ", self.unread, partial(self._write, ()))
            if self.filters:
                with st.container(horizontal=True, gap="small", key=f"{self._key}_filter_chips"):
                    for one in dict.fromkeys(self.filters):
                        drop = partial(self.change, partial(without, [one]))
                        self._remover("× ", one.words, drop)
                    if len(self.filters) > 1:
                        clear, key = partial(self._write, ()), f"{self._key}_filter_clear"
                        label = "Clear all filters"
                        button(label, key, clear, type="tertiary")

    def _remover(self, sign: str, words: str, do: Callable[[], None]) -> None:
        label, key = escape_label(words), f"{self._key}_filter_remove_{words}"
        help_ = f"Remove the filter {label}"
        st.button(f"{sign}{label}", key, help_, on_click=attempt, args=(do,))

    def panel(self, *, unfolds: bool = True) -> None:
        """Facets of the corpus, folded, and not counted, until a person unfolds them or, with
        ``unfolds``, something is set."""
        count = len(self.filters) + bool(self.unread)
        label = f"Filters ({count} set)" if count else "Filters"
        box = fold(label, f"{self._key}_filters", opened=unfolds and bool(count))
        if box.open:
            with box:
                self._facets()

    def _facets(self) -> None:
        explorer, corpus, filters = self._explorer, self._corpus, self.filters
        try:
            facets = explorer.facets(corpus, filters)
        except SeedLensError as error:
            note(f"{error.message} Counts ignore active filters.", error.remedy)
            facets = explorer.facets(corpus)
        stored = explorer.library.open(corpus).fields
        known = {name: stored[name] for name in by_use(stored) if name in facets.fields}

        def receive(event: Mapping[str, Any]) -> None:
            self.change(lambda now: chosen(now, event, stored))

        key = f"{self._key}_facets"
        _PANEL(
            key=key,
            data={
                "documents": facets.documents,
                "total": facets.total,
                "sections": sections(facets, filters, known),
            },
            on_change_change=listen(key, "change", receive),
        )


def without(which: Filters, now: Filters) -> Filters:
    """The filters of now but for some."""
    return [f for f in now if f not in which]


# -- what is shown ----------------------------------------------------------------------------


def sections(
    facets: Facets, filters: Filters, stored: Mapping[str, FieldValues]
) -> list[dict[str, Any]]:
    """The facets as the component shows them; ``stored``: the fields of the corpus, in order."""
    undated = f"{facets.undated:,} without a year" if facets.undated else ""
    found = [
        _range(YEAR, "Year", facets.years, filters, undated, opened=True),
        _aspects(facets, filters),
        *(
            _field(name, facets.fields[name], stored[name], filters, opened=i < MOST_UNFOLDED)
            for i, name in enumerate(stored)
        ),
        _range(DATE, "Dates in the text", facets.dates, filters),
        _places(facets, filters),
        _amounts(facets, filters),
    ]
    return [section for section in found if section is not None]


def _section(
    kind: str, field: str, title: str, is_set: bool, opened: bool, **more: Any
) -> dict[str, Any]:
    """What all sections have; one in which something is set is open."""
    about = {"kind": kind, "field": field, "title": title}
    return {**about, "set": is_set, "open": opened or is_set, **more}


def _bounds(filters: Filters, field: str) -> dict[str, Any]:
    """The ends of a range that filters set; "" for none."""
    ends = {f.op: f.value for f in reversed(filters) if f.field == field}
    return {"low": ends.get(">=", ends.get("=", "")), "high": ends.get("<=", ends.get("=", ""))}


def _range(
    field: str,
    title: str,
    counts: Mapping[int, int],
    filters: Filters,
    note: str = "",
    *,
    opened: bool = False,
) -> dict[str, Any] | None:
    is_set = any(f.field == field for f in filters)
    if not counts and not is_set:
        return None
    bars = [[year, n] for year, n in counts.items()]
    more = {"bars": bars, "note": note, **_bounds(filters, field)}
    return _section("range", field, title, is_set, opened, **more)


def _aspects(facets: Facets, filters: Filters) -> dict[str, Any] | None:
    if not facets.aspects or not facets.total:
        return None
    wanted = {value for f in filters if f.field == ASPECT for value in f.values}
    values = [
        {"value": a.key, "name": a.name, "count": n, "on": a.key in wanted, "role": role}
        for role, (a, n) in enumerate(facets.aspects)
    ]
    more = {"of": facets.aspects_of, "every": True, "values": values}
    return _section("values", ASPECT, "Aspects", bool(wanted), True, **more)


def _field(
    name: str, counted: FieldValues, stored: FieldValues, filters: Filters, *, opened: bool
) -> dict[str, Any]:
    wanted = values_set(filters, name)
    typed = len(stored.counts) > MOST_OFFERED
    offered = [v for v, count in counted.counts.items() if count > 1 or not typed]
    values = [
        {"value": v, "name": v, "count": counted.counts.get(v, 0), "on": v in wanted}
        for v in dict.fromkeys([*wanted, *offered[:MOST_OFFERED]])
    ]
    return _section(
        *("values", name, name, bool(wanted), opened),
        typed=typed,
        distinct=len(stored.counts),
        of=max(counted.counts.values(), default=0),
        note=f"{counted.without:,} without" if counted.without else "",
        values=values,
    )


def _places(facets: Facets, filters: Filters) -> dict[str, Any] | None:
    if not facets.places:
        return None
    wanted = values_set(filters, PLACE)
    values = [
        {"value": p.code, "name": p.name, "count": p.documents, "on": p.code in wanted, "at": p.at}
        for p in facets.places[:MOST_OFFERED]
    ]
    more = {"of": facets.places[0].documents, "land": _land_path(facets.land), "values": values}
    return _section("values", PLACE, "Places in the text", bool(wanted), False, **more)


def _amounts(facets: Facets, filters: Filters) -> dict[str, Any] | None:
    if not facets.amounts:
        return None
    units = [
        {
            "field": (field := f"{AMOUNT}{amount.unit}"),
            "unit": amount.unit,
            "count": amount.documents,
            "quantiles": amount.quantiles,
            "set": any(f.field == field for f in filters),
            **_bounds(filters, field),
        }
        for amount in facets.amounts
    ]
    units.sort(key=lambda unit: not unit["set"])
    is_set = any(unit["set"] for unit in units)
    return _section("amounts", AMOUNT, "Amounts in the text", is_set, False, units=units)


@lru_cache(maxsize=1)
def _land_path(land: tuple[tuple[int, int], ...]) -> str:
    """Squares as an SVG path; x is the longitude + 180, y is 90 - latitude."""
    parts = []
    # Squares that lie side by side in a row share a key.
    rows = groupby(enumerate(land), key=lambda pair: (pair[1][0], pair[1][1] - CELL * pair[0]))
    for (south, _), run in rows:
        squares = [corner for _, corner in run]
        width = CELL * len(squares)
        parts.append(f"M{squares[0][1] + 180} {90 - south - CELL}h{width}v{CELL}h-{width}z")
    return "".join(parts)


def by_use(fields: Mapping[str, FieldValues]) -> list[str]:
    """Fields, those first that divide the corpus best: few values, which many documents have."""

    def key(name: str) -> tuple[int, int, int]:
        values = fields[name]
        count, most = len(values.counts), max(values.counts.values())
        divides = 1 < count <= MOST_OFFERED and most > 1
        return (0 if divides else 1 if most > 1 and count > 1 else 2, values.without, count)

    return sorted((name for name in fields if name != YEAR), key=key)


# -- what a choice sets -----------------------------------------------------------------------


def values_set(filters: Filters, field: str) -> tuple[str, ...]:
    """The values of the first filter that has some for a field."""
    return next((f.values for f in filters if f.field == field and f.op == "="), ())


def chosen(
    now: Filters, event: Mapping[str, Any], fields: Mapping[str, FieldValues]
) -> Sequence[Filter]:
    """The filters of now with what was chosen in one facet: ``{"field", "values"}`` or, of a range,
    ``{"field", "low", "high"}``, "" for no bound."""
    field = str(event["field"])
    if "values" not in event:
        low, high = str(event["low"]).strip(), str(event["high"]).strip()
        new = [Filter.any_of(field, [low], ">=")] if low else []
        new += [Filter.any_of(field, [high], "<=")] if high else []
        return _replaced(now, field, new)
    values = [str(value) for value in event["values"]]
    if field == ASPECT:  # of several, documents have every one
        return _replaced(now, field, [Filter.any_of(field, [value]) for value in values])
    counts = fields[field].counts if field in fields else {}
    stored = [as_stored(value, counts) for value in values]
    return _replaced(now, field, [Filter.any_of(field, stored)] if values else [], ops="=")


def _replaced(now: Filters, field: str, new: Filters, ops: str = "<>=") -> list[Filter]:
    """Filters with new ones for a field, in the place of the first one it has with these signs."""
    old = [f for f in now if f.field == field and f.op[0] in ops]
    at = now.index(old[0]) if old else len(now)
    return [*now[:at], *new, *without(old if ops != "=" else old[:1], now[at:])]


def as_stored(value: str, counts: Mapping[str, int]) -> str:
    """A typed value as the corpus writes it, small and capital letters aside."""
    if value in counts:
        return value
    folded = value.strip().casefold()
    return next((known for known in counts if known.casefold() == folded), value.strip())
