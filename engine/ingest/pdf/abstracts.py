"""The abstract of a paper: where it begins, and where it ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.ingest.pdf import headings
from engine.ingest.pdf.layout import Reading, goes_on, is_numbered, is_section
from engine.ingest.pdf.pages import Line

LEAST_WORDS = 45  # A paragraph with fewer words is no abstract, where no heading says so
LEAST_CHARS, MOST_CHARS = 40, 6_000
"""What is shorter or longer is no abstract, or its end was not found."""
_MARKED = re.compile(r"[∗*†‡§¶]\s?\w")


@dataclass(frozen=True, slots=True)
class Abstract:
    """An abstract, or that there is none."""

    text: str = ""
    first: Line | None = None  # its heading, or first line; None where there is none
    lines: tuple[Line, ...] = ()  # heading and text


NO_ABSTRACT = Abstract()


def find_abstract(reading: Reading, title: Sequence[Line]) -> Abstract:
    """The abstract under its heading; without one, the long paragraph before the introduction."""
    early = [line for line in reading.lines if line.page < 2]
    found = []
    for index, line in enumerate(early):
        heading = headings.abstract_heading(line)
        if heading is not None and line not in title:
            found.append((heading[0] != "abstract", index, heading[1]))
    for _, index, rest in sorted(found):
        abstract = _under(reading, early[index], rest, early[index + 1 :])
        if abstract is not None:
            return abstract
    return _unnamed(reading, title)


def _under(reading: Reading, heading: Line, rest: str, behind: list[Line]) -> Abstract | None:
    """The abstract under a heading."""
    texts = [rest] if rest else []
    lines: list[Line] = []
    read: list[Line] = []
    # The heading may stand beside its text, or be ordered before what stands above it.
    for line in behind if rest else _below(heading, behind):
        if texts and _ends(heading, lines, line, run_in=bool(rest)):
            break
        if not texts and headings.ends_abstract(line):
            return None
        if headings.abstract_heading(line) is not None:
            break
        read.append(line)
        if headings.is_abstract_part(line):
            texts.append(line.text.rstrip(" .:") + ":")
        else:
            texts.append(line.text)
            lines.append(line)
    text = reading.vocabulary.joined(texts)
    if not LEAST_CHARS <= len(text) <= MOST_CHARS:
        return None
    return Abstract(text, heading, (heading, *read))


def _ends(heading: Line, lines: Sequence[Line], line: Line, *, run_in: bool) -> bool:
    """Whether an abstract is over before a line."""
    if headings.ends_abstract(line) or _MARKED.match(line.text):
        return True
    if headings.is_abstract_part(line) and not is_numbered(line):
        return False
    before = lines[-1] if lines else heading
    size = _usual(lines) if lines else (heading.size if run_in else line.size)
    if _is_other_heading(lines, before, line, size):
        return True
    below = line.page == before.page and line.y < before.y
    gap = before.y - line.y if below else 0.0
    if abs(line.size - size) > 0.06 * size and (gap > 1.2 * size or not below):
        return len(line.text) > 3
    usual = _spacing(lines)
    if usual and gap > 1.75 * usual and len(lines) > 2:
        # A paragraph of its own: of the abstract only where it is set as that.
        first = lines[min(run_in, len(lines) - 1)]
        moved = abs(line.x0 - first.x0) > 0.6 * size and not _is_indented(line, first)
        return moved or gap > 3 * usual
    if usual and len(lines) > 1 and not below and line.page == before.page:
        return _different(lines, line)
    return False


def _is_other_heading(lines: Sequence[Line], before: Line, line: Line, size: float) -> bool:
    """Whether a line is a heading, and no line of an abstract that is set in bold."""
    if headings.heading(line, size) is None or goes_on(before, line):
        return False
    if not (line.bold or line.size > 1.05 * size or is_numbered(line)):
        return False
    all_bold = sum(one.bold for one in lines) > 0.6 * len(lines) if lines else line.bold
    return not (all_bold and line.bold and line.size <= 1.05 * size)


def _unnamed(reading: Reading, title: Sequence[Line]) -> Abstract:
    """The longest paragraph between title and introduction, where it is long enough."""
    lowest = min((line.y for line in title), default=float("inf"))
    lines: list[Line] = []
    for line in (line for line in reading.head if line.y < lowest):
        if is_section(line, reading.body):
            break
        if not headings.ends_abstract(line):
            lines.append(line)
        elif _words(_longest(lines)) > LEAST_WORDS:
            break
    else:
        return NO_ABSTRACT
    block = _longest(lines)
    text = reading.text(block)
    if _words(block) < LEAST_WORDS or text.count(".") < 2:
        return NO_ABSTRACT
    return Abstract(text, block[0], tuple(block))


def _longest(lines: Sequence[Line]) -> list[Line]:
    """The paragraph with the most words."""
    return max(_paragraphs(lines), key=_words, default=[])


def _words(lines: Sequence[Line]) -> int:
    return sum(len(line.text.split()) for line in lines)


def _below(heading: Line, lines: Sequence[Line]) -> list[Line]:
    """Lines from the first that stands under a heading, or beside it."""
    for index, line in enumerate(lines):
        if line.page != heading.page or line.y <= heading.y + 2:
            return list(lines[index:])
    return list(lines)


def _usual(lines: Sequence[Line]) -> float:
    sizes = sorted(line.size for line in lines)
    return sizes[len(sizes) // 2]


def _spacing(lines: Sequence[Line]) -> float:
    """Points from one baseline to the next, as mostly; 0 where there are too few lines."""
    gaps = sorted(a.y - b.y for a, b in pairwise(lines) if a.page == b.page and a.y - b.y > 2)
    return gaps[len(gaps) // 2] if gaps else 0.0


def _is_indented(line: Line, first: Line) -> bool:
    """Whether a line begins as a paragraph does: indented by an em or two."""
    return 0 < line.x0 - first.x0 < 3 * line.size


def _different(lines: Sequence[Line], line: Line) -> bool:
    """Whether a line at the top of another column is set otherwise than the abstract."""
    width = max(one.x1 - one.x0 for one in lines)
    return line.x1 - line.x0 > 1.12 * width or abs(line.size - _usual(lines)) > 0.04 * line.size


def _paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines parted where the size changes or a gap opens."""
    blocks: list[list[Line]] = []
    for line in lines:
        last = blocks[-1][-1] if blocks else None
        if len(line.text) < 4:  # raised signs of the line above
            continue
        near = last is not None and -1 < last.y - line.y < 1.7 * last.size
        if last is not None and near and abs(last.size - line.size) < 0.4:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks
