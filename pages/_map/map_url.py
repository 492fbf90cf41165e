"""What the Map page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from pages._common.url_state import UrlState, names, param, some_of
from pages._common.visit_memory import memory

WHOLE = "document"
"""The layout by whole documents; the others are called like aspects."""
CLUSTER = "cluster"
"""Colours points by their cluster in the layout."""
LIKENESS = "likeness:"
"""Begins a colour by likeness to the seed, in the layout of the name that follows."""
MARKS = {
    "pool": "In the pool",
    "judged": "Judged",
    "results": "Top 20",
    "holes": "Top 20, not in the pool",
}
"""What can be marked on the map."""
MOST_IN_LINK = 20
"""Documents of a selection that the link names; a larger one is kept for the visit."""
_SELECTED = "map_selected"


def _read_ids(text: str) -> tuple[str, ...]:
    return tuple(map(unquote, names(text)))


def _write_ids(doc_ids: Sequence[str]) -> str:
    return ",".join(quote(doc_id, safe="") for doc_id in doc_ids)


@dataclass(frozen=True, slots=True)
class MapView(UrlState):
    """A layout of a corpus, how it is coloured and marked, and what is selected.

    Attributes:
        text_id: a pasted seed; it lies nowhere on the map, but likeness to it colours points.
        colour: "cluster" (of the layout), "cluster:LAYOUT", "year", "grade", "field:NAME" or
            "likeness:LAYOUT".
        project: whose pool and judgments are marked; "" for what is judged on Explore.
        query, system: whose top 20 is marked; without a query of the project, the seed's.
        where: filters; documents that one rules out are faint, and are not selected.
        chosen: the selection, if it is small.
        kept: names a larger one that is kept with the corpus, as ``Explorer.select`` does; it
            goes before ``chosen``.
    """

    script = "map"
    corpus: str = param("corpus", "", shared=True)
    seed: str = param("seed", "", shared=True)
    text_id: str = param("text", "", shared=True)
    layout: str = param("layout", WHOLE)
    colour: str = param("colour", CLUSTER)
    marks: tuple[str, ...] = param("marks", (), some_of(tuple(MARKS)), ",".join)
    project: str = param("project", "")
    query: str = param("query", "")
    system: str = param("system", "aspect")
    where: str = param("where", "", shared=True)
    chosen: tuple[str, ...] = param("chosen", (), _read_ids, _write_ids)
    kept: str = param("selection", "")
    trail: str = param("trail", "", shared=True)

    @property
    def aspect(self) -> str:
        """The aspect of the layout; "" for whole documents."""
        return "" if self.layout == WHOLE else self.layout


def select(doc_ids: Sequence[str]) -> None:
    """Select these documents, in the link or for the visit."""
    corpus = MapView.read().corpus
    memory()[_SELECTED] = (corpus, tuple(doc_ids))
    chosen = tuple(doc_ids) if len(doc_ids) <= MOST_IN_LINK else ()
    MapView.change(lambda now: replace(now, chosen=chosen, kept=""))


def selected(view: MapView) -> tuple[str, ...]:
    """The selection of a view: what its link names, or what was selected on this visit."""
    if view.chosen:
        return view.chosen
    corpus, doc_ids = memory().get(_SELECTED, ("", ()))
    return tuple(doc_ids) if corpus == view.corpus and len(doc_ids) > MOST_IN_LINK else ()
