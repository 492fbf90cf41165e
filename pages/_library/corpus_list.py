"""The list of corpora on the Library page: one row each, what is in it, and what to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import streamlit as st

from engine.explorer import Explorer
from engine.text import counted, size
from engine.types.corpora import CorpusInfo, CorpusSource, ImportJob
from pages._common.outside_text import escape
from pages._common.shared import attempt_at, confirm, error_boundary, escape_label
from pages._explore.explore_url import View
from pages._library import scenarios_panel
from pages._library.lens_editor import change_lens
from pages._login import login

ROWS = 20
HEADS = ("Name", "Documents", "State", "Aspects", "Encoder", "Size", "Last change")


def state_of(info: CorpusInfo, job: ImportJob | None) -> str:
    """``ready``, how far indexing is, or that it stopped on the way."""
    if job is not None and job.progress.phase == "indexing":
        return f"indexing {job.progress.done:,} of {job.progress.total:,}"
    if job is not None:
        return "indexing"
    if info.state == "ready":
        return "ready"
    return f"incomplete: {info.documents:,} of {info.expected:,}"


def cut(text: str, most: int) -> str:
    """The beginning of a long text, with a sign that there is more."""
    return text if len(text) <= most else text[:most] + " …"


def _cells(values: tuple[str, ...]) -> str:
    """One corpus; on narrow screens each value has its head beside it, for readers always."""
    cells = "".join(
        f'<div class="lib-cell"><span class="lib-label">{head}</span> {value}</div>'
        for head, value in zip(HEADS, values, strict=True)
    )
    return f'<div class="lib-row">{cells}</div>'


def _row(explorer: Explorer, info: CorpusInfo, job: ImportJob | None) -> None:
    name = f"<strong>{escape(info.name)}</strong>"
    if explorer.library.is_synthetic(info):
        name += ' <span class="sl-tag" title="Invented documents, to try SeedLens">synthetic</span>'
    changed = datetime.fromisoformat(info.updated_at).astimezone()
    others = (
        f"{info.documents:,}",
        state_of(info, job),
        ", ".join(aspect.name for aspect in info.lens.aspects),
        Path(info.encoder).name,
        size(info.bytes),
    )
    when = f'<span style="white-space:nowrap">{changed:%Y-%m-%d}</span> {changed:%H:%M}'
    st.html(_cells((name, *map(escape, others), when)))


def _unfinished(explorer: Explorer, info: CorpusInfo) -> None:
    """What to do about a corpus whose import did not end, or that came without its documents."""
    if info.state == "indexing":
        source = escape(explorer.library.source_name(info.source))
        st.html(
            f'<div class="sl-facts">Import {source} again as {escape(info.name)}, below. Stored '
            "documents are kept.</div>"
        )


def _source_line(source: CorpusSource) -> str:
    """``OpenAlex, "deep sea": 480 documents on 2026-11-23``."""
    asked = str(source.query).partition(":")[2]
    many = counted(source.documents, "document")
    return f"{source.name}, {asked}: {many} on {source.updated_at[:10]}"


def _live_row(explorer: Explorer, name: str) -> None:
    with error_boundary():
        _row(explorer, explorer.library.corpus(name), explorer.library.jobs.running(name))


def corpora_list(
    explorer: Explorer, corpora: list[CorpusInfo], running: Mapping[str, ImportJob]
) -> None:
    """All corpora, twenty to a page, under one head."""
    pages = -(-len(corpora) // ROWS)
    page = st.pagination(pages, key="library_page") if pages > 1 else 1
    left, _ = st.columns([8, 3])
    heads = "".join(f'<div class="lib-cell">{head}</div>' for head in HEADS)
    left.html(f'<div class="lib-row lib-heads" aria-hidden="true">{heads}</div>')
    panel = scenarios_panel.Panel()
    for info in corpora[(page - 1) * ROWS : page * ROWS]:
        with st.container(key=f"library_corpus_{info.name}", gap="xsmall"):
            _corpus(explorer, info, running.get(info.name), panel)


def _corpus(
    explorer: Explorer, info: CorpusInfo, job: ImportJob | None, panel: scenarios_panel.Panel
) -> None:
    name = info.name
    left, right = st.columns([8, 3], vertical_alignment="center")
    with left:
        if job is None:
            _row(explorer, info, None)
            _unfinished(explorer, info)
        else:  # no control stands in here: the clock's reruns would close a dialog
            st.fragment(_live_row, run_every=1.0)(explorer, name)
    writing = explorer.scenarios.jobs.latest(name)
    busy = job is not None or (writing is not None and writing.state == "running")
    with right, st.container(horizontal=True, gap="small"):
        label, why = escape_label(name), "It is being indexed." if busy else None
        if st.button(f"Open {label}", key=f"library_open_{name}", disabled=info.state != "ready"):
            View.elsewhere(corpus=name).go()
        if info.state == "ready" and info.sources:
            st.button(
                f"Update {label}",
                key=f"library_update_{name}",
                disabled=busy,
                help=why or "Fetches new documents from its sources.",
                on_click=attempt_at,
                args=("corpora", explorer.library.update, name, login.owner()),
            )
        if st.button(f"Delete {label}", key=f"library_delete_{name}", disabled=busy, help=why):
            _confirm(explorer, info)
    inside = st.expander("Details", key=f"library_inside_{name}", type="compact", on_change="rerun")
    if inside.open:
        with inside, error_boundary():
            _contents(explorer, info)
            if explorer.library.can_undo_import(name):
                st.button(
                    "Undo the last import",
                    key=f"library_undo_import_{name}",
                    disabled=busy,
                    help="Its new documents go, and changed ones are as before.",
                    on_click=attempt_at,
                    args=("corpora", explorer.library.undo_import, name),
                )
            if info.documents:
                change_lens(explorer, info, disabled=busy or info.state != "ready")
    if info.documents and info.state == "ready":
        scenarios_panel.section(explorer, info, writing, panel, indexing=job is not None)


@st.dialog("Delete this corpus?")
def _confirm(explorer: Explorer, info: CorpusInfo) -> None:
    st.html(
        f"<p><strong>{escape(info.name)}</strong> holds {info.documents:,} documents. Judgments, "
        "trails and source files are kept. You can undo this for 24 hours.</p>"
    )
    delete = explorer.library.delete
    confirm("Delete", "library_confirm", attempt_at, "corpora", delete, info.name)


def undo_list(explorer: Explorer) -> None:
    """One line for every deleted corpus that can be brought back."""
    for name in explorer.library.deleted():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{name} was deleted.")
            st.button(
                "Undo",
                key=f"library_undo_{name}",
                on_click=attempt_at,
                args=("corpora", explorer.library.restore, name),
            )


def _contents(explorer: Explorer, info: CorpusInfo) -> None:
    if not info.documents:
        st.text("No documents yet.")
        return
    contents = explorer.library.contents(info.name)
    titles = "".join(f"<li>{escape(cut(t, 200) or '(no title)')}</li>" for t in contents.titles)
    years = f"{contents.years[0]} to {contents.years[1]}" if contents.years else "none"
    if contents.years and contents.undated:
        years += f" ({contents.undated:,} without a year)"
    shares = " · ".join(f"{aspect.name} {share:.0%}" for aspect, share in contents.shares)
    if contents.sampled < info.documents:
        shares += f" (estimated from {contents.sampled:,} documents)"
    facts = {
        "Years": years,
        "Sentences by aspect": shares,
        "Source": f"{explorer.library.source_name(info.source)} ({info.source_format})",
    }
    if info.sources:
        facts["Services"] = "; ".join(map(_source_line, info.sources))
        if info.source in {str(source.query) for source in info.sources}:
            del facts["Source"]
    lines = "".join(
        f'<dt class="lib-dim">{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in facts.items()
    )
    st.html(
        f'<div class="lib-card"><div class="lib-dim">First titles</div>'
        f"<ul>{titles}</ul><dl>{lines}</dl></div>"
    )
