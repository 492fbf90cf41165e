"""What the command line prints, and how it listens while it works."""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TextIO, TypeVar

import click
from pydantic_core import to_jsonable_python
from tqdm import tqdm

from engine.text import size
from engine.types.corpora import Progress


class Advance(Protocol):
    """How far work is; ``total`` is 0 while nobody knows it."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


Told = TypeVar("Told", bound=Advance)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but line ends and tabs: they move the cursor, colour, or turn the order of what follows."""
_ENDLESS, _NARROWEST = 100_000, 24
"""Columns of a pipe, and those that a text keeps on a narrow terminal."""


class Terminal:
    """A terminal that gets nothing but text: what documents and names hold are no commands to it.

    Attributes:
        stream: takes everything as it is.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(_CONTROLS.sub("\u25ca", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def write_text_alone() -> None:
    """From now on terminals get text alone; files and pipes get everything as it is."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and stream.isatty() and not isinstance(stream, Terminal):
            setattr(sys, name, Terminal(stream))


def print_json(data: Any) -> None:
    """Print records, and what lists and dictionaries of them hold, as one JSON document."""
    click.echo(json.dumps(to_jsonable_python(data), ensure_ascii=False, indent=2))


class Figure(str):
    """A number as it is to be printed: to the right of its column, on one line."""


def cell(value: object) -> str:
    """A value of a record in a table: fractions have three places, None is a dash."""
    if isinstance(value, str):
        return value if isinstance(value, Figure) else " ".join(value.split())
    if isinstance(value, tuple):
        return Figure(" to ".join(map(cell, value)))
    if value is None or isinstance(value, bool):
        return Figure("–" if value is None else "yes" if value else "no")
    return Figure(f"{value:.3f}" if isinstance(value, float) else f"{value:,}")


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows of :func:`cell` values under their heads; no colours, nothing is cut.

    On a terminal texts wrap, and where figures alone are wider than it, their columns come in
    blocks one below the other, each with the first column. Elsewhere a row is a line.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [list(map(cell, row)) for row in rows]
    if not cells:
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _ENDLESS
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    for block in _blocks(heads, cells, width):
        table = Table(box=None, pad_edge=False, show_header=any(heads))
        for at in block:
            figures = all(isinstance(row[at], Figure) for row in cells)
            side: Literal["right", "left"] = "right" if figures else "left"
            table.add_column(Text(heads[at]), justify=side, no_wrap=figures, overflow="fold")
        for row in cells:
            table.add_row(*(Text(row[at]) for at in block))
        console.print(table)
    for line in out.getvalue().split("\n")[:-1]:
        click.echo(line.rstrip())


def _blocks(heads: Sequence[str], cells: Sequence[list[str]], width: int) -> list[list[int]]:
    """The columns that are printed together: all, if texts can wrap to make room for figures."""
    blocks, room = [[0]], 0
    for at, column in enumerate(zip(*cells, strict=True)):
        longest = max(map(len, (heads[at], *column))) + 2
        if not all(isinstance(one, Figure) for one in column):
            longest = min(longest, _NARROWEST)
        if at == 0:
            first = room = longest
        elif room + longest > width and blocks[-1] != [0]:
            blocks.append([0, at])
            room = first + longest
        else:
            blocks[-1].append(at)
            room += longest
    return blocks


def say_notes(notes: Iterable[str], kind: str = "Note") -> None:
    """Sentences on what is odd, on stderr."""
    for note in notes:
        click.echo(f"{kind}: {note}", err=True)


def what_else(parts: Sequence[tuple[int, str]], *, goes_on: bool) -> str:
    """The end of a run's report: what is to be counted, and how to go on where it is to."""
    counted = "".join(f"; {count:,} {what}" for count, what in parts if count)
    return counted + "." + (" Run the same command again to go on." if goes_on else "")


def bar_of(unit: str, doing: str | None = None, total: int | None = None) -> tqdm[Any]:
    """A bar on stderr that counts ``unit``s, quiet when stderr is not a terminal."""
    whole = getattr(sys.stderr, "stream", sys.stderr)  # a bar moves the cursor
    return tqdm(total=total, unit=f" {unit}", file=whole, disable=None, desc=doing)


@contextmanager
def advancing(
    unit: str,
    doing: str,
    *,
    counts: Callable[[Told], str] | None = None,
) -> Iterator[Callable[[Told], None]]:
    """A bar that is given how far the work is.

    Args:
        unit: what it counts, in the plural.
        doing: what is done, until the progress names its ``step`` or ``phase``.
        counts: what came of it so far, behind the bar.
    """
    with bar_of(unit, doing) as bar:

        def tell(progress: Told) -> None:
            bar.total = progress.total or None
            step = getattr(progress, "step", getattr(progress, "phase", ""))
            bar.set_description(step or doing, refresh=False)
            if counts is not None:
                bar.set_postfix_str(counts(progress), refresh=False)
            bar.update(progress.done - bar.n)
            bar.refresh()

        yield tell


@contextmanager
def training(unit: str) -> Iterator[Callable[[int, int, float | None], None]]:
    """How far a training is, in ``unit``s, and its loss where there is one."""
    with bar_of(unit, "training") as bar:

        def tell(done: int, total: int, loss: float | None) -> None:
            bar.total = total
            if loss is not None:
                bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
            bar.update(done - bar.n)

        yield tell


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """How far reading and indexing documents are."""
    with advancing("documents", "checking") as advance:  # type: ignore[var-annotated]

        def tell(now: Progress) -> None:
            advance(now)
            if now.disk and sys.stderr.isatty():
                words = f"Indexing takes about {size(now.disk)} of disk at most."
                tqdm.write(words, file=sys.stderr)

        yield tell


@contextmanager
def stop_requested() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM finish the shard at hand instead of tearing it."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the second Ctrl-C is final

    before = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
