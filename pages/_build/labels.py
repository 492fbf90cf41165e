"""Step 2: what each document shows, read and mended."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.builds import BuildLens, BuildState, Label
from engine.types.plurals import counted
from pages._annotate.annotate_view import annotator
from pages._build.build_lines import many
from pages._build.build_reading import Listed, listing, opened_html, read, titles
from pages._common.shared import attempt_at, show_problem

WHICH = {
    "all": "All",
    "with": "Show it",
    "without": "Do not",
    "people": "Changed by people",
    "outdated": "Outdated",
    "open": "Not read yet",
}
LONGEST = 200
"""Characters of a label."""


def labels_step(explorer: Explorer, state: BuildState) -> None:
    """The labels on the left, the document that is open on the right."""
    lens = state.lens
    found = everything(explorer, lens)
    st.html(f'<div class="sl-facts" role="status">{html.escape(facts(found))}</div>')
    names = titles(explorer, lens.corpus, [label.doc_id for label in found])
    title_of = dict(zip((label.doc_id for label in found), names, strict=True))
    shown = _filtered(found, title_of)
    with st.container(key="build_pair_labels"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            listed = _table(shown, title_of)
        with right, st.container(key="build_pane_labels"):
            _chosen(explorer, lens, listed)
            label_of = {label.doc_id: label for label in found}
            _open(explorer, lens, label_of, title_of, listed.open)


def everything(explorer: Explorer, lens: BuildLens) -> list[Label]:
    """A label for every document that the lens reads; those nobody read yet have no author."""
    known = {label.doc_id: label for label in explorer.builds.labels(lens.corpus, lens.name)}
    scope = explorer.library.open(lens.corpus).doc_ids[: lens.limit]
    return [known.get(doc_id) or Label(doc_id, "") for doc_id in scope]


def facts(all_labels: Sequence[Label]) -> str:
    """``312 of 360 documents show it, 48 do not. 3 labels changed by people.``"""
    labels = [label for label in all_labels if label.author]
    still = len(all_labels) - len(labels)
    if not labels:
        return f"{many(still, 'document')} to be read."
    showing = sum(bool(label.text) for label in labels)
    different = len({label.text.casefold() for label in labels if label.text})
    people = sum(label.maker == "person" for label in labels)
    outdated = sum(label.outdated for label in labels)
    lines = [
        f"{showing:,} of {many(len(labels), 'document')} "
        f"{'shows' if showing == 1 else 'show'} it, {len(labels) - showing:,} "
        f"{'does' if len(labels) - showing == 1 else 'do'} not; "
        f"{counted(different, 'different label')}."
    ]
    if people:
        lines.append(f"{counted(people, 'label')} changed by people.")
    if still:
        lines.append(f"{many(still, 'document')} not read yet.")
    if outdated:
        lines.append(f"{outdated:,} outdated: the document or the lens changed since.")
    return " ".join(lines)


def _filtered(labels: Sequence[Label], title_of: Mapping[str, str]) -> list[Label]:
    with st.container(horizontal=True, vertical_alignment="center", key="build_filter_labels"):
        which = st.segmented_control(
            "Which documents", list(WHICH), format_func=WHICH.__getitem__, default="all",
            key="build_which_labels", required=True, persist_state="session",
            label_visibility="collapsed", width="content",
        )  # fmt: skip
        words = st.text_input(
            "Words of a label or a title", key="build_words_labels", live="250ms", width=280,
            placeholder="Words of a label or a title", label_visibility="collapsed",
            persist_state="session",
        )  # fmt: skip
    return matching(labels, title_of, which or "all", words or "")


def matching(
    labels: Sequence[Label], title_of: Mapping[str, str], which: str, words: str
) -> list[Label]:
    """Labels of a kind (:data:`WHICH`) that have all words in them, their quote or their title."""
    of_kind = {
        "with": [label for label in labels if label.text],
        "without": [label for label in labels if label.author and not label.text],
        "open": [label for label in labels if not label.author],
        "people": [label for label in labels if label.maker == "person"],
        "outdated": [label for label in labels if label.outdated],
    }.get(which, labels)
    wanted = words.casefold().split()
    if not wanted:
        return list(of_kind)

    def has_words(label: Label) -> bool:
        text = f"{label.text} {label.quote} {title_of[label.doc_id]} {label.doc_id}".casefold()
        return all(word in text for word in wanted)

    return [label for label in of_kind if has_words(label)]


def _table(labels: Sequence[Label], title_of: Mapping[str, str]) -> Listed:
    if not labels:
        st.html('<div class="sl-empty">No document is like that. Choose others above.</div>')
        return Listed("", ())
    some_outdated = any(label.outdated for label in labels)
    rows: list[dict[str, Any]] = [
        {
            "Document": title_of[label.doc_id],
            "Label": label.text or None,
            "Quote": label.quote or None,
            "By": label.author or "not read yet",
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
                width=75, help="The document or the lens has changed since."),
        },
    )  # fmt: skip


def _chosen(explorer: Explorer, lens: BuildLens, listed: Listed) -> None:
    """One label for all documents that are ticked."""
    if not listed.chosen:
        return
    chosen = listed.chosen
    with st.form("build_chosen_labels", border=True):
        st.html(f"<strong>{many(len(chosen), 'document')} chosen</strong>")
        st.text_input(
            "One label for all of them", key="build_label_chosen", max_chars=LONGEST,
            placeholder="Empty: they do not show it",
        )  # fmt: skip

        def save() -> None:
            text = st.session_state["build_label_chosen"].strip()
            _set(explorer, lens, dict.fromkeys(chosen, text))
            st.session_state["build_label_chosen"] = ""

        st.form_submit_button(
            "Give it to them", key="build_save_chosen", on_click=attempt_at,
            args=("labels_chosen", save),
        )  # fmt: skip
        show_problem("labels_chosen")


def _open(
    explorer: Explorer,
    lens: BuildLens,
    labels: Mapping[str, Label],
    title_of: Mapping[str, str],
    doc_id: str,
) -> None:
    if not doc_id:
        st.html(
            '<div class="bd-hint">Click a row to read the document and mend its label; the arrow '
            "keys go on to the next. Tick rows to give several the same label.</div>"
        )
        return
    label = labels[doc_id]
    key = f"build_label_{lens.corpus}_{lens.name}_{doc_id}"
    st.session_state[key] = label.text

    def save() -> None:
        _set(explorer, lens, {doc_id: st.session_state[key].strip()})

    def nothing() -> None:
        _set(explorer, lens, {doc_id: ""})

    def same() -> None:
        _set(explorer, lens, {doc_id: label.text})

    st.html(opened_html("Document", title_of[doc_id]))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Label", key=key, max_chars=LONGEST, on_change=attempt_at, args=("label", save),
            placeholder="does not show it", help="Enter saves it.",
        )  # fmt: skip
        st.button(
            "Does not show it", key="build_label_none", on_click=attempt_at,
            args=("label", nothing), disabled=bool(label.author and not label.text),
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="md-dim">{html.escape(said_by(label))}</div>')
        if label.outdated:
            st.button(
                "It still holds", key="build_label_same", on_click=attempt_at,
                args=("label", same),
                help="Keeps it, as what you say of the document and the lens as they are now.",
            )  # fmt: skip
    show_problem("label")
    read(explorer, lens.corpus, doc_id, quote=label.quote)


def said_by(label: Label) -> str:
    """Who said so, and whether it still holds."""
    who = f"Said by {label.author}" if label.author else "Nobody has read it yet"
    return who + (", of the document or the lens as it was before." if label.outdated else ".")


def _set(explorer: Explorer, lens: BuildLens, changes: Mapping[str, str]) -> None:
    explorer.builds.set_labels(lens.corpus, lens.name, changes, annotator(explorer))
