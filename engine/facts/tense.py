"""The tense around an expression of time: whether it looks back or ahead."""

from __future__ import annotations

import re

from engine.facts.lexicon import word_lists
from engine.types.documents import Span

LISTS = word_lists("time")
FUTURE = re.compile(
    r"\b(?:will|shall|won't|won’t|going to|gonna|due|deadline|please|let's|let’s|should|must|can"
    r"|can't|can’t|could you|would you|expires?|starts?|begins?|ends?|leaves?|(?:re)?opens?|closes?"
    r"|returns?|meets?|arrives?|runs?|takes? place|lasts?|see you|(?:is|are|be|'s|’s) (?:\w+ly )?"
    r"(?:scheduled|planned|set|expected|booked|due|away|off|back|\w+ing)|plans?|hope|hopes|intends?|upcoming|tomorrow)\b"
    r"|['’]ll\b"
)
PAST = re.compile(
    rf"\b(?:{'|'.join(sorted(LISTS['past']))}|(?!(?:{'|'.join(sorted(LISTS['no_past']))})\b)[a-z]+ed)\b"
)
PASSIVE = re.compile(
    r"\b(?:is|are|be|being|am) (?:\w+ly )?[a-z]+(?:ed|id|pt|ent|wn|en|ld|ght|lt)\b"
)
"""The present passive: its participle is no past."""
COPULA = re.compile(r"(?:\b(?:is|are)|['’]s|\bam)(?:\s(?:not|only|on|this|the|for|from|by))*\s*$")
CLAUSE_END = re.compile(r"[.;!?:\n](?=\s|$)|$")
CLAUSE_START = re.compile(r"[.;!?:\n](?=\s)")


def tense_at(lowered: str, span: Span) -> int:
    """Return the tense around an expression: -1 past, 1 future, 0 when no word tells.

    Of the words that tell in its clause the nearest decides, those before it first.
    """
    reach = lowered[max(0, span[0] - 160) : span[0]]
    before = reach[max((m.end() for m in CLAUSE_START.finditer(reach)), default=0) :]
    stop = CLAUSE_END.search(lowered, span[1], min(len(lowered), span[1] + 160))
    after = lowered[span[1] : stop.start() if stop else span[1] + 160]
    if COPULA.search(before):
        return 1
    for piece, end in ((before, -1), (after, 0)):
        marks = [(m.span(), 1) for m in FUTURE.finditer(piece)]
        covered = [place for place, _ in marks] + [m.span() for m in PASSIVE.finditer(piece)]
        marks += [
            (m.span(), -1)
            for m in PAST.finditer(piece)
            if not any(low <= m.start() < high for low, high in covered)
        ]
        if marks:
            return sorted(marks)[end][1]
    return 0
