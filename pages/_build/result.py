"""Step 5: pool and grade, and the collection that comes of it, with where it comes from."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.annotating import Project
from engine.types.builds import BuildLens, BuildState, BuildStep, Provenance, StepState
from engine.types.plurals import counted
from engine.types.searches import Query
from pages._annotate.exchange_files import packed
from pages._build.build_lines import many, percent
from pages._build.build_reading import table_height
from pages._common.shared import note

_BY: Mapping[BuildStep, str] = {
    "label": "Labels by",
    "collapse": "Clusters by",
    "verbalise": "Queries by",
    "expand": "Grades by",
}
_PAGES = Path(__file__).resolve().parents[1]


def result_step(explorer: Explorer, state: BuildState) -> None:
    """What there is of the collection, what to do with it, and where it comes from."""
    lens = state.lens
    try:
        project = explorer.builds.project(lens.corpus, lens.name)
    except UnknownNameError:  # not pooled yet
        return
    found = explorer.builds.provenance(lens.corpus, lens.name)
    st.html(f'<div class="sl-facts">{html.escape(facts(found))}</div>')
    note(
        "Grades by a model count here where no person graded.",
        "Check a sample before you rely on them: how far people agree with the model is shown "
        "there, and the provenance says how many were checked.",
    )
    _say_what_changed(state)
    _ways_on(explorer, lens, project)
    with st.container(key="build_pair_result"):
        left, right = st.columns([7, 5], gap="large")
        with left:
            st.header("Queries", anchor=False)
            _queries(found, explorer.annotation.queries(project))
        with right:
            st.header("Provenance", anchor=False)
            st.html(provenance_html(found, state.steps))


def _say_what_changed(state: BuildState) -> None:
    """A collection that steps before it have overtaken is told from one that is up to date."""
    first = next((s for s in state.steps if not s.is_complete), None)
    if first is None:
        return
    if first.step == "expand":
        note(
            "Not up to date.",
            "Until this step has run to its end, the download has the grades that there are.",
        )
        return
    note(
        "Not up to date: a step before this one comes first.",
        "The queries, the grades and the download are as they were; the provenance tells the "
        "lens, the labels and the clusters as they are now.",
    )


def facts(found: Provenance) -> str:
    """``22 queries, 312 positives from clusters, 140 found by pooling; 12 checked by people``."""
    positives, more = sum(found.positives.values()), sum(found.found.values())
    return (
        f"{many(found.queries, 'query')} · {counted(positives, 'positive')} from the clusters · "
        f"{more:,} more found by pooling · "
        f"{counted(found.checked, 'grade') if found.checked else 'no grade'} of a model checked by "
        "people"
    )


def _ways_on(explorer: Explorer, lens: BuildLens, project: Project) -> None:
    here = {"corpus": project.corpus, "project": project.name}
    with st.container(horizontal=True, gap="small", key="build_ways_on"):
        if st.button("Check a sample", key="build_check", type="primary"):
            st.switch_page(_page("annotate"), query_params={**here, "part": "model"})
        if st.button("Open in Annotate", key="build_annotate"):
            st.switch_page(_page("annotate"), query_params=here)
        if st.button("Evaluate on it", key="build_evaluate"):
            collection = f"{project.corpus}:{project.name}"
            st.switch_page(_page("evaluate"), query_params={"collection": collection})
        st.download_button(
            "Download", data=lambda: archive(explorer, lens), mime="application/zip",
            file_name=f"{lens.corpus}-{lens.name}.zip", key="build_download", on_click="ignore",
            help="Documents, queries and grades as BEIR has them, TREC qrels, and "
            "provenance.json.",
        )  # fmt: skip


def _page(name: str) -> str:
    return str(_PAGES / f"{name}.py")


def archive(explorer: Explorer, lens: BuildLens) -> bytes:
    """The collection as a ZIP file; raises as ``LensBuilds.export``."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / lens.name
        paths = explorer.builds.export(lens.corpus, lens.name, out)
        made = {str(path.relative_to(out)): path.read_bytes() for path in paths}
        return packed(made, "")[1]


def _queries(found: Provenance, queries: Mapping[str, Query]) -> None:
    rows = [
        {
            "Query": (queries[query_id].text if query_id in queries else None) or query_id,
            "From its cluster": positives,
            "Found by pooling": found.found.get(query_id, 0),
            "Id": query_id,
        }
        for query_id, positives in found.positives.items()
    ]
    if not rows:
        st.html('<div class="sl-empty">It has no queries.</div>')
        return
    st.dataframe(
        pd.DataFrame(rows), key="build_result_queries", hide_index=True,
        height=table_height(len(rows), 16),
        alt="Queries of the collection, and their positives",
        column_config={
            "Query": st.column_config.TextColumn(width=300),
            "From its cluster": st.column_config.NumberColumn(format="localized", width=105),
            "Found by pooling": st.column_config.NumberColumn(
                format="localized", width=115,
                help="Documents outside the cluster that were graded relevant."),
        },
    )  # fmt: skip


def provenance_html(found: Provenance, steps: Sequence[StepState]) -> str:
    """Where a collection comes from, as a table; escaped."""
    lens = found.lens
    sizes = f"{lens.smallest:,} to {lens.largest:,} documents"
    out = "none left out"
    if found.dropped:
        out = f"{found.dropped:,} left out (not {sizes}, or dropped)"
    rows = [
        ("Attribute", lens.attribute),
        ("What counts", lens.guidance or "–"),
        ("Examples", "; ".join(lens.examples) or "–"),
        ("Described by", f"{found.author}, {found.time.astimezone():%Y-%m-%d %H:%M}"),
        ("Corpus", f"{lens.corpus}, {many(found.labelled + found.without, 'document')} read"),
        ("Show it", _showing(found)),
        ("Clusters", f"{found.clusters:,}, {out}"),
        ("Overlap", f"{percent(found.overlap)} on average; the limit is {percent(lens.overlap)}"),
        ("Pooled", f"{', '.join(lens.systems)}, to a depth of {lens.depth:,}"),
        *((_BY[step.step], _by(found, step)) for step in steps),
    ]
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table class="bd-provenance"><tbody>{body}</tbody></table>'


def _showing(found: Provenance) -> str:
    does = "does" if found.labelled == 1 else "do"
    does_not = "does" if found.without == 1 else "do"
    return f"{many(found.labelled, 'document')} {does}, {found.without:,} {does_not} not"


def _by(found: Provenance, step: StepState) -> str:
    edits = found.edits.get(step.step, 0)
    who = found.models.get(step.step, "") or "no model"
    return f"{who}; {counted(edits, 'change')} by people" if edits else who
