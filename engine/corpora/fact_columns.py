"""The dates, amounts and places that the documents of a corpus state or imply, as arrays."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.corpora.field_codes import FieldCodes, Mask, distinct_in_order
from engine.corpora.stored_facts import FACT_TYPE, fact_arrays
from engine.errors import BadInputError
from engine.facts.fact_index import CLOSE
from engine.types.searches import Filter
from storage.vectors import DocumentTable

KINDS = ("date", "amount", "place")
LONGEST = 20  # Years: a date that spans more of them, or recurs, is counted in its first one
_DATE = re.compile(r"(\d{4})(?:-(\d\d?))?(?:-(\d\d?))?")
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class StatedValues:
    """Values of one kind, one entry (f,) per fact, with the row of its document."""

    kind: str
    size: int
    rows: NDArray[np.intp]
    low: Doubles  # low, high: as `Fact` has them
    high: Doubles
    units: NDArray[np.intp]  # (f,) codes into `names`
    names: tuple[str, ...]
    among: FieldCodes  # what documents are counted by: the years of dates, the units of all else

    def of_unit(self, unit: str) -> StatedValues:
        """Those in one unit."""
        code = self.names.index(unit) if unit in self.names else -1
        return self._where(self.units == code)

    def _where(self, kept: Mask) -> StatedValues:
        return StatedValues(
            self.kind,
            self.size,
            self.rows[kept],
            self.low[kept],
            self.high[kept],
            self.units[kept],
            self.names,
            self.among,
        )

    def mask(self, filters: Sequence[Filter]) -> Mask:
        """Which documents (n,) have one value that meets every filter; BadInputError."""
        met = np.ones(len(self.rows), dtype=np.bool_)
        for one in filters:
            met &= self._named(one) if self.kind == "place" else self._within(one)
        out = np.zeros(self.size, dtype=np.bool_)
        out[self.rows[met]] = True
        return out

    def _named(self, one: Filter) -> Mask:
        if one.op != "=":
            raise BadInputError(
                f"The filter '{one}' cannot be used: a place has no order.",
                f"Write {one.field}=CODE, such as {one.field}=FR.",
            )
        wanted = {value.upper() for value in one.values}
        known = np.array([name in wanted for name in self.names], dtype=np.bool_)
        return known[self.units] if len(self.units) else np.zeros(0, dtype=np.bool_)

    def _within(self, one: Filter) -> Mask:
        """Values that meet a bound as a range does: as far as any of it meets the bound."""
        met = np.zeros(len(self.rows), dtype=np.bool_)
        for value in one.values:
            low, high = _days(value, one) if self.kind == "date" else _amount(value, one)
            after = self.high >= low if one.op in ("=", ">=") else True
            met |= after & (self.low <= high if one.op in ("=", "<=") else True)
        return met

    def described(
        self, allowed: Mask
    ) -> tuple[int, tuple[float, float, float, float, float]] | None:
        """Documents among those allowed and the quartiles of their values; None without any."""
        inside = allowed[self.rows]
        if not inside.any():
            return None
        a, b, c, d, e = np.quantile(self.low[inside], (0, 0.25, 0.5, 0.75, 1)).tolist()
        return distinct_in_order(self.rows[inside]), (a, b, c, d, e)


def _by_year(rows: NDArray[np.intp], low: Doubles, high: Doubles, recurring: Mask) -> FieldCodes:
    """In which years the dates of documents are."""
    first, last = _years(low), _years(high)
    lengths = np.where(recurring | (last - first > LONGEST), 1, last - first + 1)
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    years, codes = np.unique(np.repeat(first, lengths) + steps, return_inverse=True)
    return FieldCodes.of(np.repeat(rows, lengths), codes, list(map(str, years.tolist())))


def _years(days: Doubles) -> NDArray[np.int64]:
    """The years of proleptic ordinals."""
    epoch = date(1970, 1, 1).toordinal()
    within = np.clip(days, 1, date.max.toordinal()).astype(np.int64) - epoch
    return within.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970


def _days(value: str, one: Filter) -> tuple[float, float]:
    """First and last day of ``2010``, ``2010-05`` or ``2010-05-03``."""
    match = _DATE.fullmatch(value.strip())
    try:
        if match is None:
            raise ValueError
        year, month, day = (int(part) if part else None for part in match.groups())
        first = date(year or 0, month or 1, day or 1)
        last = (
            first if day else date(first.year, month or 12, monthrange(first.year, month or 12)[1])
        )
    except ValueError:
        raise BadInputError(
            f"'{value}' is not a date.",
            f"Write a filter like {one.field}>=2010, {one.field}>=2010-05 or {one.field}>="
            "2010-05-03.",
        ) from None
    return first.toordinal(), last.toordinal()


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


def flat_facts(table: DocumentTable) -> tuple[NDArray[np.intp], pa.StructArray]:
    """The facts (f,) of all documents, and the row of each one's document."""
    rows, flat, before = [], [], 0
    for lists in fact_arrays(table):
        rows.append(pc.list_parent_indices(lists).to_numpy() + before)
        flat.append(pc.list_flatten(lists))
        before += len(lists)
    facts = pa.chunked_array(flat, FACT_TYPE).combine_chunks()
    return np.concatenate([np.zeros(0, np.intp), *rows]).astype(np.intp), facts


def read_stated(table: DocumentTable, size: int) -> Mapping[str, StatedValues]:
    """The facts of all documents, by kind.

    Args:
        size: documents of the corpus.
    """
    row, facts = flat_facts(table)
    kinds = facts.field("kind")
    return {kind: _of_kind(kind, facts, row, pc.equal(kinds, kind), size) for kind in KINDS}


def _of_kind(kind: str, facts: Any, rows: NDArray[np.intp], chosen: Any, size: int) -> StatedValues:
    own = facts.filter(chosen)
    encoded = own.field("unit").dictionary_encode()
    rows = rows[chosen.to_numpy(zero_copy_only=False)]
    low, high = (own.field(name).to_numpy(zero_copy_only=False) for name in ("low", "high"))
    units = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    names = encoded.dictionary.to_pylist()
    if kind == "date":
        recurs = pc.not_equal(own.field("recurrence"), "").to_numpy(zero_copy_only=False)
        among = _by_year(rows, low, high, recurs)
    else:
        among = FieldCodes.of(rows, units, names)
    return StatedValues(kind, size, rows, low, high, units, tuple(names), among)
