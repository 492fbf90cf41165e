"""What a search, a rerun of Explore and a wording of one's own cost, beside an older version.

``python -m benchmarks.search_speed [--baseline PATH]``, where PATH is a checkout of the version to
compare with; without it, one of :data:`BASELINE` is made in a temporary folder. Each version
works on a copy of the same home, in processes of their own, in turns: a busy minute slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.sources import CSFCUBE, cache
from engine.config import DEMO, DEMO_CORPUS, ROOT, Settings
from engine.explorer import Explorer

PART = "search-speed"
BASELINE = "c5d6635"
"""The version before rankings were arrays."""
CPU_SHARE = 0.6
"""Most CPU that a search, and a rerun of Explore, may take of what the baseline takes."""
WORDING_SECONDS = 0.5
"""Most that a wording searched with before may add to a search on the command line."""
ROUNDS, QUERIES, RERUNS = 3, 20, 8
ASPECTS = ("background", "method", "result")
WORDING = "trained without labelled data"
Measured = dict[str, float]


def measure(baseline: Path | None = None) -> list[Figure]:
    """All figures of this part; none, with the reason on stderr, where the baseline is missing."""
    try:
        with _checkout(baseline) as old:
            before, now, corpus = _homes(old)
            seed = Explorer(Settings(home=now)).starting_point(corpus)[0]
            rounds = [
                (_run(old, before, corpus, seed), _run(ROOT, now, corpus, seed))
                for _ in range(ROUNDS)
            ]
    except subprocess.CalledProcessError as error:
        print(f"Search speed: skipped. {error.stderr or error}", file=sys.stderr)
        return []
    figures = []
    for name, what, unit, target in (
        ("search", "CPU per search", "ms", CPU_SHARE),
        ("rerun", "CPU per rerun of Explore, another steer", "ms", CPU_SHARE),
        ("same", "CPU per rerun of Explore, the same search", "ms", CPU_SHARE),
        ("wording", "what a wording adds to a search on the command line", "s", None),
    ):
        before, after = (statistics.median(r[i][name] for r in rounds) for i in (0, 1))
        note = f"corpus {corpus}; {before:.3g} {unit} in {BASELINE if baseline is None else old}"
        if name == "wording":
            figures.append(Figure(PART, what, after, unit, target=WORDING_SECONDS, at_least=False,
                                  note=note))  # fmt: skip
        else:
            figures.append(Figure(PART, what, after, unit, after / before, "the baseline", target,
                                  at_least=False, note=note))  # fmt: skip
    return figures


@contextmanager
def _checkout(given: Path | None) -> Iterator[Path]:
    """The older version's files.

    Raises:
        CalledProcessError: this clone does not hold its commit.
    """
    if given is not None:
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "baseline"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run(
            [*git, "add", "--detach", str(place), BASELINE],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=False)


def _homes(old: Path) -> tuple[Path, Path, str]:
    """A home of the baseline and its copy for this version, which may bring its ledger up to date;
    and their corpus."""
    source, name = (CSFCUBE, "csfcube") if CSFCUBE.is_dir() else (DEMO, DEMO_CORPUS)
    before, now = cache() / "search-speed-baseline", cache() / "search-speed"
    print(f"Search speed: corpus {name} in {before} and {now}", file=sys.stderr)
    if not (before / "corpora" / name).is_dir():
        command = [sys.executable, "-m", "engine.cli", "import", str(source), "--name", name]
        environment = {**os.environ, "PYTHONPATH": str(old), "SEEDLENS_HOME": str(before)}
        subprocess.run(
            command, env=environment, cwd=old, check=True, capture_output=True, text=True
        )
    shutil.rmtree(now, ignore_errors=True)
    shutil.copytree(before, now)
    return before, now, name


def _run(version: Path, home: Path, corpus: str, seed: str) -> Measured:
    """The figures of one version, measured in a process of its own."""
    environment = {
        **os.environ, "PYTHONPATH": str(version), "SEEDLENS_HOME": str(home),
        "OMP_NUM_THREADS": "1",  # threads that wait for each other would count as work
    }  # fmt: skip
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", corpus]
    run = subprocess.run(
        command, env=environment, cwd=version, check=True, capture_output=True, text=True
    )
    found: Measured = json.loads(run.stdout.splitlines()[-1])
    found["wording"] = _wording_seconds(environment, version, corpus, seed)
    print(f"  {version.name}: {found}", file=sys.stderr)
    return found


def _wording_seconds(environment: dict[str, str], version: Path, corpus: str, seed: str) -> float:
    """Seconds that a search with a wording takes beyond the same one without, on second use."""
    search = [sys.executable, "-m", "engine.cli", "search", corpus, "--seed", seed]

    def seconds(*more: str) -> float:
        started = time.perf_counter()
        subprocess.run([*search, *more], env=environment, cwd=version, check=True,
                       capture_output=True, text=True)  # fmt: skip
        return time.perf_counter() - started

    seconds("--instruction", WORDING)
    pairs = [(seconds("--instruction", WORDING), seconds()) for _ in range(2)]
    return min(with_words for with_words, _ in pairs) - min(without for _, without in pairs)


# -- in a process of its own, with the modules of either version -----------------------------


def worker(corpus: str) -> Measured:
    """CPU milliseconds of a search, and of a rerun of Explore with another steer and without."""
    import random

    from engine.types.searches import Query

    explorer = Explorer()
    doc_ids = sorted(explorer.library.open(corpus).doc_ids)
    dice = random.Random(11)
    queries = [
        Query(corpus, seed=dice.choice(doc_ids), aspect=dice.choice(ASPECTS))
        for _ in range(QUERIES + 3)
    ]
    for query in queries[:3]:
        explorer.search(query)
    started = time.process_time()
    for query in queries[3:]:
        explorer.search(query)
    search = (time.process_time() - started) / QUERIES
    rerun, same = _reruns(corpus)
    return {"search": 1000 * search, "rerun": 1000 * rerun, "same": 1000 * same}


def _reruns(corpus: str) -> tuple[float, float]:
    from streamlit.testing.v1 import AppTest

    page: Any = AppTest.from_file(str(Path.cwd() / "pages" / "explore.py"), default_timeout=600)
    page.query_params["corpus"] = corpus
    for _ in range(3):
        page.run()
    started = time.process_time()
    for i in range(RERUNS):
        page.slider(key="explore_steer").set_value(5 * (i + 1)).run()
    rerun = (time.process_time() - started) / RERUNS
    started = time.process_time()
    for _ in range(RERUNS):
        page.run()
    same = (time.process_time() - started) / RERUNS
    if page.exception:
        raise RuntimeError(page.exception)
    return rerun, same


def main() -> None:
    """Measure and print."""
    from benchmarks.figures import table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", type=Path, metavar="PATH", help="a checkout of it")
    options = parser.parse_args()
    print(table(measure(options.baseline)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(worker(sys.argv[2])))
    else:
        main()
