"""What searches, wordings and a rerun of Explore cost, beside an older version.

Each version works on the documents as it imported them itself, in processes of their own
(:mod:`benchmarks.search_speed_worker`), in turns: a busy minute slows both.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.homes import CSFCUBE, cache, seedlens
from benchmarks.search_speed_worker import LARGE, VARIANTS
from engine.config import DEMO, DEMO_CORPUS, ROOT

BASELINE = "c5d6635"
"""The version before rankings were arrays."""
CPU_SHARE, WORDINGS_SHARE = 0.4, 0.5
"""Most CPU that a search or a rerun of Explore, and that five wordings side by side, may take of
what the baseline takes."""
ROUNDS = 3
UNKEPT = {"SEEDLENS_RESIDENT_MEGABYTES": "0"}
"""No vectors in memory."""
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""Threads that wait for each other would count as work."""
MEASURED = (
    ("search", "CPU per search, default system", CPU_SHARE),
    ("index", "CPU per search, default system, through the index", CPU_SHARE),
    ("late", "CPU per search, late interaction", CPU_SHARE),
    ("wordings", f"CPU of {VARIANTS} wordings side by side", WORDINGS_SHARE),
    ("rerun", "CPU per rerun of Explore, another steer", CPU_SHARE),
    ("same", "CPU per rerun of Explore, the same search", CPU_SHARE),
)


def measure(baseline: Path | None = None, large: Path | None = None) -> list[Figure]:
    """This version beside the baseline; no figures where the baseline is missing.

    `baseline`: a checkout of the version to compare with; None: of c5d6635, made in a temporary
    folder. `large`: a source of more than 20,000 documents, to search through the vector index
    besides (the older version imports it once, and long).
    """
    source, corpus = (CSFCUBE, "csfcube") if CSFCUBE.is_dir() else (DEMO, DEMO_CORPUS)
    homes = cache() / "search-speed-baseline", cache() / "search-speed"
    try:
        with _checkout(baseline) as old:
            versions = tuple(zip((old, ROOT), homes, strict=True))
            for version, home in versions:
                _import(version, home, source, corpus)
                if large is not None:
                    _import(version, home, large, LARGE, **UNKEPT)
            rounds = [
                [_run(version, home, corpus, large) for version, home in versions]
                for _ in range(ROUNDS)
            ]
    except subprocess.CalledProcessError as error:
        print(f"Search speed: skipped. {error}", file=sys.stderr)
        return []

    figures = []
    for name, what, share in MEASURED:
        if name in rounds[0][0]:
            before, after = (statistics.median(r[i][name] for r in rounds) for i in (0, 1))
            note = (
                f"{large if name == 'index' else corpus}; {before:.3g} ms in {baseline or BASELINE}"
            )
            ratio = after / before
            figures.append(Figure(what, after, "ms", note, None, share, ratio, "the baseline"))
    return figures


@contextmanager
def _checkout(given: Path | None) -> Iterator[Path]:
    """The older version's files."""
    if given is not None:
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        place, git = Path(folder) / "baseline", ["git", "-C", str(ROOT), "worktree"]
        add = [*git, "add", "--detach", str(place), BASELINE]
        subprocess.run(add, check=True, capture_output=True, text=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=False)


def _import(version: Path, home: Path, source: Path, name: str, **settings: str) -> None:
    if version == ROOT or not (home / "corpora" / name).is_dir():  # the older one never changes
        seedlens("import", source, "--name", name, home=home, cwd=version, **settings)


def _run(version: Path, home: Path, corpus: str, large: Path | None) -> dict[str, float]:
    """The figures of one version."""
    worker = str(Path(__file__).with_name("search_speed_worker.py"))

    def measured(name: str, **settings: str) -> dict[str, float]:
        own = {"PYTHONPATH": str(version), "SEEDLENS_HOME": str(home), **ONE_THREAD, **settings}
        run = subprocess.run(
            [sys.executable, worker, name],
            env={**os.environ, **own},
            cwd=version,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
        print(f"  {version.name}: {found}", file=sys.stderr)
        return found

    found = measured(corpus)
    return found if large is None else {**found, "index": measured(LARGE, **UNKEPT)["search"]}
