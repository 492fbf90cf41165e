"""How long counting the facets of tens of thousands of documents takes.

Their columns are made up in memory, as large as those of stored abstracts: what is measured is
reading them into arrays, and counting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.figures import Figure, spread, timed
from engine.corpora.facets import FacetIndex
from engine.corpora.schema import facet
from engine.corpora.stored_facts import FACT_TYPE
from engine.facts import VERSION
from engine.facts.places import atlas
from engine.lenses.definitions import RESEARCH
from engine.queries import parse_filters
from engine.types.lenses import Lens

SIZE = 60_000
MILLISECONDS = 100.0
REPEATS = 20
FILTERS = {
    "no filter": "",
    "years and a field": "year>=2005; venue=venue 3|venue 4",
    "aspects and facts": "has.aspect=method; has.date>=2000; has.place=US; has.amount.USD>=100",
}


class SyntheticTable:
    """Columns in memory, of equal length, read as those of a documents table are."""

    def __init__(self, stored: pa.Table) -> None:
        self._stored = stored
        self.schema = stored.schema

    def columns(self, names: Sequence[str], batch_size: int = 4096) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in batches."""
        yield from self._stored.select(list(names)).to_batches(batch_size)


def synthetic(documents: int) -> tuple[Any, Lens, NDArray[np.int32]]:
    """Table, lens and years of made-up documents: ten sentences, five facts, four fields each."""
    chance = np.random.default_rng(7)
    drawn = chance.integers(1990, 2025, documents)
    years = np.where(drawn > 1994, drawn, -1).astype(np.int32)
    facets = []
    for n, (a, b) in enumerate(chance.integers(0, 20_000, (documents, 2)).tolist()):
        fields = [("venue", f"venue {n % 131}"), ("doi", f"10.1/{n}"), ("language", "en")]
        fields += [("author", f"author {a}"), ("author", f"author {b}")]
        facets.append("".join(facet(*field) for field in fields))
    sentences = 10 * len(RESEARCH.aspects)
    roles = chance.random(documents * sentences, dtype=np.float32)
    ends = np.arange(documents + 1, dtype=np.int32)
    columns = {
        "facets": facets,
        "roles": pa.ListArray.from_arrays(pa.array(ends * sentences), pa.array(roles)),
        "text": [""] * documents,
        "metadata": ["{}"] * documents,
        "facts": pa.ListArray.from_arrays(pa.array(ends * 5), _facts(chance, documents)),
        "facts_version": pa.array([VERSION] * documents, pa.int32()),
    }
    stored = pa.table(columns)
    return SyntheticTable(stored), RESEARCH, years


def _facts(chance: np.random.Generator, documents: int) -> pa.StructArray:
    """Of each document two dates, two amounts and a place."""
    count = documents * 5
    kinds = np.tile(["date", "date", "amount", "amount", "place"], documents)
    is_date, is_place = kinds == "date", kinds == "place"
    days = chance.integers(date(1900, 1, 1).toordinal(), date(2025, 1, 1).toordinal(), count)
    low = np.where(is_date, days, np.where(is_place, 0, chance.lognormal(4, 2, count)))
    high = low + np.where(is_date, chance.choice([0, 30, 364], count), 0)
    places = chance.choice(sorted(atlas().at), count)
    amounts = chance.choice(["percent", "USD", "kg", "m", "s", "byte"], count)
    units = np.where(is_date, "day", np.where(is_place, places, amounts))
    given = {"kind": kinds, "low": low, "high": high, "unit": units, "recurrence": [""] * count}
    columns = [
        pa.array(given[f.name], f.type) if f.name in given else pa.nulls(count, f.type)
        for f in FACT_TYPE
    ]
    return pa.StructArray.from_arrays(columns, fields=list(FACT_TYPE))


def measure(documents: int = SIZE) -> list[Figure]:
    """Counts with and without filters."""
    index = FacetIndex("facets", *synthetic(documents))
    figures = [Figure("first count, reading included", 1000 * timed(index.facets), "ms")]
    for words, text in FILTERS.items():
        taken = []
        for n in range(REPEATS):
            # Each is another one, so that none is known.
            filters = parse_filters(f"{text}; year<={3000 + n}")
            taken.append(index.facets(filters).seconds * 1000)
        note = f"slowest {max(taken):.0f} ms"
        what = f"{documents:,} documents, {words}"
        figures += spread(what, taken, "ms", median=MILLISECONDS, note=note)
    return figures
