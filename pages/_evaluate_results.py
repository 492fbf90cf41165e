"""The numbers of an evaluation: leaderboard, verdicts, queries, aspects, downloads."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from engine.explorer import Explorer
from engine.types import CollectionInfo, Evaluation, Interval, SystemScores
from pages._charts import image_config
from pages._charts_evaluate import interval_plot, strip_plot, trade_off
from pages._evaluate import set_measure
from pages._evaluate_paper import beside_the_paper
from pages._evaluate_view import CHARTED, MEASURES, EvaluateView
from pages._shared import error_boundary, note

CERTAIN = 0.05
"""Below this, after Holm's correction, a difference is called one."""
SENTENCES = 6
SIGNED = ("p-MRR", "Difference")
"""Columns that are shown with their sign."""


def results(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, found: Evaluation
) -> None:
    """Everything that one evaluation says."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Systems", anchor=False)
        _definitions()
        _take_home(explorer, view, info, found)
    _leaderboard(found)
    with error_boundary():
        _verdicts(found)
    with error_boundary():
        _queries(explorer, view, info, found)
    with error_boundary():
        _aspects(explorer, view, info, found)
    with error_boundary():
        beside_the_paper(info, found)


def _dark() -> bool:
    return bool(st.context.theme.type == "dark")


def interval(bounds: Interval) -> str:
    """``0.552 – 0.661``; a dash where there is none, or nothing varies."""
    if bounds is None or bounds[0] == bounds[1]:
        return "–"
    low, high = (f"{b:.3f}".replace("-", "−") for b in bounds)
    return f"{low} – {high}"


def leaderboard_rows(found: Evaluation) -> pd.DataFrame:
    """One row per system, the best first."""
    rows = []
    for name, scores in found.systems.items():
        rows.append(
            {
                "System": name,
                "nDCG@20": scores.metrics["nDCG@20"],
                "95 % interval": interval(scores.confidence.get("nDCG@20")),
                "nDCG@20 (CSFCube)": scores.metrics["nDCG@20 (CSFCube)"],
                "p-MRR": scores.metrics["p-MRR"],
                "p-MRR interval": interval(scores.confidence.get("p-MRR")),
                "RR": scores.metrics["RR"],
                "R@100": scores.metrics["R@100"],
                "Judged@20": scores.metrics["Judged@20"],
                "Queries": len(scores.per_query),
                "p-MRR queries": sum(q["p-MRR"] is not None for q in scores.per_query),
                "Seconds": scores.seconds if scores.kind == "system" else None,
            }
        )
    frame = pd.DataFrame(rows).astype({"p-MRR": "float64", "Seconds": "float64"})
    return frame.sort_values("nDCG@20", ascending=False, ignore_index=True)


def _leaderboard(found: Evaluation) -> None:
    for sentence in found.notes:
        note(sentence)
    table(
        leaderboard_rows(found),
        "evaluate_leaderboard",
        "Systems and their measures",
        {
            "System": st.column_config.TextColumn(pinned=True),
            "95 % interval": _text(
                "Of nDCG@20: where the mean over more such queries would lie, by bootstrap."
            ),
            "p-MRR interval": _text("95 %, of p-MRR; a dash where it is the same for all queries."),
            "Queries": st.column_config.NumberColumn(help="Queries that the means are over."),
            "p-MRR queries": st.column_config.NumberColumn(
                help="Queries whose seed is judged for another aspect, too."
            ),
            "Seconds": st.column_config.NumberColumn(
                help="For all rankings, the model and evidence not included."
            ),
        },
    )
    st.html(f'<div class="sl-facts">{html.escape(basis(found))}</div>')


def signed_number(value: float) -> str:
    """``+0.052``, and plain ``0`` for what does not move at all."""
    return f"{value:+.3f}".replace("-", "−") if value else "0"


def table(
    frame: pd.DataFrame, key: str, alt: str, config: Mapping[str, Any], most: int = 16
) -> None:
    """A sortable table with three decimals, a dash where a value is undefined.

    Args:
        config: column -> configuration, beside the definitions of the measures.
        most: rows shown before it scrolls.
    """
    numbers = [c for c in frame.columns if frame[c].dtype == "float64"]
    formats = {c: signed_number if c in SIGNED else "{:.3f}" for c in numbers}
    formats |= {"Seconds": "{:.1f}"} if "Seconds" in frame else {}
    defined = {c: st.column_config.NumberColumn(help=MEASURES[c]) for c in MEASURES if c in frame}
    st.dataframe(
        frame.style.format(formats),
        key=key,
        placeholder="–",
        hide_index=True,
        width="stretch",
        height="content" if len(frame) <= most else 460,
        column_config={**defined, **config},
        alt=alt,
    )


def _text(words: str) -> Any:
    return st.column_config.TextColumn(help=words, width=118)


def basis(found: Evaluation) -> str:
    """What the numbers rest on, in one line."""
    judged = found.judged
    parts = [f"{found.queries:,} queries"]
    if found.sample is not None:
        parts.append(f"a sample: {found.sample.seeds:,} of {found.sample.of:,} seeds")
    parts.append(f"{judged.grades:,} grades, {judged.relevant:,} of them relevant")
    parts.append(f"corpus {found.corpus}")
    if found.missing_documents:
        parts.append(f"{found.missing_documents:,} judged documents are not in it")
    people = next((s for s in found.systems.values() if s.kind == "human"), None)
    if people is not None:
        own = (f"{a} {_shown(m['nDCG@20'])}" for a, m in people.annotators.items())
        parts.append("nDCG@20 of each annotator: " + ", ".join(own))
    return " · ".join(parts)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _definitions() -> None:
    with st.popover("What the measures mean", type="tertiary"):
        lines = "".join(
            f"<dt><strong>{html.escape(name)}</strong></dt>"
            f'<dd style="margin:0 0 .5rem">{html.escape(words)}</dd>'
            for name, words in MEASURES.items()
        )
        st.html(
            f'<dl style="max-width:60ch">{lines}</dl><p style="max-width:60ch">All are fractions. '
            "A 95 % interval says where the mean over more queries of the same kind would lie "
            "(bootstrap, 10,000 draws). Differences are tested on the same queries by a paired "
            "t-test and by random signs, corrected after Holm for the number of pairs.</p>"
        )


def verdict(row: Mapping[str, Any]) -> str:
    """One pair of systems in a sentence."""
    (first, second), difference = row["systems"], row["difference"]
    if difference < 0:
        first, second, difference = second, first, -difference
    p, n = row["t_test_p_holm"], row["queries"]
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    tested = f"paired t-test {chance} after Holm, n = {n:,}"
    if p < CERTAIN:
        return f"{first} is above {second} by {difference:.3f}; {tested}."
    if not difference:
        return f"{first} and {second} do equally well; n = {n:,}."
    return f"{first} and {second} cannot be told apart (difference {difference:.3f}); {tested}."


def _verdicts(found: Evaluation) -> None:
    pairs = sorted(found.significance, key=lambda r: (r["t_test_p_holm"], -abs(r["difference"])))
    moves = [s.metrics["p-MRR"] for s in found.systems.values()]
    obedient = any(moves)
    if not pairs and not obedient:
        return
    with st.container(key="evaluate_pair_verdicts"):
        left, right = st.columns([7, 5], gap="medium") if obedient else (st.container(), None)
        with left:
            if pairs:
                _sentences(pairs)
            else:
                st.caption("Choose a second system to see how sure a difference is.")
            if not obedient and any(value is not None for value in moves):
                st.caption("p-MRR is 0: these systems rank the same whatever the aspect.")
        if right is not None:
            right.plotly_chart(
                trade_off(found, dark=_dark()), key="evaluate_trade", theme="streamlit",
                config=image_config("relevance-obedience"),
                alt="Relevance against obedience of every system, with intervals",
            )  # fmt: skip


def _sentences(pairs: Sequence[Mapping[str, Any]]) -> None:
    st.subheader("How sure the differences are", anchor=False)
    items = "".join(f"<li>{html.escape(verdict(row))}</li>" for row in pairs[:SENTENCES])
    st.html(f'<div class="sl-facts">In nDCG@20:</div><ul class="sl-verdicts">{items}</ul>')
    every = f"All {len(pairs)} pairs as a table" if len(pairs) > 1 else "As a table"
    with st.expander(every, type="compact"):
        table(
            pair_rows(pairs),
            "evaluate_pairs_table",
            "Differences between systems and how sure they are",
            {
                "Difference": st.column_config.NumberColumn(help="First minus second."),
                "t-test p": st.column_config.NumberColumn(help="Paired, after Holm."),
                "Random signs p": st.column_config.NumberColumn(help="After Holm."),
            },
        )


def pair_rows(pairs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per pair of systems."""
    return pd.DataFrame(
        {
            "First": [r["systems"][0] for r in pairs],
            "Second": [r["systems"][1] for r in pairs],
            "Difference": [r["difference"] for r in pairs],
            "t-test p": [r["t_test_p_holm"] for r in pairs],
            "Random signs p": [r["randomisation_p_holm"] for r in pairs],
            "Queries": [r["queries"] for r in pairs],
        }
    )


def _queries(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, found: Evaluation
) -> None:
    st.header("Query by query", anchor=False)
    measure = _measure_box(view, found)
    titles = explorer.laboratory.query_titles(info.key)
    frame = query_rows(found, measure, titles, info)
    with st.container(key="evaluate_pair_queries"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            table(
                frame.drop(columns=["Query", *([] if any(frame["Explore"]) else ["Explore"])]),
                "evaluate_queries",
                f"{measure} of every query",
                {
                    "Seed": st.column_config.TextColumn(width="medium", pinned=True),
                    "Spread": st.column_config.NumberColumn(
                        help="Best minus worst system: where they differ most."
                    ),
                    "Explore": st.column_config.LinkColumn(
                        display_text="open", help="This seed and aspect on the Explore page."
                    ),
                },
                most=8,
            )
        aspects = _aspect_order(explorer, info)
        right.plotly_chart(
            strip_plot(found, measure, titles, aspects, dark=_dark()),
            key="evaluate_strip", theme="streamlit", config=image_config("queries"),
            alt=f"{measure}: one dot a query per system, the mean as a line",
        )  # fmt: skip


def _measure_box(view: EvaluateView, found: Evaluation) -> str:
    defined = [m for m in CHARTED if any(s.metrics[m] is not None for s in found.systems.values())]
    measure = view.measure if view.measure in defined else defined[0]
    st.session_state["evaluate_measure"] = measure
    st.segmented_control(
        "Measure", defined, key="evaluate_measure", on_change=partial(set_measure, view),
        label_visibility="collapsed",
    )  # fmt: skip
    st.caption(MEASURES[measure])
    return measure


def query_rows(
    found: Evaluation, measure: str, titles: Mapping[str, str], info: CollectionInfo
) -> pd.DataFrame:
    """One row per query, one column per system."""
    values = {n: {q["query_id"]: q for q in s.per_query} for n, s in found.systems.items()}
    asked = max((s.per_query for s in found.systems.values()), key=len)
    rows = []
    for query in asked:
        query_id = query["query_id"]
        own = {name: of.get(query_id, {}).get(measure) for name, of in values.items()}
        defined = [v for n, v in own.items() if v is not None and n != "human"]
        rows.append(
            {
                "Seed": titles.get(query_id, query_id),
                "Aspect": query["aspect"] or "",
                **own,
                "Spread": max(defined) - min(defined) if defined else None,
                "Query": query_id,
                "Explore": _explore_link(query_id, query["aspect"], info),
            }
        )
    numbers = dict.fromkeys([*values, "Spread"], "float64")
    return pd.DataFrame(rows).astype(numbers)


def _explore_link(query_id: str, aspect: str | None, info: CollectionInfo) -> str | None:
    if aspect is None or not query_id.endswith(f"_{aspect}"):
        return None
    seed = query_id.removesuffix(f"_{aspect}")
    return "/?" + urlencode({"corpus": info.corpus, "seed": seed, "aspect": aspect})


def _aspect_order(explorer: Explorer, info: CollectionInfo) -> list[str]:
    """As in the lens, which gives aspects their colours everywhere."""
    return [aspect.key for aspect in explorer.library.lens(info.corpus).aspects]


def aspect_rows(found: Evaluation, aspects: Sequence[str]) -> pd.DataFrame:
    """One row per system and aspect."""
    rows = [
        {"System": name, "Aspect": aspect, **_aspect_cells(scores, aspect)}
        for name, scores in found.systems.items()
        for aspect in aspects
        if aspect in scores.by_aspect
    ]
    return pd.DataFrame(rows).astype({"p-MRR": "float64"})


def _aspect_cells(scores: SystemScores, aspect: str) -> dict[str, Any]:
    means, bounds = scores.by_aspect[aspect], scores.confidence_by_aspect.get(aspect, {})
    return {
        "nDCG@20": means["nDCG@20"],
        "95 % interval": interval(bounds.get("nDCG@20")),
        "nDCG@20 (CSFCube)": means["nDCG@20 (CSFCube)"],
        "p-MRR": means["p-MRR"],
        "p-MRR interval": interval(bounds.get("p-MRR")),
        "Queries": sum(q["aspect"] == aspect for q in scores.per_query),
        "p-MRR queries": sum(
            q["aspect"] == aspect and q["p-MRR"] is not None for q in scores.per_query
        ),
    }


def _aspects(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, found: Evaluation
) -> None:
    aspects = _aspect_order(explorer, info)
    if not any(s.by_aspect for s in found.systems.values()):
        return
    st.header("Aspect by aspect", anchor=False)
    measure = view.measure if view.measure in CHARTED[:3] else CHARTED[0]
    if all(s.metrics[measure] is None for s in found.systems.values()):
        measure = CHARTED[0]
    frame = aspect_rows(found, aspects)
    with st.container(key="evaluate_pair_aspects"):
        left, right = st.columns([7, 5], gap="medium")
        with left:
            table(
                frame,
                "evaluate_aspects",
                "Measures of every system for every aspect",
                {
                    "System": st.column_config.TextColumn(pinned=True),
                    "95 % interval": _text("Of nDCG@20."),
                    "p-MRR interval": _text("95 %, of p-MRR."),
                },
            )
        right.plotly_chart(
            interval_plot(found, measure, aspects, dark=_dark()), key="evaluate_intervals",
            theme="streamlit", config=image_config("aspects"),
            alt=f"{measure} of every aspect per system with 95 % intervals",
        )  # fmt: skip


def _take_home(
    explorer: Explorer, view: EvaluateView, info: CollectionInfo, found: Evaluation
) -> None:
    laboratory, request = explorer.laboratory, view.request(info)
    titles = laboratory.query_titles(info.key)
    with st.popover("Take home"):
        _download("Systems (CSV)", lambda: _csv(leaderboard_rows(found)), "systems.csv")
        _download(
            "Queries (CSV)", lambda: _csv(query_rows(found, view.measure, titles, info)),
            f"queries-{view.measure}.csv",
        )  # fmt: skip
        _download("Everything (JSON)", lambda: laboratory.report(found), "evaluation.json")
        for name, scores in found.systems.items():
            if scores.kind != "human":
                _download(
                    f"Run of {name} (TREC)", partial(laboratory.run_file, request, name),
                    f"{'-'.join(name.split())}.run",
                )  # fmt: skip
        st.caption("This page as a link: copy it from the address bar; it restores everything.")


def _download(name: str, data: Any, file: str) -> None:
    st.download_button(
        name, data=lambda: data().encode(), file_name=f"seedlens-{file}", key=f"evaluate_dl_{file}",
        mime="text/plain", on_click="ignore", width="stretch", type="tertiary",
    )  # fmt: skip


def _csv(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(index=False))
