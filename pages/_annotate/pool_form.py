"""What is asked in a project, and the pool of documents to judge for it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    DEEPEST_POOL,
    PoolJob,
    PoolRequest,
    Project,
    are_passed_over,
)
from engine.types.searches import Query
from pages._annotate.annotate_url import AnnotateView
from pages._annotate.judging_view import is_plain
from pages._annotate.project_queries_form import SAID, add_queries
from pages._common.document_view import shortened
from pages._common.filter_panel import PageFilters
from pages._common.job_card import JobCard
from pages._common.job_words import time_left
from pages._common.outside_text import escape, table_with_marks
from pages._common.shared import error_boundary, note, system_label
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


def pool(explorer: Explorer, project: Project) -> None:
    """Queries on the left, the pool on the right, and what is in it below."""
    said = st.session_state.pop(SAID, "")
    jobs = explorer.annotation.filling.jobs
    job = jobs.latest(project.key)
    JobCard(
        lambda: jobs.latest(project.key), key="annotate_fill", label="Filling the pool",
        line=_progress_line, cancel=jobs.cancel, ended=_outcome_line, dismiss=jobs.dismiss,
        what_stays="The pool and its judgments are kept.", poll=0.5,
    ).show(job)  # fmt: skip
    busy = job is not None and job.running
    queries = explorer.annotation.queries(project)
    if said:
        st.html(f'<div class="sl-note" role="status">{escape(said)}</div>')
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        add_queries(explorer, project)
    with right, error_boundary():
        _fill(explorer, project, list(queries), busy=busy)
    with error_boundary():
        _table(explorer, project, queries)
    if queries:
        with error_boundary():
            _unjudged(explorer, project, list(queries))


def _fill(explorer: Explorer, project: Project, query_ids: Sequence[str], *, busy: bool) -> None:
    st.header("Pool", anchor=False)
    filters = PageFilters(explorer, project.corpus, AnnotateView, key="annotate")
    filters.chips()
    filters.panel()
    with st.form("annotate_pool", border=False, clear_on_submit=False):
        st.multiselect(
            "Systems", explorer.systems_of(project.corpus), list(SYSTEMS), key="annotate_systems",
            format_func=system_label, help="Top documents of each system, deduplicated.",
        )  # fmt: skip
        depth, wordings = st.columns([1, 2])
        depth.number_input("Depth", 1, DEEPEST_POOL, PoolRequest().depth, key="annotate_depth")
        wordings.multiselect(
            "More instructions", list(WORDINGS), key="annotate_variants",
            format_func=WORDINGS.__getitem__, placeholder="None",
        )  # fmt: skip
        asked = st.form_submit_button(
            "Fill the pool", type="primary", key="annotate_fill", disabled=busy or not query_ids,
            help=None if query_ids else "Add queries first.",
        )  # fmt: skip
    if asked:
        state = st.session_state
        request = PoolRequest(
            tuple(state["annotate_systems"]),
            int(state["annotate_depth"]),
            tuple(state["annotate_variants"]),
            filters=explorer.parse_filters(AnnotateView.read().where),
        )
        explorer.facets(project.corpus, request.filters)  # refuses those that mean nothing
        _start(explorer, project, request, query_ids)


def _start(
    explorer: Explorer, project: Project, request: PoolRequest, query_ids: Sequence[str]
) -> None:
    explorer.annotation.filling.start(project, request, query_ids, owner=login.owner())
    st.session_state.pop(UNJUDGED, None)
    st.rerun()


def _progress_line(job: PoolJob) -> str:
    progress = job.progress
    words = f"{progress.done:,} of {counted(progress.total, 'query', 'queries')}"
    left = progress.seconds_left
    return words if left is None else f"{words}, {time_left(left)}"


def _outcome_line(job: PoolJob) -> str:
    if job.report is None:
        return ""
    left, added = job.report.left, job.report.added
    unreached = f" {counted(left, 'query was', 'queries were')} not reached." if left else ""
    return f"{counted(added, 'document is', 'documents are')} new in the pool.{unreached}"


def _table(explorer: Explorer, project: Project, queries: dict[str, Query]) -> None:
    if not queries:
        return
    counts = dict.fromkeys(queries, 0)
    for item in explorer.annotation.pool(project):
        counts[item.query_id] = counts.get(item.query_id, 0) + 1
    judged: dict[str, set[str]] = {}
    for judgment in explorer.annotation.judgments(project):
        if judgment.origin not in ("model", "audit") and judgment.query_id in queries:
            judged.setdefault(judgment.query_id, set()).add(judgment.doc_id)
    titles = _titles(explorer, project, queries)
    rows = [
        {
            "Query": query_id,
            "Seed": titles.get(query.seed or "", query.seed) or shortened(query.text or ""),
            "Aspect": query.aspect or ("" if is_plain(query) else "as a whole"),
            "In pool": counts[query_id],
            "Judged": len(judged.get(query_id, ())),
        }
        for query_id, query in queries.items()
    ]
    total = sum(counts.values())
    st.html(
        f'<div class="sl-facts">{counted(len(queries), "query", "queries")}, '
        f"{counted(total, 'item')}, {sum(map(len, judged.values())):,} judged.</div>"
    )
    if gone := explorer.annotation.unaskable(project):
        note(are_passed_over(gone))
    st.dataframe(
        table_with_marks(pd.DataFrame(rows)), key="annotate_queries_table", hide_index=True,
        height="content" if len(rows) < MOST_ROWS else 320,
        alt="Queries and their pools",
    )  # fmt: skip


def _titles(explorer: Explorer, project: Project, queries: dict[str, Query]) -> dict[str, str]:
    """Seed -> its title, of those that the corpus holds and that have one."""
    opened = explorer.library.open(project.corpus)
    seeds = {query.seed for query in queries.values() if query.seed is not None}
    held = {seed: opened.row_of[seed] for seed in seeds if seed in opened.row_of}
    return {seed: opened.titles[row] for seed, row in held.items() if opened.titles[row]}


def _unjudged(explorer: Explorer, project: Project, query_ids: Sequence[str]) -> None:
    """What a system ranks high that nobody judged: evaluating it now would be unfair to it."""
    st.header("Unjudged documents", anchor=False)
    st.caption("Unjudged documents count as not relevant.")
    depth = st.session_state.get("annotate_depth") or PoolRequest().depth
    systems = tuple(st.session_state.get("annotate_systems") or SYSTEMS)
    if st.button(f"Count unjudged in top {depth}", key="annotate_find_unjudged"):
        with st.spinner("Ranking", show_time=True):
            st.session_state[UNJUDGED] = (
                project.corpus, project.name, explorer.annotation.unjudged(project, systems, depth),
            )  # fmt: skip
    corpus, name, unjudged = st.session_state.get(UNJUDGED, ("", "", ()))
    if (corpus, name) != (project.corpus, project.name) or not unjudged:
        return
    pooled = {i.item for i in explorer.annotation.pool(project)}
    rows = []
    for one in unjudged:
        missing = {(q, d) for q, ids in one.missing.items() for d in ids}
        rows.append(
            {
                "System": one.system,
                f"Judged@{one.k}": one.judged,
                "Unjudged": len(missing),
                "Not in pool": len(missing - pooled),
            }
        )
    st.dataframe(
        table_with_marks(pd.DataFrame(rows)), key="annotate_unjudged_table", hide_index=True,
        column_config={f"Judged@{unjudged[0].k}": st.column_config.NumberColumn(format="%.2f")},
        alt="Unjudged documents by system",
    )  # fmt: skip
    lacking = any(row["Not in pool"] for row in rows)
    if lacking and st.button("Add missing documents", key="annotate_fill_unjudged"):
        request = PoolRequest(tuple(h.system for h in unjudged), unjudged[0].k)
        _start(explorer, project, request, query_ids)
