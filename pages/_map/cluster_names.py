"""Names of clusters that the connected model words: the offer, what it takes, and the way back."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

import streamlit as st

from engine.explorer import Explorer
from engine.types.maps import CorpusMap
from engine.types.models import ModelUsage
from pages._common.job_words import at_most
from pages._common.outside_text import escape
from pages._common.shared import as_ours, attempt, escape_label, note
from pages._common.waiting import renew_when
from pages._login import login
from pages._map.map_url import MapView
from pages._model.beside import beside
from pages._model.model_settings import chosen, endpoint

_ASKED = "map_names_asked"
_POLL_SECONDS = 0.4


def cluster_names(explorer: Explorer, view: MapView, drawn: CorpusMap) -> None:
    """Who worded the names of clusters; for leads, a connected model's offer to do it."""
    worded_by = drawn.layouts[view.layout].worded_by
    if worded_by:
        words = f"The names of these clusters were worded by {worded_by}; they may be wrong."
        st.caption(escape_label(words))
    if not login.acting().is_lead:
        return
    if worded_by:
        back = partial(explorer.maps.own_names, view.corpus, view.layout)
        st.button(
            "Back to the clusters' own words", "map_names_back", on_click=attempt, args=(back,)
        )
        return
    asked: Future[ModelUsage] | None = st.session_state.get(_ASKED, {}).get(_place(view))
    info = endpoint(explorer)
    if asked is not None and not asked.done():
        st.caption(f"{escape_label(info.model)} is asked …")
        renew_when(asked.done, every=_POLL_SECONDS)
        return
    if asked is not None and (error := asked.exception()):
        ours = as_ours(error, "Clusters could not be named.")
        note(ours.message, ours.remedy)
    if info.set_up:
        popover = st.popover("Names by the model", key="map_names", on_change="rerun")
        if popover.open:
            with popover:
                _offer(explorer, view, info.model)


def _offer(explorer: Explorer, view: MapView, model: str) -> None:
    estimate = explorer.maps.estimate_names(view.corpus, view.layout, chosen(explorer))
    st.html(
        f"<p>{escape(model)} reads the words of each cluster and three of its titles, and names "
        f"them all: {escape(at_most(estimate))}. Everybody sees these names, until they are "
        "taken back or the map is made anew.</p>"
    )
    ask = partial(_ask, explorer, view)
    st.button(
        f"Ask {escape_label(model)}", "map_names_ask", type="primary", on_click=attempt, args=(ask,)
    )


def _ask(explorer: Explorer, view: MapView) -> None:
    word = partial(explorer.maps.word_names, view.corpus, view.layout, chosen(explorer))
    st.session_state[_ASKED] = {_place(view): beside(word)}


def _place(view: MapView) -> tuple[str, str]:
    return view.corpus, view.layout
