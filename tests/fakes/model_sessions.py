"""What the tests of language models share: the small corpus, judged by a server on loopback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from engine.jobs.runner import JobRunner
from engine.lenses.definitions import RESEARCH, find_aspect
from engine.llm.client import Client, Outcome, Work, ask_model, complete
from engine.llm.endpoints import Budget, Connection, Endpoint
from engine.llm.judges import Criterion, ModelJudge
from engine.types.reranking import RerankJob
from engine.types.searches import Query
from storage.answers import Answers
from storage.ledger import Ledger
from tests.fakes.model_answers import MODEL, Knowledge
from tests.fakes.model_server import ModelServer
from tests.fakes.small_corpus import DOCUMENTS, METHODS, PROBLEMS
from tests.support import ended

if TYPE_CHECKING:
    from engine.explorer import Explorer

KEY = "sk-Zq8vT3nR5wXy7Lm2"
SEED = "bees-network"
QUERY = Query("small", seed=SEED, aspect="method", system="dense")
TEXTS = {
    d["doc_id"]: "\n".join([d["title"], d.get("text") or " ".join(d["sentences"])])
    for d in DOCUMENTS
}
ALIKE = [f"{problem}-network" for problem in PROBLEMS if problem != "bees"]
"""Documents with the seed's method: grade 3."""
OTHERS = [f"{p}-{m}" for p in PROBLEMS for m in METHODS if m != "network" and p != "bees"]
PAIRS = [(a, b) for a in ALIKE for b in OTHERS][:20]


def knowledge() -> Knowledge:
    """The small corpus, in which documents with the seed's method are alike."""
    return Knowledge(TEXTS, {f"{SEED}_method": dict.fromkeys(ALIKE, 3)})


def reranked(explorer: Explorer, job_id: str, seconds: float = 180.0) -> RerankJob:
    """A reranking in the background, once it has ended."""
    return ended(lambda: explorer.verifier.job(job_id), seconds=seconds)


def session(server: ModelServer, **changes: str) -> Endpoint:
    """The endpoint of a tests' server; ``changes`` by the names of :func:`entered`."""
    values = entered(server, **changes)
    return Endpoint(
        values["OPENAI_BASE_URL"], values["SEEDLENS_LLM_MODEL"], SecretStr(values["OPENAI_API_KEY"])
    )


def entered(server: ModelServer, **changes: str) -> dict[str, str]:
    """What a person enters on a page to connect this model."""
    names = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, "SEEDLENS_LLM_MODEL": MODEL}
    return {**names, **changes}


def criterion() -> Criterion:
    """Alike in method to the seed."""
    aspect = find_aspect(RESEARCH, "method")
    return Criterion(TEXTS[SEED], aspect.name, aspect.definition, aspect.instruction)


def answers(home: Path) -> Answers:
    """The answers in the ledger of a home."""
    home.mkdir(parents=True, exist_ok=True)
    return Ledger(home / "ledger.sqlite").answers


def forget_answers(home: Path) -> None:
    """Nobody was asked anything yet."""
    Ledger(home / "ledger.sqlite").answers.forget()


def connection(url: str, **changes: Any) -> Connection:
    """A connection that does not wait long."""
    key, model = changes.pop("key", KEY), changes.pop("model", MODEL)
    values = {"timeout": 15.0, "retries": 3, "budget": Budget(), **changes}
    return Connection(Endpoint(url, model, SecretStr(key)), **values)


def judged(
    server: ModelServer | str,
    store: Answers,
    ask: Callable[[ModelJudge], Awaitable[Any]],
    texts: dict[str, str] | None = None,
    **changes: Any,
) -> Outcome[Any]:
    """Let a model judge; the outcome's value is (what was asked for, the judge's report)."""
    url = server if isinstance(server, str) else server.url

    async def work(client: Client) -> Any:
        judge = ModelJudge(client, criterion(), texts or TEXTS)
        return await ask(judge), judge.report

    return complete(connection(url, **changes), store, work)


def compared(server: ModelServer | str, store: Answers, **changes: Any) -> Outcome[Any]:
    """:data:`PAIRS`, compared in one round."""
    return judged(server, store, lambda judge: judge.compare(PAIRS), **changes)


def begun(connection: Connection, store: Answers, work: Work[Any]) -> tuple[JobRunner, str]:
    """Work with a model in a thread: its runner, and the id of the job."""
    jobs = JobRunner()
    job_id = jobs.start(
        "asking", lambda tell, stop: ask_model(connection, store, work, tell, stop), None
    )
    return jobs, job_id


def begun_comparing(server: ModelServer, store: Answers, **changes: Any) -> tuple[JobRunner, str]:
    """:data:`PAIRS`, compared in a thread."""

    async def work(client: Client) -> Any:
        return await ModelJudge(client, criterion(), TEXTS).compare(PAIRS)

    return begun(connection(server.url, **changes), store, work)
