"""The wordings on Compare as a model reads them: applied to the variants, and the switch for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.explorer import Explorer
from engine.types.comparisons import Variant
from engine.types.lenses import Lens
from pages._compare.compare_url import CompareView
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    question,
    read_wordings,
    reading_switch,
    taken_over,
)

PAGE = "compare"


def open_reading(
    explorer: Explorer, view: CompareView, lens: Lens
) -> tuple[CompareView, list[ModelReading]]:
    """The view with the model's reading of its variants' wordings, as far as it is there."""
    found = read_wordings(explorer, lens, [question(view.corpus, v) for v in view.variants])
    readings = taken_over(PAGE, found)
    variants = [
        replace(v, reading=reading) for v, reading in zip(view.variants, readings, strict=True)
    ]
    if tuple(variants) != view.variants:
        view = view.with_variants(variants)
        view.write()
    return view, [
        replace(one, query=question(view.corpus, v)) for one, v in zip(found, variants, strict=True)
    ]


def reading_control(explorer: Explorer, view: CompareView, found: Sequence[ModelReading]) -> None:
    """The switch under the variants."""
    by_model = {one.query for one in found if one.in_use}

    def switched(on: bool) -> None:
        def changed(now: CompareView, variant: Variant) -> Variant:
            ends = on or question(now.corpus, variant) in by_model
            return replace(variant, reading=()) if ends else variant

        CompareView.change(lambda now: now.with_variants([changed(now, v) for v in now.variants]))

    if is_on() or any(v.instruction.strip() for v in view.variants):
        label = "Interpret with a model"
        reading_switch(explorer, PAGE, label, found, view.corpus, switched)
