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
from typing import Any, NamedTuple

PACKAGES = (
    *("torch", "transformers", "sentence-transformers", "pylate", "openvino"),
    *("lancedb", "duckdb", "numpy", "streamlit"),
)


@dataclass(frozen=True)
class Figure:
    """One measured number. Its target is for ``ratio`` where there is one, else for ``value``."""

    what: str
    value: float
    unit: str = ""
    note: str = ""
    least: float | None = None  # the target, a lower limit
    most: float | None = None  # the target, an upper limit
    ratio: float | None = None  # over `baseline`, measured in the same run
    baseline: str = ""

    @property
    def met(self) -> bool | None:
        """None without a target."""
        reached = self.value if self.ratio is None else self.ratio
        if self.most is not None:
            return reached <= self.most
        return None if self.least is None else reached >= self.least

    def row(self) -> list[str]:
        """Cells of the table."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} x {self.baseline}"
        limit, sign = (self.least, "≥") if self.most is None else (self.most, "≤")
        target = "" if limit is None else f"{sign} {limit:g}{' x' * (self.ratio is not None)}"
        met = {None: "", True: "met", False: "NOT MET"}[self.met]
        return [self.what, f"{number(self.value)} {self.unit}".strip(), ratio, target, met]


def spread(
    what: str,
    values: Sequence[float],
    unit: str,
    *,
    median: float | None = None,
    p95: float | None = None,
    note: str = "",
) -> list[Figure]:
    """Median and 95th percentile of values; `median`, `p95`: upper limits of them."""
    ordered = sorted(values)  # the smallest value that 95 % of all do not exceed
    high = ordered[min(len(ordered) - 1, max(0, round(0.95 * len(ordered)) - 1))]
    return [
        Figure(f"{what}: median", statistics.median(values), unit, note, most=median),
        Figure(f"{what}: 95th percentile", high, unit, most=p95),
    ]


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


def as_json(part: str, figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """The figures of one part for ``--json``."""
    return [{"part": part, **asdict(f), "met": f.met} for f in figures]


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes, once."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class Seconds(NamedTuple):
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
        name: Seconds(*(statistics.median(one) for one in zip(*values, strict=True)))
        for name, values in taken.items()
    }


def peak_memory() -> int:
    """Most bytes of memory that this process has held (ru_maxrss would count its parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def machine() -> dict[str, Any]:
    """What the figures are measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    installed = {d.name: d.version for d in importlib.metadata.distributions()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": next(names, "unknown"),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "load": [round(x, 2) for x in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: installed[name] for name in PACKAGES if name in installed},
    }
