"""Collections that are built in tests, and what the tests' model says meanwhile: method by method.

It reads each document's method from what the corpus is known to hold, labels it in one of several
wordings, calls those one kind when it is asked to name and merge them, words a query for a kind
(the first try of some gives words of the documents away), and grades by whether the kind is the
query's. The attribute can be anything; the labels are always methods. It overlooks a few documents
(``Methods.overlooked``), which come back as grades when the pools are graded, and of one
(``misquoted``) it never gets the quote right.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.config import DEMO
from engine.types.builds import BuildSpec, BuildStep, StepRequest
from engine.types.models import TaskReport
from tests.fakes.model_answers import Handler, fences
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import knowledge, session
from tests.fakes.small_corpus import DOCUMENTS, METHODS

if TYPE_CHECKING:
    from engine.build.collection_builds import CollectionBuilds


@dataclass(frozen=True)
class Kind:
    """One method."""

    labels: tuple[str, ...]  # wordings of its labels; the first is its name
    query: str  # that uses no word of its documents
    leaking: str = ""  # what is tried first; "" where the first try is good

    @property
    def name(self) -> str:
        return self.labels[0]


@dataclass(frozen=True)
class Methods:
    """What there is to know of a corpus: kinds by key, and the kind of each document by title."""

    kinds: Mapping[str, Kind]
    of: Mapping[str, str]
    overlooked: frozenset[str] = frozenset()
    misquoted: str = ""
    stated: frozenset[str] = frozenset()  # titles of documents that say it outright

    def label(self, title: str) -> str:
        """Wordings go around, so that every one of them turns up."""
        kind = self.of[title]
        place = [t for t, k in self.of.items() if k == kind].index(title)
        labels = self.kinds[kind].labels
        return labels[place % len(labels)]


UNKNOWN = Kind(("Something else",), "Whatever somebody had in mind there.")
"""Said of clusters whose names and labels are all of people's making."""
SMALL = {
    "network": Kind(
        ("Neural network on photographs", "Convolutional neural network", "Image classifier"),
        "Work in which a machine learns from marked pictures to tell one thing from another.",
    ),
    "interview": Kind(
        ("Interviews with practitioners", "Qualitative interviews"),
        "Work that lets those concerned speak, and sorts what they say.",
    ),
    "simulation": Kind(
        ("Finite element simulation", "Numerical simulation", "Computed on a mesh"),
        "Work that lets physics unfold inside a computer in place of a trial outdoors.",
        "Work with a finite element simulation on a fine mesh.",
    ),
    "survey": Kind(
        ("Mailed questionnaire", "Postal survey of households"),
        "Work that asks many people at home the same in writing.",
        "Work in which a questionnaire was mailed to randomly drawn households.",
    ),
    "regression": Kind(
        ("Bayesian regression", "Regression with weak priors"),
        "Work that combines earlier belief with evidence in one statistical account.",
    ),
    "sensor": Kind(
        ("Wireless sensors", "Cheap sensor logging"),
        "Work that leaves small devices in place to keep watch by themselves.",
    ),
}


def small_methods() -> Methods:
    """The small corpus; documents of one method are "<problem>-<method>"."""
    of = {
        document["title"]: method
        for document in DOCUMENTS
        if (method := document["doc_id"].removesuffix("-again").partition("-")[2]) in METHODS
    }
    return Methods(SMALL, of, frozenset({"Maps by sensor"}), "Tides by survey")


_UNHEARD = [f"{start}{end}wise" for start in ("zib", "quo", "vro") for end in "aeiou"]
"""Words of no document, one for each method of the demo."""


def demo_methods() -> Methods:
    """The demo corpus: fifteen methods, about 32 documents each."""
    lines = (DEMO / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    methods = {row["doc_id"]: row["method"] for row in map(json.loads, lines)}
    lines = (DEMO / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    titles = {row["title"]: methods[row["doc_id"]] for row in map(json.loads, lines)}
    values = json.loads((DEMO / "values.json").read_text(encoding="utf-8"))["method"]
    kinds = {
        value["id"]: Kind(
            (value["label"], value["id"].replace("-", " ")), f"{word} it went, {word}"
        )
        for value, word in zip(values, _UNHEARD, strict=True)
    }
    return Methods(kinds, titles, frozenset(list(titles)[::40]), list(titles)[7])


def builds_collections(methods: Methods) -> Handler:
    """A handler for ``Behaviour.handlers`` of ``tests/fakes/model_answers.py``: all five steps."""
    by_label = {
        label.casefold(): key for key, kind in methods.kinds.items() for label in kind.labels
    }

    def answer(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
        quoted = fences(prompt)
        shown = dict(quoted)
        if "Does the document show the attribute?" in prompt:
            return _labelled(methods, shown["document"], again="letter by letter" in prompt)
        if "Name what they share" in prompt:
            labels = [line.rpartition(" (")[0] for line in shown["labels"].splitlines()]
            key = _commonest(by_label, labels)
            return {"name": methods.kinds[key].name if key else labels[0]}
        if "near-synonyms" in prompt:
            return {"groups": _groups(methods, by_label, shown["names"].splitlines())}
        if "Write the query of somebody" in prompt:
            name, _, *labels = shown["kind"].splitlines()
            key = _commonest(by_label, [name, *(line.rpartition(" (")[0] for line in labels)])
            kind = methods.kinds.get(key, UNKNOWN)
            again = "An earlier attempt" in prompt or not kind.leaking
            return {"query": kind.query if again else kind.leaking}
        if "is the candidate's?" in prompt:
            return _graded(methods, prompt, quoted)
        return None

    return answer


def _labelled(methods: Methods, document: str, *, again: bool) -> dict[str, Any]:
    title, _, text = document.partition("\n")
    if title not in methods.of or title in methods.overlooked:
        return {"expression": "none", "label": "", "quote": ""}
    quote = " ".join((text or title).split()[:8])
    if title == methods.misquoted:
        quote = "words that stand in no document at all" + " whatsoever" * again
    how = "stated" if title in methods.stated else "implied"
    return {"expression": how, "label": methods.label(title), "quote": quote}


def _commonest(by_label: Mapping[str, str], labels: list[str]) -> str:
    """The kind that most of these labels name; "" when people made them all up."""
    found = Counter(by_label[label.casefold()] for label in labels if label.casefold() in by_label)
    return found.most_common(1)[0][0] if found else ""


def _groups(methods: Methods, by_label: Mapping[str, str], lines: list[str]) -> list[Any]:
    members: dict[str, list[int]] = {}
    for line in lines:
        number, _, name = line.partition(". ")
        key = by_label.get(name.casefold())
        if key is not None:
            members.setdefault(key, []).append(int(number))
    return [
        {"members": numbers, "name": methods.kinds[key].name}
        for key, numbers in members.items()
        if len(numbers) > 1
    ]


def _graded(methods: Methods, prompt: str, quoted: list[tuple[str, str]]) -> dict[str, Any]:
    """The highest grade of the scale for the query's kind, the lowest for all others.

    A query in words of a person is known by the examples beside it.
    """
    asked = " ".join(text for name, text in quoted if name == "query")
    wanted = [key for key, kind in methods.kinds.items() if asked in (kind.query, kind.leaking)]
    wanted += [
        methods.of[title]
        for name, text in quoted
        if name == "example" and (title := text.partition("\n")[0]) in methods.of
    ]
    candidate = dict(quoted)["candidate"].partition("\n")[0]
    scale = re.search(r"of the scale \(([\d, ]+)\)", prompt)
    values = [int(value) for value in scale[1].split(",")] if scale else [0, 1]
    fits = bool(wanted) and methods.of.get(candidate) == wanted[0]
    return {
        "reason": "It goes about it that way." if fits else "It goes about it in another way.",
        "grade": max(values) if fits else min(values),
    }


# -- builds over the small corpus ----------------------------------------------------------------

NAME = "methods"
LENS = BuildSpec("small", NAME, "how the evidence was gathered", aspect="method", depth=8)
SMALL_METHODS = small_methods()
AUTHOR = "Ada"


def run_step(
    builds: CollectionBuilds,
    server: ModelServer,
    step: BuildStep,
    corpus: str = "small",
    **more: Any,
) -> TaskReport[int]:
    """One step of the build, now."""
    return builds.run(StepRequest(corpus, NAME, step, AUTHOR), endpoint=session(server), **more)


def run_all(builds: CollectionBuilds, server: ModelServer) -> list[TaskReport[int]]:
    """All four steps."""
    return [run_step(builds, server, step) for step in builds.steps]


def knows_methods() -> AbstractContextManager[ModelServer]:
    """A model that labels, names and words by the small corpus's methods, on loopback."""
    return serving(knowledge(), handlers=[builds_collections(SMALL_METHODS)])


def questions(server: ModelServer, words: str) -> int:
    """How often a question with these words came in."""
    return sum(words in prompt for prompt in server.seen.prompts)


LABELLING, WORDING, GRADING = "show the attribute?", "Write the query of", "is the candidate's?"
"""Words of the questions of three steps."""
