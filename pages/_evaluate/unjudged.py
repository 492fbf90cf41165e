"""What nobody judged in the top of the systems, and the way to have it judged."""

from __future__ import annotations

import streamlit as st

from engine.text import counted
from engine.types.annotating import PoolRequest
from pages._annotate.annotate_url import annotator, is_lead, of_project
from pages._common.shared import attempt, note
from pages._evaluate.evaluate_state import EvaluatePage

TOP = 20
"""As deep as the measures look."""
_ADDED = "evaluate_added"


def unjudged_documents(page: EvaluatePage) -> None:
    """Of a project's collection: what is unjudged, put into its pool with one click."""
    explorer, info = page.explorer, page.info
    corpus, _, name = info.key.partition(":")
    if info.source_format != "project" or not name:
        return
    project = explorer.annotation.project(corpus, name)
    runs = explorer.evaluations.rankings(page.request)
    unjudged = {
        (query_id, doc_id)
        for run in explorer.annotation.unjudged(project, k=TOP, runs=runs)
        for query_id, doc_ids in run.missing.items()
        for doc_id in doc_ids
    }
    added = st.session_state.pop(_ADDED, 0)
    if not unjudged and not added:
        return
    known, queries = explorer.library.open(corpus).row_of, explorer.annotation.queries(project)
    # Nobody can judge what the corpus lacks, or the seed itself.
    gone = {(q, d) for q, d in unjudged if d not in known or d == queries[q].seed}
    pooled = {(item.query_id, item.doc_id) for item in explorer.annotation.pool(project)}
    lacking, who = len(unjudged - pooled - gone), annotator(explorer)
    may_add = is_lead(project, who)
    words = _words(len(unjudged), lacking, len(gone), added)
    if lacking and not may_add:
        words += f" Leads can add them: {', '.join(project.leads) or 'ask one'}."
    note(words)

    def fill() -> None:
        explorer.annotation.fill_pool(project, PoolRequest((), TOP, runs=runs))
        st.session_state[_ADDED] = lacking

    with st.container(key="evaluate_unjudged", horizontal=True):
        if lacking and may_add:
            st.button(
                *(f"Add {lacking:,} to the pool", "evaluate_add_unjudged"),
                help="Adds them to the project's queue.",
                on_click=attempt,
                args=(fill,),
                type="primary",
            )
        may_judge = not project.annotators or who in (*project.annotators, *project.leads)
        waiting = may_judge and len(unjudged) > lacking + len(gone)
        if waiting and st.button("Judge them", key="evaluate_judge_unjudged"):
            of_project(project).go()


def _words(unjudged: int, lacking: int, gone: int, added: int) -> str:
    waiting = unjudged - lacking - gone
    counts = counted(unjudged, "unjudged document counts", "unjudged documents count")
    in_pool = f"{'The others are' if gone else 'All are'} in the pool, waiting to be judged."
    wait = "waits" if waiting == 1 else "wait"
    some = f"{waiting:,} of them {wait} in the pool; {lacking:,} are not in it."
    parts = [
        f"{added:,} added to the pool." if added else "",
        f"In the top {TOP}, {counts} as not relevant." if unjudged else "",
        f"{gone:,} of them cannot be judged: not in the corpus." if gone else "",
        (some if lacking else in_pool) if waiting else "",
    ]
    return " ".join(filter(None, parts))
