"""Step 3: labels put together; renamed, merged, split and dropped by people."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.builds import BuildLens, BuildState, Cluster, Label
from pages._annotate.annotate_view import annotator
from pages._build.build_lines import cluster_facts, fate, many
from pages._build.build_reading import Listed, listing, opened_html, read, titles
from pages._common.shared import attempt_at, show_problem

LONGEST = 200
"""Characters of a cluster's name."""
NEW = ""
"""Where chosen documents go: into a cluster of their own."""
_AT = "build_clusters_open"


def clusters_step(explorer: Explorer, state: BuildState) -> None:
    """The clusters on the left, the one that is open on the right."""
    lens = state.lens
    found = explorer.builds.clusters(lens.corpus, lens.name)
    if not found:
        return
    labels = {x.doc_id: x for x in explorer.builds.labels(lens.corpus, lens.name)}
    st.html(f'<div class="sl-facts">{html.escape(cluster_facts(found, lens))}</div>')
    shown = _filtered(found, labels, lens)
    by_key = {cluster.key: cluster for cluster in found}
    with st.container(key="build_pair_clusters"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            listed = _table(shown, labels, lens)
        with right, st.container(key="build_pane_clusters"):
            if len(listed.chosen) > 1:
                _merge(explorer, lens, [by_key[key] for key in listed.chosen])
            _open(explorer, lens, by_key, labels, listed.open)


def _filtered(
    clusters: Sequence[Cluster], labels: Mapping[str, Label], lens: BuildLens
) -> list[Cluster]:
    which_of = {"all": "All", "in": "Become queries", "out": "Left out"}
    with st.container(horizontal=True, vertical_alignment="center", key="build_filter_clusters"):
        which = st.segmented_control(
            "Which clusters", list(which_of), format_func=which_of.__getitem__, default="all",
            key="build_which_clusters", required=True, persist_state="session",
            label_visibility="collapsed", width="content",
        )  # fmt: skip
        words = st.text_input(
            "Words of a name or a label", key="build_words_clusters", live="250ms", width=280,
            placeholder="Words of a name or a label", label_visibility="collapsed",
            persist_state="session",
        )  # fmt: skip
    wanted = (words or "").casefold().split()

    def is_wanted(cluster: Cluster) -> bool:
        if which in ("in", "out") and (fate(cluster, lens) == "a query") != (which == "in"):
            return False
        text = " ".join([cluster.name, *labels_of(cluster, labels)]).casefold()
        return all(word in text for word in wanted)

    return [cluster for cluster in clusters if is_wanted(cluster)]


def labels_of(cluster: Cluster, labels: Mapping[str, Label]) -> list[str]:
    """The labels of a cluster's documents, the most frequent ones first, with their number."""
    counts = Counter(labels[d].text for d in cluster.doc_ids if d in labels and labels[d].text)
    return [f"{text} ({n:,})" if n > 1 else text for text, n in counts.most_common()]


def _table(clusters: Sequence[Cluster], labels: Mapping[str, Label], lens: BuildLens) -> Listed:
    if not clusters:
        st.html('<div class="sl-empty">No cluster is like that. Choose others above.</div>')
        return Listed("", ())
    rows: list[dict[str, Any]] = [
        {
            "Cluster": cluster.name,
            "Documents": len(cluster.doc_ids),
            "Becomes": fate(cluster, lens),
            "Labels": ", ".join(labels_of(cluster, labels)[:5]),
            "By": "people" if cluster.maker == "person" else "model",
        }
        for cluster in clusters
    ]
    return listing(
        rows, [cluster.key for cluster in clusters], "build_clusters",
        alt="Clusters of labels, the largest first", columns={
            "Cluster": st.column_config.TextColumn(width=200),
            "Documents": st.column_config.NumberColumn(width=85, format="localized"),
            "Becomes": st.column_config.TextColumn(
                width=80, help="Clusters of the lens's sizes that nobody dropped become "
                "queries."),
            "Labels": st.column_config.TextColumn(width=180),
            "By": st.column_config.TextColumn(width=65),
        },
    )  # fmt: skip


def _merge(explorer: Explorer, lens: BuildLens, chosen: Sequence[Cluster]) -> None:
    """The chosen clusters become one, under the largest one's name unless another is given."""
    names = "".join(
        f'<li>{html.escape(c.name)} <span class="md-dim">{many(len(c.doc_ids), "document")}'
        "</span></li>"
        for c in chosen
    )
    largest = chosen[0]
    keys = [cluster.key for cluster in chosen]
    key = "build_merge_" + "_".join(keys)[:200]
    with st.form("build_merge", border=True):
        st.html(
            f'<strong>{len(chosen):,} clusters chosen</strong><ul class="bd-names">{names}</ul>'
        )
        st.text_input("Name of the merged cluster", largest.name, key=key, max_chars=LONGEST)

        def merge() -> None:
            name = st.session_state[key].strip() or largest.name
            explorer.builds.merge(lens.corpus, lens.name, keys, name, annotator(explorer))
            st.session_state[_AT] = keys[0]  # the largest one grows; the others are gone

        st.form_submit_button(
            "Merge them", type="primary", key="build_merge_button", on_click=attempt_at,
            args=("merge", merge),
        )  # fmt: skip
        show_problem("merge")


def _open(
    explorer: Explorer,
    lens: BuildLens,
    clusters: Mapping[str, Cluster],
    labels: Mapping[str, Label],
    key: str,
) -> None:
    if not key:
        st.html(
            '<div class="bd-hint">Click a cluster to read its labels and documents, and to rename '
            "or split it. Tick two or more to merge them.</div>"
        )
        return
    cluster = clusters[key]
    _name(explorer, lens, cluster)
    _documents(explorer, lens, cluster, clusters, labels)


def _name(explorer: Explorer, lens: BuildLens, cluster: Cluster) -> None:
    """Rename it, drop it or take it back."""
    at = f"build_name_{lens.corpus}_{lens.name}_{cluster.key}"
    st.session_state[at] = cluster.name
    who = annotator(explorer)

    def rename() -> None:
        name = st.session_state[at].strip()
        renamed = replace(cluster, name=name, maker="person")
        _write(explorer, lens, [renamed])

    def drop() -> None:
        explorer.builds.drop(lens.corpus, lens.name, cluster.key, not cluster.dropped, who)

    becomes = fate(cluster, lens)
    size = many(len(cluster.doc_ids), "document")
    words = {
        "a query": f"{size}: it becomes a query.",
        "dropped": f"{size}: dropped, it becomes no query.",
        "too small": f"{size}: too small for a query; the lens wants {lens.smallest:,}.",
        "too large": f"{size}: too large for a query; the lens allows {lens.largest:,}. Split it.",
    }
    st.html(opened_html("Cluster of", words[becomes]))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Name", key=at, max_chars=LONGEST, on_change=attempt_at, args=("cluster", rename),
            help="Enter saves it.",
        )  # fmt: skip
        if becomes in ("a query", "dropped"):
            st.button(
                "Take it back" if cluster.dropped else "Drop it", key="build_drop",
                on_click=attempt_at, args=("cluster", drop),
                help="A dropped cluster becomes no query.",
            )  # fmt: skip
    show_problem("cluster")


def _documents(
    explorer: Explorer,
    lens: BuildLens,
    cluster: Cluster,
    clusters: Mapping[str, Cluster],
    labels: Mapping[str, Label],
) -> None:
    """Its documents, with their labels; chosen ones are moved elsewhere."""
    rows = [
        {"Label": labels[d].text if d in labels else None, "Document": title}
        for d, title in zip(
            cluster.doc_ids, titles(explorer, lens.corpus, cluster.doc_ids), strict=True
        )
    ]
    above = st.container()
    listed = listing(
        rows, cluster.doc_ids, "build_members", alt="Documents of the cluster", most=8,
        columns={"Label": st.column_config.TextColumn(width="medium")},
    )  # fmt: skip
    with above:
        _move(explorer, lens, cluster, clusters, labels, listed.chosen)
    if listed.open:
        label = labels.get(listed.open)
        read(explorer, lens.corpus, listed.open, quote=label.quote if label else "")


def _move(
    explorer: Explorer,
    lens: BuildLens,
    cluster: Cluster,
    clusters: Mapping[str, Cluster],
    labels: Mapping[str, Label],
    chosen: Sequence[str],
) -> None:
    """Documents that are ticked go into a cluster of their own, or into another one."""
    others = [key for key in clusters if key != cluster.key]
    _suggest(common_label(chosen, labels))

    def move() -> None:
        who, target = annotator(explorer), st.session_state["build_move_to"]
        if not target:
            name = st.session_state["build_move_name"].strip()
            if not name:
                raise BadInputError("The new cluster has no name.", "Give it one.")
            explorer.builds.split(lens.corpus, lens.name, cluster.key, chosen, name, who)
            st.session_state["build_move_name"] = ""
        else:
            gone = set(chosen)
            left_over = tuple(d for d in cluster.doc_ids if d not in gone)
            there = clusters[target]
            taken = replace(there, doc_ids=(*there.doc_ids, *chosen), maker="person")
            _write(explorer, lens, [replace(cluster, doc_ids=left_over, maker="person"), taken])

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="build_move"):
        into = st.selectbox(
            "Move ticked documents to", [NEW, *others], key="build_move_to",
            format_func=lambda key: clusters[key].name if key else "a cluster of their own",
        )  # fmt: skip
        if not into:
            st.text_input("Its name", key="build_move_name", max_chars=LONGEST)
        st.button(
            f"Move {len(chosen):,}" if chosen else "Move", key="build_move_button",
            disabled=not chosen, on_click=attempt_at, args=("move", move),
            help=None if chosen else "Tick documents below first.",
        )  # fmt: skip
    show_problem("move")


def common_label(chosen: Sequence[str], labels: Mapping[str, Label]) -> str:
    """The most frequent label of some documents; "" for none."""
    counts = Counter(labels[d].text for d in chosen if d in labels and labels[d].text)
    return counts.most_common(1)[0][0] if counts else ""


def _suggest(name: str) -> None:
    """Offer a name for a new cluster, unless another one was typed."""
    state = st.session_state
    before = state.get("build_move_offered", "")
    typed = state.get("build_move_name")
    if typed is None or (name != before and typed in ("", before)):
        state["build_move_name"] = name
    state["build_move_offered"] = name


def _write(explorer: Explorer, lens: BuildLens, changed: Sequence[Cluster]) -> None:
    """Store clusters that changed, on top of those that there are now; empty ones go."""
    new = {cluster.key: cluster for cluster in changed}
    now = explorer.builds.clusters(lens.corpus, lens.name)
    kept = [c for c in (new.get(c.key, c) for c in now) if c.doc_ids]
    explorer.builds.edit_clusters(lens.corpus, lens.name, kept, annotator(explorer))
