"""``seedlens import``, ``update``, ``corpora`` and ``lens``: corpora, and what they are read by."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from engine.cli.common import import_command, open_explorer
from engine.cli.options import from_signature
from engine.cli.terminal import (
    Figure,
    print_json,
    print_table,
    progress,
    say_notes,
    stop_requested,
)
from engine.errors import BadInputError
from engine.text import counted, size
from engine.types.corpora import (
    DATASET_PREFIX,
    CorpusInfo,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Repairs,
    ServiceQueries,
)
from engine.types.limits import SERVICE_DOCUMENTS

if TYPE_CHECKING:
    from engine.explorer import Explorer

_SCHEME = re.compile(r"[A-Za-z0-9]{2,}:")
"""A word before a colon; one letter is a drive."""


@click.command("import")
@from_signature
def import_(
    source: str,
    *,
    name: str | None = None,
    limit: Annotated[int | None, Field(ge=1, le=SERVICE_DOCUMENTS)] = None,
    source_format: str = "auto",
    mapping: tuple[str, ...] = (),
    encoder: str | None = None,
    lens: str | None = None,
    ignore_labels: bool = False,
    repairs: Repairs,
    on: str | None = None,
    undo: bool = False,
    as_json: bool = False,
) -> None:
    """Read the documents at SOURCE and index them as a corpus.

    SOURCE is a file, a folder, or what a service on the internet is asked: openalex:WORDS,
    arxiv:WORDS, s2:WORDS (Semantic Scholar), acl:IDS (ACL Anthology), zotero:users/NUMBER,
    zotero:groups/NUMBER or zotero:local. In place of words, ids between commas, or @FILE of ids.
    Or it is ir:NAME, a data set of ir_datasets (ir-datasets.com), with its queries and judgments.

    Everything is checked before anything is written; rows that cannot be used refuse the
    import, unless an option says what becomes of them. An import that was stopped goes on
    when the same command is run again; running it twice changes nothing.

    Options:
        name: Name of the corpus: letters, digits, - and _. Default: made of the file's name.
        limit N: Documents at most that a service is asked for. Default: 1,000, or as many as there
            are ids.
        source_format --format: auto, jsonl, json, csv, tsv, xlsx, parquet, bibtex, ris, nbib
            (PubMed), ciw (Web of Science), enw (EndNote), xml (of both), beir, pdf, csfcube or
            impliret.
        mapping --map FIELD=COLUMN: Read FIELD (id, title, text, year ...) from COLUMN;
            text=data.text reads a field of an object. Repeatable.
        encoder: A preset (scincl, gritlm-7b ...; KEY=FOLDER for a model on disk), or a
            sentence-transformers or PyLate model: name or folder. Default: the embedded model.
        lens LENS: research, conversations, posts, or a lens file (see: seedlens lens). Default:
            research, or the corpus's own.
        ignore_labels: Estimate the sentences' roles even where the source labels them.
        on ADDRESS: Have the workers of a Ray cluster check and encode: ray://HOST:10001, or local
            for a worker on each core of this machine. Default: SEEDLENS_RAY, or this process.
        undo: SOURCE is the name of a corpus: take the last import into it back.
    """
    from engine.encode.presets import absolute

    # A corpus remembers where its model is, whatever folder the next command runs in.
    encoder = absolute(encoder) if encoder else None
    columns = dict(map(_pair, mapping))
    if ignore_labels:
        columns["roles"] = ""  # sentence splits stay as the source has them
    if repairs.delimiter in ("tab", "\\t"):
        repairs = replace(repairs, delimiter="\t")
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
    asked = _queries_of("" if dataset else source, limit, with_abstract=repairs.skip_empty)
    if asked and (columns or source_format != "auto"):
        raise BadInputError(
            "What a service sends needs no --format and no --map.", "Leave them out."
        )
    place = NamedDataset(source.removeprefix(DATASET_PREFIX)) if dataset else Path(source)
    name = _name_of(asked or place, explorer) if name is None else name
    chosen = explorer.library.lens_for(name, lens)
    request = ImportRequest(asked or place, name, source_format, columns, encoder, chosen, repairs)
    _run_import(explorer, request, as_json)


def _queries_of(source: str, limit: int | None, *, with_abstract: bool) -> ServiceQueries | None:
    """What a service is asked by ``openalex:WORDS``; None for the path of a file or a folder."""
    from engine.sources.services import SERVICES, ids_of_file, names_service, read_query

    if not names_service(source):
        if _SCHEME.match(source) and not Path(source).exists():
            services = ", ".join(f"{service.key}:" for service in SERVICES)
            raise BadInputError(
                f"{source[:80]} does not exist, and is no service that SeedLens knows.",
                f"Services are {services}; ir: is for data sets.",
            )
        if limit is not None:
            raise BadInputError(
                "--limit is for services.", "Leave it out: files and data sets are read whole."
            )
        return None
    service, _, asked = source.partition(":")
    typed = not asked.startswith("@")
    text = asked if typed else ids_of_file(Path(asked[1:]))
    query = read_query(service.lower(), text, limit, typed=typed)
    return ServiceQueries((replace(query, with_abstract=with_abstract),))


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


def _pair(text: str) -> tuple[str, str]:
    field, sign, column = text.partition("=")
    if not sign or not field or not column:
        raise BadInputError(f"'--map {text}' cannot be read.", "Write --map doc_id=PMID.")
    return field, column


def _run_import(explorer: Explorer, request: ImportRequest, as_json: bool) -> None:
    from engine.search.reports import import_report

    with progress() as tell, stop_requested() as stopped:
        report = explorer.library.import_here(request, tell, stopped, "the command line")
    say_notes(report.warnings, "Warning")
    if as_json:
        print_json(import_report(report))
    else:
        click.echo(_import_line(report))
    if report.cancelled:
        sys.exit(130)


def _import_line(report: ImportReport) -> str:
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


@click.command()
@from_signature
def update(name: str, *, as_json: bool = False) -> None:
    """Ask the services that corpus NAME came from again, and add what is new.

    Documents that are there unchanged keep their vectors; what a service has changed takes the
    place of the former version, and nothing is taken out.
    """
    explorer = open_explorer()
    request = ImportRequest(explorer.library.sources_to_update(name), name)
    _run_import(explorer, request, as_json)


@click.command()
@from_signature
def corpora(*, as_json: bool = False) -> None:
    """List the corpora of this home."""
    from engine.search.reports import corpus_report

    library = open_explorer().library
    infos = library.corpora()
    if as_json:
        print_json(list(map(corpus_report, infos)))
        return
    if not infos:
        click.echo("No corpus yet. Try: seedlens import PATH", err=True)
    rows = [
        (info.name, info.documents, Figure(size(info.bytes)), info.encoder, _state(info))
        for info in infos
    ]
    print_table(("", "documents", "size", "encoder", ""), rows)
    for info in infos:
        if info.state == "indexing" and library.jobs.running(info.name) is None:
            again = import_command(info.source, info.name)
            click.echo(f"{info.name} is not complete. Import it again: {again}", err=True)


def _state(info: CorpusInfo) -> str:
    return "" if info.state == "ready" else f"({info.state}: {info.expected:,} expected)"


# -- lenses --------------------------------------------------------------------------------------


@click.group("lens")
def lens_group() -> None:
    """Lenses: the sets of aspects that corpora are explored through.

    A lens of your own is a file: print one with show, change it, and give its path to
    import --lens or to lens set.
    """


@lens_group.command("list")
@from_signature
def list_lenses(*, as_json: bool = False) -> None:
    """List the lenses that come with SeedLens."""
    from engine.lenses.definitions import SHIPPED

    rows = [(lens.key, lens.name, [aspect.key for aspect in lens.aspects]) for lens in SHIPPED]
    if as_json:
        print_json([{"key": key, "name": name, "aspects": keys} for key, name, keys in rows])
        return
    print_table(("", "", ""), [(key, name, ", ".join(keys)) for key, name, keys in rows])


@lens_group.command("show")
@from_signature
def show_lens(key: Annotated[str, "KEY|FILE"], *, as_json: bool = False) -> None:
    """Print a lens as a file to start from: TOML, or JSON with --json.

    KEY is research, conversations or posts; a FILE is checked, and printed with all that
    was left out.
    """
    from engine.lenses.definitions import choose_lens, lens_to_toml

    chosen = choose_lens(key)
    if as_json:
        print_json(chosen)
    else:
        click.echo(lens_to_toml(chosen), nl=False)


@lens_group.command("set")
@from_signature
def set_lens(corpus: str, key: Annotated[str, "KEY|FILE"], *, as_json: bool = False) -> None:
    """Sort the sentences of CORPUS by another lens, without encoding it again.

    Roles that the source gave are kept for aspects that both lenses have; the others are
    estimated. Stopped in the middle, the corpus is as it was. Then its maps by aspect are made
    again (seedlens map does it, where that was stopped).
    """
    from engine.lenses.definitions import choose_lens

    chosen = choose_lens(key)
    explorer = open_explorer()
    with progress() as tell:
        changed = explorer.library.set_lens(corpus, chosen, tell)
    if changed and explorer.settings.maps:
        with progress() as tell, stop_requested() as stopped:
            explorer.maps.build(corpus, tell, stopped)
    if as_json:
        aspects = [aspect.key for aspect in chosen.aspects]
        print_json({"corpus": corpus, "lens": chosen.key, "aspects": aspects, "changed": changed})
        return
    names = ", ".join(aspect.name for aspect in chosen.aspects)
    verdict = "is now seen through" if changed else "has already"
    click.echo(f"{corpus} {verdict} the lens '{chosen.name}': {names}.")
