"""An import as its file in the home has it, and whether the process behind it is still there."""

from __future__ import annotations

import json
import logging
import os
import platform
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.types.corpora import (
    ImportJob,
    ImportReport,
    ImportRequest,
    NamedDataset,
    Progress,
    Repairs,
    ServiceQueries,
)
from engine.types.lenses import Lens
from storage.errors import StorageError
from storage.files import write_whole
from storage.home import Home

if TYPE_CHECKING:
    from storage.postgres import SharedJobs

_PLAIN = ("id", "state", "error", "remedy", "owner", "started_at", "updated_at", "pid", "host")
HOST = platform.node()
"""A process is known by its number on its own machine only."""


SECONDS_BETWEEN_WRITES = 0.2
log = logging.getLogger("seedlens.jobs")


def write_job(path: Path, job: ImportJob, shared: SharedJobs | None = None) -> None:
    """Replace the file at once: a reader finds the old state or the new one, never half of it.

    Args:
        shared: where other machines find it.
    """
    request: ImportRequest = job.request
    source = request.source
    asked = source.queries if isinstance(source, ServiceQueries) else ()
    dataset = source.name if isinstance(source, NamedDataset) else ""
    data = {name: getattr(job, name) for name in (*_PLAIN, "pid_started")} | {
        "corpus": request.name,
        "path": "" if asked or dataset else _home_of(path).relative(str(source)),
        "queries": [asdict(query) for query in asked],
        "dataset": dataset,
        "source_format": request.source_format,
        "mapping": dict(request.mapping or {}),
        "encoder": request.encoder,
        "lens": None if request.lens is None else asdict(request.lens),
        "repairs": asdict(request.repairs),
        "progress": asdict(job.progress),
        "report": None if job.report is None else asdict(job.report),
    }
    text = json.dumps(data, ensure_ascii=False, indent=1)
    write_whole(path, text)
    if shared is not None:
        shared.put(job.id, text)


@dataclass
class Note:
    """Writes the state of a job to its file, a few times a second at most."""

    file: Path
    job: ImportJob
    shared: SharedJobs | None = None
    _written: float = field(default=0.0)

    def tell(self, progress: Progress) -> None:
        """Note how far the import is."""
        new_phase = progress.phase != self.job.progress.phase
        self.job = replace(self.job, progress=progress)
        if new_phase or time.monotonic() - self._written >= SECONDS_BETWEEN_WRITES:
            self.write()

    def write(self) -> None:
        """Put the job into its file; a disk that is full is the import's to report, not ours."""
        self.job = replace(self.job, updated_at=datetime.now(UTC).isoformat())
        try:
            write_job(self.file, self.job, self.shared)
        except (OSError, StorageError) as error:
            log.warning("The progress could not be noted: %s", error)
        self._written = time.monotonic()


def read_job(path: Path) -> ImportJob:
    """The import in a file.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not an import as :func:`write_job` writes it, or an earlier version did.
    """
    return parsed_job(path.read_text(encoding="utf-8"), path.name, _home_of(path))


def parsed_job(text: str, name: str, home: Home) -> ImportJob:
    """The import that a text holds; ValueError as :func:`read_job`."""
    try:
        return _job(json.loads(text), home)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{name} is not the file of a job: {error!r}") from error


def _home_of(path: Path) -> Home:
    """The home whose folder of jobs holds a file."""
    return Home(path.parent.parent)


def _job(data: Mapping[str, Any], home: Home) -> ImportJob:
    if data["id"] is None or data["state"] not in ("running", "done", "cancelled", "failed"):
        raise ValueError(f"state {data['state']!r}")
    lens, report = data["lens"], data["report"]
    if report is not None:
        report = ImportReport(**report | {"warnings": tuple(map(str, report["warnings"]))})
    progress = Progress(**data["progress"])
    return ImportJob(
        **{"owner": "", **{name: data[name] for name in _PLAIN if name in data}},
        pid_started=data["pid_started"],
        request=ImportRequest(
            _source(data, home),
            data["corpus"],
            data["source_format"],
            data["mapping"],
            data["encoder"],
            None if lens is None else Lens.from_fields(lens),
            Repairs.from_fields(data.get("repairs")),
        ),
        progress=progress,
        report=report,
        seconds=progress.seconds,
    )


def _source(data: Mapping[str, Any], home: Home) -> Path | ServiceQueries | NamedDataset:
    if queries := data.get("queries"):  # files of earlier versions know no services
        return ServiceQueries.from_fields(queries)
    if dataset := data.get("dataset"):
        return NamedDataset(str(dataset))
    return Path(home.located(data["path"]))


def process_started(pid: int) -> str | None:
    """When a process began, as the kernel counts (ticks since boot); None where it cannot be told.

    Pid and start together name a process for good: a pid alone is given out again.
    """
    fields_ = _stat(pid)
    return fields_[19] if fields_ else None


def process_runs(pid: int, started: str | None) -> bool:
    """Whether the process ``pid`` that began at ``started`` is still at work."""
    if Path("/proc/self/stat").exists():
        stat = _stat(pid)
        # A zombie has ended; its parent (the app) has only not asked for the outcome yet.
        return bool(stat) and stat[0] not in "ZX" and started in (None, stat[19])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/<pid>/stat`` from the state on (number 3 in proc(5)); empty: no process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name before it may hold spaces and brackets


def stop_flag(file: Path) -> Path:
    """The file whose being there asks a job to stop."""
    return file.with_suffix(".stop")


def is_to_stop(flag: Path, shared: SharedJobs | None) -> bool:
    """Whether somebody asked a job to stop, by its flag or from another machine."""
    return flag.exists() or (shared is not None and shared.is_to_stop(flag.stem))


def running(shared: SharedJobs | None, id_: str) -> AbstractContextManager[None]:
    """Have other machines see that this process works on a job."""
    return nullcontext() if shared is None else shared.running(id_)
