"""Step 2: what each document shows, read and corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.builds import BuildState, Label
from engine.types.limits import LONGEST_LABEL
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import many
from pages._build.build_reading import (
    Listed,
    filters,
    has_words,
    listing,
    opened_html,
    read,
    titles,
)
from pages._common.outside_text import escape
from pages._common.shared import attempt_at, show_problem

WHICH = {
    "all": "All",
    "with": "Present",
    "without": "Not present",
    "people": "Edited manually",
    "outdated": "Outdated",
    "open": "Not labelled",
}
_HINT = (
    "Click a row to read the document and correct its label (arrow keys move). Tick rows to give "
    "several one label."
)


def labels_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The labels on the left, the document that is open on the right."""
    known = {label.doc_id: label for label in build.labels()}
    # Those of documents that nobody read yet have no author.
    labels = {doc_id: known.get(doc_id) or Label(doc_id, "") for doc_id in build.scope()}
    st.html(f'<div class="sl-facts" role="status">{escape(facts([*labels.values()]))}</div>')
    names = titles(explorer, build.spec.corpus, [*labels])
    title_of = dict(zip(labels, names, strict=True))
    which, words = filters("labels", WHICH, "documents", "a label or a title")
    shown = matching([*labels.values()], title_of, which, words)
    with st.container(key="build_pair_labels"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            listed = _table(shown, title_of)
        with right, st.container(key="build_pane_labels"):
            _chosen(explorer, build, listed.chosen)
            if listed.open:
                label = labels[listed.open]
                _open(explorer, build, label, title_of[label.doc_id])
            else:
                st.html(f'<div class="bd-hint">{_HINT}</div>')


def facts(all_labels: Sequence[Label]) -> str:
    """``312 of 360 documents show it; 40 different labels. 3 labels edited manually.``"""
    labels = [label for label in all_labels if label.author]
    still = len(all_labels) - len(labels)
    if not labels:
        return f"{many(still, 'document')} to label."
    showing = sum(bool(label.text) for label in labels)
    different = len({label.text.casefold() for label in labels if label.text})
    people = sum(label.maker == "person" for label in labels)
    outdated = sum(label.outdated for label in labels)
    lines = [
        f"{showing:,} of {many(len(labels), 'document')} {'shows' if showing == 1 else 'show'} it, "
        f"{len(labels) - showing:,} {'does' if len(labels) - showing == 1 else 'do'} not; "
        f"{counted(different, 'different label')}."
    ]
    if people:
        lines.append(f"{counted(people, 'label')} edited manually.")
    if still:
        lines.append(f"{many(still, 'document')} not labelled yet.")
    if outdated:
        lines.append(f"{outdated:,} outdated: document or attribute changed.")
    return " ".join(lines)


def matching(
    labels: Sequence[Label], title_of: Mapping[str, str], which: str, words: Sequence[str]
) -> list[Label]:
    """Labels of a kind (:data:`WHICH`) that have all words in them, their quote or their title."""
    of_kind = {
        "with": [label for label in labels if label.text],
        "without": [label for label in labels if label.author and not label.text],
        "open": [label for label in labels if not label.author],
        "people": [label for label in labels if label.maker == "person"],
        "outdated": [label for label in labels if label.outdated],
    }.get(which, labels)
    return [
        label
        for label in of_kind
        if has_words(f"{label.text} {label.quote} {title_of[label.doc_id]} {label.doc_id}", words)
    ]


def _table(labels: Sequence[Label], title_of: Mapping[str, str]) -> Listed:
    if not labels:
        st.html('<div class="sl-empty">No matching documents.</div>')
        return Listed("", ())
    some_outdated = any(label.outdated for label in labels)
    rows: list[dict[str, Any]] = [
        {
            "Document": title_of[label.doc_id],
            "Label": label.text or None,
            "Quote": label.quote or None,
            "By": label.author or "not labelled yet",
            **({"Outdated": "yes" if label.outdated else ""} if some_outdated else {}),
        }
        for label in labels
    ]
    return listing(
        rows, [label.doc_id for label in labels], "build_labels",
        alt="Documents and their labels", columns={
            "Document": st.column_config.TextColumn(width=195),
            "Label": st.column_config.TextColumn(width=175),
            "Quote": st.column_config.TextColumn(width=120),
            "By": st.column_config.TextColumn(width=85),
            "Outdated": st.column_config.TextColumn(
                width=75, help="Document or attribute changed."),
        },
    )  # fmt: skip


def _chosen(explorer: Explorer, build: OpenBuild, doc_ids: Sequence[str]) -> None:
    """One label for all documents that are ticked."""
    if not doc_ids:
        return

    def save() -> None:
        text = st.session_state["build_label_chosen"].strip()
        build.set_labels(dict.fromkeys(doc_ids, text), annotator(explorer))
        st.session_state["build_label_chosen"] = ""

    with st.form("build_chosen_labels", border=True):
        st.html(f"<strong>{many(len(doc_ids), 'document')} chosen</strong>")
        st.text_input(
            "Label for selection", key="build_label_chosen", max_chars=LONGEST_LABEL,
            placeholder="Empty: not present",
        )  # fmt: skip
        st.form_submit_button(
            "Apply", key="build_save_chosen", on_click=attempt_at,
            args=("labels_chosen", save),
        )  # fmt: skip
        show_problem("labels_chosen")


def _open(explorer: Explorer, build: OpenBuild, label: Label, title: str) -> None:
    spec, doc_id = build.spec, label.doc_id
    key = f"build_label_{spec.corpus}_{spec.name}_{doc_id}"
    st.session_state[key] = label.text

    def keep(text: str | None = None) -> None:
        text = st.session_state[key].strip() if text is None else text
        build.set_labels({doc_id: text}, annotator(explorer))

    st.html(opened_html("Document", title))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Label", key=key, max_chars=LONGEST_LABEL, on_change=attempt_at, args=("label", keep),
            placeholder="not present", help="Press Enter to save.",
        )  # fmt: skip
        st.button(
            "Not present", key="build_label_none", on_click=attempt_at,
            args=("label", keep, ""), disabled=bool(label.author and not label.text),
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="md-dim">{escape(labelled_by(label))}</div>')
        if label.outdated:
            st.button(
                "Confirm", key="build_label_same", on_click=attempt_at,
                args=("label", keep, label.text),
                help="Keeps it as your label for the current document and attribute.",
            )  # fmt: skip
    show_problem("label")
    read(explorer, spec.corpus, doc_id, label.quote)


def labelled_by(label: Label) -> str:
    """Whose label it is, and whether it is up to date."""
    who = f"Labelled by {label.author}" if label.author else "Not labelled yet"
    return who + (", before the document or attribute changed." if label.outdated else ".")
