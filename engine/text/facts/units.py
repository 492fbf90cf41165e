"""Numbers with a currency or a unit beside them, in base units.

Symbols that several countries share are read as people in English mean them ("$" is USD unless
the text says whose), those that no reader could tell apart ("kr", bare "pesos") are left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from engine.text.facts.numbers import Number, find_numbers
from engine.types.documents import Span

Dimension = Literal["money", "kg", "m", "s", "l", "byte", "W", "degC", "m/s", "percent"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A stated amount.

    Attributes:
        low, high: in ``unit``; equal unless a range is stated.
        unit: an ISO 4217 currency or a base unit.
        dimension: what it measures; "money" for every currency.
        span: number and unit.
    """

    low: float
    high: float
    unit: str
    dimension: Dimension
    span: Span


def word_set(words: str) -> frozenset[str]:
    """The words of a line of words."""
    return frozenset(words.split())


CURRENCIES = word_set(
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES "
    "KRW MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND "
    "ZAR"
)
_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB"}
_SYMBOLS |= {"₺": "TRY", "₪": "ILS", "₫": "VND", "฿": "THB", "₴": "UAH", "₦": "NGN", "＄": "USD"}
_SYMBOLS |= {"US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD"}
_SYMBOLS |= {"HK$": "HKD", "S$": "SGD", "R$": "BRL", "MX$": "MXN", "Rs": "INR", "Rs.": "INR"}
_SYMBOLS |= {"zł": "PLN", "Kč": "CZK", "Fr.": "CHF"}
_DOLLARS = {"us": "USD", "u.s.": "USD", "american": "USD", "canadian": "CAD", "australian": "AUD"}
_DOLLARS |= {"singapore": "SGD", "hong kong": "HKD", "new zealand": "NZD"}
_MONEY = {
    "dollar": ("USD", 1.0), "buck": ("USD", 1.0), "euro": ("EUR", 1.0), "quid": ("GBP", 1.0),
    "yen": ("JPY", 1.0), "yuan": ("CNY", 1.0), "renminbi": ("CNY", 1.0), "rmb": ("CNY", 1.0),
    "rupee": ("INR", 1.0), "ruble": ("RUB", 1.0), "rouble": ("RUB", 1.0), "zloty": ("PLN", 1.0),
    "forint": ("HUF", 1.0), "lira": ("TRY", 1.0), "baht": ("THB", 1.0), "dong": ("VND", 1.0),
    "rand": ("ZAR", 1.0), "shekel": ("ILS", 1.0), "hryvnia": ("UAH", 1.0), "naira": ("NGN", 1.0),
    "franc": ("CHF", 1.0), "pence": ("GBP", 0.01), "eurocent": ("EUR", 0.01),
}  # fmt: skip
_PHRASES = {
    "per cent": ("percent", 1.0), "pounds sterling": ("GBP", 1.0), "swiss francs": ("CHF", 1.0),
    "mexican pesos": ("MXN", 1.0), "argentine pesos": ("ARS", 1.0), "swedish kronor": ("SEK", 1.0),
    "norwegian kroner": ("NOK", 1.0), "danish kroner": ("DKK", 1.0), "indian rupees": ("INR", 1.0),
}  # fmt: skip
_EXACT: dict[str, tuple[str, float]] = {
    "%": ("percent", 1.0), "％": ("percent", 1.0), "pct": ("percent", 1.0),
    "kg": ("kg", 1.0), "g": ("kg", 1e-3), "mg": ("kg", 1e-6), "t": ("kg", 1e3),
    "lb": ("kg", 0.45359237), "lbs": ("kg", 0.45359237), "oz": ("kg", 0.028349523125),
    "m": ("m", 1.0), "km": ("m", 1e3), "cm": ("m", 0.01), "mm": ("m", 1e-3), "ft": ("m", 0.3048),
    "s": ("s", 1.0), "ms": ("s", 1e-3), "min": ("s", 60.0), "h": ("s", 3600.0),
    "hrs": ("s", 3600.0), "mins": ("s", 60.0), "secs": ("s", 1.0),
    "l": ("l", 1.0), "L": ("l", 1.0), "ml": ("l", 1e-3), "mL": ("l", 1e-3), "cl": ("l", 0.01),
    "KB": ("byte", 1e3), "kB": ("byte", 1e3), "MB": ("byte", 1e6), "GB": ("byte", 1e9),
    "TB": ("byte", 1e12), "W": ("W", 1.0), "kW": ("W", 1e3), "MW": ("W", 1e6),
    "°C": ("degC", 1.0), "km/h": ("m/s", 1 / 3.6), "mph": ("m/s", 0.44704), "m/s": ("m/s", 1.0),
}  # fmt: skip
_WORDS: dict[str, tuple[str, float]] = {
    "percent": ("percent", 1.0), "kilogram": ("kg", 1.0), "kilo": ("kg", 1.0),
    "gram": ("kg", 1e-3), "milligram": ("kg", 1e-6), "tonne": ("kg", 1e3),
    "ounce": ("kg", 0.028349523125), "metre": ("m", 1.0), "meter": ("m", 1.0),
    "kilometre": ("m", 1e3), "kilometer": ("m", 1e3), "centimetre": ("m", 0.01),
    "centimeter": ("m", 0.01), "millimetre": ("m", 1e-3), "millimeter": ("m", 1e-3),
    "mile": ("m", 1609.344), "inch": ("m", 0.0254), "inche": ("m", 0.0254), "feet": ("m", 0.3048),
    "foot": ("m", 0.3048), "yard": ("m", 0.9144), "second": ("s", 1.0), "minute": ("s", 60.0),
    "hour": ("s", 3600.0), "day": ("s", 86400.0), "week": ("s", 604800.0), "litre": ("l", 1.0),
    "liter": ("l", 1.0), "millilitre": ("l", 1e-3), "milliliter": ("l", 1e-3),
    "megabyte": ("byte", 1e6), "gigabyte": ("byte", 1e9), "terabyte": ("byte", 1e12),
    "watt": ("W", 1.0), "kilowatt": ("W", 1e3),
}  # fmt: skip
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
_DATED = re.compile(r"[ ,]*(?:ago|later|earlier|before|after|from|hence|old|prior|into)\b|['’]")
_DATING = re.compile(
    r"\b(?:in|within|next|last|past|previous|every|first|final|coming|other|of)\s+$", re.IGNORECASE
)
_RANGE = re.compile(r"\s?(?:[-–—]|to)\s?")
_BETWEEN = re.compile(r"\bbetween\s+\S{0,3}$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+\S{0,3}$", re.IGNORECASE)
_WEIGHING = re.compile(
    r"\b(?:weigh\w*|lift\w*|heavy|heavier|lighter|lbs?|weight|flour|meat|luggage|body|load)\b", re.I
)
_PAYING = re.compile(
    r"[£]|\b(?:cost\w*|pric\w*|pa(?:y|id|ys)|spen[dt]\w*|bought|buy|sold|sells?|rent|quid|salary|"
    r"earns?|fee|fare|cheap\w*|expensive|dearer|budget|pence|worth|house|flat|ticket\w*)\b",
    re.IGNORECASE,
)


def find_quantities(text: str, numbers: tuple[Number, ...] | None = None) -> tuple[Quantity, ...]:
    """All stated amounts with a currency or a unit, in order.

    >>> [(q.low, q.unit) for q in find_quantities("It weighs 2 lb and costs 1,200 euros.")]
    [(0.90718474, 'kg'), (1200.0, 'EUR')]
    """
    found: list[Quantity] = []
    bare: Number | None = None
    for number in find_numbers(text) if numbers is None else numbers:
        quantity = None if number.ordinal else _quantity(text, number)
        if quantity is None:
            bare = None if number.ordinal else number
            continue
        found.append(_with_range(text, quantity, number, bare, found))
        bare = None
    return tuple(_with_small_change(text, found))


def is_currency(unit: str) -> bool:
    """Whether ``unit`` is an ISO 4217 code that is known here."""
    return unit in CURRENCIES


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
    if before:
        code, symbol = before["code"], before["symbol"]
        unit = _SYMBOLS[symbol] if symbol else code if code in CURRENCIES else None
        if unit and _TWO_WAYS.fullmatch(text[start:end]) and value < 1000:
            return None
        if unit:
            scale = _SHORT_SCALE.match(text, end)
            if scale:
                value, end = value * _SCALES[scale[1].lower()], scale.end()
            lead = text[max(0, before.start() - 2) : before.start()]
            if before["sign"] or lead.lstrip(" (\n") in {"-", "−"}:
                value = -value
            return Quantity(value, value, unit, "money", (before.start(), end))
    after = _AFTER.match(text, end)
    if after is None:
        return None
    if _SHORT_SCALE.match(text, end):
        return None  # "5m" is metres, minutes or millions
    read = _unit_after(text, after, value)
    if read is None:
        return None
    unit, factor, end = read
    dimension = "money" if unit in CURRENCIES else unit
    if dimension == "money" and _TWO_WAYS.fullmatch(text[slice(*number.span)]) and value < 1000:
        return None
    if dimension == "s" and (
        _DATED.match(text, end) or _DATING.search(text, max(0, start - 12), start)
    ):
        return None
    return Quantity(value * factor, value * factor, unit, dimension, (start, end))  # type: ignore[arg-type]


def _unit_after(text: str, after: re.Match[str], value: float) -> tuple[str, float, int] | None:
    """Unit, factor to the base unit and end of the words behind a number."""
    if after["per"]:
        return "percent", 1.0, after.end()
    if after["symbol"]:
        symbol = after["symbol"]
        return (*_EXACT.get(symbol, (_SYMBOLS.get(symbol, ""), 1.0)), after.end())
    first, second = after["first"], after["second"]
    if second:
        phrase = f"{first} {second}".lower()
        if phrase in _PHRASES:
            return (*_PHRASES[phrase], after.end())
        if second.startswith("dollar") and first.lower() in _DOLLARS:
            return _DOLLARS[first.lower()], 1.0, after.end()
    end = after.end("first")
    if first in CURRENCIES:
        return first, 1.0, end
    if first in _EXACT:
        return (*_EXACT[first], end) if first != "percent" else None
    word = first.lower()
    single = word if word in _MONEY or word in _WORDS else word.removesuffix("s")
    if single == "percent" and second == "points":
        return None
    if single in _MONEY:
        return (*_MONEY[single], end)
    if single in _WORDS:
        return (*_WORDS[single], end)
    if single in {"pound", "cent"}:
        read = _ambiguous(text, after.start(), end, single)
        return (*read, end) if read else None
    if single == "won" and value >= 100:
        return "KRW", 1.0, end
    return None


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
    text: str, quantity: Quantity, number: Number, bare: Number | None, found: list[Quantity]
) -> Quantity:
    """ "3 to 5 days", "between 40 and 50 euros", "$10-$15": one amount from low to high."""
    start = quantity.span[0]
    if bare is not None:
        gap, first, low = text[bare.span[1] : start], bare.span[0], bare.value
        low *= quantity.low / number.value if number.value else 1.0
    elif found and found[-1].unit == quantity.unit and found[-1].low == found[-1].high:
        gap, first, low = text[found[-1].span[1] : start], found[-1].span[0], found[-1].low
    else:
        return quantity
    joined = _RANGE.fullmatch(gap) and not _FROM.search(text, max(0, first - 9), first)
    between = gap.strip() == "and" and _BETWEEN.search(text, max(0, first - 13), first)
    if not (joined or between) or low >= quantity.high:
        return quantity
    if bare is None:
        found.pop()
    span = (first, quantity.span[1])
    return Quantity(low, quantity.high, quantity.unit, quantity.dimension, span)


def _with_small_change(text: str, found: list[Quantity]) -> list[Quantity]:
    """Join "5 dollars and 20 cents" and "3 pounds 20 pence"."""
    joined: list[Quantity] = []
    for quantity in found:
        last = joined[-1] if joined else None
        if (
            last
            and last.unit == quantity.unit
            and quantity.low < 1 <= last.low
            and re.fullmatch(r"(?:,? and)? ", text[last.span[1] : quantity.span[0]])
            and quantity.dimension == "money"
        ):
            value = last.low + quantity.low
            span = (last.span[0], quantity.span[1])
            joined[-1] = Quantity(value, value, quantity.unit, "money", span)
        else:
            joined.append(quantity)
    return joined
