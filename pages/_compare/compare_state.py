"""What the Compare page shows, as the URL has it, and what a visit starts with."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self, TypeVar
from urllib.parse import urlencode

import streamlit as st
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
)

from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.explorer import Explorer
from engine.types.comparisons import (
    Comparison,
    ComparisonRequest,
    ModelOrders,
    Variant,
)
from engine.types.searches import Query
from pages._common import state
from pages._common.shared import SYSTEM_NAMES, engine
from pages._common.state import names
from pages._explore.explore_state import DEEPEST, DEFAULT, OWN, View
from pages._login import login

State = TypeVar("State", bound="CompareView")
T = TypeVar("T")
MOST_VARIANTS = 12
"""As five instructions on two systems; beyond that, the rank flow is not read any more."""
LONGEST_NAME = 80
LONGEST_LABEL = 300
LONGEST_LINK = 6_000
"""Characters; variants that make a link longer are stored here and named by an id."""
DEPTHS = (10, 20)
MATRICES = ("rbo", "tau", "overlap", "rank_gain")
SHOWS = {"seed": "This seed", "collection": "Whole collection"}
RERANK_DEPTH = 50
"""A request grows with every document of every variant: less than for one search."""
OPENING_SYSTEMS = ("aspect", "instructed", "dense")
"""One wording on a system that reads it, one conditioned on it, and one that does neither."""
DEMO_ASPECT = "result"
"""Of the demo's first seed: there the three systems differ most plainly."""
_DEFAULT = Variant("", "")

# -- variants in a link --------------------------------------------------------------------


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, names(text)))  # type: ignore[call-overload]


def _reading(text: str) -> tuple[str, ...]:
    try:
        return Explorer.parse_reading(text)
    except SeedLensError as error:
        raise ValueError(error.message) from error


def _of_text(read: Callable[[str], object]) -> BeforeValidator:
    return BeforeValidator(lambda text: read(text) if isinstance(text, str) else text)


_Joined = PlainSerializer(state.join)


class Row(BaseModel):
    """A variant in a link and in the editor; what is default is left out of a link."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_NAME),
        _of_text(lambda name: " ".join(name.split())),
    ]
    instruction: Annotated[str, Field(alias="wording")]
    system: str = _DEFAULT.system
    steer: Annotated[float, Field(ge=0, le=1)] = _DEFAULT.steer
    subset: bool = False
    aspect: str = ""
    focus: Annotated[tuple[int, ...], Field(alias="sentences"), _of_text(_numbers), _Joined] = ()
    reading: Annotated[tuple[str, ...], _of_text(_reading), _Joined] = ()


_ROWS = TypeAdapter(Annotated[list[Row], Field(min_length=1, max_length=MOST_VARIANTS)])


def rows_of(variants: Sequence[Variant], *, brief: bool = False) -> list[dict[str, Any]]:
    """The rows of variants; ``brief``: without what is default."""
    made = (Row.model_construct(**asdict(variant)) for variant in variants)
    return [row.model_dump(by_alias=True, exclude_defaults=brief) for row in made]


def variants_to_json(variants: Sequence[Variant]) -> str:
    """Compact JSON, defaults left out.

    >>> variants_to_json([Variant("mine", "alike in method", steer=0.7)])
    '[{"name":"mine","wording":"alike in method","steer":0.7}]'
    """
    rows = rows_of(variants, brief=True)
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def variants_from_json(rows: object) -> tuple[Variant, ...]:
    """Variants from a text of :func:`variants_to_json`, or from the rows of the editor; ValueError
    says what is wrong."""
    try:
        read = _ROWS.validate_json(rows) if isinstance(rows, str) else _ROWS.validate_python(rows)
        return tuple(Variant(**vars(row)) for row in read)
    except ValidationError as error:
        raise ValueError(_problem(error)) from error


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    if not first["loc"]:
        kinds = {
            "json_invalid": "invalid variants (not JSON)",
            "too_long": f"too many variants; the maximum is {MOST_VARIANTS}",
        }
        return kinds.get(first["type"], "invalid variants (not a list)")
    number, *field = first["loc"]
    variant = f"variant {int(number) + 1}"
    if first["type"] in ("missing", "extra_forbidden") or not field:
        return f"{variant}: missing or unknown fields"
    if first["type"] == "value_error":
        return f"{variant}: invalid interpretation"
    value = first["input"] if isinstance(first["input"], int | float) else repr(first["input"])
    return f"{variant}: {field[0]} is {str(value)[:40]}"


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


# -- the view ------------------------------------------------------------------------------

_Variants = Annotated[
    tuple[Variant, ...],
    PlainValidator(lambda given: variants_from_json(given) if isinstance(given, str) else given),
    PlainSerializer(variants_to_json),
]
_Matrix = Annotated[
    str,
    state.one_of(MATRICES),
    BeforeValidator(lambda text: "rank_gain" if text == "p_mrr" else text),  # in old links
]


@dataclass(frozen=True)
class CompareView(state.PageView):
    """A seed, an aspect, the variants, and what of their comparison is looked at.

    Attributes:
        text_id: a pasted seed; the text itself is in the ledger.
        where: filters of what is ranked.
        depth: ranks that the rank flow shows.
        document: the one whose evidence is open, or empty.
        cell: name of the variant whose list is open, or empty for the best one's.
        present: for an audience, in large type and without controls.
        steered: name of the variant whose frontier is shown, or empty for the first.
        show: ``seed``, or ``collection`` for the sensitivity over all judged seeds.
        systems, wordings: what the whole collection is asked on and in; empty for the usual.
        seeds: of how many seeds the whole collection is asked; 0 for all.
        own: whether wordings of one's own are asked too.
        rerank: the way in which a model reranks all variants; "" for not at all.
        rerank_depth: documents of each ranking that it reranks.
    """

    script = "compare"
    corpus: state.Shared = ""
    seed: state.Shared = ""
    text_id: Annotated[state.Shared, Field(alias="text")] = ""
    aspect: state.Shared = ""
    where: state.Shared = ""
    variants: _Variants = ()
    depth: Annotated[int, state.one_of(DEPTHS)] = DEPTHS[-1]
    document: str = ""
    cell: str = ""
    present: bool = False
    matrix: _Matrix = MATRICES[0]
    steered: str = ""
    show: Annotated[str, state.one_of(SHOWS)] = "seed"
    systems: Annotated[tuple[str, ...], state.some_of(Explorer.systems), state.Commas] = ()
    wordings: Annotated[tuple[str, ...], state.some_of(Explorer.wording_sets), state.Commas] = ()
    seeds: Annotated[int, Field(ge=0)] = 0
    own: bool = False
    rerank: Annotated[str, state.one_of(tuple(Explorer.rerank_modes))] = ""
    rerank_depth: Annotated[int, Field(ge=1, le=DEEPEST)] = RERANK_DEPTH

    def to_params(self) -> dict[str, str]:
        """URL parameters: defaults left out, and the depth where nothing is reranked.

        Variants that would make a link too long are stored in the ledger.
        """
        params = state.PageView.to_params(
            self if self.rerank else replace(self, rerank_depth=RERANK_DEPTH)
        )
        if len(urlencode(params)) > LONGEST_LINK and "variants" in params:
            params["stored"] = engine().notebook.put_text(params.pop("variants"))
        return params

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters, with variants that are stored here."""
        if "stored" in params and not params.get("variants"):
            try:
                variants = engine().notebook.text(params["stored"])
            except UnknownNameError as error:
                raise state.BadParamError("stored", error.message.rstrip(".")) from error
            try:
                return super().from_params({**params, "variants": variants})
            except state.BadParamError as error:
                name = "stored" if error.name == "variants" else error.name
                raise state.BadParamError(name, error.problem) from error
        return super().from_params(params)

    @classmethod
    def found_in(cls, left: state.Pages) -> Self:
        """The page as it was left, with Explore's search if that was changed since."""
        view, search = left.found(cls), left.found(View)
        if not left.changed_since(View, cls):
            return view
        own = search.variant(search.system if search.system in Explorer.systems else DEFAULT.system)
        return view.with_own(own) if own else view

    def sharing(self, shared: Mapping[str, Any]) -> Self:
        """This page with the seed and aspect of others; built-in wordings follow the aspect."""
        view = super().sharing(shared)
        view = replace(view, aspect=view.aspect or self.aspect)  # here there always is one
        if self.variants and self.aspect and view.aspect != self.aspect:
            before = replace(view, aspect=self.aspect)
            view = view.with_variants(reworded(engine(), before, view.aspect).variants)
        same = all(getattr(view, n) == getattr(self, n) for n in ("seed", "text_id", "aspect"))
        return view if same else replace(view, document="")

    def with_own(self, own: Variant) -> Self:
        """With a search of one's own among the variants; a former one gives way."""
        if own in (replace(variant, name=own.name) for variant in self.variants):
            return self
        none = Variant("none", "", own.system, own.steer)
        others = [v for v in self.variants if v.name != own.name] or [none]
        return self.with_variants([own, *others][:MOST_VARIANTS])

    def with_variants(self, variants: Sequence[Variant]) -> Self:
        """The same seed and aspect under other variants."""
        known = {variant.name for variant in variants}
        steered = self.steered if self.steered in known else ""
        cell = self.cell if self.cell in known else ""
        return replace(self, variants=tuple(variants), steered=steered, cell=cell)

    def on_systems(self, systems: Sequence[str]) -> Self:
        """Every wording on every one of these systems; all variants of these stay."""
        wordings = {wording_of(v): v for v in reversed(self.variants)}
        known: dict[tuple[str, str], list[Variant]] = {}
        for variant in self.variants:
            known.setdefault((wording_of(variant), variant.system), []).append(variant)
        asked = [(wording, system) for wording in wordings for system in systems]
        count = sum(len(known.get(pair, [pair])) for pair in asked)
        if count > MOST_VARIANTS:
            raise BadInputError(
                f"{len(wordings)} instructions on {len(systems)} systems are {count} variants.",
                f"The maximum is {MOST_VARIANTS}: remove some.",
            )
        names = [v.name for v in self.variants]
        made: list[Variant] = []
        for wording, first in reversed(wordings.items()):
            for system in systems:
                own = known.get((wording, system))
                if own is None:
                    name = free_name(f"{first.name}-{system}"[:LONGEST_NAME], names)
                    own = [replace(first, name=name, system=system)]
                    names.append(name)
                made += own
        return self.with_variants(made)


# -- how variants are called ---------------------------------------------------------------


def short(words: str, longest: int = 60) -> str:
    """Words on one line, cut between two of them."""
    return textwrap.shorten(words, longest, placeholder="…")


def wording_of(variant: Variant) -> str:
    """What a variant asks for, in its own words.

    >>> wording_of(Variant("base", "Similar methods.", subset=True))
    "Similar methods. (aspect's sentences only)"
    """
    words = " ".join(variant.instruction.split())
    parts = [variant.aspect.capitalize(), words, "picked sentences" if variant.focus else ""]
    text = " · ".join(filter(None, parts)) or "No instruction"
    return f"{text} (aspect's sentences only)" if variant.subset else text


def labels_of(variants: Sequence[Variant]) -> dict[str, str]:
    """name -> a variant by its wording, by its system where these differ, or by both; unique.

    >>> labels_of([Variant("a", "Similar methods."), Variant("b", "", "dense")])
    {'a': 'Similar methods. · Aspect-aware', 'b': 'No instruction · Meaning'}
    """
    wordings, systems = ({*map(wording_of, variants)}, {v.system for v in variants})
    labels: dict[str, str] = {}
    for variant in variants:
        words = short(wording_of(variant), LONGEST_LABEL)
        parts = [words] if len(wordings) > 1 or len(systems) == 1 else []
        if len(systems) > 1:
            parts.append(SYSTEM_NAMES.get(variant.system, variant.system))
        for part in (f"{variant.steer:.0%}", variant.name):
            if " · ".join(parts) in labels.values():
                parts.append(part)
        labels[variant.name] = " · ".join(parts)
    return labels


def labelled(comparison: Comparison) -> Comparison:
    """With variants by what they ask for, as the page shows them."""
    variants = [ranked.variant for ranked in comparison.variants]
    labels, systems = labels_of(variants), {v.name: v.system for v in variants}
    best = comparison.best
    for name, label in labels.items():
        best = best.replace(f"“{name}” ranks", f"“{short(label, 110)}” ranks")
    return replace(
        comparison,
        variants=tuple(
            replace(r, variant=replace(r.variant, name=labels[r.variant.name]))
            for r in comparison.variants
        ),
        pairs=tuple(
            replace(p, first=labels[p.first], second=labels[p.second]) for p in comparison.pairs
        ),
        verdicts=tuple(
            replace(
                v,
                variant=labels[v.variant],
                text=v.text.removeprefix(f"“{v.variant}” on {systems[v.variant]} "),
            )
            for v in comparison.verdicts
        ),
        best=best,
        by_model=tuple(labels[name] for name in comparison.by_model),
        ratings={labels[name]: value for name, value in comparison.ratings.items()},
    )


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


# -- what a visit starts with --------------------------------------------------------------


def open_view(explorer: Explorer, corpora: list[str]) -> CompareView:
    """The view of the address, with what it leaves open filled in: there is a comparison to
    read at once."""
    view = CompareView.opened_on(explorer, corpora)
    lens = explorer.library.lens(view.corpus)
    keys = [aspect.key for aspect in lens.aspects]
    view = replace(view, aspect=state.aspect_that_is_there(lens, view.aspect))
    if not state.seed_is_there(explorer, view.corpus, view.seed, view.text_id):
        seed, aspect = _starting_point(explorer, view.corpus, keys)
        view = replace(view, seed=seed, text_id="", aspect=view.aspect or aspect)
    if not view.aspect:
        view = replace(view, aspect=_read_aspect(explorer, view, keys))
    if not view.variants:
        known = view.aspect if view.aspect in keys else keys[0]
        view = view.with_variants(preset(explorer, view.corpus, known, OPENING))
    view.write()
    return view


def _read_aspect(explorer: Explorer, view: CompareView, keys: Sequence[str]) -> str:
    """The aspect that Explore's wording asks for most; without one, Method where there is one."""
    usual = "method" if "method" in keys else keys[0]
    own = next((v for v in view.variants if v.name == OWN), None)
    if own is None:
        return usual
    text = explorer.notebook.text(view.text_id) if view.text_id else None
    seed = None if text else view.seed
    query = Query(view.corpus, seed, text, None, own.instruction or None, own.focus, own.reading)
    searcher = explorer.searcher(view.corpus)
    try:
        focus = searcher.interpret(query, searcher.seed(query)).focus
    except SeedLensError:
        return usual  # shown where the comparison would be
    return usual if focus is None else keys[int(focus.aspect_weights.argmax())]


def _starting_point(explorer: Explorer, corpus: str, keys: Sequence[str]) -> tuple[str, str]:
    """A seed and an aspect that have something to show: the first seed that is judged for two
    aspects, if any is, for its method if possible."""
    if corpus == explorer.demo_corpus and DEMO_ASPECT in keys:
        return explorer.starting_point(corpus)[0], DEMO_ASPECT
    with suppress(SeedLensError):
        topics, known = explorer.comparing.collection(corpus).topics, explorer.library.open(corpus)
        pairs = [
            (t.seed, t.aspect)
            for t in topics
            if t.seed and t.seed in known.row_of and t.aspect in keys
        ]
        count = Counter(seed for seed, _ in pairs)
        twice = [(seed, str(aspect)) for seed, aspect in pairs if count[seed] > 1]
        if twice:
            return min(twice, key=lambda pair: pair[1] != "method")  # the first of equal ones
    return explorer.starting_point(corpus)


PRESETS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "five_kinds": (
        "Five kinds",
        ("base", "generic", "definition", "paraphrase-1", "subset"),
        "Base, generic, definition, one paraphrase, aspect's sentences only.",
    ),
    "paraphrases": (
        "Paraphrases",
        ("base", *(f"paraphrase-{number}" for number in range(1, MOST_VARIANTS))),
        "The base instruction and its paraphrases.",
    ),
    "against_instructed": (
        "Aspect against instructed",
        ("base",),
        "The base instruction on an aspect-conditioned system, an instruction-following one and a "
        "baseline.",
    ),
}
"""Label, wordings (as far as the lens has them) and meaning."""
OPENING = "against_instructed"


def preset(explorer: Explorer, corpus: str, aspect: str, name: str) -> tuple[Variant, ...]:
    """The variants of a preset; the opening one ranks its wording on several systems."""
    known = explorer.comparing.presets(corpus, aspect)
    chosen = tuple(v for v in known if v.name in PRESETS[name][1])
    if name != OPENING:
        return chosen
    (base,) = chosen
    others = (replace(base, name=f"base-{one}", system=one) for one in OPENING_SYSTEMS[1:])
    return (base, *others)


# -- a run of the page ----------------------------------------------------------------------

Stamp = tuple[Any, ...]
"""What changes when a comparison would, part of the key; who is logged in (or None) goes first."""


@st.cache_resource(show_spinner=False, max_entries=256)
def kept(_do: Callable[[], T], what: str, *basis: Any) -> T:  # noqa: ARG001 - the key
    """What was computed once for all visits, by a name and what it rests on; no errors."""
    return _do()


@dataclass(frozen=True)
class ComparePage(state.Page[CompareView]):
    """A run of the page."""

    @cached_property
    def request(self) -> ComparisonRequest:
        """What the view asks the engine for; BadInputError for filters that cannot be read."""
        view, explorer = self.view, self.explorer
        text = explorer.notebook.text(view.text_id) if view.text_id else None
        seed, filters = view.seed or None, explorer.parse_filters(view.where)
        about = (view.corpus, None if view.text_id else seed, text, view.aspect, view.variants)
        return ComparisonRequest(*about, filters, login.name())

    @cached_property
    def stamp(self) -> Stamp:
        """What a comparison rests on besides: the corpus as it is, and own grades."""
        view, who, notebook = self.view, login.name(), self.explorer.notebook
        seeds = [Query(view.corpus, view.seed, aspect=a.key) for a in self.lens.aspects]
        grades = [tuple(sorted(notebook.grades(q, who).items())) for q in seeds if view.seed]
        systems = [variant.system for variant in view.variants]
        return who, self.explorer.comparing.stamp(view.corpus, systems), *grades

    def compared(
        self, which: tuple[str, str, int] | None = None, orders: ModelOrders | None = None
    ) -> Comparison:
        """The comparison, computed once; errors are not remembered.

        Args:
            which: tells a model's orders apart: id and state of the reranking, and how many
                variants are done.
        """
        do = partial(self.explorer.comparing.compare, self.request, orders)
        return kept(do, "comparison", self.request, self.stamp, which)

    def about(self, comparison: Comparison) -> str:
        """What a comparison is of, for the captions of exported figures."""
        key = comparison.aspect
        aspect = next((a.name for a in self.lens.aspects if a.key == key), key)
        seed = " ".join((comparison.seed.title or "pasted text").split())
        return f"Seed: “{seed}”. Aspect: {aspect}. Corpus: {comparison.corpus}."
