"""Step 5: pool and grade, and the collection that comes of it, with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.annotating import Project
from engine.types.builds import BuildSpec, BuildState, Provenance, StepState
from engine.types.searches import Query
from pages._annotate.annotate_url import of_project
from pages._annotate.exchange_files import packed
from pages._build.build_tables import NUMBER, TEXT, table_height
from pages._build.build_words import WORDS, many, percent
from pages._common.kit import Html, empty, facts, grid, table
from pages._common.shared import error_boundary, note
from pages._evaluate.evaluate_state import EvaluateView


def result_step(explorer: Explorer, build: OpenBuild, state: BuildState) -> None:
    """What there is of the collection, what to do with it, and where it comes from."""
    spec = build.spec
    try:
        project = build.project()
    except UnknownNameError:  # not pooled yet
        return
    made = explorer.builds.provenance(spec.corpus, spec.name)
    positives, more = sum(made.positives.values()), sum(made.found.values())
    checked = counted(made.checked, "model grade") if made.checked else "no model grade"
    facts(
        f"{many(made.queries, 'query')} · {counted(positives, 'positive')} from clusters · "
        f"{more:,} more by pooling · {checked} checked by people"
    )
    words = "Model grades are used where no human grade exists."
    note(words, "Check a sample before you rely on them.")
    # A collection that steps before it have overtaken is told from one that is up to date.
    if first := next((s for s in state.steps if not s.is_complete), None):
        if first.step == "expand":
            note("Not up to date.", "Incomplete: the export contains partial grades.")
        else:
            note(
                "Not up to date: an earlier step is outdated.",
                "Queries, grades and export are unchanged; the provenance shows current "
                "attribute, labels and clusters.",
            )
    _ways_on(explorer, spec, project)
    with st.container(key="build_pair_result"):
        left, right = st.columns([7, 5], gap="large")
        with left:
            st.header("Queries", anchor=False)
            _queries(made, explorer.annotation.queries(project))
        with right:
            st.header("Provenance", anchor=False)
            st.html(provenance_html(made, state.steps))


def _ways_on(explorer: Explorer, spec: BuildSpec, project: Project) -> None:
    with st.container(horizontal=True, gap="small", key="build_ways_on"):
        if st.button("Check a sample", key="build_check", type="primary"):
            of_project(project, "model").go()
        if st.button("Open in Annotate", key="build_annotate"):
            of_project(project).go()
        if st.button("Evaluate", key="build_evaluate"):
            EvaluateView.elsewhere(collection=":".join(project.key), sample=None, model="").go()
        _export(explorer, spec)


@st.fragment
def _export(explorer: Explorer, spec: BuildSpec) -> None:
    popover = st.popover("Export", key="build_export", on_change="rerun")
    if not popover.open:
        return
    with popover, error_boundary():
        st.caption("Documents, queries and grades in BEIR format, TREC qrels and provenance.json.")
        name, data = f"{spec.corpus}-{spec.name}.zip", archive(explorer, spec)
        look: Any = {"mime": "application/zip", "on_click": "ignore", "key": "build_download"}
        st.download_button("Download ZIP", data, name, **look)


def archive(explorer: Explorer, spec: BuildSpec) -> bytes:
    """The collection as a ZIP file; raises as ``CollectionBuilds.files``."""
    return packed(explorer.builds.files(spec.corpus, spec.name), "")[1]


def _queries(made: Provenance, queries: Mapping[str, Query]) -> None:
    rows = [
        {
            "Query": (queries[query_id].text if query_id in queries else None) or query_id,
            "From cluster": positives,
            "Added by pooling": made.found.get(query_id, 0),
            "Id": query_id,
        }
        for query_id, positives in made.positives.items()
    ]
    if not rows:
        empty("No queries. Restore or write some in step Queries.")
        return
    words = "Relevant documents outside the cluster."
    columns = {
        "Query": TEXT(width=300),
        "From cluster": NUMBER(format="localized", width=105),
        "Added by pooling": NUMBER(format="localized", width=115, help=words),
    }
    look: Any = {"height": table_height(len(rows), 16), "column_config": columns}
    grid(rows, "build_result_queries", "Queries and their positives", **look)


def provenance_html(made: Provenance, steps: Sequence[StepState]) -> Html:
    """Where a collection comes from, as a table."""
    spec = made.spec
    sizes = f"{spec.smallest:,} to {spec.largest:,} documents"
    out = "no exclusions"
    if made.dropped:
        out = f"{made.dropped:,} excluded (not {sizes}, or manually)"
    present = f"{counted(made.labelled, 'document does', 'documents do')}, "
    present += f"{counted(made.without, 'does', 'do')} not"
    rows = [
        ("Attribute", spec.attribute),
        ("Definition", spec.guidance or "–"),
        ("Examples", "; ".join(spec.examples) or "–"),
        ("Described by", f"{made.author}, {made.time.astimezone():%Y-%m-%d %H:%M}"),
        ("Corpus", f"{spec.corpus}, {many(made.labelled + made.without, 'document')} read"),
        ("Present", present),
        ("Clusters", f"{made.clusters:,}, {out}"),
        ("Overlap", f"{percent(made.overlap)} on average; the limit is {percent(spec.overlap)}"),
        ("Pooled", f"{', '.join(spec.systems)}, to a depth of {spec.depth:,}"),
        *((WORDS[step.step].by, _by(made, step)) for step in steps),
    ]
    return table("Provenance", (), rows, "bd-provenance")


def _by(made: Provenance, step: StepState) -> str:
    edits = made.edits.get(step.step, 0)
    who = made.models.get(step.step, "") or "no model"
    return f"{who}; {counted(edits, 'manual change')}" if edits else who
