"""The verdicts of a comparison: what each wording did, in a sentence."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import streamlit as st

from engine.types.comparisons import Comparison

KINDS = {
    "follows": ("follows", "●"),
    "nothing": ("no effect", "○"),
    "wrong way": ("wrong way", "⇄"),
    "little": ("little", "◔"),
    "different": ("different", "◇"),
}


def verdicts(comparison: Comparison, changes: Mapping[str, str]) -> None:
    """One sentence a variant, its numbers on demand.

    Args:
        changes: for each variant that a model reranked, what that changed.
    """
    rows = [_question(comparison)] if changes else []
    for verdict in comparison.verdicts:
        word, mark = KINDS[verdict.kind]
        change = changes.get(verdict.variant, "")
        more = f'<span class="cmp-change">{html.escape(change)}</span>' if change else ""
        rows.append(
            f'<details class="cmp-verdict"><summary><span class="cmp-kind cmp-{word.split()[0]}">'
            f'<span aria-hidden="true">{mark}</span> {word}</span> '
            f"<span>{_figures_whole(html.escape(verdict.text))}{more}</span>"
            '<span class="cmp-more">numbers</span></summary>'
            f"<div>{html.escape(verdict.numbers)}</div></details>"
        )
    if len(comparison.variants) == 1:
        rows.append(
            '<div class="cmp-dim">It takes two to compare: add or duplicate a variant to see '
            "what another wording changes. Below is this one's ranking.</div>"
        )
    st.html("".join(rows))


def _question(comparison: Comparison) -> str:
    judged = not comparison.unjudged_reason
    how = "judged documents" if judged else "an estimate, as nobody judged two aspects of this seed"
    return (
        '<h3 class="cmp-question">Does the model follow the wording?</h3>'
        f'<div class="cmp-dim">By {how}. Each variant is held against the model’s own order of '
        "the same system without a wording, so that merely ranking better does not count.</div>"
    )


def _figures_whole(text: str) -> str:
    """A figure does not break at the end of a line."""
    return re.sub(r"p-MRR [+-][\d.]+\d", r'<span class="cmp-figure">\g<0></span>', text)
