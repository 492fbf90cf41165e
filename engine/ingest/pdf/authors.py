"""Names of authors among the lines between a title and an abstract."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.ingest.pdf.lines import Line

_PARTED = re.compile(r"\s*(?:[,;·•|]|\band\b|\bund\b|\bet\b|&|\s{3,})\s*")
_NO_NAME = re.compile(
    r"universi|institut|department|dept\b|school|college|laborator|\blabs?\b|facult|cent(?:er|"
    r"re)\b|"
    r"research|open access|academy|hospital|clinic|inc\b|corp|gmbh|ltd\b|google|microsoft|"
    r"facebook|ibm\b|street|avenue|road\b|"
    r"broadway|floor|email|e-mail|@|http|www|abstract|received|accepted|published|available|online|"
    r"conference|journal|proceedings|fakult|lehrstuhl|hochschule|technische|technical|polytechn|"
    r"école|"
    r"laboratoire|author|correspond|equal contribution|member|fellow\b|ieee|acm|preprint|keywords|"
    r"version|draft|january|february|march\b|april|june\b|july|august|september|october|november|"
    r"december|"
    r"usa\b|u\.s\.a|germany|china|france|switzerland|netherlands|italy|india\b|japan|canada|"
    r"australia|spain|sweden|norway|austria|united|kingdom|division|group\b|team\b|foundation|"
    r"sciences?\b|engineering|computing|informatics|informatik|technolog|physics|science|society|"
    r"by\b.*\d|article|paper|vol\.|doi|arxiv|copyright|license|nasa\b|council|agency|ministry",
    re.I,
)
_PARTICLES = frozenset(
    [
        "van",
        "von",
        "de",
        "der",
        "den",
        "del",
        "della",
        "di",
        "da",
        "dos",
        "du",
        "la",
        "le",
        "el",
        "al",
        "bin",
        "ibn",
        "ten",
        "ter",
        "zu",
        "zur",
        "st.",
        "af",
        "jr.",
        "jr",
        "sr.",
        "ii",
        "iii",
    ]
)
_WORD = re.compile(r"[^\W\d_][^\W\d_’'.\-]*(?:[’'.\-][^\W\d_]*)*\Z")
_TITLES = re.compile(r"^(?:by|dr|prof|professor|mr|mrs|ms|von:?|authors?:)\.?\s+", re.I)
_DEGREES = re.compile(
    r"\b(?:ph\.?\s?d|m\.?d|m\.?sc|b\.?sc|mph|student member|senior member|member|fellow)\b\.?.*",
    re.I,
)
_SOCIETIES = re.compile(r"ieee|acm|osa|siam", re.I)
MOST_AUTHORS = 300


def find_authors(head: Sequence[Line]) -> tuple[str, ...]:
    """The names, each once, in their order; empty where no line is made of names."""
    names: list[str] = []
    first: Line | None = None
    for line in sorted(head, key=lambda line: (-round(line.y / 3), line.x0)):
        if first is not None and not _alike(first, line):
            continue
        found = names_in(line)
        if found:
            first = first or line
            names += [name for name in found if name not in names]
    return tuple(names[:MOST_AUTHORS])


def _alike(first: Line, line: Line) -> bool:
    """Whether a line is set as the first one with names is."""
    return (
        abs(line.size - first.size) <= 0.1 * first.size
        and (line.bold == first.bold or line.size == first.size)
        and (line.bold or not first.bold)
        and (line.italic == first.italic)
    )


def names_in(line: Line) -> list[str]:
    """The names in a line; none where anything else stands in it, but for affiliations behind."""
    text = re.sub(r"\([^)]*\)|\{[^}]*\}", ",", line.names or line.text)
    parts = [_plain(part) for part in _PARTED.split(text)]
    parts = [part for part in parts if part]
    if not parts or (_NO_NAME.search(line.text) and not _name(parts[0])):
        return []
    names = []
    for part in parts:
        if _DEGREES.fullmatch(part) or _SOCIETIES.fullmatch(part):
            continue
        if not _name(part):
            break
        names.append(part)
    parts = [p for p in parts if not (_DEGREES.fullmatch(p) or _SOCIETIES.fullmatch(p))]
    whole = len(names) == len(parts) or (_NO_NAME.search(line.text) is None and len(names) > 1)
    return names if whole else []


def _plain(part: str) -> str:
    part = re.sub(r"[\d*†‡§¶∗⋆♠♣♦♥⊕+#$^{}\[\]]+", " ", part)
    part = _DEGREES.sub("", _TITLES.sub("", part.strip())).strip() or part
    words = part.strip(" .,:;-–—").split()
    if words and all(len(w) == 1 and w.islower() for w in words):
        return ""
    while words and len(words[-1]) == 1 and words[-1].islower():  # marks of affiliations
        words.pop()
    name = " ".join(words)
    return name.title() if name.isupper() and len(name) > 4 else name


def _name(part: str) -> bool:
    """Whether words are a person's name: two to five, capitalised, particles aside."""
    words = part.split()
    if not 2 <= len(words) <= 6 or _NO_NAME.search(part):
        return False
    proper = [w for w in words if w.lower() not in _PARTICLES]
    return len(proper) >= 2 and all(_WORD.match(w) and w[0].isupper() for w in proper)
