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
EXPORTS = {
    path.name: path.read_bytes().decode() for path in Path(__file__).with_name("exports").iterdir()
}
"""What programs and databases write, by the name of the file."""

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
