"""Wordings in German, French, Spanish and Chinese, word by word in English.

The embedded model knows English only. ``assets/wordings/glossary.txt`` has the words that
instructions consist of (names of aspects, negations, "same", "regardless of"); others stay.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from engine.config import ASSETS
from engine.types.documents import Span

GLOSSARY = ASSETS / "wordings" / "glossary.txt"
LANGUAGES = ("de", "fr", "es", "zh")  # The columns after the English one
_HAN = re.compile(r"[\u3400-\u9fff]")
_PUNCTUATION = str.maketrans("’，。；：、？！（）", "',.;:,?!()")
_LEFT_OUT = "-"
_WORD = re.compile(r"[^\W\d_]+")
_PART = re.compile(
    r"""[^\W\u3400-\u9fff]+(?:[-/.'’&+#]+[^\W\u3400-\u9fff]+)*[+#]*|[\u3400-\u9fff]|[^\w\s]"""
)
"""A word with its hyphens ("C++", "COVID-19"), a Chinese character, or a sign."""
_STARTS = re.compile(r"[\u3400-\u9fff]|(?<!\w)[^\W\d_]")
"""Where a word may begin: anywhere in Chinese, which does not separate them."""


def fold(text: str) -> str:
    """Lower-case, without accents, with plain punctuation.

    >>> fold("L’Étude: 方法，")
    "l'etude: 方法,"
    """
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", text.translate(_PUNCTUATION).casefold())
    return "".join(c for c in plain if not unicodedata.combining(c))


class _Words:
    """The words of one language: (form, English), of equal forms the first."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._english = {
            fold(form): "" if english == _LEFT_OUT else english
            for form, english in reversed(pairs)
            if form
        }
        self._forms: dict[str, list[str]] = {}
        for form in sorted(self._english, key=lambda form: len(form.rstrip("*")), reverse=True):
            self._forms.setdefault(form.rstrip("*")[:2], []).append(form)
        self._patterns: dict[str, re.Pattern[str]] = {}

    def find(self, folded: str) -> list[tuple[int, int, str]]:
        """Those in the text, the longest where several fit: start, end, English."""
        found, end = [], 0
        for start in _STARTS.finditer(folded):
            at = start.start()
            for letters in (folded[at : at + 2], folded[at]):  # longer forms go first
                match = self._match(letters, folded, at) if at >= end else None
                if match is not None and match.lastindex is not None:
                    end = match.end()
                    form = self._forms[letters][match.lastindex - 1]
                    found.append((at, end, self._english[form]))
        return found

    def _match(self, letters: str, folded: str, at: int) -> re.Match[str] | None:
        """One of the forms that begin with these letters, compiled when first looked for."""
        if letters not in self._forms:
            return None
        if letters not in self._patterns:
            self._patterns[letters] = re.compile("|".join(map(_pattern, self._forms[letters])))
        return self._patterns[letters].match(folded, at)


def gloss(text: str) -> str:
    """A wording in English, as far as the glossary has it.

    >>> gloss("gleiche Methode, egal welches Thema")
    'same method, regardless of topic'
    >>> gloss("same method, whatever the topic")
    'same method, whatever the topic'
    """
    folded = fold(text)
    language = find_language(folded)
    if language == "en":
        return text
    english, end = "", 0
    for start, stop, meaning in _glossary()[language].find(folded):
        english += f"{folded[end:start]} {meaning} "
        end = stop
    english += folded[end:]
    return re.sub(r"\s+([,.;:?!)]|$)", r"\1", " ".join(english.split())).strip()


class GlossedWord(NamedTuple):
    """A word or a sign of a wording, in English where the glossary has it, and its place."""

    text: str
    span: Span


def glossed_words(text: str) -> list[GlossedWord]:
    """The words and signs of what :func:`gloss` makes of a wording.

    >>> [word.text for word in glossed_words("gleiche Methode, aber ohne Tweets")]
    ['same', 'method', ',', 'but', 'without', 'tweets']
    """
    folded = [(fold(character), at) for at, character in enumerate(text)]
    plain = "".join(part for part, _ in folded)
    places = [at for part, at in folded for _ in part]
    language = find_language(plain)
    if language == "en":
        return [GlossedWord(part.group(), part.span()) for part in _PART.finditer(text)]
    found: list[tuple[str, int, int]] = []
    known = _glossary()[language].find(plain)
    ends = [0, *(stop for _, stop, _ in known)]
    for end, (start, stop, meaning) in zip(ends, [*known, (len(plain), 0, "")], strict=True):
        found += [(part.group(), *part.span()) for part in _PART.finditer(plain, end, start)]
        found += [(part, start, stop) for part in _PART.findall(meaning)]
    return [GlossedWord(word, (places[a], places[b - 1] + 1)) for word, a, b in found]


def find_language(folded: str) -> str:
    """The language that has most of the words; English unless another has more."""
    if _HAN.search(folded):
        return "zh"
    known = _english()
    most = sum(word in known for word in _WORD.findall(folded))
    found = "en"
    for language in LANGUAGES[:-1]:
        matches = _glossary()[language].find(folded)
        count = sum(len(folded[start:stop].split()) for start, stop, _ in matches)
        if count > most:
            most, found = count, language
    return found


@functools.lru_cache(maxsize=1)
def _english() -> frozenset[str]:
    """English words: stop words, and those of the files beside them."""
    lines = [row[0] for row in _rows()]
    for name in ("stop_words.txt", "names.jsonl", "statements.jsonl", "dev-3.jsonl", "dev-6.jsonl"):
        text = (ASSETS / "wordings" / name).read_text(encoding="utf-8")
        lines += [line for line in text.splitlines() if not line.startswith("#")]
    return frozenset(word for line in lines for word in _WORD.findall(fold(line)))


@functools.lru_cache(maxsize=1)
def _rows() -> list[list[str]]:
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    return [[part.strip() for part in line.split("|")] for line in lines if line[:1] not in "#"]


@functools.lru_cache(maxsize=1)
def _glossary() -> dict[str, _Words]:
    return {
        language: _Words([(form, row[0]) for row in _rows() for form in row[column].split(" / ")])
        for column, language in enumerate(LANGUAGES, start=1)
    }


def _pattern(form: str) -> str:
    if _HAN.search(form):
        return "(" + re.escape(form).replace(r"\ ", r"\s*") + ")"
    body = re.escape(form).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")
    return rf"(\b{body}{'' if form.endswith(chr(39)) else chr(92) + 'b'})"
