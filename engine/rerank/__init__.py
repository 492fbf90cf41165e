"""Reranking: pure algorithms that take a judge."""

from engine.rerank.modes import DEFAULT_MODE, MODES, Mode, estimate, find_mode, rerank
from engine.rerank.protocols import (
    Estimate,
    Judge,
    OnRound,
    Options,
    Progress,
    Reranked,
    StopAsking,
)

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
