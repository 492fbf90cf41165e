"""Wordings read by the connected model: the switch, its readings, and what becomes of them.

What a model reads goes where corrections of a reading are, the page's URL: whoever opens the link
ranks alike, with or without a model. It gets there once: who goes back, or takes it back, sees
the built-in reading. Nothing is asked unless the switch is on; it is for the whole visit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Variant
from engine.types.lenses import Lens
from engine.types.reranking import EndpointInfo, WordingReading, WordingReadings
from engine.types.searches import Query
from pages._common.kit import button, el
from pages._common.shared import as_ours, attempt, note
from pages._common.tasks import money, tokens
from pages._common.visit_memory import memory
from pages._common.waiting import answers, once, renew_when
from pages._explore.explore_state import View
from pages._model.model_settings import chosen, endpoint

_ON, _TRIALS, _BACK = "model_reads", "model_readings", "model_readings_taken_back"
_Key = tuple[Lens, str, str, str]
_Trial = Future[WordingReadings]


@dataclass(frozen=True, slots=True)
class ModelReading:
    """What a model says of a query's wording."""

    query: Query  # as the page has it
    model: str = ""  # "" where none is to read it
    said: WordingReading | None = None  # None while it is asked, and where it gave no answer
    problem: str = ""  # why it gave none
    asked: Future[WordingReadings] | None = None  # the question that was under way

    @property
    def terms(self) -> tuple[str, ...]:
        """The model's reading, as a query has it; () for none."""
        return () if self.said is None else self.said.terms(self.query)

    @property
    def in_use(self) -> bool:
        """Whether the query is read as the model reads it."""
        return bool(self.terms) and set(self.query.reading) == set(self.terms)


def question(corpus: str, asked: View | Variant) -> Query:
    """What of a search or a variant decides how its wording is read."""
    query = Query(corpus, aspect=asked.aspect or None, instruction=asked.instruction or None)
    return replace(query, focus=asked.focus, reading=asked.reading, system=asked.system)


def is_on() -> bool:
    """Whether this visit lets the model read wordings."""
    return bool(memory().get(_ON))


def read_wordings(explorer: Explorer, lens: Lens, queries: Sequence[Query]) -> list[ModelReading]:
    """What the model says of wordings of one corpus; those that are new are asked about now."""
    info = endpoint(explorer)
    if not (queries and is_on() and info.set_up):
        return [ModelReading(query) for query in queries]
    corpus, model = queries[0].corpus, chosen(explorer)
    keys = [_key(explorer, lens, query, info) for query in queries]
    pairs = list(zip(queries, keys, strict=True))
    known = answers(_TRIALS) | once(
        _TRIALS,
        [key for query, key in pairs if key and not query.reading],
        lambda new: explorer.verifier.read_wordings(corpus, [key[1] for key in new], model),
    )
    return [_outcome(query, info.model, known.get(key)) for query, key in pairs]


def taken_over(page: str, readings: Sequence[ModelReading]) -> list[tuple[str, ...]]:
    """The reading that each query is to have: its own, or the model's where that has just come."""
    before: frozenset[Query] = st.session_state.get(f"{page}_read", frozenset())
    back = _taken_back()
    had, found = set(), []
    for one in readings:
        wording, reading = replace(one.query, reading=(), system=""), one.query.reading
        if reading:
            back.discard(wording)
        elif wording not in before and wording not in back:
            reading = one.terms
        elif one.terms:
            back.add(wording)
        found.append(reading)
        if reading or wording in before:
            had.add(wording)
    st.session_state[f"{page}_read"] = frozenset(had)
    return found


def reading_switch(
    explorer: Explorer,
    page: str,
    label: str,
    readings: Sequence[ModelReading],
    corpus: str,
    switched: Callable[[bool], object],
) -> None:
    """The switch, where a model is connected, and a note on what it could not read; ``switched`` is
    called when it was turned on or off."""
    info = endpoint(explorer)
    if not info.set_up:
        return

    def switch() -> None:
        memory()[_ON] = st.session_state[f"{page}_reads"]
        _forget_failures(page)
        switched(is_on())

    st.session_state[f"{page}_reads"] = is_on()
    words = _about(explorer, corpus, readings)
    st.toggle(label, key=f"{page}_reads", on_change=attempt, args=(switch,), help=words)
    if failed := [one for one in readings if one.problem]:
        which = "the instruction" if len(readings) == 1 else f"{len(failed)} instructions"
        words = f"{info.model} did not interpret {which}. Using the built-in interpretation."
        note(words, failed[0].problem)
        button("Try again", f"{page}_read_again", _forget_failures, page)
    if asked := [one.asked for one in readings if one.asked]:
        words = f"{info.model} is interpreting. Using the built-in interpretation until it answers."
        st.html(el("div.sl-dim", words, role="status"))
        renew_when(lambda: any(trial.done() for trial in asked), every=0.4)


def use_again(page: str) -> None:
    """Let the model's readings be taken over once more, those too that were taken back."""
    st.session_state.pop(f"{page}_read", None)
    _taken_back().clear()


def _forget_failures(page: str) -> None:
    """What could not be read is asked about once more, and taken over."""
    use_again(page)
    trials = answers(_TRIALS)
    for key, trial in list(trials.items()):
        if trial.done() and (trial.exception() or key[1] not in trial.result().readings):
            del trials[key]


def _key(explorer: Explorer, lens: Lens, query: Query, info: EndpointInfo) -> _Key | None:
    """What is asked; None without a wording of a person's own and a system that goes by it."""
    words, system = (query.instruction or "").strip(), query.system
    own = words and words not in lens.texts and system in explorer.known_systems
    return (
        (lens, words, info.address, info.model) if own and explorer.reads_wording(system) else None
    )


def _taken_back() -> set[Query]:
    """Wordings whose reading by the model was taken back in this visit."""
    found: set[Query] = memory().setdefault(_BACK, set())
    return found


def _outcome(query: Query, model: str, trial: _Trial | None) -> ModelReading:
    if trial is None:
        return ModelReading(query)
    if not trial.done():
        return ModelReading(query, model, asked=trial)
    if error := trial.exception():
        return ModelReading(query, model, problem=str(as_ours(error, "Interpretation failed.")))
    found = trial.result()
    said = found.readings.get((query.instruction or "").strip())
    return ModelReading(query, model, said, "" if said else found.problem)


def _about(explorer: Explorer, corpus: str, readings: Sequence[ModelReading]) -> str:
    words = next((one.query.instruction for one in readings if one.query.instruction), "") or ""
    size = ""
    with suppress(SeedLensError):  # said where the model is asked
        estimate = explorer.verifier.estimate_reading(corpus, [words], chosen(explorer))
        size = f", about {tokens((estimate.input_tokens or 0) + (estimate.output_tokens or 0))}"
        size += "" if estimate.cost is None else f", {money(estimate.cost)}"
    return (
        "Use the model to interpret instructions instead of the built-in parser. One request per "
        f"instruction{size}, cached."
    )
