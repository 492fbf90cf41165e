"""Step 4: clusters put into words; read against what they give away, and mended."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.builds import BuildLens, BuildQuery, BuildState, Cluster, Overlap
from engine.types.plurals import counted
from pages._annotate.annotate_view import annotator
from pages._build.build_lines import percent
from pages._build.build_reading import Listed, listing, marked_words, opened_html, read, titles
from pages._common.shared import attempt_at, show_problem

LONGEST = 1000
"""Characters of a query."""
WHICH = {
    "all": "All",
    "above": "Above the limit",
    "dropped": "Dropped",
    "open": "Not worded yet",
}


def queries_step(explorer: Explorer, state: BuildState) -> None:
    """The queries on the left, the one that is open on the right."""
    lens = state.lens
    clusters = {c.key: c for c in explorer.builds.clusters(lens.corpus, lens.name)}
    found = everything(explorer.builds.queries(lens.corpus, lens.name), clusters.values())
    if not found:
        return
    st.html(f'<div class="sl-facts">{html.escape(facts(found, lens))}</div>')
    shown = _filtered(found, clusters, lens)
    with st.container(key="build_pair_queries"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            listed = _table(shown, clusters, lens)
        with right, st.container(key="build_pane_queries"):
            _open(explorer, lens, {query.key: query for query in found}, clusters, listed.open)


def everything(queries: Sequence[BuildQuery], clusters: Iterable[Cluster]) -> list[BuildQuery]:
    """A query for every cluster that becomes one; those that are not worded yet have no text."""
    known = {query.key: query for query in queries}
    return [
        known.get(cluster.key) or BuildQuery(cluster.key, "", cluster.doc_ids, Overlap(0.0))
        for cluster in clusters
        if not cluster.dropped
    ]


def is_above(overlap: Overlap, lens: BuildLens) -> bool:
    """Whether a query gives away more than the lens allows."""
    return overlap.share > lens.overlap + 1e-9


def facts(all_queries: Sequence[BuildQuery], lens: BuildLens) -> str:
    """``22 queries, 2 dropped. On average 12 % of a query's words ...; 3 are above 30 %.``"""
    queries = [query for query in all_queries if query.text]
    still = len(all_queries) - len(queries)
    kept = [query for query in queries if not query.dropped]
    dropped = len(queries) - len(kept)
    line = counted(len(queries), "query", "queries") + (f", {dropped:,} dropped" * bool(dropped))
    if still:
        line += f", {counted(still, 'cluster')} not worded yet"
    if not kept:
        return f"{line}."
    mean = sum(query.overlap.share for query in kept) / len(kept)
    above = sum(is_above(query.overlap, lens) for query in kept)
    whose, who = "On average {} of a query's", {0: "none is", 1: "one is"}.get(above)
    if len(kept) == 1:
        whose = "{} of its" if len(queries) == 1 else "{} of the kept one's"
        who = "it is" if above else "it is not"
    return (
        f"{line}. {whose.format(percent(mean))} words stand in its documents and are not common "
        f"in the corpus; {who or f'{above:,} are'} above the limit of {percent(lens.overlap)}."
    )


def _filtered(
    queries: Sequence[BuildQuery], clusters: Mapping[str, Cluster], lens: BuildLens
) -> list[BuildQuery]:
    with st.container(horizontal=True, vertical_alignment="center", key="build_filter_queries"):
        which = st.segmented_control(
            "Which queries", list(WHICH), format_func=WHICH.__getitem__, default="all",
            key="build_which_queries", required=True, persist_state="session",
            label_visibility="collapsed", width="content",
        )  # fmt: skip
        words = st.text_input(
            "Words of a query or a cluster", key="build_words_queries", live="250ms", width=280,
            placeholder="Words of a query or a cluster", label_visibility="collapsed",
            persist_state="session",
        )  # fmt: skip
    of_kind = {
        "above": [query for query in queries if is_above(query.overlap, lens)],
        "open": [query for query in queries if not query.text],
        "dropped": [query for query in queries if query.dropped],
    }.get(which or "all", queries)
    wanted = (words or "").casefold().split()
    return [
        query
        for query in of_kind
        if all(w in f"{query.text} {name_of(query, clusters)}".casefold() for w in wanted)
    ]


def name_of(query: BuildQuery, clusters: Mapping[str, Cluster]) -> str:
    """The name of a query's cluster; its key when the cluster is gone."""
    return clusters[query.key].name if query.key in clusters else query.key


def _table(
    queries: Sequence[BuildQuery], clusters: Mapping[str, Cluster], lens: BuildLens
) -> Listed:
    if not queries:
        st.html('<div class="sl-empty">No query is like that. Choose others above.</div>')
        return Listed("", ())
    rows: list[dict[str, Any]] = [
        {
            "Query": query.text or None,
            "Overlap": round(100 * query.overlap.share) if query.text else None,
            "Remark": standing(query, lens),
            "Documents": len(query.doc_ids),
            "Cluster": name_of(query, clusters),
        }
        for query in queries
    ]
    return listing(
        rows, [query.key for query in queries], "build_queries", choose=False,
        alt="Queries, one of each cluster", columns={
            "Query": st.column_config.TextColumn(width=275),
            "Overlap": st.column_config.NumberColumn(
                width=70, format="%d %%", help="Share of its different words that stand in its "
                "documents and are not common in the corpus."),
            "Remark": st.column_config.TextColumn(width=105),
            "Documents": st.column_config.NumberColumn(width=85, format="localized"),
            "Cluster": st.column_config.TextColumn(width=120),
        },
    )  # fmt: skip


def standing(query: BuildQuery, lens: BuildLens) -> str:
    """``dropped``, ``above the limit``, ``by people``, or nothing to say."""
    if query.dropped:
        return "dropped"
    if not query.text:
        return "not worded yet"
    by = "by people" if query.maker == "person" else ""
    return "above the limit" if is_above(query.overlap, lens) else by


def _open(
    explorer: Explorer,
    lens: BuildLens,
    queries: Mapping[str, BuildQuery],
    clusters: Mapping[str, Cluster],
    key: str,
) -> None:
    if not key:
        st.html(
            '<div class="bd-hint">Click a query to word it better, and to read the documents that '
            "it stands for.</div>"
        )
        return
    query = queries[key]
    _wording(explorer, lens, query, name_of(query, clusters))
    rows = [{"Document": title} for title in titles(explorer, lens.corpus, query.doc_ids)]
    listed = listing(
        rows, query.doc_ids, "build_query_documents", alt="Documents of the query", choose=False,
        most=6,
    )  # fmt: skip
    if listed.open:
        labels = explorer.builds.labels(lens.corpus, lens.name)
        quote = next((label.quote for label in labels if label.doc_id == listed.open), "")
        read(explorer, lens.corpus, listed.open, quote=quote)


def _wording(explorer: Explorer, lens: BuildLens, query: BuildQuery, cluster: str) -> None:
    at = f"build_text_{lens.corpus}_{lens.name}_{query.key}"
    st.html(opened_html("Cluster", cluster))
    # A wording that the engine refused stays here, to be mended.
    if st.session_state.get(f"{at}_of") != query.text:
        st.session_state[at] = st.session_state[f"{at}_of"] = query.text
    who = annotator(explorer)

    def save() -> None:
        text = st.session_state[at].strip()
        if text != query.text:
            explorer.builds.set_query(lens.corpus, lens.name, query.key, who, text=text)

    def drop() -> None:
        dropped = not query.dropped
        explorer.builds.set_query(lens.corpus, lens.name, query.key, who, dropped=dropped)

    text = st.text_area("Query", key=at, height=110, max_chars=LONGEST, persist_state="session",
                        placeholder="Not worded yet").strip()  # fmt: skip
    is_new = text != query.text
    overlap = query.overlap
    if is_new and text:
        overlap = explorer.builds.overlap(lens.corpus, lens.name, query.key, text)
    if text:
        st.html(overlap_html(text, overlap, lens, is_new=is_new))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        # Never disabled: what was typed is only told when the box is left, by a click on these.
        st.button("Save", key="build_query_save", type="primary", on_click=attempt_at,
                  args=("query", save))  # fmt: skip
        st.button(
            "Check", key="build_query_check",
            help="What this wording gives away; Ctrl+Enter does the same.",
        )  # fmt: skip
        if query.text:
            st.button(
                "Take it back" if query.dropped else "Drop it", key="build_query_drop",
                on_click=attempt_at, args=("query", drop),
                help="A dropped query is not in the collection.",
            )  # fmt: skip
    show_problem("query")
    st.html(f'<div class="md-dim">{html.escape(made_by(query))}</div>')


def made_by(query: BuildQuery) -> str:
    """Whose wording it is."""
    if not query.text:
        return "Write it yourself, or run the step."
    if query.maker == "person":
        return "Worded by people."
    return f"Worded by a model in {counted(query.tries, 'try', 'tries')}."


def overlap_html(text: str, overlap: Overlap, lens: BuildLens, *, is_new: bool) -> str:
    """How far a query gives its documents away, and by which words; escaped."""
    above = is_above(overlap, lens)
    limit = f"the limit is {percent(lens.overlap)}"
    kind = " bd-above" if above else ""
    lead = "Above the limit: " if above else ""
    saved = " Not saved yet." if is_new else ""
    if not overlap.words:
        words = "No word of it gives its documents away"
        return f'<div class="bd-overlap">{words}; {limit}.{saved}</div>'
    share = percent(overlap.share)
    return (
        f'<div class="bd-overlap{kind}" role="status"><strong>{lead}{share} of its '
        f"words give its documents away</strong>; {limit}.{saved}"
        f'<div class="bd-words">{marked_words(text, overlap.words)}</div></div>'
    )
