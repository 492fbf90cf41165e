"""``seedlens evaluate``, ``sensitivity``, ``gap`` and ``read``: measures on test collections."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import NonNegativeInt, PositiveInt

from engine.cli.common import (
    check_weight,
    corpus_of,
    open_explorer,
    parts_of,
    system_names,
    whole_numbers,
)
from engine.cli.model import (
    INTERRUPTED,
    asking,
    check_depth,
    cost,
    exit_code,
    say_what_it_took,
)
from engine.cli.options import from_signature
from engine.cli.terminal import (
    Figure,
    bar_of,
    cell,
    print_json,
    print_table,
    say_notes,
)
from engine.errors import BadInputError, SeedLensError
from engine.lenses.variants import SETS
from engine.search.reports import evaluation_report, gap_report
from engine.text import counted
from engine.types.comparisons import Sensitivity
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    Evaluated,
    Evaluation,
    EvaluationRequest,
    Interval,
)
from engine.types.models import Estimate, ModelReport, TaskReport
from engine.types.reading import ReadingTest
from engine.types.reranking import Gap, GapRequest

if TYPE_CHECKING:
    from engine.explorer import Explorer

VARIANT_MEASURES = (NDCG, CSFCUBE_NDCG, "p-MRR", "SICR", "WISE", "rbo", "tau", "overlap@20")


# -- systems -------------------------------------------------------------------------------------


@click.command()
@from_signature
def evaluate(
    path: Path,
    *,
    corpus: str | None = None,
    systems: str = "bm25,dense,late-interaction,hybrid,aspect",
    steer: float | None = None,
    sample: PositiveInt | None = None,
    human: bool = False,
    rerank: str | None = None,
    depth: PositiveInt | None = None,
    budget_calls: NonNegativeInt | None = None,
    own_runs: tuple[Path, ...] = (),
    run_out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Measure systems side by side on the test collection at PATH.

    PATH is a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics.jsonl
    and TREC qrels. Rankings are kept: the same command again goes on where it was interrupted,
    and the Evaluate page shows the result, too.

    Options:
        systems: Systems to compare, separated by commas; with a language model also rewrite and
            multi-hop.
        human: Also measure the annotators' own grades against the adjudicated ones.
        own_runs --run FILE: A TREC run of your own, measured beside the systems on the queries that
            it ranks, and kept for the collection. Repeatable.
        run_out DIR: Write one TREC run per system into DIR.
    """
    from engine.collections.readers import read_collection
    from engine.evaluate.human import check_annotators

    collection = read_collection(path)
    names = _names(systems)
    check_depth(rerank, depth)
    check_weight(steer)
    if human:
        check_annotators(collection)
    given: dict[str, Any] = {"steer": steer, "rerank": rerank, "depth": depth}
    given = {name: value for name, value in given.items() if value is not None}
    request = EvaluationRequest("", tuple(names), sample=sample, human=human, **given)
    explorer = open_explorer()
    _check_model(explorer, request)
    if run_out is not None:
        _make_folder(run_out)
    say_notes(collection.warnings, "Warning")
    runs = [(file.name, file.read_bytes()) for file in own_runs]
    key = explorer.collections.key_of(path, corpus_of(explorer, collection, corpus))
    request = replace(request, collection=key)
    for name, content in runs:
        explorer.collections.add_run(key, name, content)
    with asking("evaluating") as tell:
        report = explorer.evaluations.run(request, most_calls=budget_calls, tell=tell)
    evaluation = _result(report, request)
    _say_what_is_missing(evaluation)
    for system, asked in evaluation.model_reports.items():
        say_what_it_took(system, asked)
    if run_out is not None:
        _write_runs(evaluation, run_out)
    if as_json:
        print_json(evaluation_report(evaluation))
    else:
        _print_evaluation(evaluation)
    sys.exit(exit_code(*evaluation.model_reports.values()))


def _names(systems: str) -> list[str]:
    """All systems of the list, those that need a model among them, checked before anything."""
    from engine.assist.model_systems import MODEL_SYSTEMS, names_of

    parts = parts_of(systems)
    own, by_model = names_of(parts)
    known = system_names(",".join(own)) if own or not by_model else []
    return [name for name in parts if name in known or name in MODEL_SYSTEMS]


def _check_model(explorer: Explorer, request: EvaluationRequest) -> None:
    """Raise where a model is needed and none is connected, before anything is done."""
    from engine.assist.reranking import Plan
    from engine.evaluate.model_runs import needs_model

    if request.rerank:
        Plan(request.rerank, request.depth)  # refuses a mode that does not exist
    if needs_model(request):
        explorer.verifier.connection()


def _result(report: TaskReport[Evaluated], request: EvaluationRequest) -> Evaluation:
    """The evaluation in the order of the request, with what was asked of a model in this run and
    not in previous ones."""
    from engine.evaluate.model_runs import run_names

    evaluation, stopped = report.result.evaluation, report.stopped
    if evaluation is None:
        click.echo(
            "Cancelled: systems that were ranked are kept. Run the same command again to go on.",
            err=True,
        )
        sys.exit(INTERRUPTED)
    if stopped == "endpoint" and not any(r.stopped for r in evaluation.model_reports.values()):
        raise SeedLensError(report.problem)
    systems = {
        name: replace(scores, llm=_from_ledger(scores.llm))
        if scores.llm is not None and name in report.result.known
        else scores
        for name in dict.fromkeys((*run_names(request), *evaluation.systems))
        if (scores := evaluation.systems.get(name)) is not None
    }
    return replace(evaluation, systems=systems)


def _from_ledger(report: ModelReport) -> ModelReport:
    """What a model was asked for a run that there was before: nothing."""
    asked = ("calls", "repeats", "input_tokens", "output_tokens", "guessed")
    none: dict[str, Any] = dict.fromkeys(asked, 0)
    free = None if report.cost is None else 0.0
    return replace(report, **none, cost=free, cached=report.questions - report.failed)


def _say_what_is_missing(evaluation: Evaluation) -> None:
    missing = evaluation.missing_documents
    if missing:
        which = counted(missing, "judged document; it counts", "judged documents; they count")
        click.echo(f"Warning: the corpus lacks {which} as never found.", err=True)


def _write_runs(evaluation: Evaluation, folder: Path) -> None:
    """A file for every ranking but those of uploaded runs."""
    from engine.collections.trec import write_run

    for system, rankings in evaluation.rankings.items():
        scores = evaluation.systems.get(system)
        if scores is None or scores.kind != "run":
            write_run(rankings, folder / f"{system}.run", system)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"The folder {path} cannot be made: {error.strerror or error}.",
            "Give a folder that you can write to.",
        ) from error


def _print_evaluation(evaluation: Evaluation) -> None:
    """A row per system, the interval beside the main measure; notes go to stderr."""
    measures = next(iter(evaluation.systems.values())).metrics
    rows: list[tuple[object, ...]] = [
        (
            name,
            *scores.metrics.values(),
            scores.confidence.get(NDCG),
            Figure(f"{scores.seconds:.1f}"),
        )
        for name, scores in evaluation.systems.items()
    ]
    for scores in evaluation.systems.values():
        for who, metrics in scores.annotators.items():
            rows.append((who, *metrics.values(), Figure(""), Figure("")))
    sample = "" if evaluation.sample is None else f", a sample of {evaluation.sample.seeds} seeds"
    asked = f"{counted(evaluation.queries, 'query', 'queries')}{sample}"
    click.echo(f"{evaluation.collection}: {asked} on corpus '{evaluation.corpus}'\n")
    print_table(("", *measures, f"{NDCG} 95 % CI", "seconds"), rows)
    say_notes(evaluation.notes)


# -- wordings ------------------------------------------------------------------------------------


@click.command()
@from_signature
def sensitivity(
    path: Path,
    *,
    corpus: str | None = None,
    systems: str = "dense,instructed,aspect",
    variants: str = ",".join(SETS),
    steer: float | None = None,
    as_json: bool = False,
) -> None:
    """Measure how far systems follow the wording, on the test collection at PATH.

    Every (seed, aspect) query is asked in several wordings, which are read from their words
    alone: a short one that names the aspect (base), one that names none (generic), the
    aspect's definition, paraphrases, and base with the seed cut to the aspect's sentences.
    SICR and WISE (InfoSearch, ICLR 2025) tell how far relevant documents rise with a wording,
    against none, and fall with one that rules the aspect out (reverse). Robustness@10 is the
    lowest nDCG@10 of any wording that asks for the aspect, averaged over queries.

    Options:
        systems: Systems to compare, separated by commas.
        variants: Wordings of the instruction, separated by commas: of base, generic, definition,
            paraphrases, subset, reverse.
    """
    from engine.collections.readers import read_collection
    from engine.compare.sensitivity_table import sensitivity as run
    from engine.lenses.variants import check_sets
    from engine.search.reports import sensitivity_report

    collection = read_collection(path)
    names = system_names(systems)
    sets = check_sets(parts_of(variants))
    check_weight(steer)
    explorer = open_explorer()
    searcher = explorer.searcher(corpus_of(explorer, collection, corpus))
    total = len(names) * sum(topic.aspect is not None for topic in collection.topics)
    with bar_of("queries", total=total) as bar:
        table = run(searcher, collection, names, sets, steer=steer, on_query=bar.update)
    if table.single_aspect:
        click.echo(
            "Note: no seed is judged for two aspects, so p-MRR is undefined; RBO, tau and the "
            "overlap say how far the wording changes the rankings.",
            err=True,
        )
    if as_json:
        print_json(sensitivity_report(table))
    else:
        _print_sensitivity(table)


def _print_sensitivity(table: Sensitivity) -> None:
    """One table per system: a line per variant."""
    queries = counted(table.queries, "query", "queries")
    click.echo(f"{queries} of {table.collection} on corpus {table.corpus}")
    for system in table.systems:
        click.echo()
        rows = [
            (row.variant, *(row.metrics[name] for name in VARIANT_MEASURES)) for row in system.rows
        ]
        print_table((system.system, *VARIANT_MEASURES), rows)
        click.echo(f"Robustness@10 over wordings: {cell(system.robustness)}")


# -- the retrieval-verification gap --------------------------------------------------------------


@click.command()
@from_signature
def gap(
    path: Path,
    *,
    corpus: str | None = None,
    verifier: str = GapRequest("").verifier,
    pool_sizes: str = "20,50,100,200",
    systems: str = "bm25,dense,aspect",
    sample: PositiveInt | None = None,
    budget_calls: NonNegativeInt | None = None,
    as_json: bool = False,
) -> None:
    """Estimate the retrieval-verification gap on the test collection at PATH.

    A language model ranks the candidates that the retrievers return (lower bound), and the same
    with the missing relevant documents put in (upper bound). What lies between these and the
    best retriever is what retrieval still misses although it can be recognised.

    Options:
        verifier: How the model ranks a pool.
        pool_sizes: Candidates per query, separated by commas.
        systems: Retrievers, separated by commas; candidates are drawn from all of them in turn.
    """
    from engine.collections.readers import read_collection
    from engine.evaluate.verification_gap import check_gap

    collection = read_collection(path)
    sizes = whole_numbers(pool_sizes, "pool sizes", "--pool-sizes 20,50,100,200")
    request = GapRequest("", verifier, tuple(system_names(systems)), sizes, sample)
    check_gap(request)
    explorer = open_explorer()
    explorer.verifier.connection()  # or says how to connect one, before anything is done
    key = explorer.collections.key_of(path, corpus_of(explorer, collection, corpus))
    request = replace(request, collection=key)
    with asking("measuring") as tell:
        measured = explorer.gaps.run(request, most_calls=budget_calls, tell=tell).result
    if measured is None:
        click.echo("Cancelled before the model was asked anything.", err=True)
        sys.exit(INTERRUPTED)
    say_what_it_took(verifier, measured.report)
    if as_json:
        print_json(gap_report(measured))
    else:
        _print_gap(measured)
    sys.exit(exit_code(measured.report))


def _print_gap(gap: Gap) -> None:
    """A row per size with both bounds, and the retrievers; intervals of 95 % in brackets."""
    queries = counted(gap.queries, "query", "queries")
    click.echo(
        f"{gap.collection}: {queries} on corpus '{gap.corpus}', {gap.measure}, "
        f"verified by {gap.verifier} ({gap.report.model})\n"
    )
    rows = []
    for point in gap.points:
        lower, upper = gap.gap(point)
        rows.append(
            (
                point.size,
                point.found,
                Figure(f"{point.lower:.3f}{_bounds(point.lower_interval)}"),
                Figure(f"{point.upper:.3f}{_bounds(point.upper_interval)}"),
                Figure(f"{lower:+.3f}{_bounds(point.gap_lower_interval, '+')}"),
                Figure(f"{upper:+.3f}{_bounds(point.gap_upper_interval, '+')}"),
            )
        )
    print_table(("pool", "found", "lower", "upper", "gap, lower", "gap, upper"), rows)
    click.echo("")
    best = [
        (name, value, "best retriever" if name == gap.best else "")
        for name, value in gap.best_first
    ]
    print_table(("", "", ""), best)
    say_notes(gap.notes)


def _bounds(interval: Interval, sign: str = "") -> str:
    """`` (0.552 to 0.661)``: 95 %, or nothing."""
    if interval is None:
        return ""
    low, high = (f"{value:{sign}.3f}" for value in interval)
    return f" ({low} to {high})"


# -- answers from documents ----------------------------------------------------------------------


@click.command()
@from_signature
def read(
    path: Path,
    *,
    sizes: str = "1,10,30",
    systems: str = "",
    corpus: str | None = None,
    with_scenarios: bool = False,
    grade: bool = False,
    sample: PositiveInt | None = None,
    estimate: bool = False,
    budget_calls: NonNegativeInt | None = None,
    as_json: bool = False,
) -> None:
    """Let a language model answer the questions of the test collection at PATH.

    It is given the document that holds the answer among k - 1 documents that look like it, or
    the k best documents of a system. Answers are compared with the collection's by ROUGE-1
    recall. They are kept: the same test again asks nothing.

    Options:
        sizes --k: Documents given to the model, separated by commas.
        systems: Systems whose best documents are read too, separated by commas. Default: none.
        with_scenarios: Everything once more, with the documents' scenarios as further context.
        grade: The model also grades the answers, 0 to 100.
        sample N: Ask only N queries, the same ones every time. Default: all.
        estimate: Say what it would cost at most, and ask nothing.
    """
    from engine.ask.reader_test import ReaderTest
    from engine.ask.reading_plans import ReadingPlan, prepare
    from engine.collections.readers import read_collection

    collection = read_collection(path)
    names = tuple(system_names(systems)) if systems.strip() else ()
    numbers = whole_numbers(sizes, "numbers of documents", "--k 1,10,30")
    plan = ReadingPlan(numbers, names, with_scenarios, grade, sample)
    explorer = open_explorer()
    explorer.verifier.connection()  # or says how to connect one, before anything is done
    searcher = explorer.searcher(corpus_of(explorer, collection, corpus))
    with bar_of("queries") as bar:
        prepared = prepare(searcher, collection, plan, bar.update)
    tester = ReaderTest(explorer.settings, explorer.ledger.answers)
    most = tester.estimate(prepared)
    if estimate:
        if as_json:
            print_json({"mode": "read", "depth": max(numbers), **asdict(most)})
        else:
            click.echo(_cost_line(most))
        return
    click.echo(f"At most: {_cost_line(most)}", err=True)
    with asking("reading") as tell:
        test = tester.run(prepared, most_calls=budget_calls, tell=tell).result
    say_what_it_took("read", test.report)
    if as_json:
        print_json(_reading_report(test))
    else:
        _print_reading(test)
    sys.exit(exit_code(test.report))


def _cost_line(estimate: Estimate) -> str:
    """``270 questions, 410,000 + 27,000 tokens``."""
    return (
        f"{estimate.calls:,} questions, {estimate.input_tokens or 0:,} + "
        f"{estimate.output_tokens or 0:,} tokens{cost(estimate.cost)}"
    )


def _reading_report(test: ReadingTest) -> dict[str, Any]:
    """``seedlens read --json``."""
    data = asdict(test)
    for row, one in zip(data["rows"], test.rows, strict=True):
        row["name"], row["unanswered"] = one.name, one.unanswered
    return data


def _print_reading(test: ReadingTest) -> None:
    """A row per condition."""
    click.echo(
        f"{test.collection}: {test.queries} questions on corpus '{test.corpus}', answered by "
        f"{test.report.model}"
    )
    if test.negatives:
        click.echo(f"Hard negatives: {test.negatives}")
    graded = any(row.graded for row in test.rows)
    rows = []
    for row in test.rows:
        bounds = row.rouge_interval
        rows.append(
            (
                row.name,
                Figure(f"{row.answered}/{row.queries}"),
                row.declined,
                Figure(f"{row.found:.0%}"),
                _rounded(row.words),
                _rounded(None if row.rouge is None else 100 * row.rouge, 2),
                None if bounds is None else tuple(_rounded(100 * bound) for bound in bounds),
                *([_rounded(row.grade)] if graded else []),
            )
        )
    heads = ("", "answered", "declined", "gold given", "words", "ROUGE-1 R", "95 %", "grade")
    click.echo("")
    print_table(heads if graded else heads[:-1], rows)
    say_notes(test.notes)


def _rounded(value: float | None, places: int = 1) -> Figure | None:
    return None if value is None else Figure(f"{value:.{places}f}")
