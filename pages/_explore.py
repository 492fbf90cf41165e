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
from pages._shared import attempt, engine, show_error
from pages._view import DEFAULT, View, filters_of, read_view, write_view


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
        write_view(View(corpus=st.session_state["explore_corpus"], trail=view.trail))

    st.session_state["explore_corpus"] = view.corpus
    st.selectbox("Corpus", names, key="explore_corpus", on_change=change)


def reseed(view: View, doc_id: str) -> None:
    """Start from another document, keeping how to rank."""
    write_view(replace(view, seed=doc_id, text_id="", focus=(), page=1))


def seed_finder(explorer: Explorer, view: View) -> None:
    """Three ways to a seed: type a title, page through the corpus, or paste a text."""
    _seed_finder.seed_finder(
        explorer,
        view.corpus,
        on_document=lambda doc_id: reseed(view, doc_id),
        on_text=lambda text_id: write_view(
            replace(view, seed="", text_id=text_id, focus=(), page=1)
        ),
        key="explore",
    )


def escape_label(text: str) -> str:
    """Words that a widget label shows as they are."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()#+-.!|~$:<>" else c for c in " ".join(text.split()))


def ranking_controls(explorer: Explorer, view: View, lens: Lens) -> None:
    """Instruction, steer, system and filters."""

    def change() -> None:
        state = st.session_state
        write_view(
            replace(
                view,
                instruction=state["explore_instruction"].strip(),
                steer=state["explore_steer"] / 100,
                system=state["explore_system"],
                symmetric=state.get("explore_symmetric", view.symmetric),
                year_from=state["explore_from"].strip(),
                year_to=state["explore_to"].strip(),
                where=state["explore_where"].strip(),
                page=1,
            )
        )

    st.session_state.update(
        explore_instruction=view.instruction,
        explore_steer=round(view.steer * 100),
        explore_system=view.system if view.system in explorer.systems else DEFAULT.system,
        explore_symmetric=view.symmetric,
        explore_from=view.year_from,
        explore_to=view.year_to,
        explore_where=view.where,
    )
    _instruction(view, lens, change)
    st.slider(
        "Steer: whole document to aspect only", 0, 100, step=5, format="%d %%",
        key="explore_steer", on_change=change, disabled=view.system != "aspect",
        help="How far the aspect outweighs the whole document. Higher obeys more; past a point "
        "it costs relevance. Only the system “aspect” reads it.",
    )  # fmt: skip
    st.selectbox(
        "System", explorer.systems, key="explore_system", on_change=change,
        help="aspect: document and aspect vectors, weighed by steer. dense: one vector a "
        "document. late-interaction: token by token. bm25: words. hybrid: bm25 and dense, "
        "fused by rank. Only aspect reads the aspect.",
    )  # fmt: skip
    if view.system == "late-interaction":
        st.toggle(
            "Score both directions", key="explore_symmetric", on_change=change,
            help="Also the document's words against the seed's, averaged with the other way.",
        )  # fmt: skip
    _filters(view, change)


def _filters(view: View, change: Callable[[], None]) -> None:
    with st.expander("Filters", expanded=bool(view.year_from or view.year_to or view.where)):
        left, right = st.columns(2)
        left.text_input("From year", key="explore_from", on_change=change)
        right.text_input("To year", key="explore_to", on_change=change)
        st.text_input(
            "Fields", key="explore_where", on_change=change, placeholder="venue=ACL; author=A. Lee",
            help="field=value; several are separated by semicolons, and all must hold.",
        )  # fmt: skip


def _instruction(view: View, lens: Lens, change: Callable[[], None]) -> None:
    presets = {a.instruction: a for a in lens.aspects}

    def preset() -> None:
        aspect = presets.get(st.session_state["explore_preset"])
        if aspect is not None:
            write_view(replace(view, aspect=aspect.key, instruction="", focus=(), page=1))

    current = next((a.instruction for a in lens.aspects if a.key == view.aspect), None)
    st.session_state["explore_preset"] = current
    st.selectbox(
        "What should be alike", list(presets), index=None, key="explore_preset",
        on_change=preset, placeholder="Choose a wording, or click a role above",
    )  # fmt: skip
    st.text_input(
        "In your own words", key="explore_instruction", on_change=change,
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
                args=(partial(_go_back, view, query),),
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
    """What the clicks on seed and results do."""
    notebook = explorer.notebook

    def aspect(event: Mapping[str, Any]) -> None:
        write_view(replace(view, aspect=event["key"], instruction="", focus=(), page=1))

    def focus(event: Mapping[str, Any]) -> None:
        picked = tuple(sorted({*view.focus} ^ {int(event["index"])}))
        write_view(replace(view, focus=picked, page=1))

    return {
        "aspect": aspect,
        "focus": focus,
        "seed": lambda e: reseed(view, e["doc_id"]),
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
        write_view(replace(view, page=st.session_state[key]))

    st.pagination(pages, default=min(view.page, pages), key=key, on_change=turn)


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


def _go_back(view: View, query: Query) -> None:
    year_from, year_to, where = filters_of(query)
    write_view(
        View(
            corpus=query.corpus,
            seed=query.seed or "",
            text_id=engine().notebook.put_text(query.text) if query.text else "",
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
            trail=view.trail,
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
