"""What is asked in a project, and the pool of documents to judge for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import DEEPEST_POOL, PoolJob, PoolRequest, Project, are_passed_over
from engine.types.searches import Query
from pages._annotate.annotate_url import AnnotateView
from pages._annotate.judging_data import is_plain
from pages._common.document_view import seed_finder, shortened, title_of
from pages._common.filter_panel import PageFilters
from pages._common.kit import button, facts, grid, submit
from pages._common.shared import error_boundary, escape_label, note, system_label, with_marks
from pages._common.tasks import JobCard, time_left
from pages._explore.explore_state import View
from pages._login import login

WORDINGS = {
    "generic": "generic instruction",
    "definition": "definition",
    "paraphrases": "paraphrases",
}
"""Sets of wordings that can retrieve more, by what they are."""
SYSTEMS = PoolRequest().systems
MOST_ROWS = 10
"""Rows of a table that is shown whole."""
UNJUDGED = "annotate_unjudged"
CHOSEN = "annotate_chosen"
"""Begins the key of the seeds that were found for queries, by corpus."""
TEXT = "\x00"
"""Begins a chosen seed that is the id of a pasted text; no doc_id begins so."""
ASKED = ("seed", "aspect", "q", "focus", "reading")
"""Of the parameters of Explore, those that say what is asked for."""
SAID = "annotate_pool_said"
"""What the last change to queries or pool came to; shown once."""


def pool(explorer: Explorer, project: Project) -> None:
    """Queries on the left, the pool on the right, and what is in it below."""
    said = st.session_state.pop(SAID, "")
    jobs = explorer.annotation.filling.jobs
    job = jobs.latest(project.key)

    def how_far(job: PoolJob) -> str:
        now = job.progress
        left = "" if now.seconds_left is None else f", {time_left(now.seconds_left)}"
        return f"{now.done:,} of {counted(now.total, 'query', 'queries')}{left}"

    def outcome(job: PoolJob) -> str:
        if job.report is None:
            return ""
        left = counted(job.report.left, "query was", "queries were")
        new = counted(job.report.added, "document is", "documents are")
        return f"{new} new in the pool." + f" {left} not reached." * bool(job.report.left)

    JobCard(
        lambda: jobs.latest(project.key),
        key="annotate_fill",
        label="Filling the pool",
        line=how_far,
        cancel=jobs.cancel,
        ended=outcome,
        dismiss=jobs.dismiss,
        what_stays="The pool and its judgments are kept.",
        poll=0.5,
    ).show(job)
    busy = job is not None and job.running
    queries = explorer.annotation.queries(project)
    if said:
        note(said)
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        _add_queries(explorer, project)
    with right, error_boundary():
        _fill(explorer, project, list(queries), busy=busy)
    if queries:
        with error_boundary():
            _table(explorer, project, queries)
        with error_boundary():
            _unjudged(explorer, project, list(queries))


# -- queries -------------------------------------------------------------------------------------


def _add_queries(explorer: Explorer, project: Project) -> None:
    """The form for seeds, and a button per collection of the corpus."""
    lens, state = explorer.library.lens(project.corpus), st.session_state
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    seed, usual = explorer.starting_point(project.corpus)
    st.header("Queries", anchor=False)
    held = f"{CHOSEN}_{project.corpus}"
    _chosen_seeds(explorer, project.corpus, held)

    def add() -> None:
        lines, aspects = state["annotate_seeds"], state["annotate_aspects"]
        queries: list[Query] = []
        for choice in state[held]:
            if choice.startswith(TEXT):
                asked = Query(project.corpus, text=explorer.notebook.text(choice[len(TEXT) :]))
            else:
                asked = Query(project.corpus, seed=choice)
            queries += _in_aspects(asked, aspects)
        if lines.strip() or not queries:
            queries += read_seeds(lines, project.corpus, aspects)
        _add(explorer, project, queries)
        state.update({held: [], f"{held}_options": [], "annotate_seeds": ""})

    with st.form("annotate_queries", border=False, clear_on_submit=False):
        written = state.get("annotate_seeds", "")
        with st.expander("IDs or links", expanded=bool(written)):  # it may have to be mended
            label = "Document IDs or Explore links, one per line"
            look: Any = {"placeholder": seed, "key": "annotate_seeds", "height": 104}
            st.text_area(label, help="Links include aspect, instruction and sentences.", **look)
        st.multiselect(
            "Aspects",
            list(names),
            [usual] if usual else None,
            format_func=lambda key: with_marks(names[key]),
            key="annotate_aspects",
            placeholder="None: whole document",
            help="Adds a query per ID and aspect. None: similarity of whole documents.",
        )
        submit("Add queries", "annotate_add_queries", add)
    with st.container(gap="xsmall"):
        own, opened = f"{project.corpus}:{project.name}", explorer.library.open(project.corpus)
        for info in explorer.collections.all():  # other projects among them
            if info.corpus != project.corpus or info.key == own or info.problem or not info.queries:
                continue

            def take(key: str = info.key) -> None:
                """Its queries under their own ids; those whose seed is gone are left out."""
                asked, here = explorer.collections.queries(key), {None, *opened.row_of}
                _add(explorer, project, {i: q for i, q in asked.items() if q.seed in here})

            words = counted(info.queries, "query", "queries")
            with st.popover(escape_label(f"Add the {words} of {info.name}")):
                st.caption("Queries cannot be removed.")
                label = "Add all" if info.queries > 1 else "Add"
                button(label, f"annotate_take_{info.key}", take, type="primary")


def _chosen_seeds(explorer: Explorer, corpus: str, key: str) -> None:
    """The finder, and what was found with it until it is asked for; the options are kept beside
    the widget, which Streamlit forgets while another part is shown."""
    state = st.session_state
    options = state.setdefault(f"{key}_options", [])
    state.setdefault(key, list(options))

    def choose(choice: str) -> None:
        for name in (f"{key}_options", key):
            state[name] = list(dict.fromkeys((*state.get(name, ()), choice)))

    def title(choice: str) -> str:
        if choice.startswith(TEXT):
            return with_marks(shortened(explorer.notebook.text(choice.removeprefix(TEXT))))
        return with_marks(title_of(explorer.document(corpus, choice)))

    seed_finder(
        *(explorer, corpus),
        key="annotate_finder",
        label="Find seeds",
        on_document=choose,
        on_text=lambda text_id: choose(f"{TEXT}{text_id}"),
    )
    shown = "None yet. Find some above."
    st.multiselect("Chosen seeds", options, key=key, placeholder=shown, format_func=title)


def _in_aspects(query: Query, aspects: Sequence[str]) -> list[Query]:
    """A query in each aspect; as it is without one."""
    return [replace(query, aspect=aspect) for aspect in aspects] or [query]


def read_seeds(lines: str, corpus: str, aspects: Sequence[str]) -> list[Query]:
    """Lines of ids and links as queries.

    >>> [q.aspect for q in read_seeds("7", "demo", ["method", "result"])]
    ['method', 'result']
    >>> read_seeds("http://x/?corpus=demo&seed=7&aspect=result&q=Alike+here", "demo", [])[0].aspect
    'result'
    """
    queries = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        if "://" not in line:
            queries += _in_aspects(Query(corpus, seed=line), aspects)
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
        query = Query(corpus, seed=view.seed, aspect=view.aspect or None)
        words = view.instruction or None
        queries.append(replace(query, instruction=words, focus=view.focus, reading=view.reading))
    if not queries:
        raise BadInputError("No seed chosen.", "Find one by title, or enter a document ID.")
    return queries


def _add(explorer: Explorer, project: Project, queries: Sequence[Query] | dict[str, Query]) -> None:
    before = len(explorer.annotation.queries(project))
    explorer.annotation.add_queries(project, queries)
    added = len(explorer.annotation.queries(project)) - before
    new = counted(added, "query is", "queries are")
    st.session_state[SAID] = f"{new} new." + (" Fill the pool for them next." if added else "")


# -- the pool ------------------------------------------------------------------------------------


def _fill(explorer: Explorer, project: Project, query_ids: Sequence[str], *, busy: bool) -> None:
    st.header("Pool", anchor=False)
    filters = PageFilters(explorer, project.corpus, AnnotateView, key="annotate")
    filters.chips()
    filters.panel()
    with st.form("annotate_pool", border=False, clear_on_submit=False):
        words, systems = "Top documents of each system, deduplicated.", list(SYSTEMS)
        look: Any = {"format_func": system_label, "key": "annotate_systems", "help": words}
        st.multiselect("Systems", explorer.systems_of(project.corpus), systems, **look)
        depth, wordings = st.columns([1, 2])
        depth.number_input("Depth", 1, DEEPEST_POOL, PoolRequest().depth, key="annotate_depth")
        look = {"format_func": WORDINGS.__getitem__, "placeholder": "None"}
        wordings.multiselect("More instructions", list(WORDINGS), key="annotate_variants", **look)
        asked = st.form_submit_button(
            "Fill the pool",
            type="primary",
            key="annotate_fill",
            disabled=busy or not query_ids,
            help=None if query_ids else "Add queries first.",
        )
    if asked:
        state, where = st.session_state, explorer.parse_filters(AnnotateView.read().where)
        chosen = (state[f"annotate_{one}"] for one in ("systems", "depth", "variants"))
        systems, how_deep, variants = chosen
        request = PoolRequest(tuple(systems), int(how_deep), tuple(variants), filters=where)
        explorer.facets(project.corpus, request.filters)  # refuses those that mean nothing
        _start(explorer, project, request, query_ids)


def _start(
    explorer: Explorer, project: Project, request: PoolRequest, query_ids: Sequence[str]
) -> None:
    explorer.annotation.filling.start(project, request, query_ids, owner=login.owner())
    st.session_state.pop(UNJUDGED, None)
    st.rerun()


def _table(explorer: Explorer, project: Project, queries: dict[str, Query]) -> None:
    counts = Counter(item.query_id for item in explorer.annotation.pool(project))
    judged = Counter(
        query_id
        for query_id, _ in {
            (judgment.query_id, judgment.doc_id)
            for judgment in explorer.annotation.judgments(project)
            if judgment.origin not in ("model", "audit") and judgment.query_id in queries
        }
    )
    opened = explorer.library.open(project.corpus)

    def name(query: Query) -> str:
        if query.seed is None:
            return shortened(query.text or "")
        row = opened.row_of.get(query.seed)
        return (opened.titles[row] if row is not None else "") or query.seed

    rows = [
        {
            "Query": query_id,
            "Seed": name(query),
            "Aspect": query.aspect or ("" if is_plain(query) else "as a whole"),
            "In pool": counts[query_id],
            "Judged": judged[query_id],
        }
        for query_id, query in queries.items()
    ]
    many, items = counted(len(queries), "query", "queries"), counted(counts.total(), "item")
    facts(f"{many}, {items}, {judged.total():,} judged.")
    if gone := explorer.annotation.unaskable(project):
        note(are_passed_over(gone))
    height: Any = "content" if len(rows) < MOST_ROWS else 320
    grid(rows, "annotate_queries_table", "Queries and their pools", height=height)


def _unjudged(explorer: Explorer, project: Project, query_ids: Sequence[str]) -> None:
    """What a system ranks high that nobody judged: evaluating it now would be unfair to it."""
    st.header("Unjudged documents", anchor=False)
    st.caption("Unjudged documents count as not relevant.")
    depth = st.session_state.get("annotate_depth") or PoolRequest().depth
    systems = tuple(st.session_state.get("annotate_systems") or SYSTEMS)
    if st.button(f"Count unjudged in top {depth}", key="annotate_find_unjudged"):
        with st.spinner("Ranking", show_time=True):
            found = explorer.annotation.unjudged(project, systems, depth)
            st.session_state[UNJUDGED] = (project.key, found)
    key, unjudged = st.session_state.get(UNJUDGED, (None, ()))
    if key != project.key or not unjudged:
        return
    pooled = {i.item for i in explorer.annotation.pool(project)}
    rows = []
    for one in unjudged:
        missing = {(q, d) for q, ids in one.missing.items() for d in ids}
        counts = {"Unjudged": len(missing), "Not in pool": len(missing - pooled)}
        rows.append({"System": one.system, f"Judged@{one.k}": one.judged, **counts})
    config = {f"Judged@{unjudged[0].k}": st.column_config.NumberColumn(format="%.2f")}
    alt = "Unjudged documents by system"
    grid(rows, "annotate_unjudged_table", alt, column_config=config)
    lacking = any(row["Not in pool"] for row in rows)
    if lacking and st.button("Add missing documents", key="annotate_fill_unjudged"):
        request = PoolRequest(tuple(h.system for h in unjudged), unjudged[0].k)
        _start(explorer, project, request, query_ids)
