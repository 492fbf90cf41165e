"""The ``seedlens`` command. Results go to stdout; progress and warnings to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from pydantic import ValidationError

from engine.cli.annotate import judge, pool
from engine.cli.annotate_agreement import agreement
from engine.cli.annotate_model import grade
from engine.cli.annotate_project import project
from engine.cli.annotate_qrels import qrels
from engine.cli.backup import backup, restore, verify
from engine.cli.build import build
from engine.cli.common import (
    filter_option,
    import_command,
    json_option,
    open_explorer,
    parsed_filters,
    selection_of,
    within_option,
)
from engine.cli.distill import distill
from engine.cli.evaluate import evaluate
from engine.cli.facts import facts
from engine.cli.gap import gap
from engine.cli.generate import generate
from engine.cli.ledger import ledger
from engine.cli.lens import lens as lens_commands
from engine.cli.map import map_command
from engine.cli.model import (
    asking,
    budget_option,
    check_depth,
    depth_option,
    exit_code,
    print_reranking,
    query_options,
    read_by_model,
    reading_option,
    rerank_option,
    say_what_it_took,
)
from engine.cli.read import read
from engine.cli.scenarios import scenarios
from engine.cli.sensitivity import sensitivity
from engine.cli.services import limit_option, queries_of, run_import, update
from engine.cli.terminal import print_json, print_results, say_notes, write_text_alone
from engine.cli.trail import export_corpus, trail
from engine.config import ROOT, Settings, __version__
from engine.errors import BadInputError, SeedLensError
from engine.types.plurals import counted, size
from engine.types.repairs import DUPLICATES, PDF_PARTS, Repairs
from engine.types.reranking import DEFAULT_DEPTH, RerankRequest
from engine.types.searches import Query
from engine.types.sources import DATASET_PREFIX, NamedDataset, ServiceQueries
from storage.home import keep_files_private

if TYPE_CHECKING:
    from engine.assist.verifier import Verifier
    from engine.explorer import Explorer

DEFAULTS = Query("")
MODEL_SYSTEM_NAMES = ("rewrite", "multi-hop")
"""Of engine.assist.model_systems, which is loaded when one is asked for."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class SeedLensGroup(click.Group):
    """Turns our errors into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SeedLensError as error:
            _fail(str(error))
        except ValidationError as error:
            problem = error.errors()[0]
            name = "_".join(map(str, problem["loc"])).upper()
            _fail(f"SEEDLENS_{name} cannot be '{problem['input']}': {problem['msg']}.")
        except BrokenPipeError:
            raise  # whoever reads has read enough
        except OSError as error:  # a path that no system takes, a disk that is gone
            _fail(f"{str(error.filename or '')[:200]}: {error.strerror or error}.".lstrip(": "))


def _fail(message: str) -> NoReturn:
    click.echo("Error: " + " ".join(message.split()), err=True)
    sys.exit(2)


@click.group(cls=SeedLensGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Explore a corpus from one document through one aspect of it."""
    keep_files_private()
    write_text_alone()


# -- import ---------------------------------------------------------------------------


@main.command("import")
@click.argument("source", metavar="SOURCE", type=click.Path())
@click.option(
    "--name", help="Name of the corpus: letters, digits, - and _. Default: made of the file's name."
)
@limit_option
@click.option(
    "--format",
    "source_format",
    default="auto",
    show_default=True,
    help="auto, jsonl, json, csv, tsv, xlsx, parquet, bibtex, ris, nbib (PubMed), ciw (Web of "
    "Science), enw (EndNote), xml (of both), beir, pdf, csfcube or impliret.",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read FIELD (id, title, text, year ...) from COLUMN; text=data.text reads a field of an "
    "object. Repeatable.",
)
@click.option(
    "--encoder",
    help="A preset (scincl, gritlm-7b ...; KEY=FOLDER for a model on disk), or a "
    "sentence-transformers or PyLate model: name or folder. Default: the embedded model.",
)
@click.option(
    "--lens",
    metavar="LENS",
    help="research, conversations, posts, or a lens file (see: seedlens lens). "
    "Default: research, or the corpus's own.",
)
@click.option(
    "--ignore-labels",
    is_flag=True,
    help="Estimate the sentences' roles even where the source labels them.",
)
@click.option("--encoding", default="", help="utf-8, cp1252, utf-16 ... Default: detected.")
@click.option(
    "--delimiter", default="", help="Of a CSV or TSV file: ; or , or tab. Default: detected."
)
@click.option(
    "--pdf",
    type=click.Choice(PDF_PARTS),
    default="papers",
    show_default=True,
    help="Of PDFs: a document a paper, which is its abstract, or one a section.",
)
@click.option("--skip-empty", is_flag=True, help="Leave out documents without text.")
@click.option(
    "--title-as-text",
    is_flag=True,
    help="Where a row has no text, its title is the text; with --skip-empty, a row without both "
    "is left out.",
)
@click.option(
    "--ids-from-doi",
    is_flag=True,
    help="Where a row has no id, and in place of a BibTeX key, its DOI is the id; rows of one DOI "
    "are merged.",
)
@click.option(
    "--number-ids",
    is_flag=True,
    help="Number rows without id: FILE-1, FILE-2 ... With --ids-from-doi, those without DOI.",
)
@click.option(
    "--duplicates",
    type=click.Choice(tuple(filter(None, DUPLICATES))),
    default=None,
    help="Of rows with one id and different content, keep the first, merge them (what the first "
    "lacks comes from the others, and the longest text counts), or rename the later ones (ID-2).",
)
@click.option(
    "--fill-abstracts",
    is_flag=True,
    help="Look up abstracts that are missing by their DOIs, at OpenAlex and Crossref.",
)
@click.option("--skip-broken", is_flag=True, help="Leave out rows that cannot be read.")
@click.option(
    "--on",
    metavar="ADDRESS",
    help="Have the workers of a Ray cluster check and encode: ray://HOST:10001, or local for a "
    "worker on each core of this machine. Default: SEEDLENS_RAY, or this process.",
)
@click.option(
    "--undo",
    is_flag=True,
    help="SOURCE is the name of a corpus: take the last import into it back.",
)
@json_option
def import_(
    source: str,
    name: str | None,
    limit: int | None,
    source_format: str,
    mapping: Sequence[str],
    encoder: str | None,
    lens: str | None,
    ignore_labels: bool,
    on: str | None,
    undo: bool,
    as_json: bool,
    **repairs: Any,
) -> None:
    """Read the documents at SOURCE and index them as a corpus.

    SOURCE is a file, a folder, or what a service on the internet is asked: openalex:WORDS,
    arxiv:WORDS, s2:WORDS (Semantic Scholar), acl:IDS (ACL Anthology), zotero:users/NUMBER,
    zotero:groups/NUMBER or zotero:local. In place of words, ids between commas, or @FILE of ids.
    Or it is ir:NAME, a data set of ir_datasets (ir-datasets.com), with its queries and judgments.

    Everything is checked before anything is written; rows that cannot be used refuse the
    import, unless an option says what becomes of them. An import that was stopped goes on
    when the same command is run again; running it twice changes nothing.
    """  # fmt: skip
    from engine.encode.presets import absolute
    from engine.types.corpora import ImportRequest

    # A corpus remembers where its model is, whatever folder the next command runs in.
    encoder = absolute(encoder) if encoder else None
    columns = dict(map(_pair, mapping))
    if ignore_labels:
        columns["roles"] = ""  # sentence splits stay as the source has them
    explorer = open_explorer(**({} if on is None else {"ray": on}))
    if undo:
        documents = explorer.library.undo_import(source)
        if as_json:
            print_json({"corpus": source, "documents": documents})
        else:
            click.echo(
                f"The last import is undone: '{source}' holds {counted(documents, 'document')}."
            )
        return
    dataset = source.startswith(DATASET_PREFIX)
    asked = queries_of("" if dataset else source, limit, with_abstract=repairs["skip_empty"])
    if asked and (columns or source_format != "auto"):
        raise BadInputError(
            "What a service sends needs no --format and no --map.", "Leave them out."
        )
    place = NamedDataset(source.removeprefix(DATASET_PREFIX)) if dataset else Path(source)
    name = _name_of(asked or place, explorer) if name is None else name
    chosen = explorer.library.lens_for(name, lens)
    request = ImportRequest(
        *(asked or place, name, source_format, columns, encoder, chosen), _repairs(**repairs)
    )
    run_import(explorer, request, as_json)


def _name_of(place: Path | ServiceQueries | NamedDataset, explorer: Explorer) -> str:
    """A name for the corpus of a source; BadInputError where another source's corpus has it."""
    if isinstance(place, NamedDataset):
        from engine.sources.datasets import folder_of

        place = folder_of(explorer.home, place.name)
    source = Path(os.path.realpath(place)) if isinstance(place, Path) else place
    suggested = str(source) if not isinstance(source, Path) else source.stem
    if isinstance(source, Path) and source.is_dir():
        suggested = source.name
    name = explorer.library.suggest_name(suggested)
    for info in explorer.library.corpora():
        if info.name == name and info.source != str(source):
            raise BadInputError(
                f"A corpus called {name} is there already, read from {info.source}.",
                f"Choose a name with --name, or add these documents to it with --name {name}.",
            )
    return name


def _repairs(duplicates: str | None, delimiter: str, **options: Any) -> Repairs:
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    return Repairs(duplicates=duplicates or "", delimiter=mark, **options)  # type: ignore[arg-type]


def _pair(text: str) -> tuple[str, str]:
    field, sign, column = text.partition("=")
    if not sign or not field or not column:
        raise BadInputError(f"'--map {text}' cannot be read.", "Write --map doc_id=PMID.")
    return field, column


# -- corpora and search -----------------------------------------------------------------


@main.command()
@json_option
def corpora(as_json: bool) -> None:
    """List the corpora of this home."""
    from engine.search.reports import corpus_report

    library = open_explorer().library
    infos = library.corpora()
    if as_json:
        print_json([corpus_report(info) for info in infos])
        return
    if not infos:
        click.echo("No corpus yet. Try: seedlens import PATH", err=True)
    for info in infos:
        state = "" if info.state == "ready" else f"  ({info.state}: {info.expected:,} expected)"
        click.echo(
            f"{info.name:24} {info.documents:>9,} documents  {size(info.bytes):>11}  "
            f"{info.encoder}{state}"
        )
        if info.state == "indexing" and library.jobs.running(info.name) is None:
            again = import_command(info.source, info.name)
            click.echo(f"{info.name} is not complete. Import it again: {again}", err=True)


@main.command()
@click.argument("name")
@click.option("--seed", metavar="DOC_ID", help="A document of the corpus to start from.")
@click.option("--text", help="A text to start from instead.")
@click.option(
    "--aspect",
    help="What should be similar: background, method or result, or an aspect of the corpus's lens.",
)
@click.option("--instruction", help="The aspect in your own words.")
@click.option(
    "--reading",
    metavar="ASPECTS,TERMS",
    help="Correct how aspect and wording are read: +method,-background,+term:tree kernels asks for "
    "an aspect and for words, and rules an aspect out; any asks for none.",
)
@click.option(
    "--sentence",
    "sentences",
    type=click.IntRange(min=1),
    multiple=True,
    help="Ask for this sentence of the seed, counted from 1. Repeatable.",
)
@click.option(
    "--system",
    default=DEFAULTS.system,
    show_default=True,
    help="bm25, dense, late-interaction, hybrid, aspect, bm25-aspect, transport, instructed, "
    "facts, hybrid+facts or aspect+facts; scenario once scenarios were made; with a language model "
    "also rewrite or multi-hop.",
)
@click.option(
    "--steer",
    "--aspect-weight",
    "steer",
    type=float,
    default=DEFAULTS.steer,
    show_default=True,
    help="0: whole document; 1: the aspect only.",
)
@click.option("--k", type=int, default=DEFAULTS.k, show_default=True, help="How many results.")
@filter_option
@within_option
@click.option("--symmetric", is_flag=True, help="late-interaction: score both directions.")
@reading_option
@rerank_option
@depth_option
@budget_option
@json_option
def search(
    name: str,
    as_json: bool,
    filters: Sequence[str],
    within: Path | None,
    reading: str | None,
    sentences: Sequence[int],
    model_reading: bool,
    **options: Any,
) -> None:
    """Rank the documents of corpus NAME by similarity to a seed, in one aspect.

    Every result comes with the passages that explain it.
    """  # fmt: skip
    from engine.search.queries import parse_reading
    from engine.search.reports import search_report

    mode, depth, most_calls = query_options(options)
    check_depth(mode, depth)
    query = Query(
        name,
        filters=parsed_filters(filters),
        reading=parse_reading(reading or ""),
        focus=tuple(sorted({number - 1 for number in sentences})),
        **options,
    )
    explorer = open_explorer()
    query = replace(query, filters=(*query.filters, *selection_of(explorer, name, within)))
    if model_reading:
        query, most_calls = read_by_model(explorer.verifier, query, most_calls)
    if mode is not None or query.system in MODEL_SYSTEM_NAMES:
        _search_with_model(explorer.verifier, query, mode, depth, most_calls, as_json)
        return
    results = explorer.search(query)
    say_notes(results.notes)
    if as_json:
        print_json(search_report(results))
        return
    print_results(results)
    if not results.total:
        for effect in explorer.searcher(name).filter_effects(query):
            click.echo(f"{effect}.", err=True)


def _search_with_model(
    verifier: Verifier,
    query: Query,
    mode: str | None,
    depth: int | None,
    most_calls: int | None,
    as_json: bool,
) -> None:
    from engine.rerank import DEFAULT_MODE
    from engine.search.reports import reranking_report

    if mode is not None and query.system in verifier.systems:
        raise BadInputError(
            f"The system '{query.system}' asks a model already and cannot be reranked here.",
            "Rerank another system; seedlens evaluate can rerank this one too.",
        )
    with asking() as tell:
        request = RerankRequest(query, mode or DEFAULT_MODE, depth or DEFAULT_DEPTH)
        reranking = verifier.rerank(request, most_calls=most_calls, tell=tell)
    say_what_it_took(mode or query.system, reranking.report)
    if as_json:
        print_json(reranking_report(reranking))
    else:
        print_reranking(reranking)
    sys.exit(exit_code(reranking.report))


# -- app and doctor --------------------------------------------------------------------------


@main.command()
@click.option("--port", type=int, default=8501, show_default=True)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; anything but loopback opens your corpora to others.",
)
def app(port: int, address: str) -> None:
    """Serve the app on http://127.0.0.1:8501, to be opened in a browser."""  # fmt: skip
    from engine.people import exposed, read_login, secrets_files

    login = read_login(secrets_files())  # what is wrong with it is said before anything starts
    for file in exposed(secrets_files()):
        click.echo(f"Warning: others can read {file}; run: chmod 600 {file}", err=True)
    if address not in LOOPBACK:
        whoever = "" if login else (
            ", and whoever opens it reads and deletes all corpora, and judges under any name: "
            "set up login (see docs/serving.md)"
        )  # fmt: skip
        click.echo(
            f"Warning: {address} can be reached from other machines{whoever}. "
            "Add the name they use to allowedHosts in .streamlit/config.toml.",
            err=True,
        )
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    options = ["--server.port", str(port), "--server.address", address]
    os.environ["SEEDLENS_HOME"] = str(Settings().home)
    os.execv(sys.executable, [*command, *options])  # noqa: S606 - our own command


@main.command()
@click.option(
    "--rebuild",
    is_flag=True,
    help="First list corpora again that are in the home and not in its ledger.",
)
@json_option
def doctor(rebuild: bool, as_json: bool) -> None:
    """Say what is installed, which models load, and where the home is."""
    from engine.cli.doctor import examine, rebuild_corpora

    for line in rebuild_corpora() if rebuild else ():
        click.echo(line, err=as_json)
    checks = examine(Settings())
    if as_json:
        print_json([check.__dict__ for check in checks])
    else:
        for check in checks:
            verdict = "ok" if check.ok else "none" if check.optional else "BAD"
            click.echo(f"{verdict:5}{check.name:24} {check.detail}")
    sys.exit(0 if all(check.ok or check.optional for check in checks) else 1)


for command in (
    *(
        agreement,
        backup,
        build,
        distill,
        evaluate,
        export_corpus,
        facts,
        gap,
        generate,
        grade,
        judge,
        ledger,
        lens_commands,
    ),
    *(map_command, pool, project, qrels, read, restore, scenarios, sensitivity, trail, update),
    verify,
):
    main.add_command(command)
