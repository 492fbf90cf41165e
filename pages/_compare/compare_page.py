"""The Compare page: its state, the controls on the left, and the comparison itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Comparison, Variant
from engine.types.documents import Document
from engine.types.lenses import Lens
from engine.types.searches import Query
from pages._common import workspace
from pages._common.document_view import meta
from pages._common.filter_panel import PageFilters
from pages._common.outside_text import escape
from pages._common.seed_finder import seed_finder
from pages._common.shared import attempt, escape_label, note
from pages._common.url_state import (
    aspect_that_is_there,
    corpus_box,
    seed_is_there,
)
from pages._compare.compare_components import variant_rows
from pages._compare.compare_url import MOST_VARIANTS, CompareView, reworded
from pages._explore.explore_url import OWN, View

OPENING_SYSTEMS = ("aspect", "instructed", "dense")
"""One wording on a system that reads it, one that is told it, and one that does neither."""
DEMO_ASPECT = "result"
"""Of the demo's first seed: there the three systems differ most plainly."""


# -- state ---------------------------------------------------------------------------------


def open_view(explorer: Explorer, names: list[str]) -> CompareView:
    """The view of the address, with what it leaves open filled in: there is a comparison to
    read at once."""
    view = CompareView.opened_on(explorer, names)
    lens = explorer.library.lens(view.corpus)
    keys = [aspect.key for aspect in lens.aspects]
    view = replace(view, aspect=aspect_that_is_there(lens, view.aspect))
    if not seed_is_there(explorer, view.corpus, view.seed, view.text_id):
        seed, aspect = starting_point(explorer, view.corpus, keys)
        view = replace(view, seed=seed, text_id="", aspect=view.aspect or aspect)
    if not view.aspect:
        view = replace(view, aspect=read_aspect(explorer, view, keys))
    if not view.variants:
        known = view.aspect if view.aspect in keys else keys[0]
        view = view.with_variants(against_instructed(explorer, view.corpus, known))
    view.write()
    return view


def read_aspect(explorer: Explorer, view: CompareView, keys: Sequence[str]) -> str:
    """The aspect that Explore's wording asks for most; without one, Method where there is one."""
    usual = "method" if "method" in keys else keys[0]
    own = next((v for v in view.variants if v.name == OWN), None)
    if own is None:
        return usual
    searcher = explorer.searcher(view.corpus)
    text = explorer.notebook.text(view.text_id) if view.text_id else None
    query = Query(
        view.corpus, seed=None if text else view.seed, text=text,
        instruction=own.instruction or None, focus=own.focus, reading=own.reading,
    )  # fmt: skip
    try:
        focus = searcher.interpret(query, searcher.seed(query)).focus
    except SeedLensError:
        return usual  # shown where the comparison would be
    return usual if focus is None else keys[int(focus.aspect_weights.argmax())]


def starting_point(explorer: Explorer, corpus: str, keys: Sequence[str]) -> tuple[str, str]:
    """A seed and an aspect that have something to show: judged for two aspects, if any is."""
    if corpus == explorer.demo_corpus and DEMO_ASPECT in keys:
        return explorer.starting_point(corpus)[0], DEMO_ASPECT
    try:
        topics = explorer.comparing.collection(corpus).topics
    except SeedLensError:
        return explorer.starting_point(corpus)
    known = explorer.library.open(corpus).row_of
    pairs = [(t.seed, t.aspect) for t in topics if t.seed and t.seed in known]
    return telling_pair(pairs, keys) or explorer.starting_point(corpus)


def telling_pair(
    judged: Sequence[tuple[str, str | None]], keys: Sequence[str]
) -> tuple[str, str] | None:
    """The first seed that is judged for two of the aspects ``keys``, for its method if possible.

    >>> telling_pair([("a", "method"), ("b", "result"), ("b", "method")], ["method", "result"])
    ('b', 'method')
    """
    pairs = [(seed, aspect) for seed, aspect in judged if aspect in keys]
    count = Counter(seed for seed, _ in pairs)
    twice = [(seed, aspect) for seed, aspect in pairs if aspect and count[seed] > 1]
    twice.sort(key=lambda pair: pair[1] != "method")  # stable: else in the collection's order
    return twice[0] if twice else None


def against_instructed(explorer: Explorer, corpus: str, aspect: str) -> tuple[Variant, ...]:
    """The base wording on a system that has the aspect built in, and on two that have not."""
    base = next(v for v in explorer.comparing.presets(corpus, aspect) if v.name == "base")
    return tuple(
        replace(base, name=base.name if system == base.system else f"base-{system}", system=system)
        for system in OPENING_SYSTEMS
    )


def five_kinds(explorer: Explorer, corpus: str, aspect: str) -> tuple[Variant, ...]:
    """Base, generic, definition, a paraphrase and the subset, as far as the lens has them."""
    wanted = ("base", "generic", "definition", "paraphrase-1", "subset")
    return tuple(v for v in explorer.comparing.presets(corpus, aspect) if v.name in wanted)


def paraphrases(explorer: Explorer, corpus: str, aspect: str) -> tuple[Variant, ...]:
    """Base and its paraphrases."""
    presets = explorer.comparing.presets(corpus, aspect)
    chosen = [v for v in presets if v.name == "base" or v.name.startswith("paraphrase")]
    return tuple(chosen[:MOST_VARIANTS])


PRESETS = {
    "Five kinds": (five_kinds, "Base, generic, definition, one paraphrase, aspect's sentences "
                   "only."),
    "Paraphrases": (paraphrases, "The base instruction and its paraphrases."),
    "Aspect against instructed": (against_instructed, "The base instruction on an "
                                  "aspect-conditioned system, an instruction-following one and a "
                                  "baseline."),
}  # fmt: skip


# -- the left column -----------------------------------------------------------------------


def seed_box(explorer: Explorer, view: CompareView) -> None:
    """Ways to another seed."""

    def use(seed: str, text_id: str) -> None:
        CompareView.change(lambda now: replace(now, seed=seed, text_id=text_id, document=""))

    seed_finder(
        explorer,
        view.corpus,
        on_document=lambda doc_id: use(doc_id, ""),
        on_text=lambda text_id: use("", text_id),
        key="compare_finder",
    )


def seed_words(seed: Document, lens: Lens, aspect: str) -> None:
    """The seed, and its sentences of the aspect."""
    keys = [a.key for a in lens.aspects]
    index = keys.index(aspect) if aspect in keys else None
    serving = [s.text for s in seed.sentences if s.role == index]
    title = escape(seed.title or "Pasted text")
    parts = [f'<div class="cmp-seed"><div class="cmp-title">{title}</div>']
    about = meta(seed)
    parts += [f'<div class="cmp-meta">{escape(about)}</div>'] if about else []
    if index is not None and serving:
        name = escape(lens.aspects[index].name)
        noun = "sentence" if len(serving) == 1 else "sentences"
        items = "".join(f"<li>{escape(text)}</li>" for text in serving)
        parts.append(
            f"<details><summary>{len(serving)} {noun} of {name}</summary><ul>{items}</ul></details>"
        )
    st.html("".join(parts) + "</div>")
    if index is not None and not serving:
        note(
            f"The seed has no sentence of {lens.aspects[index].name}.",
            "Instructions for this aspect have no matching sentence in the seed.",
        )


def aspect_box(explorer: Explorer, view: CompareView, lens: Lens) -> None:
    """Which aspect is meant. Built-in wordings follow it, words of one's own stay."""
    names = {a.key: escape_label(f"{a.letter} · {a.name}") for a in lens.aspects}

    def change() -> None:
        key = st.session_state["compare_aspect"]
        if key:
            CompareView.change(lambda now: reworded(explorer, now, key))

    st.session_state["compare_aspect"] = view.aspect if view.aspect in names else None
    st.segmented_control(
        "Similar in",
        list(names),
        format_func=names.__getitem__,
        key="compare_aspect",
        on_change=attempt,
        args=(change,),
        help="Target aspect for verdicts and measures.",
    )
    words = about_no_aspect(view, workspace.pages().found(View), lens)
    if words:
        st.html(f'<div class="cmp-dim">{escape(words)}</div>')


def about_no_aspect(view: CompareView, search: View, lens: Lens) -> str:
    """How a search without an aspect, as Explore has it, stands here; "" where it has one."""
    meant = next((a.name for a in lens.aspects if a.key == view.aspect), "")
    if search.aspect or not meant:
        return ""
    if search.variant(search.system) is None:
        return f"No aspect or instruction is set on Explore. Comparing instructions for {meant}."
    if all(variant.name != OWN for variant in view.variants):
        return ""
    return f"“{OWN}” has no aspect: its instruction decides. Verdicts and measures use {meant}."


def presets_bar(explorer: Explorer) -> None:
    """Sets of variants to start from."""

    def choose(make: Callable[[Explorer, str, str], tuple[Variant, ...]]) -> None:
        CompareView.change(lambda now: now.with_variants(make(explorer, now.corpus, now.aspect)))

    with st.container(horizontal=True, gap="small", key="compare_presets"):
        for name, (make, meaning) in PRESETS.items():
            st.button(
                name,
                key=f"compare_preset_{make.__name__}",
                help=meaning,
                on_click=attempt,
                args=(lambda make=make: choose(make),),
            )


def variants_box(
    explorer: Explorer,
    view: CompareView,
    lens: Lens,
    comparison: Comparison | None,
    models: Sequence[str],
) -> None:
    """The variants as rows to edit."""
    chosen = (variant.system for variant in view.variants)
    systems = list(dict.fromkeys([*explorer.systems_of(view.corpus), *chosen]))
    variant_rows(
        view.variants,
        [] if comparison is None else [_reading(comparison, i) for i in range(len(view.variants))],
        models,
        systems,
        [system for system in systems if explorer.reads_steer(system)],
        [system for system in systems if explorer.reads_wording(system)],
        lens,
    )


def _reading(comparison: Comparison, index: int) -> str:
    """What a wording was understood to ask for, in one line."""
    ranked = comparison.variants[index]
    terms = [f"{'+' if u.term.wanted else '−'} “{u.term.text}”" for u in ranked.terms]
    if ranked.understood or terms:
        wanted = sorted(ranked.understood, key=lambda pair: -pair[1])
        parts = [*(f"{name} {weight:.0%}" for name, weight in wanted), *terms]
        said = f"Interpreted as {', '.join(parts)}."
    elif not ranked.variant.instruction.strip() and not ranked.variant.aspect:
        said = "No instruction (seed only)."
    else:
        said = ""
    ruled_out = f"Excludes {', '.join(ranked.avoided)}." if ranked.avoided else ""
    return " ".join(part for part in (said, ruled_out, *ranked.notes) if part)


def left_column(
    explorer: Explorer,
    view: CompareView,
    names: list[str],
    lens: Lens,
    comparison: Comparison | None,
    models: Sequence[str],
) -> None:
    """Corpus, seed, aspect and the variants; all there even when nothing can be compared.

    Args:
        models: for each variant the model that read its wording, "" for none.
    """
    top = st.columns([2, 3], vertical_alignment="bottom")
    with top[0]:
        corpus_box(view, names, "compare_corpus")
    with top[1]:
        seed_box(explorer, view)
    if explorer.library.is_synthetic(explorer.library.corpus(view.corpus)):
        st.html('<span class="sl-tag">synthetic abstracts, written for this demo</span>')
    if comparison is not None:
        seed_words(comparison.seed, lens, view.aspect)
    aspect_box(explorer, view, lens)
    presets_bar(explorer)
    variants_box(explorer, view, lens, comparison, models)
    filters = PageFilters(explorer, view.corpus, CompareView, key="compare")
    filters.chips()
    filters.panel()
