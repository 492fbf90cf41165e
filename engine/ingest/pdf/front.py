"""What page 1 of a paper says: its title, its authors and its year."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from engine.ingest.pdf.layout import WORDS, abstract_heading, words_of
from engine.ingest.pdf.pages import Line, PdfText

_PARTED = re.compile(r"\s*(?:[,;·•|]|\band\b|\bund\b|\bet\b|&|\s{3,})\s*")
_NO_NAME = words_of("no_name")
_PARTICLE = re.compile(
    r"van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ten|ter|zu|zur|st\.|af|jr\.?|sr\."
    r"|ii|iii",
    re.I,
)
_WORD = re.compile(r"[^\W\d_][^\W\d_’'.\-]*(?:[’'.\-][^\W\d_]*)*\Z")
_TITLES_OF_PEOPLE = re.compile(r"^(?:by|dr|prof|professor|mr|mrs|ms|von:?|authors?:)\.?\s+", re.I)
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
        if first is not None and not _set_alike(first, line):
            continue
        found = names_in(line)
        if found:
            first = first or line
            names += [name for name in found if name not in names]
    return tuple(names[:MOST_AUTHORS])


def _set_alike(first: Line, line: Line) -> bool:
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
    part = _DEGREES.sub("", _TITLES_OF_PEOPLE.sub("", part.strip())).strip() or part
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
    proper = [w for w in words if not _PARTICLE.fullmatch(w)]
    return len(proper) >= 2 and all(_WORD.match(w) and w[0].isupper() for w in proper)


_NO_TITLE = words_of("no_title")
_NO_HEADLINE = words_of("no_headline", "(?:the )?(?:WORDS)")
_VOLUME = re.compile(r"\d{1,4}\s*[(:,]\s*\d|\bvol\b|\b(?:19|20)\d{2}\b|\bISSN\b", re.I)
_HOMEPAGE = re.compile(r"home\s?page|www\.|https?:", re.I)


def find_title(head: Sequence[Line], body: float, described: str) -> tuple[str, list[Line]]:
    """The title, and the lines of page 1 that hold it. Returns ("", lines) where the lines are to
    be joined; (title, []) where only the file tells it."""
    described = described if _trusted(described) else ""
    wanted = _letters(described)
    groups = _groups(head) if head else []
    authors = [group for group in groups if _of_authors(group, groups)]
    groups = [group for group in groups if group not in authors]
    if any(_letters_of(group) == wanted for group in authors):
        described = wanted = ""
    if not groups:
        return described, []
    for group in groups if wanted else ():
        # Marks of footnotes and cut ends aside.
        shorter, longer = sorted((_letters_of(group), wanted), key=len)
        most = 3 if len(wanted) > 12 else 0
        if shorter and longer.startswith(shorter) and len(longer) - len(shorter) <= most:
            return "", group
    best = max(groups, key=lambda group: _score(group, head, body))
    if wanted and _score(best, head, body) < 1.05 and wanted in _letters_of(head):
        return " ".join(described.split()), []
    return "", best


def _of_authors(group: Sequence[Line], groups: Sequence[Sequence[Line]]) -> bool:
    """Whether a run of lines is names, with larger type above and no more names below."""
    first = group[0]
    larger = any(
        one[0].y > first.y and one[0].size > 1.1 * first.size and _words(one) > 2 for one in groups
    )
    below = any(one[0].y < group[-1].y - first.size and names_in(one[0]) for one in groups)
    return larger and not below and all(map(names_in, group))


def _letters_of(group: Sequence[Line]) -> str:
    return _letters("".join(line.text for line in group))


def _words(group: Sequence[Line]) -> int:
    return sum(len(line.text.split()) for line in group)


def _trusted(described: str) -> bool:
    words = described.split()
    return len(words) > 1 and len(described) < 500 and not _NO_TITLE.match(described.strip())


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if c.isalnum())


def _groups(head: Sequence[Line]) -> list[list[Line]]:
    """Runs of lines in the upper part of the page that look alike and follow each other."""
    highest = max(line.top for line in head)
    lowest = min(line.y for line in head)
    floor = highest - 0.62 * max(highest - lowest, 300.0)
    groups: list[list[Line]] = []
    for line in sorted(head, key=lambda line: (-line.y, line.x0)):
        if line.y < floor or abstract_heading(line) is not None:
            continue
        if group := next((g for g in groups[-4:] if _continues(g, line)), None):
            group.append(line)
        else:
            groups.append([line])
    return [group for group in groups if sum(c.isalpha() for one in group for c in one.text) >= 4]


def _continues(group: Sequence[Line], line: Line) -> bool:
    last = group[-1]
    same_look = abs(last.size - line.size) <= 0.04 * last.size and last.bold == line.bold
    step = last.y - line.y
    beside = abs(step) < 2 and 0 < line.x0 - last.x1 < 2.5 * last.size
    below = 0.5 * last.size < step < 1.75 * last.size
    overlap = min(last.x1, line.x1) - max(last.x0, line.x0)
    if beside:
        return same_look
    return same_look and below and overlap > 0 and not _NO_HEADLINE.match(line.text)


def _score(group: Sequence[Line], head: Sequence[Line], body: float) -> float:
    """How much a run of lines is like a title: its size, its words, where it stands."""
    text = " ".join(line.text for line in group)
    words = _words(group)
    score = group[0].size / body
    if words < 3:
        score *= 0.8 if words == 2 else 0.68
    if words > 45:
        score *= 0.1
    if _NO_HEADLINE.match(text) and words < 16:
        score *= 0.45
    if "@" in text or re.search(
        r"\b(?:University|Universität|Universidad|Department|Institute?)\b", text
    ):
        score *= 0.6
    if group[0].bold:
        score *= 1.04
    if _names_journal(group, head):
        score *= 0.4
    highest = max(line.top for line in head)
    return score * (1 - 0.12 * (highest - group[0].y) / max(highest, 1.0))


def _names_journal(group: Sequence[Line], head: Sequence[Line]) -> bool:
    """Whether a line stands where a journal's name does: in one row with volume and pages, above
    the address of its homepage, or below the name of a service."""
    if len(group) > 2:
        return False
    own = group[0]
    for line in head:
        if line in group:
            continue
        step = own.y - line.y
        if abs(step) < 0.6 * own.size and _VOLUME.search(line.text):
            return True
        if 0 < step < 3 * own.size and _HOMEPAGE.search(line.text):
            return True
        if 0 < -step < 3 * own.size and line.text.lower().startswith("contents lists"):
            return True
    return False


_YEAR = r"((?:19|20)\d{2})(?![\d-]\d|/\d{4})"
_MONTH, _VENUE = (f"(?:{'|'.join(WORDS[name])})" for name in ("month", "venue"))
_CUES = tuple(
    re.compile(cue.replace("YEAR", _YEAR).replace("MONTH", _MONTH).replace("VENUE", _VENUE), re.I)
    for cue in WORDS["year"]
)
_STAMP = re.compile(
    r"arXiv:\s?(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(?:0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})", re.I
)
_ANY = re.compile(rf"(?<![\d.,/-]){_YEAR}")
_DESCRIBED = re.compile(r"(?:D:)?\s*((?:19|20)\d{2})")
FIRST_YEAR = 1900


def find_year(pdf: PdfText, head: Sequence[str], foot: Sequence[str], described: str) -> int | None:
    """The year in which a paper came out. What page 1 says above the abstract and in footnotes
    counts first: marks of a publication, then arXiv's stamp (the id's year, as papers are cited by
    it), then any year above the abstract. Then the date of publication in the XMP, then when the
    file was made."""
    lines = (*head, *foot)
    stamp = _STAMP.search(pdf.pages[0].turned) or _STAMP.search("\n".join(lines))
    for cue in _CUES[:-2]:
        if year := _first(cue, lines):
            return year
    if stamp:
        return _century(stamp[1])
    for cue, where in ((_CUES[-2], lines), (_CUES[-1], lines), (_ANY, head)):
        if year := _first(cue, where):
            return year
    for date in (described, pdf.info.get("CreationDate", ""), pdf.info.get("ModDate", "")):
        match = _DESCRIBED.match(date)
        if match and (year := _possible(match[1])):
            return year
    return None


def _first(cue: re.Pattern[str], lines: Sequence[str]) -> int | None:
    # A date may go over two lines.
    for text in (*lines, *(f"{a} {b}" for a, b in pairwise(lines))):
        for match in cue.finditer(text):
            year = match[1] if len(match[1]) == 4 else str(_century(match[1]))
            if found := _possible(year):
                return found
    return None


def _century(two: str) -> int:
    return 1900 + int(two) if int(two) > 90 else 2000 + int(two)


def _possible(year: str) -> int | None:
    number = int(year)
    return number if FIRST_YEAR <= number <= datetime.now(UTC).year + 1 else None
