"""``seedlens search``, ``trail``, ``reading-list``, ``export`` and ``map``: exploring."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
from pydantic import Field, NonNegativeInt, PositiveInt

from engine.cli.common import (
    INTERRUPTED,
    at_most,
    check_depth,
    exit_code,
    ids_in,
    open_explorer,
    parsed_filters,
    say_what_it_took,
    selection_of,
    taken,
)
from engine.cli.options import command
from engine.cli.terminal import advancing, say, show, show_rows, stop_requested
from engine.errors import BadInputError, UnknownNameError
from engine.text import spreadsheet_cell
from engine.types.models import summed
from engine.types.reranking import DEFAULT_DEPTH, Move, RerankRequest
from engine.types.searches import DOCUMENT_FORMATS, EXPORT_FORMATS, Query, SearchResults

if TYPE_CHECKING:
    from engine.assist.assistant import Assistant
    from engine.explorer import Explorer
    from engine.maps.facade import Maps
    from engine.types.maps import CorpusMap

MODEL_SYSTEM_NAMES = ("rewrite", "multi-hop")
"""Of engine.search.model.systems, which is loaded late."""
MAP_COLUMNS = ("layout", "doc_id", "x", "y", "coarse", "fine")


# -- search --------------------------------------------------------------------------------------


@command()
def search(
    name: str,
    *,
    seed: str | None = None,
    text: str | None = None,
    aspect: str | None = None,
    instruction: str | None = None,
    reading: str = "",
    sentences: Annotated[tuple[int, ...], Field(ge=1)] = (),
    like: tuple[str, ...] = (),
    unlike: tuple[str, ...] = (),
    system: str = Query("").system,
    steer: float = Query("").steer,
    k: int = Query("").k,
    filters: tuple[str, ...] = (),
    within: Path | None = None,
    symmetric: bool = False,
    model_reading: bool = False,
    rerank: str | None = None,
    depth: PositiveInt | None = None,
    budget_calls: NonNegativeInt | None = None,
) -> None:
    """Rank the documents of corpus NAME by similarity to a seed, in one aspect.

    Every result has the passages that explain its rank.

    Options:
        seed DOC_ID: A document of the corpus to start from.
        text: A text to start from instead.
        aspect: What should be similar: an aspect of the corpus's lens, such as method.
        instruction: The aspect in your own words.
        reading ASPECTS,TERMS: Correct how the wording is read: +method,-background,+term:tree
            kernels; any for no aspect.
        sentences --sentence: Search with this sentence of the seed, counted from 1. Repeatable.
        like DOC_ID: Learn from this document as from a further seed. Repeatable.
        unlike DOC_ID: Rank documents like this one lower. Repeatable.
        system: {systems}; with a language model rewrite or multi-hop.
        k: How many results.
        symmetric: late-interaction: score both directions.
        model_reading: Let a language model read the wording of --instruction: one question.
    """
    from engine.queries import parse_reading
    from engine.search.reports import search_report

    check_depth(rerank, depth)
    query = Query(
        *(name, seed, text, aspect, instruction),
        focus=tuple(sorted({number - 1 for number in sentences})),
        reading=parse_reading(reading),
        system=system,
        steer=steer,
        k=k,
        symmetric=symmetric,
        filters=parsed_filters(filters),
        like=like,
        unlike=unlike,
    )
    explorer = open_explorer()
    query = replace(query, filters=(*query.filters, *selection_of(explorer, name, within)))
    if model_reading:
        query, budget_calls = _read_by_model(explorer.verifier, query, budget_calls)
    if rerank is not None or query.system in MODEL_SYSTEM_NAMES:
        _search_with_model(explorer.verifier, query, rerank, depth, budget_calls)
        return
    results = explorer.search(query)
    say(results.notes)
    effects = [] if results.total else explorer.searcher(name).filter_effects(query)
    hints = [*_reading_lines(results), *(f"{effect}." for effect in effects)]
    show(search_report(results), *_result_lines(results), hints=hints)


def _read_by_model(
    assistant: Assistant, query: Query, most_calls: int | None
) -> tuple[Query, int | None]:
    """The query with a model's reading of its wording, and the calls that are left.

    Without an answer, the query is unchanged.
    """
    words = (query.instruction or "").strip()
    if not words:
        raise BadInputError("--model-reading is for a wording.", "Give one with --instruction.")
    if query.reading:
        raise BadInputError(
            "--reading and --model-reading exclude each other.", "Leave out one of them."
        )
    found = assistant.read_wordings(query.corpus, [words], most_calls=most_calls)
    left = most_calls and max(0, most_calls - found.usage.calls)
    model = found.usage.model
    say([f"model-reading: {taken(found.usage)}"], "")
    read = found.readings.get(words)
    if read is None:
        unread = f"{model} did not read the wording; the built-in reading is used."
        say([f"{unread} {' '.join(found.problem.split())}"], "Warning")
        return query, left
    query = replace(query, reading=read.terms(query))
    how = f"as {','.join(query.reading)}" if query.reading else "to name no aspect"
    say([f"{model} reads the wording {how}."])
    return query, left


def _search_with_model(
    assistant: Assistant, query: Query, mode: str | None, depth: int | None, most_calls: int | None
) -> None:
    from engine.rerank.modes import DEFAULT_MODE
    from engine.search.reports import reranking_report

    if mode is not None and query.system in assistant.systems:
        raise BadInputError(
            f"The system '{query.system}' asks a model already and cannot be reranked here.",
            "Rerank another system; seedlens evaluate can rerank this one too.",
        )
    with advancing("questions", "model") as tell:
        request = RerankRequest(query, mode or DEFAULT_MODE, depth or DEFAULT_DEPTH)
        reranking = assistant.rerank(request, most_calls=most_calls, tell=tell)
    say_what_it_took(mode or query.system, reranking.report)
    results = reranking.results.results
    lines = [
        f"{r.rank:>3}  {_moved(reranking.moves.get(r.doc_id)):>9}  "
        f"{r.document.title or r.document.text[:80]}  [{r.doc_id}]"
        for r in results
    ]
    show(reranking_report(reranking), *lines, notes=reranking.results.notes)
    sys.exit(exit_code(reranking.report))


def _result_lines(results: SearchResults) -> Iterator[str]:
    for r in results.results:
        moved = f"  {r.rank_change:+d}" if r.rank_change else ""
        year = f" ({r.document.year})" if r.document.year else ""
        title = r.document.title or r.document.text[:80]
        yield f"{r.rank:>3}  {r.score:.3f}  {title}{year}  [{r.doc_id}]{moved}"
        for evidence in r.evidence[:1]:
            yield f"       seed: {evidence.seed_text}\n       it:   {evidence.doc_text}"
        if not r.evidence and r.explanation:
            yield f"       {r.explanation}"
        if r.scenario is not None:
            scenario = r.scenario.scenario
            yield f"       need: {scenario.need}\n       why:  {scenario.explanation}"


def _reading_lines(results: SearchResults) -> Iterator[str]:
    """How the wording was read, and how many documents were ranked."""
    for use in results.terms:
        yield use.sentence(results.corpus_size)
    if results.query.instruction and (results.reading or results.sentences):
        sentences = [f"sentence {index + 1}" for index in results.sentences]
        yield f"Read as {', '.join([*results.reading, *sentences])}"
    if not results.results:
        yield "No document matches."
    yield f"{results.total:,} ranked in {results.seconds:.2f} s"


def _moved(move: Move | None) -> str:
    if move is None:
        return "new"
    sure = "" if move.confidence is None else f" {move.confidence:.0%}"
    return f"{move.moved:+d}{sure}" if move.moved else f"={sure}"


# -- trails and exports --------------------------------------------------------------------------


@click.group()
def trail() -> None:
    """Trails: successive searches on Explore, and what was kept on them."""


@command(trail, "list")
def list_trails() -> None:
    """List the latest 50 trails, newest first.

    A single search without kept documents is not listed.
    """
    trails = open_explorer().notebook.trails()
    show_rows(
        [{**asdict(one), "time": one.time.isoformat()} for one in trails],
        ("trail", "time", "searches", "kept", "name"),
        [
            (
                *(one.trail_id, f"{one.time.astimezone():%Y-%m-%d %H:%M}", one.searches, one.kept),
                one.name or " > ".join(one.seeds[:3]),
            )
            for one in trails
        ],
        none="No trail yet. They are made on Explore: seedlens app",
    )


@command(trail, "show", json=False)
def show_trail(trail: str) -> None:
    """Print the searches of TRAIL and what was kept on it, as Markdown."""
    click.echo(_known(trail).notebook.export_trail(trail, "markdown"), nl=False)


@command(trail, "export", json=False)
def export_trail(
    trail: str,
    *,
    kind: Annotated[str, click.Choice(tuple(EXPORT_FORMATS))] = "bibtex",
    out: Path | None = None,
) -> None:
    """Export what was kept on TRAIL.

    BibTeX, RIS and CSL-JSON have entry types, DOIs and your notes; import reads BibTeX and RIS.

    Options:
        kind --format: apa to nature: citations; with -html, italics. markdown, jsonl: searches too.
    """
    _write_out([_known(trail).notebook.export_trail(trail, kind)], out)


@command(name="export", json=False)
def export_(
    name: str,
    *,
    kind: Annotated[str, click.Choice(DOCUMENT_FORMATS)] = "jsonl",
    ids: Path | None = None,
    out: Path | None = None,
) -> None:
    """Write the documents of corpus NAME with all their fields.

    Options:
        kind --format: jsonl and csv have all fields and can be imported; apa to nature: citations.
        ids FILE: Only the documents whose ids FILE lists, in this order.
    """
    doc_ids = None if ids is None else ids_in(ids)
    _write_out(open_explorer().notebook.export_corpus(name, kind, doc_ids), out)


def _write_out(parts: Iterable[str], out: Path | None) -> None:
    """Write a text to a file, or to stdout."""
    if out is None:
        for part in parts:
            click.echo(part, nl=False)
        return
    with out.open("w", encoding="utf-8") as file:
        file.writelines(parts)


def _known(trail_id: str) -> Explorer:
    explorer = open_explorer()
    if not explorer.notebook.trail(trail_id) and not explorer.reading_lists.kept_on(trail_id):
        raise UnknownNameError(f"There is no trail '{trail_id}'.", "List them: seedlens trail list")
    return explorer


# -- reading lists -------------------------------------------------------------------------------

Order = Literal["hand", "year", "title"]


@click.group(name="reading-list")
def reading_list() -> None:
    """Reading lists: documents of any corpora, with notes and tags."""


@command(reading_list, "list")
def list_reading_lists() -> None:
    """List the reading lists of everybody."""
    lists = open_explorer().reading_lists.lists(None)
    show_rows(
        [{**asdict(one), "time": one.time.isoformat()} for one in lists],
        ("list", "documents", "name", "tags", "owner"),
        [(o.list_id, o.documents, o.name, ", ".join(o.tags), o.owner) for o in lists],
    )


@command(reading_list, "show")
def show_reading_list(
    list_name: Annotated[str, "NAME"], *, tag: str = "", sort: Order = "hand"
) -> None:
    """Print the documents of the reading list NAME, its name or id, as Markdown.

    Options:
        tag: Only the documents with this tag.
        sort: By hand, by year (newest first) or by title.
    """
    lists = open_explorer().reading_lists
    info = lists.named(list_name)
    rows = map(json.loads, lists.export(info.list_id, "jsonl", tag, sort).splitlines())
    data = {**asdict(info), "time": info.time.isoformat(), "documents": list(rows)}
    show(data, lists.export(info.list_id, "markdown", tag, sort).rstrip("\n"))


@command(reading_list, "export", json=False)
def export_reading_list(
    list_name: Annotated[str, "NAME"],
    *,
    kind: Annotated[str, click.Choice(tuple(EXPORT_FORMATS))] = "bibtex",
    tag: str = "",
    sort: Order = "hand",
    out: Path | None = None,
) -> None:
    """Export the reading list NAME, its name or id.

    Tags are among the keywords of BibTeX, RIS and CSL-JSON, and notes are in them.

    Options:
        kind --format: apa to nature: citations; with -html, italics. markdown, jsonl: evidence too.
        tag: Only the documents with this tag.
        sort: By hand, by year (newest first) or by title.
    """
    lists = open_explorer().reading_lists
    _write_out([lists.export(lists.named(list_name).list_id, kind, tag, sort)], out)


@command(reading_list, "add", json=False)
def add_to_reading_list(
    name: str, corpus: str, doc_id: str, *, note: str = "", tag: tuple[str, ...] = ()
) -> None:
    """Add document DOC_ID of CORPUS to the reading list NAME, which is made where there is none.

    Options:
        note: A note on the document.
        tag: A tag. Repeatable.
    """
    explorer = open_explorer()
    explorer.document(corpus, doc_id)  # tells that it is not there
    lists = explorer.reading_lists
    try:
        list_id = lists.named(name, "").list_id
    except UnknownNameError:
        list_id = lists.new(name)
    lists.keep(list_id, corpus, doc_id)
    if note:
        lists.annotate(list_id, corpus, doc_id, note, before="")
    for one in tag:
        lists.tag(list_id, corpus, doc_id, one)


@command(reading_list, "remove", json=False)
def remove_from_reading_list(name: str, corpus: str, doc_id: str) -> None:
    """Remove document DOC_ID of CORPUS from the reading list NAME."""
    lists = open_explorer().reading_lists
    lists.remove(lists.named(name).list_id, corpus, doc_id)


# -- maps ----------------------------------------------------------------------------------------


@command(name="map", json=False)
def map_(
    corpus: str,
    *,
    rebuild: bool = False,
    output: Path | None = None,
    model_names: bool = False,
    own_names: bool = False,
    budget_calls: NonNegativeInt | None = None,
) -> None:
    """Compute the map of CORPUS: its documents in the plane, as a whole and by aspect.

    Documents on the map keep their places, and new ones are placed among them.

    Options:
        rebuild: Lay all documents out again.
        output FILE: Write positions and clusters to FILE.json or FILE.csv.
        model_names: Let a language model name the clusters: a question for each layout.
        own_names: Return to names made of the clusters' own words.
    """
    if model_names and own_names:
        raise BadInputError("--model-names and --own-names exclude each other.", "Give one.")
    if output is not None and output.suffix.lower() not in (".json", ".csv"):
        raise BadInputError(f"A map cannot be written as {output.name}.", "Use .json or .csv.")
    maps = open_explorer().maps
    with advancing("documents", "checking") as tell, stop_requested() as stopped:
        report = maps.build(corpus, tell, stopped, rebuild=rebuild)
    if report.stopped:
        say(["Stopped; nothing was changed."], "")
        sys.exit(INTERRUPTED)
    done = f"{len(report.layouts)} layouts made" if report.layouts else "the map is up to date"
    placed = f"; {report.placed:,} documents placed in it" if report.placed else ""
    click.echo(
        f"'{corpus}': {report.documents:,} documents, {done}{placed}, in {report.seconds:.1f} s."
    )
    found = maps.view(corpus)
    if found is not None and (model_names or own_names):
        click.echo(_name_clusters(maps, corpus, found, model_names, budget_calls))
        found = maps.view(corpus)
    if output is not None and found is not None:
        _write_map(output, found)
        click.echo(f"Written to {output}.")


def _name_clusters(
    maps: Maps, corpus: str, found: CorpusMap, model_names: bool, most_calls: int | None
) -> str:
    """Have the clusters of every layout named by a model, or by their own words."""
    if not model_names:
        for name, layout in found.layouts.items():
            if layout.worded_by:
                maps.own_names(corpus, name)
        return "Clusters are named by their own words."
    say([at_most(summed([maps.estimate_names(corpus, name) for name in found.layouts]))], "")
    model, calls, cached = "", 0, 0
    for name in found.layouts:
        left = None if most_calls is None else most_calls - calls
        used = maps.word_names(corpus, name, most_calls=left)
        model, calls, cached = used.model, calls + used.calls, cached + used.cached
    return f"Clusters are named by {model}: {calls:,} calls, {cached:,} known before."


def _write_map(output: Path, found: CorpusMap) -> None:
    rows: list[tuple[str | float, ...]] = []  # the values of MAP_COLUMNS of positioned documents
    for layout in found.layouts.values():
        for at, (x, y) in enumerate(layout.positions.tolist()):
            if not isnan(x):
                coarse, fine = (level.names[level.labels[at]] for level in layout.levels)
                place = (round(x, 5), round(y, 5))
                rows.append((layout.name, found.doc_ids[at], *place, coarse, fine))
    with output.open("w", encoding="utf-8", newline="") as file:
        if output.suffix.lower() == ".csv":
            cells = ([spreadsheet_cell(str(value)) for value in row] for row in rows)
            csv.writer(file).writerows([MAP_COLUMNS, *cells])
        else:
            records = [dict(zip(MAP_COLUMNS, row, strict=True)) for row in rows]
            json.dump({"corpus": found.corpus, "documents": records}, file, ensure_ascii=False)
