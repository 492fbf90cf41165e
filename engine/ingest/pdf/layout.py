"""The lines of a paper in the order in which they are read, and which of them are headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.ingest.files import table
from engine.ingest.pdf.pages import Line, Page, PdfText

WORDS: dict[str, list[str]] = table("paper_words")
_NUMBER_OF = r"(?:(?:\d{1,2}|[IVX]{1,5})\.?\s+)?"


def words_of(name: str, form: str = "(?:WORDS)") -> re.Pattern[str]:
    """The pattern of a list in ``paper_words.toml``; in ``form``, ``WORDS`` stands for it."""
    return re.compile(form.replace("WORDS", "|".join(WORDS[name])), re.I)


_ABSTRACT = words_of(
    "abstract",
    r"(?:\d\.?\s+)?(?P<word>a\s?b\s?s\s?t\s?r\s?a\s?c\s?t|WORDS)"
    r"(?:\s*(?P<mark>[.:—–\-−]+)\s*|\s+(?=[A-ZÄÖÜÉ“\"(])|\s*\Z)(?P<rest>.*)",
)
_AFTER = words_of("after_abstract", r"(?:(?:\d|[ivx]+)\s*[.:]?\s+)?(?:WORDS)")
_NUMBERED = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5}|[A-H](?:\.\d{1,2}){0,2})(?P<mark>[.):]?)\s+"
    r"(?P<name>[^\W\d_].*)"
)
NAMES = words_of("sections", r"(?:WORDS)\s*\.?\Z")
REFERENCES = words_of("references", _NUMBER_OF + r"(?:WORDS)\s*:?\Z")
APPENDIX = re.compile(
    r"(?:(?:[A-H]|\d{1,2})\.?\s+)?(?:appendix|appendices|anhang|annexe)\b|supplementary material",
    re.I,
)
BACK_MATTER = words_of("back_matter")
PARTS = words_of("abstract_parts", r"(?:WORDS)\s*[.:]?\Z")


def abstract_heading(line: Line) -> tuple[str, str] | None:
    """The word that begins an abstract and the words behind it in the line; else None."""
    text = line.text.lstrip("•*_# ")
    match = _ABSTRACT.fullmatch(text)
    if match is None:
        return None
    word, rest, mark = "".join(match["word"].split()).casefold(), match["rest"], match["mark"]
    if rest and not mark and not (match["word"][0].isupper() and word == "abstract"):
        return None
    if rest and word == "summary" and rest[:1].islower():
        return None
    return word, rest


def ends_abstract(line: Line) -> bool:
    """Whether a line tells that the abstract before it is over."""
    return bool(_AFTER.match(line.text) or REFERENCES.match(line.text))


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part of a paper."""

    number: str  # "" for none, else without its mark: ``3.1``, ``IV``, ``B``
    name: str

    @property
    def depth(self) -> int:
        """1 for a section, more for its parts; where there is no number, 1."""
        return self.number.count(".") + 1

    @property
    def series(self) -> str:
        """What kind of number it has: headings of one kind are counted together."""
        if not self.number:
            return ""
        first = self.number.partition(".")[0]
        return "1" if first.isdigit() else ("I" if set(first) <= set("IVX") else "A")

    @property
    def count(self) -> int:
        """Its number in the series, from 1, for a section; 0 where it has none."""
        first = self.number.partition(".")[0]
        if self.series == "I":
            return _roman(first)
        return int(first) if first.isdigit() else (ord(first) - 64 if first else 0)


def _roman(number: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in number]
    following = [*values[1:], 0]
    return sum(-a if a < b else a for a, b in zip(values, following, strict=True))


def as_heading(line: Line, body: float) -> Heading | None:
    """A line as the heading of a part of the paper, or None."""
    text = line.text.strip()
    words = text.split()
    if not 0 < len(words) <= 14 or len(text) > 110 or text.endswith((",", ";")):
        return None
    if _sentence(text):
        return None
    upper = text.isupper() and len(text) > 4
    stands_out = line.bold or line.size > 1.08 * body or upper
    match = _NUMBERED.fullmatch(text)
    if match is not None:
        named = NAMES.match(match["name"]) is not None
        fits = match["name"][0].isupper() and (stands_out or named or match["name"].isupper())
        return Heading(match["number"], name_of(match["name"])) if fits else None
    if not text[0].isupper() or len(text) < 4:
        return None
    named = NAMES.match(text) is not None and (stands_out or len(words) < 3)
    big = line.size > 1.12 * body
    if named or big or (line.bold and line.size >= 0.95 * body):
        return Heading("", name_of(text))
    return None


def _sentence(text: str) -> bool:
    return text.endswith((".", "?", "!")) and len(text.split()) > 6


def name_of(text: str) -> str:
    """A heading's words as they are shown.

    >>> name_of("RELATED WORK."), name_of("Data")
    ('Related work', 'Data')
    """
    name = text.strip(" .:")
    return name.capitalize() if name.isupper() and len(name) > 4 else name


GUTTER = 6.0  # Points between columns at least; LaTeX has 10 (article) to 24
LEAST_ROWS = 3
"""Lines on each side of a gutter; wide gaps between words may lie below each other twice."""
_MARGIN = 0.09
"""Share of a page's height, above and below, in which running heads and page numbers are."""
_NUMBER = re.compile(
    r"(?:page\s+)?[-–—]?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*[-–—]?(?:\s*(?:of|/)\s*\d+)?\Z", re.I
)
_DIGITS = re.compile(r"\d+")


def body_size(pages: Iterable[Page]) -> float:
    """The size, in points, in which most letters are set."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0]


def margins(pdf: PdfText) -> frozenset[Line]:
    """Running heads, page numbers and the like: lines at the edge of pages. Words there
    belong to it when they are on several pages (numbers aside), or are only a number."""
    outer = {line: _key(line) for page in pdf.pages for line in _edge(page)}
    seen = Counter(outer.values())
    return frozenset(
        line for line, key in outer.items() if seen[key] > 1 or _NUMBER.match(line.text)
    )


def _edge(page: Page) -> list[Line]:
    """Lines in the upper and lower margin."""
    low, high = _MARGIN * page.height, (1 - _MARGIN) * page.height
    edge = [line for line in page.lines if line.y < low or line.y > high]
    # A page number below a short page is higher up, alone.
    if page.lines:
        last = min(page.lines, key=lambda line: line.y)
        if last not in edge and last.y < 0.2 * page.height and _NUMBER.match(last.text):
            edge.append(last)
    return edge


def _key(line: Line) -> str:
    return _DIGITS.sub("#", "".join(line.text.split()).casefold())


def in_order(lines: Sequence[Line], width: float) -> list[Line]:
    """Lines column by column; what goes across columns parts what is above from what is below."""
    return _parted(sorted(lines, key=lambda line: (-line.y, line.x0)), width)


def _parted(lines: list[Line], width: float) -> list[Line]:
    """Lines from top to bottom, parted at the columns that reach over most of them."""
    bands = [(*band, x) for x in _gutters(lines, width) if (band := _longest_band(lines, x))]
    if not bands:
        return lines
    length, first, x = max(bands, key=lambda band: band[0])
    beside = lines[first : first + length]
    left = [line for line in beside if line.x0 < x]
    right = [line for line in beside if line.x0 >= x]
    return [
        *_parted(lines[:first], width),
        *_parted(left, width),
        *_parted(right, width),
        *_parted(lines[first + length :], width),
    ]


def _gutters(lines: Sequence[Line], width: float) -> list[float]:
    """Where columns may begin: left edges that several lines share."""
    if not lines:
        return []
    left = min(line.x0 for line in lines)
    starts = Counter(round(line.x0 / 3) for line in lines if line.x0 > left + 0.12 * width)
    return [
        3 * x - 2.0
        for x, _ in starts.most_common(8)
        if starts[x] + starts[x + 1] + starts[x - 1] > 2
    ]


def _longest_band(lines: Sequence[Line], x: float) -> tuple[int, int] | None:
    """The most lines that follow each other and leave the gutter left of ``x`` free. Returns how
    many they are and the index of the first; None where there is no text on both sides."""
    best: tuple[int, int] | None = None
    first = 0
    sides: tuple[set[float], set[float]] = (set(), set())
    for index, line in enumerate([*lines, None]):
        if line is not None and not line.x0 < x < line.x1 + GUTTER:
            sides[line.x0 >= x].add(line.y)
            continue
        length = index - first
        if min(map(len, sides)) >= LEAST_ROWS and (best is None or length > best[0]):
            best = length, first
        first, sides = index + 1, (set(), set())
    return best


def without_footnotes(ordered: Sequence[Line], body: float, height: float) -> list[Line]:
    """The lines without those in small print at the foot of a column."""
    small: set[Line] = set()
    for line in sorted(ordered, key=lambda line: -line.y):
        if line.size >= 0.93 * body or line.y > 0.36 * height:
            continue
        above = [o for o in ordered if 0 < o.y - line.y < 1.5 * line.size and _over(o, line)]
        # Small text that begins higher up, as an abstract, is none.
        if not any(o.size < 0.93 * body and o not in small for o in above):
            small.add(line)
    # All below small print in the same column, down to its foot, is of it.
    kept = []
    for line in ordered:
        if line in small:
            below = [o for o in ordered if o.y < line.y - 1 and _over(o, line)]
            if all(o in small for o in below):
                continue
        kept.append(line)
    return kept


def _over(a: Line, b: Line) -> bool:
    """Whether two lines share a part of the width."""
    return a.x0 < b.x1 and b.x0 < a.x1


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
    """The words within the lines of a paper, where no line end cuts them."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()
        for line in lines:
            words = _WORD.findall(line.text.casefold())
            self._words.update(words[:-1] if line.text.endswith("-") else words)

    def joined(self, lines: Sequence[str]) -> str:
        """Lines as one text. A hyphen at a line's end goes, unless the paper has the word with it
        elsewhere, or the second half begins with a capital letter or a digit."""
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


NUMBERED_LINE = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*|[IVX]{1,5})[.)]?\s+\S")


class Reading:
    """The lines of a PDF as people read them. `pdf`: all that the file holds. `body`: size of the
    text, in points. `head`: the lines of page 1. `lines`: of all pages, without running heads and
    footnotes. `vocabulary`: joins lines to text."""

    def __init__(self, pdf: PdfText) -> None:
        self.pdf = pdf
        self.body = body_size(pdf.pages)
        edge = margins(pdf)
        self.lines: list[Line] = []
        self.head: list[Line] = []
        for page in pdf.pages:
            ordered = in_order([line for line in page.lines if line not in edge], page.width)
            self.lines += without_footnotes(ordered, self.body, page.height)
            if page is pdf.pages[0]:
                self.head = ordered
        self.vocabulary = Vocabulary(line for page in pdf.pages for line in page.lines)

    def text(self, lines: Sequence[Line]) -> str:
        """Lines as running text."""
        return self.vocabulary.joined([line.text for line in lines])


def is_section(line: Line, body: float) -> bool:
    """Whether a line is surely the heading of a section: by its number or its name."""
    heading = as_heading(line, body)
    return heading is not None and bool(NUMBERED_LINE.match(line.text) or NAMES.match(heading.name))


def goes_on(before: Line, line: Line) -> bool:
    """Whether a line goes on with one that is set alike, beside it or right below it."""
    return (
        line.page == before.page
        and -1 < before.y - line.y < 1.35 * before.size
        and line.bold == before.bold
        and abs(line.size - before.size) < 0.3
    )
