"""Pools being filled in the background: query by query, so that a stop costs one at most."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.errors import BadInputError, UnknownNameError
from engine.jobs.threads import Background, Jobs, Work
from engine.types.annotating import PoolFilled, PoolJob, PoolProgress, PoolRequest, Project
from engine.types.callbacks import Ask

Fill = Callable[[Project, PoolRequest, Sequence[str]], int]
"""Pools some queries of a project; returns how many (query, document, source) were new."""


@dataclass(slots=True)
class _Work(Work[PoolProgress, PoolFilled]):
    project: Project

    @property
    def place(self) -> tuple[str, str]:
        """Corpus and project."""
        return self.project.corpus, self.project.name

    def job(self, job_id: str) -> PoolJob:
        """What a page shows of it; never raises."""
        now = self.run.standing()
        return PoolJob(job_id, now.state, self.progress, now.report, now.error, now.remedy)


class Filling:
    """Fills pools while pages come and go. Safe to share between threads.

    Args:
        count: how many items a project's pool holds.
    """

    def __init__(self, fill: Fill, count: Callable[[Project], int]) -> None:
        self._fill, self._count, self._jobs = fill, count, Jobs()
        self._latest: dict[tuple[str, str], str] = {}

    def start(self, project: Project, request: PoolRequest, query_ids: Sequence[str]) -> str:
        """Pool these queries; returns the job's id.

        Raises:
            BadInputError: the project's pool is being filled already.
        """
        place = (project.corpus, project.name)

        def begin() -> _Work:
            work = _Work(PoolProgress(0, len(query_ids)), project)
            work.run = Background(lambda stop: self._perform(work, request, query_ids, stop))
            return work

        job_id, is_new = self._jobs.start_unless_running(_Work, lambda w: w.place == place, begin)
        if not is_new:
            raise BadInputError(
                f"The pool of '{project.name}' is being filled already.",
                "Wait until that is done, or cancel it.",
            )
        self._latest[place] = job_id
        return job_id

    def latest(self, project: Project) -> PoolJob | None:
        """The job that fills the project's pool, or did so last in this process."""
        job_id = self._latest.get((project.corpus, project.name))
        try:
            return None if job_id is None else self.job(job_id)
        except UnknownNameError:  # forgotten, as others came after it
            return None

    def job(self, job_id: str) -> PoolJob:
        """How far it is; UnknownNameError."""
        return self._jobs.get(job_id, _Work).job(job_id)

    def running(self, project: Project) -> str | None:
        """The id of the job that fills this project's pool now."""
        place = (project.corpus, project.name)
        return self._jobs.running(_Work, lambda w: w.place == place)

    def cancel(self, job_id: str) -> None:
        """End it after the query at hand; what is in the pool stays."""
        self._jobs.cancel(job_id)

    def _perform(
        self, work: _Work, request: PoolRequest, query_ids: Sequence[str], cancelled: Ask
    ) -> PoolFilled:
        started, before = time.perf_counter(), self._count(work.project)
        done = 0
        for query_id in query_ids:
            if cancelled():
                break
            self._fill(work.project, request, [query_id])
            done += 1
            seconds = time.perf_counter() - started
            work.note(replace(work.progress, done=done, seconds=seconds))
        return PoolFilled(
            done,
            len(query_ids) - done,
            self._count(work.project) - before,
            "cancelled" if done < len(query_ids) else "",
        )
