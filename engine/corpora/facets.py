"""Filters and facets of a corpus: values by document (:class:`Column`: fields, years, aspects,
places), and ranges by document (:class:`Ranges`: days, amounts).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache, partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.corpora.recent import Recent
from engine.corpora.schema import FACET_MARK, StoredTexts, column_of, facet, unordered, year_of
from engine.corpora.stored_facts import flat_facts
from engine.errors import BadInputError, UnknownNameError
from engine.facts.fact_index import CLOSE
from engine.facts.places import atlas
from engine.types.corpora import FieldValues
from engine.types.lenses import Lens
from engine.types.limits import FIELD_CHARS, FIELDS
from engine.types.searches import (
    AMOUNT,
    ASPECT,
    DATE,
    NUMBER,
    PLACE,
    SELECTION,
    YEAR,
    AmountCount,
    Facets,
    Filter,
    PlaceCount,
)
from storage.vectors import DocumentTable

MOST_VALUES = 200  # Values of a field that are counted out, beside those that are filtered by
MOST_UNITS = 12  # Units of amounts that are described, beside those that are filtered by
FEW_VALUES = 8  # Values that texts are looked through for, one after the other
MOST_REMEMBERED = 16  # Sets of filters whose counts are kept, and selections whose documents are
LONGEST = 20  # Years: a date that spans more of them, or recurs, is counted in its first one
_DATE = re.compile(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?")
EPOCH = date(1970, 1, 1).toordinal()
Mask = NDArray[np.bool_]  # (n,) over the documents of a corpus
Doubles = NDArray[np.float64]
Rows = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of documents as pairs of a row and a code, each pair once."""

    size: int  # documents of the corpus
    rows: NDArray[np.int32]  # rows, codes: (p,), by row
    codes: NDArray[np.int32]
    values: StoredTexts  # by code

    @classmethod
    def of(cls, size: int, rows: Rows, codes: Rows, values: Iterable[str] | pa.Array) -> Column:
        """From pairs in any order, which may repeat."""
        texts = StoredTexts(values)
        if not (rows[1:] > rows[:-1]).all():
            width = max(1, len(texts))
            # np.unique of so many takes a hundred times as long.
            pairs = np.sort(rows.astype(np.int64) * width + codes.astype(np.int64))
            pairs = pairs[np.diff(pairs, prepend=-1) > 0]
            rows, codes = pairs // width, pairs % width
        return cls(size, rows.astype(np.int32), codes.astype(np.int32), texts)

    def codes_of(self, wanted: Iterable[str]) -> NDArray[np.intp]:
        """The codes of those of the wanted values that there are."""
        among = pa.array(list(wanted), pa.string())
        found = pc.is_in(self.values.array, value_set=among)
        return np.flatnonzero(found.to_numpy(zero_copy_only=False))

    def mask(self, wanted: Iterable[str]) -> Mask:
        """Which documents (n,) have any of the wanted values."""
        known = np.zeros(len(self.values), dtype=np.bool_)
        known[self.codes_of(wanted)] = True
        return _mask(self.size, self.rows[known[self.codes]])

    def counted(
        self, allowed: Mask, most: int | None = None, also: Iterable[str] = ()
    ) -> FieldValues:
        """The most frequent values among the allowed documents, and those of ``also``."""
        inside = allowed[self.rows]
        counts = np.bincount(self.codes[inside], minlength=len(self.values))
        shown = np.flatnonzero(counts)
        if most is not None and len(shown) > most:
            shown = shown[np.argpartition(-counts[shown], most)[:most]]
        shown = np.union1d(shown, self.codes_of(also))
        pairs = list(zip(self.values.at(shown), counts[shown].tolist(), strict=True))
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        having = _different(self.rows[inside])
        return FieldValues(dict(pairs), without=int(allowed.sum()) - having)

    def by_number(self, allowed: Mask) -> dict[int, int]:
        """How many of the allowed documents have which number, ascending."""
        counts = self.counted(allowed).counts
        return dict(sorted((int(value), count) for value, count in counts.items()))


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Numbers of documents, each from ``low`` to ``high``, by row."""

    size: int  # documents of the corpus
    rows: Rows  # rows, low, high: (f,)
    low: Doubles
    high: Doubles

    def mask(
        self, filters: Sequence[Filter], bounds: Callable[[str, Filter], tuple[float, float]]
    ) -> Mask:
        """Which documents (n,) have one range that overlaps every filter's; ``bounds`` gives the
        lowest and highest number of a filter's value."""
        met = np.ones(len(self.rows), dtype=np.bool_)
        for one in filters:
            found = np.zeros(len(self.rows), dtype=np.bool_)
            for value in one.values:
                low, high = bounds(value, one)
                after = self.high >= low if one.op != "<=" else True
                found |= after & (self.low <= high if one.op != ">=" else True)
            met &= found
        return _mask(self.size, self.rows[met])

    def documents(self, allowed: Mask) -> int:
        """How many of the allowed documents have a range."""
        return _different(self.rows[allowed[self.rows]])

    def described(self, unit: str, allowed: Mask) -> AmountCount | None:
        """The allowed documents, and the quartiles of their numbers; None without any."""
        inside = allowed[self.rows]
        if not inside.any():
            return None
        a, b, c, d, e = np.quantile(self.low[inside], (0, 0.25, 0.5, 0.75, 1)).tolist()
        return AmountCount(unit, self.documents(allowed), (a, b, c, d, e))


def _mask(size: int, rows: Rows) -> Mask:
    out = np.zeros(size, dtype=np.bool_)
    out[rows] = True
    return out


def _different(rows: Rows) -> int:
    """How many different numbers there are in an ascending array."""
    return int(np.count_nonzero(np.diff(rows))) + 1 if len(rows) else 0


class FacetIndex:
    """Which documents of one version of a corpus meet filters, and how many. Thread-safe."""

    def __init__(
        self,
        name: str,
        table: DocumentTable,
        lens: Lens,
        years: NDArray[np.int32],
        selected: Callable[[str], list[str] | None] = lambda _: None,
    ) -> None:
        self._name, self._table, self._lens = name, table, lens
        self._years = years
        self._size = len(years)
        self._counted: Recent[tuple[Filter, ...], Facets] = Recent(MOST_REMEMBERED)
        # Not over a method of ours: a cycle would keep what is cached in memory after closing.
        self._selected = lru_cache(maxsize=MOST_REMEMBERED)(
            partial(_read_selected, table, name, selected)
        )

    # -- what is read ----------------------------------------------------------------------

    @cached_property
    def fields(self) -> Mapping[str, FieldValues]:
        """Values of each field, ``year`` first."""
        every = np.ones(self._size, dtype=np.bool_)
        return {name: column.counted(every) for name, column in self._columns.items()}

    @cached_property
    def _stored(self) -> pa.ChunkedArray:
        """The stored fields of all documents."""
        return column_of(self._table, "facets")

    @cached_property
    def _columns(self) -> dict[str, Column]:
        found = read_fields(self._stored.chunks, self._years)
        vars(self).pop("_stored", None)
        return found

    @cached_property
    def _aspects(self) -> Column:
        """The aspects that are the likeliest role of a sentence of a document."""
        keys = [aspect.key for aspect in self._lens.aspects]
        lists = column_of(self._table, "roles").combine_chunks()
        roles = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, len(keys))
        sentences = pc.list_value_length(lists).fill_null(0).to_numpy() // len(keys)
        rows, clear = np.repeat(np.arange(len(lists)), sentences), roles.max(axis=1, initial=0) > 0
        return Column.of(self._size, rows[clear], roles[clear].argmax(axis=1), keys)

    @cached_property
    def _stated(self) -> Stated:
        return read_stated(self._table, self._size)

    # -- which documents ---------------------------------------------------------------------

    def mask(self, filters: Sequence[Filter]) -> Mask:
        """Which documents (n,) meet every filter."""
        return self._met(self._by_facet(filters).values())

    def _met(self, masks: Iterable[Mask]) -> Mask:
        return reduce(np.logical_and, masks, np.ones(self._size, dtype=np.bool_))

    def _by_facet(self, filters: Sequence[Filter]) -> dict[str, Mask]:
        """What meets the filters on each field. Bounds on one field hold for the same value: a date
        from 2010 to 2012 is not one of 1990 and another of 2020."""
        groups: dict[str, list[Filter]] = {}
        for one in filters:
            groups.setdefault(one.field, []).append(one)
        return {name: self._facet_mask(name, group) for name, group in groups.items()}

    def _facet_mask(self, name: str, group: Sequence[Filter]) -> Mask:
        if name == ASPECT:
            return self._met(self._with_aspect(one) for one in group)
        if name == SELECTION:
            chosen = (map(self._selected, unordered(one).values) for one in group)
            return self._met(reduce(np.logical_or, masks) for masks in chosen)
        if name == PLACE:
            named = [{value.upper() for value in one.values} for one in map(unordered, group)]
            return self._stated.places.mask(set.intersection(*named))
        if name == DATE:
            return self._stated.days.mask(group, _days)
        if name.startswith(AMOUNT):
            return self._amounts_in(name).mask(group, _amount)
        if name == YEAR:
            known = np.flatnonzero(self._years >= 0)
            years = self._years[known].astype(np.float64)
            bounds = lambda value, _: (year_of(value), year_of(value))  # noqa: E731
            return Ranges(self._size, known, years, years).mask(group, bounds)
        return self._with_values(name, group)

    def _with_values(self, name: str, group: Sequence[Filter]) -> Mask:
        few = sum(len(one.values) for one in group) <= FEW_VALUES
        # Ten times as fast as encoding all values of a million documents.
        if few and "_columns" not in vars(self):
            met = self._met(map(self._having, group))
            if met.any():
                return met
        if name not in self._columns:
            derived = (ASPECT, DATE, PLACE, f"{AMOUNT}UNIT")
            raise UnknownNameError(
                f"There is no field '{name}' in corpus '{self._name}'.",
                f"Its fields are: {', '.join(self._columns)}. "
                f"Every corpus has {', '.join(derived)}.",
            )
        return self._met(self._columns[name].mask(unordered(one).values) for one in group)

    def _having(self, one: Filter) -> Mask:
        facets = (facet(one.field, value) for value in unordered(one).values)
        found = [pc.match_substring(self._stored, one) for one in facets]
        return np.asarray(reduce(pc.or_, found).fill_null(False).to_numpy())

    def _with_aspect(self, one: Filter) -> Mask:
        keys = [aspect.key for aspect in self._lens.aspects]
        unknown = [value for value in one.values if value not in keys]
        if unknown:
            raise UnknownNameError(
                f"There is no aspect '{unknown[0]}' in corpus '{self._name}'.",
                f"Its aspects are: {', '.join(keys)}.",
            )
        return self._aspects.mask(one.values)

    def _amounts_in(self, name: str) -> Ranges:
        unit = name.removeprefix(AMOUNT)
        none = np.zeros(0)
        without = Ranges(self._size, none.astype(np.intp), none, none)
        return self._stated.amounts.get("" if unit == NUMBER else unit, without)

    # -- how many ----------------------------------------------------------------------------

    def facets(self, filters: Sequence[Filter] = ()) -> Facets:
        """Counts of documents where these filters hold."""
        key = tuple(filters)
        return self._counted.one(key, partial(self._count, key))

    def _count(self, filters: tuple[Filter, ...]) -> Facets:
        started = time.perf_counter()
        masks = self._by_facet(filters)

        def others(name: str) -> Mask:
            """What meets the filters on all other fields."""
            return self._met(mask for field, mask in masks.items() if field != name)

        def chosen(name: str) -> list[str]:
            return [value for one in filters if one.field == name for value in one.values]

        aspects_of = others(ASPECT)
        covered = self._aspects.counted(aspects_of).counts
        dated = others(YEAR)
        places = self._places(others(PLACE), chosen(PLACE))
        return Facets(
            documents=int(self._met(masks.values()).sum()),
            total=self._size,
            years=self._columns[YEAR].by_number(dated),
            undated=int((dated & (self._years < 0)).sum()),
            fields={
                name: column.counted(others(name), MOST_VALUES, chosen(name))
                for name, column in self._columns.items()
                if name != YEAR
            },
            aspects=tuple((one, covered.get(one.key, 0)) for one in self._lens.aspects),
            aspects_of=int(aspects_of.sum()),
            dates=self._stated.years.by_number(others(DATE)),
            places=places,
            land=atlas().land if places else (),
            amounts=self._amounts(others, [one.field for one in filters]),
            seconds=time.perf_counter() - started,
        )

    def _places(self, allowed: Mask, chosen: Sequence[str]) -> tuple[PlaceCount, ...]:
        found = self._stated.places.counted(allowed).counts
        counts = {**found, **{code: 0 for code in chosen if code not in found}}
        if not counts:
            return ()
        known = atlas()
        return tuple(
            PlaceCount(code, known.names.get(code, code), known.at.get(code), count)
            for code, count in counts.items()
        )

    def _amounts(
        self, others: Callable[[str], Mask], filtered: Sequence[str]
    ) -> tuple[AmountCount, ...]:
        known = {unit: one.documents(others("")) for unit, one in self._stated.amounts.items()}
        usual = sorted(filter(known.get, known), key=lambda unit: (-known[unit], unit))[:MOST_UNITS]
        fields = [f"{AMOUNT}{unit or NUMBER}" for unit in usual]
        fields += [field for field in filtered if field.startswith(AMOUNT)]
        found = [
            self._amounts_in(field).described(field.removeprefix(AMOUNT), others(field))
            for field in dict.fromkeys(fields)
        ]
        return tuple(sorted(filter(None, found), key=lambda amount: -amount.documents))


def _days(value: str, one: Filter) -> tuple[float, float]:
    """First and last day of ``2010``, ``2010-05`` or ``2010-05-03``."""
    match = _DATE.fullmatch(value.strip())
    try:
        if match is None:
            raise ValueError
        named = np.datetime64("-".join(part.zfill(2) for part in match.groups() if part))
    except ValueError:
        raise BadInputError(
            f"'{value}' is not a date.",
            f"Write a filter like {one.field}>=2010, {one.field}>=2010-05 or {one.field}>="
            "2010-05-03.",
        ) from None
    first, last = (EPOCH + day.astype("M8[D]").astype(int) for day in (named, named + 1))
    return first, last - 1


def _amount(value: str, one: Filter) -> tuple[float, float]:
    """What counts as this amount: people round."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInputError(f"'{value}' is not a number.", f"Write a filter like {one.field}>=100.")
    slack = CLOSE * abs(number) if one.op == "=" else 0.0
    return number - slack, number + slack


def _read_selected(
    table: DocumentTable, corpus: str, selected: Callable[[str], list[str] | None], key: str
) -> Mask:
    """Which documents are in a selection."""
    doc_ids = selected(key)
    if doc_ids is None:
        raise UnknownNameError(
            f"The selection '{key}' of corpus '{corpus}' is not stored here.",
            "Links to selections work only with the home and the corpus that they were made in. "
            "Remove the filter, or select the documents again on Map.",
        )
    stored = StoredTexts.read(table, "doc_id").array
    found = pc.is_in(stored, value_set=pa.array(doc_ids, pa.string()))
    return np.asarray(found.to_numpy(zero_copy_only=False))


# -- facts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What documents state or imply."""

    days: Ranges  # proleptic ordinals of dates
    years: Column  # in which these are
    places: Column  # by code
    amounts: Mapping[str, Ranges]  # by unit, "" for none


def read_stated(table: DocumentTable, size: int) -> Stated:
    """The facts of all documents of a corpus of ``size`` documents."""
    row_of, facts = flat_facts(table)
    low, high = (facts.field(name).to_numpy(zero_copy_only=False) for name in ("low", "high"))
    units = facts.field("unit").dictionary_encode()
    unit_of = units.indices.to_numpy(zero_copy_only=False)

    def having(field: str, value: str) -> Rows:
        return np.flatnonzero(pc.equal(facts.field(field), value).to_numpy(zero_copy_only=False))

    def ranges(chosen: Rows) -> Ranges:
        return Ranges(size, row_of[chosen], low[chosen], high[chosen])

    dates, places, amounts = (having("kind", kind) for kind in ("date", "place", "amount"))
    return Stated(
        days=ranges(dates),
        years=_by_year(ranges(dates), ~np.isin(dates, having("recurrence", ""))),
        places=Column.of(size, row_of[places], unit_of[places], units.dictionary),
        amounts={
            units.dictionary[code].as_py(): ranges(amounts[unit_of[amounts] == code])
            for code in np.unique(unit_of[amounts]).tolist()
        },
    )


def _by_year(days: Ranges, recurring: Mask) -> Column:
    """In which years the dates of documents are."""
    first, last = _years(days.low), _years(days.high)
    lengths = np.where(recurring | (last - first > LONGEST), 1, last - first + 1)
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    years, codes = np.unique(np.repeat(first, lengths) + steps, return_inverse=True)
    rows = np.repeat(days.rows, lengths)
    return Column.of(days.size, rows, codes, list(map(str, years.tolist())))


def _years(days: Doubles) -> NDArray[np.int64]:
    """The years of proleptic ordinals."""
    within = np.clip(days, 1, date.max.toordinal()).astype(np.int64) - EPOCH
    return within.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970


# -- fields -------------------------------------------------------------------------------------


def read_fields(facets: Iterable[pa.Array], years: NDArray[np.int32]) -> dict[str, Column]:
    """The fields that most documents have, ``year`` first, the others by name."""
    stored = pa.chunked_array(list(facets), pa.string()).combine_chunks()
    parts = pc.split_pattern(stored, FACET_MARK)
    rows, flat = pc.list_parent_indices(parts), pc.list_flatten(parts)
    usable = pc.and_(pc.not_equal(flat, ""), pc.less_equal(pc.utf8_length(flat), FIELD_CHARS))
    pairs = flat.filter(usable).dictionary_encode()
    rows, codes = rows.filter(usable).to_numpy(), pairs.indices.to_numpy()
    names, values = _named(pairs.dictionary)
    known = np.flatnonzero(years >= 0)
    different, of = np.unique(years[known], return_inverse=True)
    found = {YEAR: Column.of(len(years), known, of, list(map(str, different.tolist())))}
    # Of each different pair: its field.
    field_of, fields = names.indices.to_numpy(), names.dictionary.to_pylist()
    documents = np.bincount(field_of[codes], minlength=len(fields))
    # A column called ``year`` that is not the year of the documents is none.
    by_use = sorted(range(len(fields)), key=lambda at: (-documents[at], fields[at]))
    used = [at for at in by_use if fields[at] != YEAR][:FIELDS]
    for at in sorted(used, key=fields.__getitem__):
        own = field_of == at
        place = np.cumsum(own, dtype=np.int32) - 1
        chosen = own[codes]
        values_of = values.filter(pa.array(own))
        found[fields[at]] = Column.of(len(years), rows[chosen], place[codes[chosen]], values_of)
    return found


def _named(pairs: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Names and values of texts like ``venue=ACL``; the first sign parts them."""
    parts = pc.split_pattern(pairs, "=", max_splits=1)
    flat, first = parts.flatten(), parts.offsets.to_numpy()[:-1]
    has_value = pc.equal(pc.list_value_length(parts), 2)
    last = pc.if_else(has_value, pa.array(first + 1), None)
    return flat.take(pa.array(first)).dictionary_encode(), flat.take(last).fill_null("")
