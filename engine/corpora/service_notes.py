"""Which services a corpus has documents from, noted beside its documents: it goes with them into
the trash, into a backup and to another lens."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.sources.services import service_of
from engine.types.sources import CorpusSource, ServiceQuery
from storage.files import write_whole

_FILE = "sources.json"


def sources_of(store: Path) -> tuple[CorpusSource, ...]:
    """The services whose documents lie in a folder, in the order in which they were first asked;
    a note that cannot be read is none."""
    found = []
    for note in _notes(store):
        with suppress(KeyError, TypeError, ValueError, AttributeError, OverflowError):
            found.append(_source(note))
    return tuple(found)


def note_source(store: Path, source: CorpusSource) -> None:
    """Put a service in, in the place of what was noted of the same query before."""
    others = {one.query.digest: one for one in sources_of(store)} | {source.query.digest: source}
    notes = [asdict(one) for one in others.values()]
    write_whole(store / _FILE, json.dumps(notes, ensure_ascii=False, indent=1))


def carry_sources(before: Path, after: Path) -> None:
    """Copy the notes of one folder to the folder that takes its place."""
    if sources := sources_of(before):
        notes = [asdict(one) for one in sources]
        write_whole(after / _FILE, json.dumps(notes, ensure_ascii=False, indent=1))


def _notes(store: Path) -> list[Any]:
    try:
        notes = json.loads((store / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return notes if isinstance(notes, list) else []


def _source(note: Any) -> CorpusSource:
    query = ServiceQuery.from_fields(note["query"])
    name = service_of(query.service).info.name
    documents, at = int(note["documents"]), str(note["updated_at"])[:40]
    return CorpusSource(query, name, documents, at, str(note.get("version", "")))
