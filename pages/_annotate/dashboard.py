"""How a project goes, for its leads: who did how much, and how agreement came about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted
from engine.types.annotating import (
    AGREEMENT_MEASURES,
    AgreementMeasure,
    AgreementPoint,
    PersonProgress,
    Project,
    ProjectProgress,
)
from pages._annotate.agreement_chart import agreement_chart
from pages._annotate.agreement_tables import WORDS, interval, no_agreement_words, wide
from pages._annotate.annotate_url import MEASURES, AnnotateView, go
from pages._common.components import chart
from pages._common.figure_file import FigureFile
from pages._common.outside_text import escape

STEPS = {"items": "By items", "day": "By day"}
_PACE = "Judgments per minute (last 20, without breaks)."
_ASKED = "Judged and remaining items. Remaining items are shared between annotators."


def dashboard(explorer: Explorer, view: AnnotateView, project: Project) -> None:
    """The project as a whole, its people, and agreement over time."""
    progress = explorer.annotation.progress(project)
    if not progress.items:
        grades = len(explorer.annotation.judgments(project))
        stored = f" {counted(grades, 'grade is', 'grades are')} stored." if grades else ""
        st.html(f'<div class="sl-empty">No items to judge yet. Fill the pool.{stored}</div>')
        return
    left = sum(d.decided is None for d in explorer.annotation.disagreements(project))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(summary_html(progress, project.per_item, left))
        if left:
            st.button(
                f"Decide {counted(left, 'disagreement')}", key="annotate_to_decide", on_click=go,
                args=("disagreements",),
            )  # fmt: skip
    st.header("People", anchor=False)
    st.html(people_html(progress.people, datetime.now(UTC)))
    st.header("Agreement over time", anchor=False, help=WORDS)
    _over_time(explorer, view, project)


def summary_html(progress: ProjectProgress, per_item: int, undecided: int) -> str:
    """What is done of what is needed, with a bar."""
    share = progress.annotations / progress.needed if progress.needed else 0.0
    each = counted(per_item, "annotation")
    words = (
        f"{progress.annotations:,} of {counted(progress.needed, 'annotation')} ({share:.0%}); "
        f"{progress.complete:,} of {counted(progress.items, 'item')} "
        f"{'has' if progress.complete == 1 else 'have'} {each}"
        + (f"; {progress.extra:,} extra" if progress.extra else "")
        + ("" if undecided else "; no open disagreements")
    )
    return (
        f'<div class="sl-facts"><span class="sl-meter" role="img" aria-label="{share:.0%} of the '
        f'annotations"><span style="width:{100 * share:.0f}%"></span></span> {words}.</div>'
    )


def people_html(people: Sequence[PersonProgress], now: datetime) -> str:
    """A row for each person; names are escaped."""
    if not people:
        return '<div class="sl-empty">No judgments yet.</div>'
    heads = {
        "Annotator": "",
        "Share": "Share of all judgments in this project.",
        "Progress": _ASKED,
        "Assigned": _ASKED,
        "Done": "Graded, skipped or unsure.",
        "Graded": "With a grade.",
        "Skipped": "",
        "Unsure": "",
        "Pace": _PACE,
        "Last active": "",
    }
    head = "".join(
        f'<th scope="col"{f""" title="{escape(words)}" """ if words else ""}>{name}</th>'
        for name, words in heads.items()
    )
    rows = "".join(_person(person, now) for person in people)
    return wide(
        "Progress of each person",
        f'<table class="sl-people"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>',
    )


def _person(person: PersonProgress, now: datetime) -> str:
    queue = person.queue
    done = queue.done / queue.total if queue.total else 0.0
    pace = "–" if queue.per_minute is None else f"{queue.per_minute:.1f} per minute"
    when = "" if person.last is None else f"{person.last:%Y-%m-%d %H:%M} UTC"
    cells = [
        f"{person.share:.0%}",
        f'<span class="sl-meter"><span style="width:{100 * done:.0f}%"></span></span> '
        f'<span class="sl-percent">{done:.0%}</span>',
        *(f"{n:,}" for n in (queue.total, queue.done, person.graded, queue.skipped, queue.unsure)),
        pace,
        f'<span title="{when}">{ago(person.last, now)}</span>',
    ]
    name = f'<th scope="row">{escape(person.annotator)}</th>'
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


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
    points = explorer.annotation.agreement_over_time(
        project, "day" if view.step == "day" else "items"
    )
    if not points:
        st.html(f'<div class="sl-empty">{escape(no_agreement_words(project))}</div>')
        return
    st.session_state.update(annotate_measure=view.measure, annotate_step=view.step)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Measure", MEASURES, format_func=AGREEMENT_MEASURES.__getitem__, width=260,
            **AnnotateView.sets("measure", "annotate_measure"),
        )  # fmt: skip
        st.segmented_control(
            "Points", list(STEPS), format_func=STEPS.__getitem__, required=True,
            **AnnotateView.sets("step", "annotate_step"),
        )  # fmt: skip
    found = [(point, measured(point, view.measure)) for point in points]
    title = AGREEMENT_MEASURES[view.measure]
    alt = f"{title} over time. {last_words(found)} {undefined_words(found)}"
    chart(
        lambda dark: agreement_chart(found, title, by_day=view.step == "day", dark=dark),
        FigureFile(
            "agreement-over-time",
            f"{title} over time",
            f"Project {project.name}. {undefined_words(found)}".strip(),
            ("items", "until", title, "low", "high"),
            [
                (point.items, point.until.isoformat(), m.value, *(m.interval or (None, None)))
                for point, m in found
            ],
        ),
        alt=alt,
        key="annotate_over_time",
    )
    words = escape(f"{last_words(found)} {undefined_words(found)}")
    st.html(f'<div class="sl-facts">{words}</div>')
    with st.expander("Points as table"):
        st.html(points_html(found, title))


def measured(point: AgreementPoint, name: str) -> AgreementMeasure:
    """One measure of a point."""
    return next(measure for measure in point.measures if measure.name == name)


Found = Sequence[tuple[AgreementPoint, AgreementMeasure]]


def last_words(found: Found) -> str:
    """What it is now."""
    point, measure = found[-1]
    return f"Now {_value(measure)} over {counted(point.items, 'item')} with two or more grades."


def undefined_words(found: Found) -> str:
    """Where it is undefined; "" where it never is."""
    where = [point.items for point, measure in found if measure.value is None]
    if not where:
        return ""
    if len(where) == len(found):
        why = "undefined at every point"
    else:
        why = f"undefined at n = {', '.join(f'{items:,}' for items in where[:6])}"
        why += ", …" if len(where) > 6 else ""
    reason = (
        "items have different numbers of grades, or all grades are equal"
        if found[0][1].name == "fleiss_kappa"
        else "all grades are equal"
    )
    return f"Value {why}: {reason}."


def points_html(found: Found, title: str) -> str:
    """Each point with its number of items and its interval."""
    rows = "".join(
        f'<tr><th scope="row">{point.items:,}</th><td>{point.until:%Y-%m-%d %H:%M}</td>'
        f"<td>{_value(measure)}</td><td>{interval(measure.interval)}</td></tr>"
        for point, measure in found
    )
    return wide(
        f"{title} over time",
        '<table class="sl-people"><thead><tr><th scope="col">Items (n)</th>'
        f'<th scope="col">Until (UTC)</th><th scope="col">{escape(title)}</th>'
        f'<th scope="col">95 % interval</th></tr></thead><tbody>{rows}</tbody></table>',
    )


def _value(measure: AgreementMeasure) -> str:
    return "undefined" if measure.value is None else f"{measure.value:.2f}".replace("-", "−")
