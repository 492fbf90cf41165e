"""What the command line prints, and how it listens while it works."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TextIO, TypeVar

import click
from tqdm import tqdm

from engine.types.comparisons import Sensitivity
from engine.types.corpora import ImportReport, Progress
from engine.types.evaluations import CSFCUBE_NDCG, NDCG, Evaluation, Measures
from engine.types.plurals import counted, size
from engine.types.searches import SearchResults


class Advance(Protocol):
    """How far work is; ``total`` is 0 while nobody knows it."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


Told = TypeVar("Told", bound=Advance)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but line ends and tabs: they move the cursor, colour, or turn the order of what follows."""


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
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def say_notes(notes: Iterable[str], kind: str = "Note") -> None:
    """Sentences on what is odd, on stderr."""
    for note in notes:
        click.echo(f"{kind}: {note}", err=True)


def what_else(parts: Sequence[tuple[int, str]], *, goes_on: bool) -> str:
    """The end of a run's report: what is to be counted, and how to go on where it is to."""
    counted = "".join(f"; {count:,} {what}" for count, what in parts if count)
    return counted + "." + (" Run the same command again to go on." if goes_on else "")


def import_line(report: ImportReport) -> str:
    if report.cancelled:
        return (
            f"Stopped after {counted(report.read, 'document')}; '{report.corpus}' holds "
            f"{report.documents:,}. Run the same command again to go on."
        )
    read_as = f" Read as {report.encoding}." if report.encoding else ""
    return (
        f"'{report.corpus}' holds {counted(report.documents, 'document')}: {report.added:,} added, "
        f"{report.updated:,} updated, {report.unchanged:,} unchanged, in {report.seconds:.1f} s."
        f"{report.kept_line}{read_as}"
    )


def bar_of(unit: str, doing: str | None = None, total: int | None = None) -> tqdm[Any]:
    """A bar on stderr that counts ``unit``s, quiet when stderr is not a terminal."""
    whole = getattr(sys.stderr, "stream", sys.stderr)  # a bar moves the cursor
    return tqdm(total=total, unit=f" {unit}", file=whole, disable=None, desc=doing)


@contextmanager
def advancing(
    unit: str,
    doing: str,
    *,
    step: Callable[[Told], str] | None = None,
    counts: Callable[[Told], str] | None = None,
) -> Iterator[Callable[[Told], None]]:
    """A bar that is told how far it is.

    Args:
        unit: what it counts, in the plural.
        doing: what is done; ``step`` says it once that has begun.
        counts: what came of it so far, behind the bar.
    """
    with bar_of(unit, doing) as bar:

        def tell(progress: Told) -> None:
            bar.total = progress.total or None
            if step is not None:
                bar.set_description(step(progress), refresh=False)
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

    def phase(now: Progress) -> str:
        return now.phase

    with advancing("documents", "checking", step=phase) as advance:

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


def print_results(results: SearchResults) -> None:
    for use in results.terms:
        click.echo(use.sentence(results.corpus_size), err=True)
    if results.query.instruction and (results.reading or results.sentences):
        sentences = [f"sentence {index + 1}" for index in results.sentences]
        click.echo(f"Read as {', '.join([*results.reading, *sentences])}", err=True)
    for r in results.results:
        moved = "" if not r.rank_change else f"  {'+' if r.rank_change > 0 else ''}{r.rank_change}"
        year = f" ({r.document.year})" if r.document.year else ""
        title = r.document.title or r.document.text[:80]
        click.echo(f"{r.rank:>3}  {r.score:.3f}  {title}{year}  [{r.doc_id}]{moved}")
        for evidence in r.evidence[:1]:
            click.echo(f"       seed: {evidence.seed_text}")
            click.echo(f"       it:   {evidence.doc_text}")
        if not r.evidence and r.explanation:
            click.echo(f"       {r.explanation}")
        if r.scenario is not None:
            click.echo(f"       need: {r.scenario.scenario.need}")
            click.echo(f"       why:  {r.scenario.scenario.explanation}")
    if not results.results:
        click.echo("No document matches.", err=True)
    click.echo(f"{results.total:,} ranked in {results.seconds:.2f} s", err=True)


def print_evaluation(evaluation: Evaluation) -> None:
    """A row per system, the interval beside the main measure; notes go to stderr."""
    measures = list(next(iter(evaluation.systems.values())).metrics)
    heads = [*measures, f"{NDCG} 95 % CI", "seconds"]
    widths = [max(len(name), 7) + 2 for name in heads]
    rows = [*evaluation.systems, *_annotators(evaluation)]
    first = max(map(len, rows)) + 2
    sample = "" if evaluation.sample is None else f", a sample of {evaluation.sample.seeds} seeds"
    asked = f"{counted(evaluation.queries, 'query', 'queries')}{sample}"
    click.echo(f"{evaluation.collection}: {asked} on corpus '{evaluation.corpus}'\n")
    click.echo(" " * first + "".join(f"{m:>{w}}" for m, w in zip(heads, widths, strict=True)))
    for name, scores in evaluation.systems.items():
        bounds = scores.confidence.get(NDCG)
        interval = "–" if bounds is None else f"{bounds[0]:.3f}–{bounds[1]:.3f}"
        values = [*_shown(scores.metrics), interval, f"{scores.seconds:.1f}"]
        _print_row(name, values, first, widths)
    for name, metrics in _annotators(evaluation).items():
        _print_row(name, _shown(metrics), first, widths)
    say_notes(evaluation.notes)


def _annotators(evaluation: Evaluation) -> dict[str, Measures]:
    return {
        f"  {annotator}": metrics
        for scores in evaluation.systems.values()
        for annotator, metrics in scores.annotators.items()
    }


def _shown(metrics: Measures) -> list[str]:
    return ["–" if value is None else f"{value:.3f}" for value in metrics.values()]


def _print_row(name: str, values: Sequence[str], first: int, widths: Sequence[int]) -> None:
    cells = zip(values, widths, strict=False)
    click.echo(f"{name:{first}}" + "".join(f"{value:>{w}}" for value, w in cells))


def print_sensitivity(table: Sensitivity) -> None:
    """One table per system: a line per variant."""
    click.echo(
        f"{counted(table.queries, 'query', 'queries')} of {table.collection} "
        f"on corpus {table.corpus}"
    )
    columns = (NDCG, CSFCUBE_NDCG, "p-MRR", "SICR", "WISE", "rbo", "tau", "overlap@20")
    widths = [max(len(name), 6) + 2 for name in columns]
    for system in table.systems:
        click.echo()
        _print_row(system.system, columns, 16, widths)
        for row in system.rows:
            values = [_fraction(row.metrics[name]) for name in columns]
            _print_row(f"  {row.variant}", values, 16, widths)
        click.echo(f"  Robustness@10 over wordings: {_fraction(system.robustness)}")


def _fraction(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
