"""What is asked in a project: seeds by id, links of Explore, or the queries of a collection."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import Project
from engine.types.evaluations import CollectionInfo
from engine.types.plurals import counted
from engine.types.searches import Query
from pages._common.shared import attempt, escape_label

SAID = "annotate_pool_said"
"""What the last change to queries or pool came to; shown once."""


def add_queries(explorer: Explorer, project: Project) -> None:
    """The form for seeds, and a button per collection of the corpus."""
    lens = explorer.library.lens(project.corpus)
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    seed, usual = explorer.starting_point(project.corpus)
    st.header("Queries", anchor=False)
    with st.form("annotate_queries", border=False, clear_on_submit=False):
        st.text_area(
            "Seeds: ids of documents, or links of Explore, one a line", key="annotate_seeds",
            height=104, placeholder=seed,
            help="A link brings its own aspect and wording along.",
        )  # fmt: skip
        st.multiselect(
            "Aspects", list(names), [usual] if usual else None, format_func=names.__getitem__,
            key="annotate_aspects", placeholder="None: the document as a whole",
            help="Each id is asked for in each of these; none asks for likeness as a whole.",
        )  # fmt: skip

        def add() -> None:
            state = st.session_state
            lines, aspects = state["annotate_seeds"], state["annotate_aspects"]
            _add(explorer, project, read_seeds(lines, project.corpus, aspects))

        st.form_submit_button(
            "Add queries", key="annotate_add_queries", on_click=attempt, args=(add,)
        )
    with st.container(gap="xsmall"):
        for info in _collections(explorer, project):
            words = counted(info.queries, "query", "queries")
            with st.popover(escape_label(f"Add the {words} of {info.name}")):
                st.caption("They stay in the project: what was asked once is kept.")
                st.button(
                    "Add them" if info.queries > 1 else "Add it",
                    key=f"annotate_take_{info.key}", on_click=attempt, type="primary",
                    args=(lambda info=info: _take_over(explorer, project, info),),
                )  # fmt: skip


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
            raise BadInputError(f"The link '{line[:200]}' names no seed.", "Copy it from Explore.")
        if asked.get("corpus", corpus) != corpus:
            raise BadInputError(
                f"The link '{line[:200]}' is one of corpus '{asked['corpus']}'.",
                f"This project asks of '{corpus}'.",
            )
        aspect, words = asked.get("aspect") or None, asked.get("q") or None
        queries.append(Query(corpus, seed=asked["seed"], aspect=aspect, instruction=words))
    if not queries:
        raise BadInputError("No seed is named.", "Write at least one document's id.")
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
