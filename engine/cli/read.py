"""``seedlens read``: does a model answer rightly from the documents that it is given?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.common import (
    corpus_of,
    corpus_option,
    json_option,
    open_explorer,
    system_names,
    whole_numbers,
)
from engine.cli.model import asking, budget_option, cost, exit_code, say_what_it_took
from engine.cli.terminal import bar_of, print_json, say_notes
from engine.types.reranking import CostEstimate

if TYPE_CHECKING:
    from engine.types.reading import ReadingTest


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--k",
    "sizes",
    default="1,10,30",
    show_default=True,
    help="Documents given to the model, separated by commas.",
)
@click.option(
    "--systems",
    default="",
    help="Systems whose best documents are read too, separated by commas. Default: none.",
)
@corpus_option
@click.option(
    "--with-scenarios",
    is_flag=True,
    help="Everything once more, with the documents' scenarios as further context.",
)
@click.option("--grade", is_flag=True, help="The model also grades the answers, 0 to 100.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask only N queries, the same ones every time. Default: all.",
)
@click.option("--estimate", is_flag=True, help="Say what it would cost at most, and ask nothing.")
@budget_option
@json_option
def read(
    path: Path,
    sizes: str,
    systems: str,
    corpus: str | None,
    with_scenarios: bool,
    grade: bool,
    sample: int | None,
    estimate: bool,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    """Let a language model answer the questions of the test collection at PATH.

    It is given the document that holds the answer among k - 1 documents that look like it, or
    the k best documents of a system. Answers are compared with the collection's by ROUGE-1
    recall. They are kept: the same test again asks nothing.
    """
    from engine.ask.passages import stored_scenarios
    from engine.ask.reader_test import estimate_reading, read_now
    from engine.ask.reading_plans import ReadingPlan, prepare
    from engine.collections.readers import read_collection

    collection = read_collection(path)
    names = tuple(system_names(systems)) if systems.strip() else ()
    numbers = whole_numbers(sizes, "numbers of documents", "--k 1,10,30")
    plan = ReadingPlan(numbers, names, with_scenarios, grade, sample)
    explorer = open_explorer()
    connection = explorer.verifier.connection(most_calls=budget_calls)
    searcher = explorer.searcher(corpus_of(explorer, collection, corpus))
    stored = stored_scenarios(searcher.corpus) if with_scenarios else None
    with bar_of("queries") as bar:
        prepared = prepare(searcher, collection, plan, stored, bar.update)
    most = estimate_reading(prepared, explorer.verifier.model(connection))
    if estimate:
        if as_json:
            print_json(asdict(most))
        else:
            click.echo(estimate_line(most))
        return
    click.echo(f"At most: {estimate_line(most)}", err=True)
    with asking() as told:
        test = read_now(prepared, explorer.verifier.model(connection, told))
    say_what_it_took("read", test.report)
    if as_json:
        print_json(reading_report(test))
    else:
        print_reading(test)
    sys.exit(exit_code(test.report))


def estimate_line(estimate: CostEstimate) -> str:
    """``270 questions, 410,000 + 27,000 tokens``."""
    return (
        f"{estimate.calls:,} questions, {estimate.input_tokens or 0:,} + "
        f"{estimate.output_tokens or 0:,} tokens{cost(estimate.cost)}"
    )


def reading_report(test: ReadingTest) -> dict[str, Any]:
    """``seedlens read --json``."""
    data = asdict(test)
    for row, one in zip(data["rows"], test.rows, strict=True):
        row["name"], row["unanswered"] = one.name, one.unanswered
    return data


def print_reading(test: ReadingTest) -> None:
    """A row per condition."""
    click.echo(
        f"{test.collection}: {test.queries} questions on corpus '{test.corpus}', answered by "
        f"{test.report.model}"
    )
    if test.negatives:
        click.echo(f"Hard negatives: {test.negatives}")
    graded = any(row.graded for row in test.rows)
    width = max(len(row.name) for row in test.rows)
    heads = ("answered", "declined", "gold given", "words", "ROUGE-1 R", "95 %")
    head = "".join(f"{name:>12}" for name in heads[:5]) + f"{heads[5]:>16}"
    click.echo(f"\n{'':{width}}{head}" + (f"{'grade':>8}" if graded else ""))
    for row in test.rows:
        bounds = row.rouge_interval
        between = "" if bounds is None else f"{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}"
        share = f"{row.answered}/{row.queries}"
        words = "–" if row.words is None else f"{row.words:.1f}"
        rouge = "–" if row.rouge is None else f"{100 * row.rouge:.2f}"
        values = (share, str(row.declined), f"{row.found:.0%}", words, rouge)
        line = "".join(f"{value:>12}" for value in values) + f"{between:>16}"
        if graded:
            line += f"{'–' if row.grade is None else f'{row.grade:.1f}':>8}"
        click.echo(f"{row.name:{width}}{line}")
    say_notes(test.notes)
