"""What the documents of a corpus have in a field, one value each."""

from __future__ import annotations

from collections import Counter

import numpy as np

from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import FACET_MARK
from engine.errors import UnknownNameError
from engine.types.maps import MapValues
from engine.types.searches import YEAR


def values_of(opened: OpenCorpus, field: str) -> MapValues:
    """Years as numbers, any other field as categories, most frequent first; of several values of a
    document, its first counts.
    """
    if field == YEAR:
        years = opened.years.astype(np.float32)
        return MapValues(field, numbers=np.where(years < 0, np.float32(np.nan), years))
    if field not in opened.fields:
        raise UnknownNameError(
            f"There is no field '{field}' in corpus '{opened.name}'.",
            f"Its fields are: {', '.join(opened.fields)}.",
        )
    begin = f"{FACET_MARK}{field}="
    firsts: list[str | None] = []
    for batch in opened.table.columns(["facets"]):
        for text in batch["facets"].to_pylist():
            _, found, rest = (text or "").partition(begin)
            firsts.append(rest.partition(FACET_MARK)[0] if found else None)
    counts = Counter(value for value in firsts if value is not None)
    names = tuple(sorted(counts, key=lambda value: (-counts[value], value)))
    code_of = {name: code for code, name in enumerate(names)}
    codes = [-1 if value is None else code_of[value] for value in firsts]
    return MapValues(field, codes=np.array(codes, dtype=np.int32), names=names)
