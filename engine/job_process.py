"""The process of one import: ``python -m engine.job_process FILE``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import Settings
from engine.errors import BadInputError, SeedLensError
from engine.jobs.job_files import (
    HOST,
    Note,
    is_to_stop,
    process_started,
    read_job,
    running,
    stop_flag,
)
from engine.types.corpora import ImportJob
from engine.types.jobs import JobState
from storage.home import Home, keep_files_private

if TYPE_CHECKING:
    from storage.postgres import SharedJobs

log = logging.getLogger("seedlens.jobs")

NICENESS = 5
"""Searching in the app comes before indexing when both want the processor."""


def work(note: Note, stopped: Callable[[], bool]) -> ImportJob:
    """Do the import of a job and note its outcome, whatever it is."""
    job = note.job
    try:
        # Late: the databases take seconds to load, and the file should have our pid by then.
        from engine.explorer import Explorer

        _check_place(job)
        with running(note.shared, job.id):
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


def _check_place(job: ImportJob) -> None:
    """Raise BadInputError where somebody's file has become a link since they were allowed to import
    it; the path of a job has none in it."""
    source = job.request.source
    there = isinstance(source, Path) and source.exists()
    if job.owner and there and source.resolve() != source:
        raise BadInputError(
            f"{source} leads elsewhere since its import was asked for.", "Start the import again."
        )


def main(file: Path) -> int:
    """Run the job in ``file``; the exit status is 0 when it is done or was cancelled."""
    keep_files_private()
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    logging.basicConfig(format="%(asctime)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    pid = os.getpid()
    started = process_started(pid)
    shared = _shared()
    note = Note(file, replace(read_job(file), pid=pid, pid_started=started, host=HOST), shared)
    note.write()
    job = work(note, lambda: asked.is_set() or is_to_stop(stop_flag(file), shared))
    return 1 if job.state == "failed" else 0


def _shared() -> SharedJobs | None:
    settings = Settings()
    url = settings.ledger_url.get_secret_value()
    if not url:
        return None  # what a ledger needs takes long to load
    from storage.ledger import Ledger

    return Ledger(Home(settings.home).ledger, settings.ledger_wait_seconds, url).jobs


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
