"""Numbers in running text, in digits of any script and in English words.

Digits are read by what their separators allow (:mod:`engine.text.facts.digits`): "1.234,50" can
only be 1234.5, "1,234" is a thousand in English, and what stays ambiguous ("12 500", "1.2.3") is
no number. Words follow the spoken grammar ("one thousand five hundred and sixty", "two and a
half million"); vague ones ("several hundred") and those that only point ("this one") are none.

The packages that read number words (text2num, word2number) give no offsets into the text and
know neither fractions nor "half a million", hence a grammar of our own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.text.facts.number_words import UNITS, VALUES, Kind, Token, read_tokens
from engine.types.documents import Span


@dataclass(frozen=True, slots=True)
class Number:
    """One number and where it stands.

    Attributes:
        value: finite.
        span: the characters of the number alone, with its sign and scale ("1.2k", "3 million").
        ordinal: "3rd", "third"; then ``value`` is the rank.
    """

    value: float
    span: Span
    ordinal: bool = False


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
_CENTURIES = range(17, 21)
_RANKED = re.compile(r"\b(?:the|our|my|your|their|his|her|its|on|every)\s+$", re.IGNORECASE)


def find_numbers(text: str) -> tuple[Number, ...]:
    """All numbers of ``text``, in order and apart from one another.

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
    found = find_numbers(stripped)
    if len(found) == 1 and found[0].span == (0, len(stripped)):
        return found[0].value
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
    """The longest number that the tokens from one on spell.

    Attributes:
        value: of the whole phrase.
        end: offset after it.
        used: how many tokens it takes.
        ordinal: the phrase names a rank.
        broken: the tokens run on in a way that can be read as several things ("one fifty").
    """

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
        last = self._last.kind
        match token.kind:
            case "hundred":
                fits = last in {"one", "small", "tens", "half"} and self._current < 100
                self._current *= 100 if fits else 1
                self._lowest = 100 if fits else self._lowest
                return fits
            case "scale":
                fits = last != "scale" and self._current > 0 and token.value < self._scale
                if fits:
                    self._total += self._current * token.value
                    self._current, self._lowest, self._scale = 0.0, token.value, token.value
                return fits
            case "small" | "tens" | "ordinal":
                return self._join_small(token)
        return False

    def _join_small(self, token: Token) -> bool:
        last = self._last
        after_tens = last.kind == "tens" and token.kind != "tens" and 0 < token.value < 10
        if after_tens or (last.kind in {"hundred", "scale"} and token.value < self._lowest):
            self._current += token.value
        elif self.used == 1 and last.value in _CENTURIES and 10 <= token.value < 100:
            self._current = last.value * 100 + token.value
        elif token.kind == "ordinal":
            return False
        else:
            self.broken = last.kind in {"small", "tens"}
            self.used += self.broken
            return False
        return True

    def _join_after_and(self, token: Token) -> bool:
        """ "a hundred and | five", "two and | a half"; not "one hundred and | two hundred"."""
        if token.kind == "part":
            fits = self._last.kind in {"small", "tens", "numeral", "one"} and self._current >= 1
            self._current += token.value if fits else 0.0
            return fits
        if self._last.kind not in {"hundred", "scale"} or token.kind not in {
            "small",
            "tens",
            "ordinal",
        }:
            return False
        hundreds = self._followed_by("hundred")
        if token.value >= self._lowest or (hundreds and self._lowest < 1000):
            return False
        start = self._tokens[self._at].start
        if _BETWEEN.search(self._text, max(0, start - 10), start) and not self._and_again():
            return False
        self._current += token.value
        return True

    def _join_after_comma(self, token: Token) -> bool:
        """ "one million, | two hundred thousand"."""
        fits = self._last.kind == "scale" and self._lowest >= 1000 and self._followed_by("hundred")
        self._current += token.value if fits else 0.0
        return fits

    def _followed_by(self, kind: Kind) -> bool:
        """Whether the number below a hundred that begins with the next token meets ``kind``."""
        at = self._at + self.used
        following = self._tokens[at + 1 : at + 3]
        previous = self._tokens[at]
        for token in following:
            if not _NEAR.fullmatch(self._text[previous.end : token.start]):
                return False
            if token.kind == kind:
                return True
            previous = token
        return False

    def _and_again(self) -> bool:
        """Whether another "and" follows soon: "between one hundred and five and two hundred"."""
        at = self._at + self.used
        return any(
            _AND.fullmatch(self._text[one.end : other.start])
            for one, other in zip(self._tokens[at:], self._tokens[at + 1 : at + 4], strict=False)
        )
