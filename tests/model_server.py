"""A model that knows the answers: a real HTTP server that speaks the OpenAI chat protocol.

It judges by the grades of a test collection, as well or as badly as it is told, and misbehaves
on demand. Every answer follows from its seed and the content of the request, in whatever order
requests come, so that two runs over it are the same run.

    python -m tests.model_server --qrels assets/demo --port 8000 --noise 0.6 --latency 0.3
    python -m tests.model_server --qrels ../shared/data/csfcube-open --fail 429=0.1,cut=0.05

Then set OPENAI_BASE_URL=http://127.0.0.1:8000/v1 and SEEDLENS_LLM_MODEL=judge.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.model_answers import FAULTS, MODEL, Answerer, Behaviour, Knowledge, read_knowledge


@dataclass
class Seen:
    """What came in: ``questions`` are chat requests but for those that try the endpoint out;
    ``turned_away`` ones of any kind had the wrong key."""

    requests: int = 0
    questions: int = 0
    turned_away: int = 0
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
        self.gone = threading.Event()
        handler = type("Handler", (_Handler,), {"model": self})
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


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if not self._let_in():
            return
        card: dict[str, Any] = {"id": self.model.behaviour.model, "object": "model"}
        if self.model.behaviour.context:
            card["max_model_len"] = self.model.behaviour.context
        card |= {"created": 0, "owned_by": "tests"}
        self._send(200, {"object": "list", "data": [card]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self._let_in():
            return
        seen, behaviour = self.model.seen, self.model.behaviour
        prompt = "\n".join(message["content"] for message in body["messages"])
        content = json.dumps(body, sort_keys=True)
        with self.model.lock:
            seen.requests += 1
            number = seen.requests
            repeat = seen.repeats[content]
            seen.repeats[content] += 1
            if "starting document" in prompt or "wording" in prompt or "question" in prompt:
                seen.questions += 1
                seen.prompts.append(prompt)
                seen.bodies.append(body)
            seen.under_way += 1
            seen.most_at_once = max(seen.most_at_once, seen.under_way)
        try:
            if behaviour.most_requests is not None and number > behaviour.most_requests:
                self._hang_up()
            elif not self._refused(body, prompt):
                self._answer(body, prompt, self.model.answerer.fault(content, repeat))
        finally:
            with self.model.lock:
                seen.under_way -= 1

    def _let_in(self) -> bool:
        if self.model.gone.is_set():
            self._hang_up()
            return False
        key = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        self.model.seen.keys.add(key)
        self.model.seen.headers |= {n.lower(): value for n, value in self.headers.items()}
        expected = self.model.behaviour.key
        if expected is not None and key != expected:
            self.model.seen.turned_away += 1
            # Some servers do repeat the key that they were sent.
            self._error(401, f"Incorrect API key provided: {key}.", code="invalid_api_key")
            return False
        return True

    def _refused(self, body: Mapping[str, Any], prompt: str) -> bool:
        behaviour = self.model.behaviour
        if body["model"] != behaviour.model:
            self._error(404, f"The model `{body['model']}` does not exist.", "model_not_found")
            return True
        roles = {"system"} if any(m["role"] == "system" for m in body["messages"]) else set()
        used = set(body) | roles
        if body.get("top_logprobs", 0) <= 5:
            used.discard("top_logprobs")
        for name in sorted(behaviour.refuses & used):
            self._error(400, f"Unsupported parameter: '{name}'.", param=name)
            return True
        limit = behaviour.context
        if limit is not None and len(prompt) / 4 > limit:
            message = f"This model's maximum context length is {limit} tokens."
            self._error(400, message, "context_length_exceeded")
            return True
        return False

    def _answer(self, body: Mapping[str, Any], prompt: str, fault: str) -> None:
        behaviour = self.model.behaviour
        self.model.gone.wait(behaviour.latency * (10 if fault == "slow" else 1))
        if fault.isdigit():
            headers = {}
            if fault == "429" and behaviour.retry_after is not None:
                headers["Retry-After"] = f"{behaviour.retry_after:g}"
            self._error(int(fault), f"fault {fault}", headers=headers)
        elif fault == "timeout":
            self.model.gone.wait(3600)
        elif fault == "malformed":
            self._raw(200, b'{"choices": [{"message": {"content"', "application/json")
        elif fault == "html":
            self._raw(200, b"<html><body>Welcome</body></html>", "text/html")
        else:
            self._send(200, self._completion(body, prompt, fault), cut=fault == "cut")

    def _completion(self, body: Mapping[str, Any], prompt: str, fault: str) -> dict[str, Any]:
        text, options = self.model.answerer.answer(prompt, body)
        if fault == "empty":
            text = ""
        elif fault == "prose":
            text = f"I find that {text} is hard to tell from the rest."
        spoken = (
            f"<think>Could it be A or B? A.</think>\n{text}"
            if self.model.behaviour.thinks
            else text
        )
        logprobs = None
        if body.get("logprobs") and self.model.behaviour.logprobs and fault != "no-logprobs":
            logprobs = {"content": [_token(text, options, body["top_logprobs"])]}
        return {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 0,
            "model": "another" if fault == "wrong-model" else body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": spoken},
                    "logprobs": logprobs,
                }
            ],
            "usage": {
                "prompt_tokens": len(prompt) // 4,
                "completion_tokens": len(spoken) // 4 + 1,
                "total_tokens": len(prompt) // 4 + len(spoken) // 4 + 1,
            },
        }

    def _error(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        error = {"message": message, "type": "invalid", "param": param, "code": code}
        self._send(status, {"error": error}, headers or {})

    def _send(
        self, status: int, value: Any, headers: Mapping[str, str] | None = None, cut: bool = False
    ) -> None:
        self._raw(status, json.dumps(value).encode(), "application/json", headers or {}, cut)

    def _raw(
        self,
        status: int,
        content: bytes,
        kind: str,
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        if self.model.gone.is_set():
            self._hang_up()
            return
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(2)


@contextmanager
def serving(knowledge: Knowledge, **behaviour: Any) -> Iterator[ModelServer]:
    """A running server; gone when the block ends."""
    server = ModelServer(knowledge, Behaviour(**behaviour))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _token(text: str, options: list[tuple[str, float]], most: int) -> dict[str, Any]:
    ranked = sorted(options, key=lambda option: -option[1])[:most]
    top = [{"token": t, "bytes": None, "logprob": math.log(max(p, 1e-9))} for t, p in ranked]
    logprob = top[0]["logprob"] if top else 0.0
    return {"token": text, "bytes": None, "logprob": logprob, "top_logprobs": top}


def _shares(text: str) -> dict[str, float]:
    shares = {}
    for part in filter(None, text.split(",")):
        fault, _, share = part.partition("=")
        if fault not in FAULTS:
            raise argparse.ArgumentTypeError(f"'{fault}' is none of {', '.join(FAULTS)}")
        shares[fault] = float(share or 1)
    return shares


def main(arguments: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
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
    options = parser.parse_args(arguments)
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
    server = ModelServer(read_knowledge(options.qrels), behaviour, options.port)
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
