"""Make the demo collection: ``python assets/demo/make_demo.py [--out DIR] [--check]``.

Every document joins one wording of a problem, of a method and of a result (``wordings/``), so
which documents share which aspect is known by construction. The wordings of one value share
no content word: a lexical match alone cannot find "the same method". Same input, same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DOCUMENTS = 360
SEED = "seedlens-demo-1"
ASPECTS = ("background", "method", "result")
SOURCES = {"background": "problems", "method": "methods", "result": "results"}
SAME_VALUE, SAME_FAMILY = 3, 1
VOICES = {
    "interview-coding": "practice", "user-experiment": "practice", "causal-matching": "practice",
    "integer-program": "plan", "reward-learning": "plan", "agent-simulation": "sim",
}  # fmt: skip
"""How a method speaks of its aim; a method not listed here "reads" its items."""

# What goes together. A result that no such study could report is left out; digits name the
# wordings that can be said of this method where not all can (interviews have no accuracy,
# a simulation no labels, nobody runs a field test on a phone).
_LEARNER = (
    "beats-baselines matches-experts helps-rare fewer-labels runs-small saves-effort "
    "holds-elsewhere breaks-under-shift survives-noise null-effect"
)
FITS = {
    "contrastive-views": _LEARNER,
    "graph-network": _LEARNER,
    "pretrained-transformer": _LEARNER.replace("runs-small ", ""),
    "boosted-trees": _LEARNER + " one-factor earns-trust",
    "nearest-cases": _LEARNER + " one-factor earns-trust",
    "sparse-linear": _LEARNER + " one-factor earns-trust",
    "crowd-annotation": "beats-baselines helps-rare fewer-labels saves-effort matches-experts "
    "holds-elsewhere breaks-under-shift survives-noise one-factor null-effect",
    "hierarchical-bayes": "beats-baselines helps-rare fewer-labels:2 runs-small:3 "
    "holds-elsewhere breaks-under-shift survives-noise one-factor null-effect matches-experts:14",
    "state-filtering": "beats-baselines:0134 matches-experts:14 fewer-labels:2 runs-small "
    "holds-elsewhere breaks-under-shift survives-noise one-factor null-effect",
    "causal-matching": "saves-effort:01 holds-elsewhere:14 breaks-under-shift:13 "
    "survives-noise:24 one-factor null-effect earns-trust",
    "interview-coding": "fewer-labels:2 saves-effort holds-elsewhere:14 breaks-under-shift:13 "
    "one-factor:34 null-effect:12 earns-trust",
    "user-experiment": "fewer-labels:2 saves-effort:24 holds-elsewhere:124 "
    "breaks-under-shift:13 one-factor null-effect earns-trust",
    "agent-simulation": "runs-small:3 holds-elsewhere:14 breaks-under-shift:13 "
    "survives-noise:24 one-factor null-effect:04",
    "integer-program": "runs-small:13 saves-effort holds-elsewhere:3 breaks-under-shift:14 "
    "survives-noise:23 null-effect earns-trust beats-baselines:3",
    "reward-learning": "beats-baselines:13 matches-experts:14 helps-rare:134 runs-small "
    "saves-effort holds-elsewhere:23 breaks-under-shift:24 survives-noise null-effect",
}
UNFIT = {
    "crowd-annotation": "wearable-sleep bus-delays river-levels hot-neighbourhoods",
    "state-filtering": "online-sarcasm essay-feedback novice-programming",
    "causal-matching": "online-sarcasm",
    "interview-coding": "online-sarcasm",
    "agent-simulation": "online-sarcasm drug-events wearable-sleep bird-sounds essay-feedback "
    "novice-programming",
    "integer-program": "online-sarcasm drug-events wearable-sleep bird-sounds",
    "reward-learning": "online-sarcasm drug-events bird-sounds",
}
ABOUT_PEOPLE = {"helps-rare#1", "holds-elsewhere#2"}
WITHOUT_PEOPLE = {"fire-risk", "bird-sounds", "river-levels"}
COIN_CELL = "runs-small#4"
OUTDOORS = WITHOUT_PEOPLE | {"hot-neighbourhoods", "cycling-safety", "wearable-sleep"}
ON_PAPER = {"sparse-linear#1", "sparse-linear#4"}
CAPS = {"value pair": 5, "value triple": 1, "wording pair": 1}

# Sentences that can leave their usual place: results that may come before the method, second
# problem sentences that may come after it, because nothing in them points back.
LEADS = {
    "beats-baselines": "013", "matches-experts": "03", "helps-rare": "2", "fewer-labels": "23",
    "runs-small": "2", "saves-effort": "013", "holds-elsewhere": "2", "one-factor": "1",
    "null-effect": "024", "earns-trust": "2",
}  # fmt: skip
MOTIVES = {
    "online-misinformation": "0", "comment-abuse": "04", "early-readmission": "01234",
    "drug-events": "023", "wearable-sleep": "23", "fire-risk": "0124", "bird-sounds": "1",
    "river-levels": "03", "course-dropout": "14", "essay-feedback": "23",
    "novice-programming": "01", "bus-delays": "034", "cycling-safety": "0",
    "hot-neighbourhoods": "13",
}  # fmt: skip
NOT_BEFORE = {
    "contrastive-views": 2019, "pretrained-transformer": 2019, "graph-network": 2018,
    "reward-learning": 2018, "boosted-trees": 2018, "wearable-sleep": 2014, "course-dropout": 2013,
}  # fmt: skip
PROPER = ("Bayesian", "Kalman", "Lagrangian", "MOOC")
_MINOR = "a an and as at but by for from in of on or the to under with"
MINOR = set(_MINOR.split())
_STOP = """
    a an and are as at be been being both but by can could did do does each either every few for
    from had has have having how if in into is it its itself just less like made make makes many
    may might more most much must near need needs neither no nor not of off often on once one only
    onto or other others our out over own per rather same several shall she should since so some
    still such than that the their them then there these they this those three through thus to
    together too two under until up upon us use used uses using very was we well were what when
    where whether which while who whose why will with within without would yet you your also about
    above across after again against all almost alone along already although always among another
    any anything apart around away back because become becomes before behind below beneath beside
    best better between beyond during else ever first second third four five six half hundred ten
    twenty paper study work results result show shows shown find finds found report reports present
    presents propose proposes approach method methods technique data dataset
"""
STOP = set(_STOP.split())


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say one value: a title fragment, two sentences, what the items are called."""

    value: str
    family: str
    number: int
    title: str
    sentences: tuple[str, ...]
    item: str
    items: str

    @property
    def key(self) -> str:
        return f"{self.value}#{self.number}"


Triple = tuple[Wording, Wording, Wording]
Sentence = tuple[str, str]
"""Role and template."""


def load_wordings(folder: Path) -> dict[str, list[list[Wording]]]:
    """Aspect to values to wordings, in the order of the files."""
    loaded = {}
    for aspect, name in SOURCES.items():
        values = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["values"]
        loaded[aspect] = [
            [
                Wording(v["id"], v["family"], number, w["title"], tuple(w["sentences"]),
                        w.get("item", ""), w.get("items", ""))
                for number, w in enumerate(v["wordings"])
            ]
            for v in values
        ]  # fmt: skip
    return loaded


def content_words(wording: Wording) -> set[str]:
    """Content words cut to five letters, so that inflections count as the same word."""
    text = " ".join((*wording.sentences, wording.title, wording.item, wording.items))
    text = re.sub(r"\{[^}]*\}", " ", text).lower()
    return {w[:5] for w in re.findall(r"[a-zà-ÿ]{3,}", text) if w not in STOP}


def faults(values: list[list[Wording]]) -> list[str]:
    """What is wrong with the wordings of one aspect: shared words, unbalanced brackets."""
    found = []
    for wordings in values:
        for one, other in itertools.combinations(wordings, 2):
            if shared := content_words(one) & content_words(other):
                found.append(f"{one.key} and {other.key} share {sorted(shared)}")
    for wording in itertools.chain(*values):
        found += [
            f"{wording.key}: unbalanced brackets in {text!r}"
            for text in (*wording.sentences, wording.title)
            if text.count("[") != text.count("]") or text.count("{") != text.count("}")
        ]
    return found


# Which wordings meet in which document


def _allowed(table: dict[str, str], key: str, wording: Wording) -> bool:
    """Whether ``table[key]`` names the wording: ``value`` for all, ``value:13`` for two."""
    for entry in table[key].split():
        value, _, numbers = entry.partition(":")
        if value == wording.value:
            return not numbers or str(wording.number) in numbers
    return False


def fits(triple: Triple) -> bool:
    """Whether a study could credibly join this problem, method and result."""
    problem, method, result = triple
    if problem.value in UNFIT.get(method.value, "").split():
        return False
    if problem.value in WITHOUT_PEOPLE and result.key in ABOUT_PEOPLE:
        return False
    if result.key == COIN_CELL and problem.value not in OUTDOORS:
        return False
    if result.value == "runs-small" and method.key in ON_PAPER:
        return False
    return _allowed(FITS, method.value, result)


def _crowding(triple: Triple) -> Iterator[tuple[int, tuple[str, ...]]]:
    """What should not repeat too often, with how often it may."""
    yield CAPS["value triple"], tuple(w.value for w in triple)
    for one, other in itertools.combinations(triple, 2):
        yield CAPS["value pair"], (one.value, other.value)
        yield CAPS["wording pair"], (one.key, other.key)


def _column(values: list[list[Wording]], rng: random.Random) -> list[Wording]:
    """Every value equally often, every wording of it within one of equally often; shuffled."""
    each = DOCUMENTS // len(values)
    column = [
        wordings[(start + turn) % len(wordings)]
        for start, wordings in enumerate(values)
        for turn in range(each)
    ]
    rng.shuffle(column)
    return column


def assign(wordings: dict[str, list[list[Wording]]], rng: random.Random) -> list[Triple]:
    """Triples that fit and do not crowd: swap entries of misfitting triples until none is left."""
    rows = list(zip(*(_column(wordings[a], rng) for a in ASPECTS), strict=True))
    triples: list[Triple] = [(p, m, r) for p, m, r in rows]
    counts = Counter(key for t in triples for _, key in _crowding(t))

    def move(triple: Triple, step: int) -> int:
        """Add (1) or remove (-1) a triple; the cost of what is added."""
        cost = 0 if fits(triple) else 4
        for cap, key in _crowding(triple):
            cost += counts[key] >= cap
            counts[key] += step
        return cost

    def price(*batch: Triple) -> int:
        cost = sum(move(t, 1) for t in batch)
        for t in batch:
            move(t, -1)
        return cost

    waiting = set(range(DOCUMENTS))
    while waiting:
        i, j, column = rng.choice(sorted(waiting)), rng.randrange(DOCUMENTS), rng.randrange(3)
        move(triples[i], -1)
        if price(triples[i]) == 0:
            waiting.discard(i)
        elif i != j:
            move(triples[j], -1)
            a, b = _swapped(triples[i], triples[j], column)
            if price(a, b) <= price(triples[i], triples[j]):
                triples[i], triples[j] = a, b
                waiting.add(j)
            move(triples[j], 1)
        move(triples[i], 1)
    return triples


def _swapped(one: Triple, other: Triple, column: int) -> tuple[Triple, Triple]:
    a, b = list(one), list(other)
    a[column], b[column] = b[column], a[column]
    return (a[0], a[1], a[2]), (b[0], b[1], b[2])


# From templates to sentences

_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SLOT = re.compile(r"\{n:(\d+)-(\d+)\}|\{(items?)\}|\{(Items)\}")
_FIGURE = re.compile(r"(rank-|set to |0\.|= )$")


def fill(template: str, names: Wording, rng: random.Random) -> str:
    """Choose alternatives and numbers, name the items, set articles and the first capital."""
    text = re.sub(r"\[([^\[\]]*)\]", lambda m: rng.choice(m[1].split("|")), template)
    drawn = {m.start(): rng.randint(int(m[1]), int(m[2])) for m in _SLOT.finditer(text) if m[1]}
    spell = all(n <= 10 for n in drawn.values())

    def put(match: re.Match[str]) -> str:
        if match[3] or match[4]:
            word = names.item if match[3] == "item" else names.items
            return "\0" + (word[0].upper() + word[1:] if match[4] else word)
        n = drawn[match.start()]
        after = text[match.end() :]
        if not spell or after.startswith(("%", " MB")) or _FIGURE.search(text[: match.start()]):
            return f"\0{n:,}"
        return "\0" + _SMALL[n]

    text = _SLOT.sub(put, text)
    text = re.sub(r"\b([Aa])n? \0(\S+)", lambda m: f"{_article(m[1], m[2])} {m[2]}", text)
    text = text.replace("\0", "")
    return text[0].upper() + text[1:]


def _article(letter: str, word: str) -> str:
    vowel = word[0].lower() in "aeiou" or re.match(r"8|11\b|18\b", word)
    return letter + ("n" if vowel else "")


def lower_first(text: str) -> str:
    """Lower the first letter, unless the word is a name or an acronym."""
    if text.startswith(PROPER) or re.match(r"[A-Z][A-Z\d]", text):
        return text
    return text[0].lower() + text[1:]


# From wordings to abstracts

_PLAIN = re.compile(r"(A|An|The|We|Each|Every|Two) ")


def bridge_pool(method: Wording, result: Wording) -> tuple[str, bool]:
    """Which bridge leads from this method to this result, and whether the leap needs one."""
    voice = VOICES.get(method.value, "read")
    field = result.value in ("saves-effort", "earns-trust", "null-effect")
    if method.value == "interview-coding":
        return "interviews", True
    if method.value == "user-experiment":
        return "user", False
    if voice == "sim" and result.value == "one-factor":
        return "simfactor", False
    if voice == "sim":
        return ("arrangements", True) if field else ("inputs", False)
    if method.family == "statistics":
        return ("change", True) if field else ("stats", False)
    if field:
        return "field", True
    if result.value == "one-factor":
        return "factor", True
    return ("inputs", False) if voice == "plan" else ("material", False)


class Pools:
    """Framing sentences, each used once before any is used again."""

    def __init__(self, framing: dict[str, Any], rng: random.Random) -> None:
        self._framing, self._rng = framing, rng
        self._left: dict[tuple[str, str], list[str]] = {}

    def draw(self, kind: str, pool: str, counted: bool = False) -> str:
        """The next sentence; ``counted``: the items have been counted, do not count again."""
        left = self._left.setdefault((kind, pool), [])
        if not any(_usable(s, counted) for s in left):
            fresh = list(self._framing[kind][pool])
            self._rng.shuffle(fresh)
            left[:0] = fresh
        chosen = next(s for s in reversed(left) if _usable(s, counted))
        left.remove(chosen)
        return chosen


def _usable(template: str, counted: bool) -> bool:
    return not (counted and re.search(r"\{n:\d{3,}-\d+\}.* \{items\}", template))


def plan(triple: Triple, pools: Pools, rng: random.Random) -> list[Sentence]:
    """Templates and their roles, in the usual order: problem, aim, method, bridge, result."""
    problem, method, result = triple
    pool, needed = bridge_pool(method, result)
    length = rng.choices((5, 6, 7, 8), (15, 35, 32, 18))[0]
    aim = length == 8 or (length == 7 and not needed and rng.random() < 0.5)
    bridge = needed or length == 8 or (length == 7 and not aim)
    aims = [pools.draw("aims", VOICES.get(method.value, "read"))] if aim else []
    counted = any("{n:" in s for s in aims)
    bridges = [pools.draw("bridges", pool, counted)] if bridge else []
    body = [
        [("background", s) for s in problem.sentences],
        [("background", s) for s in aims],
        [("method", s) for s in method.sentences],
        [("method", s) for s in bridges],
        [("result", s) for s in result.sentences],
    ]
    total = sum(map(len, body))
    for part in rng.sample((0, 4), 2):
        if total > max(length, 5):
            body[part].pop()
            total -= 1
    return list(itertools.chain(*body))


def reorder(sentences: list[Sentence], triple: Triple, rng: random.Random,
            framing: dict[str, Any]) -> list[Sentence]:  # fmt: skip
    """For some documents, the finding before the method or the motive after it."""
    problem, _, result = triple
    roles = [role for role, _ in sentences]
    lead = str(result.number) in LEADS.get(result.value, "")
    motive = str(problem.number) in MOTIVES.get(problem.value, "")
    if lead and roles.count("result") == 2 and rng.random() < 0.4:
        at, to = roles.index("result"), roles.index("method")
        opener = rng.choice(framing["report_openers"])
        told = ("result", opener + lower_first(sentences[at][1]))
        return [*sentences[:to], told, *sentences[to:at], *sentences[at + 1 :]]
    plain = roles == ["background"] * 2 + ["method"] * 2 + ["result"] * (len(roles) - 4)
    if motive and plain and rng.random() < 0.6:
        opener = rng.choice(framing["motive_openers"])
        why = ("background", opener + lower_first(sentences[1][1]))
        return [sentences[0], *sentences[2:4], why, *sentences[4:]]
    return sentences


def connect(sentences: list[Sentence], triple: Triple, rng: random.Random,
            framing: dict[str, Any]) -> list[Sentence]:  # fmt: skip
    """Now and then open the first method or result sentence with a connective."""
    _, method, result = triple
    tone = "bad" if result.value in ("breaks-under-shift", "null-effect") else "good"
    openers = {
        method.sentences[0]: framing["method_openers"],
        result.sentences[0]: framing["result_openers"][tone],
    }
    tale = method.number == 4  # the playful wordings take no solemn opener
    connected = []
    for role, text in sentences:
        plain = "," not in text[:70] if role == "result" else _PLAIN.match(text) and not tale
        if text in openers and plain and rng.random() < 0.4:
            text = rng.choice(openers[text]) + lower_first(text)
        connected.append((role, text))
    return connected


# Titles, people, places


def title_forms(triple: Triple, framing: dict[str, Any]) -> list[str]:
    """Title patterns that suit the fragments: only plain noun phrases go into a clause."""
    problem, method, _ = triple
    double = " and " in problem.title + method.title
    forms = [f for f in framing["titles"]["any"] if not (double and " and " in f)]
    gerund = problem.title.split()[0].endswith("ing")
    busy = re.search(r" (for|with|under|from|and|of) ", method.title)
    if method.number in (0, 2, 3) and not gerund and not (busy and " and " in problem.title):
        extra = framing["titles"][VOICES.get(method.value, "read")]
        twice = busy or " for " in problem.title
        forms += [f for f in extra if not (twice and "{M} for" in f)] * 2
    return forms


def title_case(text: str) -> str:
    """Capitals for all but the minor words."""
    words: list[str] = []
    for position, word in enumerate(text.split(" ")):
        opens = position == 0 or words[-1].endswith((":", "?"))
        parts = [
            p if p in MINOR and not (opens and n == 0) else p[:1].upper() + p[1:]
            for n, p in enumerate(word.split("-"))
        ]
        words.append("-".join(parts))
    return " ".join(words)


def compose_title(triple: Triple, taken: set[str], framing: dict[str, Any],
                  rng: random.Random) -> str:  # fmt: skip
    """A title of 40 to 140 characters that no other document has."""
    fragments = dict(zip("PMR", (w.title for w in triple), strict=True))
    cased = rng.random() < 0.5
    forms = title_forms(triple, framing)
    for form in rng.sample(forms, len(forms)):
        names = {k: v[0].upper() + v[1:] for k, v in fragments.items()}
        title = form.format(**names, **{k.lower(): lower_first(v) for k, v in names.items()})
        title = title_case(title) if cased else title
        if 40 <= len(title) <= 140 and title not in taken:
            taken.add(title)
            return title
    raise ValueError(f"no title for {[w.key for w in triple]}: add a pattern to framing.json")


def people(framing: dict[str, Any], rng: random.Random) -> list[str]:
    """Two to four invented names, no two the same."""
    names: list[str] = []
    size = rng.choice((2, 3, 3, 4))
    while len(names) < size:
        origin = rng.choice(framing["names"])
        name = f"{rng.choice(origin['given'])} {rng.choice(origin['family'])}"
        if name not in names:
            names.append(name)
    return names


def document(doc_id: str, triple: Triple, pools: Pools, taken: set[str],
             framing: dict[str, Any]) -> dict[str, Any]:  # fmt: skip
    """One line of the corpus."""
    rng = random.Random(f"{SEED}:{doc_id}")
    usual = plan(triple, pools, rng)
    ordered = reorder(usual, triple, rng, framing)
    if ordered == usual:
        ordered = connect(usual, triple, rng, framing)
    return {
        "doc_id": doc_id,
        "title": compose_title(triple, taken, framing, rng),
        "sentences": [fill(text, triple[0], rng) for _, text in ordered],
        "roles": [role for role, _ in ordered],
        "year": rng.randint(max(NOT_BEFORE.get(w.value, 2009) for w in triple), 2025),
        "authors": people(framing, rng),
        "venue": rng.choice(framing["venues"]),
    }


# The files


def judge(one: Wording, other: Wording) -> int:
    """The same value is 3, another value of the same family 1, anything else 0."""
    if one.value == other.value:
        return SAME_VALUE
    return SAME_FAMILY if one.family == other.family else 0


def qrels(triples: dict[str, Triple]) -> Iterator[str]:
    """TREC lines for every grade above 0, the seed itself left out."""
    for seed, wanted in triples.items():
        for column, aspect in enumerate(ASPECTS):
            for doc_id, offered in triples.items():
                grade = judge(wanted[column], offered[column])
                if grade and doc_id != seed:
                    yield f"{seed}_{aspect} 0 {doc_id} {grade}\n"


def describe() -> dict[str, Any]:
    """``collection.json``."""
    return {
        "name": "demo",
        "title": "SeedLens demo (synthetic)",
        "synthetic": True,
        "complete": True,
        "documents": DOCUMENTS,
        "queries": DOCUMENTS * len(ASPECTS),
        "aspects": list(ASPECTS),
        "description": "Invented research abstracts, written for SeedLens. Each joins one of 15 "
        "problems, 15 methods and 12 results, so what two documents share is known by "
        "construction: grade 3 for the same value of the aspect, 1 for the same family, 0 "
        "otherwise. The studies, numbers, authors and venues do not exist.",
        "licence": "MIT",
    }


def _lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()


def _zipped(text: str) -> bytes:
    """Gzip without time or file name, so that the bytes depend on the text alone."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
        file.write(text.encode())
    return buffer.getvalue()


def build(folder: Path = HERE / "wordings") -> dict[str, bytes]:
    """File name to content, for every generated file."""
    wordings = load_wordings(folder)
    framing = json.loads((folder / "framing.json").read_text(encoding="utf-8"))
    rng = random.Random(SEED)
    ids = [f"demo-{n:04d}" for n in range(1, DOCUMENTS + 1)]
    triples = dict(zip(ids, assign(wordings, rng), strict=True))
    pools, taken = Pools(framing, rng), set[str]()
    corpus = [document(i, t, pools, taken, framing) for i, t in triples.items()]
    labels = [
        {"doc_id": i} | {a: w.value for a, w in zip(ASPECTS, t, strict=True)}
        for i, t in triples.items()
    ]
    topics = [{"query_id": f"{i}_{a}", "seed": i, "aspect": a} for i in triples for a in ASPECTS]
    return {
        "corpus.jsonl": _lines(corpus),
        "labels.jsonl": _lines(labels),
        "topics.jsonl": _lines(topics),
        "qrels.txt.gz": _zipped("".join(qrels(triples))),
        "collection.json": (json.dumps(describe(), indent=2) + "\n").encode(),
    }


def same(name: str, one: bytes, other: bytes) -> bool:
    """Equal bytes; for gzip equal content, as zlib builds compress differently."""
    unpack: Callable[[bytes], bytes] = gzip.decompress if name.endswith(".gz") else bytes
    return one == other or unpack(one) == unpack(other)


def check(folder: Path) -> list[str]:
    """What is wrong with the wordings, and which files in ``folder`` are not what they give."""
    found = list(itertools.chain(*map(faults, load_wordings(HERE / "wordings").values())))
    for name, content in build().items():
        path = folder / name
        if not path.exists():
            found.append(f"{path} is missing: run make_demo.py without --check")
        elif not same(name, path.read_bytes(), content):
            found.append(f"{path} is not what the wordings give: run make_demo.py again")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make the demo collection.")
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    parser.add_argument("--check", action="store_true", help="compare with --out; write nothing")
    options = parser.parse_args(arguments)
    if options.check:
        found = check(options.out)
        print("\n".join(found) or "The demo collection is in order.")
        return 1 if found else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for name, content in build().items():
        (options.out / name).write_bytes(content)
    print(f"{DOCUMENTS} documents written to {options.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
