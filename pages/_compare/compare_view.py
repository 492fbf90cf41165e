"""What the Compare page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.comparisons import Variant
from pages._explore.explore_view import DEEPEST

MOST_VARIANTS = 8
"""Beyond that, neither the rank flow nor a person follows."""
LONGEST_NAME = 80
LONGEST_LINK = 6_000
"""Characters; variants that make a link longer are stored here and named by an id."""
DEPTHS = (10, 20)
MATRICES = ("rbo", "tau", "overlap", "p_mrr")
SHOWS = ("seed", "collection")
RERANK_DEPTH = 50
"""A request grows with every document of every variant: less than for one search."""
_DEFAULT = Variant("", "")
_KEYS = {"name": str, "wording": str, "system": str, "steer": (int, float), "subset": bool}
"""A variant in a link: its keys and what they may hold; what is default is left out."""


@dataclass(frozen=True, slots=True)
class CompareView:
    """A seed, an aspect, the variants, and what of their comparison is looked at.

    Attributes:
        text_id: a pasted seed; the text itself is in the ledger.
        depth: ranks that the rank flow shows.
        document: the one whose evidence is open, or empty.
        matrix: one of MATRICES.
        steered: name of the variant whose frontier is shown, or empty for the first.
        show: ``seed``, or ``collection`` for the sensitivity over all judged seeds.
        systems, wordings: what the whole collection is asked on and in; empty for the usual.
        rerank: the way in which a model reranks all variants; "" for not at all.
        rerank_depth: documents of each ranking that it reranks.
    """

    corpus: str = ""
    seed: str = ""
    text_id: str = ""
    aspect: str = ""
    variants: tuple[Variant, ...] = ()
    depth: int = DEPTHS[-1]
    document: str = ""
    matrix: str = "rbo"
    steered: str = ""
    show: str = "seed"
    systems: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    rerank: str = ""
    rerank_depth: int = RERANK_DEPTH

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        found = {
            "corpus": self.corpus,
            "seed": self.seed,
            "text": self.text_id,
            "aspect": self.aspect,
            "variants": variants_to_json(self.variants) if self.variants else "",
            "depth": "" if self.depth == DEPTHS[-1] else str(self.depth),
            "document": self.document,
            "matrix": "" if self.matrix == MATRICES[0] else self.matrix,
            "steered": self.steered,
            "show": "" if self.show == SHOWS[0] else self.show,
            "systems": ",".join(self.systems),
            "wordings": ",".join(self.wordings),
            "rerank": self.rerank,
            "rerank_depth": str(self.rerank_depth) if self._own_depth else "",
        }
        return {k: v for k, v in found.items() if v}

    @property
    def _own_depth(self) -> bool:
        return bool(self.rerank) and self.rerank_depth != RERANK_DEPTH

    def with_variants(self, variants: Sequence[Variant]) -> CompareView:
        """The same seed and aspect under other variants."""
        names = {variant.name for variant in variants}
        steered = self.steered if self.steered in names else ""
        return replace(self, variants=tuple(variants), steered=steered)


def link_params(view: CompareView, explorer: Explorer) -> dict[str, str]:
    """The parameters of a link; variants that would make it too long are stored in the ledger."""
    params = view.to_params()
    if len(urlencode(params)) > LONGEST_LINK:
        params["stored"] = explorer.notebook.put_text(params.pop("variants"))
    return params


def params_of_search(
    corpus: str, seed: str, text_id: str, aspect: str, own: Variant | None
) -> dict[str, str]:
    """The parameters that open this page on a search from elsewhere.

    Args:
        own: the wording of that search, compared with none; without one the page opens with
            its own comparison.
    """
    bare = Variant("none", "", own.system, own.steer) if own else None
    variants = (own, bare) if own and bare else ()
    return CompareView(corpus, seed, text_id, aspect, variants).to_params()


def write_view(view: CompareView, explorer: Explorer) -> None:
    """Put a view into the URL; the browser's back button brings the former one back."""
    params = link_params(view, explorer)
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def change_view(explorer: Explorer, change: Callable[[CompareView], CompareView]) -> None:
    """Change what the URL says now.

    A click may come before the page has caught up with the last one: what the page showed
    then is older than the URL.
    """
    write_view(change(read_view(explorer)), explorer)


def read_view(explorer: Explorer) -> CompareView:
    """The view of the URL.

    Raises:
        BadInputError: a parameter that cannot be read, named.
        UnknownNameError: variants or a text that are not stored here.
    """
    params = st.query_params
    written = params.get("variants", "")
    if not written and "stored" in params:
        written = explorer.notebook.text(params["stored"])
    try:
        deep = int(params.get("rerank_depth", RERANK_DEPTH))
        if not 1 <= deep <= DEEPEST:
            raise ValueError(f"rerank_depth is {deep}, not a number from 1 to {DEEPEST}")
        return CompareView(
            corpus=params.get("corpus", ""),
            seed=params.get("seed", ""),
            text_id=params.get("text", ""),
            aspect=params.get("aspect", ""),
            variants=variants_from_json(written) if written else (),
            depth=int(_one_of(params.get("depth"), [str(d) for d in DEPTHS], str(DEPTHS[-1]))),
            document=params.get("document", ""),
            matrix=_one_of(params.get("matrix"), MATRICES, MATRICES[0]),
            steered=params.get("steered", ""),
            show=_one_of(params.get("show"), SHOWS, SHOWS[0]),
            systems=_some_of(params.get("systems", ""), explorer.systems),
            wordings=_some_of(params.get("wordings", ""), explorer.comparing.sets),
            rerank=_one_of(params.get("rerank"), tuple(explorer.verifier.modes), ""),
            rerank_depth=deep,
        )
    except ValueError as error:
        raise BadInputError(
            f"This link cannot be read: {error}.", "Open the page without it and start again."
        ) from error


def _one_of(value: str | None, known: Sequence[str], default: str) -> str:
    if value is None:
        return default
    if value not in known:
        raise ValueError(f"'{value}' is none of {', '.join(known)}")
    return value


def _some_of(value: str, known: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_one_of(v, known, "") for v in value.split(",") if v))


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
    return row | ({"subset": True} if variant.subset else {})


def variants_from_json(text: str) -> tuple[Variant, ...]:
    """Read what :func:`variants_to_json` wrote; nothing is guessed at.

    Raises:
        ValueError: what is wrong with it.
    """
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("its variants are not JSON") from None
    return variants_from_rows(rows)


def variants_from_rows(rows: object) -> tuple[Variant, ...]:
    """Variants from the rows of a link or of the editor, each checked.

    Raises:
        ValueError: what is wrong with them.
    """
    if not isinstance(rows, list) or not rows:
        raise ValueError("its variants are no list")
    if len(rows) > MOST_VARIANTS:
        raise ValueError(f"it has {len(rows)} variants, and {MOST_VARIANTS} are the most")
    return tuple(_variant(row, number) for number, row in enumerate(rows, start=1))


def _variant(row: object, number: int) -> Variant:
    if not isinstance(row, dict) or not {"name", "wording"} <= row.keys() <= _KEYS.keys():
        raise ValueError(f"variant {number} does not have the fields of a variant")
    for key, value in row.items():
        kinds = _KEYS[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ValueError(f"the {key} of variant {number} is {str(value)[:40]!r}")
        if isinstance(value, str) and not _is_text(value):
            raise ValueError(f"the {key} of variant {number} holds half a character")
    name = " ".join(row["name"].split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"the name of variant {number} has {len(name)} characters")
    steer = float(row.get("steer", _DEFAULT.steer))
    if not 0.0 <= steer <= 1.0:
        raise ValueError(f"the steer of variant {number} is {steer:g}, not from 0 to 1")
    system = row.get("system", _DEFAULT.system)
    return Variant(name, row["wording"], system, steer, row.get("subset", False))


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
