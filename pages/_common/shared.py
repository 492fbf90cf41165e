"""What all pages share: the cached engine, the error boundary, the style."""

from __future__ import annotations

import gc
import html
import logging
import re
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype

from engine.errors import BadInputError, SeedLensError
from engine.explorer import Explorer
from pages._login import login

ASSETS = Path(__file__).resolve().parents[2] / "assets"
log = logging.getLogger("seedlens")
T = TypeVar("T")


@st.cache_resource(show_spinner=False)
def open_engine() -> Explorer:
    """Open the engine, once for all sessions, as its operator. Pages call :func:`engine`."""
    explorer = Explorer()
    explorer.start()
    return explorer


def engine() -> Explorer:
    """The engine, acting as the visitor, with their role."""
    return open_engine().acting_as(login.acting())


def warm_up() -> None:
    """Load what the first searches need, then keep the garbage collector off it."""
    try:
        open_engine().warm_up()
    except Exception:
        log.exception("Warming up failed; the pages will say why.")
    finally:
        gc.collect()
        gc.freeze()


def tidy_daily() -> None:
    """Tidy the home once a day, for as long as the server runs."""
    while True:
        time.sleep(24 * 3600)
        try:
            open_engine().tidy()
        except Exception:
            log.exception("Tidying the home failed; it is tried again in a day.")


@contextmanager
def error_boundary() -> Iterator[None]:
    """Show our errors as a message that says what to do; let the rest of the page stand."""
    try:
        yield
    except SeedLensError as error:
        show_error(error)
    except Exception:
        log.exception("Unexpected error on a page")
        note(
            "Unexpected error. See the server log.",
            "Reload the page. Your judgments are saved.",
            kind="error",
        )


def as_ours(error: BaseException, what: str) -> SeedLensError:
    """What went wrong beside a page, to be shown; ``what`` is for the log."""
    if isinstance(error, SeedLensError):
        return error
    log.error(what, exc_info=error)
    return SeedLensError("Unexpected error. See the server log.")


_PROBLEM = "shared_problem"


def attempt(do: Callable[[], object]) -> None:
    """Run what a click asked for, outside the page's run; the next run shows what goes wrong."""
    attempt_at("", do)


def attempt_at(place: str, do: Callable[..., object], *args: object) -> None:
    """:func:`attempt`, whose error is shown at a place of the page, by ``show_problem(place)``."""
    forget_problem()
    try:
        do(*args)
    except SeedLensError as error:
        st.session_state[_PROBLEM] = (place, error)


def as_drawn(widgets: tuple[str, ...], do: Callable[[], object]) -> Callable[[], None]:
    """What a button does with values of widgets, as long as they are as when it was drawn: a former
    button can still be clicked, and typed text arrives with the click.

    Args:
        widgets: their keys; one that ends in ``_`` stands for all that begin with it.
    """
    several = tuple(key for key in widgets if key.endswith("_"))

    def values() -> dict[str, object]:
        state = {str(key): value for key, value in st.session_state.items()}
        return {k: v for k, v in state.items() if k in widgets or k.startswith(several)}

    drawn = values()

    def checked() -> None:
        now = values()
        if any(now.get(key) != value for key, value in drawn.items()):
            raise BadInputError("Settings changed before your click.", "Check and click again.")
        do()

    return checked


def show_problem(place: str | None = "", *, keep: bool = False) -> None:
    """Show what went wrong in the last click, once.

    Args:
        place: where it went wrong; None for anywhere.
        keep: show it until something else is attempted, for parts that are drawn by themselves.
    """
    known = st.session_state.get(_PROBLEM)
    if known is not None and place in (None, known[0]):
        show_error(known[1])
        if not keep:
            forget_problem()


def forget_problem() -> None:
    """What went wrong before is not to be shown any more."""
    st.session_state.pop(_PROBLEM, None)


def show_error(error: SeedLensError) -> None:
    """One error with its remedy."""
    note(error.message, error.remedy, kind="error")


def note(message: str, remedy: str = "", kind: str = "note") -> None:
    """A message box. Its words may come from documents, so they are escaped, never Markdown."""
    role = "alert" if kind == "error" else "status"
    st.html(
        f'<div class="sl-note sl-{kind}" role="{role}"><strong>{escape(message)}</strong> '
        f"{escape(remedy)}</div>"
    )


_ADDRESS = re.compile(r"https?:(?=//)|www(?=\.)|@", re.IGNORECASE)


def system_label(name: str, model: Container[str] = ()) -> str:
    """A system by what it does: ``Word match (bm25)``; ``model``: the systems that use one."""
    detail = f"{name}, uses a model" if name in model else name
    return f"{SYSTEM_NAMES[name]} ({detail})" if name in SYSTEM_NAMES else detail


def escape_label(text: str) -> str:
    r"""Words that a widget label, which is Markdown, shows as they are; a word joiner, which is not
    seen, keeps addresses from becoming links.

    >>> print(escape_label("![](x) <b>"))
    \!\[\]\(x\) \<b\>
    """
    text = _ADDRESS.sub("\\g<0>\u2060", with_marks(text))
    return "".join(f"\\{c}" if c in r"\`*_{}[]()#+-.!|~$:<>" else c for c in " ".join(text.split()))


def remembered(key: str, basis: object, make: Callable[[], T]) -> T:
    """A value kept in the session state; made again when its basis has changed."""
    known: Any = st.session_state.get(key)
    if known is None or known[0] != basis:
        known = st.session_state[key] = (basis, make())
    value: T = known[1]
    return value


def begun_from(key: str, field: str, now: T) -> T:
    """What the fields of a form were filled from: ``now``, unless the form is shown already; a note
    says where somebody else changed it since.

    Args:
        field: the key of a widget of the form, which is forgotten when the form is left.
    """
    if field not in st.session_state:
        st.session_state[key] = now
    value: T = st.session_state[key]
    with st.container():  # always there: the fields below it keep their place
        if value != now:
            note("Edited by someone else.", "Copy your text and reload.")
    return value


SYSTEM_NAMES = {
    "aspect": "Aspect-aware",
    "transport": "Sentence match",
    "instructed": "Instruction-aware",
    "dense": "Meaning",
    "late-interaction": "Token by token",
    "bm25": "Word match",
    "bm25-aspect": "Word match in the aspect",
    "hybrid": "Words and meaning",
    "facts": "Dates, amounts, places",
    "scenario": "Information needs",
    "rewrite": "Rewritten query",
    "multi-hop": "Iterative search",
}
"""What systems do, for boxes that choose one."""
SAFE_CSV = "Safe for spreadsheets: text that looks like a formula begins with an apostrophe."


def file_name(words: str) -> str:
    """The name of a download: words of others are no folders, and turn no text.

    >>> file_name("../a b.csv")
    'seedlens-..-a-b.csv'
    """
    return "seedlens-" + "".join(c if c.isalnum() or c in "-_.+@" else "-" for c in words)


def download(
    label: str,
    file: str,
    make: Callable[[], str],
    *,
    key: str,
    mime: str = "text/plain",
    **look: Any,
) -> None:
    """A button for a text file, which is made as the button is drawn: Streamlit loses a deferred
    one when the page is drawn again. What takes long belongs into a popover that draws lazily."""
    st.download_button(
        label,
        data=make().encode(),
        file_name=file_name(file),
        mime=mime,
        key=key,
        on_click="ignore",
        width="stretch",
        help=SAFE_CSV if file.endswith(".csv") else None,
        **look,
    )


def uploader(
    label: str, key: str, take: Callable[[str, bytes], object], *, megabytes: int, help_: str
) -> None:
    """An upload that is taken in once, when it arrives; what is wrong with it is shown on top."""
    # A file that was taken in (or refused) makes room for the next one: the key changes.
    turn = st.session_state.setdefault(f"{key}_turn", 0)

    def arrived() -> None:
        file = st.session_state.get(f"{key}_{turn}")
        if file is not None:
            st.session_state[f"{key}_turn"] = turn + 1
            attempt(lambda: take(file.name, file.getvalue()))

    st.file_uploader(
        label, key=f"{key}_{turn}", help=help_, on_change=arrived, max_upload_size=megabytes
    )


def confirm(label: str, key: str, do: Callable[..., None], *args: object) -> None:
    """The buttons that end a dialog: one that does it, and "Keep", whose key is ``KEY_keep``."""
    with st.container(horizontal=True):
        yes = st.button(label, key=key, type="primary", on_click=do, args=args)
        if st.button("Keep", key=f"{key}_keep") or yes:
            st.rerun()


_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")  # turn the order of what follows, unseen
BIDI_MARK = "\u25ca"


def with_marks(text: str) -> str:
    r"""A text in which characters that turn its order are seen, one mark each.

    >>> with_marks("paid \u202e001")
    'paid ◊001'
    """
    return _BIDI.sub(BIDI_MARK, text)


def escape(text: str, *, quote: bool = True) -> str:
    """A text as HTML, in which it is text; quotes only for attributes, as Plotly shows them."""
    return html.escape(with_marks(text), quote=quote)


def table_with_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for ``st.dataframe``: its texts and the names of its columns :func:`with_marks`."""

    def shown(value: object) -> object:
        return with_marks(value) if isinstance(value, str) else value

    texts = {name for name, kind in frame.dtypes.items() if not is_numeric_dtype(kind)}
    marked = frame.apply(lambda column: column.map(shown) if column.name in texts else column)
    return marked.rename(columns=shown)
