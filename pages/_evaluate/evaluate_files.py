"""What people bring to the Evaluate page: runs, judgments, and queries in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.evaluations import CollectionInfo
from pages._annotate.annotate_url import annotator
from pages._common import shared
from pages._common.charts import to_csv
from pages._common.kit import button, dim, el, empty, facts, line
from pages._common.shared import error_boundary, escape_label, note, table_with_marks, uploader
from pages._evaluate.evaluate_state import EvaluatePage, EvaluateView, collection_label
from pages._login import login
from pages._model.model_settings import chosen

MEGABYTES = 100
"""Of a file."""
MOST_ROWS, MOST_MB, SECONDS = 10_000, 20, 20
"""Of a result of a query on the page; a query is stopped after so many seconds."""
EXAMPLES = {
    "Sentences by aspect": """SELECT aspect, count(*) AS sentences
FROM sentences
GROUP BY aspect
ORDER BY sentences DESC""",
    "Measures and judgments": """SELECT system, query_id, value, count(doc_id) AS judged
FROM measures LEFT JOIN judgments USING (query_id)
WHERE measure = 'nDCG@20'
GROUP BY ALL
ORDER BY value""",
}
_QUERY, _RESULT = "evaluate_sql", "evaluate_sql_result"


def own_files(explorer: Explorer, collections: Sequence[CollectionInfo]) -> None:
    """Two uploads, and what was uploaded before."""
    st.header("Your runs and judgments", anchor=False)
    current = st.session_state.get("evaluate_collection")
    info = next((c for c in collections if c.key == current and not c.problem), None)
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        if info is not None:
            _runs(explorer, info)
    with right, error_boundary():
        _judgments(explorer, collections)


def _runs(explorer: Explorer, info: CollectionInfo) -> None:
    ids = " Query ids are <seed>_<aspect>." if info.aspects else ""

    def keep(name: str, content: bytes) -> None:
        """A run that leaves queries out is measured with the systems on those that it has."""
        run = explorer.collections.add_run(info.key, name, content)
        if run.queries < info.queries:
            EvaluateView.change(lambda now: replace(now, runs=(run.name,), seeds=None))
            page = EvaluatePage(explorer, EvaluateView.read(), [info])
            if not page.view.needs_model:
                explorer.evaluations.start(page.request, chosen(explorer), None, login.owner())

    uploader(
        escape_label(f"TREC run for {collection_label(info)}"),
        "evaluate_run_file",
        keep,
        megabytes=MEGABYTES,
        help_=f"TREC run format. Shown under its tag.{ids}",
    )
    for run in explorer.collections.runs(info.key):
        parts = [n.rstrip(".") for n in run.notes] or [counted(run.queries, "query", "queries")]
        key, remove = f"evaluate_remove_run_{run.id}", explorer.collections.remove_run
        _line(run.name, f"{'; '.join(parts)}.", key, remove, run.id)


def _judgments(explorer: Explorer, collections: Sequence[CollectionInfo]) -> None:
    names = explorer.library.names()
    corpus = st.session_state.get("evaluate_qrels_corpus") or names[0]

    def keep(name: str, content: bytes) -> None:
        added = explorer.collections.add_qrels(corpus, name, content)
        EvaluateView(added.key).write()

    uploader(
        "TREC judgments for a corpus",
        "evaluate_qrels_file",
        keep,
        megabytes=MEGABYTES,
        help_="TREC qrels with query ids <seed>_<aspect>. They become a test collection.",
    )
    st.selectbox("Judged corpus", names, key="evaluate_qrels_corpus")
    for info in collections:
        if info.uploaded:
            words = f"{counted(info.queries, 'query', 'queries')} on {info.corpus}."
            key, remove = f"evaluate_remove_{info.key}", explorer.collections.remove_qrels
            _line(info.source, words, key, remove, info.key)


def _line(name: str, words: str, key: str, remove: Callable[[Any], None], what: Any) -> None:
    with line():
        facts(el("strong", name), f" {words}")
        button("Remove", key, remove, what)


# -- SQL -----------------------------------------------------------------------------------


@st.fragment
def sql_panel(explorer: Explorer, corpus: str) -> None:
    """A query over the corpus; drawn while it is open."""
    box = st.expander("SQL", key="evaluate_sql_box", type="compact", on_change="rerun")
    if not box.open:
        return
    with box:
        query = st.text_area(
            "Query",
            key=_QUERY,
            height=140,
            help="One SELECT in the SQL of DuckDB. It changes nothing.",
            placeholder="SELECT year, count(*) FROM documents GROUP BY year",
        )
        with st.container(horizontal=True):
            clicked = st.button("Run", key="evaluate_sql_run", type="primary")
            for number, (label, example) in enumerate(EXAMPLES.items()):
                fill = st.session_state.__setitem__
                key = f"evaluate_sql_example_{number}"
                st.button(label, key=key, on_click=fill, args=(_QUERY, example))
        with error_boundary():
            if clicked:
                st.session_state.pop(_RESULT, None)
                limits = {"most_rows": MOST_ROWS, "most_mb": MOST_MB, "seconds": SECONDS}
                with st.spinner("Running the query"):
                    who = annotator(explorer)
                    found = explorer.analysis.run(corpus, query, who=who, **limits)
                st.session_state[_RESULT] = (corpus, found)
            _show_result(corpus)
        with error_boundary():
            views = explorer.analysis.views(corpus).items()
            lines = [el("li", el("strong", view), f" {', '.join(of)}") for view, of in views]
            dim("Views and their columns")
            st.html(el("ul.sl-facts", lines))


def _show_result(corpus: str) -> None:
    """The latest result on this corpus."""
    of, found = st.session_state.get(_RESULT, ("", None))
    if of != corpus or found is None:
        return
    names, rows = found.table.column_names, list(found.rows())
    if not rows:
        empty("No rows. Change the conditions of the query.")
        return
    if found.truncated:
        note(
            f"The result is too large: its first {len(rows):,} rows are shown.",
            "Add a LIMIT, or use seedlens sql for all rows.",
        )
    st.dataframe(
        table_with_marks(pd.DataFrame(rows, columns=names).convert_dtypes()),
        placeholder="–",
        hide_index=True,
        width="stretch",
        height="content" if len(rows) <= 16 else 460,
        alt="Result of the query",
    )
    st.caption(f"{len(rows):,} rows in {found.seconds:.2f} s")
    left, right, _ = st.columns([2, 2, 8])
    with left:
        make, key = (lambda: to_csv(names, found.rows())), "evaluate_sql_csv"
        shared.download("CSV", "query.csv", make, key=key)
    right.download_button(
        *("Parquet", found.to_parquet(), shared.file_name("query.parquet")),
        key="evaluate_sql_parquet",
        on_click="ignore",
        width="stretch",
    )
