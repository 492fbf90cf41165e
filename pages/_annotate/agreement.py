"""How a project goes: people, agreement over time and in pairs, and decisions where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    AGREEMENT_MEASURES,
    FEWEST_JUDGED,
    Agreement,
    AgreementMeasure,
    AgreementPoint,
    Disagreement,
    ModelCheck,
    Project,
    RecallEstimate,
    Scale,
)
from engine.types.evaluations import NDCG, SystemScores
from engine.types.searches import Query
from pages._annotate.annotate_url import MEASURES, AnnotateView, found, is_lead
from pages._annotate.judging import is_plain, seed_data, seed_of
from pages._common.charts import ACCENT, number, styled
from pages._common.components import component
from pages._common.document_view import by_role
from pages._common.kit import (
    Fields,
    Html,
    button,
    dim,
    el,
    empty,
    facts,
    grid,
    html,
    select,
    submit,
)
from pages._common.kit import table as html_table
from pages._common.shared import escape_label, remembered
from pages._common.state import control
from pages._common.tables import floats, frame_chart, interval, table

WORDS = (
    "1 = perfect agreement, 0 = chance. Krippendorff's alpha is ordinal and handles missing "
    "grades. 95 % bootstrap intervals."
)
HUMAN = (
    "Leave-one-out human performance: each annotator's grades evaluated against the others' "
    "consensus. An upper bound for systems."
)
BAND = {False: "rgba(122, 46, 58, .14)", True: "rgba(227, 154, 165, .2)"}
"""The accent, thin enough to read through."""
Found = Sequence[tuple[AgreementPoint, AgreementMeasure]]


def agreement(explorer: Explorer, project: Project) -> None:
    """Over all, by aspect, and in pairs."""
    result = found(explorer, project, "agreement")
    if first := found(explorer, project, "progress").first:
        facts(str(first))
    if not any(measure.items for measure in result.measures) and not result.pairs:
        empty(no_agreement_words(project))
    else:
        if result.notes:
            facts(" ".join(result.notes))
        st.header("People", anchor=False, help=WORDS)
        aspects_table(result, "annotate_overall", "Agreement over all people")
        _pairs(result, project.scale)
    _human(explorer, project)


def no_agreement_words(project: Project) -> str:
    """Why there is no agreement yet, and what gives some."""
    words = "No item has grades by two people yet."
    if project.name and project.per_item == 1 and not project.first:
        words += " Set 'First items for everybody' or 'Annotations per item' under 'Project'."
    return words


def aspects_table(result: Agreement | ModelCheck, key: str, alt: str) -> None:
    """A row for all aspects together and for each of them, a column per measure."""
    rows = {"all": result.measures}
    if len(result.by_aspect) > 1:
        rows |= {aspect or "as a whole": row for aspect, row in result.by_aspect.items()}
    grid([{"Aspect": name, **_cells(row)} for name, row in rows.items()], key, alt)


def _cells(measures: Sequence[AgreementMeasure]) -> dict[str, str]:
    items = max((measure.items for measure in measures), default=0)
    cells = {"Items": f"{items:,}"}
    for measure in measures:
        words = number(measure.value)
        if measure.interval is not None:
            words += f" ({interval(measure.interval)})"
        if measure.value is not None and measure.items < items:
            words += f", {measure.items:,} items"
        cells[measure.title] = words
    return cells


def _pairs(result: Agreement, scale: Scale) -> None:
    if not result.pairs:
        return
    st.header("Pairwise agreement", anchor=False, help=WORDS)
    names = {
        pair: " and ".join(pair) + " (a model)" * result.with_model(pair)
        for pair in sorted(result.pairs, key=result.with_model)  # people first
    }
    pair = select("Pair", names, "annotate_pair", label_visibility="collapsed")
    rows = [{"Measure": what, "Value": value} for what, value in _cells(result.pairs[pair]).items()]
    left, right = st.columns(2, gap="small")
    with left:
        grid(rows, "annotate_pair_table", f"Agreement of {names[pair]}")
    with right:
        st.html(confusion_html(pair, result.grades, result.confusion[pair], scale))


def _human(explorer: Explorer, project: Project) -> None:
    judgments = explorer.annotation.judgments(project)
    identity = explorer.library.open(project.corpus).identity

    def ranked() -> dict[str, SystemScores]:
        with st.spinner("Ranking by each annotator's grades", show_time=True):
            return explorer.human_rows(project)

    # Every query of the project is ranked for it: once, until something is judged.
    basis = (project, identity, [judgment.event for judgment in judgments])
    rows = remembered("annotate_human_rows", basis, ranked)
    if not rows:
        return
    st.header("Leave-one-out", anchor=False, help=HUMAN)
    measured = [
        {
            "Annotator": who,
            NDCG: scores.metrics[NDCG],
            "95 % interval": interval(scores.confidence.get(NDCG)),
            "p-MRR": scores.metrics["p-MRR"],
            "p-MRR interval": interval(scores.confidence.get("p-MRR")),
            "Queries": len(scores.per_query),
        }
        for who, scores in rows.items()
    ]
    frame, what = floats(measured, NDCG, "p-MRR"), "Leave-one-out measures of each annotator"
    config = {"95 % interval": f"Of {NDCG}, over queries."}
    table(frame, "annotate_human", what, config | {"p-MRR interval": "Of p-MRR, over queries."})


def confusion_html(
    pair: tuple[str, str],
    grades: tuple[int, ...],
    counts: tuple[tuple[int, ...], ...],
    scale: Scale,
) -> Html:
    """Counts of items by the two grades that they got; the darker, the more."""
    most = max((n for row in counts for n in row), default=0) or 1
    names, rows = {grade.value: grade.name for grade in scale.grades}, []
    for grade, row in zip(grades, counts, strict=True):
        cells = [
            el(
                "td.same" if at == grade else "td",
                f"{items:,}" if items else "·",
                style=f"--share:{100 * items / most:.0f}%",
            )
            for at, items in zip(grades, row, strict=True)
        ]
        rows.append((f"{grade} {names.get(grade, '')}", *cells))
    words = f"Rows: grades of {pair[0]}. Columns: grades of {pair[1]}. They agree on the diagonal."
    heads = [el("td"), *(el("th", g, scope="col", title=names.get(g)) for g in grades)]
    label = f"Grades of {pair[0]} and {pair[1]}"
    return html_table(label, heads, rows, "sl-confusion", el("caption", words))


STEPS = {"items": "By items", "day": "By day"}
_HELP = {
    "Share": "Share of all judgments in this project.",
    "Assigned": "Judged and remaining items; annotators share those that remain.",
    "Done": "Graded, skipped or unsure.",
    "Pace": "Judgments per minute (last 20, without breaks).",
}


def dashboard(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    """The project as a whole, its people, and agreement over time."""
    progress = found(explorer, project, "progress")
    if not progress.items:
        grades = len(explorer.annotation.judgments(project))
        stored = f" {counted(grades, 'grade is', 'grades are')} stored." if grades else ""
        empty(f"No items to judge yet. Fill the pool.{stored}")
        return
    share = progress.annotations / progress.needed if progress.needed else 0.0
    extra = f"; {progress.extra:,} extra" if progress.extra else ""
    words = (
        f" {progress.annotations:,} of {counted(progress.needed, 'annotation')} ({share:.0%}); "
        f"{progress.complete:,} of {counted(progress.items, 'item')} complete{extra}. "
        f"{progress.first or ''}"
    )
    bar = el("span", style=f"width:{100 * share:.0f}%")
    name = f"{share:.0%} of the annotations"
    facts(el("span.sl-meter", bar, role="img", aria_label=name), words)
    st.header("People", anchor=False)
    if progress.people:
        rows = [
            {
                "Annotator": person.annotator,
                "Share": round(100 * person.share),
                "Progress": person.queue.done / (person.queue.total or 1),
                "Assigned": person.queue.total,
                "Done": person.queue.done,
                "Graded": person.graded,
                "Skipped": person.queue.skipped,
                "Unsure": person.queue.unsure,
                "Pace": person.queue.per_minute,
                "Last active": person.last,
            }
            for person in progress.people
        ]
        frame = floats(rows, "Pace").astype({"Last active": "datetime64[ns, UTC]"})
        column = st.column_config
        config: dict[str, Any] = {name: column.Column(help=words) for name, words in _HELP.items()}
        config["Share"] = column.NumberColumn(format="%d %%", help=_HELP["Share"])
        config["Progress"] = column.ProgressColumn(format="percent", min_value=0, max_value=1)
        config["Pace"] = column.NumberColumn(format="%.1f a minute", help=_HELP["Pace"])
        config["Last active"] = column.DatetimeColumn(format="distance")
        look: Any = {"column_config": config, "placeholder": "–", "height": "content"}
        grid(frame, "annotate_people", "Progress of each person", **look)
    else:
        empty("No judgments yet.")
    st.header("Agreement over time", anchor=False, help=WORDS)
    _over_time(explorer, view, project)
    st.header("Relevant documents", anchor=False)
    _recall(explorer, project)


def _recall(explorer: Explorer, project: Project) -> None:
    """How many relevant documents of the pools are found, and an estimate of all."""
    # Every query is ranked: not before it is wanted.
    if not st.toggle("Estimate how many there are", key="annotate_recall_wanted"):
        return
    estimates: Mapping[str, RecallEstimate] = found(explorer, project, "recall")
    if not estimates:
        empty(f"No estimate yet. Judge at least {FEWEST_JUDGED} documents of a query.")
        return
    every = estimates[""]
    share = f", at least {every.found / every.high:.0%}" if every.found else ""
    facts(
        f"{every.found:,} found of an estimated {every.total:,.0f} "
        f"({every.low:,} to {every.high:,}){share}, in the pools of "
        f"{counted(len(estimates) - 1, 'query', 'queries')}."
    )
    rows = [
        {
            "Query": query_id,
            "Judged": one.judged,
            "Found": one.found,
            "Estimated": round(one.total),
            "95 % interval": f"{one.low:,}–{one.high:,}",
        }
        for query_id, one in estimates.items()
        if query_id
    ]
    grid(rows, "annotate_recall", "Relevant documents of each query", height="content")
    dim(f"From the ranking by the default system; relevant from grade {project.scale.relevant}.")


def _over_time(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    by_day = view.step == "day"
    points = explorer.annotation.agreement_over_time(project, "day" if by_day else "items")
    if not points:
        empty(no_agreement_words(project))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measures = {name: AGREEMENT_MEASURES[name] for name in MEASURES}
        control(view, "measure", st.selectbox, "Measure", measures, width=260)
        control(view, "step", st.segmented_control, "Points", STEPS, required=True)
    found = [(p, next(m for m in p.measures if m.name == view.measure)) for p in points]
    title, undefined = AGREEMENT_MEASURES[view.measure], undefined_words(found)
    heads, numbers = ("items", "until", title, "low", "high"), (title, "low", "high")
    rows = ((p.items, p.until.isoformat(), m.value, *(m.interval or (None,) * 2)) for p, m in found)
    frame = floats([dict(zip(heads, row, strict=True)) for row in rows], *numbers)
    point, measure = found[-1]
    over = f"over {counted(point.items, 'item')} with two or more grades"
    words = f"Now {number(measure.value)} {over}. {undefined}"
    name, draw = f"{title} over time", partial(agreement_chart, title=title, by_day=by_day)
    about = ("agreement-over-time", name, f"Project {project.name}. {undefined}".strip())
    frame_chart(frame, draw, *about, alt=f"{name}. {words}", key="annotate_over_time")
    facts(words)
    with st.expander("Points as table"):
        table(frame, "annotate_points", name)


def agreement_chart(frame: pd.DataFrame, *, title: str, by_day: bool, dark: bool) -> go.Figure:
    """A line with its interval as a band, and a gap where the measure is undefined; ``by_day``:
    days along the axis, not numbers of items."""
    at = frame["until"].str[:10] if by_day else frame["items"]
    floor = min(0.0, frame[["low", title]].min(axis=None, skipna=True))
    band, figure = frame.dropna(subset="low"), go.Figure()
    xs, low, high = (one.tolist() for one in (at[band.index], band["low"], band["high"]))
    look: dict[str, Any] = {"mode": "none", "fill": "toself", "fillcolor": BAND[dark]}
    look |= {"name": "95 % interval", "hoverinfo": "skip", "showlegend": len(band) > 1}
    figure.add_scatter(x=xs + xs[::-1], y=low + high[::-1], **look)
    look = {"mode": "lines+markers", "marker": {"size": 6}, "connectgaps": False}
    look |= {
        "line": {"color": ACCENT[dark], "width": 2},
        "showlegend": False,
        "customdata": frame["items"],
    }
    look["hovertemplate"] = "%{y:.2f}, n = %{customdata}<extra></extra>"
    figure.add_scatter(x=at, y=frame[title], **look)
    across: dict[str, Any] = {"type": "category" if by_day else "linear", "rangemode": "tozero"}
    across["title"] = "Day (UTC)" if by_day else "Items graded by two or more (n)"
    across |= {"categoryorder": "category ascending", "showgrid": False}
    up = {"title": title, "range": [floor - 0.05, 1.05]}
    return styled(figure, dark=dark, height=320, xaxis=across, yaxis=up)


def undefined_words(found: Found) -> str:
    """Where it is undefined, the first few; "" where it never is."""
    where = [f"{point.items:,}" for point, measure in found if measure.value is None]
    if not where:
        return ""
    at = ", ".join([*where[:6], *["…"] * (len(where) > 6)])
    different = "items have different numbers of grades, or "
    reason = different * (found[0][1].name == "fleiss_kappa") + "all grades are equal"
    return f"Value undefined at n = {at}: {reason}."


AT = "annotate_disagreement"
_KEYS = component("annotate_decide")


def disagreements(explorer: Explorer, project: Project, who: str) -> None:
    """One disagreement after another, the widest first."""
    items = found(explorer, project, "disagreements")
    still = [d for d in items if d.decided is None]
    if not items:
        empty("No disagreements. Items of different grades, or unsure ones, are listed here.")
        return
    with st.container(key="annotate_decide_head", horizontal=True, vertical_alignment="center"):
        facts(f"{len(still):,} to decide, {len(items) - len(still):,} decided")
        decided = st.toggle("Show decided", key="annotate_decided", value=not still)
        shown, number = items if decided else still, 1
        if len(shown) > 1:
            at, key = min(st.session_state.get(AT, 1), len(shown)), f"{AT}_{len(shown)}"
            number = st.session_state[AT] = st.pagination(
                len(shown), default=at, key=key, width=320
            )
    if shown:
        _one(explorer, project, who, shown[number - 1])
    else:
        empty("All decided.")


def _one(explorer: Explorer, project: Project, who: str, item: Disagreement) -> None:
    lens = explorer.library.lens(project.corpus)
    query = explorer.annotation.queries(project).get(item.query_id)
    document = explorer.library.open(project.corpus).document(item.doc_id)
    seed_card = None
    if query is not None:
        seed = seed_of(explorer, query, {})
        asked = seed_data(item.query_id, query, seed, lens)
        on = {number for number, row in enumerate(asked["sentences"]) if row["on"]}
        seed_card = by_role(kicker_of(query, asked), seed, lens, on)
    at = {sentence.span: index for index, sentence in enumerate(document.sentences)}
    marked: dict[int, list[str]] = {}  # by whom
    for judgment in item.said:
        for span in at.keys() & judgment.marks:
            marked.setdefault(at[span], []).append(judgment.annotator)
    st.html(el("div.sl-papers", seed_card, by_role("Candidate", document, lens, marked, marked)))
    names = [f"{j.annotator}{' (a model)' * (j.origin == 'model')}" for j in item.said]
    grades = (j.verdict if j.relevance is None else j.relevance for j in item.said)
    notes = (judgment.note for judgment in item.said)
    st.html(said_html(zip(names, grades, notes, strict=True), project.scale))
    _decision(explorer, project, who, item)


def kicker_of(query: Query, asked: Mapping[str, Any]) -> str:
    """What stands above a seed: what is asked of it, ``asked`` as :func:`seed_data` has it."""
    if is_plain(query):
        return str(asked["kicker"])
    own = asked["asked"] if query.instruction or query.reading else ""
    return f"{asked['kicker']} · {own or asked['aspect'] or query.aspect or 'as a whole'}"


def _decision(explorer: Explorer, project: Project, who: str, item: Disagreement) -> None:
    if not is_lead(project, who):
        facts(f"{', '.join(project.leads) or 'Leads'} decide.")
        return
    before, place = item.decided, f"{item.query_id}\x1f{item.doc_id}"
    grades = {g.value: escape_label(f"{g.value} · {g.name}") for g in project.scale.grades}
    fields = Fields("annotate", place)
    adjudicate = partial(explorer.annotation.adjudicate, project, item.query_id, item.doc_id)

    def decide() -> None:
        grade, reason = fields.values["grade"], fields.values["reason"]
        if grade is None:
            raise BadInputError("No grade selected.", "Choose the final grade.")
        adjudicate(grade, reason, who, seen="" if before is None else before.event)

    with st.form(f"annotate_decide_{place}", border=False):
        with st.container(key="annotate_decision"):
            left, right = st.columns([5, 7], gap="medium")
        left.segmented_control(
            "Decision (required)",
            list(grades),
            format_func=grades.__getitem__,
            key=fields("grade"),
            default=None if before is None else before.relevance,
        )
        label, begun = "Reason (required)", "" if before is None else before.note
        right.text_input(label, begun, 2000, fields("reason"), placeholder="Reason")
        with st.container(horizontal=True, vertical_alignment="center"):
            label = "Decide" if before is None else "Change decision"
            submit(label, f"annotate_decide_button_{place}", decide, type="primary")
            choose = f"<kbd>{min(grades)}</kbd> to <kbd>{max(grades)}</kbd> choose"
            others = "<kbd>N</kbd> goes to the reason, <kbd>Enter</kbd> decides."
            facts(Html(f"Everyone’s own grades are kept. Keys: {choose}, {others}"))
    with st.container(key="annotate_decide_keys"):
        _KEYS(key="annotate_decide_component", data={"grades": list(grades)})
    if before is not None and before.annotator == who:
        # By an event of the decision's own: a second click takes back nothing more.
        back = partial(adjudicate, None, "", who, event=f"back-{before.event}")
        button("Undo decision", f"annotate_decide_back_{place}", back, type="tertiary")


def said_html(rows: Iterable[tuple[str, str | int, str]], scale: Scale) -> Html:
    """What each one said, side by side: who, the grade or a verdict without one, and a note."""
    names = {grade.value: grade.name for grade in scale.grades}

    def box(who: str, grade: str | int, note: str) -> Html:
        if isinstance(grade, int):
            grade = f"{grade} · {names.get(grade, 'not of this scale')}"
        about = el("div.who", who), el("div.grade", grade)
        return el("div", *about, note and el("p.note", note))

    return html(el("div.sl-said", (box(*row) for row in rows)))
