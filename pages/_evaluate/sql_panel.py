"""Queries in SQL: a result as a table, CSV and Parquet, and the views that there are."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from pages._annotate.annotate_url import annotator
from pages._common import shared
from pages._common.figure_file import to_csv
from pages._common.outside_text import escape, table_with_marks
from pages._common.shared import error_boundary, note

MOST_ROWS, MOST_MB, SECONDS = 10_000, 20, 20
"""Of a result on the page; a query is stopped after so many seconds."""
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


@st.fragment
def sql_panel(explorer: Explorer, corpus: str) -> None:
    """A query over the corpus; drawn while it is open."""
    box = st.expander("SQL", key="evaluate_sql_box", type="compact", on_change="rerun")
    if not box.open:
        return
    with box:
        query = st.text_area(
            "Query", key=_QUERY, height=140,
            help="One SELECT in the SQL of DuckDB. It changes nothing.",
            placeholder="SELECT year, count(*) FROM documents GROUP BY year",
        )  # fmt: skip
        with st.container(horizontal=True):
            clicked = st.button("Run", key="evaluate_sql_run", type="primary")
            for number, (label, example) in enumerate(EXAMPLES.items()):
                st.button(
                    label, key=f"evaluate_sql_example_{number}",
                    on_click=st.session_state.__setitem__, args=(_QUERY, example),
                )  # fmt: skip
        with error_boundary():
            if clicked:
                _run(explorer, corpus, query)
            _show(corpus)
        with error_boundary():
            _list_views(explorer, corpus)


def _run(explorer: Explorer, corpus: str, query: str) -> None:
    st.session_state.pop(_RESULT, None)
    with st.spinner("Running the query"):
        found = explorer.analysis.run(
            corpus, query, who=annotator(explorer),
            most_rows=MOST_ROWS, most_mb=MOST_MB, seconds=SECONDS,
        )  # fmt: skip
    st.session_state[_RESULT] = (corpus, found)


def _show(corpus: str) -> None:
    """The latest result on this corpus."""
    of, found = st.session_state.get(_RESULT, ("", None))
    if of != corpus or found is None:
        return
    names, rows = found.table.column_names, list(found.rows())
    if not rows:
        st.html('<div class="sl-empty">No rows. Change the conditions of the query.</div>')
        return
    if found.truncated:
        note(
            f"The result is too large: its first {len(rows):,} rows are shown.",
            "Add a LIMIT, or use seedlens sql for all rows.",
        )
    st.dataframe(
        table_with_marks(pd.DataFrame(rows, columns=names).convert_dtypes()),
        placeholder="–", hide_index=True, width="stretch",
        height="content" if len(rows) <= 16 else 460, alt="Result of the query",
    )  # fmt: skip
    st.caption(f"{len(rows):,} rows in {found.seconds:.2f} s")
    left, right, _ = st.columns([2, 2, 8])
    with left:
        shared.download(
            "CSV", "query.csv", lambda: to_csv(names, found.rows()), key="evaluate_sql_csv"
        )
    right.download_button(
        "Parquet", found.to_parquet(), file_name=shared.file_name("query.parquet"),
        key="evaluate_sql_parquet", on_click="ignore", width="stretch",
    )  # fmt: skip


def _list_views(explorer: Explorer, corpus: str) -> None:
    lines = [
        f"<li><strong>{escape(view)}</strong> {escape(', '.join(columns))}</li>"
        for view, columns in explorer.analysis.views(corpus).items()
    ]
    head = '<div class="md-dim">Views and their columns</div>'
    st.html(f'{head}<ul class="sl-facts">{"".join(lines)}</ul>')
