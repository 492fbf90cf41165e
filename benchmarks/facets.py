"""How long counting the facets of tens of thousands of documents takes.

Their columns are made up in memory, as large as those of stored abstracts: what is measured is
reading them into arrays, and counting.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.figures import Figure
from engine.corpora.facets import FacetIndex
from engine.corpora.schema import facet
from engine.corpora.stored_facts import FACT_TYPE
from engine.facts import VERSION
from engine.facts.places import atlas
from engine.lenses.definitions import RESEARCH
from engine.search.queries import parse_filters
from engine.types.lenses import Lens

PART = "facets"
SIZE = 60_000
MILLISECONDS = 100.0
REPEATS = 20
FILTERS = {
    "no filter": "",
    "years and a field": "year>=2005; venue=venue 3|venue 4",
    "aspects and facts": "has.aspect=method; has.date>=2000; has.place=US; has.amount.USD>=100",
}


class SyntheticTable:
    """Columns in memory, read as those of a documents table are.

    Args:
        stored: columns of equal length.
    """

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
    facets = [
        facet("venue", f"venue {n % 131}") + facet("doi", f"10.1/{n}") + facet("language", "en")
        + facet("author", f"author {a}") + facet("author", f"author {b}")
        for n, (a, b) in enumerate(chance.integers(0, 20_000, (documents, 2)).tolist())
    ]  # fmt: skip
    roles = chance.random(documents * 10 * len(RESEARCH.aspects), dtype=np.float32)
    ends = np.arange(documents + 1, dtype=np.int32)
    stored = pa.table({
        "facets": facets,
        "roles": pa.ListArray.from_arrays(
            pa.array(ends * 10 * len(RESEARCH.aspects)), pa.array(roles)
        ),
        "text": [""] * documents,
        "metadata": ["{}"] * documents,
        "facts": pa.ListArray.from_arrays(pa.array(ends * 5), _facts(chance, documents)),
        "facts_version": pa.array([VERSION] * documents, pa.int32()),
    })  # fmt: skip
    return SyntheticTable(stored), RESEARCH, years


def _facts(chance: np.random.Generator, documents: int) -> pa.StructArray:
    """Of each document two dates, two amounts and a place."""
    count = documents * 5
    kinds = np.tile(["date", "date", "amount", "amount", "place"], documents)
    days = chance.integers(date(1900, 1, 1).toordinal(), date(2025, 1, 1).toordinal(), count)
    low = np.where(
        kinds == "date", days, np.where(kinds == "place", 0, chance.lognormal(4, 2, count))
    )
    high = low + np.where(kinds == "date", chance.choice([0, 30, 364], count), 0)
    units = np.where(
        kinds == "date", "day",
        np.where(kinds == "place", chance.choice(sorted(atlas().at), count),
                 chance.choice(["percent", "USD", "kg", "m", "s", "byte"], count)),
    )  # fmt: skip
    given = {"kind": kinds, "low": low, "high": high, "unit": units, "recurrence": [""] * count}
    columns = [
        pa.array(given[f.name], f.type) if f.name in given else pa.nulls(count, f.type)
        for f in FACT_TYPE
    ]
    return pa.StructArray.from_arrays(columns, fields=list(FACT_TYPE))


def measure(documents: int = SIZE) -> list[Figure]:
    """All figures of this part."""
    table, lens, years = synthetic(documents)
    index = FacetIndex("facets", table, lens, years)
    started = time.perf_counter()
    index.facets()
    read = (time.perf_counter() - started) * 1000
    figures = [Figure(PART, "first count, reading included", read, "ms")]
    for words, text in FILTERS.items():
        taken = []
        for n in range(REPEATS):
            # Each is another one, so that none is known.
            filters = parse_filters(f"{text}; year<={3000 + n}")
            taken.append(index.facets(filters).seconds * 1000)
        figures.append(
            Figure(PART, f"{documents:,} documents, {words}", statistics.median(taken), "ms",
                   target=MILLISECONDS, at_least=False, note=f"slowest {max(taken):.0f} ms")
        )  # fmt: skip
    return figures
