"""The controls of the Explore page. Each writes the view back into the URL, nothing else."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types import PAGE_SIZE, Lens, Query, SearchResults, Variant
from pages import _seed_finder
from pages._compare_view import params_of_search
from pages._components import Event
from pages._shared import attempt, engine, escape_label, show_error
from pages._view import DEFAULT, View, change_view, filters_of, read_view, write_view


def open_view(explorer: Explorer, names: list[str]) -> View:
    """The view of the address; one that cannot be opened is explained and replaced."""
    try:
        view = read_view()
        if view.corpus and view.corpus not in names:
            explorer.library.open(view.corpus)  # says why not
        return start_view(explorer, view, names)
    except SeedLensError as error:
        show_error(error)
        return start_view(explorer, View(), names)


def start_view(explorer: Explorer, view: View, names: list[str]) -> View:
    """Fill in what a first visit leaves open: a corpus, a good seed, an aspect, a trail."""
    if not view.corpus:
        corpus = explorer.demo_corpus if explorer.demo_corpus in names else names[0]
        view = replace(view, corpus=corpus)
    if not view.seed and not view.text_id:
        seed, aspect = explorer.starting_point(view.corpus)
        view = replace(view, seed=seed, aspect=view.aspect or aspect)
    if not view.trail:
        view = replace(view, trail=secrets.token_urlsafe(9))
    write_view(view)
    return view


def corpus_box(view: View, names: list[str]) -> None:
    """Which corpus to explore."""

    def change() -> None:
        corpus = st.session_state["explore_corpus"]
        change_view(lambda now: View(corpus=corpus, trail=now.trail))

    st.session_state["explore_corpus"] = view.corpus
    st.selectbox("Corpus", names, key="explore_corpus", on_change=attempt, args=(change,))


def reseed(doc_id: str = "", text_id: str = "") -> None:
    """Start from another document or pasted text, keeping how to rank."""
    change_view(lambda now: replace(now, seed=doc_id, text_id=text_id, focus=(), page=1))


def seed_finder(explorer: Explorer, view: View) -> None:
    """Three ways to a seed: type a title, page through the corpus, or paste a text."""
    _seed_finder.seed_finder(
        explorer,
        view.corpus,
        on_document=lambda doc_id: reseed(doc_id),
        on_text=lambda text_id: reseed(text_id=text_id),
        key="explore",
    )


def _choose_aspect(key: str) -> None:
    change_view(lambda now: replace(now, aspect=key, instruction="", focus=(), page=1))


def _sets(field: str, key: str, read: Callable[[Any], Any] = str.strip) -> dict[str, Any]:
    """Key and callback of a widget that changes one field of the view, and nothing else."""

    def change() -> None:
        value = read(st.session_state[key])
        change_view(lambda now: replace(now, **{field: value}, page=1))

    return {"key": key, "on_change": attempt, "args": (change,)}


def ranking_controls(explorer: Explorer, view: View, lens: Lens) -> None:
    """Instruction, steer, system and filters."""
    st.session_state.update(
        explore_instruction=view.instruction,
        explore_steer=round(view.steer * 100),
        explore_system=view.system if view.system in explorer.systems else DEFAULT.system,
        explore_symmetric=view.symmetric,
        explore_from=view.year_from,
        explore_to=view.year_to,
        explore_where=view.where,
    )
    _instruction(view, lens)
    steered = [name for name in explorer.systems if explorer.reads_steer(name)]
    st.slider(
        "Steer: whole document to aspect only", 0, 100, step=5, format="%d %%",
        **_sets("steer", "explore_steer", lambda percent: percent / 100),
        disabled=view.system not in steered,
        help="How far the aspect outweighs the whole document. Higher obeys more; past a point "
        f"it costs relevance. Only {' and '.join(steered)} read it.",
    )  # fmt: skip
    st.selectbox(
        "System", explorer.systems, **_sets("system", "explore_system"),
        help="aspect: document and aspect vectors, weighed by steer. transport: sentences "
        "matched to sentences. instructed: the wording is told to the encoder. dense: one vector "
        "a document. late-interaction: token by token. bm25: words. hybrid: bm25 and dense, "
        "fused by rank.",
    )  # fmt: skip
    if view.system == "late-interaction":
        st.toggle(
            "Score both directions", **_sets("symmetric", "explore_symmetric", bool),
            help="Also the document's words against the seed's, averaged with the other way.",
        )  # fmt: skip
    _filters(view)


def _filters(view: View) -> None:
    with st.expander("Filters", expanded=bool(view.year_from or view.year_to or view.where)):
        left, right = st.columns(2)
        left.text_input("From year", **_sets("year_from", "explore_from"))
        right.text_input("To year", **_sets("year_to", "explore_to"))
        st.text_input(
            "Fields", **_sets("where", "explore_where"), placeholder="venue=ACL; author=A. Lee",
            help="field=value; several are separated by semicolons, and all must hold.",
        )  # fmt: skip


def _instruction(view: View, lens: Lens) -> None:
    presets = {a.instruction: a for a in lens.aspects}

    def preset() -> None:
        aspect = presets.get(st.session_state["explore_preset"])
        if aspect is not None:
            _choose_aspect(aspect.key)

    current = next((a.instruction for a in lens.aspects if a.key == view.aspect), None)
    st.session_state["explore_preset"] = current
    st.selectbox(
        "What should be alike", list(presets), index=None, key="explore_preset", on_change=attempt,
        args=(preset,), placeholder="Choose a wording, or click a role above",
    )  # fmt: skip
    st.text_input(
        "In your own words", **_sets("instruction", "explore_instruction"),
        placeholder="such as: trained without labelled data",
        help="Your wording shifts weight among the seed's sentences of the aspect; without an "
        "aspect, it chooses one by the aspects' definitions. The weights show on the seed.",
    )  # fmt: skip


def trail_bar(explorer: Explorer, view: View) -> None:
    """The breadcrumb of seeds, the link to this search, and the export of the trail."""
    steps = explorer.notebook.trail(view.trail)
    try:
        query = view.to_query(explorer)
    except SeedLensError:
        pass  # shown where the results would be
    else:
        if not steps or steps[-1] != query:
            steps = [*steps, query]  # this search is stored once its results are shown
    steps = _seeds_in_order(steps)
    kept = explorer.notebook.kept(view.trail)
    left, compare, middle, right = st.columns([6.4, 1.7, 1.2, 1.7], vertical_alignment="center")
    with left, st.container(horizontal=True, gap="small", key="explore_trail"):
        for position, query in list(enumerate(steps))[-6:]:
            st.button(
                escape_label(_step_name(explorer, query)),
                key=f"explore_step_{position}",
                on_click=attempt,
                args=(partial(_go_back, query),),
                type="tertiary",
                disabled=position == len(steps) - 1,
            )
    own = Variant("mine", view.instruction, view.system, view.steer) if view.instruction else None
    compare.page_link(
        "compare.py",
        label="Compare wordings",
        query_params=params_of_search(view.corpus, view.seed, view.text_id, view.aspect, own),
    )
    with middle, st.popover("Share", width="stretch"):
        st.caption("This search as a link; add it to the address of your SeedLens.")
        st.code(view.link(), language=None, wrap_lines=True)
    with right, st.popover(f"Trail · {len(kept)} kept", width="stretch"):
        _exports(explorer, view.trail)


def events(explorer: Explorer, view: View, query: Query) -> dict[str, Event]:
    """What the clicks on seed and results do.

    Grades and keeping are about what was shown when it was clicked, all else about what the
    URL says now.
    """
    notebook = explorer.notebook

    def focus(event: Mapping[str, Any]) -> None:
        def pick(now: View) -> View:
            if (now.corpus, now.seed, now.text_id) != (view.corpus, view.seed, view.text_id):
                return now  # another seed by now: its sentences are others
            return replace(now, focus=tuple(sorted({*now.focus} ^ {int(event["index"])})), page=1)

        change_view(pick)

    return {
        "aspect": lambda e: _choose_aspect(e["key"]),
        "focus": focus,
        "seed": lambda e: reseed(e["doc_id"]),
        "keep": lambda e: notebook.keep(view.trail, view.corpus, e["doc_id"], kept=e["kept"]),
        "grade": lambda e: notebook.judge(query, e["doc_id"], e["relevance"], rank=e["rank"]),
    }


def kept_here(explorer: Explorer, view: View) -> set[str]:
    """Documents of this corpus that the trail keeps."""
    kept = explorer.notebook.kept(view.trail)
    return {document.doc_id for corpus, document in kept if corpus == view.corpus}


def remember(explorer: Explorer, view: View, query: Query) -> None:
    """Add the search to the trail; results are not held back by a ledger that is busy."""
    steps = explorer.notebook.trail(view.trail)
    if not steps or steps[-1] != query:
        attempt(lambda: explorer.notebook.add_step(view.trail, query))


def nothing(found: SearchResults) -> None:
    """Say why there is no result to show."""
    if found.query.offset and found.total:
        words = f"The ranking ends at {found.total:,}; this page is beyond it."
    elif found.query.filters:
        words = "No document meets the filters. Loosen them, or choose another corpus."
    else:
        words = "No document shares anything with this seed under this system. Try another system."
    st.html(f'<div class="sl-empty">{words}</div>')


def pages_bar(view: View, total: int) -> None:
    """Pages of the ranking."""
    pages = -(-total // PAGE_SIZE)
    if pages < 2:
        return

    # The key names the search and the page, so that the URL decides which page is shown.
    key = f"explore_page_{view.link()}"

    def turn() -> None:
        page = st.session_state[key]
        # Of this ranking: one that was asked for meanwhile begins on its first page.
        change_view(lambda now: replace(now, page=page) if now.link() == view.link() else now)

    st.pagination(pages, default=min(view.page, pages), key=key, on_change=attempt, args=(turn,))


def _seeds_in_order(steps: list[Query]) -> list[Query]:
    """The last step of each run of the same seed: settings change often, seeds tell the story."""
    return [
        query
        for i, query in enumerate(steps)
        if i + 1 == len(steps) or (steps[i + 1].seed, steps[i + 1].text) != (query.seed, query.text)
    ]


def _step_name(explorer: Explorer, query: Query) -> str:
    title = explorer.notebook.seed_title(query)
    return title if len(title) <= 34 else title[:33].rstrip() + "…"


def _go_back(query: Query) -> None:
    year_from, year_to, where = filters_of(query)
    text_id = engine().notebook.put_text(query.text) if query.text else ""
    change_view(
        lambda now: View(
            corpus=query.corpus,
            seed=query.seed or "",
            text_id=text_id,
            aspect=query.aspect or "",
            focus=query.focus,
            instruction=query.instruction or "",
            system=query.system,
            steer=query.steer,
            symmetric=query.symmetric,
            page=query.offset // PAGE_SIZE + 1,
            year_from=year_from,
            year_to=year_to,
            where=where,
            trail=now.trail,
        )
    )


def _exports(explorer: Explorer, trail: str) -> None:
    st.caption("The searches of this trail and the documents you kept.")
    for name, label, suffix in (
        ("markdown", "Markdown", "md"),
        ("bibtex", "BibTeX (kept documents)", "bib"),
        ("jsonl", "JSONL", "jsonl"),
    ):
        st.download_button(
            label,
            data=lambda name=name: explorer.notebook.export_trail(trail, name).encode(),
            file_name=f"seedlens-trail.{suffix}",
            mime="text/plain",
            key=f"explore_export_{name}",
            on_click="ignore",
            width="stretch",
        )
