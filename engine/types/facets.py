"""What the documents of a corpus can be filtered by, with how many have what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.types.corpora import FieldValues
from engine.types.lenses import Aspect

YEAR = "year"  # The one stored field that has an order; it has a column of its own
ASPECT = "has.aspect"
"""The field of a filter for documents with a sentence of an aspect: ``has.aspect=method``."""
DATE = "has.date"  # For documents that state or imply a date: `has.date>=2010-05`
PLACE = "has.place"  # For documents that name a place: `has.place=FR|JP`
AMOUNT = "has.amount."
"""For documents with an amount in the unit that follows: ``has.amount.USD>=100``."""
NUMBER = "number"  # The unit of an amount without one, in a filter
SELECTION = "in.selection"
"""For documents that somebody selected: ``in.selection=KEY``, as
:meth:`engine.explorer.Explorer.select` makes it. A key begins with how many they were."""


def is_derived(field: str) -> bool:
    """Whether a filter's field is no stored one: it is found in the documents themselves, or
    names a selection of them."""
    return field in (ASPECT, DATE, PLACE, SELECTION) or field.startswith(AMOUNT)


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """A country, or a region of one, that documents name."""

    code: str  # ISO 3166, as `Fact` has it
    name: str  # in English; the code where no name is known
    # latitude and longitude in degrees, where most of its people live; None where that is not known
    at: tuple[float, float] | None
    documents: int  # that name it


@dataclass(frozen=True, slots=True)
class AmountCount:
    """Amounts in one unit."""

    unit: str  # as a filter has it: "USD", "kg", `NUMBER` ...
    documents: int  # with such an amount
    # the lowest, the three quartiles and the highest of their amounts
    quantiles: tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Facets:
    """How many documents have what, where some filters hold.

    A facet is counted among the documents that meet the filters on all *other* facets, so that it
    shows what another choice in it would leave.
    """

    documents: int  # that meet all filters
    total: int  # of the corpus
    years: Mapping[int, int]  # year -> documents, ascending; empty where the corpus has none
    undated: int  # documents without a year
    # name -> its values, of which the most frequent ones and those filtered by are counted; fields
    # that divide the corpus best come first
    fields: Mapping[str, FieldValues]
    # of the lens, each with the documents that have a sentence of it
    aspects: tuple[tuple[Aspect, int], ...]
    aspects_of: int  # the documents among which aspects were counted
    dates: Mapping[int, int]  # year -> documents that state or imply a date in it, ascending
    places: tuple[PlaceCount, ...]  # most frequent first
    # (latitude, longitude) of the south-western corners of squares of two degrees in which there
    # are cities, to show places on; empty where there are none
    land: tuple[tuple[int, int], ...]
    amounts: tuple[AmountCount, ...]  # by unit, most frequent first
    seconds: float  # that counting took
