"""The components of the Compare page: they get plain data and show it as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.errors import BadInputError
from engine.types.comparisons import Comparison, MoverEvidence, Variant
from engine.types.lenses import Lens
from pages._common import document_view
from pages._common.components import component, dark, listen
from pages._compare import compare_charts
from pages._compare.compare_view import MOST_VARIANTS, free_name, variants_from_rows

PAIRS_SHOWN = 2
_VARIANTS = component("compare_variants")
_FLOW = component("compare_flow")
_PAPERS = component("compare_papers")
Open = Callable[[str], None]


def variant_rows(
    variants: Sequence[Variant],
    read: Sequence[str],
    systems: Sequence[str],
    steered: Sequence[str],
    *,
    on_change: Callable[[tuple[Variant, ...]], None],
    key: str,
) -> None:
    """The variants as rows to edit, copy, add and remove.

    Args:
        read: what each wording was understood to ask for, in words.
        steered: those of the systems that read steer.
        on_change: gets all variants anew, their names made unlike one another.
    """
    rows = [
        {
            "name": v.name,
            "wording": v.instruction,
            "system": v.system,
            "steer": v.steer,
            "subset": v.subset,
        }
        for v in variants
    ]
    _VARIANTS(
        key=key,
        data={
            "rows": rows,
            "read": list(read),
            "systems": list(systems),
            "steered": list(steered),
            "most": MOST_VARIANTS,
            "dark": dark(),
        },
        on_rows_change=listen(
            key, "rows", lambda event: on_change(edited(event["rows"], len(variants)))
        ),
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
        raise BadInputError(
            f"The variants cannot be used: {error}.", "Undo the last change."
        ) from error
    if len(variants) <= before:
        return variants
    named: list[Variant] = []
    for v in variants:
        name = free_name(v.name, [n.name for n in named])
        named.append(Variant(name, v.instruction, v.system, v.steer, v.subset))
    return tuple(named)


def flow(comparison: Comparison, depth: int, selected: str, *, on_open: Open, key: str) -> None:
    """Documents through the variants' rankings, one line each; a click opens one."""
    _FLOW(
        key=key,
        data={**compare_charts.rank_flow(comparison, depth), "selected": selected, "dark": dark()},
        on_open_change=listen(key, "open", lambda event: on_open(event["doc_id"])),
    )


def moved_documents(
    comparison: Comparison,
    lens: Lens,
    opened: MoverEvidence | None,
    *,
    on_open: Open,
    key: str,
) -> None:
    """The biggest movers, and the document opened elsewhere, with the evidence of the latter."""
    rows = [
        {"doc_id": m.doc_id, "title": m.title or m.doc_id, "ranks": list(m.ranks)}
        for m in comparison.movers
    ]
    if opened is not None and opened.document.doc_id not in {m.doc_id for m in comparison.movers}:
        document = opened.document
        title = document.title or document_view.shortened(document.text)
        rows.insert(
            0,
            {
                "doc_id": document.doc_id,
                "title": title,
                "ranks": list(comparison.ranks_of(document.doc_id)),
            },
        )
    _PAPERS(
        key=key,
        data={
            "columns": [v.variant.name for v in comparison.variants],
            "papers": rows,
            "opened": None if opened is None else _opened(opened, comparison, lens),
            "dark": dark(),
        },
        on_open_change=listen(key, "open", lambda event: on_open(event["doc_id"])),
    )


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
