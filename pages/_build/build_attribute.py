"""Step 1: what a collection is about, and how it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.builds import BuildSpec
from pages._annotate.annotate_url import annotator
from pages._build.build_lines import where_it_stands
from pages._build.build_url import BuildView, go
from pages._common.outside_text import escape, with_marks
from pages._common.shared import (
    attempt_at,
    begun_from,
    error_boundary,
    escape_label,
    show_problem,
    system_label,
)

ABOUT = (
    "Build a test collection for an implicit attribute, such as a stance or a failure. A model "
    "labels the documents; labels become clusters, clusters become queries without the documents' "
    "words, and retrieved documents are graded. Review each step before the next."
)
_SAVED = "build_saved"
_PLACE = "attribute"
LISTED = 20
"""Builds of a corpus that are listed, the newest ones."""


def new_build(explorer: Explorer, corpus: str) -> None:
    """The form for a new build, below those that there are."""
    st.html(f'<div class="bd-about">{escape(ABOUT)}</div>')
    with error_boundary():
        _existing(explorer, corpus)
    st.header("New build", anchor=False)
    attribute_form(explorer, BuildSpec(corpus, "", ""), is_new=True)


def _existing(explorer: Explorer, corpus: str) -> None:
    names = [name for _, name in explorer.builds.names(corpus)]
    if not names:
        return
    st.header(f"Builds of {corpus}", anchor=False)
    with st.container(key="build_existing", gap="xsmall"):
        for name in reversed(names[-LISTED:]):
            state = explorer.builds.open(corpus, name).state()
            left, right = st.columns([2, 9], vertical_alignment="center")
            left.button(
                escape_label(name), key=f"build_open_{name}", width="stretch",
                on_click=BuildView.change,
                args=(lambda now, name=name: replace(now, build=name, step=""),),
            )  # fmt: skip
            right.html(
                f'<div class="bd-listed"><span>{escape(state.spec.attribute)}</span>'
                f'<span class="md-dim">{escape(where_it_stands(state))}</span></div>'
            )


def attribute_form(explorer: Explorer, spec: BuildSpec, *, is_new: bool) -> None:
    """What the collection is about and how it is made, to be saved."""
    place = "new" if is_new else f"{spec.corpus}_{spec.name}"
    begun = f"build_begun_{place}"
    before = None if is_new else begun_from(begun, f"build_attribute_{place}", spec)
    values: dict[str, str] = {}

    def key(field: str) -> str:
        values[field] = f"build_{field}_{place}"
        return values[field]

    with st.form(f"build_form_{place}", border=False):
        with st.container(key="build_lens_pair"):
            left, right = st.columns([6, 5], gap="medium")
        with left:
            _about(spec, key, is_new=is_new)
        with right:
            _guidance(explorer, spec, key)
        with st.expander("Advanced: sizes, overlap, systems"):
            _making(explorer, spec, key)

        def save() -> None:
            state = st.session_state
            read = _read(spec, {field: state[name] for field, name in values.items()})
            if is_new and (read.corpus, read.name) in explorer.builds.names(read.corpus):
                raise BadInputError(
                    f"'{read.corpus}' already has a build '{read.name}'.", "Choose another name."
                )
            saved = explorer.builds.save(read, annotator(explorer), before)
            step = "labels" if is_new else "attribute"
            BuildView.change(lambda now: replace(now, build=saved.name, step=step))
            if not is_new:
                state.update({begun: saved, _SAVED: (saved.name, saved != before)})

        show_problem(_PLACE)  # above the button, which may stand at the lower edge
        st.form_submit_button(
            "Save and continue" if is_new else "Save", type="primary",
            key=f"build_save_{place}", on_click=attempt_at, args=(_PLACE, save),
        )  # fmt: skip
    if not is_new:
        _saved(spec)


def _saved(spec: BuildSpec) -> None:
    """That it was saved, once, and the way on."""
    name, changed = st.session_state.pop(_SAVED, ("", False))
    if name != spec.name:
        return
    words = (
        "Saved. Affected steps are marked as outdated. Manual changes are kept."
        if changed
        else "No changes."
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<div class="sl-facts" role="status">{words}</div>', width="content")
        st.button("Next: Labels", key="build_on", on_click=go, args=("labels",))


def _about(spec: BuildSpec, key: Any, *, is_new: bool) -> None:
    if is_new:
        st.text_input(
            "Name", key=key("name"), placeholder="proof-without-words", max_chars=64,
            help="Name of the collection and its project: letters, digits, - and _.",
        )  # fmt: skip
    st.text_area(
        "Implicit attribute", spec.attribute, key=key("attribute"),
        height=100, placeholder="How the authors found out that their method works: by measuring "
        "it in the field, by asking people, by proof, ...",
        help="The attribute to label in every document.",
    )  # fmt: skip
    st.text_area(
        "Definition", spec.guidance, key=key("guidance"), height=130,
        placeholder="Only what they did themselves, not what others did before them.",
    )  # fmt: skip


def _guidance(explorer: Explorer, spec: BuildSpec, key: Any) -> None:
    st.text_area(
        "Example labels, one per line", "\n".join(spec.examples), key=key("examples"),
        height=130, placeholder="field trial over a season\nsurvey of those who use it",
        help="Show the model how long and general a label is.",
    )  # fmt: skip
    aspects = {a.key: a.name for a in explorer.library.lens(spec.corpus).aspects}
    choices = ["", *aspects, *({spec.aspect} - {"", *aspects})]
    left, right = st.columns(2)
    left.selectbox(
        "Aspect", choices, choices.index(spec.aspect), key=key("aspect"),
        format_func=lambda name: (
            with_marks(aspects.get(name, name) or "") or "anywhere in the document"
        ),
        help="Points the model to its sentences; it reads all of them.",
    )  # fmt: skip
    size = explorer.library.corpus(spec.corpus).documents
    right.number_input(
        "Max documents", 1, None, spec.limit, step=100, key=key("limit"),
        placeholder=f"all {size:,}",
        help="Uses the first ones of the corpus, for a trial.",
    )  # fmt: skip


def _making(explorer: Explorer, spec: BuildSpec, key: Any) -> None:
    first, second, third, fourth = st.columns(4, gap="medium")
    first.slider(
        "Clustering distance", 0.05, 0.95, spec.distance, 0.05, key=key("distance"),
        help="Mean cosine distance of labels in a cluster. Lower gives more, narrower clusters.",
    )  # fmt: skip
    second.number_input(
        "Min cluster size", 1, 10_000, spec.smallest, key=key("smallest"),
        help="Smaller clusters become no query.",
    )  # fmt: skip
    third.number_input(
        "Max cluster size", 1, 100_000, spec.largest, key=key("largest"),
        help="Larger clusters become no query.",
    )  # fmt: skip
    fourth.slider(
        "Max word overlap", 0, 100, round(spec.overlap * 100), 5, format="%d %%",
        key=key("overlap"), help="Share of query words found in its documents but rare in the "
        "corpus. Above it, the model retries.",
    )  # fmt: skip
    left, right = st.columns([3, 1], gap="medium")
    left.multiselect(
        "Systems", list(explorer.systems), list(spec.systems), key=key("systems"),
        format_func=system_label, help="Top documents of each system are graded, deduplicated.",
    )  # fmt: skip
    right.number_input("Depth", 1, 1000, spec.depth, key=key("depth"),
                       help="Number of top documents per system.")  # fmt: skip


def _read(spec: BuildSpec, given: dict[str, Any]) -> BuildSpec:
    """What the form says; the engine checks it."""
    examples = (line.strip() for line in given["examples"].splitlines())
    return BuildSpec(
        corpus=spec.corpus,
        name=spec.name or str(given["name"]).strip(),
        attribute=str(given["attribute"]).strip(),
        guidance=str(given["guidance"]).strip(),
        examples=tuple(dict.fromkeys(filter(None, examples))),
        aspect=given["aspect"],
        limit=None if given["limit"] is None else int(given["limit"]),
        distance=round(float(given["distance"]), 2),
        smallest=int(given["smallest"]),
        largest=int(given["largest"]),
        overlap=given["overlap"] / 100,
        systems=tuple(given["systems"]),
        depth=int(given["depth"]),
    )
