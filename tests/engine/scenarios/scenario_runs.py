"""Runs in which scenarios are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.explorer import Explorer
from engine.types.scenarios import ScenarioJob, ScenarioRequest
from tests.fakes.model_answers import MODEL
from tests.fakes.model_server import ModelServer
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import ended, make_explorer

SMALL = ScenarioRequest("small")
EXTRACTS = ScenarioRequest("small", "extractive")
COUNT = len(DOCUMENTS)


def connected(home: Path, server: ModelServer, **settings: Any) -> Explorer:
    return make_explorer(home, openai_base_url=server.url, llm_model=MODEL, **settings)


def wait(explorer: Explorer, job_id: str, enough: Any = lambda job: False) -> ScenarioJob:
    """The job when it has ended, or when ``enough`` says so."""
    return ended(lambda: explorer.scenarios.jobs.job(job_id), enough=enough)
