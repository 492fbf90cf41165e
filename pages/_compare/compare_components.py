"""The components of the Compare page: they get plain data and show it as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.errors import BadInputError
from engine.types.comparisons import Comparison, MoverEvidence, Variant
from pages._common import document_view
from pages._common.charts import FigureFile
from pages._common.components import component, listen
from pages._common.shared import system_label
from pages._compare import compare_charts
from pages._compare.compare_state import (
    MOST_VARIANTS,
    ComparePage,
    CompareView,
    Row,
    free_name,
    variants_from_rows,
)

PAIRS_SHOWN = 2
_VARIANTS = component("compare_variants")
_FLOW = component("compare_flow", "figure")
_DOCUMENTS = component("compare_papers")


def variant_rows(page: ComparePage, read: Sequence[str], models: Sequence[str]) -> None:
    """The variants as rows to edit, copy, add and remove.

    Args:
        read: what each wording was understood to ask for, in words.
        models: which model read it, "" for none.
    """
    explorer, variants = page.explorer, page.view.variants
    own = [variant.system for variant in variants]
    systems = list(dict.fromkeys([*explorer.systems_of(page.corpus), *own]))

    def change(event: Mapping[str, Any]) -> None:
        changed = edited(event["rows"], len(variants))
        CompareView.change(lambda now: now.with_variants(changed))

    _VARIANTS(
        key="compare_variants",
        data={
            "rows": [Row.of(variant).model_dump() for variant in variants],
            "read": list(read),
            "models": list(models),
            "systems": systems,
            "names": {name: system_label(name) for name in systems},
            "steered": [name for name in systems if explorer.reads_steer(name)],
            "readers": [name for name in systems if explorer.reads_wording(name)],
            "aspects": [{"key": a.key, "name": a.name} for a in page.lens.aspects],
            "most": MOST_VARIANTS,
        },
        on_rows_change=listen("compare_variants", "rows", change),
    )


def edited(rows: object, before: int) -> tuple[Variant, ...]:
    """Variants as the editor sent them.

    A row that was added or duplicated gets a name of its own; one that a person gave a name
    that is taken keeps it, and the comparison refuses it.
    """
    try:
        variants = variants_from_rows(rows)
    except ValueError as error:
        raise BadInputError(f"Invalid variants: {error}.", "Undo the last change.") from error
    if len(variants) <= before:
        return variants
    named: list[Variant] = []
    for v in variants:
        named.append(replace(v, name=free_name(v.name, [n.name for n in named])))
    return tuple(named)


def flow(page: ComparePage, comparison: Comparison) -> None:
    """Documents through the variants' rankings, one line each; a click opens one."""
    view, count = page.view, len(comparison.variants)
    ranks = compare_charts.rank_flow(comparison, view.depth)
    grades = [line["grade"] for line in ranks["lines"]]
    under = f" under {count} variants" if count > 1 else ""
    file = FigureFile(
        "rank flow",
        f"Rank flow: the top {view.depth}{under}",
        f"{page.about(comparison)} One line per document.",
        *compare_charts.flow_rows(ranks),
    )
    _FLOW(
        key="compare_flow",
        data={
            **ranks,
            **file.data(),
            "selected": view.document,
            "inks": [compare_charts.flow_ink(grades, dark=dark) for dark in (False, True)],
            "file_ink": compare_charts.flow_ink(grades, dark=False, file=True),
        },
        on_open_change=listen("compare_flow", "open", _open),
    )


def moved_documents(
    page: ComparePage, comparison: Comparison, opened: MoverEvidence | None
) -> None:
    """The biggest movers, and the document opened elsewhere, with the evidence of the latter."""
    titles = {m.doc_id: m.title or m.doc_id for m in comparison.movers}
    if opened is not None and opened.document.doc_id not in titles:
        titles = {opened.document.doc_id: document_view.title_of(opened.document), **titles}
    _DOCUMENTS(
        key="compare_papers",
        data={
            "columns": [v.variant.name for v in comparison.variants],
            "papers": [
                {"doc_id": d, "title": title, "ranks": list(comparison.ranks_of(d))}
                for d, title in titles.items()
            ],
            "opened": None if opened is None else _opened(page, comparison, opened),
        },
        on_open_change=listen("compare_papers", "open", _open),
    )


def _open(event: Mapping[str, Any]) -> None:
    """Open a document, or close the one that is open."""
    doc_id = event["doc_id"]
    CompareView.change(lambda now: replace(now, document="" if doc_id == now.document else doc_id))


def _opened(page: ComparePage, comparison: Comparison, opened: MoverEvidence) -> dict[str, Any]:
    document, lens, blocks = opened.document, page.lens, []
    columns = zip(
        comparison.variants,
        comparison.ranks_of(document.doc_id),
        opened.evidence,
        opened.gained,
        strict=True,
    )
    for number, (ranking, rank, pairs, gained) in enumerate(columns):
        same = number > 0 and bool(pairs) and not gained
        new = {(e.seed_span, e.doc_span) for e in gained} if number else set()
        # What is only here comes first: it is what changed.
        marked = sorted(
            ((e, (e.seed_span, e.doc_span) in new) for e in pairs), key=lambda pair: not pair[1]
        )
        blocks.append(
            {
                "name": ranking.variant.name,
                "rank": rank,
                "same": same,
                "pairs": [
                    {**document_view.evidence(e, lens), "gained": is_new}
                    for e, is_new in ([] if same else marked[:PAIRS_SHOWN])
                ],
            }
        )
    return {
        "doc_id": document.doc_id,
        "meta": document_view.meta(document),
        "blocks": blocks,
        "sentences": document_view.sentences(document, lens),
    }
