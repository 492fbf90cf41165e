"""The process of one import: ``python -m engine.job_process FILE``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import SeedLensError
from engine.jobs.job_files import process_started, read_job, stop_flag, write_job
from engine.types.corpora import ImportJob, Progress
from engine.types.jobs import JobState

log = logging.getLogger("seedlens.jobs")

SECONDS_BETWEEN_WRITES = 0.2
NICENESS = 5
"""Searching in the app comes before indexing when both want the processor."""


@dataclass
class Note:
    """Writes the state of a job to its file, a few times a second at most."""

    file: Path
    job: ImportJob
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
            write_job(self.file, self.job)
        except OSError as error:
            log.warning("The progress could not be noted: %s", error)
        self._written = time.monotonic()


def work(note: Note, stopped: Callable[[], bool]) -> ImportJob:
    """Do the import of a job and note its outcome, whatever it is."""
    job = note.job
    try:
        # Late: the databases take seconds to load, and the file should have our pid by then.
        from engine.explorer import Explorer

        report = Explorer().library.import_documents(job.request, note.tell, stopped)
        state: JobState = "cancelled" if report.cancelled else "done"
        note.job = replace(note.job, state=state, report=report)
    except SeedLensError as error:
        note.job = replace(note.job, state="failed", error=error.message, remedy=error.remedy)
    except Exception as error:
        log.exception("The import failed in a way that SeedLens does not know")
        note.job = replace(
            note.job,
            state="failed",
            error=f"Something went wrong in SeedLens itself ({type(error).__name__}).",
            remedy=f"The details are in {note.file.with_suffix('.log')}.",
        )
    stop_flag(note.file).unlink(missing_ok=True)
    note.write()
    return note.job


def main(file: Path) -> int:
    """Run the job in ``file``; the exit status is 0 when it is done or was cancelled."""
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    logging.basicConfig(format="%(asctime)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    pid = os.getpid()
    note = Note(file, replace(read_job(file), pid=pid, pid_started=process_started(pid)))
    note.write()
    job = work(note, lambda: asked.is_set() or stop_flag(file).exists())
    return 1 if job.state == "failed" else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
