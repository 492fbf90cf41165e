"""What the Compare page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import streamlit as st

from engine.errors import BadInputError, UnknownNameError
from engine.explorer import Explorer
from engine.types.comparisons import Variant
from pages._common import workspace
from pages._common.shared import engine
from pages._common.url_state import (
    BadParamError,
    UrlState,
    integer,
    join,
    names,
    one_of,
    param,
    some_of,
)
from pages._explore.explore_url import DEEPEST, DEFAULT, View

State = TypeVar("State", bound="CompareView")
MOST_VARIANTS = 8
"""Beyond that, neither the rank flow nor a person follows."""
LONGEST_NAME = 80
LONGEST_LINK = 6_000
"""Characters; variants that make a link longer are stored here and named by an id."""
DEPTHS = (10, 20)
MATRICES = ("rbo", "tau", "overlap", "rank_gain")
SHOWS = ("seed", "collection")
RERANK_DEPTH = 50
"""A request grows with every document of every variant: less than for one search."""
_DEFAULT = Variant("", "")
_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "wording": str,
    "system": str,
    "steer": (int, float),
    "subset": bool,
    "aspect": str,
    "sentences": str,
    "reading": str,
}
"""A variant in a link: its keys and what they may hold; what is default is left out."""


def variants_to_json(variants: Sequence[Variant]) -> str:
    """Compact JSON, defaults left out.

    >>> variants_to_json([Variant("mine", "alike in method", steer=0.7)])
    '[{"name":"mine","wording":"alike in method","steer":0.7}]'
    """
    rows = [_row(variant) for variant in variants]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def _row(variant: Variant) -> dict[str, object]:
    row: dict[str, object] = {"name": variant.name, "wording": variant.instruction}
    row |= {} if variant.system == _DEFAULT.system else {"system": variant.system}
    row |= {} if variant.steer == _DEFAULT.steer else {"steer": variant.steer}
    row |= {"subset": True} if variant.subset else {}
    row |= {"aspect": variant.aspect} if variant.aspect else {}
    row |= {"sentences": join(variant.focus)} if variant.focus else {}
    return row | ({"reading": join(variant.reading)} if variant.reading else {})


def variants_from_json(text: str) -> tuple[Variant, ...]:
    """Read what :func:`variants_to_json` wrote; nothing is guessed at.

    Raises:
        ValueError: what is wrong with it.
    """
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("invalid variants (not JSON)") from None
    return variants_from_rows(rows)


def variants_from_rows(rows: object) -> tuple[Variant, ...]:
    """Variants from the rows of a link or of the editor, each checked.

    Raises:
        ValueError: what is wrong with them.
    """
    if not isinstance(rows, list) or not rows:
        raise ValueError("invalid variants (not a list)")
    if len(rows) > MOST_VARIANTS:
        raise ValueError(f"it has {len(rows)} variants; the maximum is {MOST_VARIANTS}")
    return tuple(_variant(row, number) for number, row in enumerate(rows, start=1))


def _variant(row: object, number: int) -> Variant:
    if not isinstance(row, dict) or not {"name", "wording"} <= row.keys() <= _KEYS.keys():
        raise ValueError(f"variant {number}: missing or unknown fields")
    for key, value in row.items():
        kinds = _KEYS[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ValueError(f"variant {number}: {key} is {str(value)[:40]!r}")
        if isinstance(value, str) and not _is_text(value):
            raise ValueError(f"variant {number}: {key} is not valid Unicode")
    name = " ".join(row["name"].split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"variant {number}: the name has {len(name)} characters")
    steer = row.get("steer", _DEFAULT.steer)
    if not 0 <= steer <= 1:
        raise ValueError(f"variant {number}: steer is {str(steer)[:40]}, not from 0 to 1")
    try:
        focus = tuple(map(int, names(row.get("sentences", ""))))
        reading = Explorer.parse_reading(row.get("reading", ""))
    except (ValueError, BadInputError):
        raise ValueError(f"variant {number}: invalid interpretation") from None
    return Variant(
        name,
        row["wording"],
        row.get("system", _DEFAULT.system),
        float(steer),
        row.get("subset", False),
        row.get("aspect", ""),
        focus,
        reading,
    )


def _is_text(value: str) -> bool:
    """False for lone surrogates, which JSON can spell and nothing can store."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def free_name(name: str, taken: Sequence[str]) -> str:
    """``name``, or with the first number that makes it unlike all those taken.

    >>> free_name("base", ["base", "base-2"])
    'base-3'
    """
    tried, number = name, 1
    while tried in taken:
        number += 1
        tried = f"{name}-{number}"
    return tried


@dataclass(frozen=True, slots=True)
class CompareView(UrlState):
    """A seed, an aspect, the variants, and what of their comparison is looked at.

    Attributes:
        text_id: a pasted seed; the text itself is in the ledger.
        where: filters of what is ranked.
        depth: ranks that the rank flow shows.
        document: the one whose evidence is open, or empty.
        steered: name of the variant whose frontier is shown, or empty for the first.
        show: ``seed``, or ``collection`` for the sensitivity over all judged seeds.
        systems, wordings: what the whole collection is asked on and in; empty for the usual.
        rerank: the way in which a model reranks all variants; "" for not at all.
        rerank_depth: documents of each ranking that it reranks.
    """

    script = "compare"
    corpus: str = param("corpus", "", shared=True)
    seed: str = param("seed", "", shared=True)
    text_id: str = param("text", "", shared=True)
    aspect: str = param("aspect", "", shared=True)
    where: str = param("where", "", shared=True)
    variants: tuple[Variant, ...] = param("variants", (), variants_from_json, variants_to_json)
    depth: int = param("depth", DEPTHS[-1], lambda text: int(one_of(["10", "20"])(text)))
    document: str = param("document", "")
    matrix: str = param(  # "p_mrr" in links of before
        "matrix", MATRICES[0], lambda text: one_of(MATRICES)(text.replace("p_mrr", "rank_gain"))
    )
    steered: str = param("steered", "")
    show: str = param("show", SHOWS[0], one_of(SHOWS))
    systems: tuple[str, ...] = param("systems", (), some_of(Explorer.systems), join)
    wordings: tuple[str, ...] = param("wordings", (), some_of(Explorer.wording_sets), join)
    rerank: str = param("rerank", "", one_of(tuple(Explorer.rerank_modes)))
    rerank_depth: int = param("rerank_depth", RERANK_DEPTH, integer("rerank_depth", 1, DEEPEST))

    def to_params(self) -> dict[str, str]:
        """URL parameters: defaults left out, and the depth where nothing is reranked.

        Variants that would make a link too long are stored in the ledger.
        """
        view = self if self.rerank else replace(self, rerank_depth=RERANK_DEPTH)
        params = UrlState.to_params(view)
        if len(urlencode(params)) > LONGEST_LINK and "variants" in params:
            params["stored"] = engine().notebook.put_text(params.pop("variants"))
        return params

    @classmethod
    def read(cls) -> Self:
        """The view of the URL, with variants that are stored here."""
        params = st.query_params.to_dict()
        if "stored" in params and not params.get("variants"):
            try:
                params["variants"] = engine().notebook.text(params["stored"])
            except UnknownNameError as error:
                raise BadParamError("stored", error.message.rstrip(".")) from error
        return cls.opened_with(params)

    @classmethod
    def opened_with(cls, params: Mapping[str, str]) -> Self:
        """The view of a link; without one, as the page was left."""
        return cls.from_params(params) if params else cls.found_in(workspace.pages())

    @classmethod
    def found_in(cls, pages: workspace.Pages) -> Self:
        """The page as it was left, with Explore's search if that was changed since."""
        view, search = pages.found(cls), pages.found(View)
        if not pages.changed_since(View, cls):
            return view
        own = search.variant(search.system if search.system in Explorer.systems else DEFAULT.system)
        return view.with_own(own) if own else view

    def sharing(self, shared: Mapping[str, Any]) -> Self:
        """This page with the seed and aspect of others; built-in wordings follow the aspect."""
        view = UrlState.sharing(self, shared)
        view = replace(view, aspect=view.aspect or self.aspect)  # here there always is one
        if self.variants and self.aspect and view.aspect != self.aspect:
            before = replace(view, aspect=self.aspect)
            view = view.with_variants(reworded(engine(), before, view.aspect).variants)
        shown = (self.seed, self.text_id, self.aspect)
        same = (view.seed, view.text_id, view.aspect) == shown
        return view if same else replace(view, document="")

    def with_own(self, own: Variant) -> Self:
        """With a search of one's own among the variants; a former one gives way."""
        if own in (replace(variant, name=own.name) for variant in self.variants):
            return self
        others = [v for v in self.variants if v.name != own.name] or [against(own)]
        return self.with_variants([own, *others][:MOST_VARIANTS])

    def with_variants(self, variants: Sequence[Variant]) -> Self:
        """The same seed and aspect under other variants."""
        names = {variant.name for variant in variants}
        steered = self.steered if self.steered in names else ""
        return replace(self, variants=tuple(variants), steered=steered)


def reworded(explorer: Explorer, view: State, aspect: str) -> State:
    """The view for another aspect: what was chosen or built in for the old one follows it."""
    keys = [a.key for a in explorer.library.lens(view.corpus).aspects]
    old = explorer.comparing.presets(view.corpus, view.aspect) if view.aspect in keys else ()
    new = {v.name: v.instruction for v in explorer.comparing.presets(view.corpus, aspect)}
    # A wording that is the same for all aspects (generic) maps to itself.
    change = {v.instruction: new[v.name] for v in old if v.name in new}
    variants = [
        replace(
            v,
            instruction=change.get(v.instruction, v.instruction),
            aspect=aspect if v.aspect == view.aspect else v.aspect,
        )
        for v in view.variants
    ]
    return replace(view, aspect=aspect, document="").with_variants(variants)


def against(own: Variant) -> Variant:
    """No wording at all: what a wording of one's own is compared with."""
    return Variant("none", "", own.system, own.steer)
