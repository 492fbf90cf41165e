"""Step 1: what a collection is about, and how it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.builds import BuildSpec
from pages._annotate.annotate_url import annotator
from pages._build.build_words import BuildView, go, where_it_stands
from pages._common.kit import Fields, button, el, line, select, submit
from pages._common.shared import (
    begun_from,
    error_boundary,
    escape_label,
    show_problem,
    system_label,
)

ABOUT = (
    "Build a test collection for something that documents show without saying so, such as a "
    "stance or a failure. Five steps, each reviewed before the next; a language model does the "
    "labelling, wording and grading."
)
EXAMPLE: Mapping[str, str] = {
    "name": "how-they-know",
    "attribute": "How the authors found out that their method works: by measuring it in the field, "
    "by asking people, by proof, ...",
    "guidance": "Only what they did themselves, not what others did before them.",
    "examples": "field trial over a season\nsurvey of the people who use it\nproof",
}
"""A worked example, by field of the form."""
_SAVED = "build_saved"
_PLACE, _NEW = "attribute", "new"
LISTED = 20
"""Builds of a corpus that are listed, the newest ones."""


def new_build(explorer: Explorer, corpus: str) -> None:
    """The form for a new build, below those that there are."""
    st.html(el("div.bd-about", ABOUT))
    with error_boundary():
        _existing(explorer, corpus)
    st.header("New build", anchor=False)
    attribute_form(explorer, BuildSpec(corpus, "", ""), is_new=True)


def _fill_in_example() -> None:
    """Fill empty fields of the form for a new build with :data:`EXAMPLE`."""
    fields = Fields("build", _NEW)
    for name, words in EXAMPLE.items():
        if not str(st.session_state.get(fields(name)) or "").strip():
            st.session_state[fields(name)] = words


def _existing(explorer: Explorer, corpus: str) -> None:
    names = [name for _, name in explorer.builds.names(corpus)]
    if not names:
        return
    st.header(f"Builds of {corpus}", anchor=False)
    with st.container(key="build_existing", gap="xsmall"):
        for name in reversed(names[-LISTED:]):
            state = explorer.builds.open(corpus, name).state()
            left, right = st.columns([2, 9], vertical_alignment="center")
            with left:
                view = BuildView(corpus, name)
                button(escape_label(name), f"build_open_{name}", view.write, width="stretch")
            at = el("span.sl-dim", where_it_stands(state))
            right.html(el("div.bd-listed", el("span", state.spec.attribute), at))


def attribute_form(explorer: Explorer, spec: BuildSpec, *, is_new: bool) -> None:
    """What the collection is about and how it is made, to be saved."""
    fields = Fields("build", _NEW if is_new else f"{spec.corpus}_{spec.name}")
    begun = f"build_begun_{fields.place}"
    before = None if is_new else begun_from(begun, fields("attribute"), spec)
    with st.form(f"build_form_{fields.place}", border=False):
        with st.container(key="build_lens_pair"):
            left, right = st.columns([6, 5], gap="medium")
        with left:
            _about(spec, fields, is_new=is_new)
        with right:
            _guidance(explorer, spec, fields)
        with st.expander("Advanced: sizes, overlap, systems"):
            _making(explorer, spec, fields)

        def save() -> None:
            read = _read(spec, fields.values)
            if is_new and (read.corpus, read.name) in explorer.builds.names(read.corpus):
                words = f"'{read.corpus}' already has a build '{read.name}'."
                raise BadInputError(words, "Choose another name.")
            saved = explorer.builds.save(read, annotator(explorer), before)
            step = "labels" if is_new else "attribute"
            BuildView.change(lambda now: replace(now, build=saved.name, step=step))
            if not is_new:
                st.session_state.update({begun: saved, _SAVED: (saved.name, saved != before)})

        show_problem(_PLACE)  # above the button, which may stand at the lower edge
        label = "Save and continue" if is_new else "Save"
        with line():
            submit(label, f"build_save_{fields.place}", save, place=_PLACE, type="primary")
            if is_new:
                words = "Fills empty fields with a worked example."
                look: Any = {"type": "tertiary", "help": words}
                submit("Fill in an example", "build_example", _fill_in_example, **look)
    name, changed = st.session_state.pop(_SAVED, ("", False)) if not is_new else ("", False)
    if name == spec.name and not is_new:
        words = "Affected steps are marked as outdated. Manual changes are kept."
        said = el("div.sl-facts", f"Saved. {words}" if changed else "No changes.", role="status")
        with line():
            st.html(said, width="content")
            button("Next: Labels", "build_on", go, "labels")


def _about(spec: BuildSpec, fields: Fields, *, is_new: bool) -> None:
    if is_new:
        words = "Name of the collection and its project: letters, digits, - and _."
        shown = EXAMPLE["name"]
        st.text_input("Name", key=fields("name"), placeholder=shown, max_chars=64, help=words)
    st.text_area(
        "Implicit attribute",
        spec.attribute,
        100,
        key=fields("attribute"),
        placeholder=EXAMPLE["attribute"],
        help="The attribute to label in every document.",
    )
    shown = EXAMPLE["guidance"]
    st.text_area("Definition", spec.guidance, 130, key=fields("guidance"), placeholder=shown)


def _guidance(explorer: Explorer, spec: BuildSpec, fields: Fields) -> None:
    st.text_area(
        "Example labels, one per line",
        "\n".join(spec.examples),
        130,
        key=fields("examples"),
        placeholder=EXAMPLE["examples"],
        help="Show the model how long and general a label is.",
    )
    aspects = {a.key: a.name for a in explorer.library.lens(spec.corpus).aspects}
    names = {"": "anywhere in the document", **aspects}
    names.setdefault(spec.aspect, spec.aspect)
    left, right = st.columns(2)
    words = "Points the model to its sentences; it reads all of them."
    at = [*names].index(spec.aspect)
    select("Aspect", names, fields("aspect"), left, index=at, help=words)
    size = explorer.library.corpus(spec.corpus).documents
    words = "Uses the first ones of the corpus, for a trial."
    shown: Any = {"placeholder": f"all {size:,}", "help": words, "step": 100}
    right.number_input("Max documents", 1, None, spec.limit, key=fields("limit"), **shown)


def _making(explorer: Explorer, spec: BuildSpec, fields: Fields) -> None:
    first, second, third, fourth = st.columns(4, gap="medium")
    words = "Mean cosine distance of labels in a cluster. Lower gives more, narrower clusters."
    key, label = fields("distance"), "Clustering distance"
    first.slider(label, 0.05, 0.95, spec.distance, 0.05, key=key, help=words)
    for column, name, field, most in (
        (second, "Min cluster size", "smallest", 10_000),
        (third, "Max cluster size", "largest", 100_000),
    ):
        words = f"{'Smaller' if field == 'smallest' else 'Larger'} clusters become no query."
        column.number_input(name, 1, most, getattr(spec, field), key=fields(field), help=words)
    words = "Share of query words found in its documents but rare in the corpus. Above it, the "
    look: Any = {"format": "%d %%", "key": fields("overlap"), "help": f"{words}model retries."}
    fourth.slider("Max word overlap", 0, 100, round(spec.overlap * 100), 5, **look)
    left, right = st.columns([3, 1], gap="medium")
    words = "Top documents of each system are graded, deduplicated."
    look = {"format_func": system_label, "key": fields("systems"), "help": words}
    left.multiselect("Systems", list(explorer.systems), list(spec.systems), **look)
    words = "Number of top documents per system."
    right.number_input("Depth", 1, 1000, spec.depth, key=fields("depth"), help=words)


def _read(spec: BuildSpec, given: dict[str, Any]) -> BuildSpec:
    """What the form says; the engine checks it."""
    examples = (line.strip() for line in given["examples"].splitlines())
    return replace(
        spec,
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
