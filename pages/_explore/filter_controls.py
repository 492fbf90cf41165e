"""The filters of the Explore page: a control per field, and which of them leaves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.corpora import FieldValues
from engine.types.searches import Filter, Query, SearchResults
from pages._common.outside_text import escape, with_marks
from pages._common.shared import attempt, escape_label
from pages._explore.explore_url import View, filters_of

YEAR = "year"
MOST_CHOICES = 200
"""Values of a field that are offered; of a field with more, the others can be typed."""
MOST_SHOWN = 3
"""Fields with a control of their own before anybody asks for more."""
_MORE = "explore_filter_more"
_ADDED = "explore_filter_added"
"""Fields that this visit asked for, by corpus."""


def filter_controls(explorer: Explorer, view: View) -> None:
    """Years as a range, fields as choices with counts; a filter without a control as a line."""
    fields = explorer.library.open(view.corpus).fields
    set_now, unread = _set_now(explorer, view)
    years = _years_of(view, fields[YEAR])
    chosen = {f.field: f for f in reversed(set_now) if _has_choices(f, fields)}
    others = [f for f in set_now if f not in chosen.values() and not (years and _is_bound(f))]
    count = len(set_now) + len(unread)
    with st.expander(
        f"Filters ({count} set)" if count else "Filters",
        expanded=bool(count), key="explore_filters",
    ):  # fmt: skip
        for text, cleared in unread:
            _line(text, "cannot be read", partial(View.change, cleared))
        for one in others:
            why = "" if one.field in fields else f"there is no field {one.field}"
            _line(one.words, why, partial(_drop, explorer, [one]))
        if years:
            _year_range(years, fields[YEAR])
        names = _by_use(fields)
        added = st.session_state.get(_ADDED, {}).get(view.corpus, [])
        shown = [n for n in names if n in {*names[:MOST_SHOWN], *chosen, *added}]
        for name in shown:
            values = chosen[name].values if name in chosen else ()
            _choices(explorer, name, fields[name], values)
        _more_fields(view.corpus, {n: fields[n] for n in names if n not in shown})


def _set_now(
    explorer: Explorer, view: View
) -> tuple[tuple[Filter, ...], list[tuple[str, Callable[[View], View]]]]:
    """The filters of a view, and what of it is none, each with what clears it."""
    parts = {
        "year_from": f"{YEAR}>={view.year_from}" if view.year_from else "",
        "year_to": f"{YEAR}<={view.year_to}" if view.year_to else "",
        "where": view.where,
    }
    read: list[Filter] = []
    unread: list[tuple[str, Callable[[View], View]]] = []
    for name, text in parts.items():
        try:
            read += explorer.parse_filters(text)
        except BadInputError:
            unread.append((text, partial(_cleared, name)))
    return tuple(read), unread


def _cleared(name: str, view: View) -> View:
    cleared: dict[str, Any] = {name: "", "page": 1}
    return replace(view, **cleared)


def _has_choices(one: Filter, fields: Mapping[str, FieldValues]) -> bool:
    return one.field in fields and one.field != YEAR and one.op == "="


def _is_bound(one: Filter) -> bool:
    return one.field == YEAR and one.op != "="


def _change(explorer: Explorer, change: Callable[[Sequence[Filter]], Sequence[Filter]]) -> None:
    View.change(lambda now: replace(now, **filters_of(change(now.filters(explorer))), page=1))


def _drop(explorer: Explorer, which: Sequence[Filter]) -> None:
    _change(explorer, lambda now: [f for f in now if f not in which])


def _line(words: str, why: str, remove: Callable[[], None]) -> None:
    """A filter that no control shows, and a button that removes it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f"<strong>{escape(words)}</strong> {escape(why)}")
        st.button(
            f"Remove {escape_label(words)}", key=f"explore_filter_remove_{words}",
            on_click=attempt, args=(remove,), type="tertiary",
        )  # fmt: skip


# -- controls ------------------------------------------------------------------------------


def _years_of(view: View, years: FieldValues) -> tuple[int, int, int, int] | None:
    """First and last year of the corpus and of the range; None where a slider cannot show it."""
    known = sorted(map(int, years.counts))
    try:
        start, end = int(view.year_from or known[0]), int(view.year_to or known[-1])
    except (ValueError, IndexError):
        return None
    low, high = known[0], known[-1]
    return (low, high, start, end) if low < high and low <= start <= end <= high else None


def _year_range(years: tuple[int, int, int, int], values: FieldValues) -> None:
    low, high, start, end = years

    def change() -> None:
        chosen = st.session_state["explore_years"]
        first, last = (
            str(y) if y != bound else "" for y, bound in zip(chosen, (low, high), strict=True)
        )
        View.change(lambda now: replace(now, year_from=first, year_to=last, page=1))

    st.session_state["explore_years"] = (start, end)
    st.slider(
        _label("Years", values), low, high, key="explore_years", on_change=attempt, args=(change,),
        help="Documents without a year are left out as soon as the range is narrowed.",
    )  # fmt: skip


def _by_use(fields: Mapping[str, FieldValues]) -> list[str]:
    """Fields, those first that divide the corpus best: few values, which many documents have."""

    def key(name: str) -> tuple[int, int, int]:
        values = fields[name]
        count, most = len(values.counts), max(values.counts.values())
        divides = 1 < count <= MOST_CHOICES and most > 1
        return (0 if divides else 1 if most > 1 and count > 1 else 2, values.without, count)

    return sorted((name for name in fields if name != YEAR), key=key)


def _choices(explorer: Explorer, name: str, values: FieldValues, chosen: Sequence[str]) -> None:
    """The values of one field, most frequent first, each with its documents."""
    counts, key = values.counts, f"explore_filter_{name}"
    typed = len(counts) > MOST_CHOICES

    def change() -> None:
        wanted = [as_stored(value, counts) for value in st.session_state[key]]
        _change(explorer, lambda now: with_values(now, name, wanted))

    offered = [value for value, count in counts.items() if count > 1 or not typed][:MOST_CHOICES]
    st.session_state[key] = list(chosen)
    st.multiselect(
        _label(name, values), list(dict.fromkeys([*offered, *chosen])), key=key,
        format_func=lambda value: f"{with_marks(value)} ({counts.get(value, 0):,})",
        on_change=attempt, args=(change,), accept_new_options=typed, filter_mode="contains",
        select_all=False,
        placeholder="Choose, or type a value" if typed else f"Any of {len(counts):,}",
    )  # fmt: skip


def _label(name: str, values: FieldValues) -> str:
    none = f" (none: {values.without:,})" if values.without else ""
    return escape_label(f"{name}{none}")


def as_stored(value: str, counts: Mapping[str, int]) -> str:
    """A typed value as the corpus writes it, small and capital letters aside."""
    if value in counts:
        return value
    folded = value.strip().casefold()
    return next((known for known in counts if known.casefold() == folded), value.strip())


def with_values(now: Sequence[Filter], name: str, values: Sequence[str]) -> list[Filter]:
    """Filters with these values for a field, in the place of the first one it has."""
    former = next((f for f in now if f.field == name and f.op == "="), None)
    new = [Filter.any_of(name, values)] if values else []
    if former is None:
        return [*now, *new]
    at = list(now).index(former)
    return [*now[:at], *new, *now[at + 1 :]]


def _more_fields(corpus: str, fields: Mapping[str, FieldValues]) -> None:
    """Which further field to filter by."""
    if not fields:
        return

    def add() -> None:
        name = st.session_state[_MORE]
        if name:
            added = st.session_state.setdefault(_ADDED, {})
            added[corpus] = [*added.get(corpus, []), name]
        st.session_state[_MORE] = None

    st.selectbox(
        "Another field", list(fields), index=None, key=_MORE, on_change=add,
        placeholder="Choose a field to filter by",
        format_func=lambda name: f"{with_marks(name)} ({len(fields[name].counts):,} values)",
    )  # fmt: skip


# -- no results ----------------------------------------------------------------------------


def nothing(explorer: Explorer, page: SearchResults) -> None:
    """Say why there is no result to show."""
    query = page.query
    if query.offset and page.total:
        _empty(f"The ranking ends at {page.total:,}; this page is beyond it.")
    elif query.filters and not page.truncated:
        _which_filter(explorer, query)
    else:
        met = " that meets the filters" if query.filters else ""
        _empty(
            f"No document{met} shares anything with this seed under this system. "
            "Try another system."
        )


def _empty(words: str) -> None:
    st.html(f'<div class="sl-empty">{escape(words)}</div>')


def _which_filter(explorer: Explorer, query: Query) -> None:
    """What each filter leaves, with a button that drops it where that helps."""
    effects = explorer.searcher(query.corpus).filter_effects(query)
    st.html(f"<h2>No document meets {'the filter' if len(effects) == 1 else 'all filters'}.</h2>")
    for position, effect in enumerate(effects):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(escape(f"{effect}."))
            if effect.rest:
                st.button(
                    f"Drop {escape_label(effect.filter.words)}",
                    key=f"explore_drop_{position}", on_click=attempt,
                    args=(partial(_drop, explorer, [effect.filter]),),
                )  # fmt: skip
    if len(effects) > 1:
        st.button(
            "Drop all filters", key="explore_drop_all", on_click=attempt,
            args=(partial(_drop, explorer, query.filters),),
        )  # fmt: skip
