"""What this visit asked a model for: a page that is opened again, or reloaded, finds it.

Jobs run in the server, whether or not a page shows them. Which one belongs to which request is
kept for the visit; answers are in the ledger for good.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import streamlit as st

from engine.errors import NotAllowedError, UnknownNameError
from engine.types.jobs import Job
from pages._common.visit_memory import memory
from pages._login import login

Key = TypeVar("Key", bound=Hashable)


class VisitJobs(Generic[Key]):
    """The last job of each request of this visit.

    Args:
        name: begins the keys under which they are remembered.
        job_of: the job with an id; raises UnknownNameError where it cannot be shown any more.
        cancel: ends a job by its id.
    """

    def __init__(
        self, name: str, job_of: Callable[[str], Job[Any, Any]], cancel: Callable[[str], object]
    ) -> None:
        self._job_of, self.cancel = job_of, cancel
        self._ids: dict[Key, str] = memory().setdefault(f"{name}_jobs", {})
        self._recalled: set[Key] = st.session_state.setdefault(f"{name}_recalled", set())

    def find(self, key: Key) -> Job[Any, Any] | None:
        """The job as it is now, None where there is none."""
        job_id = self._ids.get(key)
        if job_id is None:
            return None
        try:
            return self._job_of(job_id)
        except UnknownNameError:  # the server keeps the latest only, and those of corpora as now
            with suppress(NotAllowedError):  # of somebody else, who may look at it
                self.cancel(job_id)  # nobody can look at it any more; its answers are kept
            self._ids.pop(key, None)
            self._recalled.discard(key)
            return None

    def keep(self, key: Key, job_id: str | None) -> Job[Any, Any] | None:
        """Keep the id of a request's job; returns the job, None for None."""
        if job_id is None:
            return None
        self._ids[key] = job_id
        return self.find(key)

    def recall(self, key: Key, ask: Callable[[], str | None]) -> Job[Any, Any] | None:
        """What comes of answers in the ledger alone; looked for once per tab. ``ask``: the id of
        the job, None where an answer is missing."""
        if key in self._recalled:
            return None
        job_id = ask()
        self._recalled.add(key)  # only now: a click meanwhile ends this run of the page
        return self.keep(key, job_id)

    def others_running(self, shown: Job[Any, Any] | None) -> list[Job[Any, Any]]:
        """What this visit asked for and may end, is under way, and is not shown."""
        jobs = [self.find(key) for key in list(self._ids)]
        who = login.acting()
        return [
            j
            for j in jobs
            if j and j.running and who.may_end(j.owner) and (shown is None or j.id != shown.id)
        ]
