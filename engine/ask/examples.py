"""Questions that a corpus may answer, made of its titles and the aspects of its lens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from engine.types.lenses import Lens

READ = 2_000
"""Titles that are read, evenly spread over all."""
FEWEST = 2
"""Titles that must share a topic."""
LONGEST_TITLE = 90
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LINKING = frozenset(
    _WORD.findall(
        "a about across after among an and are as at be between by can do does for from has how in "
        "into is it its more new not of on or our over some than that the their this through to "
        "toward towards under use using via we what when which who why with within without your "
        "study analysis approach approaches based method methods model models paper results "
        "system systems task tasks case two one"
    )
)
"""Words that no topic has."""


_QUESTIONS = {
    "background": "Which problems does work on {topic} address?",
    "method": "Which methods are used for {topic}?",
    "result": "What was found out about {topic}?",
    "problem": "Which problems do people have with {topic}?",
    "experience": "What have people gone through with {topic}?",
    "advice": "What is advised on {topic}?",
    "stance": "What do people think of {topic}?",
}
"""By aspect; other aspects go by their names."""


def example_questions(titles: Sequence[str], lens: Lens, most: int = 3) -> list[str]:
    """Questions about what several titles speak of, one for each aspect in turn; where titles
    share nothing, about single documents.

    >>> from engine.types.lenses import Aspect
    >>> lens = Lens("l", "L", (Aspect("method", "Method", "M", "", ""),), things="papers")
    >>> example_questions(["Honey bees in winter", "Mites of honey bees"], lens, most=1)
    ['Which methods are used for honey bees?']
    """
    step = max(1, -(-len(titles) // READ))
    read = [" ".join(title.split()) for title in titles[::step] if title.strip()]
    topics = _topics(read)[:most]
    topics += [f"“{t}”" for t in read if len(t) <= LONGEST_TITLE][: most - len(topics)]
    return [_question(topic, lens, at) for at, topic in enumerate(topics)]


def _question(topic: str, lens: Lens, at: int) -> str:
    if not lens.aspects:
        return f"What is said about {topic}?"
    aspect = lens.aspects[at % len(lens.aspects)]
    own = _QUESTIONS.get(aspect.key)
    if own is None:
        return f"What is said about {topic} ({aspect.name.lower()})?"
    return own.format(topic=topic)


def _topics(titles: Sequence[str]) -> list[str]:
    """Two or three words in a row that several titles have, the most frequent first; none that
    shares a word with one before it."""
    counts: Counter[str] = Counter()
    for title in titles:
        words = _WORD.findall(title.lower())
        phrases = {
            " ".join(words[at : at + length])
            for length in (2, 3)
            for at in range(len(words) - length + 1)
            if _LINKING.isdisjoint(words[at : at + length])
            and min(map(len, words[at : at + length])) > 2
        }
        counts.update(phrases)
    # Of phrases as frequent, the longer one says more.
    found = sorted(counts, key=lambda phrase: (-counts[phrase], -len(phrase), phrase))
    topics: list[str] = []
    used: set[str] = set()
    for phrase in found:
        if counts[phrase] >= FEWEST and used.isdisjoint(phrase.split()):
            topics.append(phrase)
            used.update(phrase.split())
    return topics
