"""Work that goes on while nobody looks at it, as it stands at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

JobState = Literal["running", "done", "cancelled", "failed", "interrupted", "elsewhere"]
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Job(Generic[P, R]):
    """One job.

    Attributes:
        id: unique in the process (threads) or in the home (processes).
        request: what was asked for.
        state: ``interrupted`` means that its process is gone without having finished,
            ``elsewhere`` that another machine runs it, or did.
        progress: the latest that the work told.
        report: what the work returned; None while it runs, and where it failed.
        error, remedy: why it is neither running nor done, and what to do about it.
        owner: who started it; "" where nobody is logged in.
        seconds: since it started, until it ended.
        stopping: somebody cancelled it; it ends after the step at hand.
    """

    id: str
    request: Any
    state: JobState
    progress: P
    report: R | None = None
    error: str = ""
    remedy: str = ""
    owner: str = ""
    seconds: float = 0.0
    stopping: bool = False

    @property
    def running(self) -> bool:
        return self.state == "running"
