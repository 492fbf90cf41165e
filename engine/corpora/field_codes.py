"""Which documents have which values of a field, as pairs of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.corpora.schema import FACET_MARK, StoredTexts
from engine.types.corpora import FieldValues
from engine.types.limits import FIELD_CHARS, FIELDS
from engine.types.searches import YEAR

Mask = NDArray[np.bool_]  # (n,) over the documents of a corpus


@dataclass(frozen=True, slots=True, eq=False)
class FieldCodes:
    """The values of one field as pairs of a row and a code, each pair once."""

    rows: NDArray[np.int32]  # rows, codes: (p,), by row
    codes: NDArray[np.int32]
    values: StoredTexts  # by code

    @classmethod
    def of(
        cls, rows: NDArray[np.integer], codes: NDArray[np.integer], values: Iterable[str] | pa.Array
    ) -> FieldCodes:
        """From pairs in any order, which may repeat."""
        texts = StoredTexts(values)
        if not (rows[1:] > rows[:-1]).all():
            width = max(1, len(texts))
            # np.unique of so many takes a hundred times as long.
            pairs = np.sort(rows.astype(np.int64) * width + codes.astype(np.int64))
            pairs = pairs[np.diff(pairs, prepend=-1) > 0]
            rows, codes = pairs // width, pairs % width
        return cls(rows.astype(np.int32), codes.astype(np.int32), texts)

    def codes_of(self, wanted: Iterable[str]) -> NDArray[np.intp]:
        """The codes of those of the wanted values that there are."""
        among = pa.array(list(wanted), pa.string())
        found = pc.is_in(self.values.array, value_set=among)
        return np.flatnonzero(found.to_numpy(zero_copy_only=False))

    def mask(self, size: int, wanted: Iterable[str]) -> Mask:
        """Which of ``size`` documents have any of the wanted values."""
        known = np.zeros(len(self.values), dtype=np.bool_)
        known[self.codes_of(wanted)] = True
        out = np.zeros(size, dtype=np.bool_)
        out[self.rows[known[self.codes]]] = True
        return out

    def counted(
        self, allowed: Mask, most: int | None = None, also: Iterable[str] = ()
    ) -> FieldValues:
        """The most frequent values among the allowed documents."""
        inside = allowed[self.rows]
        counts = np.bincount(self.codes[inside], minlength=len(self.values))
        shown = np.flatnonzero(counts)
        if most is not None and len(shown) > most:
            shown = shown[np.argpartition(-counts[shown], most)[:most]]
        shown = np.union1d(shown, self.codes_of(also))
        pairs = list(zip(self.values.at(shown), counts[shown].tolist(), strict=True))
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        having = distinct_in_order(self.rows[inside])
        return FieldValues(dict(pairs), without=int(allowed.sum()) - having)


def distinct_in_order(rows: NDArray[np.integer]) -> int:
    """How many different numbers there are in an ascending array."""
    return int(np.count_nonzero(np.diff(rows))) + 1 if len(rows) else 0


def read_fields(facets: Iterable[pa.Array], years: NDArray[np.int32]) -> dict[str, FieldCodes]:
    """The fields that documents have, ``year`` first, the others by name; of very many fields,
    those that most documents have, and without values that are texts (:mod:`engine.types.limits`).
    """
    stored = pa.chunked_array(list(facets), pa.string()).combine_chunks()
    parts = pc.split_pattern(stored, FACET_MARK)
    rows, flat = pc.list_parent_indices(parts), pc.list_flatten(parts)
    usable = pc.and_(pc.not_equal(flat, ""), pc.less_equal(pc.utf8_length(flat), FIELD_CHARS))
    pairs = flat.filter(usable).dictionary_encode()
    rows, codes = rows.filter(usable).to_numpy(), pairs.indices.to_numpy()
    names, values = _named(pairs.dictionary)
    known = np.flatnonzero(years >= 0)
    different, of = np.unique(years[known], return_inverse=True)
    found = {YEAR: FieldCodes.of(known, of, list(map(str, different.tolist())))}
    field_of = names.indices.to_numpy()
    fields = names.dictionary.to_pylist()
    # By field, in the order they have; a pair's code becomes its place among those of its field.
    by_field, starts = _grouped(field_of, len(fields))
    place = np.empty(len(field_of), dtype=np.int32)
    place[by_field] = np.arange(len(field_of)) - np.repeat(starts[:-1], np.diff(starts))
    order, bounds = _grouped(field_of[codes], len(fields))
    for at in _most_used(fields, np.diff(bounds)):
        name = fields[at]
        own = order[bounds[at] : bounds[at + 1]]
        values_of = values.take(pa.array(by_field[starts[at] : starts[at + 1]]))
        found[name] = FieldCodes.of(rows[own], place[codes[own]], values_of)
    return found


def _most_used(fields: Sequence[str], documents: NDArray[np.integer]) -> list[int]:
    """Places of the fields that most documents have, by name; a column called ``year`` that is not
    the year of the documents is none."""
    places = [at for at, name in enumerate(fields) if name != YEAR]
    by_use = sorted(places, key=lambda at: (-documents[at], fields[at]))
    return sorted(by_use[:FIELDS], key=fields.__getitem__)


def _grouped(groups: NDArray[np.integer], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places by group (numbered from 0), in order; where each begins, and the last one ends."""
    small = groups.astype(np.int16) if count < 2**15 else groups  # sorted by counting
    order = np.argsort(small, kind="stable")
    return order, np.searchsorted(groups[order], np.arange(count + 1))


def _named(pairs: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Names and values of texts like ``venue=ACL``; the first sign parts them."""
    parts = pc.split_pattern(pairs, "=", max_splits=1)
    flat, first = parts.flatten(), parts.offsets.to_numpy()[:-1]
    has_value = pc.equal(pc.list_value_length(parts), 2)
    last = pc.if_else(has_value, pa.array(first + 1), None)
    return flat.take(pa.array(first)).dictionary_encode(), flat.take(last).fill_null("")
