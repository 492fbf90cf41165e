"""Jobs in threads: of people who start the same at once, one begins it; how a job ended is told."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from engine.errors import BadInputError, CorpusBusyError, UnknownNameError
from engine.jobs.runner import UNEXPECTED, CancelledWorkError, JobRunner
from engine.types.jobs import Job
from tests.support import ended

PEOPLE = 8


@dataclass(frozen=True)
class Done:
    stopped: str = ""


def wait(tell, cancelled):
    """Goes on until it is cancelled."""
    tell(1)
    while not cancelled():
        time.sleep(0.005)
    return Done("cancelled")


def start(jobs):
    return jobs.start("waiting", wait, 0, request="to wait", owner="Ada")


def test_of_many_who_start_the_same_at_once_one_begins_it():
    jobs, ready = JobRunner(), threading.Barrier(PEOPLE)

    def person(_):
        ready.wait()
        return start(jobs)

    with ThreadPoolExecutor(PEOPLE) as people:
        (job_id,) = set(people.map(person, range(PEOPLE)))
    assert jobs.running("waiting") == job_id
    assert jobs.start("another", wait, 0) != job_id, "another key is other work"
    with pytest.raises(CorpusBusyError, match="Something else is waited for"):
        jobs.start("waiting", wait, 0, request="otherwise", busy="Something else is waited for.")
    jobs.cancel(job_id)
    assert jobs.result(job_id) == Done("cancelled")
    other = start(jobs)
    assert other != job_id
    jobs.cancel(other)
    with pytest.raises(UnknownNameError, match="not known any more"):
        jobs.job("nothing")


def test_a_job_tells_what_was_asked_by_whom_and_how_far_it_is():
    jobs = JobRunner()
    job_id = start(jobs)
    job = ended(lambda: jobs.job(job_id), enough=lambda job: job.progress == 1)
    assert (job.request, job.owner, job.state, job.report) == ("to wait", "Ada", "running", None)
    jobs.cancel(job_id)
    assert jobs.running("waiting") is None, "what is stopping is not gone on with"
    job = ended(lambda: jobs.job(job_id))
    assert (job.state, job.report) == ("cancelled", Done("cancelled"))
    assert jobs.latest("waiting") == job
    jobs.dismiss(job_id)
    assert jobs.latest("waiting") is None


@pytest.mark.parametrize(
    ("error", "state", "says"),
    [
        (BadInputError("It is too long.", "Cut it."), "failed", ("It is too long.", "Cut it.")),
        (CancelledWorkError(), "cancelled", ("", "")),
        (RuntimeError("boom"), "failed", (UNEXPECTED, "")),
    ],
)
def test_work_that_raises_ends_its_job_with_words_for_it(error, state, says):
    jobs = JobRunner()

    def work(*_):
        raise error

    job_id = jobs.start("broken", work, 0)
    job: Job[int, Done] = ended(lambda: jobs.job(job_id))
    assert (job.state, (job.error, job.remedy), job.report) == (state, says, None)
    with pytest.raises(type(error)):
        jobs.result(job_id)
    assert jobs.running("broken") is None
