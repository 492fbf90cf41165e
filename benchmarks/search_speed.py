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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.homes import CSFCUBE, cache, seedlens
from benchmarks.search_speed_worker import LARGE, VARIANTS
from engine.config import DEMO, DEMO_CORPUS, ROOT, Settings
from engine.explorer import Explorer

BASELINE = "c5d6635"
"""The version before rankings were arrays."""
CPU_SHARE, WORDINGS_SHARE = 0.4, 0.5
"""Most CPU that a search or a rerun of Explore, and that five wordings side by side, may take of
what the baseline takes."""
WORDING_SECONDS = 0.5
"""Most that a wording searched with before may add to a search on the command line."""
ROUNDS = 3
WORDING = "trained without labelled data"
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
            seed = Explorer(Settings(home=homes[1])).starting_point(corpus)[0]
            rounds = [
                [_run(version, home, corpus, seed, large) for version, home in versions]
                for _ in range(ROUNDS)
            ]
    except subprocess.CalledProcessError as error:
        print(f"Search speed: skipped. {error.stderr or error}", file=sys.stderr)
        return []

    def medians(name: str) -> tuple[float, float]:
        before, after = (statistics.median(r[i][name] for r in rounds) for i in (0, 1))
        return before, after

    figures = []
    for name, what, share in MEASURED:
        if name in rounds[0][0]:
            before, after = medians(name)
            note = (
                f"{large if name == 'index' else corpus}; {before:.3g} ms in {baseline or BASELINE}"
            )
            figures.append(
                Figure(what, after, "ms", note, None, share, after / before, "the baseline")
            )
    before, after = medians("wording")
    what, note = "what a wording adds to a search on the command line", f"{before:.3g} s before"
    return [*figures, Figure(what, after, "s", note, most=WORDING_SECONDS)]


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


def _run(version: Path, home: Path, corpus: str, seed: str, large: Path | None) -> dict[str, float]:
    """The figures of one version."""
    worker = str(Path(__file__).with_name("search_speed_worker.py"))

    def measured(name: str, **settings: str) -> dict[str, float]:
        environment = {"PYTHONPATH": str(version), "SEEDLENS_HOME": str(home)}
        run = subprocess.run(
            [sys.executable, worker, name],
            env={**os.environ, **environment, **ONE_THREAD, **settings},
            cwd=version,
            check=True,
            capture_output=True,
            text=True,
        )
        found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
        print(f"  {version.name}: {found}", file=sys.stderr)
        return found

    def seconds(*more: str) -> float:
        started = time.perf_counter()
        search = ("search", corpus, "--seed", seed, *more)
        seedlens(*search, home=home, cwd=version, **ONE_THREAD)
        return time.perf_counter() - started

    found = measured(corpus)
    seconds("--instruction", WORDING)  # what a wording costs on second use
    pairs = [(seconds("--instruction", WORDING), seconds()) for _ in range(2)]
    found["wording"] = min(words for words, _ in pairs) - min(without for _, without in pairs)
    if large is not None:
        found["index"] = measured(LARGE, **UNKEPT)["search"]
    return found
