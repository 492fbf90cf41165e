"""What the Map page shows, as the URL has it, and what one run of the page is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated
from urllib.parse import quote, unquote

import numpy as np
from pydantic import AfterValidator, Field, PlainSerializer

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.annotating import Project
from engine.types.maps import CorpusMap
from engine.types.searches import Query
from pages._common.state import Commas, Page, PageView, Shared, some_of

WHOLE = "document"  # the layout by whole documents; the others are called like aspects
CLUSTER = "cluster"  # colours points by their cluster in the layout
LIKENESS = "likeness:"  # begins a colour by likeness to the seed, in a layout
MARKS = {
    "pool": "In the pool",
    "judged": "Judged",
    "results": "Top 20",
    "holes": "Top 20, not in the pool",
}
"""What can be marked on the map."""
MOST_IN_LINK = 20  # documents of a selection that the link names; a larger one is stored by name
_Ids = Annotated[
    tuple[str, ...],
    Commas,
    AfterValidator(lambda ids: tuple(map(unquote, ids))),
    PlainSerializer(lambda ids: ",".join(quote(doc_id, safe="") for doc_id in ids)),
]


@dataclass(frozen=True)
class MapView(PageView):
    """A layout of a corpus, how it is coloured and marked, what is selected, and what is seen."""

    script = "map"
    corpus: Shared = ""
    seed: Shared = ""
    text_id: Annotated[Shared, Field(alias="text")] = ""  # of a pasted seed, on no place of the map
    layout: str = WHOLE
    colour: str = CLUSTER  # also cluster:LAYOUT, likeness:LAYOUT, year, grade or field:NAME
    marks: Annotated[tuple[str, ...], Commas, some_of(MARKS)] = ()
    project: str = ""  # whose pool and judgments are marked; "" for what is judged on Explore
    query: str = ""  # query, system: whose top 20 is marked; without a query, the seed's
    system: str = "aspect"
    where: Shared = ""  # filters; documents that one rules out are faint and not selected
    chosen: _Ids = ()  # the selection, if it is small
    kept: Annotated[str, Field(alias="selection")] = ""  # key of a larger one, which goes first
    # the part that is seen, which the browser writes: its middle, 0 to 1, and the zoom
    at: Annotated[str, Field(pattern=r"^([\d.]+(,[\d.]+){2})?$")] = ""
    trail: Shared = ""


@dataclass(frozen=True)
class MapPage(Page[MapView]):
    """A run of the page on a corpus that has a map."""

    drawn: CorpusMap

    @cached_property
    def project(self) -> Project:
        """Whose pool and judgments are marked."""
        return self.explorer.annotation.project(self.corpus, self.view.project)

    def query(self, layout: str) -> Query:
        """The search for the seed, a document or a pasted text, that a layout stands for."""
        view = self.view
        text = self.explorer.notebook.text(view.text_id) if view.text_id else None
        aspect = None if layout == WHOLE else layout
        return Query(self.corpus, seed=None if text else view.seed, text=text, aspect=aspect)

    def within(self, where: str) -> list[int] | None:
        """The rows that filters let through; None without filters that can be read."""
        try:
            filters = self.explorer.parse_filters(where)
        except BadInputError:  # the panel of filters shows it
            return None
        if not filters:
            return None
        allowed = self.explorer.library.open(self.corpus).scope(filters).allowed
        return None if allowed is None else np.flatnonzero(allowed).tolist()


def query_names(explorer: Explorer, queries: Mapping[str, Query]) -> dict[str, str]:
    """The queries of a project by id, each as its title and aspect."""
    titles = explorer.notebook.seed_titles(list(queries.values()))
    return {
        query_id: " · ".join(filter(None, (" ".join(title.split())[:60], query.aspect)))
        for (query_id, query), title in zip(queries.items(), titles, strict=True)
    }


def select(explorer: Explorer, doc_ids: Sequence[str]) -> None:
    """Select these documents, in the link."""
    corpus, few = MapView.read().corpus, len(doc_ids) <= MOST_IN_LINK
    kept = "" if few else explorer.select(corpus, doc_ids).value
    MapView.change(lambda now: replace(now, chosen=tuple(doc_ids) if few else (), kept=kept))
