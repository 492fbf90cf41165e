"""Reranking: pure algorithms that take a judge."""

from engine.rerank.modes import DEFAULT_MODE, MODES, Mode, estimate, find_mode, rerank
from engine.rerank.protocols import Judge, StopAsking
from engine.rerank.results import Estimate, OnRound, Options, Progress, Reranked

__all__ = [
    "DEFAULT_MODE",
    "MODES",
    "Estimate",
    "Judge",
    "Mode",
    "OnRound",
    "Options",
    "Progress",
    "Reranked",
    "StopAsking",
    "estimate",
    "find_mode",
    "rerank",
]
