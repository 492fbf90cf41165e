"""What is imported from elsewhere: files that came in through the browser, and what services on the
internet send, which is retrieved into the home first."""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from engine.corpora.importing import Importer
from engine.corpora.registry import adding, store_of
from engine.errors import BadInputError
from engine.ingest import open_source
from engine.ingest.source import found_abstracts
from engine.lenses.definitions import RESEARCH
from engine.sources.client import FIELDS
from engine.sources.datasets import fetch_dataset
from engine.sources.json_services import FIRST, NAMES, SECOND, abstracts_page
from engine.sources.services import (
    Retrieval,
    Retrieved,
    client_of,
    nothing_found,
    service_of,
    warnings_of,
)
from engine.types.callbacks import Ask, Tell
from engine.types.corpora import (
    CorpusSource,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Progress,
    Repairs,
    ServiceQueries,
    ServiceQuery,
)
from engine.types.limits import MEGABYTE, UPLOAD_BYTES
from storage.files import file_errors, write_whole
from storage.home import Home, check_corpus_name
from storage.locks import alone
from storage.removal import changed_at, delete, delete_unused

MAPPING = {name: name for name in FIELDS} | {"sentences": "", "roles": ""}
"""Columns of what is retrieved, whatever else a service sends."""
KEPT = timedelta(days=30)  # How long what was retrieved stays that nobody imported
_FILE, _SOURCES = "sources.json", TypeAdapter(tuple[CorpusSource, ...])
"""Beside the documents of a corpus: they go into the trash, a backup and another lens together."""


@dataclass(frozen=True)
class Imports(Importer):
    """Imports from files, services and data sets."""

    def import_any(self, request: ImportRequest, on_progress: Tell, cancelled: Ask) -> ImportReport:
        """Import from any source, or continue an import that was stopped."""
        if isinstance(request.source, ServiceQueries):
            return self.import_all(request, request.source.queries, on_progress, cancelled)
        if isinstance(request.source, NamedDataset):
            return self.import_dataset(request, request.source.name, on_progress, cancelled)
        if request.repairs.fill_abstracts:
            return self.import_filled(request, on_progress, cancelled)
        return self.run(request, on_progress, cancelled)

    def import_all(
        self,
        request: ImportRequest,
        queries: Sequence[ServiceQuery],
        on_progress: Tell,
        cancelled: Ask,
    ) -> ImportReport:
        """Import from each service in turn; stopped and run again, it goes on where it was."""
        check_corpus_name(request.name)
        self.home.create()
        report = self._import(request, queries[0], on_progress, cancelled)
        for query in queries[1:]:
            if not report.cancelled:
                one = self._import(request, query, on_progress, cancelled)
                report = _together(report, one)
        return report

    def import_filled(
        self, request: ImportRequest, on_progress: Tell, cancelled: Ask
    ) -> ImportReport:
        """Import a file; abstracts that its documents lack are looked up by their DOIs first, at
        OpenAlex and Crossref. Stopped and run again, it goes on where it was."""
        check_corpus_name(request.name)
        source = open_source(
            *(request.source, request.source_format, request.mapping),
            lens=request.lens or RESEARCH,
            repairs=request.repairs,
        )
        # These two signs part the DOIs of a request.
        dois = tuple(doi for doi in source.dois_without_text() if not {",", "|"} & set(doi))
        if not dois:
            return self.run(request, on_progress, cancelled)
        self.home.create()
        query = ServiceQuery(FIRST.info.key, ids=dois, limit=len(dois))
        folder = self.home.retrieved / f"{request.name}-{query.digest}"
        busy = "The same abstracts are being looked up by another process."
        with alone(folder.with_suffix(".lock"), busy, "Wait until it is done, or cancel it."):
            retrieval = Retrieval(folder, NAMES, query.limit)
            state = self._looked_up(retrieval, query, on_progress, cancelled)
            if state.stopped:
                return self._stopped(request.name, state.documents)
            repairs = replace(request.repairs, abstracts=str(retrieval.file))
            report = self.run(replace(request, repairs=repairs), on_progress, cancelled)
            found = len(found_abstracts(repairs.abstracts))
            if not report.cancelled:
                delete(folder)
        met = f"{NAMES} have {found:,} of the {len(dois):,} abstracts that were missing."
        return replace(report, warnings=(met, *report.warnings))

    def import_dataset(
        self, request: ImportRequest, name: str, on_progress: Tell, cancelled: Ask
    ) -> ImportReport:
        """Import the documents of a data set of ``ir_datasets``. Those without text stand by their
        title, unless the request says otherwise; the rest of them, and what is too long, is left
        out and counted."""
        check_corpus_name(request.name)
        on_progress(Progress("retrieving", 0, 0, 0.0))
        folder = fetch_dataset(self.home, name, on_progress, cancelled)
        if folder is None:
            return self._stopped(request.name)
        repairs = replace(
            request.repairs,
            title_as_text=not request.repairs.skip_empty,
            skip_empty=True,
            skip_broken=True,
        )
        request = replace(request, source=folder, repairs=repairs)
        return replace(self.run(request, on_progress, cancelled), encoding="")

    def _import(
        self, request: ImportRequest, query: ServiceQuery, on_progress: Tell, cancelled: Ask
    ) -> ImportReport:
        folder = self.home.retrieved / f"{request.name}-{query.digest}"
        name = service_of(query.service).info.name
        busy = f"{name} is being asked the same by another process."
        with alone(folder.with_suffix(".lock"), busy, "Wait until it is done, or cancel it."):
            retrieval = Retrieval(folder, name, query.limit)
            state = self._retrieved(retrieval, query, on_progress, cancelled)
            if state.stopped:
                return self._stopped(request.name, state.documents)
            if state.documents and (retrieval.has_abstracts() or not query.with_abstract):
                asked = _request(request, query, retrieval)
                report = self.run(asked, on_progress, cancelled)
            elif query.since:
                report = replace(self._stopped(request.name), cancelled=False)  # nothing is new
            else:
                delete(folder)
                raise nothing_found(state, name, query)
            if not report.cancelled:
                self._note(request.name, query, name, state, report.added)
                delete(folder)
        met = warnings_of(state, name, query)
        return replace(report, warnings=(*met, *report.warnings), encoding="")

    def _retrieved(
        self, retrieval: Retrieval, query: ServiceQuery, on_progress: Tell, cancelled: Ask
    ) -> Retrieved:
        on_progress(Progress("retrieving", 0, query.limit, 0.0))
        service = service_of(query.service)
        with client_of(query, self.settings, self.home, cancelled) as client:
            return retrieval.run(partial(service.page, client, query), on_progress, cancelled)

    def _looked_up(
        self, retrieval: Retrieval, query: ServiceQuery, on_progress: Tell, cancelled: Ask
    ) -> Retrieved:
        on_progress(Progress("retrieving", 0, query.limit, 0.0))
        also = replace(query, service=SECOND.info.key)
        clients = (client_of(one, self.settings, self.home, cancelled) for one in (query, also))
        with next(clients) as first, next(clients) as second:
            page = partial(abstracts_page, first, second, query)
            return retrieval.run(page, on_progress, cancelled)

    def _stopped(self, corpus: str, retrieved: int = 0) -> ImportReport:
        row = self.ledger.listed_corpus(corpus)
        stored = row.documents if row else 0
        return ImportReport(corpus, retrieved, 0, 0, 0, stored, 0.0, cancelled=True)

    def _note(
        self, corpus: str, query: ServiceQuery, name: str, state: Retrieved, added: int
    ) -> None:
        row = self.ledger.listed_corpus(corpus)
        if row is None:
            return
        store, whole = store_of(self.home, row), replace(query, since="")
        with adding(self.home, self.ledger, corpus):
            documents = state.documents
            if query.since:
                known = (one for one in sources_of(store) if one.query.digest == whole.digest)
                documents = added + next((one.documents for one in known), 0)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            # What a limit cut off has not come, and changes alone would not bring it.
            version = state.version if state.done and not state.shrank else query.since
            source = CorpusSource(whole, name, documents, now, version)
            others = {one.query.digest: one for one in sources_of(store)}
            _write_sources(store, {**others, whole.digest: source}.values())


def sweep_retrieved(home: Home) -> None:
    """Remove what was retrieved long ago and never imported."""
    for folder in home.retrieved.glob("*/"):
        since, lock = partial(changed_at, folder), alone(folder.with_suffix(".lock"), "", "")
        delete_unused(folder, since, KEPT, lock)


def sources_of(store: Path) -> tuple[CorpusSource, ...]:
    """The services whose documents lie in a folder, in the order of their first imports."""
    try:
        return _SOURCES.validate_json((store / _FILE).read_bytes())
    except (OSError, ValueError):
        return ()


def carry_sources(before: Path, after: Path) -> None:
    """Copy the services of one folder to the folder that takes its place."""
    if sources := sources_of(before):
        _write_sources(after, sources)


def forget_versions(store: Path) -> None:
    """Have the next update ask for all documents: changes alone would not bring undone ones."""
    if sources := sources_of(store):
        _write_sources(store, (replace(one, version="") for one in sources))


def _write_sources(store: Path, sources: Iterable[CorpusSource]) -> None:
    write_whole(store / _FILE, _SOURCES.dump_json(tuple(sources), indent=1))


def _request(request: ImportRequest, query: ServiceQuery, retrieval: Retrieval) -> ImportRequest:
    """The import of the file of what came."""
    return replace(
        request,
        source=retrieval.file,
        source_format="jsonl",
        mapping=MAPPING,
        repairs=Repairs(skip_empty=True, skip_broken=True, title_as_text=not query.with_abstract),
        origin=str(query),
    )


def _together(first: ImportReport, second: ImportReport) -> ImportReport:
    return replace(
        second,
        read=first.read + second.read,
        added=first.added + second.added,
        updated=first.updated + second.updated,
        unchanged=first.unchanged + second.unchanged,
        seconds=first.seconds + second.seconds,
        kept=Counter(first.kept) + Counter(second.kept),
        warnings=(*first.warnings, *second.warnings),
    )


# -- uploads ------------------------------------------------------------------------------

NAME_LENGTH, NAME_BYTES = 120, 200
"""Characters and bytes of an uploaded file's name that are kept; file systems allow 255 bytes."""
WAIT_SECONDS = 10.0
KEPT_DAYS = 30
"""How long an upload stays that no corpus was made of: somebody may still be looking at it."""


def save_upload(home: Home, name: str, content: bytes) -> Path:
    """Keep an uploaded file, once, under ``uploads/<beginning of its SHA-256>/<its name>``."""
    if len(content) > UPLOAD_BYTES:
        raise BadInputError(
            f"The file {name[:80]!r} has more than {UPLOAD_BYTES // MEGABYTE} MB.",
            "Put it on the server, and import it by its path.",
        )
    path = home.uploads / hashlib.sha256(content).hexdigest()[:16] / safe_name(name)
    busy = "Uploads are being removed by another process."
    with (
        alone(_lock(home), busy, "Try again.", WAIT_SECONDS),
        file_errors(path, f"Free some space in {home.uploads}."),
    ):
        if path.exists():
            os.utime(path)  # of use again
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, private=True)
    return path


def save_papers(home: Home, files: Sequence[tuple[str, bytes]]) -> Path:
    """Keep several uploaded PDFs as one zip, ``papers.zip``; returns where it lies."""
    packed = io.BytesIO()
    names: set[str] = set()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files:
            stem, ending = os.path.splitext(safe_name(name))  # noqa: PTH122 - a name, not a path
            free, number = stem, 1
            while free.casefold() in names:
                number += 1
                free = f"{stem}-{number}"
            names.add(free.casefold())
            archive.writestr(zipfile.ZipInfo(f"{free}{ending}"), content)
    return save_upload(home, "papers.zip", packed.getvalue())


def sweep_uploads(home: Home, sources: Callable[[], Collection[str]]) -> None:
    """Remove uploads that are older than ``KEPT_DAYS`` days and of no use any more."""
    for folder in home.uploads.glob("*/"):
        since = partial(_unused_since, folder, sources)
        delete_unused(folder, since, timedelta(days=KEPT_DAYS), alone(_lock(home), "", ""))


def _unused_since(folder: Path, sources: Callable[[], Collection[str]]) -> datetime | None:
    """When an upload was used last; None where a corpus was made of it."""
    files = list(folder.iterdir())
    used = {Path(source).resolve() for source in sources()}
    if not used.isdisjoint(path.resolve() for path in files):
        return None
    return max(filter(None, map(changed_at, files)), default=changed_at(folder))


def _lock(home: Home) -> Path:
    return home.uploads / ".lock"


def safe_name(name: str) -> str:
    """A file name that leads nowhere else; its ending, which tells the format, is kept.

    >>> safe_name("../../etc/Papers of 2020.CSV")
    'Papers of 2020.CSV'
    >>> safe_name("..")
    'upload'
    """
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w .()+-]", "_", last).strip(" .") or "upload"
    stem, ending = os.path.splitext(plain)  # noqa: PTH122 - a name, not a path
    ending = _cut(ending, NAME_LENGTH, NAME_BYTES)
    return _cut(stem, NAME_LENGTH - len(ending), NAME_BYTES - len(ending.encode())) + ending


def _cut(text: str, characters: int, most: int) -> str:
    """The beginning of a text that has so many characters and bytes at most."""
    return text[:characters].encode()[:most].decode(errors="ignore")
