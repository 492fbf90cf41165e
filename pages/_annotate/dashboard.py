"""How a project goes, for its leads: who did how much, and how agreement came about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import AGREEMENT_MEASURES, PersonProgress, Project, ProjectProgress
from pages._annotate.agreement import (
    WORDS,
    Found,
    agreement_chart,
    no_agreement_words,
    points_html,
    signed,
)
from pages._annotate.annotate_url import MEASURES, AnnotateView, go
from pages._common.components import chart
from pages._common.figure_file import FigureFile
from pages._common.kit import Html, button, el, empty, facts, html, table

STEPS = {"items": "By items", "day": "By day"}
_REMAINING = "Judged and remaining items. Remaining items are shared between annotators."
_HEADS = {
    "Annotator": "",
    "Share": "Share of all judgments in this project.",
    "Progress": _REMAINING,
    "Assigned": _REMAINING,
    "Done": "Graded, skipped or unsure.",
    "Graded": "With a grade.",
    "Skipped": "",
    "Unsure": "",
    "Pace": "Judgments per minute (last 20, without breaks).",
    "Last active": "",
}


def dashboard(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    """The project as a whole, its people, and agreement over time."""
    progress = explorer.annotation.progress(project)
    if not progress.items:
        grades = len(explorer.annotation.judgments(project))
        stored = f" {counted(grades, 'grade is', 'grades are')} stored." if grades else ""
        empty(f"No items to judge yet. Fill the pool.{stored}")
        return
    left = sum(d.decided is None for d in explorer.annotation.disagreements(project))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(summary_html(progress, project.per_item, left))
        if left:
            label = f"Decide {counted(left, 'disagreement')}"
            button(label, "annotate_to_decide", go, "disagreements")
    st.header("People", anchor=False)
    st.html(people_html(progress.people, datetime.now(UTC)))
    st.header("Agreement over time", anchor=False, help=WORDS)
    _over_time(explorer, view, project)


def summary_html(progress: ProjectProgress, per_item: int, undecided: int) -> Html:
    """What is done of what is needed, with a bar."""
    share = progress.annotations / progress.needed if progress.needed else 0.0
    words = (
        f" {progress.annotations:,} of {counted(progress.needed, 'annotation')} ({share:.0%}); "
        f"{progress.complete:,} of {counted(progress.items, 'item')} "
        f"{'has' if progress.complete == 1 else 'have'} {counted(per_item, 'annotation')}"
        + (f"; {progress.extra:,} extra" if progress.extra else "")
        + ("" if undecided else "; no open disagreements")
    )
    bar = el("span", style=f"width:{100 * share:.0f}%")
    name = f"{share:.0%} of the annotations"
    return el("div.sl-facts", el("span.sl-meter", bar, role="img", aria_label=name), f"{words}.")


def people_html(people: Sequence[PersonProgress], now: datetime) -> Html:
    """A row for each person."""
    if not people:
        return el("div.sl-empty", "No judgments yet.")
    heads = [el("th", name, scope="col", title=words) for name, words in _HEADS.items()]
    return table("Progress of each person", heads, (_person(person, now) for person in people))


def _person(person: PersonProgress, now: datetime) -> tuple[object, ...]:
    queue = person.queue
    done = queue.done / queue.total if queue.total else 0.0
    bar = el("span.sl-meter", el("span", style=f"width:{100 * done:.0f}%"))
    when = "" if person.last is None else f"{person.last:%Y-%m-%d %H:%M} UTC"
    counts = (queue.total, queue.done, person.graded, queue.skipped, queue.unsure)
    return (
        person.annotator,
        f"{person.share:.0%}",
        html(bar, " ", el("span.sl-percent", f"{done:.0%}")),
        *(f"{number:,}" for number in counts),
        "–" if queue.per_minute is None else f"{queue.per_minute:.1f} per minute",
        el("span", ago(person.last, now), title=when),
    )


def ago(time: datetime | None, now: datetime) -> str:
    """How long ago somebody was there, in words.

    >>> now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    >>> ago(None, now), ago(now, now), ago(datetime(2026, 3, 1, 11, tzinfo=UTC), now)
    ('not yet', 'just now', '1 day ago')
    """
    if time is None:
        return "not yet"
    minutes = max(0, int((now - time).total_seconds() // 60))
    if minutes < 2:
        return "just now"
    if minutes < 120:
        return f"{counted(minutes, 'minute')} ago"
    hours = minutes // 60
    return f"{hours} hours ago" if hours < 24 else f"{counted(hours // 24, 'day')} ago"


def _over_time(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    by_day = view.step == "day"
    points = explorer.annotation.agreement_over_time(project, "day" if by_day else "items")
    if not points:
        empty(no_agreement_words(project))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound = view.bound("measure", "annotate_measure")
        names = AGREEMENT_MEASURES.__getitem__
        st.selectbox("Measure", MEASURES, format_func=names, width=260, **bound)
        bound = view.bound("step", "annotate_step")
        names = STEPS.__getitem__
        st.segmented_control("Points", list(STEPS), format_func=names, required=True, **bound)
    found = [(p, next(m for m in p.measures if m.name == view.measure)) for p in points]
    title, undefined = AGREEMENT_MEASURES[view.measure], undefined_words(found)
    rows = [
        (point.items, point.until.isoformat(), m.value, *(m.interval or (None, None)))
        for point, m in found
    ]
    about = f"Project {project.name}. {undefined}".strip()
    heads = ("items", "until", title, "low", "high")
    words = f"{last_words(found)} {undefined}"
    chart(
        lambda dark: agreement_chart(found, title, by_day=by_day, dark=dark),
        FigureFile("agreement-over-time", f"{title} over time", about, heads, rows),
        alt=f"{title} over time. {words}",
        key="annotate_over_time",
    )
    facts(words)
    with st.expander("Points as table"):
        st.html(points_html(found, title))


def last_words(found: Found) -> str:
    """What it is now."""
    point, measure = found[-1]
    items = counted(point.items, "item")
    return f"Now {signed(measure.value, 'undefined')} over {items} with two or more grades."


def undefined_words(found: Found) -> str:
    """Where it is undefined; "" where it never is."""
    where = [point.items for point, measure in found if measure.value is None]
    if not where:
        return ""
    why = "undefined at every point"
    if len(where) < len(found):
        why = f"undefined at n = {', '.join(f'{items:,}' for items in where[:6])}"
        why += ", …" if len(where) > 6 else ""
    reason = "all grades are equal"
    if found[0][1].name == "fleiss_kappa":
        reason = f"items have different numbers of grades, or {reason}"
    return f"Value {why}: {reason}."
