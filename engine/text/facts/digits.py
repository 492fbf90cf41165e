"""Numbers written in digits: what their separators mean, and when they are no number at all."""

from __future__ import annotations

import re
import unicodedata

from engine.types.documents import Span

DIGITS = r"\d+(?:[.,'’\u00a0\u202f\u2009\u066b\u066c]\d+)*"
"""A regular expression: digits of any script, with what may separate their groups."""

SIGNS = "½¼¾⅓⅔⅕⅛"

_THIN = "'’\u00a0\u202f\u2009"
_ARABIC = str.maketrans({"\u066b": ".", "\u066c": ","})
_COMMA_DECIMAL = re.compile(r"\d\.\d{3},\d{1,2}(?![\d,.])")
_CURRENCY_BEFORE = re.compile(
    r"(?<![A-Za-z])(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|INR|CNY|SEK|NOK|DKK|Rs|RM|R)$"
)
_PARTS = {2, 3, 4, 5, 6, 8, 10, 12, 16}
_SLASH = re.compile(r"(\d{1,2})[/⁄](\d{1,2})(?![\d/]|[.,]\d|[^\W\d])")
_DATE_BEFORE = re.compile(r"\b(?:on|by|until|since|from|before|after|dated)\s+$", re.IGNORECASE)
_MORE_AFTER = re.compile(r"\d+[-/.]\d")
_SERIAL_AFTER = re.compile(r"[^\W\d]+\d|[_:@]\w|[-/.]\d+[-/.]\d")


def comma_is_decimal(text: str) -> bool:
    """Whether some number of ``text`` can only be read with a decimal comma ("1.234,50")."""
    return _COMMA_DECIMAL.search(text) is not None


def read_digits(digits: str, *, decimal_comma: bool = False) -> float | None:
    """The value of digits with separators, None where they allow two readings or none.

    Args:
        digits: without sign; digits of any script, one group or several.
        decimal_comma: the text elsewhere writes 1.234,50; then "1.234" is a thousand and
            "1,234" could be either, hence None.

    >>> read_digits("1.234,50"), read_digits("1,234.50"), read_digits("12,34"), read_digits("1.2.3")
    (1234.5, 1234.5, 12.34, None)
    """
    if digits.isdecimal():
        return float(digits) if len(digits) < 16 else None
    plain = digits.translate(_ARABIC)
    for thin in _THIN:
        if thin in plain:
            if not _grouped(re.split("[.,]", plain, maxsplit=1)[0], thin):
                return None
            plain = plain.replace(thin, "")
    dots, commas = plain.count("."), plain.count(",")
    separator = max(".", ",", key=plain.rfind)
    if dots and commas:
        group = "," if separator == "." else "."
        whole, _, rest = plain.rpartition(separator)
        if plain.count(separator) > 1 or not _grouped(whole, group):
            return None
        return float(f"{whole.replace(group, '')}.{rest}")
    if dots + commas == 0:
        return float(plain)
    if dots + commas > 1:
        return float(plain.replace(separator, "")) if _grouped(plain, separator) else None
    whole, _, rest = plain.partition(separator)
    if _grouped(plain, separator):
        if decimal_comma:
            return float(whole + rest) if separator == "." else None
        if separator == ",":
            return float(whole + rest)
    return float(f"{whole}.{rest}")


def read_numeral(
    text: str, start: int, end: int, *, decimal_comma: bool = False
) -> tuple[float, Span] | None:
    """The number whose digits are ``text[start:end]``, with its sign or fraction.

    None for what is part of something else: a time, a date, an address, the name of a thing.

    >>> read_numeral("2 1/2 cups", 0, 1), read_numeral("at 10:30", 3, 5)
    ((2.5, (0, 5)), None)
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and _belongs_to_name(text, start, before):
        return None
    if after and not after.isspace() and _SERIAL_AFTER.match(text, end):
        return None
    slash = _SLASH.match(text, start)
    if slash:
        part = _part(slash)
        if part is None or _DATE_BEFORE.search(text, max(0, start - 10), start):
            return None
        return part, slash.span()
    if after == "/" and text[end + 1 : end + 2].isdigit():
        return None
    value = read_digits(text[start:end], decimal_comma=decimal_comma)
    if value is None:
        return None
    mixed = _SLASH.match(text, end + 1) if after == " " else None
    part = _part(mixed) if mixed else None
    if mixed and part is not None:
        return value + part, (start, mixed.end())
    if before in {"-", "−"} and text[start - 2 : start - 1].strip("([ \n\t") == "":
        return -value, (start - 1, end)
    return value, (start, end)


def read_sign(text: str, at: int) -> float:
    """The value of a sign such as "½".

    >>> read_sign("½", 0)
    0.5
    """
    return unicodedata.numeric(text[at])


def _belongs_to_name(text: str, start: int, before: str) -> bool:
    """Whether letters, or digits behind a separator, stand before and make it a part of them."""
    if before.isalpha():
        return not _CURRENCY_BEFORE.search(text, max(0, start - 4), start)
    last = text[start - 2 : start - 1]
    if before in "_:@#":
        return before == "_" or last.isalnum()
    if before in "-/." and last.isdigit():
        head = re.search(r"[\d./-]+$", text[max(0, start - 12) : start])
        groups = len(re.findall(r"\d+", head[0])) if head else 0
        return before == "/" or groups > 1 or _MORE_AFTER.match(text, start) is not None
    return before in "-/" and last.isalpha()


def _part(slash: re.Match[str]) -> float | None:
    """The value of "3/4"; None for what is more likely a date, a version or a score."""
    above, below = int(slash[1]), int(slash[2])
    return above / below if 0 < above < below and below in _PARTS else None


def _grouped(digits: str, separator: str) -> bool:
    """Whether groups are of thousands, or Indian: twos before a last three."""
    head, *groups = digits.split(separator)
    if not groups or len(groups[-1]) != 3 or not 1 <= len(head) <= 3 or int(head) == 0:
        return False
    middle = {len(group) for group in groups[:-1]}
    return middle <= {3} or (middle == {2} and len(head) <= 2)
