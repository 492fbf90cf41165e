"""What the tests' model answers: grades of a test collection, judged as badly as it is told."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.lenses.definitions import RESEARCH
from tests.fakes.small_corpus import METHODS

MODEL = "judge"
FAULTS = (
    *("401", "404", "429", "500", "503", "timeout", "cut", "malformed", "html", "empty", "prose"),
    *("other-json", "no-logprobs", "wrong-model", "slow", "stall"),
)
"""What ``Behaviour.faults`` may name: a status, a request never answered, a connection that ends
within the answer, broken JSON, a web page, an answer without text, one in words, a JSON object of
another form, one without the log probabilities that were asked for, one by another model, one ten
times as late, one whose stream stops without an end."""
FIRST_WORDS = 8
SHARPNESS = 2.0  # how sure the model is: log odds per grade of difference
Handler = Callable[[str, Mapping[str, Any]], Any]


@dataclass
class Behaviour:
    """How the server answers; may be changed while it runs."""

    noise: float = 0.0  # standard deviation of its standing misjudgement of a document, in grades
    bias: float = 0.0  # what standing first is worth, in grades
    latency: float = 0.0  # seconds per answer
    at_once: int | None = None  # requests answered at once, from the start; others are queued
    pause: float = 0.0  # seconds between the pieces of a streamed answer
    seed: int = 0
    faults: dict[str, float] = field(default_factory=dict)  # fault -> share of requests
    retry_after: float | None = None  # seconds that a 429 asks to wait; None for a moment
    # parts of a request that it does not accept: max_tokens, temperature, logprobs, top_logprobs
    # (more than five), system, response_format or one kind of it (json_schema), stream,
    # stream_options; and what it then says, {} is the part
    refuses: frozenset[str] = frozenset()
    refusal: str = "Unsupported parameter: '{}'."
    streams: bool = True  # False sends the whole answer although a stream was asked for
    logprobs: bool = True  # False drops them without a word
    thinks: bool = False  # writes ``<think>`` first
    context: int | None = None  # tokens (of four characters) that it accepts
    key: str | None = None  # the only key that it accepts
    model: str = MODEL
    most_requests: int | None = None  # it is gone after so many
    # asked first, with the question's text (all messages) and the body of the request: what one
    # returns is the answer, a string or something to be sent as JSON, or (text, [(token,
    # probability) of what could have stood there]); None leaves it to the next
    handlers: list[Handler] = field(default_factory=list)


class Knowledge:
    """Recognises documents in a prompt by the words they begin with, and knows their grades.

    Args:
        texts: doc_id -> text, title first.
        grades: query_id -> doc_id -> grade; a query is called ``<seed>_<aspect>``.
    """

    def __init__(self, texts: Mapping[str, str], grades: Mapping[str, Mapping[str, int]]) -> None:
        self.texts = dict(texts)
        self._grades = {query_id: dict(found) for query_id, found in grades.items()}
        self._by_words: dict[tuple[str, ...], str] = {}
        for doc_id, text in texts.items():
            self._by_words.setdefault(tuple(_words(text)[:FIRST_WORDS]), doc_id)
        # A seed may go on with any of its sentences: its title alone has to do.
        titles = {d: tuple(_words(text.partition("\n")[0])) for d, text in texts.items()}
        often = Counter(titles.values())
        for doc_id, title in titles.items():
            if len(title) > 1 and often[title] == 1:
                self._by_words.setdefault(title, doc_id)
        self._lengths = sorted({len(words) for words in self._by_words if words}, reverse=True)

    def documents(self, prompt: str) -> tuple[str, list[str]]:
        """The seed and the candidates that a prompt shows, "" for those that nobody knows."""
        seed, candidates = "", []
        for name, text in fences(prompt):
            doc_id = self._document(_words(text[:2000])) or ""
            if name == "starting document":
                seed = doc_id
            elif name.startswith(("candidate", "document")):
                candidates.append(doc_id)
        return seed, candidates

    def _document(self, words: list[str]) -> str | None:
        for length in self._lengths:
            doc_id = self._by_words.get(tuple(words[:length]))
            if doc_id is not None:
                return doc_id
        return None

    def grades(self, seed: str, aspect: str) -> dict[str, int]:
        """The grades of a query's documents."""
        return self._grades.get(f"{seed}_{aspect}", {})

    def grade(self, seed: str, aspect: str, doc_id: str) -> int:
        """The grade for a query; without an aspect, the best over the seed's queries."""
        if aspect:
            return self.grades(seed, aspect).get(doc_id, 0)
        grades = (g for q, g in self._grades.items() if q.rpartition("_")[0] == seed)
        return max((g.get(doc_id, 0) for g in grades), default=0)


class Answerer:
    """Answers prompts; what it says follows from its seed and the content alone."""

    def __init__(self, knowledge: Knowledge, behaviour: Behaviour) -> None:
        self.knowledge = knowledge
        self.behaviour = behaviour

    def fault(self, content: str, repeat: int) -> str:
        """The fault that this repeat of this request meets, "" for none."""
        drawn = self._random("fault", content, str(repeat)).random()
        for fault, share in sorted(self.behaviour.faults.items()):
            if drawn < share:
                return fault
            drawn -= share
        return ""

    def answer(self, prompt: str, body: Mapping[str, Any]) -> tuple[str, list[tuple[str, float]]]:
        """Text, and (token, probability) of what could have stood there."""
        for handler in self.behaviour.handlers:
            said = handler(prompt, body)
            if isinstance(said, tuple):
                return said
            if said is not None:
                return said if isinstance(said, str) else json.dumps(said), []
        seed, candidates = self.knowledge.documents(prompt)
        aspect = aspect_of(prompt)
        if "A or B" in prompt and len(candidates) >= 2:
            options = self._pair(seed, aspect, candidates[-2], candidates[-1])
        elif "yes or no" in prompt and candidates:
            utility = self._utility(seed, aspect, candidates[-1])
            options = _two("yes", "no", _sigmoid(SHARPNESS * (utility - 1.5)))
        elif "[2] > [1]" in prompt and candidates:
            return self._list(seed, aspect, candidates), []
        elif "JSON" in prompt or "response_format" in body:
            return json.dumps(self._json(seed, candidates, prompt)), []
        else:
            options = [("A", 0.99), ("B", 0.01)]
        return max(options, key=lambda option: option[1])[0], options

    def _utility(self, seed: str, aspect: str, doc_id: str) -> float:
        """How good it takes a document to be: its grade and a misjudgement that stays."""
        noise = self._random("doc", seed, aspect, doc_id).gauss(0, self.behaviour.noise)
        return self.knowledge.grade(seed, aspect, doc_id) + noise

    def _pair(self, seed: str, aspect: str, a: str, b: str) -> list[tuple[str, float]]:
        ahead = self._utility(seed, aspect, a) - self._utility(seed, aspect, b)
        return _two("A", "B", _sigmoid(SHARPNESS * (ahead + self.behaviour.bias)))

    def _list(self, seed: str, aspect: str, doc_ids: list[str]) -> str:
        def worth(place: int) -> float:
            primacy = self.behaviour.bias * (1 - place / max(1, len(doc_ids) - 1))
            return self._utility(seed, aspect, doc_ids[place]) + primacy

        order = sorted(range(len(doc_ids)), key=lambda place: (-worth(place), place))
        return " > ".join(f"[{place + 1}]" for place in order)

    def _json(self, seed: str, candidates: list[str], prompt: str) -> dict[str, Any]:
        opening = [self._opening(doc_id) for doc_id in candidates]
        if "from_candidate" in prompt and opening:
            return {
                "similar": True,
                "explanation": "Both proceed alike.",
                "from_start": [self._opening(seed), "words that stand in neither of the two"],
                "from_candidate": opening,
            }
        if "next_query" in prompt:
            notes = [
                {"document": n, "note": "It says so.", "quote": quote}
                for n, quote in enumerate(opening, start=1)
            ]
            return {"notes": notes, "missing": "", "next_query": ""}
        if "wordings" in prompt:
            return {"wordings": ["one other way to say it", "another way to say it"]}
        return {"letter": "A"}

    def _opening(self, doc_id: str) -> str:
        return " ".join(self.knowledge.texts.get(doc_id, "").split()[:8])

    def _random(self, *parts: str) -> random.Random:
        text = json.dumps([self.behaviour.seed, *parts])
        return random.Random(hashlib.sha256(text.encode()).digest())  # noqa: S311 - no secret


def read_knowledge(folder: Path) -> Knowledge:
    """Documents and grades of a collection that SeedLens can read."""
    from engine.collections.readers import read_collection
    from engine.ingest.source import open_source

    collection = read_collection(folder)
    if collection.documents is None:
        raise SystemExit(f"{folder} has no documents")
    source = open_source(collection.documents, collection.source_format, lens=RESEARCH)
    texts = {d.doc_id: f"{d.title}\n{d.text}" for d in source}
    return Knowledge(texts, collection.qrels)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def aspect_of(prompt: str) -> str:
    """The name of the aspect that a prompt asks about, in lower case, or ""."""
    found = re.search(r"^Aspect: (.+)$", prompt, re.MULTILINE)
    return found[1].strip().lower() if found else ""


def _two(first: str, second: str, probability: float) -> list[tuple[str, float]]:
    return [(first, probability), (second, 1 - probability)]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


ASKED_GRADES = "annotators of a test collection"
"""Words that stand in every such question."""
_FENCE = re.compile(
    r"^=== ([\w \[\]]+) (\w+) ===\n(.*?)\n=== end \2 ===$", re.MULTILINE | re.DOTALL
)


def fences(prompt: str) -> list[tuple[str, str]]:
    """(name, text) of all quoted texts of a prompt, in their order."""
    return [(name, text) for name, _, text in _FENCE.findall(prompt)]


def fenced_texts(prompt: str, *names: str) -> list[str]:
    """The quoted texts of a prompt by these names, in their order."""
    return [text for name, text in fences(prompt) if name in names]


def candidate_of(prompt: str) -> str:
    """Title and text of the candidate; "" for prompts that ask for no grade."""
    found = fenced_texts(prompt, "candidate") if ASKED_GRADES in prompt else []
    return found[0] if found else ""


def grades_by(words: str = METHODS["network"], high: int = 3, low: int = 0) -> Callable[..., Any]:
    """A handler for ``Behaviour.handlers``: ``high`` where the candidate has these words."""

    def handler(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
        text = candidate_of(prompt)
        if not text:
            return None
        title = text.partition("\n")[0]
        same = words in text
        reason = f"{title} {'does the same' if same else 'does something else'}."
        return {"reason": reason, "grade": high if same else low}

    return handler


Alike = Callable[[str, str, str], int]


def grades_pairs(alike: Alike) -> Callable[[str, Mapping[str, Any]], dict[str, Any] | None]:
    """A handler for ``Behaviour.handlers`` of ``tests/fakes/model_answers.py``.

    Args:
        alike: the grade for the aspect's name, the seed's text and a candidate's.
    """

    def answer(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
        if "Grade each of the candidates" not in prompt:
            return None
        seed, *candidates = fenced_texts(prompt, "starting document", "candidate")
        aspect = re.findall(r"^Aspect: (.*)$", prompt, re.MULTILINE)[0]
        return {
            "grades": [
                {"candidate": number, "grade": alike(aspect, seed, text)}
                for number, text in enumerate(candidates, start=1)
            ]
        }

    return answer


def in_title(aspect: str, seed: str, candidate: str) -> int:
    """Of the small corpus's "bees by network": 3 for the same method, else for the same problem."""
    place = -1 if aspect == "Method" else 0
    words = [text.splitlines()[0].lower().split() for text in (seed, candidate)]
    return 3 * (words[0][place] == words[1][place])


ASKED_READING = "What does this wording ask for?"
"""Words that stand in every such question."""
WORDS = "trained without labelled photographs, never mind what came out"
CONTENT = "trained without labelled photographs"
READ: dict[str, Any] = {"content": CONTENT, "wanted": ["method"], "ruled_out": ["result"]}
"""What :data:`WORDS` mean under the lens of research abstracts."""


def reads(answer: Any = READ, words: str = "") -> Callable[..., Any]:
    """A handler for ``Behaviour.handlers``: this answer to every wording, or to ``words`` only."""

    def handler(prompt: str, _: Mapping[str, Any]) -> Any:
        if ASKED_READING not in prompt or words not in "".join(fenced_texts(prompt, "wording")):
            return None
        return answer

    return handler


IMPLIED = {
    "Tides by sensor": (
        "Somebody plans when the ferry may leave, and wants to know how late it can be.",
        "The turn of the tide decides when a ferry gets through, so that foretelling it is "
        "what a timetable of ferries rests on.",
    )
}
"""Title -> a need that the document meets without a word of it, and why it does."""


def shown_document(prompt: str) -> tuple[str, str]:
    """Title and text of the document that a prompt asks scenarios for; "" for other prompts."""
    shown = fenced_texts(prompt, "document")
    if not shown or "information_need" not in prompt:
        return "", ""
    title, _, text = shown[0].partition("\n")
    return title, text


def writes_scenarios(prompt: str, _: Mapping[str, Any]) -> dict[str, Any] | None:
    """A scenario per sentence of the document, and what :data:`IMPLIED` says of it.

    A handler for ``Behaviour.handlers`` of ``tests/fakes/model_answers.py``.
    """
    title, text = shown_document(prompt)
    if not title:
        return None
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", text or title) if s.strip()]
    entries = [
        {
            "key_aspect": " ".join(sentence.split()[:4]),
            "information_need": f"Somebody wants to know whether this holds: {sentence}",
            "explanation": f"It is answered by what was found: {sentence}",
        }
        for sentence in sentences[:6]
    ]
    for need, why in [IMPLIED[title]] if title in IMPLIED else []:
        entries.append({"key_aspect": title, "information_need": need, "explanation": why})
    return {"main_topic": title, "scenarios": entries}


ASKED_NAMES = "groups called?"
"""Words that stand in every such question."""


def names(change: Callable[[int], Any] = "Group {}".format) -> Callable[..., Any]:
    """A handler: names every group of the question, or leaves out those that become None."""

    def handler(prompt: str, _: Mapping[str, Any]) -> Any:
        if ASKED_NAMES not in prompt:
            return None
        [groups] = fenced_texts(prompt, "groups")
        numbers = [int(line.split()[0].strip(":")) for line in groups.splitlines()]
        given = [(number, change(number)) for number in numbers]
        return {"names": [{"number": n, "name": name} for n, name in given if name is not None]}

    return handler
