"""What the documents of a corpus can be filtered by, with how many have what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.types.corpora import FieldValues
from engine.types.lenses import Aspect

YEAR = "year"
"""The one stored field that has an order; it has a column of its own."""
ASPECT = "has.aspect"
"""The field of a filter for documents with a sentence of an aspect: ``has.aspect=method``."""
DATE = "has.date"
"""For documents that state or imply a date: ``has.date>=2010-05``."""
PLACE = "has.place"
"""For documents that name a place: ``has.place=FR|JP``."""
AMOUNT = "has.amount."
"""For documents with an amount in the unit that follows: ``has.amount.USD>=100``."""
NUMBER = "number"
"""The unit of an amount without one, in a filter."""
SELECTION = "in.selection"
"""For documents that somebody selected: ``in.selection=KEY``, as
:meth:`engine.explorer.Explorer.select` makes it. A key begins with how many they were."""


def is_derived(field: str) -> bool:
    """Whether a filter's field is no stored one: it is found in the documents themselves, or
    names a selection of them."""
    return field in (ASPECT, DATE, PLACE, SELECTION) or field.startswith(AMOUNT)


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """A country, or a region of one, that documents name.

    Attributes:
        code: ISO 3166, as :class:`engine.types.facts.Fact` has it.
        name: in English; the code where no name is known.
        at: latitude and longitude in degrees, where most of its people live; None where that is
            not known.
        documents: that name it.
    """

    code: str
    name: str
    at: tuple[float, float] | None
    documents: int


@dataclass(frozen=True, slots=True)
class AmountCount:
    """Amounts in one unit.

    Attributes:
        unit: as a filter has it: "USD", "kg", :data:`NUMBER` ...
        documents: with such an amount.
        quantiles: the lowest, the three quartiles and the highest of their amounts.
    """

    unit: str
    documents: int
    quantiles: tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Facets:
    """How many documents have what, where some filters hold.

    A facet is counted among the documents that meet the filters on all *other* facets, so that it
    shows what another choice in it would leave.

    Attributes:
        documents: that meet all filters.
        total: of the corpus.
        years: year -> documents, ascending; empty where the corpus has none.
        undated: documents without a year.
        fields: name -> its values, of which the most frequent ones and those filtered by are
            counted; fields that divide the corpus best come first.
        aspects: of the lens, each with the documents that have a sentence of it.
        aspects_of: the documents among which aspects were counted.
        dates: year -> documents that state or imply a date in it, ascending.
        places: most frequent first.
        land: (latitude, longitude) of the south-western corners of squares of two degrees in which
            there are cities, to show places on; empty where there are none.
        amounts: by unit, most frequent first.
        seconds: that counting took.
    """

    documents: int
    total: int
    years: Mapping[int, int]
    undated: int
    fields: Mapping[str, FieldValues]
    aspects: tuple[tuple[Aspect, int], ...]
    aspects_of: int
    dates: Mapping[int, int]
    places: tuple[PlaceCount, ...]
    land: tuple[tuple[int, int], ...]
    amounts: tuple[AmountCount, ...]
    seconds: float
