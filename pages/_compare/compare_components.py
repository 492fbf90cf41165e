"""The components of the Compare page: they get plain data and show it as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.errors import BadInputError
from engine.types.comparisons import Comparison, MoverEvidence, Variant
from engine.types.lenses import Lens
from pages._common import document_view
from pages._common.components import component, dark, listen
from pages._common.figure_file import FigureFile
from pages._common.shared import system_label
from pages._common.url_state import join
from pages._compare import compare_charts
from pages._compare.compare_url import MOST_VARIANTS, CompareView, free_name, variants_from_rows

PAIRS_SHOWN = 2
_VARIANTS = component("compare_variants")
_FLOW = component("compare_flow", "figure")
_DOCUMENTS = component("compare_papers")


def variant_rows(
    variants: Sequence[Variant],
    read: Sequence[str],
    models: Sequence[str],
    systems: Sequence[str],
    steered: Sequence[str],
    readers: Sequence[str],
    lens: Lens,
) -> None:
    """The variants as rows to edit, copy, add and remove.

    Args:
        read: what each wording was understood to ask for, in words.
        models: which model read it, "" for none.
        steered: those of the systems that read steer.
        readers: those that read wordings; one that is added is on such a system.
    """

    def change(event: Mapping[str, Any]) -> None:
        own = edited(event["rows"], len(variants))
        CompareView.change(lambda now: now.with_variants(own))

    rows = [
        {
            "name": v.name,
            "wording": v.instruction,
            "system": v.system,
            "steer": v.steer,
            "subset": v.subset,
            "aspect": v.aspect,
            "sentences": join(v.focus),
            "reading": join(v.reading),
        }
        for v in variants
    ]
    _VARIANTS(
        key="compare_variants",
        data={
            "rows": rows,
            "read": list(read),
            "models": list(models),
            "systems": list(systems),
            "names": {name: system_label(name) for name in systems},
            "steered": list(steered),
            "readers": list(readers),
            "aspects": [{"key": a.key, "name": a.name} for a in lens.aspects],
            "most": MOST_VARIANTS,
            "dark": dark(),
        },
        on_rows_change=listen("compare_variants", "rows", change),
    )


def edited(rows: object, before: int) -> tuple[Variant, ...]:
    """Variants as the editor sent them.

    A row that was added or duplicated gets a name of its own; one that a person gave a name
    that is taken keeps it, and the comparison says so.

    Raises:
        BadInputError: rows that the editor cannot have made.
    """
    try:
        variants = variants_from_rows(rows)
    except ValueError as error:
        raise BadInputError(f"Invalid variants: {error}.", "Undo the last change.") from error
    if len(variants) <= before:
        return variants
    named: list[Variant] = []
    for v in variants:
        name = free_name(v.name, [n.name for n in named])
        named.append(replace(v, name=name))
    return tuple(named)


def flow(view: CompareView, comparison: Comparison, of: str) -> None:
    """Documents through the variants' rankings, one line each; a click opens one.

    Args:
        of: what the comparison is of, for the exported figure.
    """
    ranks = compare_charts.rank_flow(comparison, view.depth)
    grades = [line["grade"] for line in ranks["lines"]]
    count = len(comparison.variants)
    title = f"Rank flow: the top {view.depth}"
    caption = f"{of} One line per document."
    file = FigureFile(
        "rank flow", title + (f" under {count} variants" if count > 1 else ""), caption,
        *compare_charts.flow_rows(ranks),
    )  # fmt: skip
    _FLOW(
        key="compare_flow",
        data={
            **ranks,
            **file.data(),
            "selected": view.document,
            "dark": dark(),
            "ink": compare_charts.flow_ink(grades, dark=dark()),
            "file_ink": compare_charts.flow_ink(grades, dark=False, file=True),
        },
        on_open_change=listen("compare_flow", "open", _open),
    )


def moved_documents(comparison: Comparison, lens: Lens, opened: MoverEvidence | None) -> None:
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
            "opened": None if opened is None else _opened(opened, comparison, lens),
            "dark": dark(),
        },
        on_open_change=listen("compare_papers", "open", _open),
    )


def _open(event: Mapping[str, Any]) -> None:
    """Open a document, or close the one that is open."""
    doc_id = event["doc_id"]
    CompareView.change(lambda now: replace(now, document="" if doc_id == now.document else doc_id))


def _opened(opened: MoverEvidence, comparison: Comparison, lens: Lens) -> Mapping[str, Any]:
    document = opened.document
    blocks = []
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
        ordered = sorted(pairs, key=lambda e: (e.seed_span, e.doc_span) not in new)
        shown = [] if same else ordered[:PAIRS_SHOWN]
        blocks.append(
            {
                "name": ranking.variant.name,
                "rank": rank,
                "same": same,
                "pairs": [
                    {**document_view.evidence(e, lens), "gained": (e.seed_span, e.doc_span) in new}
                    for e in shown
                ],
            }
        )
    return {
        "doc_id": document.doc_id,
        "meta": document_view.meta(document),
        "blocks": blocks,
        "sentences": document_view.sentences(document, lens),
    }
