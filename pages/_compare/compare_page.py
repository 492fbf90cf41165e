"""The left column of the Compare page: seed, aspect, variants and filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.comparisons import Comparison, Variant
from engine.types.documents import Document
from pages._common.document_view import meta, seed_finder
from pages._common.filter_panel import PageFilters
from pages._common.kit import Html, button, dim, el
from pages._common.shared import attempt, escape_label, note
from pages._common.state import corpus_box, pages
from pages._compare.compare_components import variant_rows
from pages._compare.compare_state import (
    ComparePage,
    CompareView,
    against_instructed,
    five_kinds,
    paraphrases,
    reworded,
)
from pages._explore.explore_state import OWN, View
from pages._model.wording_reading import (
    ModelReading,
    is_on,
    question,
    read_wordings,
    reading_switch,
    taken_over,
)

PRESETS: dict[str, tuple[Callable[[Explorer, str, str], tuple[Variant, ...]], str]] = {
    "Five kinds": (
        five_kinds,
        "Base, generic, definition, one paraphrase, aspect's sentences only.",
    ),
    "Paraphrases": (paraphrases, "The base instruction and its paraphrases."),
    "Aspect against instructed": (
        against_instructed,
        "The base instruction on an aspect-conditioned system, an instruction-following one and a "
        "baseline.",
    ),
}


def left_column(
    page: ComparePage, comparison: Comparison | None, found: Sequence[ModelReading]
) -> None:
    """Corpus, seed, aspect and the variants; all there even when nothing can be compared.

    Args:
        found: what a model reads the variants' wordings as.
    """
    explorer, view = page.explorer, page.view
    box, finder = st.columns([2, 3], vertical_alignment="bottom")
    with box:
        corpus_box(view, page.corpora, "compare_corpus")
    with finder:

        def use(seed: str = "", text_id: str = "") -> None:
            CompareView.change(lambda now: replace(now, seed=seed, text_id=text_id, document=""))

        key, text = "compare_finder", partial(use, "")
        seed_finder(explorer, view.corpus, on_document=use, on_text=text, key=key)
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        st.html('<span class="sl-tag">synthetic abstracts, written for this demo</span>')
    if comparison is not None:
        _seed_words(page, comparison.seed)
    _aspect_box(page)
    with st.container(horizontal=True, gap="small", key="compare_presets"):
        for name, (make, meaning) in PRESETS.items():
            key, take = f"compare_preset_{make.__name__}", partial(_take_preset, explorer, make)
            button(name, key, take, help=meaning)
    count = 0 if comparison is None else len(view.variants)
    read = [_reading(comparison, i) for i in range(count)] if comparison else []
    variant_rows(page, read, [one.model if one.in_use else "" for one in found])
    filters = PageFilters(explorer, view.corpus, CompareView, key="compare")
    filters.chips()
    filters.panel()
    _reading_control(page, found)


def _take_preset(
    explorer: Explorer, make: Callable[[Explorer, str, str], tuple[Variant, ...]]
) -> None:
    CompareView.change(lambda now: now.with_variants(make(explorer, now.corpus, now.aspect)))


def _seed_words(page: ComparePage, seed: Document) -> None:
    """The seed, and its sentences of the aspect."""
    keys = [a.key for a in page.lens.aspects]
    index = keys.index(page.view.aspect) if page.view.aspect in keys else None
    serving = [s.text for s in seed.sentences if s.role == index]
    name = "" if index is None else page.lens.aspects[index].name
    details: Html | None = None
    if name and serving:
        summary = f"{counted(len(serving), 'sentence')} of {name}"
        items = el("ul", [el("li", text) for text in serving])
        details = el("details", el("summary", summary), items)
    about, title = meta(seed), el("div.cmp-title", seed.title or "Pasted text")
    st.html(el("div.cmp-seed", title, about and el("div.cmp-meta", about), details))
    if name and not serving:
        note(
            f"The seed has no sentence of {name}.",
            "Instructions for this aspect have no matching sentence in the seed.",
        )


def _aspect_box(page: ComparePage) -> None:
    """Which aspect is meant. Built-in wordings follow it, words of one's own stay."""
    view, key = page.view, "compare_aspect"
    names = {a.key: escape_label(f"{a.letter} · {a.name}") for a in page.lens.aspects}

    def change() -> None:
        if aspect := st.session_state[key]:
            CompareView.change(lambda now: reworded(page.explorer, now, aspect))

    st.session_state[key] = view.aspect if view.aspect in names else None
    st.segmented_control(
        *("Similar in", list(names)),
        format_func=names.__getitem__,
        key=key,
        on_change=attempt,
        args=(change,),
        help="Target aspect for verdicts and measures.",
    )
    meant = next((a.name for a in page.lens.aspects if a.key == view.aspect), "")
    if words := _about_no_aspect(view, pages().found(View), meant):
        dim(words)


def _about_no_aspect(view: CompareView, search: View, meant: str) -> str:
    """How a search without an aspect, as Explore has it, appears here; "" where it has one."""
    if search.aspect or not meant:
        return ""
    if search.variant(search.system) is None:
        return f"No aspect or instruction is set on Explore. Comparing instructions for {meant}."
    if all(variant.name != OWN for variant in view.variants):
        return ""
    return f"“{OWN}” has no aspect: its instruction decides. Verdicts and measures use {meant}."


# -- what wordings are interpreted as ------------------------------------------------------


def _reading(comparison: Comparison, index: int) -> str:
    """What a wording was understood to ask for, in one line."""
    ranked = comparison.variants[index]
    parts = [f"{name} {w:.0%}" for name, w in sorted(ranked.understood, key=lambda pair: -pair[1])]
    parts += [f"{'+' if u.term.wanted else '−'} “{u.term.text}”" for u in ranked.terms]
    words = f"Interpreted as {', '.join(parts)}." if parts else ""
    if not parts and not ranked.variant.instruction.strip() and not ranked.variant.aspect:
        words = "No instruction (seed only)."
    avoided = f"Excludes {', '.join(ranked.avoided)}." if ranked.avoided else ""
    return " ".join(filter(None, (words, avoided, *ranked.notes)))


def open_reading(explorer: Explorer, view: CompareView) -> tuple[CompareView, list[ModelReading]]:
    """The view with the model's reading of its variants' wordings, as far as it is there."""
    lens = explorer.library.lens(view.corpus)
    found = read_wordings(explorer, lens, [question(view.corpus, v) for v in view.variants])
    readings = zip(view.variants, taken_over("compare", found), strict=True)
    variants = tuple(replace(v, reading=reading) for v, reading in readings)
    if variants != view.variants:
        view = view.with_variants(variants)
        view.write()
    questions = [question(view.corpus, v) for v in variants]
    return view, [replace(one, query=q) for one, q in zip(found, questions, strict=True)]


def _reading_control(page: ComparePage, found: Sequence[ModelReading]) -> None:
    """The switch under the variants."""
    view, by_model = page.view, {one.query for one in found if one.in_use}

    def switched(on: bool) -> None:
        def changed(now: CompareView, variant: Variant) -> Variant:
            ends = on or question(now.corpus, variant) in by_model
            return replace(variant, reading=()) if ends else variant

        CompareView.change(lambda now: now.with_variants([changed(now, v) for v in now.variants]))

    if is_on() or any(v.instruction.strip() for v in view.variants):
        label = "Interpret with a model"
        reading_switch(page.explorer, "compare", label, found, view.corpus, switched)
