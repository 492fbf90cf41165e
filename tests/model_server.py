"""A model that knows the answers: a real HTTP server that speaks the OpenAI chat protocol.

It judges by the grades of a test collection, as well or as badly as it is told, and misbehaves
on demand. Every answer follows from its seed and the content of the request, in whatever order
requests come, so that two runs over it are the same run.

    python -m tests.model_server --qrels assets/demo --port 8000 --noise 0.6 --latency 0.3
    python -m tests.model_server --qrels ../shared/data/csfcube-open --fail 429=0.1,cut=0.05
    python -m tests.model_server --qrels ../shared/data/csfcube-open --judge middle

Then set OPENAI_BASE_URL=http://127.0.0.1:8000/v1 and SEEDLENS_LLM_MODEL=judge.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.simulated_judges import CHARACTERS
from tests.model_answers import FAULTS, MODEL, Answerer, Behaviour, Knowledge, read_knowledge
from tests.model_http import Handler
from tests.model_simulated import simulated


@dataclass
class Seen:
    """What came in: ``questions`` are chat requests but for those that try the endpoint out;
    ``turned_away`` ones of any kind had the wrong key; ``dropped`` ones nobody waited for."""

    requests: int = 0
    questions: int = 0
    turned_away: int = 0
    dropped: int = 0
    under_way: int = 0
    most_at_once: int = 0
    repeats: Counter[str] = field(default_factory=Counter)
    prompts: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)


class ModelServer:
    """The server, in threads of its own, on loopback.

    Attributes:
        behaviour: how it answers.
        seen: what came in.
    """

    def __init__(
        self, knowledge: Knowledge, behaviour: Behaviour | None = None, port: int = 0
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.answerer = Answerer(knowledge, self.behaviour)
        self.seen = Seen()
        self.lock = threading.Lock()
        self.slots = threading.Semaphore(self.behaviour.at_once or sys.maxsize)
        self.gone = threading.Event()
        handler = type("Bound", (Handler,), {"model": self})
        self._http = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Gone: connections that are open are cut, new ones refused."""
        self.gone.set()
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # clients may hang up
            super().handle_error(request, client_address)


@contextmanager
def serving(knowledge: Knowledge, **behaviour: Any) -> Iterator[ModelServer]:
    """A running server; gone when the block ends."""
    server = ModelServer(knowledge, Behaviour(**behaviour))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _shares(text: str) -> dict[str, float]:
    shares = {}
    for part in filter(None, text.split(",")):
        fault, _, share = part.partition("=")
        if fault not in FAULTS:
            raise argparse.ArgumentTypeError(f"'{fault}' is none of {', '.join(FAULTS)}")
        shares[fault] = float(share or 1)
    return shares


def _options(arguments: list[str] | None) -> argparse.Namespace:
    default = Behaviour()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--qrels", type=Path, required=True, help="folder of a test collection")
    parser.add_argument("--port", type=int, default=8000)
    for name in ("noise", "pair_noise", "bias", "sharpness", "latency"):
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=float, default=getattr(default, name)
        )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--judge",
        choices=[character.name for character in CHARACTERS],
        help="one of benchmarks/simulated_judges.py, in place of noise, bias and sharpness",
    )
    parser.add_argument(
        "--fail", type=_shares, default={}, help="429=0.1,cut=0.05; of: " + ", ".join(FAULTS)
    )
    parser.add_argument("--retry-after", type=float, help="seconds that a 429 asks to wait")
    parser.add_argument(
        "--refuse", default="", help="parts of requests: max_tokens,temperature,..."
    )
    parser.add_argument("--no-logprobs", action="store_true", help="drop them without a word")
    parser.add_argument("--thinks", action="store_true", help="write <think> first")
    parser.add_argument("--context", type=int, help="tokens accepted")
    parser.add_argument("--key", help="the only key accepted")
    parser.add_argument("--model", default=MODEL)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    options = _options(arguments)
    behaviour = Behaviour(
        **{name: getattr(options, name) for name in ("noise", "pair_noise", "bias", "sharpness")},
        latency=options.latency,
        seed=options.seed,
        faults=options.fail,
        retry_after=options.retry_after,
        refuses=frozenset(filter(None, options.refuse.split(","))),
        logprobs=not options.no_logprobs,
        thinks=options.thinks,
        context=options.context,
        key=options.key,
        model=options.model,
    )
    knowledge = read_knowledge(options.qrels)
    for character in CHARACTERS:
        if character.name == options.judge:
            behaviour.handlers = [simulated(character, knowledge)]
    server = ModelServer(knowledge, behaviour, options.port)
    server.start()
    sys.stdout.write(f"export OPENAI_BASE_URL={server.url} SEEDLENS_LLM_MODEL={options.model}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
    server.stop()
    sys.stderr.write(f"{server.seen.requests} requests, {server.seen.most_at_once} at once\n")


if __name__ == "__main__":
    main()
