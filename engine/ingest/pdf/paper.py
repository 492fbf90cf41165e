"""A paper's title, authors, year, abstract and sections, found in its lines."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import dropwhile, pairwise, takewhile
from statistics import median_high

from engine.ingest.files import table
from engine.ingest.pdf.pages import Line, PdfText, Reading

WORDS: dict[str, list[str]] = table("paper_words")

# -- headings ---------------------------------------------------------------------------------

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
    def place(self) -> tuple[str, int]:
        """The kind of its number ("1", "I", "A" or "" for none), which headings of one kind are
        counted by, and the number of its section."""
        first = self.number.partition(".")[0]
        if first.isdigit():
            return "1", int(first)
        if first and set(first) <= set("IVX"):
            values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in first]
            following = zip(values, [*values[1:], 0], strict=True)
            return "I", sum(-a if a < b else a for a, b in following)
        return ("A", ord(first) - 64) if first else ("", 0)


def as_heading(line: Line, body: float) -> Heading | None:
    """A line as the heading of a part of the paper, or None."""
    text = line.text.strip()
    words = text.split()
    if not 0 < len(words) <= 14 or len(text) > 110 or text.endswith((",", ";")):
        return None
    if text.endswith((".", "?", "!")) and len(words) > 6:  # a sentence
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


def name_of(text: str) -> str:
    """A heading's words as they are shown.

    >>> name_of("RELATED WORK."), name_of("Data")
    ('Related work', 'Data')
    """
    name = text.strip(" .:")
    return name.capitalize() if name.isupper() and len(name) > 4 else name


NUMBERED_LINE = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*|[IVX]{1,5})[.)]?\s+\S")


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


# -- page 1: title, authors and year ----------------------------------------------------------

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
    """The names in a line; none where it has anything else, but for affiliations behind."""
    text = re.sub(r"\([^)]*\)|\{[^}]*\}", ",", line.names or line.text)
    parts = [
        part
        for part in map(_plain, _PARTED.split(text))
        if part and not (_DEGREES.fullmatch(part) or _SOCIETIES.fullmatch(part))
    ]
    names = list(takewhile(_name, parts))
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
_PLACE_OF_WORK = re.compile(r"\b(?:University|Universität|Universidad|Department|Institute?)\b")
_VOLUME = re.compile(r"\d{1,4}\s*[(:,]\s*\d|\bvol\b|\b(?:19|20)\d{2}\b|\bISSN\b", re.I)
_HOMEPAGE = re.compile(r"home\s?page|www\.|https?:", re.I)


def find_title(head: Sequence[Line], body: float, described: str) -> tuple[str, list[Line]]:
    """The title, and the lines of page 1 that hold it. Returns ("", lines) where the lines are to
    be joined; (title, []) where only the file tells it."""
    words = described.split()
    if len(words) < 2 or len(described) >= 500 or _NO_TITLE.match(described.strip()):
        described = ""  # it means nothing
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
    """How much a run of lines is like a title: its size, its words, its place."""
    text = " ".join(line.text for line in group)
    words = _words(group)
    highest = max(line.top for line in head)
    score = group[0].size / body * (1 - 0.12 * (highest - group[0].y) / max(highest, 1.0))
    for factor, holds in (
        (0.8, words == 2),
        (0.68, words < 2),
        (0.1, words > 45),
        (0.45, words < 16 and _NO_HEADLINE.match(text)),
        (0.6, "@" in text or _PLACE_OF_WORK.search(text)),
        (1.04, group[0].bold),
        (0.4, _names_journal(group, head)),
    ):
        score *= factor if holds else 1.0
    return score


def _names_journal(group: Sequence[Line], head: Sequence[Line]) -> bool:
    """Whether a line has the place of a journal's name: in one row with volume and pages, above
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
    """The year in which a paper came out. The words of page 1 above the abstract and in footnotes
    counts first: marks of a publication, then arXiv's stamp (the id's year, as papers are cited by
    it), then any year above the abstract. Then the date of publication in the XMP, then when the
    file was made."""
    lines = (*head, *foot)
    stamp = _STAMP.search(pdf.pages[0].turned) or _STAMP.search("\n".join(lines))
    for cue in _CUES[:-2]:
        if year := _first(cue, lines):
            return year
    if stamp:
        return _as_year(stamp[1])
    for cue, where in ((_CUES[-2], lines), (_CUES[-1], lines), (_ANY, head)):
        if year := _first(cue, where):
            return year
    for date in (described, pdf.info.get("CreationDate", ""), pdf.info.get("ModDate", "")):
        match = _DESCRIBED.match(date)
        if match and (year := _as_year(match[1])):
            return year
    return None


def _first(cue: re.Pattern[str], lines: Sequence[str]) -> int | None:
    # A date may go over two lines.
    texts = (*lines, *(f"{a} {b}" for a, b in pairwise(lines)))
    years = (_as_year(match[1]) for text in texts for match in cue.finditer(text))
    return next(filter(None, years), None)


def _as_year(digits: str) -> int | None:
    """The year that two or four digits stand for; None for one in which no paper came out."""
    year = int(digits)
    if len(digits) == 2:
        year += 1900 if year > 90 else 2000
    return year if FIRST_YEAR <= year <= datetime.now(UTC).year + 1 else None


# -- abstract and sections --------------------------------------------------------------------

LEAST_WORDS = 45  # A paragraph with fewer words is no abstract, where no heading says so
LEAST_CHARS, MOST_CHARS = 40, 6_000
"""What is shorter or longer is no abstract, or its end was not found."""
_MARKED = re.compile(r"[∗*†‡§¶]\s?\w")


@dataclass(frozen=True, slots=True)
class Abstract:
    """An abstract, or that there is none."""

    text: str = ""
    lines: tuple[Line, ...] = ()  # heading and text


def find_abstract(reading: Reading, title: Sequence[Line]) -> Abstract:
    """The abstract under its heading; without one, the long paragraph before the introduction."""
    early = [line for line in reading.lines if line.page < 2]
    found = []
    for index, line in enumerate(early):
        heading = abstract_heading(line)
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

    def is_above(line: Line) -> bool:
        return line.page == heading.page and line.y > heading.y + 2

    # The heading may be beside its text, or be ordered before what is above it.
    below = behind if rest else list(dropwhile(is_above, behind)) or behind
    for line in below:
        if texts and _ends(heading, lines, line, run_in=bool(rest)):
            break
        if not texts and ends_abstract(line):
            return None
        if abstract_heading(line) is not None:
            break
        read.append(line)
        if PARTS.match(line.text):
            texts.append(line.text.rstrip(" .:") + ":")
        else:
            texts.append(line.text)
            lines.append(line)
    text = reading.vocabulary.joined(texts)
    if not LEAST_CHARS <= len(text) <= MOST_CHARS:
        return None
    return Abstract(text, (heading, *read))


def _ends(heading: Line, lines: Sequence[Line], line: Line, *, run_in: bool) -> bool:
    """Whether an abstract is over before a line."""
    if ends_abstract(line) or _MARKED.match(line.text):
        return True
    if PARTS.match(line.text) and not NUMBERED_LINE.match(line.text):
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
        # Paragraphs are indented by an em or two.
        moved = abs(line.x0 - first.x0) > 0.6 * size and not 0 < line.x0 - first.x0 < 3 * line.size
        return moved or gap > 3 * usual
    if usual and len(lines) > 1 and not below and line.page == before.page:
        return _different(lines, line)
    return False


def _is_other_heading(lines: Sequence[Line], before: Line, line: Line, size: float) -> bool:
    """Whether a line is a heading, and no line of an abstract that is set in bold."""
    if as_heading(line, size) is None or goes_on(before, line):
        return False
    if not (line.bold or line.size > 1.05 * size or NUMBERED_LINE.match(line.text)):
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
        if not ends_abstract(line):
            lines.append(line)
        elif _words(_longest(lines)) > LEAST_WORDS:
            break
    else:
        return Abstract()
    block = _longest(lines)
    text = reading.text(block)
    if _words(block) < LEAST_WORDS or text.count(".") < 2:
        return Abstract()
    return Abstract(text, tuple(block))


def _longest(lines: Sequence[Line]) -> list[Line]:
    """The paragraph with the most words."""
    return max(_paragraphs(lines), key=_words, default=[])


def _words(lines: Sequence[Line]) -> int:
    return sum(len(line.text.split()) for line in lines)


def _usual(lines: Sequence[Line]) -> float:
    return median_high(line.size for line in lines)


def _spacing(lines: Sequence[Line]) -> float:
    """Points from one baseline to the next, as mostly; 0 where there are too few lines."""
    gaps = [a.y - b.y for a, b in pairwise(lines) if a.page == b.page and a.y - b.y > 2]
    return median_high(gaps) if gaps else 0.0


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


LEAST_SECTION_CHARS = 80
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
            part.name, part.last = name_of(name), line
        elif heading is not None and heading.depth == 1:
            parts.append(_Part(heading.name, last=line, left_out=part.left_out))
            if REFERENCES.match(line.text):
                parts[-1].left_out = True
            elif heading.place[0] == "A" or APPENDIX.match(line.text):
                parts[-1].left_out = False
        elif heading is None and abs(line.size - reading.body) <= 0.08 * reading.body:
            part.texts.append(line.text)
    kept = [part for part in parts if part.name and not part.left_out]
    texts = [
        (p.name, reading.vocabulary.joined(p.texts)) for p in kept if not BACK_MATTER.match(p.name)
    ]
    return tuple(Section(name, text) for name, text in texts if len(text) > LEAST_SECTION_CHARS)


def _headings(reading: Reading, lines: Sequence[Line]) -> dict[Line, Heading]:
    """The headings of all levels; an unnumbered one counts as a section where it looks like
    the sections that are known by their numbers or names."""
    found = {}
    for line in lines:
        if one := as_heading(line, reading.body):
            found[line] = one
        elif REFERENCES.match(line.text):
            found[line] = Heading("", name_of(line.text))
    # A table of contents has them before: the last of equal ones is the heading.
    last = {line.text: line for line in found}
    found = {line: one for line, one in found.items() if last[line.text] is line}
    counted = _in_series(found)
    sure = counted or [line for line in found if NAMES.match(found[line].name)]
    looks = {(round(line.size), line.bold, line.text.isupper()) for line in sure}
    for line, one in found.items():
        same = (round(line.size), line.bold, line.text.isupper()) in looks
        plain = not one.number and (same or not sure or REFERENCES.match(line.text))
        appendix = one.place[0] == "A" and one.depth == 1 and same
        if line not in counted and one.depth == 1 and not (plain or appendix):
            found[line] = Heading("0.0", one.name)
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


def _in_series(found: Mapping[Line, Heading]) -> list[Line]:
    """The sections whose numbers follow each other, of the kind that comes first: 1, 2, 3 ..."""
    series, count, counted = "", 0, []
    for line, heading in found.items():
        kind, number = heading.place
        if heading.depth != 1 or kind not in (series or "1I"):
            continue
        if kind and count < number <= count + 2:
            series, count = kind, number
            counted.append(line)
    return counted


_DOI = re.compile(r"(?<![\w.])10\.\d{4,9}/[^\s\"<>,;]+[^\s\"<>,;.)\]]")
_ARXIV = re.compile(
    r"arXiv(?:\s+e-?print)?:\s?((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)", re.I
)
BEGINNING_CHARS = 2_000  # Characters that stand for an abstract where a file has none
TITLE_PAGE_LINES = 30  # A first page with fewer lines, and no abstract, is a title page


@dataclass(frozen=True, slots=True)
class Paper:
    """What was found in one PDF."""

    title: str
    authors: tuple[str, ...]
    year: int | None  # None where nothing tells it
    abstract: str  # "" where there is none
    beginning: str  # the first text under the title's block, for a file without an abstract
    sections: tuple[Section, ...]
    doi: str  # doi, arxiv: "" where page 1 has none
    arxiv: str
    pages_left_out: int  # those beyond the limit


def find_paper(pdf: PdfText, described: str = "") -> Paper:
    """The paper in the text of a PDF."""
    reading = Reading(pdf)
    title, title_lines = find_title(reading.head, reading.body, pdf.info.get("Title", ""))
    title = title or reading.text(title_lines)
    abstract = find_abstract(reading, title_lines)
    first = abstract.lines[0] if abstract.lines else None
    head = _above(reading.head, title_lines, first)
    first_page = [*(line.text for line in pdf.pages[0].lines), pdf.pages[0].turned]
    arxiv = _ARXIV.search(pdf.pages[0].turned) or _ARXIV.search("\n".join(first_page))
    doi = _DOI.search("\n".join(first_page))
    used = {*abstract.lines, *title_lines}
    return Paper(
        title=title,
        authors=find_authors(head),
        year=find_year(pdf, *_outside(reading, title_lines, first), described),
        abstract=abstract.text,
        beginning=_beginning(reading, title_lines, head),
        sections=find_sections(reading, used),
        doi=doi[0] if doi else "",
        arxiv=arxiv[1] if arxiv else "",
        pages_left_out=pdf.more_pages,
    )


def _beginning(reading: Reading, title: Sequence[Line], head: Sequence[Line]) -> str:
    """The first lines of running text under the title, up to ``BEGINNING_CHARS``."""
    above = {*title, *head}
    long = [line for line in reading.lines if line not in above and len(line.text) > 20]
    text = reading.text(long[:60])
    if len(text) <= BEGINNING_CHARS:
        return text
    cut = text[:BEGINNING_CHARS]
    return cut[: cut.rfind(". ") + 1] or cut


def _outside(
    reading: Reading, title: Sequence[Line], abstract: Line | None
) -> tuple[list[str], list[str]]:
    """What page 1 has above the abstract and in its margins, and in its footnotes."""
    first = reading.pdf.pages[0]
    text, read = set(reading.lines), set(reading.head)
    ceiling = _ceiling(reading, abstract)
    lines = [line for line in first.lines if line not in title]
    top = [line.text for line in lines if line.y > ceiling or line not in read]
    foot = [
        line.text
        for line in lines
        if line.text not in top and (line not in text or line.y < 0.1 * first.height)
    ]
    return top, foot


def _ceiling(reading: Reading, abstract: Line | None) -> float:
    """Where the text of page 1 begins: at its abstract, or at its first heading."""
    if abstract is not None and abstract.page == 0:
        return abstract.y
    if len(reading.head) < TITLE_PAGE_LINES:
        return 0.0
    named = [line.y for line in reading.head if ends_abstract(line)]
    return max(named, default=max((line.y for line in reading.head), default=0.0) - 150)


def _above(head: Sequence[Line], title: Sequence[Line], first: Line | None) -> list[Line]:
    """The lines between the title and the abstract: authors and where they work."""
    top = min((line.y for line in title), default=float("inf"))
    bottom = first.y if first is not None and first.page == 0 else 0.0
    return [line for line in head if bottom < line.y < top and line is not first]
