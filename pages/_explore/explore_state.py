"""What the Explore page shows, as the URL has it, and what one run of the page is about."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import quote, unquote

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.annotating import Scale
from engine.types.comparisons import Variant
from engine.types.searches import PAGE_SIZE, Query
from pages._common.state import (
    Commas,
    Page,
    PageView,
    Shared,
    aspect_that_is_there,
    one_of,
    seed_is_there,
)

DEFAULT = Query("")
LAYOUTS = ("cards", "table")
TABLE_SIZE = 100
"""Documents on a page of the table: sorting is of use for many, and each costs its evidence."""
ANEW: Mapping[str, Any] = {"focus": (), "like": (), "unlike": (), "page": 1}
"""What another seed or aspect begins with."""
RANK = "rank"
COLUMNS = (RANK, "title", "year", "venue", "score", "change", "grade", "evidence")
SORTS = (*COLUMNS, *(f"-{column}" for column in COLUMNS))
"""By what a table is sorted; after ``-`` from high to low."""
OWN = "mine"  # Names this page's search among the variants of a comparison
# Fields of a view that are those of its query, and those that are "" where the query has None.
AS_IN_QUERY = ("corpus", "focus", "reading", "system", "steer", "symmetric", "like", "unlike")
TEXTS = ("seed", "aspect", "instruction")
DEFAULT_DEPTH, DEEPEST = 100, 200
"""How far down the first stage a model reranks: a request grows with every document."""

_DocIds = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda ids: tuple(map(unquote, ids.split(","))) if isinstance(ids, str) else ids
    ),
    PlainSerializer(lambda ids: tuple(quote(doc_id, safe=" ") for doc_id in ids)),
]
"""Ids in a link, in which a comma may be part of one."""
_PageNumber = Annotated[int, AfterValidator(lambda number: max(1, number))]


def _reading(text: object) -> object:
    try:
        return Explorer.parse_reading(text) if isinstance(text, str) else text
    except SeedLensError as error:
        raise ValueError(error.message.rstrip(".")) from error


@dataclass(frozen=True)
class View(PageView):
    """A query, the page of results, and the trail it belongs to."""

    script = "explore"
    renewed: ClassVar[Mapping[str, Any]] = {"page": 1}
    corpus: Shared = ""
    seed: Shared = ""
    text_id: Annotated[Shared, Field(alias="text")] = ""  # of a pasted seed in the ledger
    aspect: Shared = ""
    focus: Annotated[tuple[int, ...], Commas] = ()
    instruction: Annotated[str, Field(alias="q")] = ""
    reading: Annotated[tuple[str, ...], BeforeValidator(_reading)] = ()
    system: str = DEFAULT.system
    steer: Annotated[float, Field(ge=0, le=1)] = DEFAULT.steer
    symmetric: Annotated[bool, Field(alias="both")] = False
    where: Shared = ""
    like: _DocIds = ()
    unlike: _DocIds = ()
    rerank: Annotated[str, one_of(tuple(Explorer.rerank_modes))] = ""  # mode, "" for none
    depth: Annotated[int, Field(ge=1, le=DEEPEST)] = DEFAULT_DEPTH  # documents that are reranked
    layout: Annotated[str, one_of(LAYOUTS), Field(alias="view")] = LAYOUTS[0]
    sort: Annotated[str, one_of(SORTS)] = RANK  # of the table
    page: _PageNumber = 1
    trail: Shared = ""

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out, and the depth where nothing is reranked."""
        return PageView.to_params(self if self.rerank else replace(self, depth=DEFAULT_DEPTH))

    def sharing(self, shared: Mapping[str, Any]) -> Self:
        """This page with what others share; another search begins on its first page."""
        view = super().sharing(shared)
        if not self.aspect and (self.seed or self.text_id):
            view = replace(view, aspect="")  # chosen so here: other pages always have one
        if replace(view, trail=self.trail) == self:
            return view
        same = (view.seed, view.text_id, view.aspect) == (self.seed, self.text_id, self.aspect)
        return replace(view, page=1) if same else replace(view, reading=(), **ANEW)

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters; links of earlier versions have years of their own."""
        years = (("year>=", params.get("from")), ("year<=", params.get("to")))
        parts = [*(sign + year for sign, year in years if year), params.get("where", "")]
        return super().from_params({**params, "where": "; ".join(filter(None, parts))})

    @property
    def size(self) -> int:
        """Documents on a page of results."""
        return TABLE_SIZE if self.layout == "table" else PAGE_SIZE

    def shown_as(self, layout: str) -> Self:
        """The same documents in another layout, on the page that has the first of them."""
        view = replace(self, layout=layout)
        return replace(view, page=(self.page - 1) * self.size // view.size + 1)

    def link(self) -> str:
        """The query part of a link that others can open: without the trail."""
        return PageView.link(replace(self, trail=""))

    def to_query(self, explorer: Explorer) -> Query:
        """The search that the view asks for; BadInputError for filters that cannot be read."""
        texts: dict[str, Any] = {name: getattr(self, name) or None for name in TEXTS}
        return Query(
            **{name: getattr(self, name) for name in AS_IN_QUERY},
            **texts,
            text=explorer.notebook.text(self.text_id) if self.text_id else None,
            k=self.size,
            offset=(self.page - 1) * self.size,
            filters=explorer.parse_filters(self.where),
        )

    @staticmethod
    def fields_of(query: Query, explorer: Explorer) -> dict[str, Any]:
        """The fields that show a search that was made before."""
        return {
            **{name: getattr(query, name) for name in AS_IN_QUERY},
            **{name: getattr(query, name) or "" for name in TEXTS},
            "text_id": explorer.notebook.put_text(query.text) if query.text else "",
            "where": "; ".join(map(str, query.filters)),
        }

    def variant(self, system: str) -> Variant | None:
        """This search on a system as a variant to compare; None where Compare opens with it."""
        tuned = self.aspect and (system, self.steer) != (DEFAULT.system, DEFAULT.steer)
        if not (self.instruction or self.reading or self.focus or tuned):
            return None
        same = {name: getattr(self, name) for name in ("aspect", "focus", "reading")}
        return Variant(OWN, self.instruction, system, self.steer, **same)


@dataclass(frozen=True)
class ExplorePage(Page[View]):
    """A run of the page."""

    @cached_property
    def query(self) -> Query:
        """The search; BadInputError for filters that cannot be read."""
        return self.view.to_query(self.explorer)

    @cached_property
    def scale(self) -> Scale:
        """By which documents are graded."""
        return self.explorer.annotation.project(self.corpus).scale


def open_view(explorer: Explorer, names: list[str]) -> View:
    """The view of the address, with what a first visit leaves open: a corpus, a good seed, an
    aspect, a trail."""
    view = View.opened_on(explorer, names)
    lens = explorer.library.lens(view.corpus)
    view = replace(view, aspect=aspect_that_is_there(lens, view.aspect))
    if not seed_is_there(explorer, view.corpus, view.seed, view.text_id):
        seed, aspect = explorer.starting_point(view.corpus)
        view = replace(view, seed=seed, text_id="", aspect=view.aspect or aspect, focus=())
    there = explorer.library.open(view.corpus).row_of  # what was learned from may be gone since
    like, unlike = (tuple(filter(there.__contains__, ids)) for ids in (view.like, view.unlike))
    view = replace(view, like=like, unlike=unlike)
    view = replace(view, trail=view.trail or secrets.token_urlsafe(9))
    view.write()
    return view
