"""Work that goes on while nobody looks at it, as it stands at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

JobState = Literal["running", "done", "cancelled", "failed", "interrupted"]
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Job(Generic[P, R]):
    """One job."""

    id: str  # unique in the process (threads) or in the home (processes)
    request: Any  # what was asked for
    state: JobState  # `interrupted`: its process is gone
    progress: P  # the latest
    report: R | None = None  # what the work returned; None while it runs, and where it failed
    error: str = ""  # error, remedy: why it is neither running nor done, and what to do about it
    remedy: str = ""
    owner: str = ""  # who started it; "" where nobody is logged in
    seconds: float = 0.0  # since it started, until it ended
    stopping: bool = False  # somebody cancelled it; it ends after the step at hand

    @property
    def running(self) -> bool:
        return self.state == "running"
