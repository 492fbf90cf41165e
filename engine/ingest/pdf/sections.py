"""The sections of a paper, by its headings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.ingest.pdf import headings
from engine.ingest.pdf.layout import Reading, goes_on
from engine.ingest.pdf.pages import Line

LEAST_CHARS = 80
"""A section with less text is none: its heading was something else, or it holds a figure."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section under a heading of the first level, with the text under the headings in it."""

    name: str
    text: str


def find_sections(reading: Reading, used: set[Line]) -> tuple[Section, ...]:
    """The parts under headings of the first level, up to the references, and appendices."""
    lines = [line for line in reading.lines if line not in used]
    found = _headings(reading, lines)
    parts = [_Part("")]
    for line in lines:
        part, heading = parts[-1], found.get(line)
        if (heading is None or not heading.number) and _completes(part, line):
            name = reading.vocabulary.joined([part.name, line.text])
            part.name, part.last = headings.name_of(name), line
        elif heading is not None and heading.depth == 1:
            parts.append(_Part(heading.name, last=line, left_out=part.left_out))
            if headings.is_references(line):
                parts[-1].left_out = True
            elif heading.series == "A" or headings.is_appendix(line):
                parts[-1].left_out = False
        elif heading is None and abs(line.size - reading.body) <= 0.08 * reading.body:
            part.texts.append(line.text)
    kept = [part for part in parts if part.name and not part.left_out]
    texts = [
        (p.name, reading.vocabulary.joined(p.texts)) for p in kept if not headings.is_untold(p.name)
    ]
    return tuple(Section(name, text) for name, text in texts if len(text) > LEAST_CHARS)


def _headings(reading: Reading, lines: Sequence[Line]) -> dict[Line, headings.Heading]:
    """The headings of all levels; an unnumbered one counts as a section where it looks like
    the sections that are known by their numbers or names."""
    found = {}
    for line in lines:
        if one := headings.heading(line, reading.body):
            found[line] = one
        elif headings.is_references(line):
            found[line] = headings.Heading("", headings.name_of(line.text))
    # A table of contents says them before: the last of equal ones is the heading.
    last = {line.text: line for line in found}
    found = {line: one for line, one in found.items() if last[line.text] is line}
    counted = _in_series(found)
    sure = counted or [line for line in found if headings.is_named(found[line].name)]
    looks = {(round(line.size), line.bold, line.text.isupper()) for line in sure}
    for line, one in found.items():
        same = (round(line.size), line.bold, line.text.isupper()) in looks
        plain = not one.number and (same or not sure or headings.is_references(line))
        appendix = one.series == "A" and one.depth == 1 and same
        if line not in counted and one.depth == 1 and not (plain or appendix):
            found[line] = headings.Heading("0.0", one.name)
    return found


@dataclass(slots=True)
class _Part:
    """A section while its lines come in; ``last`` is the line of its heading that came last."""

    name: str
    texts: list[str] = field(default_factory=list)
    last: Line | None = None
    left_out: bool = False


def _completes(part: _Part, line: Line) -> bool:
    """Whether a line is the second one of a heading."""
    last = part.last
    if (
        last is None
        or part.texts
        or not goes_on(last, line)
        or line.text.isupper() != last.text.isupper()
    ):
        return False
    return line.bold or line.text.isupper()


def _in_series(found: Mapping[Line, headings.Heading]) -> list[Line]:
    """The sections whose numbers follow each other, of the kind that comes first: 1, 2, 3 ..."""
    series, count, counted = "", 0, []
    for line, heading in found.items():
        if heading.depth != 1 or heading.series not in (series or "1I"):
            continue
        if heading.series and count < heading.count <= count + 2:
            series, count = heading.series, heading.count
            counted.append(line)
    return counted
