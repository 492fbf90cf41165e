"""What the documents of a corpus can be filtered by, as arrays: which meet a filter, how many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.corpora.fact_columns import StatedValues, read_stated
from engine.corpora.field_codes import FieldCodes, Mask, read_fields
from engine.corpora.recent import Recent
from engine.corpora.schema import MANY, StoredTexts, condition, rows_of
from engine.errors import BadInputError, UnknownNameError
from engine.facts.places import atlas
from engine.types.callbacks import tell_nobody
from engine.types.corpora import FieldValues
from engine.types.lenses import Lens
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
    is_derived,
)
from storage.records import Condition
from storage.selections import read_selection
from storage.vectors import DocumentTable

MOST_VALUES = 200  # Values of a field that are counted out, beside those that are filtered by
MOST_UNITS = 12  # Units of amounts that are described, beside those that are filtered by
FEW_VALUES = 8  # Values that texts are looked through for, one after the other
MOST_REMEMBERED = 16  # Sets of filters whose counts are kept, and selections whose documents are


class FacetIndex:
    """Which documents of one version of a corpus meet filters, and how many have what. Each part is
    read on first use. Safe to share between threads."""

    def __init__(
        self,
        name: str,
        table: DocumentTable,
        lens: Lens,
        years: NDArray[np.int32],
        bring_selection: Callable[[str], None] = tell_nobody,
    ) -> None:
        self._name, self._table, self._lens = name, table, lens
        self._years = years
        self._size = len(years)
        self._counted: Recent[tuple[Filter, ...], Facets] = Recent(MOST_REMEMBERED)
        # Not over a method of ours: a cycle would keep what is cached in memory after closing.
        self._selected = lru_cache(maxsize=MOST_REMEMBERED)(
            partial(_read_selected, table, name, bring_selection)
        )

    # -- what is read ----------------------------------------------------------------------

    @cached_property
    def fields(self) -> Mapping[str, FieldValues]:
        """What all documents have in each field, ``year`` first."""
        every = np.ones(self._size, dtype=np.bool_)
        return {name: codes.counted(every) for name, codes in self._codes.items()}

    @cached_property
    def _stored(self) -> pa.ChunkedArray:
        """What the documents have in stored fields, as it is stored."""
        columns = [batch["facets"] for batch in self._table.columns(["facets"], MANY)]
        return pa.chunked_array(columns, pa.string())

    @cached_property
    def _codes(self) -> dict[str, FieldCodes]:
        found = read_fields(self._stored.chunks, self._years)
        vars(self).pop("_stored", None)
        return found

    @cached_property
    def _aspects(self) -> Mask:
        """(n, a): whether a document has a sentence whose likeliest role is the aspect."""
        count = len(self._lens.aspects)
        batches = [batch["roles"] for batch in self._table.columns(["roles"])]
        has = np.zeros((self._size, count), dtype=np.bool_)
        of_documents = rows_of(pa.chunked_array(batches)) if batches else []
        if not count or not any(len(roles) for roles in of_documents):
            return has
        roles = np.concatenate(of_documents).reshape(-1, count)
        rows = np.repeat(np.arange(self._size), [len(r) // count for r in of_documents])
        clear = roles.max(axis=1) > 0
        has[rows[clear], roles[clear].argmax(axis=1)] = True
        return has

    @cached_property
    def _stated(self) -> Mapping[str, StatedValues]:
        return read_stated(self._table, self._size)

    # -- which documents ---------------------------------------------------------------------

    def mask(self, filters: Sequence[Filter]) -> Mask:
        """Which documents (n,) meet every filter."""
        return self._met(self._by_facet(filters).values())

    def _met(self, masks: Iterable[Mask]) -> Mask:
        return reduce(np.logical_and, masks, np.ones(self._size, dtype=np.bool_))

    def _by_facet(self, filters: Sequence[Filter]) -> dict[str, Mask]:
        """What meets the filters on each field. Bounds on one field hold for one and the same
        value of it: a date from 2010 to 2012 is not one of 1990 and another one of 2020."""
        groups: dict[str, list[Filter]] = {}
        for one in filters:
            groups.setdefault(one.field, []).append(one)
        return {name: self._facet_mask(name, group) for name, group in groups.items()}

    def _facet_mask(self, name: str, group: Sequence[Filter]) -> Mask:
        if name == ASPECT:
            return self._met(self._with_aspect(one) for one in group)
        if name == SELECTION:
            return self._met(self._within(one) for one in group)
        if is_derived(name):
            return self._stated_in(name).mask(group)
        if name == YEAR:
            return self._met(self._in_years(condition(one)) for one in group)
        if "_codes" not in vars(self):
            # To look through the texts for a few values takes a tenth of the time that it takes
            # to number all values of a million documents.
            few = sum(len(one.values) for one in group) <= FEW_VALUES
            met = self._met(map(self._having, group)) if few else np.zeros(0, dtype=np.bool_)
            if met.any():
                return met
        if name not in self._codes:
            derived = (ASPECT, DATE, PLACE, f"{AMOUNT}UNIT")
            raise UnknownNameError(
                f"There is no field '{name}' in corpus '{self._name}'.",
                f"Its fields are: {', '.join(self._codes)}. Every corpus has {', '.join(derived)}.",
            )
        asked = [one for one in group if condition(one)]
        return self._met(self._codes[name].mask(self._size, one.values) for one in asked)

    def _having(self, one: Filter) -> Mask:
        found = [pc.match_substring(self._stored, str(v)) for v in condition(one).values]
        return np.asarray(reduce(pc.or_, found).fill_null(False).to_numpy())

    def _in_years(self, one: Condition) -> Mask:
        years = self._years
        tests = {"=": np.equal, ">=": np.greater_equal, "<=": np.less_equal}
        met = reduce(np.logical_or, [tests[one.op](years, year) for year in one.values])
        return np.asarray(met & (years >= 0))

    def _with_aspect(self, one: Filter) -> Mask:
        keys = [aspect.key for aspect in self._lens.aspects]
        unknown = [value for value in one.values if value not in keys]
        if unknown:
            raise UnknownNameError(
                f"There is no aspect '{unknown[0]}' in corpus '{self._name}'.",
                f"Its aspects are: {', '.join(keys)}.",
            )
        chosen = [keys.index(value) for value in one.values]
        return np.asarray(self._aspects[:, chosen].any(axis=1))

    def _within(self, one: Filter) -> Mask:
        if one.op != "=":
            raise BadInputError(
                f"The filter '{one}' cannot be used: a selection has no order.",
                f"Write {SELECTION}=KEY.",
            )
        return np.asarray(reduce(np.logical_or, map(self._selected, one.values)))

    def _stated_in(self, name: str) -> StatedValues:
        if not name.startswith(AMOUNT):
            return self._stated["date" if name == DATE else "place"]
        unit = name.removeprefix(AMOUNT)
        return self._stated["amount"].of_unit("" if unit == NUMBER else unit)

    # -- how many ----------------------------------------------------------------------------

    def facets(self, filters: Sequence[Filter] = ()) -> Facets:
        """How many documents have what; raises as :meth:`mask`. The latest results are kept."""
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

        years = self._codes[YEAR].counted(others(YEAR))
        fields = {
            name: codes.counted(others(name), MOST_VALUES, chosen(name))
            for name, codes in self._codes.items()
            if name != YEAR
        }
        aspects_of = others(ASPECT)
        places = self._places(others(PLACE), chosen(PLACE))
        covered = self._aspects[aspects_of].sum(axis=0).tolist()
        return Facets(
            documents=int(self._met(masks.values()).sum()),
            total=self._size,
            years={int(year): years.counts[year] for year in sorted(years.counts, key=int)},
            undated=years.without,
            fields=fields,
            aspects=tuple(zip(self._lens.aspects, covered, strict=True)),
            aspects_of=int(aspects_of.sum()),
            dates=self._dates(others(DATE)),
            places=places,
            land=atlas().land if places else (),
            amounts=self._amounts(others, [f.field for f in filters]),
            seconds=time.perf_counter() - started,
        )

    def _dates(self, allowed: Mask) -> dict[int, int]:
        counts = self._stated["date"].among.counted(allowed).counts
        return {int(year): counts[year] for year in sorted(counts, key=int)}

    def _places(self, allowed: Mask, chosen: Sequence[str]) -> tuple[PlaceCount, ...]:
        found = self._stated["place"].among.counted(allowed).counts
        counts = {**found, **{code: 0 for code in chosen if code not in found}}
        if not counts:
            return ()
        known = atlas()
        return tuple(
            PlaceCount(code, known.names.get(code, code), known.at.get(code), count)
            for code, count in counts.items()
        )

    def _amounts(self, others: Any, filtered: Sequence[str]) -> tuple[AmountCount, ...]:
        stated = self._stated["amount"]
        usual = list(stated.among.counted(others("")).counts)[:MOST_UNITS]
        units = {f"{AMOUNT}{unit or NUMBER}": unit for unit in usual}
        units |= {f: f.removeprefix(AMOUNT) for f in filtered if f.startswith(AMOUNT)}
        found = []
        for field, unit in units.items():
            described = stated.of_unit("" if unit == NUMBER else unit).described(others(field))
            if described is not None:
                found.append(AmountCount(field.removeprefix(AMOUNT), *described))
        return tuple(sorted(found, key=lambda amount: -amount.documents))


def _read_selected(
    table: DocumentTable, corpus: str, bring: Callable[[str], None], key: str
) -> Mask:
    """Which documents are in a selection; those of it that the corpus lost are left out."""
    doc_ids = read_selection(table.path, corpus, key)
    if doc_ids is None:
        bring(key)
        doc_ids = read_selection(table.path, corpus, key)
    if doc_ids is None:
        raise UnknownNameError(
            f"The selection '{key}' of corpus '{corpus}' is not stored here.",
            "Links to selections work only with the home and the corpus that they were made in. "
            "Remove the filter, or select the documents again on Map.",
        )
    stored = StoredTexts.read(table, "doc_id").array
    found = pc.is_in(stored, value_set=pa.array(doc_ids, pa.string()))
    return np.asarray(found.to_numpy(zero_copy_only=False))
