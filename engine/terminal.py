"""What the command line prints, and how it listens while it works."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from engine.types import ImportReport, Progress, SearchResults

if TYPE_CHECKING:
    from engine.evaluate import Evaluation


def print_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def import_line(report: ImportReport) -> str:
    if report.cancelled:
        return (
            f"Stopped after {report.read:,} documents; {report.documents:,} are stored in "
            f"'{report.corpus}'. Run the same command again to go on."
        )
    return (
        f"'{report.corpus}' holds {report.documents:,} documents: {report.added:,} added, "
        f"{report.updated:,} updated, {report.unchanged:,} unchanged, in {report.seconds:.1f} s."
    )


@contextmanager
def progress():  # type: ignore[no-untyped-def]
    """A bar on stderr, quiet when stderr is not a terminal."""
    bar = tqdm(unit=" documents", file=sys.stderr, disable=None, desc="checking")

    def tell(progress: Progress) -> None:
        bar.total = progress.total or None
        bar.set_description(progress.phase, refresh=False)
        bar.update(progress.done - bar.n)
        bar.refresh()

    try:
        yield tell
    finally:
        bar.close()


@contextmanager
def stop_requested():  # type: ignore[no-untyped-def]
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


def print_results(found: SearchResults) -> None:
    for r in found.results:
        moved = "" if not r.rank_change else f"  {'+' if r.rank_change > 0 else ''}{r.rank_change}"
        year = f" ({r.document.year})" if r.document.year else ""
        title = r.document.title or r.document.text[:80]
        click.echo(f"{r.rank:>3}  {r.score:.3f}  {title}{year}  [{r.doc_id}]{moved}")
        for evidence in r.evidence[:1]:
            click.echo(f"       seed: {evidence.seed_text}")
            click.echo(f"       it:   {evidence.doc_text}")
    if not found.results:
        click.echo("No document matches.", err=True)
    click.echo(f"{found.total:,} ranked in {found.seconds:.2f} s", err=True)


def print_evaluation(found: Evaluation) -> None:
    measures = [*next(iter(found.systems.values())).metrics, "seconds"]
    widths = [max(len(name), 7) + 2 for name in measures]
    first = max(map(len, found.systems)) + 2
    click.echo(f"{found.collection}: {found.queries} queries on corpus '{found.corpus}'\n")
    click.echo(" " * first + "".join(f"{m:>{w}}" for m, w in zip(measures, widths, strict=True)))
    for name, scores in found.systems.items():
        values = ["–" if v is None else f"{v:.3f}" for v in scores.metrics.values()]
        cells = zip([*values, f"{scores.seconds:.1f}"], widths, strict=True)
        click.echo(f"{name:{first}}" + "".join(f"{value:>{w}}" for value, w in cells))
