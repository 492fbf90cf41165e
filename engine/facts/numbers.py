"""Numbers in running text, in digits of any script and in English words.

Digits are read by what their separators allow: "1.234,50" can only be 1234.5, "1,234" is a thousand
in English, and what stays ambiguous ("12 500", "1.2.3") is no number. Words follow the spoken
grammar ("one thousand five hundred and sixty", "two and a half million"); vague ones ("several
hundred") and those that only point ("this one") are none.

A grammar of our own, for text2num reads neither "a hundred", "half a million", "two and a half" and
"one million, two hundred thousand" nor lakh, crore and dozen, takes "several hundred" for 100 and
"one hundred and two hundred" for 102 and 100.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from engine.types.documents import Span
from engine.types.limits import MOST_NUMBERS

DIGITS = r"\d+(?:[.,'’\u00a0\u202f\u2009\u066b\u066c]\d+)*"
"""A regular expression: digits of any script, with what may separate their groups."""

SIGNS = "½¼¾⅓⅔⅕⅛"

_THIN = "'’\u00a0\u202f\u2009"
_ARABIC = str.maketrans({"\u066b": ".", "\u066c": ","})
_COMMA_DECIMAL = re.compile(r"\d\.\d{3},\d{1,2}(?![\d,.])")
"""A number that can only be read with a decimal comma: "1.234,50"."""
_CURRENCY_BEFORE = re.compile(
    r"(?<![A-Za-z])(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|INR|CNY|SEK|NOK|DKK|Rs|RM|R)$"
)
_PARTS = {2, 3, 4, 5, 6, 8, 10, 12, 16}
"""Denominators that people write with a slash; others are dates, versions or scores."""
_SLASH = re.compile(r"(\d{1,2})[/⁄](\d{1,2})(?![\d/]|[.,]\d|[^\W\d])")
_DATE_BEFORE = re.compile(r"\b(?:on|by|until|since|from|before|after|dated)\s+$", re.IGNORECASE)
_MORE_AFTER = re.compile(r"\d+[-/.]\d")
_SERIAL_AFTER = re.compile(r"[^\W\d]+\d|[_:@]\w|[-/.]\d+[-/.]\d")


def read_digits(digits: str, *, decimal_comma: bool = False) -> float | None:
    """The value of digits with separators, None where they allow two readings or none.

    `digits`: without sign; digits of any script, one group or several. `decimal_comma`: the text
    elsewhere writes 1.234,50; then "1.234" is a thousand and "1,234" could be either, hence None.

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
    marks = [sign for sign in plain if sign in ".,"]
    if not marks:
        return float(plain)
    separator = marks[-1]
    whole, _, rest = plain.rpartition(separator)
    if len(set(marks)) > 1:
        single = marks.count(separator) == 1 and _grouped(whole, marks[0])
        return float(f"{whole.replace(marks[0], '')}.{rest}") if single else None
    grouped = _grouped(plain, separator)
    if len(marks) > 1:
        return float(plain.replace(separator, "")) if grouped else None
    if grouped and decimal_comma and separator == ",":
        return None
    thousands = grouped and (decimal_comma or separator == ",")
    return float(whole + rest) if thousands else float(f"{whole}.{rest}")


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
    if mixed and (part := _part(mixed)) is not None:
        return value + part, (start, mixed.end())
    if before in {"-", "−"} and text[start - 2 : start - 1].strip("([ \n\t") == "":
        return -value, (start - 1, end)
    return value, (start, end)


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


Kind = Literal["numeral", "half", "one", "small", "tens", "hundred", "scale", "part", "ordinal"]


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a number."""

    # "numeral" is digits, "one" the article of "a hundred", "half" begins "half a million", "part"
    # a fraction in words ("two thirds", the half of "two and a half")
    kind: Kind
    value: float  # of the token alone; that of a scale is what it multiplies by
    start: int  # start, end: its characters
    end: int


_SPELLED = (
    "zero one two three four five six seven eight nine",
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
)
UNITS, TEENS, TENS, _RANKS, _MORE_RANKS = (words.split() for words in _SPELLED)
_SCALES = {"dozen": 12, "thousand": 10**3, "lakh": 10**5, "million": 10**6, "crore": 10**7}
_SCALES |= {"billion": 10**9, "trillion": 10**12, "mn": 10**6, "mio": 10**6, "bn": 10**9}
_WORD_PARTS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5}
_WORD_PARTS |= {"sixth": 6, "eighth": 8, "tenth": 10}

VALUES: dict[str, tuple[Kind, float]] = {
    **{word: ("small", float(value)) for value, word in enumerate(UNITS + TEENS)},
    **{word: ("tens", 10.0 * value) for value, word in enumerate(TENS, start=2)},
    **{word: ("ordinal", float(value)) for value, word in enumerate(_RANKS + _MORE_RANKS, start=1)},
    **{f"{word[:-1]}ieth": ("ordinal", 10.0 * v) for v, word in enumerate(TENS, start=2)},
    **{word: ("scale", float(value)) for word, value in _SCALES.items()},
    "hundred": ("hundred", 100.0),
}
_ALONE: dict[str, tuple[Kind, float]] = {
    "half": ("half", 0.5),
    "bare": ("part", 0.5),
    "one": ("one", 1.0),
}
"""What the groups of a token mean that have one meaning."""
_SCALED = "(?=[ ](?:hundred|thousand|lakh|million|crore|billion|trillion|dozen)\\b)"
_PATTERN = re.compile(
    rf"""
    (?P<digits>{DIGITS})(?:(?P<rank>st|nd|rd|th)\b|(?P<scale>k|mn|mio|bn)(?!\w))?
    | (?P<sign>[{SIGNS}])
    | (?P<half>\bhalf(?:[ ]an?\b|{_SCALED}))
    | (?P<bare>(?<=[ -]and[ -])half\b(?=[ -](?:times|hours?|days?|weeks?|months?|years?)\b))
    | (?P<one>\ban?\b{_SCALED})
    | (?P<part>\b(?P<count>an?|{"|".join(UNITS[1:])})[ -]
      (?P<name>{"|".join(_WORD_PARTS)})(?P<many>s?)\b)
    | \b(?P<word>{"|".join(sorted(VALUES, key=len, reverse=True))})\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_START = re.compile(
    rf"\d+|[{SIGNS}]|\b(?:ze|on|tw|th[iro]|fo|fi|si|se|ei|ni|te|el|hu|do|la|mi|mn|bi|bn|cr|tr|hal"
    r"|an?(?=[ -](?:ha|th|qu|fo|fi|si|ei|te|hu|la|mi|cr|bi|tr|do)))",
    re.IGNORECASE,
)
"""How every token begins: finding these first is three times as fast."""

_MOST_GROUPS = 5
"""Groups of digits with blanks between them that are read as one number: up to 10 ** 15."""
_GROUP = re.compile(r"\d{3}(?:[.,]\d{1,2})?")
_OF = re.compile(r"[ ](?:of|as|more|less|fewer|off|cheaper|higher|lower|dearer|the)\b", re.I)
_AND_BEFORE = re.compile(r"(?:\w|\d)[ -]and[ -]$", re.IGNORECASE)


def read_tokens(text: str) -> list[Token]:
    """The tokens of ``text``, in order and apart, up to :data:`MOST_NUMBERS` of them; what stands
    between them is not looked at.

    >>> [token.kind for token in read_tokens("2½ of a hundred and five")]
    ['numeral', 'one', 'hundred', 'small']
    """
    decimal_comma = _COMMA_DECIMAL.search(text) is not None
    tokens: list[Token] = []
    reached = 0
    for begin in _START.finditer(text):
        match = _PATTERN.match(text, begin.start()) if begin.start() >= reached else None
        if match is None:
            continue
        if len(tokens) >= MOST_NUMBERS:
            break
        start, reached = match.span()
        end = reached
        if match["digits"]:
            token = _digits(text, match, decimal_comma)
            if token is not None and (not tokens or tokens[-1].end <= token.start):
                tokens.append(token)
        elif match["sign"]:
            value = unicodedata.numeric(text[start])
            if tokens and tokens[-1].kind == "numeral" and not text[tokens[-1].end : start].strip():
                whole = tokens.pop()
                value, start = whole.value + value, whole.start
            tokens.append(Token("numeral", value, start, end))
        elif match["part"]:
            tokens.extend(_word_part(text, match))
        else:
            kind, value = _ALONE.get(match.lastgroup or "") or VALUES[match["word"].lower()]
            tokens.append(Token(kind, value, start, end))
    return _without_spaced_groups(text, tokens)


def _digits(text: str, match: re.Match[str], decimal_comma: bool) -> Token | None:
    read = read_numeral(text, *match.span("digits"), decimal_comma=decimal_comma)
    if read is None:
        return None
    value, (start, end) = read
    if match["rank"]:
        return Token("ordinal", value, start, match.end())
    if match["scale"]:
        scale = _SCALES.get(match["scale"].lower(), 1000)
        return Token("numeral", value * scale, start, match.end())
    return Token("numeral", value, start, end)


def _word_part(text: str, match: re.Match[str]) -> list[Token]:
    """ "two thirds", "a third of"; "a third option" is a rank, "a quarter" a part of the year."""
    start, end = match.span()
    count, name = match["count"].lower(), match["name"].lower()
    article = count in {"a", "an"}
    value = 1.0 if article else VALUES[count][1]
    added = name in {"half", "quarter"} and _AND_BEFORE.search(text, max(0, start - 6), start)
    if article and not added and not _OF.match(text, end) and name != "half":
        at = match.start("name")
        return [Token(*VALUES[name], at, end)] if name in VALUES and not match["many"] else []
    if (value > 1) != bool(match["many"]):
        return [Token(*VALUES[count], start, match.end("count"))] if not article else []
    return [Token("part", value / _WORD_PARTS[name], start, end)]


def _without_spaced_groups(text: str, tokens: list[Token]) -> list[Token]:
    """Join "1 500 000", which can only be one number; drop "12 500", which can be two."""
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        first, count = tokens[at], 1
        if first.kind == "numeral" and abs(first.value) < 1000:
            for last, token in pairwise(tokens[at : at + _MOST_GROUPS]):
                joined = text[last.end : token.start] == " "
                joined &= _GROUP.fullmatch(text[token.start : token.end]) is not None
                if not joined or not text[last.start : last.end].isdecimal():
                    break
                count += 1
        last = tokens[at + count - 1]
        if count == 1:
            kept.append(first)
        elif count > 2 and last.value % 1 == 0:
            digits = text[first.start : last.end].replace(" ", "")
            kept.append(Token("numeral", float(digits), first.start, last.end))
        at += count
    return kept


@dataclass(frozen=True, slots=True)
class Number:
    """One number and where it stands."""

    value: float  # finite
    span: Span  # the characters of the number alone, with its sign and scale ("1.2k", "3 million")
    ordinal: bool = False  # "3rd", "third"; then `value` is the rank


_NEAR = re.compile(r"[ \u00a0\n]+|[-‐‑]")
_AND = re.compile(r",?[ \u00a0\n]+and[ \u00a0\n]+|-and-", re.IGNORECASE)
_COMMA = re.compile(r",[ \n]+")
_POINT = re.compile(rf"[ ]point((?:[ ](?:{'|'.join(UNITS)}))+)\b", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
_POINTING = re.compile(
    r"\b(?:the|this|that|which|another|each|every|any|no|some|other|first|last|same|only|\w+est|"
    r"\w{2,}(?<!ov)(?<!aft)(?<!und)er|new|old|good|bad|nice|right|wrong|big|small)[ ]$",
    re.IGNORECASE,
)
_POINTED = re.compile(
    r"\s*(?:$|[.,;:!?)]|(?:of|is|was|are|were|has|had|can|could|may|might|must|should|would|will|"
    r"who|that|which|to|for|in|on|at|by|with|from|and|or|but|as|another|does|did|do|a|the|i|we|"
    r"you|he|she|they|it|be|needs|gets|wants|costs?)\b)",
    re.IGNORECASE,
)
_SMALL = frozenset({"small", "tens", "ordinal"})
_CENTURIES = range(17, 21)  # First halves of years that are spoken in two: "nineteen ninety-nine"
_RANKED = re.compile(r"\b(?:the|our|my|your|their|his|her|its|on|every)\s+$", re.IGNORECASE)


def find_numbers(text: str) -> tuple[Number, ...]:
    """All numbers of ``text``, up to :data:`MOST_NUMBERS`, in order and apart from one another.

    A percent sign, a currency or a unit beside a number is left to the caller.

    >>> text = "two and a half of 1.234,50"
    >>> [(number.value, text[slice(*number.span)]) for number in find_numbers(text)]
    [(2.5, 'two and a half'), (1234.5, '1.234,50')]
    """
    tokens = read_tokens(text)
    numbers = []
    at = 0
    while at < len(tokens):
        number, used = _number(text, tokens, at)
        if number is not None:
            numbers.append(number)
        at += used
    return tuple(numbers)


def parse_number(words: str) -> float | None:
    """The value when ``words`` are one number and nothing else, else None.

    >>> parse_number("one thousand five hundred and sixty"), parse_number("1,2,3")
    (1560.0, None)
    """
    stripped = words.strip()
    if stripped.lower() == "one":
        return 1.0
    numbers = find_numbers(stripped)
    if len(numbers) == 1 and numbers[0].span == (0, len(stripped)):
        return numbers[0].value
    return None


def _number(text: str, tokens: list[Token], at: int) -> tuple[Number | None, int]:
    """The number that begins with token ``at``, and how many tokens to go on."""
    first = tokens[at]
    if first.kind in {"scale", "hundred"}:  # "several hundred": no one says how many
        return None, 1
    phrase = _Phrase(text, tokens, at)
    if phrase.broken:
        return None, phrase.used
    if phrase.used == 1 and first.kind == "small" and first.value == 1 and _points(text, first):
        return None, 1
    if text[first.start : phrase.end].lower() == "second" and not _RANKED.search(
        text, max(0, first.start - 8), first.start
    ):
        return None, 1
    return Number(phrase.value, (first.start, phrase.end), phrase.ordinal), phrase.used


def _points(text: str, token: Token) -> bool:
    """Whether "one" stands for a thing ("the newer one", "one of them") and counts nothing."""
    start = max(0, token.start - 16)
    if _POINTED.match(text, token.end):
        return True
    before = _POINTING.search(text, start, token.start)
    return before is not None and text[token.end : token.end + 1] != " "


class _Phrase:
    """The longest number that the tokens from one on spell. `value`: of the whole phrase. `end`:
    offset after it. `used`: how many tokens it takes. `ordinal`: the phrase names a rank. `broken`:
    the tokens run on in a way that can be read as several things ("one fifty")."""

    def __init__(self, text: str, tokens: list[Token], at: int) -> None:
        self._text, self._tokens, self._at = text, tokens, at
        first = tokens[at]
        self._total, self._current = 0.0, first.value
        self._lowest = self._scale = float("inf")  # bounds of what may still be added
        self._last = first
        self.used, self.end = 1, first.end
        self.ordinal, self.broken = first.kind == "ordinal", False
        while not self.ordinal and not self.broken and self._extend():
            pass
        self.value = self._total + self._current

    def _extend(self) -> bool:
        """Take one more token, if it belongs to the number."""
        point = _POINT.match(self._text, self.end)
        if point and self._last.kind in {"small", "tens", "numeral"}:
            digits = "".join(str(int(VALUES[word.lower()][1])) for word in point[1].split())
            self._current += float(f"0.{digits}")
            self.used += len(digits)
            self.end = point.end()
        if self._at + self.used >= len(self._tokens):
            return False
        token = self._tokens[self._at + self.used]
        gap = self._text[self.end : token.start]
        if len(gap) > 8:
            return False
        if _NEAR.fullmatch(gap):
            taken = self._join(token)
        elif _AND.fullmatch(gap):
            taken = self._join_after_and(token)
        else:
            taken = bool(_COMMA.fullmatch(gap)) and self._join_after_comma(token)
        if taken:
            self.used += 1
            self.end = token.end
            self._last = token
            self.ordinal = token.kind == "ordinal"
        return taken

    def _join(self, token: Token) -> bool:
        """After a blank or a hyphen: "twenty | five", "five | hundred", "hundred | five"."""
        last = self._last
        if token.kind == "hundred":
            if last.kind not in {"one", "small", "tens", "half"} or self._current >= 100:
                return False
            self._current, self._lowest = 100 * self._current, 100
        elif token.kind == "scale":
            if last.kind == "scale" or self._current <= 0 or token.value >= self._scale:
                return False
            self._total += self._current * token.value
            self._current, self._lowest, self._scale = 0.0, token.value, token.value
        elif token.kind not in _SMALL:
            return False
        elif (last.kind == "tens" and token.kind != "tens" and 0 < token.value < 10) or (
            last.kind in {"hundred", "scale"} and token.value < self._lowest
        ):
            self._current += token.value
        elif self.used == 1 and last.value in _CENTURIES and 10 <= token.value < 100:
            self._current = last.value * 100 + token.value
        else:
            self.broken = token.kind != "ordinal" and last.kind in {"small", "tens"}
            self.used += self.broken
            return False
        return True

    def _join_after_and(self, token: Token) -> bool:
        """ "a hundred and | five", "two and | a half"; not "one hundred and | two hundred"."""
        if token.kind == "part":
            fits = self._last.kind in {"small", "tens", "numeral", "one"} and self._current >= 1
        else:
            start = self._tokens[self._at].start
            between = _BETWEEN.search(self._text, max(0, start - 10), start)
            fits = (
                self._last.kind in {"hundred", "scale"}
                and token.kind in _SMALL
                and token.value < self._lowest
                and not (self._lowest < 1000 and self._meets_hundred())
                and (not between or self._and_again())
            )
        self._current += token.value if fits else 0.0
        return fits

    def _join_after_comma(self, token: Token) -> bool:
        """ "one million, | two hundred thousand"."""
        fits = self._last.kind == "scale" and self._lowest >= 1000 and self._meets_hundred()
        self._current += token.value if fits else 0.0
        return fits

    def _meets_hundred(self) -> bool:
        """Whether the number that begins with the next token is followed by "hundred"."""
        at = self._at + self.used
        for previous, token in pairwise(self._tokens[at : at + 3]):
            if not _NEAR.fullmatch(self._text[previous.end : token.start]):
                return False
            if token.kind == "hundred":
                return True
        return False

    def _and_again(self) -> bool:
        """Whether another "and" follows soon: "between one hundred and five and two hundred"."""
        at = self._at + self.used
        return any(
            _AND.fullmatch(self._text[one.end : other.start])
            for one, other in pairwise(self._tokens[at : at + 4])
        )
