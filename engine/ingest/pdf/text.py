"""Lines of a PDF as running text: hyphenation undone, vocabulary of the paper taken as help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.ingest.pdf.lines import Line

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-\Z")
_FIRST = re.compile(r"[^\W\d_]+")
_KEPT = frozenset({"self", "well", "cross", "non", "state", "co", "semi"})
"""First halves of words that keep their hyphen, where the paper has no other opinion."""
_SMALL = frozenset({"and", "by", "in", "of", "on", "the", "to", "up"})
"""Words within longer ones with hyphens: state-of-the-art."""
_JOINED = frozenset({"after", "every", "inter", "super", "there", "through", "under", "where"})
"""First halves that are words of their own in words without a hyphen."""


class Vocabulary:
    """The words that stand within the lines of a paper, where no line end cuts them."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()
        for line in lines:
            words = _WORD.findall(line.text.casefold())
            self._words.update(words[:-1] if line.text.endswith("-") else words)

    def joined(self, lines: Sequence[str]) -> str:
        """Lines as one text.

        A hyphen at a line's end goes, unless the paper has the word with it elsewhere, or the
        second half begins with a capital letter or a digit.
        """
        parts: list[str] = []
        for line in map(str.strip, lines):
            before = parts[-1] if parts else ""
            last, first = _LAST.search(before), _FIRST.match(line)
            if last is None or first is None:
                dash = before.endswith("-") and before[-2:-1] != " "
                parts.append(line if dash or not before else f" {line}")
            else:
                parts[-1] = before[:-1] if self._hyphenated(last[1], first[0]) else before
                parts.append(line)
        return " ".join("".join(parts).split())

    def _hyphenated(self, last: str, first: str) -> bool:
        """Whether a line end alone put the hyphen between two parts of a word."""
        if not first[0].islower():
            return False
        before, after = last.casefold(), first.casefold()
        if before.rpartition("-")[2] + after in self._words:
            return True
        if f"{before}-{after}" in self._words:
            return False
        last = before.rpartition("-")[2]
        if last in _KEPT or ("-" in before and last in _SMALL):
            return False
        both = min(len(last), len(after)) > 4 and {last, after} <= self._words
        return not both or last in _JOINED
