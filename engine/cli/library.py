"""``seedlens import``, ``update``, ``corpora`` and ``lens``: corpora and their lenses."""

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
from engine.cli.options import command
from engine.cli.terminal import Figure, advancing, say, show, show_rows, stop_requested, table
from engine.errors import BadInputError
from engine.text import counted, size
from engine.types.corpora import (
    DATASET_PREFIX,
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


@command(name="import")
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
) -> None:
    """Read the documents at SOURCE and index them as a corpus.

    SOURCE is a file, a folder, a query to a service (openalex:WORDS, arxiv:WORDS, s2:WORDS of
    Semantic Scholar, acl:IDS of the ACL Anthology, zotero:users/NUMBER, zotero:groups/NUMBER,
    zotero:local; ids between commas or @FILE of ids in place of words), or ir:NAME, a data set
    of ir_datasets (ir-datasets.com) with its queries and judgments.

    Everything is checked before anything is written; rows that cannot be used refuse the
    import, unless an option says what to do with them. The same command resumes an import that
    was stopped; running it twice changes nothing.

    Options:
        name: Letters, digits, spaces, - and _; of a corpus that is there: add to it. Default: made
            of the file's name.
        limit N: Most documents to request from a service. Default: 1,000, or all ids.
        source_format --format: auto, or jsonl, csv, xlsx, parquet, bibtex, ris, nbib, ciw, enw,
            xml, beir, pdf ...
        mapping --map FIELD=COLUMN: Column of a field (id, title, text, year ...), as
            text=data.text. Repeatable.
        encoder: A preset (scincl, gritlm-7b), or a sentence-transformers or PyLate model.
        lens LENS: research, conversations, posts, or a lens file. Default: research.
        ignore_labels: Estimate roles of sentences although the source labels them.
        on ADDRESS: Encode on a Ray cluster: ray://HOST:10001, or local. Default: SEEDLENS_RAY.
        undo: SOURCE is the name of a corpus: undo its last import or edit.
    """
    from engine.encode.presets import absolute

    encoder = absolute(encoder) if encoder else None  # the next command may run in another folder
    columns = dict(map(_pair, mapping))
    if ignore_labels:
        columns["roles"] = ""  # sentence splits stay as the source has them
    if repairs.delimiter in ("tab", "\\t"):
        repairs = replace(repairs, delimiter="\t")
    explorer = open_explorer(**({} if on is None else {"ray": on}))
    if undo:
        documents = explorer.library.undo_import(source)
        source = explorer.library.stored_name(source)
        holds = f"'{_title(explorer, source)}' holds {counted(documents, 'document')}"
        report = {"corpus": source, "documents": documents}
        show(report, f"The last change is undone: {holds}.")
        return
    dataset = source.startswith(DATASET_PREFIX)
    queries = _queries_of("" if dataset else source, limit, with_abstract=repairs.skip_empty)
    if queries and (columns or source_format != "auto"):
        raise BadInputError(
            "What a service sends needs no --format and no --map.", "Leave them out."
        )
    place = NamedDataset(source.removeprefix(DATASET_PREFIX)) if dataset else Path(source)
    name = _name_of(queries or place, explorer) if name is None else name
    chosen = explorer.library.lens_for(name, lens)
    request = ImportRequest(
        queries or place, name, source_format, columns, encoder, chosen, repairs
    )
    _run_import(explorer, request)


def _queries_of(source: str, limit: int | None, *, with_abstract: bool) -> ServiceQueries | None:
    """The queries of ``openalex:WORDS``; None for the path of a file or a folder."""
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
    service, _, text = source.partition(":")
    typed = not text.startswith("@")
    text = text if typed else ids_of_file(Path(text[1:]))
    query = read_query(service.lower(), text, limit, typed=typed)
    return ServiceQueries((replace(query, with_abstract=with_abstract),))


def _name_of(place: Path | ServiceQueries | NamedDataset, explorer: Explorer) -> str:
    """A name for the corpus of a source; BadInputError where another source's corpus has it."""
    if isinstance(place, NamedDataset):
        from engine.sources.datasets import folder_of

        place = folder_of(explorer.home, place.name)
    source, suggested = str(place), str(place)
    if isinstance(place, Path):
        source = os.path.realpath(place)
        suggested = Path(source).name if place.is_dir() else Path(source).stem
    name = explorer.library.suggest_name(suggested)
    for info in explorer.library.corpora():
        if info.name == name and info.source != source:
            raise BadInputError(
                f"A corpus called {name} is there already, read from {info.source}.",
                f"Choose a name with --name, or add these documents to it with --name {name}.",
            )
    return name


def _pair(text: str) -> tuple[str, str]:
    field, _, column = text.partition("=")
    if not field or not column:
        raise BadInputError(f"'--map {text}' cannot be read.", "Write --map doc_id=PMID.")
    return field, column


def _run_import(explorer: Explorer, request: ImportRequest) -> None:
    with advancing("documents", "checking") as tell, stop_requested() as stopped:
        report = explorer.library.import_here(request, tell, stopped, "the command line")
    say(report.warnings, "Warning")
    show(report, _import_line(report, _title(explorer, report.corpus)))
    if report.cancelled:
        sys.exit(130)


def _title(explorer: Explorer, name: str) -> str:
    return explorer.library.titles().get(name, name)


def _import_line(report: ImportReport, title: str) -> str:
    if report.cancelled:
        return (
            f"Stopped after {counted(report.read, 'document')}; '{title}' holds "
            f"{report.documents:,}. Run the same command again to go on."
        )
    return f"'{title}' holds {counted(report.documents, 'document')}: {report.done}"


@command()
def update(name: str) -> None:
    """Query the services of corpus NAME again, and add what is new.

    Unchanged documents keep their vectors, changed ones are replaced, and none is removed.
    """
    explorer = open_explorer()
    request = ImportRequest(explorer.library.sources_to_update(name), name)
    _run_import(explorer, request)


@command()
def corpora() -> None:
    """List the corpora of this home."""
    from engine.search.reports import corpus_report

    library = open_explorer().library
    infos = library.corpora()
    rows = []
    for info in infos:
        state = "" if info.state == "ready" else f"({info.state}: {info.expected:,} expected)"
        rows.append((info.title, info.documents, Figure(size(info.bytes)), info.encoder, state))
    listed = table(("", "documents", "size", "encoder", ""), rows)
    hints = [] if infos else ["No corpus yet. Try: seedlens import PATH"]
    for info in infos:
        if info.state == "indexing" and library.jobs.running(info.name) is None:
            again = import_command(info.source, info.title)
            hints.append(f"{info.title} is not complete. Import it again: {again}")
    show([*map(corpus_report, infos)], listed, hints=hints)


@command()
def rename(name: str, new_name: str) -> None:
    """Give corpus NAME another name.

    Judgments, trails, builds, evaluations and links follow: they go by its first name, which
    keeps leading to it.
    """
    explorer = open_explorer()
    before = _title(explorer, name)
    explorer.library.rename(name, new_name)
    now = _title(explorer, name)
    show({"corpus": name, "title": now}, f"'{before}' is now called '{now}'.")


@command()
def edit(name: str, doc_id: str, *, fields: tuple[str, ...] = ()) -> None:
    """Change fields of document DOC_ID of corpus NAME, which alone is encoded again.

    To take it back: seedlens import NAME --undo (not with an object store).

    Options:
        fields --set FIELD=VALUE: title, text, year, authors (semicolons between), url, or any of
            the metadata; no VALUE removes it. Repeatable.
    """
    pairs = [field.partition("=") for field in fields]
    if not pairs or not all(field and mark for field, mark, _ in pairs):
        raise BadInputError("There is no change.", "Write --set year=2024, or --set venue=ACL.")
    changed = {field: value for field, _, value in pairs}
    explorer = open_explorer()
    explorer.library.edit(name, doc_id, changed)
    report = {"corpus": name, "doc_id": doc_id, "changed": changed}
    show(report, f"{', '.join(changed)} of '{doc_id}' in '{_title(explorer, name)}' changed.")


# -- lenses --------------------------------------------------------------------------------------


@click.group("lens")
def lens_() -> None:
    """Lenses: the sets of aspects that corpora are explored through.

    For a lens of your own, print one with show, change the file, and pass its path to
    import --lens or to lens set.
    """


@command(lens_, "list")
def list_lenses() -> None:
    """List the lenses that come with SeedLens."""
    from engine.lenses.definitions import SHIPPED

    rows = [(lens.key, lens.name, [aspect.key for aspect in lens.aspects]) for lens in SHIPPED]
    report = [{"key": key, "name": name, "aspects": keys} for key, name, keys in rows]
    show_rows(report, ("", "", ""), [(key, name, ", ".join(keys)) for key, name, keys in rows])


@command(lens_, "show")
def show_lens(key: Annotated[str, "KEY|FILE"]) -> None:
    """Print a lens as a file to start from: TOML, or JSON with --json.

    KEY is research, conversations or posts; a FILE is checked, and printed with its defaults.
    """
    from engine.lenses.definitions import choose_lens, lens_to_toml

    chosen = choose_lens(key)
    show(chosen, lens_to_toml(chosen).rstrip("\n"))


@command(lens_, "set")
def set_lens(corpus: str, key: Annotated[str, "KEY|FILE"]) -> None:
    """Change the lens of CORPUS without encoding it again.

    Roles that the source gave are kept for aspects that both lenses have; the others are
    estimated. A change that is stopped leaves the corpus as before. The maps are computed again.
    """
    from engine.lenses.definitions import choose_lens

    chosen = choose_lens(key)
    explorer = open_explorer()
    with advancing("documents", "checking") as tell:
        changed = explorer.library.set_lens(corpus, chosen, tell)
    if changed and explorer.settings.maps:
        with advancing("documents", "mapping") as tell, stop_requested() as stopped:
            explorer.maps.build(corpus, tell, stopped)
    aspects = [aspect.key for aspect in chosen.aspects]
    names = ", ".join(aspect.name for aspect in chosen.aspects)
    line = f"{corpus} {'now has' if changed else 'already has'} the lens '{chosen.name}': {names}."
    report = {"corpus": corpus, "lens": chosen.key, "aspects": aspects, "changed": changed}
    show(report, line)
