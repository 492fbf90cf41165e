"""What is asked in a project: seeds by id, links of Explore, or the queries of a collection."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import Project
from engine.types.evaluations import CollectionInfo
from engine.types.searches import Query
from pages._common.document_view import shortened, title_of
from pages._common.outside_text import with_marks
from pages._common.seed_finder import seed_finder
from pages._common.shared import attempt, escape_label
from pages._explore.explore_url import View

CHOSEN = "annotate_chosen"
"""Begins the key of the seeds that were found for queries, by corpus."""
TEXT = "\x00"
"""Begins a chosen seed that is the id of a pasted text; no doc_id begins so."""
ASKED = ("seed", "aspect", "q", "focus", "reading")
"""Of the parameters of Explore, those that say what is asked for."""
SAID = "annotate_pool_said"
"""What the last change to queries or pool came to; shown once."""


def add_queries(explorer: Explorer, project: Project) -> None:
    """The form for seeds, and a button per collection of the corpus."""
    lens = explorer.library.lens(project.corpus)
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    seed, usual = explorer.starting_point(project.corpus)
    st.header("Queries", anchor=False)
    held = f"{CHOSEN}_{project.corpus}"
    _chosen_seeds(explorer, project.corpus, held)
    with st.form("annotate_queries", border=False, clear_on_submit=False):
        written = st.session_state.get("annotate_seeds", "")
        with st.expander("IDs or links", expanded=bool(written)):  # it may have to be mended
            st.text_area(
                "Document IDs or Explore links, one per line", key="annotate_seeds",
                height=104, placeholder=seed,
                help="Links include aspect, instruction and sentences.",
            )  # fmt: skip
        st.multiselect(
            "Aspects", list(names), [usual] if usual else None,
            format_func=lambda key: with_marks(names[key]),
            key="annotate_aspects", placeholder="None: whole document",
            help="Adds a query per ID and aspect. None: similarity of whole documents.",
        )  # fmt: skip

        def add() -> None:
            state = st.session_state
            lines, aspects = state["annotate_seeds"], state["annotate_aspects"]
            queries = _chosen_queries(explorer, project.corpus, state[held], aspects)
            if lines.strip() or not queries:
                queries += read_seeds(lines, project.corpus, aspects)
            _add(explorer, project, queries)
            state.update({held: [], f"{held}_options": [], "annotate_seeds": ""})

        st.form_submit_button(
            "Add queries", key="annotate_add_queries", on_click=attempt, args=(add,)
        )
    with st.container(gap="xsmall"):
        for info in _collections(explorer, project):
            words = counted(info.queries, "query", "queries")
            with st.popover(escape_label(f"Add the {words} of {info.name}")):
                st.caption("Queries cannot be removed.")
                st.button(
                    "Add all" if info.queries > 1 else "Add",
                    key=f"annotate_take_{info.key}", on_click=attempt, type="primary",
                    args=(lambda info=info: _take_over(explorer, project, info),),
                )  # fmt: skip


def _chosen_seeds(explorer: Explorer, corpus: str, key: str) -> None:
    """The finder, and what was found with it until it is asked for; the options are kept beside
    the widget, which Streamlit forgets while another part is shown."""
    state = st.session_state
    options = state.setdefault(f"{key}_options", [])
    state.setdefault(key, list(options))

    def choose(choice: str) -> None:
        for name in (f"{key}_options", key):
            state[name] = list(dict.fromkeys((*state.get(name, ()), choice)))

    seed_finder(
        explorer, corpus, key="annotate_finder", label="Find seeds",
        on_document=choose, on_text=lambda text_id: choose(f"{TEXT}{text_id}"),
    )  # fmt: skip
    st.multiselect(
        "Chosen seeds", options, key=key, placeholder="None yet. Find some above.",
        format_func=lambda one: with_marks(_title(explorer, corpus, one)),
    )  # fmt: skip


def _title(explorer: Explorer, corpus: str, choice: str) -> str:
    """What a chosen seed is called."""
    if choice.startswith(TEXT):
        return shortened(explorer.notebook.text(choice.removeprefix(TEXT)))
    return title_of(explorer.document(corpus, choice))


def _chosen_queries(
    explorer: Explorer, corpus: str, chosen: Sequence[str], aspects: Sequence[str]
) -> list[Query]:
    """A query for each chosen seed in each aspect."""
    queries = []
    for choice in chosen:
        is_text = choice.startswith(TEXT)
        text = explorer.notebook.text(choice.removeprefix(TEXT)) if is_text else None
        seed = None if is_text else choice
        queries += [Query(corpus, seed=seed, text=text, aspect=a) for a in (*aspects,) or (None,)]
    return queries


def read_seeds(lines: str, corpus: str, aspects: Sequence[str]) -> list[Query]:
    """Lines of ids and links as queries.

    Raises:
        BadInputError: nothing there, a link without a seed, or one of another corpus.

    >>> [q.aspect for q in read_seeds("7", "demo", ["method", "result"])]
    ['method', 'result']
    >>> read_seeds("http://x/?corpus=demo&seed=7&aspect=result&q=Alike+here", "demo", [])[0].aspect
    'result'
    """
    queries = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        if "://" not in line:
            queries += [Query(corpus, seed=line, aspect=a) for a in (*aspects,) or (None,)]
            continue
        asked = {key: values[0] for key, values in parse_qs(urlsplit(line).query).items()}
        if not asked.get("seed"):
            raise BadInputError(f"The link '{line[:200]}' has no seed.", "Copy it from Explore.")
        if asked.get("corpus", corpus) != corpus:
            raise BadInputError(
                f"The link '{line[:200]}' is for corpus '{asked['corpus']}'.",
                f"This project uses '{corpus}'.",
            )
        view = View.from_params({name: asked[name] for name in ASKED if name in asked})
        queries.append(
            Query(
                corpus, seed=view.seed, aspect=view.aspect or None,
                instruction=view.instruction or None, focus=view.focus, reading=view.reading,
            )
        )  # fmt: skip
    if not queries:
        raise BadInputError("No seed chosen.", "Find one by title, or enter a document ID.")
    return queries


def _collections(explorer: Explorer, project: Project) -> list[CollectionInfo]:
    """Test collections over the corpus, other projects among them."""
    own = f"{project.corpus}:{project.name}"
    return [
        info
        for info in explorer.collections.all()
        if info.corpus == project.corpus and info.queries
        and not info.problem and info.key != own
    ]  # fmt: skip


def _take_over(explorer: Explorer, project: Project, info: CollectionInfo) -> None:
    """The collection's queries under their own ids; those whose seed is gone are left out."""
    opened = explorer.library.open(project.corpus)
    asked = explorer.collections.queries(info.key)
    held = {i: q for i, q in asked.items() if q.seed is None or q.seed in opened.row_of}
    _add(explorer, project, held)


def _add(explorer: Explorer, project: Project, queries: Sequence[Query] | dict[str, Query]) -> None:
    before = len(explorer.annotation.queries(project))
    explorer.annotation.add_queries(project, queries)
    added = len(explorer.annotation.queries(project)) - before
    new = counted(added, "query is", "queries are")
    st.session_state[SAID] = f"{new} new." + (" Fill the pool for them next." if added else "")
