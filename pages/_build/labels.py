"""Step 2: what each document shows, read and corrected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.builds import BuildState, Label
from engine.types.limits import LONGEST_LABEL
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import many
from pages._build.build_reading import TEXT, Kinds, opened_line, read, table_view, titles
from pages._common import kit
from pages._common.kit import button, dim, el, line, submit
from pages._common.shared import attempt_at, show_problem

_KINDS: Kinds[Label] = {
    "all": ("All", lambda _: True),
    "with": ("Present", lambda label: label.text),
    "without": ("Not present", lambda label: label.author and not label.text),
    "people": ("Edited manually", lambda label: label.maker == "person"),
    "outdated": ("Outdated", lambda label: label.outdated),
    "open": ("Not labelled", lambda label: not label.author),
}
_COLUMNS = {
    "Document": TEXT(width=195),
    "Label": TEXT(width=175),
    "Quote": TEXT(width=120),
    "By": TEXT(width=85),
    "Outdated": TEXT(width=75, help="Document or attribute changed."),
}


def labels_step(explorer: Explorer, build: OpenBuild, _: BuildState) -> None:
    """The labels on the left, the document that is open on the right."""
    known = {label.doc_id: label for label in build.labels()}
    # Those of documents that nobody read yet have no author.
    labels = {doc_id: known.get(doc_id) or Label(doc_id, "") for doc_id in build.scope()}
    kit.facts(facts([*labels.values()]), role="status")
    names = dict(zip(labels, titles(explorer, build.spec.corpus, [*labels]), strict=True))
    some_outdated = any(label.outdated for label in labels.values())

    def row(label: Label) -> dict[str, Any]:
        return {
            "Document": names[label.doc_id],
            "Label": label.text or None,
            "Quote": label.quote or None,
            "By": label.author or "not labelled yet",
            **({"Outdated": "yes" if label.outdated else ""} if some_outdated else {}),
        }

    table_view(
        "labels",
        labels,
        _KINDS,
        lambda label: f"{label.text} {label.quote} {names[label.doc_id]} {label.doc_id}",
        row,
        _COLUMNS,
        rows="documents",
        words_of="a label or a title",
        hint="Click a row to read the document and correct its label (arrow keys move). Tick rows "
        "to give several one label.",
        opened=lambda doc_id: _open(explorer, build, labels[doc_id], names[doc_id]),
        ticked=partial(_ticked, explorer, build),
    )


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
        f"{counted(len(labels) - showing, 'does', 'do')} not; "
        f"{counted(different, 'different label')}.",
        people and f"{counted(people, 'label')} edited manually.",
        still and f"{many(still, 'document')} not labelled yet.",
        outdated and f"{outdated:,} outdated: document or attribute changed.",
    ]
    return " ".join(str(words) for words in lines if words)


def _ticked(explorer: Explorer, build: OpenBuild, doc_ids: Sequence[str]) -> None:
    """One label for all documents that are ticked."""
    if not doc_ids:
        return
    key = "build_label_chosen"

    def save() -> None:
        text = st.session_state[key].strip()
        build.set_labels(dict.fromkeys(doc_ids, text), annotator(explorer))
        st.session_state[key] = ""

    with st.form("build_chosen_labels"):
        st.html(el("strong", f"{many(len(doc_ids), 'document')} chosen"))
        look: Any = {"max_chars": LONGEST_LABEL, "placeholder": "Empty: not present"}
        st.text_input("Label for selection", key=key, **look)
        submit("Apply", "build_save_chosen", save, place="labels_chosen")
        show_problem("labels_chosen")


def _open(explorer: Explorer, build: OpenBuild, label: Label, title: str) -> None:
    spec, doc_id = build.spec, label.doc_id
    key = f"build_label_{spec.corpus}_{spec.name}_{doc_id}"
    st.session_state[key] = label.text

    def keep(text: str | None = None) -> None:
        text = st.session_state[key].strip() if text is None else text
        build.set_labels({doc_id: text}, annotator(explorer))

    opened_line("Document", title)
    with line(align="bottom"):
        save: Any = {"on_change": attempt_at, "args": ("label", keep), "max_chars": LONGEST_LABEL}
        words = "Press Enter to save."
        st.text_input("Label", key=key, placeholder="not present", help=words, **save)
        absent = bool(label.author and not label.text)
        button("Not present", "build_label_none", keep, "", place="label", disabled=absent)
    with line():
        who = f"Labelled by {label.author}" if label.author else "Not labelled yet"
        dim(who + (", before the document or attribute changed." if label.outdated else "."))
        if label.outdated:
            words = "Keeps it as your label for the current document and attribute."
            button("Confirm", "build_label_same", keep, label.text, place="label", help=words)
    show_problem("label")
    read(explorer, spec.corpus, doc_id, label.quote)
