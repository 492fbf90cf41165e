"""Step 4: clusters put into words; checked for what they give away, and reworded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.builds import BuildQuery, BuildSpec, BuildState, Overlap
from engine.types.limits import LONGEST_QUERY
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import percent
from pages._build.build_reading import (
    NUMBER,
    TEXT,
    drop_button,
    listing,
    marked_words,
    opened_line,
    read,
    table_view,
    titles,
)
from pages._common import kit
from pages._common.kit import Html, button, dim, el, line
from pages._common.shared import show_problem

_COLUMNS = {
    "Query": TEXT(width=275),
    "Overlap": NUMBER(
        width=70,
        format="%d %%",
        help="Share of query words found in its documents but rare in the corpus.",
    ),
    "Remark": TEXT(width=105),
    "Documents": NUMBER(width=85, format="localized"),
    "Cluster": TEXT(width=120),
}


def queries_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The queries on the left, the one that is open on the right."""
    spec, active = build.spec, build.active()
    worded = {query.key: query for query in build.queries()}
    names = {cluster.key: cluster.name for cluster in active}
    # A cluster that is not worded yet has a query without text.
    queries = {
        c.key: worded.get(c.key) or BuildQuery(c.key, "", c.doc_ids, Overlap(0.0)) for c in active
    }
    if not queries:
        return
    kit.facts(facts([*queries.values()], spec))

    def row(query: BuildQuery) -> dict[str, Any]:
        return {
            "Query": query.text or None,
            "Overlap": round(100 * query.overlap.share) if query.text else None,
            "Remark": remark(query, spec),
            "Documents": len(query.doc_ids),
            "Cluster": names[query.key],
        }

    table_view(
        "queries",
        queries,
        {
            "all": ("All", lambda _: True),
            "above": ("Over limit", lambda query: is_above(query.overlap, spec)),
            "dropped": ("Excluded", lambda query: query.dropped),
            "open": ("No query text", lambda query: not query.text),
        },
        lambda query: f"{query.text} {names[query.key]}",
        row,
        _COLUMNS,
        rows="queries",
        words_of="a query or a cluster",
        hint="Click a query to edit it and to read the documents of its cluster.",
        opened=lambda key: _open(explorer, build, queries[key], names[key]),
    )


def is_above(overlap: Overlap, spec: BuildSpec) -> bool:
    """Whether a query gives away more than the limit allows."""
    return overlap.share > spec.overlap + 1e-9


def facts(all_queries: Sequence[BuildQuery], spec: BuildSpec) -> str:
    """``22 queries, 2 excluded. Mean overlap 12 %; 3 are over the limit of 30 %.``"""
    queries = [query for query in all_queries if query.text]
    still = len(all_queries) - len(queries)
    kept = [query for query in queries if not query.dropped]
    dropped = len(queries) - len(kept)
    words = counted(len(queries), "query", "queries") + f", {dropped:,} excluded" * bool(dropped)
    if still:
        words += f", {counted(still, 'cluster')} without query text"
    if not kept:
        return f"{words}."
    mean = sum(query.overlap.share for query in kept) / len(kept)
    above = sum(is_above(query.overlap, spec) for query in kept)
    over = f"{above:,} over the limit of {percent(spec.overlap)}"
    return f"{words}. Mean overlap {percent(mean)}; {over}."


def remark(query: BuildQuery, spec: BuildSpec) -> str:
    """``excluded``, ``over limit``, ``edited manually``, or nothing to say."""
    if query.dropped:
        return "excluded"
    if not query.text:
        return "no query text"
    by = "edited manually" if query.maker == "person" else ""
    return "over limit" if is_above(query.overlap, spec) else by


def _open(explorer: Explorer, build: OpenBuild, query: BuildQuery, cluster: str) -> None:
    _edit(annotator(explorer), build, query, cluster)
    corpus, alt = build.spec.corpus, "Documents of the query"
    rows = [{"Document": title} for title in titles(explorer, corpus, query.doc_ids)]
    place = "build_query_documents"
    listed = listing(rows, query.doc_ids, place, alt=alt, choose=False, most=6)
    if listed.open:
        quotes = {label.doc_id: label.quote for label in build.labels()}
        read(explorer, corpus, listed.open, quotes.get(listed.open, ""))


def _edit(who: str, build: OpenBuild, query: BuildQuery, cluster: str) -> None:
    spec = build.spec
    at = f"build_text_{spec.corpus}_{spec.name}_{query.key}"
    opened_line("Cluster", cluster)
    # A wording that the engine refused stays here, to be corrected.
    if st.session_state.get(f"{at}_of") != query.text:
        st.session_state[at] = st.session_state[f"{at}_of"] = query.text

    def save() -> None:
        text = st.session_state[at].strip()
        if text != query.text:
            build.set_query(query.key, who, text=text)

    def drop() -> None:
        build.set_query(query.key, who, dropped=not query.dropped)

    look: Any = {"max_chars": LONGEST_QUERY, "persist_state": "session"}
    text = st.text_area("Query", key=at, height=110, placeholder="No query text", **look).strip()
    is_new = text != query.text
    if text:
        overlap = build.overlap(query.key, text) if is_new else query.overlap
        st.html(overlap_html(text, overlap, spec, is_new=is_new))
    with line():
        # Never disabled: what was typed is only told when the box is left, by a click on these.
        button("Save", "build_query_save", save, place="query", type="primary")
        st.button("Check", "build_query_check", help="Word overlap of this text (Ctrl+Enter).")
        if query.text:
            words = "An excluded query is not in the collection."
            drop_button(query.dropped, "build_query_drop", words, "query", drop)
    show_problem("query")
    by = f"Written by a model in {counted(query.tries, 'try', 'tries')}."
    if query.maker == "person":
        by = "Edited manually."
    dim(by if query.text else "Write it yourself, or run the step.")


def overlap_html(text: str, overlap: Overlap, spec: BuildSpec, *, is_new: bool) -> Html:
    """How far a query gives its documents away, and by which words."""
    limit = f"; the limit is {percent(spec.overlap)}.{' Not saved yet.' if is_new else ''}"
    if not overlap.words:
        return el("div.bd-overlap", f"No overlapping words{limit}")
    above = is_above(overlap, spec)
    share = f"{'Over limit: ' if above else ''}{percent(overlap.share)} overlapping words"
    words = el("div.bd-words", marked_words(text, overlap.words))
    kind = "div.bd-overlap" + (".bd-above" if above else "")
    return el(kind, el("strong", share), limit, words, role="status")
