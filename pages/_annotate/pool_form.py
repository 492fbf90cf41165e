"""What is asked in a project, and the pool of documents to judge for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import DEEPEST_POOL, PoolJob, PoolRequest, Project, are_passed_over
from engine.types.searches import Query
from pages._annotate.annotate_url import AnnotateView
from pages._annotate.judging_data import is_plain
from pages._common.document_view import seed_finder
from pages._common.filter_panel import PageFilters
from pages._common.kit import button, facts, grid, line, select, submit
from pages._common.shared import error_boundary, note, system_label, with_marks
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
ASKED = ("seed", "aspect", "q", "focus", "reading")
"""Of the parameters of Explore, those that say what is asked for."""
SAID = "annotate_pool_said"
"""What the last change to queries or pool came to; shown once."""


def pool(explorer: Explorer, project: Project, who: str) -> None:
    """Queries on the left, the pool on the right; what is in it, and who judges it, below."""
    jobs, what_stays = explorer.annotation.filling.jobs, "The pool and its judgments are kept."
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

    look: Any = {"key": "annotate_fill", "label": "Filling the pool", "what_stays": what_stays}
    look |= {"line": how_far, "ended": outcome, "cancel": jobs.cancel, "dismiss": jobs.dismiss}
    JobCard(lambda: jobs.latest(project.key), poll=0.5, **look).show(job)
    queries = explorer.annotation.queries(project)
    if said := st.session_state.pop(SAID, ""):
        note(said)
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        _add_queries(explorer, project)
    with right, error_boundary():
        _fill(explorer, project, [*queries], busy=job is not None and job.running)
    for part in (_table, _people, _unjudged) if queries else ():
        with error_boundary():
            part(explorer, project, queries, who)


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
        queries = [query for chosen in state[held] for query in _in_aspects(chosen, aspects)]
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
        look = {"key": "annotate_aspects", "placeholder": "None: whole document"}
        look["format_func"] = lambda key: with_marks(names[key])
        look["help"] = "Adds a query per ID and aspect. None: similarity of whole documents."
        st.multiselect("Aspects", list(names), [usual] if usual else None, **look)
        submit("Add queries", "annotate_add_queries", add)
    others = {  # other projects among them
        info.key: f"{info.name}: {counted(info.queries, 'query', 'queries')}"
        for info in explorer.collections.all()
        if info.corpus == project.corpus and info.queries and not info.problem
    }
    others.pop(":".join(project.key), None)

    def take() -> None:
        """Queries under their own ids; those whose seed is gone are left out."""
        asked = explorer.collections.queries(state["annotate_collection"])
        here = {None, *explorer.library.open(project.corpus).row_of}
        _add(explorer, project, {i: q for i, q in asked.items() if q.seed in here})

    if others:
        with line(align="bottom"):
            select("Collection", others, "annotate_collection")
            button("Add all queries", "annotate_take", take, help="Queries cannot be removed.")


def _chosen_seeds(explorer: Explorer, corpus: str, key: str) -> None:
    """The finder, and what was found with it until it is asked for; the options are kept beside
    the widget, which Streamlit forgets while another part is shown."""
    state = st.session_state
    options = state.setdefault(f"{key}_options", [])
    state.setdefault(key, list(options))

    def choose(query: Query) -> None:
        for name in (f"{key}_options", key):
            state[name] = list(dict.fromkeys((*state.get(name, ()), query)))

    seed_finder(
        *(explorer, corpus),
        key="annotate_finder",
        label="Find seeds",
        on_document=lambda doc_id: choose(Query(corpus, seed=doc_id)),
        on_text=lambda text_id: choose(Query(corpus, text=explorer.notebook.text(text_id))),
    )
    look: Any = {"key": key, "placeholder": "None yet. Find some above."}
    look["format_func"] = lambda query: with_marks(explorer.notebook.seed_title(query))
    st.multiselect("Chosen seeds", options, **look)


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
    for row in filter(None, map(str.strip, lines.splitlines())):
        if "://" not in row:
            queries += _in_aspects(Query(corpus, seed=row), aspects)
            continue
        asked = {key: values[0] for key, values in parse_qs(urlsplit(row).query).items()}
        if not asked.get("seed"):
            raise BadInputError(f"The link '{row[:200]}' has no seed.", "Copy it from Explore.")
        if asked.get("corpus", corpus) != corpus:
            raise BadInputError(
                f"The link '{row[:200]}' is for corpus '{asked['corpus']}'.",
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

    def fill() -> None:
        state, where = st.session_state, explorer.parse_filters(AnnotateView.read().where)
        systems, variants = (tuple(state[f"annotate_{one}"]) for one in ("systems", "variants"))
        request = PoolRequest(systems, int(state["annotate_depth"]), variants, filters=where)
        _start(explorer, project, request, query_ids)

    with st.form("annotate_pool", border=False, clear_on_submit=False):
        words, systems = "Top documents of each system, deduplicated.", list(SYSTEMS)
        look: Any = {"format_func": system_label, "key": "annotate_systems", "help": words}
        st.multiselect("Systems", explorer.systems_of(project.corpus), systems, **look)
        depth, wordings = st.columns([1, 2])
        depth.number_input("Depth", 1, DEEPEST_POOL, PoolRequest().depth, key="annotate_depth")
        look = {"format_func": WORDINGS.__getitem__, "placeholder": "None"}
        wordings.multiselect("More instructions", list(WORDINGS), key="annotate_variants", **look)
        look = {"disabled": busy or not query_ids, "type": "primary"}
        look["help"] = None if query_ids else "Add queries first."
        submit("Fill the pool", "annotate_fill", fill, **look)


def _start(
    explorer: Explorer, project: Project, request: PoolRequest, query_ids: Sequence[str]
) -> None:
    explorer.facets(project.corpus, request.filters)  # refuses those that mean nothing
    explorer.annotation.filling.start(project, request, query_ids, owner=login.owner())
    st.session_state.pop(UNJUDGED, None)


def _table(explorer: Explorer, project: Project, queries: dict[str, Query], _: str) -> None:
    annotation = explorer.annotation
    counts = Counter(item.query_id for item in annotation.pool(project))
    by_people = (j for j in annotation.judgments(project) if j.origin not in ("model", "audit"))
    judged = Counter(query_id for query_id, _ in {j.item for j in by_people} if query_id in queries)
    titles = explorer.notebook.seed_titles([*queries.values()])
    rows = [
        {
            "Query": query_id,
            "Seed": title,
            "Aspect": query.aspect or ("" if is_plain(query) else "as a whole"),
            "In pool": counts[query_id],
            "Judged": judged[query_id],
            "Assigned to": ", ".join(project.assigned.get(query_id, ("everybody",))),
        }
        for (query_id, query), title in zip(queries.items(), titles, strict=True)
    ]
    many, items = counted(len(queries), "query", "queries"), counted(counts.total(), "item")
    facts(f"{many}, {items}, {judged.total():,} judged.")
    if gone := annotation.unaskable(project):
        note(are_passed_over(gone))
    height: Any = "content" if len(rows) < MOST_ROWS else 320
    grid(rows, "annotate_queries_table", "Queries and their pools", height=height)


def _people(explorer: Explorer, project: Project, queries: dict[str, Query], who: str) -> None:
    """Who judges which queries, and the link that annotators open."""
    annotation, state = explorer.annotation, st.session_state
    keys = "annotate_assign_queries", "annotate_assign_people"
    st.header("People", anchor=False)

    def assign() -> None:
        chosen, people = (state[key] for key in keys)
        annotation.assign(project, dict.fromkeys(chosen or queries, people), who)

    with st.form("annotate_assign", border=False):
        left, right = st.columns(2, gap="large")
        look: Any = {"format_func": with_marks, "placeholder": "All"}
        left.multiselect("Queries to assign", [*queries], key=keys[0], **look)
        look = {"accept_new_options": not project.annotators, "placeholder": "Everybody"}
        right.multiselect("Assign to", project.annotators, key=keys[1], **look)
        with line():
            submit("Assign", "annotate_assign_button", assign)
            words = "Each query goes to as many annotators as an item needs."
            label, share = "Share out evenly", annotation.share_out
            submit(label, "annotate_share_out", share, project, who, help=words)
    st.caption("Link for annotators")
    address = (st.context.url or "").partition("?")[0]
    params = urlencode(AnnotateView(project.corpus, project.name).to_params())
    st.code(f"{address}?{params}", language=None, wrap_lines=True)


def _unjudged(explorer: Explorer, project: Project, queries: dict[str, Query], _: str) -> None:
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
    pooled, rows, judged = explorer.annotation.pooled(project), [], f"Judged@{unjudged[0].k}"
    for one in unjudged:
        missing = [(q, d) in pooled for q, ids in one.missing.items() for d in ids]
        counts = {"Unjudged": len(missing), "Not in pool": missing.count(False)}
        rows.append({"System": one.system, judged: one.judged, **counts})
    config = {judged: st.column_config.NumberColumn(format="%.2f")}
    alt = "Unjudged documents by system"
    grid(rows, "annotate_unjudged_table", alt, column_config=config)
    if any(row["Not in pool"] for row in rows):
        request = PoolRequest(tuple(one.system for one in unjudged), unjudged[0].k)
        start: Any = (_start, explorer, project, request, [*queries])
        button("Add missing documents", "annotate_fill_unjudged", *start)
