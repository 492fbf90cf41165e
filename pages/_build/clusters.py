"""Step 3: labels put together; renamed, merged, split and excluded by people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer, OpenBuild
from engine.types.builds import BuildSpec, BuildState, Cluster, Label
from engine.types.limits import LONGEST_LABEL
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import cluster_facts, fate, many
from pages._build.build_reading import (
    Listed,
    drop_button,
    filters,
    has_words,
    listing,
    opened_html,
    read,
    titles,
)
from pages._common.outside_text import escape, with_marks
from pages._common.shared import attempt_at, show_problem

WHICH = {"all": "All", "in": "Become queries", "out": "No query"}
_HINT = "Click a cluster to read, rename or split it. Tick two or more to merge them."
NEW = ""
"""Where chosen documents go: into a cluster of their own."""
_AT = "build_clusters_open"


def clusters_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The clusters on the left, the one that is open on the right."""
    spec, clusters = build.spec, {cluster.key: cluster for cluster in build.clusters()}
    if not clusters:
        return
    labels = {label.doc_id: label for label in build.labels()}
    st.html(f'<div class="sl-facts">{escape(cluster_facts(clusters.values(), spec))}</div>')
    which, words = filters("clusters", WHICH, "clusters", "a name or a label")
    shown = [
        cluster
        for cluster in clusters.values()
        if which == "all" or (fate(cluster, spec) == "a query") == (which == "in")
        if has_words(" ".join([cluster.name, *labels_of(cluster, labels)]), words)
    ]
    with st.container(key="build_pair_clusters"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            listed = _table(shown, labels, spec)
        with right, st.container(key="build_pane_clusters"):
            if len(listed.chosen) > 1:
                _merge(explorer, build, [clusters[key] for key in listed.chosen])
            if listed.open:
                _name(explorer, build, clusters[listed.open])
                _documents(explorer, build, clusters[listed.open], clusters, labels)
            else:
                st.html(f'<div class="bd-hint">{_HINT}</div>')


def labels_of(cluster: Cluster, labels: Mapping[str, Label]) -> list[str]:
    """The labels of a cluster's documents, the most frequent ones first, with their number."""
    counts = Counter(labels[d].text for d in cluster.doc_ids if d in labels and labels[d].text)
    return [f"{text} ({n:,})" if n > 1 else text for text, n in counts.most_common()]


def _table(clusters: Sequence[Cluster], labels: Mapping[str, Label], spec: BuildSpec) -> Listed:
    if not clusters:
        st.html('<div class="sl-empty">No matching clusters.</div>')
        return Listed("", ())
    rows: list[dict[str, Any]] = [
        {
            "Cluster": cluster.name,
            "Documents": len(cluster.doc_ids),
            "Becomes": fate(cluster, spec),
            "Labels": ", ".join(labels_of(cluster, labels)[:5]),
            "By": "people" if cluster.maker == "person" else "model",
        }
        for cluster in clusters
    ]
    return listing(
        rows, [cluster.key for cluster in clusters], "build_clusters",
        alt="Clusters of labels, largest first", columns={
            "Cluster": st.column_config.TextColumn(width=200),
            "Documents": st.column_config.NumberColumn(width=85, format="localized"),
            "Becomes": st.column_config.TextColumn(
                width=80, help="Clusters within the size limits become queries, unless excluded."),
            "Labels": st.column_config.TextColumn(width=180),
            "By": st.column_config.TextColumn(width=65),
        },
    )  # fmt: skip


def _merge(explorer: Explorer, build: OpenBuild, chosen: Sequence[Cluster]) -> None:
    """The chosen clusters become one, under the largest one's name unless another is given."""
    names = "".join(
        f'<li>{escape(c.name)} <span class="md-dim">{many(len(c.doc_ids), "document")}</span></li>'
        for c in chosen
    )
    largest = chosen[0]
    keys = [cluster.key for cluster in chosen]
    key = "build_merge_" + "_".join(keys)[:200]
    with st.form("build_merge", border=True):
        st.html(
            f'<strong>{len(chosen):,} clusters selected</strong><ul class="bd-names">{names}</ul>'
        )
        st.text_input("Name of the merged cluster", largest.name, key=key, max_chars=LONGEST_LABEL)

        def merge() -> None:
            name = st.session_state[key].strip() or largest.name
            build.merge(keys, name, annotator(explorer))
            st.session_state[_AT] = keys[0]  # the largest one grows; the others are gone

        st.form_submit_button(
            "Merge", type="primary", key="build_merge_button", on_click=attempt_at,
            args=("merge", merge),
        )  # fmt: skip
        show_problem("merge")


def _name(explorer: Explorer, build: OpenBuild, cluster: Cluster) -> None:
    """Rename it, drop it or restore it."""
    spec = build.spec
    at = f"build_name_{spec.corpus}_{spec.name}_{cluster.key}"
    st.session_state[at] = cluster.name

    def rename() -> None:
        build.rename(cluster.key, st.session_state[at].strip(), annotator(explorer))

    def drop() -> None:
        build.drop(cluster.key, not cluster.dropped, annotator(explorer))

    becomes = fate(cluster, spec)
    size = many(len(cluster.doc_ids), "document")
    words = {
        "a query": f"{size}: becomes a query.",
        "excluded": f"{size}: excluded.",
        "too small": f"{size}: too small for a query; the smallest has {spec.smallest:,}.",
        "too large": f"{size}: too large for a query; the largest has {spec.largest:,}. Split it.",
    }
    st.html(opened_html("Cluster of", words[becomes]))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Name", key=at, max_chars=LONGEST_LABEL, on_change=attempt_at, args=("cluster", rename),
            help="Press Enter to save.",
        )  # fmt: skip
        if becomes in ("a query", "excluded"):
            note = "An excluded cluster becomes no query."
            drop_button(cluster.dropped, "build_drop", note, "cluster", drop)
    show_problem("cluster")


def _documents(
    explorer: Explorer,
    build: OpenBuild,
    cluster: Cluster,
    clusters: Mapping[str, Cluster],
    labels: Mapping[str, Label],
) -> None:
    """Its documents, with their labels; chosen ones are moved elsewhere."""
    corpus = build.spec.corpus
    names = titles(explorer, corpus, cluster.doc_ids)
    rows = [
        {"Label": labels[d].text if d in labels else None, "Document": title}
        for d, title in zip(cluster.doc_ids, names, strict=True)
    ]
    above = st.container()
    listed = listing(
        rows, cluster.doc_ids, "build_members", alt="Documents of the cluster", most=8,
        columns={"Label": st.column_config.TextColumn(width="medium")},
    )  # fmt: skip
    with above:
        _move(explorer, build, cluster, clusters, labels, listed.chosen)
    if listed.open:
        label = labels.get(listed.open)
        read(explorer, corpus, listed.open, label.quote if label else "")


def _move(
    explorer: Explorer,
    build: OpenBuild,
    cluster: Cluster,
    clusters: Mapping[str, Cluster],
    labels: Mapping[str, Label],
    chosen: Sequence[str],
) -> None:
    """Documents that are ticked go into a cluster of their own, or into another one."""
    others = [key for key in clusters if key != cluster.key]
    _suggest(common_label(chosen, labels))

    def move() -> None:
        target = st.session_state["build_move_to"]
        if not target:
            name = st.session_state["build_move_name"].strip()
            if not name:
                raise BadInputError("The new cluster has no name.", "Enter one.")
            build.split(cluster.key, chosen, name, annotator(explorer))
            st.session_state["build_move_name"] = ""
        else:
            build.move(cluster.key, chosen, target, annotator(explorer))

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="build_move"):
        into = st.selectbox(
            "Move ticked documents to", [NEW, *others], key="build_move_to",
            format_func=lambda key: (
                with_marks(clusters[key].name) if key else "new cluster"
            ),
        )  # fmt: skip
        if not into:
            st.text_input("Cluster name", key="build_move_name", max_chars=LONGEST_LABEL)
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
