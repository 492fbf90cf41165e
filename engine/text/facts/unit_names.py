"""Names and symbols of currencies and units, with their factor to the base unit."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """The words of a line of words."""
    return frozenset(words.split())


CURRENCIES = word_set(
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES "
    "KRW MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND "
    "ZAR"
)
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB"}
SYMBOLS |= {"₺": "TRY", "₪": "ILS", "₫": "VND", "฿": "THB", "₴": "UAH", "₦": "NGN", "＄": "USD"}
SYMBOLS |= {"US$": "USD", "C$": "CAD", "CA$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD"}
SYMBOLS |= {"HK$": "HKD", "S$": "SGD", "R$": "BRL", "MX$": "MXN", "Rs": "INR", "Rs.": "INR"}
SYMBOLS |= {"zł": "PLN", "Kč": "CZK", "Fr.": "CHF"}
DOLLARS = {"us": "USD", "u.s.": "USD", "american": "USD", "canadian": "CAD", "australian": "AUD"}
DOLLARS |= {"singapore": "SGD", "hong kong": "HKD", "new zealand": "NZD"}
MONEY = {
    "dollar": ("USD", 1.0), "buck": ("USD", 1.0), "euro": ("EUR", 1.0), "quid": ("GBP", 1.0),
    "yen": ("JPY", 1.0), "yuan": ("CNY", 1.0), "renminbi": ("CNY", 1.0), "rmb": ("CNY", 1.0),
    "rupee": ("INR", 1.0), "ruble": ("RUB", 1.0), "rouble": ("RUB", 1.0), "zloty": ("PLN", 1.0),
    "forint": ("HUF", 1.0), "lira": ("TRY", 1.0), "baht": ("THB", 1.0), "dong": ("VND", 1.0),
    "rand": ("ZAR", 1.0), "shekel": ("ILS", 1.0), "hryvnia": ("UAH", 1.0), "naira": ("NGN", 1.0),
    "franc": ("CHF", 1.0), "pence": ("GBP", 0.01), "eurocent": ("EUR", 0.01),
}  # fmt: skip
PHRASES = {
    "per cent": ("percent", 1.0), "pounds sterling": ("GBP", 1.0), "swiss francs": ("CHF", 1.0),
    "mexican pesos": ("MXN", 1.0), "argentine pesos": ("ARS", 1.0), "swedish kronor": ("SEK", 1.0),
    "norwegian kroner": ("NOK", 1.0), "danish kroner": ("DKK", 1.0), "indian rupees": ("INR", 1.0),
}  # fmt: skip
EXACT: dict[str, tuple[str, float]] = {
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
WORDS: dict[str, tuple[str, float]] = {
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
