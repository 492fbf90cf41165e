"""The process of one import: ``python -m engine.job_process ID``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading

from engine.config import Settings
from engine.jobs.imports import ImportJobs
from engine.types.callbacks import Ask, Tell
from engine.types.corpora import ImportReport, ImportRequest
from storage.home import Home, keep_files_private
from storage.ledger import Ledger

NICENESS = 5  # Searching in the app comes before indexing when both want the processor


def main(id_: str) -> int:
    """Run a job; the exit status is 0 when it is done or was cancelled."""
    keep_files_private()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(format="%(asctime)s %(message)s")
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    settings = Settings()
    home, url = Home(settings.home), settings.ledger_url.get_secret_value()
    jobs = ImportJobs(home, Ledger(home.ledger, settings.ledger_wait_seconds, url))

    def work(request: ImportRequest, tell: Tell, cancelled: Ask) -> ImportReport:
        from engine.explorer import Explorer  # late: its errors are stored as the job's

        return Explorer(settings).library.import_documents(request, tell, cancelled)

    return 1 if jobs.run(id_, work, stop.is_set).state == "failed" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
