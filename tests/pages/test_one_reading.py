"""One search, asked on the command line, on Explore and as a variant on Compare: one ranking."""

import importlib
from typing import NamedTuple

from engine.lenses.definitions import RESEARCH
from engine.types.comparisons import ComparisonRequest, Variant
from pages._common.state import Pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import View
from tests.cli.command_line import run_inside


class State(NamedTuple):
    """What a person may have chosen; a pasted text instead of a seed, sentences from 0."""

    seed: str = ""
    text: str = ""
    aspect: str = ""
    wording: str = ""
    steer: float = 0.5
    reading: str = ""
    sentences: tuple[int, ...] = ()
    system: str = "aspect"


PASTED = (
    "Bees find flowers by their scent. We train a network on ten thousand recordings of bees. "
    "It tells nectar from pollen in nine cases of ten."
)
STATES = (
    State("bees-network", aspect="method"),
    State("bees-network", aspect="result", steer=1.0, system="transport"),
    State("bees-network", wording="the same finding", steer=0.3, system="dense"),
    State("bees-network", aspect="method", reading="-result", sentences=(0,)),
    State("bees-survey", wording="similar evaluation set-up, ignore the topic"),
    State("bees-survey", aspect="method", wording=RESEARCH.generic, steer=0.3),
    State("maps-network", wording="dieselbe Methode, egal welches Thema", steer=0.8),
    State("maps-network", wording="ignore the topic", reading="+method,-background"),
    State("no-method", aspect="method", wording=RESEARCH.aspects[0].instruction, steer=0.0),
    State(text=PASTED, aspect="background", wording="Which came to the same?", reading="any"),
    State(text=PASTED, wording="We train a convolutional neural network on photographs."),
)


def on_the_command_line(explorer, state):
    options = ["--seed", state.seed] if state.seed else ["--text", state.text]
    options += ["--aspect", state.aspect] if state.aspect else []
    options += ["--instruction", state.wording] if state.wording else []
    options += ["--reading", state.reading] if state.reading else []
    for index in state.sentences:
        options += ["--sentence", str(index + 1)]
    options += ["--steer", str(state.steer), "--system", state.system, "--k", "100", "--json"]
    found = run_inside(explorer.home.root, "search", "small", *options)
    assert found.code == 0, found.stderr
    return [result["doc_id"] for result in found.json["results"]]


def view_of(explorer, state):
    """What Explore's address says."""
    params = {
        "corpus": "small",
        "seed": state.seed,
        "text": explorer.notebook.put_text(state.text) if state.text else "",
        "aspect": state.aspect,
        "q": state.wording,
        "steer": str(state.steer),
        "reading": state.reading,
        "focus": ",".join(map(str, state.sentences)),
        "system": state.system,
    }
    return View.from_params({name: value for name, value in params.items() if value})


def on_explore(explorer, view):
    found = explorer.search(view.to_query(explorer))
    return [result.doc_id for result in found.results]


def on_compare(explorer, view):
    """As the link from Explore to Compare has it; without a wording, as Compare opens."""
    variants = CompareView.found_in(Pages().leave(view)).variants
    if not variants:
        words = next((a.instruction for a in RESEARCH.aspects if a.key == view.aspect), "")
        variants = (Variant("base", words, view.system, view.steer),)
    text = explorer.notebook.text(view.text_id) if view.text_id else None
    asked = ComparisonRequest(
        "small", view.seed or None, text, view.aspect or "method", variants[:1]
    )
    found = explorer.comparing.compare(asked)
    return list(found.variants[0].ranking.doc_ids)


def test_a_search_ranks_alike_wherever_it_is_asked(small_copy, monkeypatch):
    command_line = importlib.import_module("engine.cli.explore")
    monkeypatch.setattr(command_line, "open_explorer", lambda: small_copy)
    rankings = set()
    for state in STATES:
        view = view_of(small_copy, state)
        explored = on_explore(small_copy, view)
        assert on_the_command_line(small_copy, state)[:20] == explored[:20], state
        assert on_compare(small_copy, view)[:20] == explored[:20], state
        rankings.add(tuple(explored))
    assert len(rankings) > len(STATES) / 2, "states that rank alike would prove nothing"
