"""What a benchmark yields: figures with their baseline and target, and the table of them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PACKAGES = (
    *("torch", "transformers", "sentence-transformers", "pylate", "openvino"),
    *("lancedb", "duckdb", "numpy", "streamlit"),
)


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes:
        baseline: what ``ratio`` is over, measured in the same run.
        target: the number to reach; of ``ratio`` where there is one, else of ``value``.
        at_least: True when more is better, False when the target is an upper limit.
    """

    part: str
    what: str
    value: float
    unit: str
    ratio: float | None = None
    baseline: str = ""
    target: float | None = None
    at_least: bool = True
    note: str = ""

    @property
    def met(self) -> bool | None:
        """None when there is no target."""
        if self.target is None:
            return None
        reached = self.value if self.ratio is None else self.ratio
        return reached >= self.target if self.at_least else reached <= self.target

    def row(self) -> list[str]:
        """Cells of the table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} x {self.baseline}"
        target = ""
        if self.target is not None:
            sign, times = "≥" if self.at_least else "≤", " x" if self.ratio is not None else ""
            target = f"{sign} {self.target:g}{times}"
        met = {None: "", True: "met", False: "NOT MET"}[self.met]
        return [self.what, f"{number(self.value)} {self.unit}".strip(), ratio, target, met]


def number(value: float) -> str:
    """Few digits, but all nines of a cosine."""
    if value and abs(value) < 1.01:
        return f"{value:.5f}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def table(figures: Sequence[Figure]) -> str:
    """The figures of one part, notes below."""
    head = ["what", "figure", "ratio", "target", ""]
    rows = [head, *(f.row() for f in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("-" * w for w in widths))
    notes = dict.fromkeys(f"  {f.what}: {f.note}" for f in figures if f.note)
    return "\n".join([line.rstrip() for line in lines] + list(notes))


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """For ``--json``."""
    return [{**asdict(f), "met": f.met} for f in figures]


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes, once."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@dataclass(frozen=True)
class Seconds:
    """What some work took: on the wall, and of all cores together."""

    wall: float
    cpu: float


def rounds(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, Seconds]:
    """Medians of each; taken in turns, so that a busy minute slows them all."""
    taken: dict[str, list[Seconds]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            cpu = time.process_time()
            wall = timed(work)
            taken[name].append(Seconds(wall, time.process_time() - cpu))
            print(f"  {name}: {wall:.1f} s", file=sys.stderr)
    return {
        name: Seconds(statistics.median(v.wall for v in values),
                      statistics.median(v.cpu for v in values))
        for name, values in taken.items()
    }  # fmt: skip


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that ``share`` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def peak_memory() -> int:
    """Most bytes of memory that this process has held."""
    try:
        # ru_maxrss of a child begins with its parent's peak; VmHWM begins anew.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(_memory() / 2**30, 1),
        "load": [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
