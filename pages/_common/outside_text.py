"""Text of documents, people and models as pages show it."""

from __future__ import annotations

import html
import re

import pandas as pd
from pandas.api.types import is_numeric_dtype

_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the order of what follows, unseen: a text could read as another one."""
BIDI_MARK = "\u25ca"


def with_marks(text: str) -> str:
    r"""A text in which characters that turn its order are seen, one mark each.

    >>> with_marks("paid \u202e001")
    'paid ◊001'
    """
    return _BIDI.sub(BIDI_MARK, text)


def escape(text: str, *, quote: bool = True) -> str:
    """A text as HTML, in which it is text: with :func:`with_marks`.

    Args:
        quote: quotes are escaped too, as attributes need it; Plotly shows them as they are.
    """
    return html.escape(with_marks(text), quote=quote)


def table_with_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for ``st.dataframe``: its texts and the names of its columns :func:`with_marks`."""

    def shown(value: object) -> object:
        return with_marks(value) if isinstance(value, str) else value

    texts = {name for name, kind in frame.dtypes.items() if not is_numeric_dtype(kind)}
    marked = frame.apply(lambda column: column.map(shown) if column.name in texts else column)
    return marked.rename(columns=shown)
