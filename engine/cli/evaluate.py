"""``seedlens evaluate``, ``sensitivity``, ``gap`` and ``read``: measures on test collections."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from engine.cli.common import (
    INTERRUPTED,
    at_most,
    check_depth,
    check_weight,
    corpus_of,
    exit_code,
    open_explorer,
    parts_of,
    say_what_it_took,
    system_names,
    whole_numbers,
)
from engine.cli.options import command
from engine.cli.terminal import Figure, advancing, bar_of, cell, say, show, stop_requested, table
from engine.errors import BadInputError, SeedLensError
from engine.lenses.definitions import SETS
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
from engine.types.models import TaskReport
from engine.types.reading import ReadingTest
from engine.types.reranking import Gap, GapRequest

VARIANT_MEASURES = (NDCG, CSFCUBE_NDCG, "p-MRR", "SICR", "WISE", "rbo", "tau", "overlap@20")


# -- systems -------------------------------------------------------------------------------------


@command()
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
) -> None:
    """Measure systems side by side on the test collection at PATH.

    PATH is a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics.jsonl and
    TREC qrels. Rankings are kept: the same command resumes an evaluation that was interrupted.

    Options:
        systems: Systems between commas; with a language model also rewrite and multi-hop. With
            --run, "" measures the run alone.
        human: Also measure the annotators' own grades against the adjudicated ones.
        own_runs --run FILE: A TREC run; it and the systems are measured on its judged queries.
            Repeatable: on the queries of all.
        run_out DIR: Write one TREC run per system into DIR.
    """
    from engine.collections.readers import read_collection
    from engine.collections.trec import write_run
    from engine.evaluate.evaluation_run import check_annotators, needs_model
    from engine.search.model.reranking import Plan

    collection = read_collection(path)
    names = system_names(systems, by_model=True) if systems.strip() or not own_runs else []
    check_depth(rerank, depth)
    check_weight(steer)
    if human:
        check_annotators(collection)
    given: dict[str, Any] = {"steer": steer, "rerank": rerank, "depth": depth}
    given = {name: value for name, value in given.items() if value is not None}
    request = EvaluationRequest("", tuple(names), sample=sample, human=human, **given)
    if rerank is not None:
        Plan(rerank, request.depth)  # refuses a mode that does not exist
    explorer = open_explorer()
    if needs_model(request):
        explorer.verifier.connection()  # or says how to connect one, before anything is done
    if run_out is not None:
        run_out.mkdir(parents=True, exist_ok=True)
    say(collection.warnings, "Warning")
    runs = [(file.name, file.read_bytes()) for file in own_runs]
    key = explorer.collections.key_of(path, corpus_of(explorer, collection, corpus))
    own = [explorer.collections.add_run(key, name, content).name for name, content in runs]
    request = replace(request, collection=key, runs=tuple(dict.fromkeys(own)))
    with advancing("done", "evaluating") as tell:
        report = explorer.evaluations.run(request, most_calls=budget_calls, tell=tell)
    evaluation = _result(report, request)
    if missing := evaluation.missing_documents:
        which = counted(missing, "judged document; it counts", "judged documents; they count")
        say([f"the corpus lacks {which} as never found."], "Warning")
    for system, usage in evaluation.model_reports.items():
        say_what_it_took(system, usage)
    if run_out is not None:
        for system, rankings in evaluation.rankings.items():
            scores = evaluation.systems.get(system)
            if scores is None or scores.kind != "run":  # uploaded ones are files already
                write_run(rankings, run_out / f"{system}.run", system)
    lines = _evaluation_lines(evaluation)
    show(evaluation_report(evaluation), *lines, notes=evaluation.notes)
    sys.exit(exit_code(*evaluation.model_reports.values()))


def _result(report: TaskReport[Evaluated], request: EvaluationRequest) -> Evaluation:
    """The evaluation in the order of the request, with what this run asked of a model."""
    from engine.evaluate.evaluation_run import run_names

    evaluation, stopped = report.result.evaluation, report.stopped
    if evaluation is None:
        say(["Cancelled: finished rankings are kept. Run the same command again to go on."], "")
        sys.exit(INTERRUPTED)
    if stopped == "endpoint" and not any(r.stopped for r in evaluation.model_reports.values()):
        raise SeedLensError(report.problem)
    systems = {}
    for name in dict.fromkeys((*run_names(request), *evaluation.systems)):
        scores = evaluation.systems.get(name)
        if scores is None:
            continue
        if (llm := scores.llm) is not None and name in report.result.known:  # nothing was asked
            names = ("calls", "repeats", "input_tokens", "output_tokens", "guessed")
            kept = {"cost": llm.cost and 0.0, "cached": llm.questions - llm.failed}
            nothing: dict[str, Any] = {**dict.fromkeys(names, 0), **kept}
            scores = replace(scores, llm=replace(llm, **nothing))
        systems[name] = scores
    return replace(evaluation, systems=systems)


def _evaluation_lines(evaluation: Evaluation) -> Iterator[str]:
    """A row per system and annotator, the interval beside the main measure."""
    sample = "" if evaluation.sample is None else f", a sample of {evaluation.sample.seeds} seeds"
    queries = f"{counted(evaluation.queries, 'query', 'queries')}{sample}"
    yield f"{evaluation.collection}: {queries} on corpus '{evaluation.corpus}'\n"
    measures = next((scores.metrics for scores in evaluation.systems.values()), {})
    rows: list[tuple[object, ...]] = []
    for name, scores in evaluation.systems.items():
        seconds = Figure(f"{scores.seconds:.1f}")
        rows.append((name, *scores.metrics.values(), scores.confidence.get(NDCG), seconds))
    for scores in evaluation.systems.values():
        for who, metrics in scores.annotators.items():
            rows.append((who, *metrics.values(), Figure(""), Figure("")))
    yield table(("", *measures, f"{NDCG} 95 % CI", "seconds"), rows)


# -- wordings ------------------------------------------------------------------------------------


@command()
def sensitivity(
    path: Path,
    *,
    corpus: str | None = None,
    systems: str = "dense,instructed,aspect",
    variants: str = ",".join(SETS),
    steer: float | None = None,
    sample: PositiveInt | None = None,
    wordings: tuple[str, ...] = (),
    aspect: str = "",
) -> None:
    """Measure how far systems follow the wording, on the test collection at PATH.

    Every (seed, aspect) query is asked in several wordings, read from their words alone: a short
    one with the aspect's name (base), one without (generic), the definition, paraphrases, and
    base with the seed cut to the aspect's sentences (subset). SICR and WISE (InfoSearch, ICLR
    2025): how far relevant documents rise with a wording, and fall with one that rules the aspect
    out (reverse). Robustness@10: the lowest nDCG@10 of any wording for the aspect, averaged over
    queries.

    Options:
        systems: Systems to compare, between commas.
        variants: Wordings, of base, generic, definition, paraphrases, subset, reverse.
        wordings --wording TEXT: A wording of your own for --aspect, on whose queries all is then
            measured. Repeatable.
        aspect KEY: What --wording asks for.
    """
    from engine.collections.readers import read_collection
    from engine.compare.sensitivity_table import sensitivity as run
    from engine.jobs.runner import CancelledWorkError
    from engine.lenses.definitions import check_sets
    from engine.search.reports import sensitivity_report

    collection = read_collection(path)
    names = system_names(systems)
    sets = check_sets(parts_of(variants))
    check_weight(steer)
    if bool(wordings) != bool(aspect):
        raise BadInputError("--wording and --aspect go together.", "Give both, or neither.")
    explorer = open_explorer()
    searcher = explorer.searcher(corpus_of(explorer, collection, corpus))
    options: dict[str, Any] = {"steer": steer, "sample": sample, "aspect": aspect}
    options["own"] = {f"own-{number}": text for number, text in enumerate(wordings, start=1)}
    with stop_requested() as stopped, advancing("rankings", "comparing") as tell:
        try:
            found = run(searcher, collection, names, sets, tell=tell, cancelled=stopped, **options)
        except CancelledWorkError:
            say(["Cancelled before any query was ranked."], "")
            sys.exit(INTERRUPTED)
    if found.stopped:
        say([f"cancelled after {found.queries:,} of {counted(found.asked, 'query', 'queries')}."])
    if found.single_aspect:
        undefined = "no seed is judged for two aspects, so p-MRR is undefined"
        say([f"{undefined}; RBO, tau and the overlap show how wordings change the rankings."])
    show(sensitivity_report(found), *_sensitivity_lines(found))
    sys.exit(INTERRUPTED if found.stopped else 0)


def _sensitivity_lines(found: Sensitivity) -> Iterator[str]:
    """A table per system, with a row per wording."""
    queries = counted(found.queries, "query", "queries")
    yield f"{queries} of {found.collection} on corpus {found.corpus}"
    for system in found.systems:
        rows = [
            (row.variant, *(row.metrics[name] for name in VARIANT_MEASURES)) for row in system.rows
        ]
        yield f"\n{table((system.system, *VARIANT_MEASURES), rows)}"
        yield f"Robustness@10 over wordings: {cell(system.robustness)}"


# -- the retrieval-verification gap --------------------------------------------------------------


@command()
def gap(
    path: Path,
    *,
    corpus: str | None = None,
    verifier: str = GapRequest("").verifier,
    pool_sizes: str = "20,50,100,200",
    systems: str = "bm25,dense,aspect",
    sample: NonNegativeInt = 5,
    budget_calls: NonNegativeInt | None = None,
) -> None:
    """Estimate the retrieval-verification gap on the test collection at PATH.

    A language model ranks the candidates of the retrievers (lower bound), and the same with the
    missing relevant documents added (upper bound). The distance to the best retriever is what
    retrieval misses although it can be recognised.

    Options:
        verifier: How the model ranks a pool.
        pool_sizes: Candidates per query, between commas.
        systems: Retrievers, between commas; candidates are drawn from all in turn.
        sample N: Ask only the queries of N seeds, always the same; 0 for all.
    """
    from engine.collections.readers import read_collection
    from engine.evaluate.verification_gap import check_gap

    collection = read_collection(path)
    sizes = whole_numbers(pool_sizes, "pool sizes", "--pool-sizes 20,50,100,200")
    request = GapRequest("", verifier, tuple(system_names(systems)), sizes, sample or None)
    check_gap(request)
    explorer = open_explorer()
    explorer.verifier.connection()  # or says how to connect one, before anything is done
    key = explorer.collections.key_of(path, corpus_of(explorer, collection, corpus))
    request = replace(request, collection=key)
    with advancing("done", "measuring") as tell:
        measured = explorer.gaps.run(request, most_calls=budget_calls, tell=tell).result
    if measured is None:
        say(["Cancelled before the model was asked anything."], "")
        sys.exit(INTERRUPTED)
    say_what_it_took(verifier, measured.report)
    show(gap_report(measured), *_gap_lines(measured), notes=measured.notes)
    sys.exit(exit_code(measured.report))


def _gap_lines(gap: Gap) -> Iterator[str]:
    """A row per size with both bounds, and the retrievers; intervals of 95 % in brackets."""
    queries = counted(gap.queries, "query", "queries")
    yield (
        f"{gap.collection}: {queries} on corpus '{gap.corpus}', {gap.measure}, "
        f"verified by {gap.verifier} ({gap.report.model})\n"
    )
    rows = []
    for point in gap.points:
        lower, upper = gap.gap(point)
        bounds = (
            _figure(point.lower, point.lower_interval),
            _figure(point.upper, point.upper_interval),
            _figure(lower, point.gap_lower_interval, "+.3f"),
            _figure(upper, point.gap_upper_interval, "+.3f"),
        )
        rows.append((point.size, point.found, *bounds))
    yield table(("pool", "found", "lower", "upper", "gap, lower", "gap, upper"), rows)
    best = [(name, v, "best retriever" if name == gap.best else "") for name, v in gap.best_first]
    yield f"\n{table(('', '', ''), best)}"


def _figure(value: float | None, interval: Interval = None, form: str = ".3f") -> Figure | None:
    """``0.610 (0.552 to 0.661)``: a value and its interval, if it has one."""
    if value is None:
        return None
    bounds = "" if interval is None else f" ({interval[0]:{form}} to {interval[1]:{form}})"
    return Figure(f"{value:{form}}{bounds}")


# -- answers from documents ----------------------------------------------------------------------


@command()
def read(
    path: Path,
    *,
    sizes: str = "1,10,30",
    systems: str = "",
    corpus: str | None = None,
    with_scenarios: bool = False,
    grade: bool = False,
    sample: PositiveInt | None = None,
    only_estimate: bool = False,
    budget_calls: NonNegativeInt | None = None,
) -> None:
    """Let a language model answer the questions of the test collection at PATH.

    It reads the document with the answer among k - 1 documents that look like it, or the k best
    documents of a system. ROUGE-1 recall compares its answers with the collection's. Answers are
    kept: the same test again asks nothing.

    Options:
        sizes --k: Documents given to the model, between commas.
        systems: Also read the best documents of these systems, between commas. Default: none.
        with_scenarios: Repeat everything with the documents' scenarios as further context.
        grade: The model also grades the answers, 0 to 100.
        sample N: Ask only N queries, always the same. Default: all.
    """
    from engine.ask.reader_test import ReadingPlan, prepare
    from engine.collections.readers import read_collection
    from engine.llm.tasks import TaskRunner

    collection = read_collection(path)
    names = tuple(system_names(systems)) if systems.strip() else ()
    numbers = whole_numbers(sizes, "numbers of documents", "--k 1,10,30")
    plan = ReadingPlan(numbers, names, with_scenarios, grade, sample)
    explorer = open_explorer()
    explorer.verifier.connection()  # or says how to connect one, before anything is done
    searcher = explorer.searcher(corpus_of(explorer, collection, corpus))
    with bar_of("queries") as bar:
        prepared = prepare(searcher, collection, plan, bar.update)
    tester: TaskRunner[Any, ReadingTest] = TaskRunner(explorer.settings, explorer.ledger.answers)
    most = tester.estimate(prepared)
    if only_estimate:
        report = {"mode": "read", "depth": max(numbers), **asdict(most)}
        show(report, at_most(most))
        return
    say([at_most(most)], "")
    with advancing("done", "reading") as tell:
        test = tester.run(prepared, most_calls=budget_calls, tell=tell).result
    say_what_it_took("read", test.report)
    report = asdict(test)
    for row, one in zip(report["rows"], test.rows, strict=True):
        row["name"], row["unanswered"] = one.name, one.unanswered
    show(report, *_reading_lines(test), notes=test.notes)
    sys.exit(exit_code(test.report))


def _reading_lines(test: ReadingTest) -> Iterator[str]:
    """A row per condition."""
    questions = f"{test.queries} questions on corpus '{test.corpus}'"
    yield f"{test.collection}: {questions}, answered by {test.report.model}"
    yield f"Hard negatives: {test.negatives}\n" if test.negatives else ""
    rows = []
    for row in test.rows:
        rouge = None if row.rouge is None else 100 * row.rouge
        bounds = row.rouge_interval
        cells = (
            Figure(f"{row.answered}/{row.queries}"),
            row.declined,
            Figure(f"{row.found:.0%}"),
            _figure(row.words, form=".1f"),
            _figure(rouge, form=".2f"),
            None if bounds is None else tuple(Figure(f"{100 * bound:.1f}") for bound in bounds),
            _figure(row.grade, form=".1f"),
        )
        rows.append((row.name, *cells))
    heads = ("", "answered", "declined", "gold given", "words", "ROUGE-1 R", "95 %", "grade")
    shown = len(heads) if any(row.graded for row in test.rows) else len(heads) - 1
    yield table(heads[:shown], [row[:shown] for row in rows])
