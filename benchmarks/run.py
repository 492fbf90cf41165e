"""What the performance figures in docs/figures.md are made with: ``make bench``.

``python -m benchmarks.run [--part PART] [--json FILE]``, where PART is one of ``PARTS`` or ``all``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure, as_json, machine, table

PARTS = (
    *("indexing", "query", "search-speed", "wordings", "pmrr", "reranking", "scale", "text-rules"),
    *("annotators", "servers", "browser", "load", "facets", "maps"),
)


def main() -> None:
    """Measure, print, and write the figures as JSON where asked."""
    options = _options()
    about = machine()
    print("\n".join(f"{name}: {_shown(value)}" for name, value in about.items()))
    measured: list[Figure] = []
    for part in PARTS if options.part == "all" else (options.part,):
        figures = _part(part, options)()
        print(f"\n{part}\n{table(figures) if figures else '(nothing measured)'}", flush=True)
        measured += figures
        if options.json:
            report = {"machine": about, "figures": as_json(measured)}
            options.json.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    checked = [figure.met for figure in measured if figure.met is not None]
    print(f"\n{sum(checked)} of {len(checked)} targets met")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--documents", type=int, default=400, help="sample of part indexing")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of part indexing")
    parser.add_argument("--queries", type=int, default=100, help="of part query")
    parser.add_argument("--scale-documents", type=int, default=60_000)
    parser.add_argument("--baseline", type=Path, metavar="PATH",
                        help="a checkout for part search-speed")  # fmt: skip
    parser.add_argument("--large", type=Path, metavar="SOURCE",
                        help="what part search-speed searches through the index")  # fmt: skip
    parser.add_argument(
        "--home", type=Path, metavar="DIR", help="served by part load, as a copy (its own)"
    )
    parser.add_argument("--corpus", default="abstracts", help="of that home")
    parser.add_argument("--at-once", default="1,10,25", help="sessions that search in part load")
    parser.add_argument(
        "--sessions", type=int, default=0, help="that part load opens and closes, for their memory"
    )
    return parser.parse_args()


def _part(name: str, options: argparse.Namespace) -> Callable[[], list[Figure]]:
    # Imported when its turn comes: loading models is part of what some of them measure.
    if name == "indexing":
        from benchmarks import indexing

        return lambda: indexing.measure(options.documents, options.repeats)
    if name == "query":
        from benchmarks import query

        return lambda: query.measure(options.queries)
    if name == "search-speed":
        from benchmarks import search_speed

        return lambda: search_speed.measure(options.baseline, options.large)
    if name == "scale":
        from benchmarks import scale

        return lambda: scale.measure(options.scale_documents)
    if name == "annotators":
        from benchmarks import annotators

        return annotators.measure
    if name == "servers":
        from benchmarks import servers

        return servers.measure
    if name == "wordings":
        from benchmarks import wordings

        return wordings.measure
    if name == "pmrr":
        from benchmarks import pmrr

        return pmrr.measure
    if name == "text-rules":
        from benchmarks import text_rules

        return text_rules.measure
    if name == "reranking":
        from benchmarks import reranking

        return reranking.measure
    if name == "maps":
        from benchmarks import maps

        return maps.measure
    if name == "facets":
        from benchmarks import facets

        return facets.measure
    if name == "load":
        from benchmarks import load

        at_once = [int(number) for number in options.at_once.split(",")]
        return lambda: load.measure(options.home, options.corpus, at_once, closed=options.sessions)
    from benchmarks import browser

    return browser.measure


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


if __name__ == "__main__":
    main()
