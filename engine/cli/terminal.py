"""What commands print, and how they listen while they work."""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TextIO

import click
from pydantic_core import to_jsonable_python
from tqdm import tqdm

from engine.text import size

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but line ends and tabs: they move the cursor, colour, or turn the order of what follows."""
_PIPE_COLUMNS = 100_000


class Terminal:
    """A terminal on which texts of documents cannot act as commands."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(_CONTROLS.sub("\u25ca", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def protect_terminal() -> None:
    """Remove control characters from what terminals get; files and pipes get everything."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty() and not isinstance(stream, Terminal):
            setattr(sys, name, Terminal(stream))


def wants_json() -> bool:
    """Whether the command was given ``--json``."""
    return bool(click.get_current_context().meta.get("json"))


def show(data: Any, *parts: str, hints: Iterable[str] = (), notes: Iterable[str] = ()) -> None:
    """Print a result: its records as one JSON document, or texts for people ("" is left out).

    Args:
        hints, notes: lines for people on stderr, and sentences that the records have too.
    """
    if wants_json():
        click.echo(json.dumps(to_jsonable_python(data), ensure_ascii=False, indent=2))
        return
    for part in filter(None, parts):
        click.echo(part)
    say(hints, "")
    say(notes)


def show_rows(
    data: Sequence[Any], heads: Sequence[str], rows: Iterable[Sequence[object]], none: str = ""
) -> None:
    """:func:`show` records as a table; ``none`` is the hint where there are none."""
    show(data, table(heads, rows), hints=[] if data or not none else [none])


def say(notes: Iterable[str], kind: str = "Note") -> None:
    """Print sentences on stderr, after their kind ("" for none)."""
    for note in notes:
        click.echo(f"{kind}: {note}" if kind else note, err=True)


class Figure(str):
    """A formatted number: aligned to the right, on one line."""


def cell(value: object) -> str:
    """A value in a table: fractions have three places, None is a dash."""
    if isinstance(value, str):
        return value if isinstance(value, Figure) else " ".join(value.split())
    if isinstance(value, tuple):
        return Figure(" to ".join(map(cell, value)))
    if value is None or isinstance(value, bool):
        return Figure("–" if value is None else "yes" if value else "no")
    return Figure(f"{value:.3f}" if isinstance(value, float) else f"{value:,}")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows of :func:`cell` values under their heads, as lines without colours; "" without rows.

    Texts wrap on a terminal, figures do not; nothing is cut.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [list(map(cell, row)) for row in rows]
    if not cells:
        return ""
    made = Table(box=None, pad_edge=False, show_header=any(heads))
    for head, column in zip(heads, zip(*cells, strict=True), strict=True):
        figures = all(isinstance(one, Figure) for one in column)
        align: Any = "right" if figures else "left"
        made.add_column(Text(head), justify=align, no_wrap=figures, overflow="fold")
    for row in cells:
        made.add_row(*map(Text, row))
    out = io.StringIO()
    console = Console(file=out, width=_PIPE_COLUMNS, color_system=None)
    if sys.stdout.isatty():
        least = console.measure(made).minimum
        console.width = max(least, shutil.get_terminal_size().columns)
    console.print(made)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def bar_of(unit: str, doing: str | None = None, total: int | None = None) -> tqdm[Any]:
    """A bar on stderr that counts ``unit``s, quiet when stderr is not a terminal."""
    whole = getattr(sys.stderr, "stream", sys.stderr)  # a bar moves the cursor
    return tqdm(total=total, unit=f" {unit}", file=whole, disable=None, desc=doing)


@contextmanager
def advancing(unit: str, doing: str, made: str = "") -> Iterator[Callable[[Any], None]]:
    """A bar that takes progress records: with ``done``, ``total``, and counts that they may have.

    Args:
        unit, made: what is counted, and what comes of it, in the plural.
        doing: what is done, unless the record has a ``phase`` or ``step``.
    """
    with bar_of(unit, doing) as bar:

        def tell(progress: Any) -> None:
            usage = getattr(progress, "usage", progress)
            counts = [f"{progress.made:,} {made}"] if made else []
            if hasattr(usage, "calls"):
                counts += [f"{usage.calls:,} calls", f"{usage.failed:,} failed"]
            if (loss := getattr(progress, "loss", None)) is not None:
                counts.append(f"loss {loss:.3f}")
            if getattr(progress, "disk", 0) and sys.stderr.isatty():
                words = f"Indexing takes about {size(progress.disk)} of disk at most."
                tqdm.write(words, file=sys.stderr)
            step = getattr(progress, "step", getattr(progress, "phase", ""))
            bar.total = progress.total or None
            bar.set_description(step or doing, refresh=False)
            bar.set_postfix_str(", ".join(counts), refresh=False)
            bar.update(progress.done - bar.n)
            bar.refresh()

        yield tell


@contextmanager
def training(unit: str) -> Iterator[Callable[[int, int, float | None], None]]:
    """A bar about a training: steps done, of how many, and the loss."""
    with advancing(unit, "training") as tell:
        yield lambda done, total, loss: tell(SimpleNamespace(done=done, total=total, loss=loss))


@contextmanager
def stop_requested() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM asked to stop after the work at hand; the second ends at once."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
