"""Step 3: labels put together; renamed, merged, split and excluded by people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer, OpenBuild
from engine.types.builds import BuildState, Cluster, Label
from engine.types.limits import LONGEST_LABEL
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import cluster_facts, fate, many
from pages._build.build_reading import (
    NUMBER,
    TEXT,
    drop_button,
    listing,
    opened_line,
    read,
    table_view,
    titles,
)
from pages._common.kit import button, el, facts, line, select, submit
from pages._common.shared import attempt_at, show_problem

NEW = ""
"""Where chosen documents go: into a cluster of their own."""
_COLUMNS = {
    "Cluster": TEXT(width=200),
    "Documents": NUMBER(width=85, format="localized"),
    "Becomes": TEXT(
        width=80, help="Clusters within the size limits become queries, unless excluded."
    ),
    "Labels": TEXT(width=180),
    "By": TEXT(width=65),
}


def clusters_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The clusters on the left, the one that is open on the right."""
    clusters = {cluster.key: cluster for cluster in build.clusters()}
    if not clusters:
        return
    labels = {label.doc_id: label for label in build.labels()}
    facts(cluster_facts(clusters.values(), build.spec))
    step = _Clusters(explorer, build, clusters, labels)
    table_view(
        "clusters",
        clusters,
        {
            "all": ("All", lambda _: True),
            "in": ("Become queries", lambda cluster: step.fate(cluster) == "a query"),
            "out": ("No query", lambda cluster: step.fate(cluster) != "a query"),
        },
        lambda cluster: " ".join([cluster.name, *labels_of(cluster, labels)]),
        step.row,
        _COLUMNS,
        rows="clusters",
        words_of="a name or a label",
        hint="Click a cluster to read, rename or split it. Tick two or more to merge them.",
        opened=step.opened,
        ticked=step.merge,
    )


def labels_of(cluster: Cluster, labels: Mapping[str, Label]) -> list[str]:
    """The labels of a cluster's documents, the most frequent ones first, with their number."""
    counts = _counts(cluster.doc_ids, labels)
    return [f"{text} ({n:,})" if n > 1 else text for text, n in counts.most_common()]


def _counts(doc_ids: Sequence[str], labels: Mapping[str, Label]) -> Counter[str]:
    return Counter(labels[d].text for d in doc_ids if d in labels and labels[d].text)


@dataclass(frozen=True)
class _Clusters:
    """The clusters of a build on the page."""

    explorer: Explorer
    build: OpenBuild
    clusters: Mapping[str, Cluster]
    labels: Mapping[str, Label]

    @property
    def who(self) -> str:
        return annotator(self.explorer)

    def fate(self, cluster: Cluster) -> str:
        return fate(cluster, self.build.spec)

    def row(self, cluster: Cluster) -> dict[str, Any]:
        return {
            "Cluster": cluster.name,
            "Documents": len(cluster.doc_ids),
            "Becomes": self.fate(cluster),
            "Labels": ", ".join(labels_of(cluster, self.labels)[:5]),
            "By": "people" if cluster.maker == "person" else "model",
        }

    def merge(self, keys: tuple[str, ...]) -> None:
        """The ticked clusters become one, under the largest one's name unless another is given."""
        if len(keys) < 2:
            return
        largest, field = self.clusters[keys[0]], "build_merge_" + "_".join(keys)[:200]

        def merge() -> None:
            name = st.session_state[field].strip() or largest.name
            self.build.merge([*keys], name, self.who)
            st.session_state["build_clusters_open"] = keys[0]  # the largest one grows

        names = (
            el("li", f"{c.name} ", el("span.sl-dim", many(len(c.doc_ids), "document")))
            for c in map(self.clusters.__getitem__, keys)
        )
        with st.form("build_merge"):
            head = el("strong", f"{len(keys):,} clusters selected")
            st.html(head + el("ul.bd-names", names))
            st.text_input(
                "Name of the merged cluster", largest.name, key=field, max_chars=LONGEST_LABEL
            )
            submit("Merge", "build_merge_button", merge, place="merge", type="primary")
            show_problem("merge")

    def opened(self, key: str) -> None:
        """Rename a cluster, drop or restore it, read its documents and move them elsewhere."""
        self._name(self.clusters[key])
        self._documents(self.clusters[key])

    def _name(self, cluster: Cluster) -> None:
        spec = self.build.spec
        at = f"build_name_{spec.corpus}_{spec.name}_{cluster.key}"
        st.session_state[at] = cluster.name

        def rename() -> None:
            self.build.rename(cluster.key, st.session_state[at].strip(), self.who)

        def drop() -> None:
            self.build.drop(cluster.key, not cluster.dropped, self.who)

        becomes = self.fate(cluster)
        words = {
            "a query": "becomes a query.",
            "excluded": "excluded.",
            "too small": f"too small for a query; the smallest has {spec.smallest:,}.",
            "too large": f"too large for a query; the largest has {spec.largest:,}. Split it.",
        }
        opened_line("Cluster of", f"{many(len(cluster.doc_ids), 'document')}: {words[becomes]}")
        with line(align="bottom"):
            save: Any = {"on_change": attempt_at, "args": ("cluster", rename)}
            words_ = "Press Enter to save."
            st.text_input("Name", key=at, max_chars=LONGEST_LABEL, help=words_, **save)
            if becomes in ("a query", "excluded"):
                words_ = "An excluded cluster becomes no query."
                drop_button(cluster.dropped, "build_drop", words_, "cluster", drop)
        show_problem("cluster")

    def _documents(self, cluster: Cluster) -> None:
        corpus, labels = self.build.spec.corpus, self.labels
        names = titles(self.explorer, corpus, cluster.doc_ids)
        rows = [
            {"Label": labels[d].text if d in labels else None, "Document": title}
            for d, title in zip(cluster.doc_ids, names, strict=True)
        ]
        above, columns = st.container(), {"Label": TEXT(width="medium")}
        alt = "Documents of the cluster"
        listed = listing(rows, cluster.doc_ids, "build_members", columns, alt=alt, most=8)
        with above:
            self._move(cluster, listed.ticked)
        if listed.open:
            label = labels.get(listed.open)
            read(self.explorer, corpus, listed.open, label.quote if label else "")

    def _move(self, cluster: Cluster, chosen: Sequence[str]) -> None:
        """Documents that are ticked go into a cluster of their own, or into another one."""
        others = {key: c.name for key, c in self.clusters.items() if key != cluster.key}
        common = _counts(chosen, self.labels).most_common(1)
        _suggest(common[0][0] if common else "")

        def move() -> None:
            target = st.session_state["build_move_to"]
            if target:
                self.build.move(cluster.key, chosen, target, self.who)
                return
            name = st.session_state["build_move_name"].strip()
            if not name:
                raise BadInputError("The new cluster has no name.", "Enter one.")
            self.build.split(cluster.key, chosen, name, self.who)
            st.session_state["build_move_name"] = ""

        with line("build_move", "bottom"):
            places = {NEW: "new cluster", **others}
            if not select("Move ticked documents to", places, "build_move_to"):
                st.text_input("Cluster name", key="build_move_name", max_chars=LONGEST_LABEL)
            label = f"Move {len(chosen):,}" if chosen else "Move"
            words = None if chosen else "Tick documents below first."
            look: Any = {"disabled": not chosen, "help": words}
            button(label, "build_move_button", move, place="move", **look)
        show_problem("move")


def _suggest(name: str) -> None:
    """Offer a name for a new cluster, unless another one was typed."""
    state = st.session_state
    before = state.get("build_move_offered", "")
    typed = state.get("build_move_name")
    if typed is None or (name != before and typed in ("", before)):
        state["build_move_name"] = name
    state["build_move_offered"] = name
