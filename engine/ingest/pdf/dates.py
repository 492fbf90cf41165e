"""The year of a paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from engine.ingest.pdf.pages import PdfText

_YEAR = r"((?:19|20)\d{2})(?![\d-]\d|/\d{4})"
_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|"
    r"juli|aug(?:ust)?|"
    r"sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
)
# In order of trust.
_CUES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?:©|\(c\)|copyright|licensed)\D{{0,60}}?\b{_YEAR}",
        rf"\b{_YEAR}\W{{0,3}}(?:©|the authors?|elsevier|springer|ieee|acm|association|copyright|"
        r"by the)",
        rf"(?<!pre-)\bpublished(?: online)?\b[^.;]{{0,60}}?\b{_YEAR}",
        rf"(?:proceedings|conference|workshop|symposium|meeting|iclr|neurips|nips|icml|acl|emnlp|"
        rf"naacl|coling|sigir|"
        rf"cvpr|iccv|eccv|aaai|ijcai|kdd|www|chi|chiir|ecir|cikm|interspeech|lrec)\b.{{0,100}}?(?<!\d){_YEAR}",
        r"(?:iclr|neurips|nips|icml|acl|emnlp|naacl|coling|sigir|cvpr|iccv|eccv|aaai|ijcai|kdd|"
        r"chi|chiir|ecir|cikm)"
        r"[’']?\s?(?:[’'])(\d\d)\b",
        rf"(?:vol(?:ume)?\.?|no\.?|issue|pp\.?|pages|journal|transactions|letters|review)\b.{{0,80}}?\b{_YEAR}",
        rf"\d+\s*\({_YEAR}\)\s*[\d:e]",
        rf"available online\b.{{0,30}}?\b{_YEAR}",
        rf"accepted\b.{{0,40}}?\b{_YEAR}",
        rf"(?:preprint|submitted|revised|dated?|version|draft)\b.{{0,50}}?\b{_YEAR}",
        rf"\b{_MONTH}\b\.?\s*(?:\d{{1,2}}(?:st|nd|rd|th)?)?,?\s*{_YEAR}",
        rf"\b\d{{1,2}}[./]\d{{1,2}}[./]{_YEAR}",
    )
)
_STAMP = re.compile(
    r"arXiv:\s?(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(?:0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})", re.I
)
_ANY = re.compile(rf"(?<![\d.,/-]){_YEAR}")
_DESCRIBED = re.compile(r"(?:D:)?\s*((?:19|20)\d{2})")
FIRST_YEAR = 1900


@dataclass(frozen=True, slots=True)
class Outside:
    """What stands on page 1 outside title, abstract and text.

    Attributes:
        head: above the abstract, and running heads.
        foot: footnotes and what stands in the lower margin.
    """

    head: tuple[str, ...]
    foot: tuple[str, ...]


def find_year(pdf: PdfText, outside: Outside, described: str) -> int | None:
    """The year in which a paper came out.

    What page 1 says counts first: marks of a publication, then arXiv's stamp (the id's year, as
    papers are cited by it), then any year above the abstract. Then the date of publication in the
    XMP, then when the file was made.

    Args:
        described: the XMP's date of publication, or "".
    """
    lines = (*outside.head, *outside.foot)
    stamp = _STAMP.search(pdf.pages[0].turned) or _STAMP.search("\n".join(lines))
    for cue in _CUES[:-2]:
        if year := _first(cue, lines):
            return year
    if stamp:
        return _century(stamp[1])
    for cue, where in ((_CUES[-2], lines), (_CUES[-1], lines), (_ANY, outside.head)):
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
