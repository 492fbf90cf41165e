"""Measure the thresholds by which a wording counts as asking for no aspect.

- ``ASKED`` and ``RULED_OUT`` (``engine/lenses/instructions.py``): from which a wording asks for an
  aspect, and rules it out. Measured on ``validation.jsonl``, which the network was not fitted on:
  the share understood less 7.5 times the share read as the opposite is to be large.
  ``test*.jsonl`` choose none.
- ``QUOTED`` (``engine/search/interpretation.py``): cosine from which a wording that names none
  speaks of a sentence of the seed. Measured on wordings made from documents: six words in a row
  of a sentence, or four of its telling words in any order. Those of the seed should be found, in
  the very sentence; those of another document, and wordings that want nothing, should not.

It only prints: ``python -m tools.fit.thresholds``.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple
from unittest import mock

from benchmarks import homes
from benchmarks.homes import CORPUS
from engine.config import DEMO, DEMO_CORPUS
from engine.corpora.contracts import Seed
from engine.explorer import Explorer
from engine.lenses import instructions
from engine.search.interpretation import Interpreter
from engine.sentences import stop_words
from engine.types.corpora import ImportRequest
from tools.fit.reader import reading, shares
from tools.fit.reader_data import rows

CHANCES = (0.2, 0.3, 0.5, 0.6, 0.7, 0.8)
COSINES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
SEEDS, GENERIC = 150, 6


class Trial(NamedTuple):
    """A wording that names no aspect, held against a seed."""

    kind: str  # "own" for words of the seed, "other" of another document, "none" of neither
    cosine: float  # with the closest sentence
    right: bool  # that sentence is the one that the words are from


def phrase(sentence: str, rng: random.Random) -> str:
    """Six words in a row, or the whole of a short sentence."""
    words = re.findall(r"[\w'-]+", sentence)
    start = rng.randrange(max(1, len(words) - 5))
    return " ".join(words[start : start + 6])


def keywords(sentence: str, rng: random.Random) -> str:
    """Four telling words in any order."""
    words = re.findall(r"[A-Za-z][\w-]{3,}", sentence)
    telling = [word for word in words if word.lower() not in stop_words()]
    return " ".join(rng.sample(telling, min(4, len(telling))))


def trials(seeds: Sequence[Seed], reader: Interpreter, rng: random.Random) -> Iterable[Trial]:
    """Wordings against seeds, those that are read as naming an aspect left out."""
    generic = [
        r["text"] for r in rows("dev") if not r["wants"] + r["avoids"] and r["lens"] == "research"
    ]
    for seed in seeds:
        other = rng.choice([one for one in seeds if one is not seed])
        asked = [("none", text, -1) for text in rng.sample(generic, GENERIC)]
        for make in (phrase, keywords):
            for kind, source in (("own", seed), ("other", other)):
                at = rng.randrange(len(source.document.sentences))
                asked.append((kind, make(source.document.sentences[at].text, rng), at))
        for kind, words, at in asked:
            said = reader.read(words)
            if said.subject and not said.strength:
                closeness = seed.sentences @ reader.encode(said.subject)
                yield Trial(kind, float(closeness.max()), int(closeness.argmax()) == at)


def print_quoted(explorer: Explorer, corpus: str) -> None:
    """Shares of each kind that count as quoting a sentence, by threshold."""
    rng = random.Random(0)
    searcher = explorer.searcher(corpus)
    doc_ids = rng.sample(list(searcher.corpus.doc_ids), SEEDS)
    seeds = [seed for seed in map(searcher.corpus.seed, doc_ids) if seed.document.sentences]
    found = list(trials(seeds, searcher.interpreter(), rng))
    kinds = {kind: [t for t in found if t.kind == kind] for kind in ("own", "other", "none")}
    print(f"{corpus}: { ({kind: len(some) for kind, some in kinds.items()}) }")
    print("QUOTED  own  own, right  other  none")
    for least in COSINES:
        own, *others = (fmean(t.cosine >= least for t in some) for some in kinds.values())
        right = fmean(t.right and t.cosine >= least for t in kinds["own"])
        print(f"{least:.2f}", *(f"{share:.3f}" for share in (own, right, *others)))


def print_named() -> None:
    """Shares of wordings understood, and read as the opposite, by both thresholds."""
    wordings = rows("validation")
    print("ASKED  RULED_OUT  understood  opposite")
    for asked, ruled_out in itertools.product(CHANCES, CHANCES):
        with mock.patch.multiple(instructions, ASKED=asked, RULED_OUT=ruled_out):
            found = shares(wordings, reading(instructions.WEIGHTS))
        print(f"{asked:.2f}  {ruled_out:.2f}  {found['both']:.3f}  {found['opposite']:.3f}")


def main() -> None:
    """Print both tables."""
    explorer = homes.explorer()
    explorer.library.import_documents(ImportRequest(DEMO, DEMO_CORPUS))
    for corpus in (CORPUS, DEMO_CORPUS):
        print_quoted(explorer, corpus)
    print_named()


if __name__ == "__main__":
    main()
