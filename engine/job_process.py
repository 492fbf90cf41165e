"""The process of one import: ``python -m engine.job_process ID``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path

from engine.config import Settings
from engine.errors import BadInputError
from engine.jobs.imports import ImportJobs
from engine.types.callbacks import Ask, Tell
from engine.types.corpora import ImportReport, ImportRequest
from storage.home import Home, keep_files_private
from storage.ledger import Ledger

NICENESS = 5
"""Searching in the app comes before indexing when both want the processor."""


def main(id_: str) -> int:
    """Run a job; the exit status is 0 when it is done or was cancelled."""
    keep_files_private()
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    logging.basicConfig(format="%(asctime)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    settings = Settings()
    home, url = Home(settings.home), settings.ledger_url.get_secret_value()
    jobs = ImportJobs(home, Ledger(home.ledger, settings.ledger_wait_seconds, url).jobs)
    owner = jobs.job(id_).owner

    def work(request: ImportRequest, tell: Tell, stopped: Ask) -> ImportReport:
        from engine.explorer import Explorer  # late: what it raises is noted as the job's error

        if owner:
            _check_place(request)
        return Explorer(settings).library.import_documents(request, tell, stopped)

    job = jobs.run(id_, work, asked.is_set)
    return 1 if job.state == "failed" else 0


def _check_place(request: ImportRequest) -> None:
    """Raise BadInputError where somebody's file has become a link since they were allowed to import
    it; the path of a job has none in it."""
    source = request.source
    if isinstance(source, Path) and source.exists() and source.resolve() != source:
        raise BadInputError(
            f"{source} leads elsewhere since its import was asked for.", "Start the import again."
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
