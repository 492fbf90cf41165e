"""A job as its file in the home has it, and whether the process behind it is still there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from engine.types.corpora import ImportReport, Job, Progress


def write_job(path: Path, job: Job) -> None:
    """Replace the file at once: a reader finds the old state or the new one, never half of it."""
    # The process id keeps the app and the job from writing the same temporary file.
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(json.dumps(asdict(job), ensure_ascii=False, indent=1), encoding="utf-8")
    os.replace(beside, path)  # noqa: PTH105 - the point is the system call of that name


def read_job(path: Path) -> Job:
    """The job in a file.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not a job as :func:`write_job` writes it.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _job({f.name: data[f.name] for f in fields(Job)})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path.name} is not the file of a job: {error!r}") from error


def _job(data: dict[str, Any]) -> Job:
    if data["id"] is None or data["state"] not in ("running", "done", "cancelled", "failed"):
        raise ValueError(f"state {data['state']!r}")
    report = data.pop("report")
    return Job(
        **_without(data, "progress"),
        progress=Progress(**data["progress"]),
        report=None
        if report is None
        else ImportReport(**report | {"warnings": tuple(map(str, report["warnings"]))}),
    )


def _without(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


def process_started(pid: int) -> str | None:
    """When a process began, as the kernel counts (ticks since boot); None where it cannot be told.

    Pid and start together name a process for good: a pid alone is given out again.
    """
    fields_ = _stat(pid)
    return fields_[19] if fields_ else None


def process_runs(pid: int, started: str | None) -> bool:
    """Whether the process ``pid`` that began at ``started`` is still at work."""
    if Path("/proc/self/stat").exists():
        stat = _stat(pid)
        # A zombie has ended; its parent (the app) has only not asked for the outcome yet.
        return bool(stat) and stat[0] not in "ZX" and started in (None, stat[19])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str]:
    """Fields of ``/proc/<pid>/stat`` from the state on (number 3 in proc(5)); empty: no process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name before it may hold spaces and brackets


def stop_flag(file: Path) -> Path:
    """The file whose being there asks a job to stop."""
    return file.with_suffix(".stop")
