"""Measure the figures of docs/figures.md: ``python -m benchmarks.run [--part PART] [OPTIONS]``.

Each part is a module with a function ``measure``, whose parameters are its options
(``--part PART --help``). ``make bench`` measures all of :data:`PARTS`.
"""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, as_json, machine, table

PARTS = (
    *("indexing", "query", "pmrr", "reranking", "feedback", "scale", "text-rules"),
    *("annotators", "servers", "browser", "load", "facets", "maps"),
)
OTHERS = ("map-panning",)
"""Parts that are measured by their names only."""
Measure = Callable[..., Sequence[Figure]]


def main() -> None:
    """Measure, print, and write the figures as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--part", choices=[*PARTS, *OTHERS, "all"], default="all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    chosen, rest = parser.parse_known_args()
    about = machine()
    measured: list[dict[str, Any]] = []
    checked: list[bool] = []
    for part in PARTS if chosen.part == "all" else (chosen.part,):
        # Imported when its turn comes: loading models is part of what some of them measure.
        module = import_module(f"benchmarks.{part.replace('-', '_')}")
        options = _options(parser, module.measure).parse_args(rest)
        if not measured:
            print("\n".join(f"{name}: {value}" for name, value in about.items()))
        given = {n: v for n, v in vars(options).items() if n not in ("part", "json")}
        figures = module.measure(**given)
        print(f"\n{part}\n{table(figures) if figures else '(nothing measured)'}", flush=True)
        measured += as_json(part, figures)
        checked += [figure.met for figure in figures if figure.met is not None]
        if chosen.json:
            report = {"machine": about, "figures": measured}
            chosen.json.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    print(f"\n{sum(checked)} of {len(checked)} targets met")


def _options(parent: argparse.ArgumentParser, measure: Measure) -> argparse.ArgumentParser:
    """The parser of a part: one option for each parameter of its ``measure``."""
    parser = argparse.ArgumentParser(
        description=inspect.getdoc(measure),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[parent],
    )
    for name, parameter in inspect.signature(measure, eval_str=True).parameters.items():
        kind: type
        option, default, kind = f"--{name.replace('_', '-')}", parameter.default, str
        if isinstance(default, bool):
            parser.add_argument(option, action=argparse.BooleanOptionalAction, default=default)
            continue
        if parameter.annotation == Path | None:
            kind = Path
        several = isinstance(default, tuple)
        if default is not None:
            kind = type(default[0] if several else default)
        parser.add_argument(option, type=kind, nargs="*" if several else None, default=default)
    return parser


if __name__ == "__main__":
    main()
