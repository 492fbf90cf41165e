"""What searches, wordings and a rerun of Explore cost, beside an older version.

``python -m benchmarks.search_speed [--baseline PATH] [--large SOURCE]``, where PATH is a checkout
of the version to compare with; without it, one of :data:`BASELINE` is made in a temporary folder.
Each version works on the documents as it imported them itself, in processes of their own, in turns:
a busy minute slows both. SOURCE is anything to import with more than 20,000 documents: it is
searched besides, through the vector index alone (the older version imports it once, and long).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.sources import CSFCUBE, cache
from engine.config import DEMO, DEMO_CORPUS, ROOT, Settings
from engine.explorer import Explorer
from engine.types.comparisons import ComparisonRequest
from engine.types.searches import Query

PART = "search-speed"
BASELINE = "c5d6635"
"""The version before rankings were arrays."""
CPU_SHARE, WORDINGS_SHARE = 0.4, 0.5
"""Most CPU that a search or a rerun of Explore, and that five wordings side by side, may take of
what the baseline takes."""
WORDING_SECONDS = 0.5
"""Most that a wording searched with before may add to a search on the command line."""
ROUNDS, QUERIES, RERUNS = 3, 20, 8
WARM_UP = 20
"""Searches before those that are measured: what is kept in memory is there by then."""
SEEDS, VARIANTS = 8, 5
"""Comparisons of wordings, and wordings of each."""
ASPECTS = ("background", "method", "result")
WORDING = "trained without labelled data"
LARGE = "large"
"""Name of the corpus that is searched through the vector index."""
UNKEPT = {"SEEDLENS_RESIDENT_MEGABYTES": "0"}
"""No vectors in memory."""
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""Threads that wait for each other would count as work."""
Measured = dict[str, float]


def measure(baseline: Path | None = None, large: Path | None = None) -> list[Figure]:
    """All figures of this part; none, with the reason on stderr, where the baseline is missing.

    Args:
        baseline: a checkout of the version to compare with; None: of :data:`BASELINE`.
        large: documents to search through the vector index besides.
    """
    source, corpus = (CSFCUBE, "csfcube") if CSFCUBE.is_dir() else (DEMO, DEMO_CORPUS)
    try:
        with _checkout(baseline) as old:
            homes = _homes(old, source, corpus, {})
            if large is not None:
                _homes(old, large, LARGE, UNKEPT)
            seed = Explorer(Settings(home=homes[1])).starting_point(corpus)[0]
            rounds = [
                [
                    _run(version, home, corpus, seed, large=large is not None)
                    for version, home in zip((old, ROOT), homes, strict=True)
                ]
                for _ in range(ROUNDS)
            ]
    except subprocess.CalledProcessError as error:
        print(f"Search speed: skipped. {error.stderr or error}", file=sys.stderr)
        return []
    figures = []
    for name, what, unit, target in (
        ("search", "CPU per search, default system", "ms", CPU_SHARE),
        ("index", "CPU per search, default system, through the index", "ms", CPU_SHARE),
        ("late", "CPU per search, late interaction", "ms", CPU_SHARE),
        ("wordings", f"CPU of {VARIANTS} wordings side by side", "ms", WORDINGS_SHARE),
        ("rerun", "CPU per rerun of Explore, another steer", "ms", CPU_SHARE),
        ("same", "CPU per rerun of Explore, the same search", "ms", CPU_SHARE),
        ("wording", "what a wording adds to a search on the command line", "s", None),
    ):
        if name not in rounds[0][0]:
            continue
        before, after = (statistics.median(r[i][name] for r in rounds) for i in (0, 1))
        documents = f"corpus {corpus}" if name != "index" else str(large)
        note = f"{documents}; {before:.3g} {unit} in {BASELINE if baseline is None else old}"
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


def _homes(old: Path, source: Path, name: str, settings: Mapping[str, str]) -> tuple[Path, Path]:
    """A home of the baseline and one of this version, with the corpus in both."""
    homes = cache() / "search-speed-baseline", cache() / "search-speed"
    print(f"Search speed: corpus {name} in {homes[0]} and {homes[1]}", file=sys.stderr)
    for version, home in zip((old, ROOT), homes, strict=True):
        command = [sys.executable, "-m", "engine.cli", "import", str(source), "--name", name]
        environment = {**_environment(version, home), **settings}
        if version == old and (home / "corpora" / name).is_dir():
            continue  # it never changes; this version says itself what is to be done
        subprocess.run(
            command, env=environment, cwd=version, check=True, capture_output=True, text=True
        )
    return homes


def _environment(version: Path, home: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(version), "SEEDLENS_HOME": str(home)}


def _run(version: Path, home: Path, corpus: str, seed: str, *, large: bool) -> Measured:
    """The figures of one version."""
    found = _worker(version, home, corpus, {})
    environment = {**_environment(version, home), **ONE_THREAD}
    found["wording"] = _wording_seconds(environment, version, corpus, seed)
    if large:
        found["index"] = _worker(version, home, LARGE, UNKEPT)["search"]
    return found


def _worker(version: Path, home: Path, corpus: str, settings: Mapping[str, str]) -> Measured:
    """What :func:`worker` of one version measures, in a process of its own."""
    environment = {**_environment(version, home), **ONE_THREAD, **settings}
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", corpus]
    run = subprocess.run(
        command, env=environment, cwd=version, check=True, capture_output=True, text=True
    )
    found: Measured = json.loads(run.stdout.splitlines()[-1])
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
    """CPU milliseconds of searches, of wordings side by side, and of reruns of Explore.

    Of the large corpus, of searches by the default system alone.
    """
    explorer = Explorer()

    def searched(system: str) -> float:
        return _cpu(explorer.search, _drawn(explorer, corpus, system), WARM_UP)

    if corpus == LARGE:
        return {"search": searched("aspect")}
    searches = {"search": searched("aspect"), "late": searched("late-interaction")}

    def compare(query: Query) -> None:
        variants = explorer.comparing.presets(corpus, query.aspect or "")[:VARIANTS]
        aspect = query.aspect or ""
        explorer.comparing.compare(ComparisonRequest(corpus, query.seed, None, aspect, variants))

    wordings = _cpu(compare, _drawn(explorer, corpus, "aspect")[: SEEDS + 2], 2)
    rerun, same = _reruns(corpus)
    return {**searches, "wordings": wordings, "rerun": 1000 * rerun, "same": 1000 * same}


def _drawn(explorer: Explorer, corpus: str, system: str) -> list[Query]:
    doc_ids = sorted(explorer.library.open(corpus).doc_ids)
    dice = random.Random(11)
    return [
        Query(corpus, seed=dice.choice(doc_ids), aspect=dice.choice(ASPECTS), system=system)
        for _ in range(WARM_UP + QUERIES)
    ]


def _cpu(act: Callable[[Query], object], queries: Sequence[Query], warm_up: int) -> float:
    """Mean CPU milliseconds, the first ``warm_up`` queries left out."""
    for query in queries[:warm_up]:
        act(query)
    started = time.process_time()
    for query in queries[warm_up:]:
        act(query)
    return 1000 * (time.process_time() - started) / (len(queries) - warm_up)


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
    parser.add_argument("--large", type=Path, metavar="SOURCE", help="searched through the index")
    options = parser.parse_args()
    print(table(measure(options.baseline, options.large)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(worker(sys.argv[2])))
    else:
        main()
