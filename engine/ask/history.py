"""Questions that were asked, with their answers, as the ledger keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from engine.errors import UnknownNameError
from engine.types.jobs import Job, JobState
from engine.types.reading import Answer, AskedQuestion, AskJob, AskRequest
from storage.trails import Asked, AskedRow

MOST_LISTED = 100
"""Questions of a history."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """What is stored of an answer beside the columns of its row."""

    request: AskRequest
    answer: Answer
    error: str = ""
    remedy: str = ""
    seconds: float = 0.0


_FORM = TypeAdapter(_Stored)


class History:
    """The questions of one home. Safe to share between threads and processes."""

    def __init__(self, rows: Asked) -> None:
        self._rows = rows

    def keep(self, job: AskJob) -> None:
        """Keep an answer that has ended; the passages that it rests on are kept with it."""
        stored = _Stored(job.request, job.progress, job.error, job.remedy, job.seconds)
        row = AskedRow(
            asked_id=job.id,
            owner=job.owner,
            corpus=job.request.corpus,
            question=job.request.question,
            state=job.state,
            answer=_FORM.dump_json(stored, fallback=str).decode(),
            time=datetime.now(UTC),
        )
        self._rows.put(row)

    def find(self, asked_id: str) -> AskJob:
        """An answer as it was when it had ended."""
        row = self._rows.find(asked_id)
        if row is None:
            raise UnknownNameError(
                "This answer is not stored here.",
                "Links to answers work only with the home that they were made in. Ask again.",
            )
        try:
            stored = _FORM.validate_json(row.answer)
        except ValidationError as error:
            raise UnknownNameError(
                "This answer was stored by another version of SeedLens.", "Ask again."
            ) from error
        return Job(
            id=row.asked_id,
            request=stored.request,
            state=_state(row.state),
            progress=stored.answer,
            report=stored.answer.report,
            error=stored.error,
            remedy=stored.remedy,
            owner=row.owner,
            seconds=stored.seconds,
        )

    def list(self, owner: str) -> list[AskedQuestion]:
        """Somebody's questions, the newest first."""
        return [
            AskedQuestion(row.asked_id, row.corpus, row.question, _state(row.state), row.time)
            for row in self._rows.latest(owner, MOST_LISTED)
        ]

    def remove(self, asked_id: str) -> None:
        """Forget a question and its answer."""
        self._rows.remove(asked_id)


def _state(stored: str) -> JobState:
    return "done" if stored == "done" else "cancelled" if stored == "cancelled" else "failed"
