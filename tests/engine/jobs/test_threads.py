"""Jobs in the background: of people who start the same at once, one begins it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.jobs.threads import Background, Jobs, Work
from engine.types.callbacks import Ask

PEOPLE = 8


@dataclass(frozen=True)
class Done:
    stopped: str = ""


class Waiting(Work[int, Done]):
    """Goes on until it is cancelled."""


def begin() -> Waiting:
    work = Waiting(0)

    def wait(cancelled: Ask) -> Done:
        while not cancelled():
            time.sleep(0.005)
        return Done("cancelled")

    time.sleep(0.05)  # as long as reading a plan takes: all the others come meanwhile
    work.run = Background(wait)
    return work


def start(jobs: Jobs) -> tuple[str, bool]:
    return jobs.start_unless_running(Waiting, lambda _: True, begin)


def test_of_many_who_start_the_same_at_once_one_begins_it() -> None:
    jobs, ready = Jobs(), threading.Barrier(PEOPLE)

    def person(_: int) -> tuple[str, bool]:
        ready.wait()
        return start(jobs)

    with ThreadPoolExecutor(PEOPLE) as people:
        found = list(people.map(person, range(PEOPLE)))
    (job_id,) = {job_id for job_id, _ in found}
    assert sum(is_new for _, is_new in found) == 1
    assert jobs.running(Waiting, lambda _: True) == job_id
    jobs.cancel(job_id)
    assert jobs.get(job_id, Waiting).run.result() == Done("cancelled")
    other, is_new = start(jobs)
    assert is_new
    assert other != job_id
    jobs.cancel(other)
    with pytest.raises(UnknownNameError, match="not known any more"):
        jobs.get("nothing", Waiting)


def test_what_cannot_be_begun_is_not_there_and_leaves_room_for_the_next() -> None:
    jobs = Jobs()

    def broken() -> Waiting:
        raise BadInputError("no")

    with pytest.raises(BadInputError):
        jobs.start_unless_running(Waiting, lambda _: True, broken)
    assert jobs.running(Waiting, lambda _: True) is None
    job_id, is_new = start(jobs)
    assert is_new
    jobs.cancel(job_id)
