"""Numbers with a currency or a unit beside them, in base units.

Symbols that several countries share are read as people in English mean them ("$" is USD unless
the text says whose), those that no reader could tell apart ("kr", bare "pesos") are left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.facts.numbers import Number, find_numbers
from engine.facts.periods import table, word_set
from engine.types.documents import Span

_TABLES = table("units")
CURRENCIES = word_set(_TABLES["currencies"])
SYMBOLS: dict[str, str] = {
    symbol: code for code, symbols in _TABLES["symbols"].items() for symbol in symbols.split()
}
DOLLARS: dict[str, str] = {
    whose: code for code, names in _TABLES["dollars"].items() for whose in names
}
PHRASES: dict[str, str] = _TABLES["phrases"]


def _factors(name: str) -> dict[str, tuple[str, float]]:
    """Base unit and factor of every name in a table of units."""
    units = _TABLES[name].items()
    return {name: (unit, factor) for unit, names in units for name, factor in names.items()}


AS_WRITTEN, IN_WORDS = _factors("as_written"), _factors("words")


def dimension_of(unit: str) -> str:
    """What a unit measures: "money" for every currency, else the base unit itself."""
    return "money" if unit in CURRENCIES else unit


@dataclass(frozen=True, slots=True)
class Quantity:
    """A stated amount."""

    low: float  # low, high: in `unit`; equal unless a range is stated
    high: float
    unit: str  # an ISO 4217 currency or a base unit
    span: Span  # number and unit

    @property
    def dimension(self) -> str:
        """What it measures."""
        return dimension_of(self.unit)

    @property
    def text(self) -> str:
        """The amount for people."""
        return format_amount(self.low, self.high, self.unit)


_POUND_KG = 0.45359237
_BEFORE = re.compile(
    r"(?:(?<![A-Za-z$])(?P<code>[A-Z]{3})|(?P<symbol>(?:US|CA?|AU?|NZ|HK|S|R|MX)\$|Rs\.?|Fr\."
    r"|[$€£¥₹₩₽₺₪₫฿₴₦＄]))[ \u00a0]?(?P<sign>[-−])?$"
)
_AFTER = re.compile(
    r"[ \u00a0\u202f-]?(?:(?P<symbol>[$€£¥₹₩₽₺₪₫฿₴₦]|zł|Kč|%|％)|(?P<per>per cent)\b"
    r"|(?P<first>°C|km/h|m/s|[^\W\d_]+)(?:[ ](?P<second>[a-z]+))?)"
)
_TWO_WAYS = re.compile(r"\d{1,3}\.\d{3}")  # 1.234 euros: a thousand, or one and a bit
_SHORT_SCALE = re.compile(r"([mMbB])(?![\w²³])")
_SCALES = {"m": 1e6, "b": 1e9}
_SUFFIXES = {"k": 1e3, "mn": 1e6, "mio": 1e6, "bn": 1e9}
_DATED = re.compile(r"[ ,]*(?:ago|later|earlier|before|after|from|hence|old|prior|into)\b|['’]")
_DATING = re.compile(
    r"\b(?:in|within|next|last|past|previous|every|first|final|coming|other|of)\s+$", re.IGNORECASE
)
_DECADE = re.compile(
    r"(?:['’]|\b(?:the|my|our|your|his|her|their|early|mid|late|low|high|lower|upper|and|or)[ -]"
    r"|s, )$",
    re.IGNORECASE,
)
_OF_MANY = re.compile(r"\sof\b")
_LASTING = re.compile(
    r"(?:\b(?:took|takes|lasted|lasts|after|within|timeout|waited|elapsed|duration|time|every)\s"
    r"|[=:~(]\s?)$",
    re.IGNORECASE,
)
_MORE_DIGITS = re.compile(r"[-–]\d")
_NUMBER_AFTER = re.compile(r"[ ]?\d")
_DENSITY = re.compile(
    r"\s?/\s?[^\W\d]|\sper\s(?:kg|kilo|kilogram|g|l|litre|liter|m|metre|meter|km|s|second|hectare"
    r"|acre|square|cubic)\b"
)
_SUFFIX = re.compile(r"(?<=\d)(?:k|mn|mio|bn)$", re.IGNORECASE)
_NO_END = re.compile(r"[\w%–-]|[.,]\d|[ ]?(?:%|°|[kcm]?[mg]\b|(?:percent|points)\b)")
_ALSO = re.compile(r"(?:,? and|,)? ")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_INCHES = re.compile(
    r"[ ](?P<inches>\d{1,2}(?:\.\d+)?)(?![\d.,:%/-])"
    r"(?P<tell>[ ]in(?=[.,;:!?)]|$|\s(?:of|tall|wide|long|high|deep|and)\b))?"
)
_RANGE = re.compile(r"\s?(?:[-–—]|to)\s?")
_BETWEEN = re.compile(r"\bbetween\s+\S{0,3}$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+\S{0,3}$", re.IGNORECASE)
_WEIGHING = re.compile(
    r"\b(?:weigh\w*|lift\w*|heavy|heavier|lighter|lbs?|weight|flour|meat|luggage|body|load)\b", re.I
)
_PAYING = re.compile(
    r"[£]|\b(?:cost\w*|pric\w*|pa(?:y|id|ys)|spen[dt]\w*|bought|buy|sold|sells?|rent|quid|salary|"
    r"earns?|fee|fare|cheap\w*|expensive|dearer|budget|pence|worth|house|flat|ticket\w*|"
    r"asks?|asked|asking|tag)\b",
    re.IGNORECASE,
)


def find_quantities(text: str, numbers: tuple[Number, ...] | None = None) -> tuple[Quantity, ...]:
    """All stated amounts with a currency or a unit, in order.

    >>> [(q.low, q.unit) for q in find_quantities("It weighs 2 lb and costs 1,200 euros.")]
    [(0.90718474, 'kg'), (1200.0, 'EUR')]
    """
    quantities: list[Quantity] = []
    bare: Number | None = None
    for number in find_numbers(text) if numbers is None else numbers:
        found = None
        if not number.ordinal:
            found = _symbol_range(text, bare, number) if bare else None
            if found is None and (quantity := _quantity(text, number)):
                found = _with_range(text, quantity, number, bare, quantities)
        if found:
            quantities.append(found)
        bare = None if found or number.ordinal else number
    return tuple(_joined(text, quantities))


def round_in(value: float, unit: str) -> float:
    """``value`` as precise as its unit is counted: cents of a currency, else 6 digits.

    >>> round_in(100 / 3, "EUR")
    33.33
    """
    return round(value, 2) if unit in CURRENCIES else float(f"{value:.6g}")


def format_amount(low: float, high: float, unit: str) -> str:
    """The amount for people.

    >>> format_amount(1950, 1950, "USD"), format_amount(3, 5.5, "kg")
    ('1,950 USD', '3 to 5.5 kg')
    """
    numbers = [f"{value:,.10g}" for value in ((low,) if low == high else (low, high))]
    return f"{' to '.join(numbers)} {unit}".strip()


def _quantity(text: str, number: Number) -> Quantity | None:
    start, end = number.span
    value = number.value
    before = _BEFORE.search(text, max(0, start - 6), start)
    unit = _symbol(before) if before else None
    if before and unit:
        return _after_symbol(text, number, before, unit)
    after = _AFTER.match(text, end)
    if after is None:
        return None
    if _SHORT_SCALE.match(text, end):
        return None  # "5m" is metres, minutes or millions
    read = _unit_after(text, after, value)
    if read is None:
        return None
    unit, factor, end = read
    if unit == "s" and text[number.span[1] : end] == "s" and _is_plural(text, number):
        return None
    dimension = dimension_of(unit)
    if _goes_on(text, end, dimension):
        return None
    if dimension == "money" and _TWO_WAYS.fullmatch(text[slice(*number.span)]) and value < 1000:
        return None
    if dimension == "s" and (
        _DATED.match(text, end) or _DATING.search(text, max(0, start - 12), start)
    ):
        return None
    return Quantity(value * factor, value * factor, unit, (start, end))


def _symbol(before: re.Match[str]) -> str | None:
    """The currency of a symbol or a code before a number, None when it is not known."""
    if before["symbol"]:
        return SYMBOLS[before["symbol"]]
    return before["code"] if before["code"] in CURRENCIES else None


def _after_symbol(text: str, number: Number, before: re.Match[str], unit: str) -> Quantity | None:
    """The amount in "€1,200", "$3m"; None for "$5-10", which is read as a range elsewhere."""
    (start, end), value = number.span, number.value
    if _TWO_WAYS.fullmatch(text[start:end]) and value < 1000:
        return None
    scale = _SHORT_SCALE.match(text, end)
    if scale:
        value, end = value * _SCALES[scale[1].lower()], scale.end()
    if _MORE_DIGITS.match(text, end):
        return None
    lead = text[max(0, before.start() - 2) : before.start()]
    if before["sign"] or lead.lstrip(" (\n") in {"-", "−"}:
        value = -value
    return Quantity(value, value, unit, (before.start(), end))


def _is_plural(text: str, number: Number) -> bool:
    """Whether the "s" behind a number makes a plural: "the 1990s", "in her 30s", "100s of", "737s".
    From a hundred on it means seconds only where a duration is spoken of: "took 380s"."""
    (start, end), value = number.span, number.value
    if _OF_MANY.match(text, end + 1):
        return True
    if value % 1 == 0 and value >= 100:
        return not _LASTING.search(text, max(0, start - 16), start)
    return value % 10 == 0 and _DECADE.search(text, max(0, start - 12), start) is not None


def _goes_on(text: str, end: int, dimension: str) -> bool:
    """Whether what stands behind a unit makes another of it: "30 m2", "12 mg/kg", "5 EUR 19.99"."""
    if text[end : end + 1].isdigit() or text[end : end + 1] == "^":
        return True
    if dimension == "money":
        return _NUMBER_AFTER.match(text, end) is not None
    return dimension != "percent" and _DENSITY.match(text, end) is not None


def _unit_after(text: str, after: re.Match[str], value: float) -> tuple[str, float, int] | None:
    """Unit, factor to the base unit and end of the words behind a number."""
    if after["per"]:
        return "percent", 1.0, after.end()
    if after["symbol"]:
        symbol = after["symbol"]
        return (*AS_WRITTEN.get(symbol, (SYMBOLS.get(symbol, ""), 1.0)), after.end())
    first, second = after["first"], after["second"]
    known = PHRASES.get(f"{first} {second}".lower()) if second else None
    if second and second.startswith("dollar"):
        known = known or DOLLARS.get(first.lower())
    if known:
        return known, 1.0, after.end()
    end = after.end("first")
    word = first.lower()
    single = word if word in IN_WORDS else word.removesuffix("s")
    read: tuple[str, float] | None = None
    if first in CURRENCIES:
        read = first, 1.0
    elif first in AS_WRITTEN:
        read = AS_WRITTEN[first] if first != "percent" else None
    elif single in IN_WORDS and not (single == "percent" and second == "points"):
        read = IN_WORDS[single]
    elif single in {"pound", "cent"}:
        read = _ambiguous(text, after.start(), end, single)
    elif single == "won" and value >= 100:
        read = "KRW", 1.0
    return (*read, end) if read else None


def _ambiguous(text: str, start: int, end: int, word: str) -> tuple[str, float] | None:
    """Pounds of money or of mass, cents of which money: as the words around say."""
    around = text[max(0, start - 80) : end + 60]
    if word == "cent":
        return ("EUR", 0.01) if re.search(r"€|\beuros?\b", text, re.I) else ("USD", 0.01)
    weighing, paying = bool(_WEIGHING.search(around)), bool(_PAYING.search(around))
    if weighing == paying:
        weighing, paying = False, bool(re.search(r"£|\bquid\b|\bpence\b", text))
    if paying:
        return "GBP", 1.0
    return ("kg", _POUND_KG) if weighing else None


def _with_range(
    text: str, quantity: Quantity, number: Number, bare: Number | None, quantities: list[Quantity]
) -> Quantity:
    """ "3 to 5 days", "3 or 4 days", "between 40 and 50 euros", "$10-$15": from low to high."""
    start, last = quantity.span[0], quantities[-1] if quantities else None
    if bare is not None:
        gap, first, low = text[bare.span[1] : start], bare.span[0], bare.value
        low *= quantity.low / number.value if number.value else 1.0
    elif last and last.unit == quantity.unit and last.low == last.high:
        gap, first, low = text[last.span[1] : start], last.span[0], last.low
    else:
        return quantity
    link = _RANGE.fullmatch(gap) or (bare is not None and gap == " or ")
    joined = link and not _FROM.search(text, max(0, first - 9), first)
    between = gap.strip() == "and" and _BETWEEN.search(text, max(0, first - 13), first)
    if not (joined or between) or low >= quantity.high:
        return quantity
    if bare is None:
        quantities.pop()
    span = (first, quantity.span[1])
    return Quantity(low, quantity.high, quantity.unit, span)


def _symbol_range(text: str, low: Number, high: Number) -> Quantity | None:
    """ "$5-10", "€5-10m": the symbol and the scale are those of both; None for anything else."""
    start, end = low.span[0], high.span[1]
    before = _BEFORE.search(text, max(0, start - 6), start)
    unit = _symbol(before) if before else None
    if before is None or unit is None or text[low.span[1] : high.span[0]] not in {"-", "–"}:
        return None
    scale = _SHORT_SCALE.match(text, end)
    factor = _SCALES[scale[1].lower()] if scale else 1.0
    end = scale.end() if scale else end
    suffix = _SUFFIX.search(text, high.span[0], end)
    first = low.value * (_SUFFIXES[suffix[0].lower()] if suffix and not scale else factor)
    last = high.value * factor
    odd = before["sign"] or _NO_END.match(text, end) or not 0 < first < last
    return None if odd else Quantity(first, last, unit, (before.start(), end))


def _joined(text: str, quantities: list[Quantity]) -> list[Quantity]:
    """Join "5 dollars and 20 cents", "3 pounds 20 pence", "3 lb 4 oz" and "2 hours 15 minutes".
    Feet that a bare number follows ("6 ft 2 in") may be more than they say, and are left out where
    the words do not tell."""
    joined: list[Quantity] = []
    for quantity in quantities:
        last = joined[-1] if joined else None
        if last and _is_rest(text, last, quantity):
            low, high = last.low + quantity.low, last.high + quantity.high
            joined[-1] = Quantity(low, high, quantity.unit, (last.span[0], quantity.span[1]))
        else:
            joined.append(quantity)
    return [whole for one in joined if (whole := _with_inches(text, one))]


def _is_rest(text: str, whole: Quantity, part: Quantity) -> bool:
    """Whether ``part`` counts on in a smaller unit where ``whole`` ends."""
    if whole.unit != part.unit or whole.low != whole.high or part.low != part.high:
        return False
    gap = text[whole.span[1] : part.span[0]]
    if not 0 < len(gap) < 7 or not _ALSO.fullmatch(gap):
        return False
    if whole.dimension == "money":
        return part.low < 1 <= whole.low
    size, smaller = _size(text, whole), _size(text, part)
    return smaller < size and part.low < size and whole.dimension in {"kg", "m", "s"}


def _size(text: str, quantity: Quantity) -> float:
    """The factor of the unit that a quantity is written in; 0 when it is none of the tables."""
    word = _LAST_WORD.search(text, *quantity.span)
    name = word[0] if word else ""
    lower = name.lower()
    known = AS_WRITTEN.get(name) or IN_WORDS.get(lower) or IN_WORDS.get(lower.removesuffix("s"))
    return known[1] if known else _POUND_KG if lower.startswith("pound") else 0.0


def _with_inches(text: str, quantity: Quantity) -> Quantity | None:
    """ "6 ft 2 in tall" as one amount; None where a number follows and no unit that is clear."""
    if quantity.dimension != "m" or _size(text, quantity) != AS_WRITTEN["ft"][1]:
        return quantity
    more = _INCHES.match(text, quantity.span[1])
    if more is None:
        return quantity
    if not more["tell"] or quantity.low != quantity.high:
        return None
    value = quantity.low + float(more["inches"]) * IN_WORDS["inch"][1]
    return Quantity(value, value, "m", (quantity.span[0], more.end("inches") + 3))
