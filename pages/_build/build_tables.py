"""Steps 2 to 4: tables of labels, clusters and queries, each with what is open of it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from engine.errors import BadInputError, SeedLensError
from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.builds import (
    BuildQuery,
    BuildSpec,
    BuildState,
    Cluster,
    Expression,
    Label,
    Overlap,
)
from engine.types.documents import Document
from engine.types.limits import LONGEST_LABEL, LONGEST_QUERY
from pages._annotate.annotate_url import annotator
from pages._build.build_words import fate, many, percent
from pages._common.document_view import meta, title_of
from pages._common.kit import (
    Html,
    button,
    dim,
    el,
    empty,
    facts,
    grid,
    html,
    line,
    segments,
    select,
    submit,
)
from pages._common.kit import document as card
from pages._common.shared import attempt_at, show_problem

Item = TypeVar("Item")
Kinds = Mapping[str, tuple[str, Callable[[Item], object]]]
"""Kinds of rows, by key: a name, and whether an item is of it; the first one is "all"."""
TEXT, NUMBER = st.column_config.TextColumn, st.column_config.NumberColumn
ROWS = 16
"""That a long table shows; the rest is scrolled to."""


class Listed(NamedTuple):
    """What is open of a table ("" for nothing), and what is ticked, in the order of the table."""

    open: str
    ticked: tuple[str, ...]


def table_view(
    name: str,
    items: Mapping[str, Item],
    kinds: Kinds[Item],
    words: Callable[[Item], str],
    row: Callable[[Item], dict[str, Any]],
    columns: Mapping[str, Any],
    *,
    rows: str,
    words_of: str,
    hint: str,
    opened: Callable[[str], None],
    ticked: Callable[[tuple[str, ...]], None] | None = None,
) -> None:
    """Items by key as a table that is filtered, on the left; on the right, what is open of it.

    Args:
        name: of the step; part of all keys.
        words: of an item, to be searched; ``words_of`` says what they are.
        row: of the table; ``columns`` are its columns, ``rows`` what its rows are.
        hint: what to do, where nothing is open.
        opened, ticked: draw what one, and several, are changed with.
    """
    with line(f"build_filter_{name}"):
        names = {key: label for key, (label, _) in kinds.items()}
        look: dict[str, Any] = {"label_visibility": "collapsed", "persist_state": "session"}
        kind = segments(f"Filter {rows}", names, f"build_which_{name}", width="content", **look)
        label = f"Search {words_of}"
        look |= {"placeholder": label, "live": "250ms", "width": 280}
        wanted = (st.text_input(label, key=f"build_words_{name}", **look) or "").casefold().split()
    shown = {
        key: item
        for key, item in items.items()
        if kinds[kind][1](item) and all(word in words(item).casefold() for word in wanted)
    }
    with st.container(key=f"build_pair_{name}"):
        is_open = st.session_state.get(f"build_{name}_open") in shown
        left, right = st.columns([7, 5] if is_open else [9, 3], gap="medium")
        with left:
            table = [*map(row, shown.values())]
            listed = Listed("", ())
            if table:
                place, choose = f"build_{name}", ticked is not None
                listed = listing(table, [*shown], place, columns, alt=rows.title(), choose=choose)
            else:
                empty(f"No matching {rows}.")
        with right, st.container(key=f"build_pane_{name}"):
            if ticked is not None:
                ticked(listed.ticked)
            if listed.open:
                opened(listed.open)
            else:
                st.html(el("div.bd-hint", hint))


def listing(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    place: str,
    columns: Mapping[str, Any] | None = None,
    *,
    alt: str,
    choose: bool = True,
    most: int = ROWS,
) -> Listed:
    """A table whose rows open at a click or with the arrow keys, and are chosen by their ticks.

    What is open stays open when the table changes, as long as it is in it; ticks do not, so
    that nothing is done to what a person did not tick.

    Args:
        keys: of the rows.
        place: the beginning of the widget's key, and where it is kept what is open.
        most: rows that are seen at once.
    """
    at = f"{place}_open"
    widget = f"{place}_{hashlib.sha256(chr(31).join(keys).encode()).hexdigest()[:12]}"

    def opened() -> None:
        cells = st.session_state[widget]["selection"]["cells"]
        if cells and cells[0][0] < len(keys):
            st.session_state[at] = keys[cells[0][0]]

    now = st.session_state.get(at, "")
    now = now if now in set(keys) else ""
    # A table that is drawn anew, as on return to the page, shows what is open of it.
    cells = [(keys.index(now), next(iter(rows[0])))] if now else []
    shown = {"selection": {"rows": [], "columns": [], "cells": cells}} if now else None
    with st.container(key=place):
        event = grid(
            rows,
            widget,
            alt,
            width="stretch",
            height=table_height(len(keys), most),
            column_config=columns or {},
            selection_default=shown,
            on_select=opened,
            lazy=False,
            placeholder="–",
            selection_mode=["multi-row", "single-cell"] if choose else "single-cell",
        )
    ticked = event["selection"]["rows"] if choose else []
    return Listed(now, tuple(keys[row] for row in sorted(ticked) if row < len(keys)))


def table_height(rows: int, most: int) -> Any:
    """Of a table that shows whole rows of 33 pixels under its head, ``most`` of them at once."""
    return "content" if rows <= most else 33 * (most + 1) + 3


def opened_line(kicker: str, name: str) -> None:
    """What is open in a pane."""
    st.html(el("div.bd-at", el("span", kicker), " ", el("strong", name)))


def drop_button(
    dropped: bool, key: str, words: str, place: str, drop: Callable[[], object]
) -> None:
    """A button that drops something or brings it back; an error is shown at ``place``."""
    button("Restore" if dropped else "Exclude", key, drop, place=place, help=words)


def titles(explorer: Explorer, corpus: str, doc_ids: Sequence[str]) -> list[str]:
    """Titles of documents; ids where there is none, or no document any more."""
    opened = explorer.library.open(corpus)
    rows = (opened.row_of.get(doc_id) for doc_id in doc_ids)
    named = (opened.titles[row] if row is not None else "" for row in rows)
    return [title or doc_id for title, doc_id in zip(named, doc_ids, strict=True)]


def read(explorer: Explorer, corpus: str, doc_id: str, quote: str) -> None:
    """One document as text, with the words that were quoted marked."""
    try:
        document = explorer.document(corpus, doc_id)
    except SeedLensError as error:  # deleted since
        st.html(el("div.sl-card.bd-card", el("div", error.message)))
        return
    st.html(document_html(document, quote))


def document_html(document: Document, quote: str) -> Html:
    """A document; where the quote is not in it, it is shown above."""
    title, body = marked(title_of(document), quote), marked(document.text, quote)
    missing = quote and "<mark>" not in body + title and el("p.bd-quote", f"“{quote}”")
    text = el("div.text", body)
    kicker = f"Document · {document.doc_id}"
    return card(kicker, title, meta(document), missing or None, text, kind="bd-card")


def marked(text: str, quote: str) -> Html:
    """A text with a quote marked wherever spaces and case alone differ.

    >>> marked("Bees <fly>  home.", "bees <fly> home")
    '<mark>Bees &lt;fly&gt;  home</mark>.'
    """
    words = quote.split()
    match = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
    if match is None:
        return html(text)
    start, end = match.span()
    return html(text[:start], el("mark", text[start:end]), text[end:])


def marked_words(text: str, words: Sequence[str]) -> Html:
    """A text with single words marked.

    >>> marked_words("Tides turn <b>", ["tides"])
    '<mark>Tides</mark> turn &lt;b&gt;'
    """
    wanted = {word.casefold() for word in words}
    parts = re.split(r"(\w+)", text)
    return html(el("mark", p) if p.casefold() in wanted else p for p in parts)


# -- step 2: what each document shows, read and corrected

EXPRESSIONS: Mapping[Expression, str] = {
    "implied": "Implied",
    "stated": "Stated",
    "reported": "Reported",
}

_LABEL_KINDS: Kinds[Label] = {
    "all": ("All", lambda _: True),
    "implied": ("Implied", lambda label: label.text and label.expression == "implied"),
    "stated": ("Stated", lambda label: label.text and label.expression == "stated"),
    "reported": ("Reported", lambda label: label.text and label.expression == "reported"),
    "without": ("Not present", lambda label: label.author and not label.text),
    "people": ("Edited manually", lambda label: label.maker == "person"),
    "outdated": ("Outdated", lambda label: label.outdated),
    "open": ("Not labelled", lambda label: not label.author),
}
_LABEL_COLUMNS = {
    "Document": TEXT(width=240),
    "Label": TEXT(width=215),
    "Expression": TEXT(width=85, help="Implied, stated in words, or reported of others."),
    "Quote": TEXT(width=245),
    "By": TEXT(width=85),
    "Outdated": TEXT(width=75, help="Document or attribute changed."),
}


def labels_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The labels on the left, the document that is open on the right."""
    known = {label.doc_id: label for label in build.labels()}
    # Those of documents that nobody read yet have no author.
    labels = {doc_id: known.get(doc_id) or Label(doc_id, "") for doc_id in build.scope()}
    facts(label_facts([*labels.values()]), role="status")
    names = dict(zip(labels, titles(explorer, build.spec.corpus, [*labels]), strict=True))
    some_outdated = any(label.outdated for label in labels.values())

    def row(label: Label) -> dict[str, Any]:
        return {
            "Document": names[label.doc_id],
            "Label": label.text or None,
            "Expression": EXPRESSIONS.get(label.expression) if label.text else None,
            "Quote": label.quote or None,
            "By": label.author or "not labelled yet",
            **({"Outdated": "yes" if label.outdated else ""} if some_outdated else {}),
        }

    table_view(
        "labels",
        labels,
        _LABEL_KINDS,
        lambda label: f"{label.text} {label.quote} {names[label.doc_id]} {label.doc_id}",
        row,
        _LABEL_COLUMNS,
        rows="documents",
        words_of="a label or a title",
        hint="Click a row to read the document and correct its label (arrow keys move). Tick rows "
        "to give several one label.",
        opened=lambda doc_id: _open_label(explorer, build, labels[doc_id], names[doc_id]),
        ticked=partial(_label_ticked, explorer, build),
    )


def label_facts(all_labels: Sequence[Label]) -> str:
    """``312 implied · 20 stated · 48 not present · 40 distinct``."""
    labels = [label for label in all_labels if label.author]
    how = Counter(label.expression for label in labels if label.text)
    return in_numbers(
        {
            **{kind: how[kind] for kind in EXPRESSIONS},
            "not present": sum(not label.text for label in labels),
            "distinct": len({label.text.casefold() for label in labels if label.text}),
            "edited manually": sum(label.maker == "person" for label in labels),
            "not labelled yet": len(all_labels) - len(labels),
            "outdated": sum(label.outdated for label in labels),
        }
    )


def in_numbers(counts: Mapping[str, int]) -> str:
    """Counts in a line, without those that are 0.

    >>> in_numbers({"queries": 1_200, "excluded": 0})
    '1,200 queries'
    """
    return " · ".join(f"{count:,} {words}" for words, count in counts.items() if count)


def _label_ticked(explorer: Explorer, build: OpenBuild, doc_ids: Sequence[str]) -> None:
    """One label for all documents that are ticked."""
    if not doc_ids:
        return
    key, how = "build_label_chosen", "build_expression_chosen"

    def save() -> None:
        text, expression = st.session_state[key].strip(), st.session_state[how] or None
        build.set_labels(dict.fromkeys(doc_ids, text), annotator(explorer), expression)
        st.session_state[key] = ""

    with st.form("build_chosen_labels"):
        st.html(el("strong", f"{many(len(doc_ids), 'document')} chosen"))
        look: Any = {"max_chars": LONGEST_LABEL, "placeholder": "Empty: not present"}
        st.text_input("Label for selection", key=key, **look)
        select("Expression", {"": "Unchanged", **EXPRESSIONS}, how)
        submit("Apply", "build_save_chosen", save, place="labels_chosen")
        show_problem("labels_chosen")


def _open_label(explorer: Explorer, build: OpenBuild, label: Label, title: str) -> None:
    spec, doc_id = build.spec, label.doc_id
    key, how = (f"build_{kind}_{spec.corpus}_{spec.name}_{doc_id}" for kind in ("label", "how"))
    st.session_state[key] = label.text

    def keep(text: str | None = None) -> None:
        text = st.session_state[key].strip() if text is None else text
        build.set_labels({doc_id: text}, annotator(explorer))

    opened_line("Document", title)

    def express() -> None:
        build.set_labels({doc_id: label.text}, annotator(explorer), st.session_state[how])

    with line(align="bottom"):
        save: Any = {"on_change": attempt_at, "args": ("label", keep), "max_chars": LONGEST_LABEL}
        words = "Press Enter to save."
        st.text_input("Label", key=key, placeholder="not present", help=words, **save)
        absent = bool(label.author and not label.text)
        if label.text:
            st.session_state[how] = label.expression
            words = "Stated and reported documents are distractors."
            change: Any = {"on_change": attempt_at, "args": ("label", express), "help": words}
            select("Expression", EXPRESSIONS, how, width=130, **change)
        button("Not present", "build_label_none", keep, "", place="label", disabled=absent)
    with line():
        who = f"Labelled by {label.author}" if label.author else "Not labelled yet"
        dim(who + (", before the document or attribute changed." if label.outdated else "."))
        if label.outdated:
            words = "Keeps it as your label for the current document and attribute."
            button("Confirm", "build_label_same", keep, label.text, place="label", help=words)
    show_problem("label")
    read(explorer, spec.corpus, doc_id, label.quote)


# -- step 3: labels put together; renamed, merged, split and excluded by people

NEW = ""
"""Where chosen documents go: into a cluster of their own."""
_CLUSTER_COLUMNS = {
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
    fates = Counter(fate(cluster, build.spec) for cluster in clusters.values())
    words = {"a query": "becomes a query" if fates["a query"] == 1 else "become queries"}
    facts(in_numbers({words.get(kind, kind): count for kind, count in fates.most_common()}))
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
        _CLUSTER_COLUMNS,
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


# -- step 4: clusters put into words; checked for what they give away, and reworded

_QUERY_COLUMNS = {
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
    facts(query_facts([*queries.values()], spec))

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
        _QUERY_COLUMNS,
        rows="queries",
        words_of="a query or a cluster",
        hint="Click a query to edit it and to read the documents of its cluster.",
        opened=lambda key: _open_query(explorer, build, queries[key], names[key]),
    )


def is_above(overlap: Overlap, spec: BuildSpec) -> bool:
    """Whether a query gives away more than the limit allows."""
    return overlap.share > spec.overlap + 1e-9


def query_facts(queries: Sequence[BuildQuery], spec: BuildSpec) -> str:
    """``22 queries · 2 excluded · 3 over the limit of 30 % · mean overlap 12 %``."""
    kept = [query for query in queries if query.text and not query.dropped]
    counts = in_numbers(
        {
            "with query text": sum(bool(query.text) for query in queries),
            "without query text": sum(not query.text for query in queries),
            "excluded": sum(bool(query.text and query.dropped) for query in queries),
            f"over the limit of {percent(spec.overlap)}": sum(
                is_above(query.overlap, spec) for query in kept
            ),
        }
    )
    if not kept:
        return counts
    mean = sum(query.overlap.share for query in kept) / len(kept)
    return f"{counts} · mean overlap {percent(mean)}"


def remark(query: BuildQuery, spec: BuildSpec) -> str:
    """``excluded``, ``over limit``, ``edited manually``, or nothing to say."""
    if query.dropped:
        return "excluded"
    if not query.text:
        return "no query text"
    by = "edited manually" if query.maker == "person" else ""
    return "over limit" if is_above(query.overlap, spec) else by


def _open_query(explorer: Explorer, build: OpenBuild, query: BuildQuery, cluster: str) -> None:
    _edit_query(annotator(explorer), build, query, cluster)
    corpus, alt = build.spec.corpus, "Documents of the query"
    rows = [{"Document": title} for title in titles(explorer, corpus, query.doc_ids)]
    place = "build_query_documents"
    listed = listing(rows, query.doc_ids, place, alt=alt, choose=False, most=6)
    if listed.open:
        quotes = {label.doc_id: label.quote for label in build.labels()}
        read(explorer, corpus, listed.open, quotes.get(listed.open, ""))


def _edit_query(who: str, build: OpenBuild, query: BuildQuery, cluster: str) -> None:
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
