"""Step 4: clusters put into words; checked for what they give away, and reworded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.builds import BuildQuery, BuildSpec, BuildState, Overlap
from engine.types.limits import LONGEST_QUERY
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import percent
from pages._build.build_reading import (
    Listed,
    drop_button,
    filters,
    has_words,
    listing,
    marked_words,
    opened_html,
    read,
    titles,
)
from pages._common.outside_text import escape
from pages._common.shared import attempt_at, show_problem

_HINT = "Click a query to edit it and to read the documents of its cluster."
WHICH = {
    "all": "All",
    "above": "Over limit",
    "dropped": "Excluded",
    "open": "No query text",
}


def queries_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The queries on the left, the one that is open on the right."""
    spec = build.spec
    worded = {query.key: query for query in build.queries()}
    names = {cluster.key: cluster.name for cluster in build.active()}
    # A cluster that is not worded yet has a query without text.
    queries = {
        c.key: worded.get(c.key) or BuildQuery(c.key, "", c.doc_ids, Overlap(0.0))
        for c in build.active()
    }
    if not queries:
        return
    st.html(f'<div class="sl-facts">{escape(facts([*queries.values()], spec))}</div>')
    which, words = filters("queries", WHICH, "queries", "a query or a cluster")
    of_kind = {
        "above": [query for query in queries.values() if is_above(query.overlap, spec)],
        "open": [query for query in queries.values() if not query.text],
        "dropped": [query for query in queries.values() if query.dropped],
    }.get(which, [*queries.values()])
    shown = [q for q in of_kind if has_words(f"{q.text} {names[q.key]}", words)]
    with st.container(key="build_pair_queries"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            listed = _table(shown, names, spec)
        with right, st.container(key="build_pane_queries"):
            if listed.open:
                _open(explorer, build, queries[listed.open], names[listed.open])
            else:
                st.html(f'<div class="bd-hint">{_HINT}</div>')


def is_above(overlap: Overlap, spec: BuildSpec) -> bool:
    """Whether a query gives away more than the limit allows."""
    return overlap.share > spec.overlap + 1e-9


def facts(all_queries: Sequence[BuildQuery], spec: BuildSpec) -> str:
    """``22 queries, 2 excluded. Mean overlap 12 %; 3 are over the limit of 30 %.``"""
    queries = [query for query in all_queries if query.text]
    still = len(all_queries) - len(queries)
    kept = [query for query in queries if not query.dropped]
    dropped = len(queries) - len(kept)
    line = counted(len(queries), "query", "queries") + (f", {dropped:,} excluded" * bool(dropped))
    if still:
        line += f", {counted(still, 'cluster')} without query text"
    if not kept:
        return f"{line}."
    mean = sum(query.overlap.share for query in kept) / len(kept)
    above = sum(is_above(query.overlap, spec) for query in kept)
    over = f"{above:,} over the limit of {percent(spec.overlap)}"
    return f"{line}. Mean overlap {percent(mean)}; {over}."


def _table(queries: Sequence[BuildQuery], names: Mapping[str, str], spec: BuildSpec) -> Listed:
    if not queries:
        st.html('<div class="sl-empty">No matching queries.</div>')
        return Listed("", ())
    rows: list[dict[str, Any]] = [
        {
            "Query": query.text or None,
            "Overlap": round(100 * query.overlap.share) if query.text else None,
            "Remark": standing(query, spec),
            "Documents": len(query.doc_ids),
            "Cluster": names[query.key],
        }
        for query in queries
    ]
    return listing(
        rows, [query.key for query in queries], "build_queries", choose=False,
        alt="Queries by cluster", columns={
            "Query": st.column_config.TextColumn(width=275),
            "Overlap": st.column_config.NumberColumn(
                width=70, format="%d %%", help="Share of query words found in its documents but "
                "rare in the corpus."),
            "Remark": st.column_config.TextColumn(width=105),
            "Documents": st.column_config.NumberColumn(width=85, format="localized"),
            "Cluster": st.column_config.TextColumn(width=120),
        },
    )  # fmt: skip


def standing(query: BuildQuery, spec: BuildSpec) -> str:
    """``excluded``, ``over limit``, ``edited manually``, or nothing to say."""
    if query.dropped:
        return "excluded"
    if not query.text:
        return "no query text"
    by = "edited manually" if query.maker == "person" else ""
    return "over limit" if is_above(query.overlap, spec) else by


def _open(explorer: Explorer, build: OpenBuild, query: BuildQuery, cluster: str) -> None:
    _wording(explorer, build, query, cluster)
    corpus = build.spec.corpus
    rows = [{"Document": title} for title in titles(explorer, corpus, query.doc_ids)]
    listed = listing(
        rows, query.doc_ids, "build_query_documents", alt="Documents of the query", choose=False,
        most=6,
    )  # fmt: skip
    if listed.open:
        quotes = {label.doc_id: label.quote for label in build.labels()}
        read(explorer, corpus, listed.open, quotes.get(listed.open, ""))


def _wording(explorer: Explorer, build: OpenBuild, query: BuildQuery, cluster: str) -> None:
    spec = build.spec
    at = f"build_text_{spec.corpus}_{spec.name}_{query.key}"
    st.html(opened_html("Cluster", cluster))
    # A wording that the engine refused stays here, to be corrected.
    if st.session_state.get(f"{at}_of") != query.text:
        st.session_state[at] = st.session_state[f"{at}_of"] = query.text
    who = annotator(explorer)

    def save() -> None:
        text = st.session_state[at].strip()
        if text != query.text:
            build.set_query(query.key, who, text=text)

    def drop() -> None:
        build.set_query(query.key, who, dropped=not query.dropped)

    text = st.text_area(
        "Query", key=at, height=110, max_chars=LONGEST_QUERY, persist_state="session",
        placeholder="No query text",
    ).strip()  # fmt: skip
    is_new = text != query.text
    overlap = query.overlap
    if is_new and text:
        overlap = build.overlap(query.key, text)
    if text:
        st.html(overlap_html(text, overlap, spec, is_new=is_new))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        # Never disabled: what was typed is only told when the box is left, by a click on these.
        st.button("Save", key="build_query_save", type="primary", on_click=attempt_at,
                  args=("query", save))  # fmt: skip
        st.button(
            "Check", key="build_query_check",
            help="Word overlap of this text (Ctrl+Enter).",
        )  # fmt: skip
        if query.text:
            note = "An excluded query is not in the collection."
            drop_button(query.dropped, "build_query_drop", note, "query", drop)
    show_problem("query")
    st.html(f'<div class="md-dim">{escape(made_by(query))}</div>')


def made_by(query: BuildQuery) -> str:
    """Whose wording it is."""
    if not query.text:
        return "Write it yourself, or run the step."
    if query.maker == "person":
        return "Edited manually."
    return f"Written by a model in {counted(query.tries, 'try', 'tries')}."


def overlap_html(text: str, overlap: Overlap, spec: BuildSpec, *, is_new: bool) -> str:
    """How far a query gives its documents away, and by which words; escaped."""
    above = is_above(overlap, spec)
    limit = f"the limit is {percent(spec.overlap)}"
    kind = " bd-above" if above else ""
    lead = "Over limit: " if above else ""
    saved = " Not saved yet." if is_new else ""
    if not overlap.words:
        words = "No overlapping words"
        return f'<div class="bd-overlap">{words}; {limit}.{saved}</div>'
    share = percent(overlap.share)
    return (
        f'<div class="bd-overlap{kind}" role="status"><strong>{lead}{share} overlapping '
        f"words</strong>; {limit}.{saved}"
        f'<div class="bd-words">{marked_words(text, overlap.words)}</div></div>'
    )
