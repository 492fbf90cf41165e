"""What the Explore page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from engine.explorer import Explorer
from engine.types.comparisons import Variant
from engine.types.searches import PAGE_SIZE, Filter, Query
from pages._common.url_state import (
    UrlState,
    flag,
    integer,
    join,
    names,
    number,
    one_of,
    param,
    whole,
    write_flag,
)

DEFAULT = Query("")
LAYOUTS = ("cards", "table")
TABLE_SIZE = 100
"""Documents on a page of the table: sorting is of use for many, and each costs its evidence."""
RANK = "rank"
COLUMNS = (RANK, "title", "year", "venue", "score", "change", "grade", "evidence")
"""By what a table is sorted; after ``-`` from high to low."""
OWN = "mine"
"""Names this page's search among the variants of a comparison."""
DEFAULT_DEPTH, DEEPEST = 100, 200
"""How far down the first stage a model reranks: a request grows with every document."""


@dataclass(frozen=True, slots=True)
class View(UrlState):
    """A query, the page of results, and the trail it belongs to.

    Attributes:
        text_id: a pasted seed; the text itself is in the ledger.
        reading: a correction of what aspect and wording are read as, as a query has it.
        rerank: the way in which a model reranks; "" for not at all.
        depth: documents that it reranks.
        layout: how the results are shown.
        sort: the column by which a table is sorted, one of COLUMNS; after ``-`` from high to low.
    """

    script = "explore"
    corpus: str = param("corpus", "", shared=True)
    seed: str = param("seed", "", shared=True)
    text_id: str = param("text", "", shared=True)
    aspect: str = param("aspect", "", shared=True)
    focus: tuple[int, ...] = param(
        "focus", (), lambda text: tuple(map(whole("focus"), names(text))), join
    )
    instruction: str = param("q", "")
    reading: tuple[str, ...] = param("reading", (), Explorer.parse_reading, join)
    system: str = param("system", DEFAULT.system)
    steer: float = param("steer", DEFAULT.steer, number("steer", 0, 1), "{:g}".format)
    symmetric: bool = param("both", False, flag, write_flag)
    where: str = param("where", "", shared=True)
    rerank: str = param("rerank", "", one_of(tuple(Explorer.rerank_modes)))
    depth: int = param("depth", DEFAULT_DEPTH, integer("depth", 1, DEEPEST))
    layout: str = param("view", LAYOUTS[0], one_of(LAYOUTS))
    sort: str = param("sort", RANK, one_of([s + c for s in ("", "-") for c in COLUMNS]))
    page: int = param("page", 1, lambda text: max(1, whole("page")(text)))
    trail: str = param("trail", "", shared=True)

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out, and the depth where nothing is reranked."""
        return UrlState.to_params(self if self.rerank else replace(self, depth=DEFAULT_DEPTH))

    def sharing(self, shared: Mapping[str, Any]) -> Self:
        """This page with what others share; another search begins on its first page."""
        view = UrlState.sharing(self, shared)
        if not self.aspect and (self.seed or self.text_id):
            view = replace(view, aspect="")  # chosen so here: other pages always have one
        if replace(view, trail=self.trail) == self:
            return view
        same = (view.seed, view.text_id, view.aspect) == (self.seed, self.text_id, self.aspect)
        return replace(view, page=1) if same else replace(view, focus=(), reading=(), page=1)

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters; links of earlier versions have years of their own."""
        years = (("year>=", params.get("from")), ("year<=", params.get("to")))
        parts = [*(sign + year for sign, year in years if year), params.get("where", "")]
        return super(View, cls).from_params({**params, "where": "; ".join(filter(None, parts))})

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
        return UrlState.link(replace(self, trail=""))

    def filters(self, explorer: Explorer) -> tuple[Filter, ...]:
        """What documents must meet; BadInputError for what cannot be read."""
        return explorer.parse_filters(self.where)

    def to_query(self, explorer: Explorer) -> Query:
        """The search that the view asks for; BadInputError for filters that cannot be read."""
        return Query(
            corpus=self.corpus,
            seed=self.seed or None,
            text=explorer.notebook.text(self.text_id) if self.text_id else None,
            aspect=self.aspect or None,
            instruction=self.instruction or None,
            focus=self.focus,
            reading=self.reading,
            system=self.system,
            steer=self.steer,
            symmetric=self.symmetric,
            k=self.size,
            offset=(self.page - 1) * self.size,
            filters=self.filters(explorer),
        )

    def variant(self, system: str) -> Variant | None:
        """This search as a variant to compare; None where Compare's own opening has it already.

        Args:
            system: to rank with.
        """
        tuned = self.aspect and (system, self.steer) != (DEFAULT.system, DEFAULT.steer)
        if not (self.instruction or self.reading or self.focus or tuned):
            return None
        return Variant(
            OWN, self.instruction, system, self.steer,
            aspect=self.aspect, focus=self.focus, reading=self.reading,
        )  # fmt: skip
