"""Documents as the readers give them, and the faults they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import BadInputError
from engine.ingest.source import check, open_source
from engine.lenses.definitions import RESEARCH
from engine.types.documents import SourceDocument

MAX_CHARS = 1_000_000
BIB = r"""Exported by hand.
@string{acl = {Annual Meeting}}
@inproceedings{smith2020,
  title = {{BERT} for f{\"u}nf \& more},
  author = "Smith, Ann and {World Health and Co} and others",
  abstract = {It is 50% faster,
     said @all.},
  booktitle = acl # { of 2020},
  year = 2020, doi = {10.1000/ab_c}
}
@article{jones, title = "Only a title", year = {1999}, journal = {Words}}
@comment{ignored}
@misc{, title = {No key}}
"""

Write = Callable[[str, str | bytes], Path]
"""What the fixture ``write`` is: it writes a file of this name and gives its path."""


def one(path: Path, source_format: str = "auto", **mapping: str) -> SourceDocument:
    (document,) = open_source(path, source_format, mapping, lens=RESEARCH)
    return document


def passages(document: SourceDocument) -> list[str]:
    return [document.text[start:end] for start, end in document.sentences or ()]


def fault(path: Path, source_format: str = "auto", max_chars: int = MAX_CHARS) -> str:
    """The error of a full check, which must be one line and say how to mend it."""
    with pytest.raises(BadInputError) as caught:
        check(open_source(path, source_format, lens=RESEARCH), max_chars)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)
