"""Cuts a wording into clauses, each for or against what it speaks of.

A wording turns at punctuation, conjunctions and negations. A negation holds for what follows it
("ignore the topic"), or, where nothing follows that could be meant, for what stands before it
("the topic does not matter"); two in a row cancel out ("do not ignore the method"). Whether a
clause against something rules out an aspect, or is part of a statement ("trained without
labels"), is not decided here: :mod:`engine.lenses.instructions` knows what names an aspect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LISTED = 3
"""Words that a part of a list has at most, when it takes over the direction before it."""

_TURN = re.compile(
    r"""
    (?P<hard>[;()\n–—]+|[:.!?]+(?=\s|$))
    |(?P<comma>,+)
    |\b(?:
    (?P<affirm>not\ (?:only|just|merely|solely)|just|nothing\ (?:but|except|other\ than)|none\ but
        |(?<!not\ )(?<!n't\ )(?:only|solely|purely|exclusively))
    |(?P<asking>
        (?:anything|everything|all|anywhere)\ (?:but|except(?:\ for)?)(?!\ not)
        |could(?:n't|\ not)\ care\ less|no\ matter|never\ mind|nothing\ (?:about|to\ do\ with)
        |not\ so\ much|less\ (?:about|on|interested\ in|for)
        |ignor(?:e|es|ing|ed)|disregard\w*|regardless(?:\ of)?|irrespective(?:ly)?(?:\ of)?
        |whatever|whichever|whoever|wherever|except(?:ing)?(?:\ for)?|exclud(?:e|ing)
        |leav(?:e|ing)\ (?:out|aside)|left\ (?:out|aside)|(?:set|put|setting|putting)\ aside
        |omit\w*|skip\w*|drop(?=\ the\b)|forget(?:\ about)?|apart\ from|aside\ from|other\ than
        |save\ for|spare\ me|minus(?=\ (?:the|any|all)\b)|(?<=want\ to\ )miss|unrelated(?:\ to)?
        |irrelevant|unimportant|immaterial|indifferent(?:\ to)?
        |beside\ the\ point|secondary|optional|aside|avoid|filter\ out|rule\ out
        |(?:an)?other(?=\ (?:\w+\ )?(?:fields?|domains?|topics?|subjects?|areas?|problems?|tasks?
            |applications?|disciplines?|themes?|questions?|approach(?:es)?|methods?)\b)
        |(?:an)?other(?=\ \w+\s*(?:[,.;:!?)]|$))
        |any(?=\ (?:\w+\ )?\w+\s*(?:[,.;:!?)]|$|will\b|is\b|goes\b|would\b))
    )
    |(?P<plain>
        have\ nothing|none\ of|nothing|not|never|no|neither|nor|cannot|\w+n't|dont|doesnt|without
        |independent(?:ly)?\ (?:of|from)|rather\ than|instead\ of|as\ opposed\ to|in\ place\ of
        |unlike|differ(?:s|ing|ent|ently)?|var(?:y|ies)|dissimilar|opposite
        |(?<=more\ )than|than(?=\ (?:the|in|about|on|its|their|how|what|why|for)\b)
    )
    |(?P<turn>but|yet|though|although|even\ (?:if|though|when)|while|whereas|as\ long\ as|however
        |provided(?:\ that)?|so\ long\ as|because|since|nevertheless|still)
    |(?P<join>(?<!how\ )(?<!when\ )(?<!where\ )(?<!why\ )(?:and|or)
        |plus|together\ with|as\ well\ as|along\ with|both)
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Where a wording may turn; ``asking`` are negations that only somebody who asks would use."""
_ASKS = re.compile(
    r"\s*(?:(?:be|really|so|very|much|at all|it|to|I|of)\s+)*(?:car(?:e|es|ed)|interest\w*|matters?"
    r"|minds?|important|bother\w*|want\w*|look\w*|relevant|concern\w*|count|only|just|necessarily)\b",
    re.IGNORECASE,
)
"""What makes a negation one of asking: "I do not care about", "is not important"."""
_VERB = re.compile(
    r"\b(?:(?:does|do|did|is|are|was|were|be|has|have|had|can|will)\s+(?:not|never|no)|cannot|\w+n't)$",
    re.IGNORECASE,
)
_FILLING_WORDS = """
    the a an of to in on for with by from at as about into is are was were be been being it its
    this that these those they them their there he she his her who which what i me my we you
    your do does did done should must may might can could would will shall need needs needed
    have has had want wanted wants care cares cared mind worry bother bothered interested
    interest interests interesting matter matters mattered count counts counted important
    importance relevant relevance necessary necessarily required require essential crucial
    decisive consider considered considering account take taken look looking pay attention
    really much all any anything everything else here just simply please also even either too so
    very whole rest same similar alike identical equal match matches matching agree agrees share
    shared sharing overlap coincide play plays role part concern concerned kept other point less
    more only specific particular case one ones thanks thank thing things way ways ok okay well
    find show give papers paper articles studies work works documents posts conversations
"""
_FILLING = frozenset(_FILLING_WORDS.split())
"""Words that name nothing by themselves: a negation before nothing but them looks back."""
_FOR = re.compile(
    r"\W*(?:the |of |in )*(?:same|similar|like|alike|identical|comparable|only)\b", re.I
)
_OPERATORS = ("asking", "plain", "affirm")
_LESS = re.compile(r"\s*(?:less|not so much)\b", re.IGNORECASE)
_REACHES_BACK = (":", "(", "–", "—")
_WORDS = re.compile(r"\w+(?:'\w+)?")


@dataclass(slots=True)
class Clause:
    """A part of a wording.

    Attributes:
        text: what it speaks of, the negation left out.
        against: whether it rules out what it speaks of.
        asks: whether the negation is one that only somebody who asks would use ("ignore").
        verb: whether it is a verb that is negated ("does not improve"), other than in asking.
        follows: whether it goes on from the clause before it, with no punctuation between them.
        start, end: where it stands in the wording, the negation included.
        apart: whether punctuation that ends a sentence stands before it.
    """

    text: str
    against: bool
    start: int
    end: int
    apart: bool = False
    asks: bool = False
    verb: bool = False
    follows: bool = False


@dataclass(slots=True)
class _Piece:
    before: str
    mark: str
    start: int
    begins: int
    negations: int = 0
    affirms: bool = False
    asks: bool = False
    verb: bool = False
    closed: bool = False
    end: int = 0


def split_clauses(words: str) -> list[Clause]:
    """Cut a wording where its direction may change.

    >>> [(c.text, c.against) for c in split_clauses("same design, ignore the topic")]
    [('same design', False), ('the topic', True)]
    >>> [(c.text, c.against) for c in split_clauses("the topic does not matter")]
    [('the topic does', True)]
    """
    words = words.replace("’", "'")
    pieces = _look_back(_pieces(words), words)
    clauses: list[Clause] = []
    against = asks = False
    for piece in pieces:
        text = words[piece.begins : piece.end].strip()
        if piece.negations or piece.affirms or not _goes_on(piece, text):
            against = piece.negations % 2 == 1 and not piece.affirms
            asks = against and piece.asks
        after = (against, asks) if not piece.closed else (False, False)
        if says_something(text):
            apart, follows = piece.before == "hard", piece.before == "" and bool(clauses)
            verb = against and piece.verb
            clauses.append(
                Clause(text, against, piece.start, piece.end, apart, asks, verb, follows)
            )
        against, asks = after
    return clauses or [Clause(words.strip(), False, 0, len(words))]


def _pieces(words: str) -> list[_Piece]:
    """The parts between the turns, each with the negations before it."""
    pieces = [_Piece("hard", "", 0, 0)]
    for turn in _TURN.finditer(words):
        kind, last = turn.lastgroup or "", pieces[-1]
        if turn[0].casefold() == "than" and _LESS.match(words, last.start):
            kind = "turn"  # less about this than about that
        if turn[0].casefold() == "any" and last.negations:
            continue
        filling = not says_something(words[last.begins : turn.start()])
        if kind in _OPERATORS:
            if not (filling and (last.negations or last.affirms)):
                last.end = turn.start()
                last = _Piece("", "", turn.start(), turn.end())
                if filling and pieces[-1].begins == pieces[-1].start:  # nothing stood between
                    last.before, last.mark = pieces[-1].before, pieces[-1].mark
                    last.start = pieces.pop().start
                pieces.append(last)
            last.begins = turn.end()
            last.negations += kind != "affirm"
            last.verb = last.verb or bool(_VERB.search(words, 0, turn.end()))
            last.asks = last.asks or kind == "asking" or bool(_ASKS.match(words, turn.end()))
            last.affirms = last.affirms or kind == "affirm"
        elif kind == "join" and filling and not last.negations:
            last.begins = turn.end()
        else:
            last.end = turn.start()
            pieces.append(_Piece(kind, turn[0].strip()[:1], turn.end(), turn.end()))
    pieces[-1].end = len(words)
    return pieces


def _look_back(pieces: list[_Piece], words: str) -> Iterable[_Piece]:
    """Negations with nothing behind them are given to what stands before them."""
    kept: list[_Piece] = []
    for piece in pieces:
        empty = not says_something(words[piece.begins : piece.end])
        near = piece.before == "" or piece.mark in _REACHES_BACK or piece.asks
        if not (piece.negations and empty and near and kept and not piece.affirms):
            kept.append(piece)
            continue
        kept[-1].negations = kept[-1].negations or piece.negations
        kept[-1].asks = kept[-1].asks or piece.asks
        for later, earlier in zip(reversed(kept), reversed(kept[:-1]), strict=False):
            if later.before != "join" or len(words[earlier.begins : earlier.end].split()) > LISTED:
                break
            earlier.negations = earlier.negations or piece.negations
            earlier.asks = earlier.asks or piece.asks
        kept[-1].end, kept[-1].closed = piece.start, True
    return kept


def _goes_on(piece: _Piece, text: str) -> bool:
    """True for what merely continues a list: "not the topic, the field or the task"."""
    if piece.before not in ("comma", "join") or _FOR.match(text):
        return False
    return len(text.split()) <= LISTED


def says_something(text: str) -> bool:
    """Whether a text names or states anything, or only asks.

    >>> says_something("I do care about"), says_something("the topic")
    (False, True)
    """
    return any(word.casefold() not in _FILLING for word in _WORDS.findall(text))
