"""What nobody judged in the top of the systems, and the way to have it judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import PoolRequest, Project
from engine.types.evaluations import CollectionInfo
from engine.types.searches import Ranking
from pages._annotate.annotate_url import annotator, is_lead, of_project
from pages._common.outside_text import escape
from pages._common.shared import attempt
from pages._evaluate.evaluate_page import request_of
from pages._evaluate.evaluate_url import EvaluateView

TOP = 20
"""As deep as the measures look."""
_ADDED = "evaluate_added"
_BETWEEN = ":"  # corpus and project, in the key of a project's collection


def unjudged_documents(explorer: Explorer, view: EvaluateView, info: CollectionInfo) -> None:
    """Of a project's collection: what is unjudged, put into its pool with one click."""
    project = _project_of(explorer, info)
    if project is None:
        return
    runs = explorer.evaluations.rankings(request_of(explorer, view, info))
    unjudged = {
        (query_id, doc_id)
        for run in explorer.annotation.unjudged(project, k=TOP, runs=runs)
        for query_id, doc_ids in run.missing.items()
        for doc_id in doc_ids
    }
    added = st.session_state.pop(_ADDED, 0)
    if not unjudged and not added:
        return
    pooled = {(item.query_id, item.doc_id) for item in explorer.annotation.pool(project)}
    gone = _not_to_judge(explorer, project, unjudged)
    lacking = len(unjudged - pooled - gone)
    words = _words(len(unjudged), lacking, len(gone), added)
    who = annotator(explorer)
    may_add = is_lead(project, who)
    if lacking and not may_add:
        words += f" Leads can add them: {', '.join(project.leads) or 'ask one'}."
    st.html(f'<div class="sl-note" role="status">{escape(words)}</div>')
    may_judge = not project.annotators or who in (*project.annotators, *project.leads)
    with st.container(key="evaluate_unjudged", horizontal=True):
        if lacking and may_add:
            st.button(
                f"Add {lacking:,} to the pool", key="evaluate_add_unjudged", on_click=attempt,
                args=(partial(_fill, explorer, project, runs, lacking),), type="primary",
                help="Adds them to the project's queue.",
            )  # fmt: skip
        waiting = may_judge and len(unjudged) > lacking + len(gone)
        if waiting and st.button("Judge them", key="evaluate_judge_unjudged"):
            of_project(project).go()


def _project_of(explorer: Explorer, info: CollectionInfo) -> Project | None:
    """The project that a collection's grades come from, if it has a queue."""
    corpus, _, name = info.key.partition(_BETWEEN)
    of_project = info.source_format == "project" and name
    return explorer.annotation.project(corpus, name) if of_project else None


def _not_to_judge(
    explorer: Explorer, project: Project, items: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Items of runs that nobody can judge: the corpus lacks the document, or it is the seed."""
    known = explorer.library.open(project.corpus).row_of
    asked = explorer.annotation.queries(project)
    return {(q, d) for q, d in items if d not in known or d == asked[q].seed}


def _words(unjudged: int, lacking: int, gone: int, added: int) -> str:
    parts = [f"{added:,} added to the pool."] if added else []
    if unjudged:
        some = counted(unjudged, "unjudged document counts", "unjudged documents count")
        parts.append(f"In the top {TOP}, {some} as not relevant.")
        waiting = unjudged - lacking - gone
        if gone:
            parts.append(f"{gone:,} of them cannot be judged: not in the corpus.")
        if waiting and not lacking:
            parts.append(
                f"{'The others are' if gone else 'All are'} in the pool, waiting to be judged."
            )
        elif waiting:
            wait = "waits" if waiting == 1 else "wait"
            parts.append(f"{waiting:,} of them {wait} in the pool; {lacking:,} are not in it.")
    return " ".join(parts)


def _fill(
    explorer: Explorer, project: Project, runs: Mapping[str, Sequence[Ranking]], lacking: int
) -> None:
    explorer.annotation.fill_pool(project, PoolRequest((), TOP, runs=runs))
    st.session_state[_ADDED] = lacking
