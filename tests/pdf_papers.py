"""Thirty papers as PDFs, in the layouts that papers have, each with what is true of it."""

from __future__ import annotations

from tests.pdf_conferences import aaai, acl, acm, iclr, ieee, neurips
from tests.pdf_journals import cell, elsevier, frontiers, jmlr, lncs, physical_review, plos
from tests.pdf_parts import Made
from tests.pdf_preprints import (
    arxiv,
    french,
    german,
    good_metadata,
    marked_title,
    preprint,
    spanish,
    word_document,
    working_paper,
)


def thirty() -> list[Made]:
    """All of them, in a fixed order."""
    return [
        acl(1), acl(2, "rows"), acl(3, "words"), acl(4, old_accents=True), neurips(5), ieee(6), ieee(7, "rows"),  # noqa: E501
        acm(8), iclr(9), aaai(10), lncs(11), elsevier(12), plos(13), jmlr(14), physical_review(15), cell(16),  # noqa: E501
        frontiers(17), arxiv(18), arxiv(19, old=True), preprint(20), working_paper(21), word_document(22),  # noqa: E501
        german(23), french(24), spanish(25), marked_title(26), good_metadata(27),
        renamed(elsevier(28), "elsevier-2"), renamed(lncs(29), "lncs-2"), renamed(aaai(30, "rows"), "aaai-2"),  # noqa: E501
    ]  # fmt: skip


def renamed(one: Made, name: str) -> Made:
    return Made(name, one.content, one.title, one.year, one.abstract, one.authors, one.sections)
