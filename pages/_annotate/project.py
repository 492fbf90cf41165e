"""A project: its settings, what is asked in it, and the pool of documents to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    DEEPEST_POOL,
    MOST_FIRST,
    SCALES,
    GradeMeaning,
    PoolJob,
    PoolRequest,
    Project,
    Scale,
    are_passed_over,
)
from engine.types.lenses import Lens
from engine.types.searches import Query
from pages._annotate.annotate_url import NEW, AnnotateView, open_project
from pages._annotate.judging import is_plain
from pages._common.document_view import seed_finder
from pages._common.filter_panel import PageFilters
from pages._common.kit import Fields, button, el, facts, grid, line, select, submit
from pages._common.shared import (
    attempt_at,
    begun_from,
    confirm,
    error_boundary,
    escape_label,
    note,
    show_problem,
    system_label,
    with_marks,
)
from pages._common.tasks import JobCard, time_left
from pages._explore.explore_state import View
from pages._login import login

WORDINGS = {
    "generic": "generic instruction",
    "definition": "definition",
    "paraphrases": "paraphrases",
}
"""Sets of wordings that can retrieve more, by what they are."""
SYSTEMS = PoolRequest().systems
MOST_ROWS = 10  # rows of a table that is shown whole
UNJUDGED = "annotate_unjudged"
CHOSEN = "annotate_chosen"  # begins the key of the seeds that were found for queries, by corpus
ASKED = ("corpus", "seed", "aspect", "q", "focus", "reading")
"""Of the parameters of Explore, those that say what is asked for."""
SAID = "annotate_pool_said"  # what the last change to queries or pool came to; shown once


def pool(explorer: Explorer, project: Project, who: str) -> None:
    """Queries on the left, the pool on the right; what is in it, and who judges it, below."""
    jobs, what_stays = explorer.annotation.filling.jobs, "The pool and its judgments are kept."
    job = jobs.latest(project.key)

    def how_far(job: PoolJob) -> str:
        now = job.progress
        left = "" if now.seconds_left is None else f", {time_left(now.seconds_left)}"
        return f"{now.done:,} of {counted(now.total, 'query', 'queries')}{left}"

    def outcome(job: PoolJob) -> str:
        if job.report is None:
            return ""
        left = counted(job.report.left, "query was", "queries were")
        new = counted(job.report.added, "document is", "documents are")
        return f"{new} new in the pool." + f" {left} not reached." * bool(job.report.left)

    look: Any = {"key": "annotate_fill", "label": "Filling the pool", "what_stays": what_stays}
    look |= {"line": how_far, "ended": outcome, "cancel": jobs.cancel, "dismiss": jobs.dismiss}
    JobCard(lambda: jobs.latest(project.key), poll=0.5, **look).show(job)
    queries = explorer.annotation.queries(project)
    first = "" if queries else "Next: add queries, then fill the pool."
    if said := st.session_state.pop(SAID, first):
        note(said)
    left, right = st.columns(2, gap="large")
    with left, error_boundary():
        _add_queries(explorer, project)
    with right, error_boundary():
        _fill(explorer, project, [*queries], busy=job is not None and job.running)
    for part in (_table, _people, _unjudged) if queries else ():
        with error_boundary():
            part(explorer, project, queries, who)


def _add_queries(explorer: Explorer, project: Project) -> None:
    """The form for seeds, and a button per collection of the corpus."""
    lens, state = explorer.library.lens(project.corpus), st.session_state
    names = {aspect.key: aspect.name for aspect in lens.aspects}
    seed, usual = explorer.starting_point(project.corpus)
    st.header("Queries", anchor=False)
    held = f"{CHOSEN}_{project.corpus}"
    _chosen_seeds(explorer, project.corpus, held)

    def add() -> None:
        lines, aspects = state["annotate_seeds"], state["annotate_aspects"]
        queries = [query for chosen in state[held] for query in _in_aspects(chosen, aspects)]
        if lines.strip() or not queries:
            queries += read_seeds(lines, project.corpus, aspects)
        _add(explorer, project, queries)
        state.update({held: [], f"{held}_options": [], "annotate_seeds": ""})

    with st.form("annotate_queries", border=False, clear_on_submit=False):
        written = state.get("annotate_seeds", "")
        with st.expander("IDs or links", expanded=bool(written)):  # it may have to be mended
            label = "Document IDs or Explore links, one per line"
            look: Any = {"placeholder": seed, "key": "annotate_seeds", "height": 104}
            st.text_area(label, help="Links include aspect, instruction and sentences.", **look)
        look = {"key": "annotate_aspects", "placeholder": "None: whole document"}
        look["format_func"] = lambda key: with_marks(names[key])
        look["help"] = "Adds a query per ID and aspect. None: similarity of whole documents."
        st.multiselect("Aspects", list(names), [usual] if usual else None, **look)
        submit("Add queries", "annotate_add_queries", add)
    others = {  # other projects among them
        info.key: f"{info.name}: {counted(info.queries, 'query', 'queries')}"
        for info in explorer.collections.all()
        if info.corpus == project.corpus and info.queries and not info.problem
    }
    others.pop(":".join(project.key), None)

    def take() -> None:
        """Queries under their own ids; those whose seed is gone are left out."""
        asked = explorer.collections.queries(state["annotate_collection"])
        here = {None, *explorer.library.open(project.corpus).row_of}
        _add(explorer, project, {i: q for i, q in asked.items() if q.seed in here})

    if others:
        with line(align="bottom"):
            select("Collection", others, "annotate_collection")
            button("Add all queries", "annotate_take", take, help="Queries cannot be removed.")


def _chosen_seeds(explorer: Explorer, corpus: str, key: str) -> None:
    """The finder, and what was found with it until it is asked for; the options are kept beside
    the widget, which Streamlit forgets while another part is shown."""
    state = st.session_state
    options = state.setdefault(f"{key}_options", [])
    state.setdefault(key, list(options))

    def choose(query: Query) -> None:
        for name in (f"{key}_options", key):
            state[name] = list(dict.fromkeys((*state.get(name, ()), query)))

    seed_finder(
        *(explorer, corpus),
        key="annotate_finder",
        label="Find seeds",
        stays=True,
        on_document=lambda doc_id: choose(Query(corpus, seed=doc_id)),
        on_text=lambda text_id: choose(Query(corpus, text=explorer.notebook.text(text_id))),
    )
    look: Any = {"key": key, "placeholder": "None yet. Find some above."}
    look["format_func"] = lambda query: with_marks(explorer.notebook.seed_title(query))
    st.multiselect("Chosen seeds", options, **look)


def _in_aspects(query: Query, aspects: Sequence[str]) -> list[Query]:
    """A query in each aspect; as it is without one."""
    return [replace(query, aspect=aspect) for aspect in aspects] or [query]


def read_seeds(lines: str, corpus: str, aspects: Sequence[str]) -> list[Query]:
    """Lines of ids and links as queries."""
    queries = []
    for row in filter(None, map(str.strip, lines.splitlines())):
        if "://" not in row:
            queries += _in_aspects(Query(corpus, seed=row), aspects)
            continue
        asked = {key: values[0] for key, values in parse_qs(urlsplit(row).query).items()}
        view, link = View.from_params({n: asked[n] for n in ASKED if n in asked}), row[:200]
        if not view.seed:
            raise BadInputError(f"The link '{link}' has no seed.", "Copy it from Explore.")
        if view.corpus not in ("", corpus):
            where = f"This project uses '{corpus}'."
            raise BadInputError(f"The link '{link}' is for corpus '{view.corpus}'.", where)
        wish: Any = {
            name: getattr(view, name) or None for name in ("seed", "aspect", "instruction")
        }
        queries.append(Query(corpus, **wish, focus=view.focus, reading=view.reading))
    if not queries:
        raise BadInputError("No seed chosen.", "Find one by title, or enter a document ID.")
    return queries


def _add(explorer: Explorer, project: Project, queries: Sequence[Query] | dict[str, Query]) -> None:
    annotation, before = explorer.annotation, len(explorer.annotation.queries(project))
    annotation.add_queries(project, queries)
    added = len(annotation.queries(project)) - before
    then = " Fill the pool for them next." if added else ""
    st.session_state[SAID] = f"{counted(added, 'query is', 'queries are')} new.{then}"


def _fill(explorer: Explorer, project: Project, query_ids: Sequence[str], *, busy: bool) -> None:
    st.header("Pool", anchor=False)
    filters = PageFilters(explorer, project.corpus, AnnotateView, key="annotate")
    filters.chips()
    filters.panel()

    def fill() -> None:
        state, where = st.session_state, explorer.parse_filters(AnnotateView.read().where)
        systems, variants = (tuple(state[f"annotate_{one}"]) for one in ("systems", "variants"))
        request = PoolRequest(systems, int(state["annotate_depth"]), variants, filters=where)
        _start(explorer, project, request, query_ids)

    with st.form("annotate_pool", border=False, clear_on_submit=False):
        words, systems = "Top documents of each system, deduplicated.", list(SYSTEMS)
        look: Any = {"format_func": system_label, "key": "annotate_systems", "help": words}
        st.multiselect("Systems", explorer.systems_of(project.corpus), systems, **look)
        depth, wordings = st.columns([1, 2])
        depth.number_input("Depth", 1, DEEPEST_POOL, PoolRequest().depth, key="annotate_depth")
        look = {"format_func": WORDINGS.__getitem__, "placeholder": "None"}
        wordings.multiselect("More instructions", list(WORDINGS), key="annotate_variants", **look)
        look = {"disabled": busy or not query_ids, "type": "primary"}
        look["help"] = None if query_ids else "Add queries first."
        submit("Fill the pool", "annotate_fill", fill, **look)


def _start(
    explorer: Explorer, project: Project, request: PoolRequest, query_ids: Sequence[str]
) -> None:
    explorer.facets(project.corpus, request.filters)  # refuses those that mean nothing
    explorer.annotation.filling.start(project, request, query_ids, owner=login.owner())
    st.session_state.pop(UNJUDGED, None)


def _table(explorer: Explorer, project: Project, queries: dict[str, Query], _: str) -> None:
    annotation = explorer.annotation
    counts = Counter(item.query_id for item in annotation.pool(project))
    by_people = (j for j in annotation.judgments(project) if j.origin not in ("model", "audit"))
    judged = Counter(query_id for query_id, _ in {j.item for j in by_people} if query_id in queries)
    titles = explorer.notebook.seed_titles([*queries.values()])
    rows = [
        {
            "Query": query_id,
            "Seed": title,
            "Aspect": query.aspect or ("" if is_plain(query) else "as a whole"),
            "In pool": counts[query_id],
            "Judged": judged[query_id],
            "Assigned to": ", ".join(project.assigned.get(query_id, ("everybody",))),
        }
        for (query_id, query), title in zip(queries.items(), titles, strict=True)
    ]
    many, items = counted(len(queries), "query", "queries"), counted(counts.total(), "item")
    facts(f"{many}, {items}, {judged.total():,} judged.")
    if gone := annotation.unaskable(project):
        note(are_passed_over(gone))
    height: Any = "content" if len(rows) < MOST_ROWS else 320
    grid(rows, "annotate_queries_table", "Queries and their pools", height=height)


def _people(explorer: Explorer, project: Project, queries: dict[str, Query], who: str) -> None:
    """Who judges which queries, and the link that annotators open."""
    annotation, state = explorer.annotation, st.session_state
    keys = "annotate_assign_queries", "annotate_assign_people"
    st.header("People", anchor=False)

    def assign() -> None:
        chosen, people = (state[key] for key in keys)
        annotation.assign(project, dict.fromkeys(chosen or queries, people), who)

    with st.form("annotate_assign", border=False):
        left, right = st.columns(2, gap="large")
        look: Any = {"format_func": with_marks, "placeholder": "All"}
        left.multiselect("Queries to assign", [*queries], key=keys[0], **look)
        look = {"accept_new_options": not project.annotators, "placeholder": "Everybody"}
        right.multiselect("Assign to", project.annotators, key=keys[1], **look)
        with line():
            submit("Assign", "annotate_assign_button", assign)
            words = "Each query goes to as many annotators as an item needs."
            label, share = "Share out evenly", annotation.share_out
            submit(label, "annotate_share_out", share, project, who, help=words)
    st.caption("Link for annotators")
    link = AnnotateView(project.corpus, project.name).link()
    st.code(f"{(st.context.url or '').partition('?')[0]}{link}", language=None, wrap_lines=True)


def _unjudged(explorer: Explorer, project: Project, queries: dict[str, Query], _: str) -> None:
    """What a system ranks high that nobody judged: evaluating it now would be unfair to it."""
    st.header("Unjudged documents", anchor=False)
    st.caption("Unjudged documents count as not relevant.")
    depth = st.session_state.get("annotate_depth") or PoolRequest().depth
    systems = tuple(st.session_state.get("annotate_systems") or SYSTEMS)
    if st.button(f"Count unjudged in top {depth}", key="annotate_find_unjudged"):
        with st.spinner("Ranking", show_time=True):
            found = explorer.annotation.unjudged(project, systems, depth)
            st.session_state[UNJUDGED] = (project.key, found)
    key, unjudged = st.session_state.get(UNJUDGED, (None, ()))
    if key != project.key or not unjudged:
        return
    pooled, rows, judged = explorer.annotation.pooled(project), [], f"Judged@{unjudged[0].k}"
    for one in unjudged:
        missing = [(q, d) in pooled for q, ids in one.missing.items() for d in ids]
        counts = {"Unjudged": len(missing), "Not in pool": missing.count(False)}
        rows.append({"System": one.system, judged: one.judged, **counts})
    config = {judged: st.column_config.NumberColumn(format="%.2f")}
    alt = "Unjudged documents by system"
    grid(rows, "annotate_unjudged_table", alt, column_config=config)
    if any(row["Not in pool"] for row in rows):
        request = PoolRequest(tuple(one.system for one in unjudged), unjudged[0].k)
        start: Any = (_start, explorer, project, request, [*queries])
        button("Add missing documents", "annotate_fill_unjudged", *start)


ORDERS = {
    "shuffled": "Random per annotator",
    "same": "Random, same for everyone",
    "disagreement": "By system disagreement",
    "rank": "By best rank",
}
CUSTOM = "custom"
_PLACE, _WHOLE, _SAVED = "annotate_project_form", "annotate_whole", "annotate_saved"
SCALE_NAMES = {"graded": "Graded, 0 to 3", "binary": "Binary, 0 or 1", CUSTOM: "Custom"}


def scale_lines(scale: Scale) -> str:
    """A scale as people type it, one grade a line."""
    return "\n".join(
        f"{grade.value} {': '.join(filter(None, (grade.name, grade.meaning)))}"
        for grade in scale.grades
    )


def read_scale(lines: str) -> Scale:
    """``1 Related: touches on it`` per line as a scale; BadInputError for another line."""
    grades = []
    for number, row in enumerate(map(str.strip, lines.splitlines()), start=1):
        value, _, words = row.partition(" ")
        name, _, meaning = words.partition(":")
        if row and not (value.isdecimal() and name.strip()):
            words = "Write value, name and description: 1 Related: touches on it."
            raise BadInputError(f"Line {number} of the scale is '{row}'.", words)
        grades += [GradeMeaning(int(value), name.strip(), meaning.strip())] if row else []
    return Scale(CUSTOM, tuple(grades))


def read_names(text: str) -> tuple[str, ...]:
    """Names between commas or on lines.

    >>> read_names("Ada, Grace")
    ('Ada', 'Grace')
    """
    parts = text.replace("\n", ",").split(",")
    return tuple(dict.fromkeys(name.strip() for name in parts if name.strip()))


def joined(name: str) -> str:
    """What was entered as a name, without spaces."""
    return "-".join(name.split())


def project_form(explorer: Explorer, project: Project, who: str, *, is_new: bool) -> None:
    """All of a project in one form."""
    lens = explorer.library.lens(project.corpus)
    fields = Fields("annotate", "new" if is_new else f"{project.corpus}_{project.name}")
    begun = f"annotate_begun_{fields.place}"
    before = None if is_new else begun_from(begun, fields("scale"), project)
    if is_new:
        _restore(explorer, project.corpus, who)
    st.header("New project" if is_new else f"Project {project.name}", anchor=False)

    def save() -> None:
        read = _read(project, fields.values, lens)
        annotation = explorer.annotation
        if is_new:
            open_project(annotation.create(read, who), "pool")
            return
        saved = annotation.save(read, who, before)
        st.session_state.update({begun: saved, _SAVED: "Saved. Earlier judgments are kept."})
        st.session_state[fields("scale")] = _kind(saved.scale)

    # Enter would press the first button of the form, which is that of a template.
    with st.form(f"annotate_form_{fields.place}", border=False, enter_to_submit=False):
        left, right = st.columns(2, gap="large")
        with left:
            _basics(project, fields, is_new=is_new)
        with right:
            _guidelines(explorer, project, lens, fields)
        label, key = "Create project" if is_new else "Save", f"annotate_save_{fields.place}"
        submit(label, key, save, place=_PLACE, type="primary")
        show_problem(_PLACE)
    if is_new:
        return
    if saved := st.session_state.pop(_SAVED, ""):
        facts(saved, role="status")
    with st.expander("Copy, rename or delete"):
        _whole(explorer, project, who)


def _whole(explorer: Explorer, project: Project, who: str) -> None:
    """Another name, a copy, or no project any more."""
    annotation = explorer.annotation

    def named(do: Callable[[Project, str, str], Project], done: str) -> None:
        made = do(project, joined(st.session_state["annotate_other_name"]), who)
        open_project(made, "project")
        st.session_state[_SAVED] = f"{done} {made.name}."

    words = "A copy has settings, queries and pool, without judgments."
    st.text_input("New name", project.name, 64, "annotate_other_name", help=words)
    with line():
        button("Copy", "annotate_copy", named, annotation.copy, "Copied to", place=_WHOLE)
        button("Rename", "annotate_rename", named, annotation.rename, "Renamed to", place=_WHOLE)
        if st.button("Delete project", "annotate_delete"):
            _confirm(explorer, project, who)
    show_problem(_WHOLE)


@st.dialog("Delete this project?")
def _confirm(explorer: Explorer, project: Project, who: str) -> None:
    judgments = counted(len(explorer.annotation.judgments(project)), "judgment")
    kept = "All is kept. You can undo this under New project."
    st.html(el("p", el("strong", project.name), f" has {judgments}. {kept}"))

    def delete() -> None:
        explorer.annotation.delete(project, who)
        open_project(Project(project.corpus), NEW)

    confirm("Delete", "annotate_delete_confirm", attempt_at, _WHOLE, delete)


def _restore(explorer: Explorer, corpus: str, who: str) -> None:
    """One line for every deleted project; with a field where another one has its name."""

    def restore(gone: Project, key: str) -> None:
        name = joined(st.session_state.get(key, ""))
        open_project(explorer.annotation.restore(gone, who, name), "judge")

    taken = {project.name for project in explorer.annotation.projects(corpus)}
    for number, gone in enumerate(explorer.annotation.deleted(corpus)):
        key = f"annotate_restored_name_{gone.key[1]}"
        with line():
            st.text(f"{gone.name} was deleted.")
            if gone.name in taken:
                st.text_input("New name", f"{gone.name}-2", 64, key)
            button("Undo", f"annotate_undelete_{number}", restore, gone, key, place=_PLACE)


def _basics(project: Project, fields: Fields, *, is_new: bool) -> None:
    if is_new:
        st.text_input("Name", key=fields("name"), placeholder="methods-2024", max_chars=64)
    kind = _kind(project.scale)
    names: Any = {"format_func": SCALE_NAMES.__getitem__, "required": True}
    st.segmented_control("Scale", list(SCALE_NAMES), default=kind, key=fields("scale"), **names)
    with st.expander("Edit grades", expanded=kind == CUSTOM):
        label = "One grade per line: value, name, description"
        words = "Used when edited, or with 'Custom'. The lowest grade is 'not relevant'."
        lines = scale_lines(project.scale)
        st.text_area(label, lines, 150, key=fields("grades"), help=words)
    people, leads = st.columns(2)
    words, named = "Comma-separated. Empty: everyone.", ", ".join(project.annotators)
    shown: Any = {"placeholder": "Ada, Grace", "help": words}
    people.text_input("Annotators", named, key=fields("annotators"), **shown)
    words = "Can edit, adjudicate and see others' grades. Empty: everyone."
    leads.text_input("Leads", ", ".join(project.leads), key=fields("leads"), help=words)
    number, first, order = st.columns([2, 2, 3], vertical_alignment="bottom")
    words, many = "Annotators per item. Agreement needs at least 2.", project.per_item
    number.number_input("Annotations per item", 1, 20, many, key=fields("per_item"), help=words)
    words = "Everybody judges this random sample first, so that agreement is known early."
    bounds = ("First items for everybody", 0, MOST_FIRST, project.first)
    first.number_input(*bounds, key=fields("first"), help=words)
    select("Order", ORDERS, fields("order"), order, index=list(ORDERS).index(project.order))
    st.toggle("Blind", project.blind, key=fields("blind"), help="Hides systems and ranks.")
    words = "In qrels, exports and Evaluate, which report how many grades are by a model alone."
    label, key = "Use model grades where no person graded", fields("model_grades")
    st.toggle(label, project.model_grades, key=key, help=words)


def _guidelines(explorer: Explorer, project: Project, lens: Lens, fields: Fields) -> None:
    st.caption(
        "Guidelines in Markdown, shown beside every item. The part for all aspects comes first."
    )

    def fill_in(aspect: str, key: str) -> None:
        given = fields.values
        scaled = replace(project, scale=_scale(project, given["scale"], given["grades"]))
        template = explorer.annotation.guideline_template(scaled, aspect)
        written = st.session_state[key].rstrip()
        st.session_state[key] = "\n\n".join(filter(None, (written, template)))

    names = {"": "All aspects", **{aspect.key: aspect.name for aspect in lens.aspects}}
    for tab, (aspect, name) in zip(st.tabs(list(names.values())), names.items(), strict=True):
        key = fields(f"guide_{aspect}")
        # Set in the session, it would replace what a page that was open at a restart holds.
        begun = "" if key in st.session_state else project.guidelines.get(aspect, "")
        with tab:
            words = "What makes a document relevant here, and what does not?"
            look: Any = {"label_visibility": "collapsed", "placeholder": words}
            st.text_area(f"Guidelines: {name}", begun, 330, key=key, **look)
            label = f"Insert template: {escape_label(name)}"
            words = "Adds headings, a table of the grades and places for examples."
            at = f"annotate_template_{aspect}_{fields.place}"
            submit(label, at, fill_in, aspect, key, help=words)


def _kind(scale: Scale) -> str:
    return scale.name if scale in SCALES.values() else CUSTOM


def _scale(project: Project, kind: str, lines: str) -> Scale:
    """The scale of the form; one that was edited is the one that counts."""
    edited = lines.strip() != scale_lines(project.scale)
    if not edited and kind == _kind(project.scale):
        return project.scale
    return read_scale(lines) if edited or kind == CUSTOM else SCALES[kind]


def _read(project: Project, given: dict[str, Any], lens: Lens) -> Project:
    """What the form says, as a project."""
    as_given = ("per_item", "first", "order", "blind", "model_grades")
    people: Any = {name: read_names(given[name]) for name in ("annotators", "leads")}
    return replace(
        project,
        name=project.name or joined(given["name"]),
        guidelines={a: given[f"guide_{a}"] for a in ("", *(aspect.key for aspect in lens.aspects))},
        scale=_scale(project, given["scale"], given["grades"]),
        **people,
        **{name: given[name] for name in as_given},
    )
