"""What the Explore page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.searches import PAGE_SIZE, Filter, Query

DEFAULT = Query("")
DEFAULT_DEPTH, DEEPEST = 100, 200
"""How far down the first stage a model reranks: a request grows with every document."""


@dataclass(frozen=True, slots=True)
class View:
    """A query, the page of results, and the trail it belongs to.

    Attributes:
        text_id: a pasted seed; the text itself is in the ledger.
        rerank: the way in which a model reranks; "" for not at all.
        depth: documents that it reranks.
    """

    corpus: str = ""
    seed: str = ""
    text_id: str = ""
    aspect: str = ""
    focus: tuple[int, ...] = ()
    instruction: str = ""
    system: str = DEFAULT.system
    steer: float = DEFAULT.steer
    symmetric: bool = False
    year_from: str = ""
    year_to: str = ""
    where: str = ""
    rerank: str = ""
    depth: int = DEFAULT_DEPTH
    page: int = 1
    trail: str = ""

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        found = {
            "corpus": self.corpus,
            "seed": self.seed,
            "text": self.text_id,
            "aspect": self.aspect,
            "focus": ",".join(map(str, self.focus)),
            "q": self.instruction,
            "system": "" if self.system == DEFAULT.system else self.system,
            "steer": "" if self.steer == DEFAULT.steer else f"{self.steer:g}",
            "both": "1" if self.symmetric else "",
            "from": self.year_from,
            "to": self.year_to,
            "where": self.where,
            "rerank": self.rerank,
            "depth": str(self.depth) if self.rerank and self.depth != DEFAULT_DEPTH else "",
            "page": "" if self.page == 1 else str(self.page),
            "trail": self.trail,
        }
        return {k: v for k, v in found.items() if v}

    def link(self) -> str:
        """The query part of a link that others can open: without the trail."""
        return "?" + urlencode(replace(self, trail="").to_params())

    def to_query(self, explorer: Explorer) -> Query:
        """The search that the view asks for; BadInputError for filters that cannot be read."""
        filters = [explorer.parse_filter(f"year>={self.year_from}")] if self.year_from else []
        filters += [explorer.parse_filter(f"year<={self.year_to}")] if self.year_to else []
        filters += [explorer.parse_filter(part) for part in _split(self.where)]
        return Query(
            corpus=self.corpus,
            seed=self.seed or None,
            text=explorer.notebook.text(self.text_id) if self.text_id else None,
            aspect=self.aspect or None,
            instruction=self.instruction or None,
            focus=self.focus,
            system=self.system,
            steer=self.steer,
            symmetric=self.symmetric,
            offset=(self.page - 1) * PAGE_SIZE,
            filters=tuple(filters),
        )


def _split(where: str) -> list[str]:
    return [part for part in (p.strip() for p in where.split(";")) if part]


def read_view() -> View:
    """The view of the URL.

    Raises:
        BadInputError: a parameter that cannot be read, named.
    """
    params = st.query_params
    try:
        steer = float(params.get("steer", DEFAULT.steer))
        if not 0.0 <= steer <= 1.0:
            raise ValueError(f"steer is {steer:g}, not a number from 0 to 1")
        depth = int(params.get("depth", DEFAULT_DEPTH))
        if not 1 <= depth <= DEEPEST:
            raise ValueError(f"depth is {depth}, not a number from 1 to {DEEPEST}")
        return View(
            corpus=params.get("corpus", ""),
            seed=params.get("seed", ""),
            text_id=params.get("text", ""),
            aspect=params.get("aspect", ""),
            focus=tuple(int(i) for i in params.get("focus", "").split(",") if i),
            instruction=params.get("q", ""),
            system=params.get("system", DEFAULT.system),
            steer=steer,
            symmetric=params.get("both") == "1",
            year_from=params.get("from", ""),
            year_to=params.get("to", ""),
            where=params.get("where", ""),
            rerank=params.get("rerank", ""),
            depth=depth,
            page=max(1, int(params.get("page", 1))),
            trail=params.get("trail", ""),
        )
    except ValueError as error:
        raise BadInputError(
            f"This link cannot be read: {error}.", "Open the page without it and start again."
        ) from error


def write_view(view: View) -> None:
    """Put a view into the URL; the browser's back button brings the former one back."""
    st.query_params.from_dict(view.to_params())


def change_view(change: Callable[[View], View]) -> None:
    """Change what the URL says now.

    A click may come before the page has caught up with the last one: what the page showed
    then is older than the URL.
    """
    write_view(change(read_view()))


def filters_of(query: Query) -> tuple[str, str, str]:
    """Year from, year to and the other filters of a query, as the page's fields hold them."""

    def year(op: str) -> str:
        return next((f.value for f in query.filters if (f.field, f.op) == ("year", op)), "")

    others: list[Filter] = [f for f in query.filters if f.field != "year" or f.op == "="]
    return year(">="), year("<="), "; ".join(map(str, others))
