"""The Build page: which build, its attribute, its steps, running one, and the collection made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import streamlit as st

from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.explorer import Explorer, OpenBuild
from engine.text import counted
from engine.types.annotating import Project
from engine.types.builds import (
    BuildSpec,
    BuildState,
    BuildStep,
    Provenance,
    StepJob,
    StepRequest,
    StepState,
)
from engine.types.searches import Query
from pages._annotate.annotate_url import (
    annotator,
    name_field,
    names_come_from_login,
    of_project,
    set_annotator,
)
from pages._annotate.exchange_files import packed
from pages._build.build_tables import (
    EXPRESSIONS,
    NUMBER,
    TEXT,
    clusters_step,
    labels_step,
    queries_step,
    table_height,
    titles,
)
from pages._build.build_words import (
    RUNS,
    STEPS,
    BuildView,
    before,
    earlier,
    estimate_line,
    go,
    many,
    percent,
    standing,
    steps_data,
    waiting_for,
    where_it_stands,
)
from pages._common.components import component, listen
from pages._common.kit import (
    Fields,
    Html,
    button,
    dim,
    el,
    empty,
    facts,
    grid,
    line,
    select,
    submit,
)
from pages._common.kit import table as facts_table
from pages._common.shared import (
    begun_from,
    engine,
    error_boundary,
    escape_label,
    note,
    show_error,
    show_problem,
    system_label,
)
from pages._common.state import corpus_box
from pages._common.tasks import TaskPanel
from pages._evaluate.evaluate_state import EvaluateView
from pages._model.model_settings import calls_box, endpoint, folded_panel, most_calls

_STEPS = component("build_steps")


def open_view(explorer: Explorer, names: Sequence[str]) -> tuple[BuildView, OpenBuild | None]:
    """The view of the URL and its build; one that cannot be opened is explained."""
    build = None
    view = BuildView.opened_on(explorer, names)
    try:
        if view.build:
            build = explorer.builds.open(view.corpus, view.build)
            if not view.step:
                upcoming = build.state().next
                view = replace(view, step=RUNS[upcoming].key if upcoming else "result")
        else:
            view = replace(view, step="attribute")
    except SeedLensError as error:
        show_error(error)
        view, build = BuildView(view.corpus, step="attribute"), None
    view.write()
    return view, build


def controls(explorer: Explorer, view: BuildView, names: Sequence[str]) -> None:
    """Corpus, build, and who works on it."""
    builds = [name for _, name in reversed(explorer.builds.names(view.corpus))]
    with st.container(key="build_controls", horizontal=True, vertical_alignment="bottom"):
        corpus_box(view, names, "build_corpus", width=160)
        bound = view.bound("build", "build_name", step="")
        st.selectbox(
            "Build", ["", *builds], **bound, width=260, format_func=lambda n: n or "a new build"
        )
        if not names_come_from_login():
            name_field(annotator(explorer), "build_who", set_annotator)


def show_step(explorer: Explorer, view: BuildView, build: OpenBuild | None) -> None:
    """The five steps, each a click away, and the one that the view asks for."""
    latest = partial(explorer.builds.jobs.latest, (view.corpus, view.build))
    job = latest() if build else None  # before the state: what it made is in there once it is done
    state = build.state() if build else None
    clusters = len(build.clusters()) if build else None

    def opened(event: Mapping[str, Any]) -> None:
        go(str(event["step"]))

    _STEPS(
        key="build_steps",
        data={"steps": steps_data(state, view.step, job, clusters)},
        on_open_change=listen("build_steps", "open", opened),
    )
    if build is None or state is None:
        new_build(explorer, view.corpus)
    elif view.step == "attribute":
        card((view.corpus, view.build), None, job)
        attribute_form(explorer, build.spec, is_new=False)
    else:
        shown = STEPS[view.step]
        if not any(step.done for step in state.steps if step.step == shown.run):
            st.html(el("div.bd-about", shown.about))
        with error_boundary():
            run_bar(explorer, build, state, cast(BuildStep, shown.run), job)
        # What a run makes as a whole, and not one by one, shows when it has ended.
        if under_way(job) != view.step or view.step == "labels":
            with error_boundary():
                _SHOW[view.step](explorer, build, state)
    if under_way(job) and not under_way(latest()):
        st.rerun()  # it ended meanwhile, and the card says so


_MOST = "build_most_calls"
WITHOUT_MODEL: tuple[BuildStep, ...] = ("collapse",)
"""Steps that do something without a model too."""


def run_bar(
    explorer: Explorer, build: OpenBuild, state: BuildState, step: BuildStep, job: StepJob | None
) -> None:
    """The button that runs a step with what it takes, or why it cannot be run; how it went."""
    place = (build.spec.corpus, build.spec.name)
    if blocked := _blocked(build, state, step):
        card(place, step, job)
        why, steps = blocked
        with st.container(horizontal_alignment="center", key="build_blocked"):
            st.html(el("div.bd-blocked", why))
            with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
                for at, shown in enumerate(steps):
                    look: Any = {"type": "secondary" if at else "primary"}
                    button(f"Go to {STEPS[shown].name}", f"build_first_{shown}", go, shown, **look)
        return
    now = next(s for s in state.steps if s.step == step)
    to_run = not under_way(job) and _buttons(explorer, state, now)
    card(place, step, job)
    if to_run:
        with st.container(width=680):
            folded_panel(explorer, "build", needed=step not in WITHOUT_MODEL and not now.done)
            calls_box(explorer, _MOST)


def _blocked(
    build: OpenBuild, state: BuildState, step: BuildStep
) -> tuple[str, tuple[str, ...]] | None:
    """What has to be there first, and the steps of the page where that can be mended."""
    steps = {one.step: one for one in state.steps}
    for one in before(state, step):
        if one.at is None and not one.done:
            return waiting_for(one), (RUNS[one.step].key,)
    if step == "collapse" and not steps[step].total:
        so_far = "" if steps["label"].is_complete else " so far"
        return (
            f"No document shows the attribute{so_far}. Describe it differently, or label some "
            "documents by hand.",
            ("attribute", "labels"),
        )
    if step == "verbalise" and not steps[step].total:
        return (
            "No cluster becomes a query. Change the sizes, or merge, split or restore clusters.",
            ("clusters", "attribute"),
        )
    if step == "expand":
        queries = build.queries()
        if all(query.dropped for query in queries):
            why = "All queries are excluded" if queries else "No queries yet"
            return f"{why}.", ("queries",)
    return None


# -- the buttons of a step -------------------------------------------------------------------


def _buttons(explorer: Explorer, state: BuildState, step: StepState) -> bool:
    """The way on where a step is complete, or back where one before it is not; and running it,
    unless there is nothing to run."""
    first, connected = earlier(state, step.step), endpoint(explorer).set_up
    place = (state.spec.corpus, state.spec.name)
    panel = _panel(place, step.step)
    estimate = panel.estimate(StepRequest(*place, step.step), state)
    idle = step.is_complete and not estimate.items
    needs_model = step.step not in WITHOUT_MODEL
    lacks_model = needs_model and not connected and not idle
    with line("build_run"):
        leads = _way(step, first)
        words = "" if first is None else f"{waiting_for(first, standing(first, is_next=False)[1])} "
        if first is None or not idle:
            words += estimate_line(estimate, step, with_model=connected)
        if not needs_model and not connected:
            words += " Without a model, a cluster is named by its most central label, and "
            words += "clusters with the same meaning stay separate until you merge them."
        elif lacks_model:
            words += " Connect a model to estimate requests and tokens."
        if idle:
            dim(words)
            return False
        who, label = annotator(explorer), RUNS[step.step].start
        request = StepRequest(*place, step.step, who)
        if step.at is not None or step.done:
            left = step.unfinished or step.done < step.total
            label = "Resume" if left and not step.stale else "Run again"
        panel.button(
            label,
            partial(panel.start, request, who, partial(most_calls, _MOST)),
            words,
            disabled=lacks_model,
            type="secondary" if leads else "primary",
            help="Connect a language model first." if lacks_model else None,
        )
    return True


def _way(step: StepState, first: StepState | None) -> bool:
    """The button that leads to the step that comes now; False when that is this one."""
    after = [*STEPS.values()][RUNS[step.step].number :]  # numbers count from 1
    if first is not None:
        to, words = RUNS[first.step], "Go to"
    elif step.is_complete and after:
        to, words = after[0], "Next:"
    else:
        return False
    button(f"{words} {to.name}", "build_way", go, to.key, type="primary")
    return True


# -- the last run, found again by whoever opens the build ---------------------------------------


def under_way(job: StepJob | None) -> str:
    """The step of the page that is being run; "" for none."""
    return RUNS[job.request].key if job is not None and job.state == "running" else ""


def _panel(place: tuple[str, str], which: str = "") -> TaskPanel[StepRequest, int]:
    return TaskPanel(
        *(engine().builds, place, "build"),
        doing=lambda job: (RUNS[job.request].doing, ""),
        outcome=lambda job, made: [many(made, RUNS[job.request].made)],
        # How many clusters become no query, and why, stands above the clusters.
        remarks=lambda report: (note for note in report.notes if " no query: " not in note),
        which=which,
        place="build",
    )


def card(place: tuple[str, str], step: BuildStep | None, job: StepJob | None) -> None:
    """How far the run is, whichever step it is of; how it ended, on the page of its own step.
    ``step``: that the page shows; None for the attribute, which does not run."""

    def show(job: StepJob) -> None:
        at = RUNS[job.request]
        if job.running and job.request != step and st.button(f"Show {at.name}", key="build_show"):
            go(at.key)
            st.rerun()

    show_problem("build")
    if job is not None and (job.running or job.request == step):
        _panel(place).card(resume=False, more=show)


# -- step 1: what a collection is about, and how it is made ---------------------------------------

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
    left, right, last = st.columns([4, 1, 2], gap="medium")
    words = "Top documents of each system are graded, deduplicated."
    look = {"format_func": system_label, "key": fields("systems"), "help": words}
    left.multiselect("Systems", list(explorer.systems), list(spec.systems), **look)
    words = "Number of top documents per system."
    right.number_input("Depth", 1, 1000, spec.depth, key=fields("depth"), help=words)
    names = {"implied": "Implied only", "both": "All with the attribute"}
    words = "Other documents with the attribute are distractors, graded lowest."
    at = [*names].index(spec.gold)
    select("Relevant documents", names, fields("gold"), last, index=at, help=words)


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
        gold=given["gold"],
    )


# -- step 5: the collection that comes of it, with where it comes from ----------------------------


def result_step(explorer: Explorer, build: OpenBuild, state: BuildState) -> None:
    """What there is of the collection, what to do with it, and where it comes from."""
    spec = build.spec
    try:
        project = build.project()
    except UnknownNameError:  # not pooled yet
        return
    made = explorer.builds.provenance(spec.corpus, spec.name)
    positives, more = sum(made.positives.values()), sum(made.found.values())
    confirmed = sum(made.confirmed.values())
    checked = counted(made.checked, "model grade") if made.checked else "no model grade"
    facts(
        f"{many(made.queries, 'query')} · {confirmed:,} of "
        f"{counted(positives, 'cluster document')} confirmed · "
        f"{more:,} more by pooling · {checked} checked by people"
    )
    words = "Model grades are used where no human grade exists."
    note(words, "Check a sample before you rely on them.")
    # A collection that steps before it have overtaken is told from one that is up to date.
    if first := next((s for s in state.steps if not s.is_complete), None):
        if first.step == "expand":
            note("Not up to date.", "Incomplete: the export contains partial grades.")
        else:
            note(
                "Not up to date: an earlier step is outdated.",
                "Queries, grades and export are unchanged; the provenance shows current "
                "attribute, labels and clusters.",
            )
    _ways_on(explorer, spec, project)
    with st.container(key="build_pair_result"):
        left, right = st.columns([8, 4], gap="large")
        with left:
            st.header("Queries", anchor=False)
            _queries(made, explorer.annotation.queries(project))
            _rejected(explorer, made, explorer.annotation.queries(project))
        with right:
            st.header("Provenance", anchor=False)
            st.html(provenance_html(made, state.steps))


def _ways_on(explorer: Explorer, spec: BuildSpec, project: Project) -> None:
    with st.container(horizontal=True, gap="small", key="build_ways_on"):
        if st.button("Check a sample", key="build_check", type="primary"):
            of_project(project, "model").go()
        if st.button("Open in Annotate", key="build_annotate"):
            of_project(project).go()
        if st.button("Evaluate", key="build_evaluate"):
            EvaluateView.elsewhere(collection=":".join(project.key), seeds=None, model="").go()
        _export(explorer, spec)


@st.fragment
def _export(explorer: Explorer, spec: BuildSpec) -> None:
    popover = st.popover("Export", key="build_export", on_change="rerun")
    if not popover.open:
        return
    with popover, error_boundary():
        st.caption("Documents, queries and grades in BEIR format, TREC qrels and provenance.json.")
        name, data = f"{spec.corpus}-{spec.name}.zip", archive(explorer, spec)
        look: Any = {"mime": "application/zip", "on_click": "ignore", "key": "build_download"}
        st.download_button("Download ZIP", data, name, **look)


def archive(explorer: Explorer, spec: BuildSpec) -> bytes:
    """The collection as a ZIP file; raises as ``CollectionBuilds.files``."""
    return packed(explorer.builds.files(spec.corpus, spec.name), "")[1]


def _queries(made: Provenance, queries: Mapping[str, Query]) -> None:
    rows = [
        {
            "Query": (queries[query_id].text if query_id in queries else None) or query_id,
            "From cluster": positives,
            "Confirmed": made.confirmed.get(query_id, 0),
            "Added by pooling": made.found.get(query_id, 0),
            "Id": query_id,
        }
        for query_id, positives in made.positives.items()
    ]
    if not rows:
        empty("No queries. Restore or write some in step Queries.")
        return
    words = "Relevant documents outside the cluster."
    columns = {
        "Query": TEXT(width=300),
        "From cluster": NUMBER(format="localized", width=90),
        "Confirmed": NUMBER(format="localized", width=85, help="Those that fully fit the query."),
        "Added by pooling": NUMBER(format="localized", width=115, help=words),
    }
    look: Any = {"height": table_height(len(rows), 16), "column_config": columns}
    grid(rows, "build_result_queries", "Queries and their positives", **look)


def _rejected(explorer: Explorer, made: Provenance, queries: Mapping[str, Query]) -> None:
    """Documents of clusters that do not fit their query."""
    pairs = [(query_id, doc_id) for query_id, ids in made.rejected.items() for doc_id in ids]
    if not pairs:
        return
    names = titles(explorer, made.spec.corpus, [doc_id for _, doc_id in pairs])
    rows = [
        {"Document": name, "Query": queries[query_id].text if query_id in queries else query_id}
        for (query_id, _), name in zip(pairs, names, strict=True)
    ]
    st.header("Not confirmed", anchor=False)
    dim("Documents of a cluster that do not fully fit its query.")
    look: Any = {"height": table_height(len(rows), 8)}
    grid(rows, "build_result_rejected", "Documents that were not confirmed", **look)


def provenance_html(made: Provenance, steps: Sequence[StepState]) -> Html:
    """Where a collection comes from, as a table."""
    spec = made.spec
    sizes = f"{spec.smallest:,} to {spec.largest:,} documents"
    out = "no exclusions"
    if made.dropped:
        out = f"{made.dropped:,} excluded (not {sizes}, or manually)"
    present = f"{counted(made.labelled, 'document does', 'documents do')}, "
    present += f"{counted(made.without, 'does', 'do')} not"
    how = ", ".join(f"{made.expressions.get(kind, 0):,} {kind}" for kind in EXPRESSIONS)
    relevant = "all of them" if spec.gold == "both" else "implied"
    rows = [
        ("Attribute", spec.attribute),
        ("Definition", spec.guidance or "–"),
        ("Examples", "; ".join(spec.examples) or "–"),
        ("Described by", f"{made.author}, {made.time.astimezone():%Y-%m-%d %H:%M}"),
        ("Corpus", f"{spec.corpus}, {many(made.labelled + made.without, 'document')} read"),
        ("Present", present),
        ("Expression", f"{how}; relevant: {relevant}"),
        ("Clusters", f"{made.clusters:,}, {out}"),
        ("Overlap", f"{percent(made.overlap)} on average; the limit is {percent(spec.overlap)}"),
        ("Pooled", f"{', '.join(spec.systems)}, to a depth of {spec.depth:,}"),
        *((RUNS[step.step].by, _by(made, step)) for step in steps),
    ]
    return facts_table("Provenance", (), rows, "bd-provenance")


def _by(made: Provenance, step: StepState) -> str:
    edits = made.edits.get(step.step, 0)
    who = made.models.get(step.step, "") or "no model"
    return f"{who}; {counted(edits, 'manual change')}" if edits else who


_SHOW = {
    "labels": labels_step,
    "clusters": clusters_step,
    "queries": queries_step,
    "result": result_step,
}
