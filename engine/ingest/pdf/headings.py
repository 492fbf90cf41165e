"""Words and signs that separate the parts of a paper."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.ingest.pdf.pages import Line

_ABSTRACT_WORDS = (
    "abstract", "summary", "zusammenfassung", "kurzfassung", "kurzzusammenfassung", "résumé",
    "resume", "resumen", "riassunto", "sommario", "resumo", "samenvatting", "sammanfattning",
)  # fmt: skip
_ABSTRACT = re.compile(
    rf"(?:\d\.?\s+)?(?P<word>a\s?b\s?s\s?t\s?r\s?a\s?c\s?t|{'|'.join(_ABSTRACT_WORDS)})"
    r"(?:\s*(?P<mark>[.:—–\-−]+)\s*|\s+(?=[A-ZÄÖÜÉ“\"(])|\s*\Z)(?P<rest>.*)",
    re.I,
)
_AFTER = re.compile(
    r"(?:(?:\d|[ivx]+)\s*[.:]?\s+)?(?:"
    r"(?:introduction|einleitung|einführung|introducción|introduzione|inleiding|"
    r"1\s+background|motivation and background)\s*\Z"
    r"|key\s?-?\s?words?\b|index terms|ccs concepts|categories and subject|general terms|"
    r"additional key\s?words|acm reference|jel\b|msc\b|mathematics subject|pacs\b|"
    r"schlüsselwörter|schlagwörter|stichwörter|mots[- ]cl|palabras clave|parole chiave|trefwoorden|"
    r"subject class|nomenclature\s*\Z|graphical abstract|highlights\s*\Z|"
    r"©|\(c\)\s|copyright\b|preprint submitted|correspondence( to)?:|received[: ]|"
    r"abbreviations\b|article info|this (?:article|paper|work) is (?:licensed|published)|"
    r"author summary|significance statement|plain language summary"
    r")",
    re.I,
)
_NUMBERED = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5}|[A-H](?:\.\d{1,2}){0,2})(?P<mark>[.):]?)\s+"
    r"(?P<name>[^\W\d_].*)"
)
_NAMES = re.compile(
    r"(?:introduction|background|motivation|preliminaries|related work|previous work|prior work|"
    r"literature review|theory|model|methods?|methodology|materials and methods|"
    r"methods and materials|"
    r"approach|experiments?|experimental (?:setup|results|evaluation|section)|evaluation|results?|"
    r"results and discussion|discussion|analysis|conclusions?|concluding remarks|"
    r"conclusions? and (?:future work|outlook)|discussion and conclusions?|future work|limitations|"
    r"summary|acknowledge?ments?|appendix|appendices|einleitung|einführung|verwandte arbeiten|"
    r"methode[n]?|"
    r"ergebnisse|diskussion|fazit|schluss|ausblick|zusammenfassung und ausblick|danksagung|anhang|"
    r"introduction|méthodes?|résultats|conclusion|remerciements)\s*\.?\Z",
    re.I,
)
_REFERENCES = re.compile(
    r"(?:(?:\d{1,2}|[IVX]{1,5})\.?\s+)?(?:references(?: and notes)?|references cited|bibliography|"
    r"literature cited|"
    r"works cited|literatur|literaturverzeichnis|quellen|quellenverzeichnis|références|"
    r"bibliographie|"
    r"referencias|riferimenti bibliografici|bibliografia)\s*:?\Z",
    re.I,
)
_APPENDIX = re.compile(
    r"(?:(?:[A-H]|\d{1,2})\.?\s+)?(?:appendix|appendices|anhang|annexe)\b|supplementary material",
    re.I,
)
_UNTOLD = re.compile(
    r"acknowledge?ments?|danksagung|remerciements|funding|author contributions|"
    r"(?:declaration of )?(?:competing|conflicts? of) interests?|data availability(?: statement)?|"
    r"open access|publisher’?s note|ethics (?:statement|approval)",
    re.I,
)
_PARTS = re.compile(
    r"(?:background|objectives?|aims?|purpose|introduction|context|methods?|materials and methods|"
    r"design|"
    r"setting|participants|results?|findings|conclusions?|interpretation|discussion|significance|"
    r"methodology|study design|patients and methods|main results|practical implications|"
    r"originality|"
    r"hintergrund|ziele?|methode[n]?|ergebnisse|schlussfolgerungen?)\s*[.:]?\Z",
    re.I,
)


def abstract_heading(line: Line) -> tuple[str, str] | None:
    """The word that begins an abstract and what stands behind it in the line; else None."""
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
    return _AFTER.match(line.text) is not None or is_references(line)


def is_abstract_part(line: Line) -> bool:
    """Whether a line is a heading within a structured abstract."""
    return _PARTS.match(line.text) is not None


def is_references(line: Line) -> bool:
    return _REFERENCES.match(line.text) is not None


def is_appendix(line: Line) -> bool:
    return _APPENDIX.match(line.text) is not None


def is_untold(name: str) -> bool:
    """Whether a section says nothing of the paper's subject: thanks, funding and the like."""
    return _UNTOLD.match(name) is not None


@dataclass(frozen=True, slots=True)
class Heading:
    """Attributes:
    number: "" for none, else without its mark: ``3.1``, ``IV``, ``B``.
    """

    number: str
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


def heading(line: Line, body: float) -> Heading | None:
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
        named = _NAMES.match(match["name"]) is not None
        fits = match["name"][0].isupper() and (stands_out or named or match["name"].isupper())
        return Heading(match["number"], name_of(match["name"])) if fits else None
    if not text[0].isupper() or len(text) < 4:
        return None
    named = _NAMES.match(text) is not None and (stands_out or len(words) < 3)
    big = line.size > 1.12 * body
    if named or big or (line.bold and line.size >= 0.95 * body):
        return Heading("", name_of(text))
    return None


def is_named(name: str) -> bool:
    """Whether a heading is one that papers commonly have: Introduction, Results ..."""
    return _NAMES.match(name) is not None


def _sentence(text: str) -> bool:
    return text.endswith((".", "?", "!")) and len(text.split()) > 6


def name_of(text: str) -> str:
    """A heading's words as they are shown.

    >>> name_of("RELATED WORK."), name_of("Data")
    ('Related work', 'Data')
    """
    name = text.strip(" .:")
    return name.capitalize() if name.isupper() and len(name) > 4 else name
