"""The title of a paper: the largest words at the top of page 1, with the file's own as help."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from engine.ingest.pdf import headings
from engine.ingest.pdf.authors import names_in
from engine.ingest.pdf.lines import Line

_NO_TITLE = re.compile(
    r"untitled|no ?title|title|microsoft (?:word|powerpoint)|.*\.(?:docx?|tex|dvi|pdf|odt|rtf|"
    r"indd|qxd|ps)\b"
    r"|(?:paper|manuscript|main|template|document|draft|submission|article|proof|"
    r"layout)[\s_-]*\d*\Z"
    r"|pii:|doi:|\d+\.\.\d+|[\w-]*\d{4,}[\w-]*\Z|slide \d|powerpoint|latex|acl \d{4}"
    r"|instructions for",
    re.I,
)
_NO_HEADLINE = re.compile(
    r"(?:(?:the )?(?:journal|proceedings|transactions|annals|bulletin|archives|advances in|letters|"
    r"international journal|european journal|american journal|ieee|acm|contents lists|"
    r"sciencedirect|"
    r"elsevier|springer|nature|plos|bmc|frontiers|lecture notes|published as|under review|preprint|"
    r"available online|vol(?:ume)?\.|issn|doi|https?:|www\.|research (?:article|paper|"
    r"open access)|original (?:article|paper|"
    r"research|investigation)|review(?: article| paper)?\Z|article\Z|letter\Z|report\Z|"
    r"short (?:communication|paper)|"
    r"technical report|working paper|case report|full (?:length )?(?:article|paper)|"
    r"regular (?:article|paper)|open access|arxiv|"
    r"accepted (?:manuscript|for)|journal homepage|homepage|editorial\Z|master’?s? thesis|"
    r"\d{4} .*\bconference\b|.*\b(?:conference|workshop|symposium) on\b.*\d{4}))",
    re.I,
)

_VOLUME = re.compile(r"\d{1,4}\s*[(:,]\s*\d|\bvol\b|\b(?:19|20)\d{2}\b|\bISSN\b", re.I)
_HOMEPAGE = re.compile(r"home\s?page|www\.|https?:", re.I)


def find_title(head: Sequence[Line], body: float, described: str) -> tuple[str, list[Line]]:
    """The title, and the lines of page 1 that hold it.

    Args:
        head: the lines of page 1, as read.
        body: size of the paper's text, in points.
        described: the title in the file's own data, which is often wrong.

    Returns:
        ("", lines) where the lines are to be joined; (title, []) where only the file tells it.
    """
    if not head:
        return (described if _trusted(described) else ""), []
    groups = _groups(head)
    authors = [group for group in groups if _of_authors(group, groups)]
    groups = [group for group in groups if group not in authors]
    if any(_letters_of(group) == _letters(described) for group in authors):
        described = ""
    if not groups:
        return (described if _trusted(described) else ""), []
    if _trusted(described):
        wanted = _letters(described)
        for group in groups:
            have = _letters_of(group)
            if have and (have == wanted or (len(wanted) > 12 and _alike(have, wanted))):
                return "", group
    best = max(groups, key=lambda group: _score(group, head, body))
    if _trusted(described) and _score(best, head, body) < 1.05 and _is_said(described, head):
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


def _alike(have: str, wanted: str) -> bool:
    """Whether two titles are the same, marks of footnotes and cut ends aside."""
    shorter, longer = sorted((have, wanted), key=len)
    return longer.startswith(shorter) and len(longer) - len(shorter) <= 3


def _is_said(described: str, head: Sequence[Line]) -> bool:
    return _letters(described) in _letters_of(head)


def _groups(head: Sequence[Line]) -> list[list[Line]]:
    """Runs of lines in the upper part of the page that look alike and follow each other."""
    highest = max(line.top for line in head)
    lowest = min(line.y for line in head)
    floor = highest - 0.62 * max(highest - lowest, 300.0)
    groups: list[list[Line]] = []
    for line in sorted(head, key=lambda line: (-line.y, line.x0)):
        if line.y < floor or headings.abstract_heading(line) is not None:
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
