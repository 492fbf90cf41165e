"""A model that knows the answers: a real HTTP server that speaks the OpenAI chat protocol.

It judges by the grades of a test collection, as well or as badly as it is told, and misbehaves
on demand. Every answer follows from its seed and the content of the request, in whatever order
requests come, so that two runs over it are the same run.

    python -m tests.fakes.model_server --qrels assets/demo --port 8000 --set noise=0.6 latency=0.3
    python -m tests.fakes.model_server --qrels assets/demo --set 'faults={"429": 0.1, "cut": 0.05}'
    python -m tests.fakes.model_server --qrels ../shared/data/csfcube-open --judge middle

Then set OPENAI_BASE_URL=http://127.0.0.1:8000/v1 and SEEDLENS_LLM_MODEL=judge.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.simulated_judges import CHARACTERS, Character, SimulatedJudge
from tests.fakes.loopback import Handler, Loopback
from tests.fakes.model_answers import (
    Answerer,
    Behaviour,
    Knowledge,
    aspect_of,
    fenced_texts,
    read_knowledge,
)

TRYING_OUT = "Answer with the one letter A and nothing else."
WORDS_PER_CHUNK = 3
CUT = {"Content-Length": "100000"}  # more than is sent


class ModelRequests(Handler):
    owner: ModelServer

    def do_GET(self) -> None:
        if not self._let_in():
            return
        card: dict[str, Any] = {"id": self.owner.behaviour.model, "object": "model"}
        if self.owner.behaviour.context:
            card["max_model_len"] = self.owner.behaviour.context
        card |= {"created": 0, "owned_by": "tests"}
        self._send(200, {"object": "list", "data": [card]})

    def do_POST(self) -> None:
        self._due = time.monotonic() + self.owner.behaviour.latency
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self._let_in():
            return
        seen, behaviour = self.owner.seen, self.owner.behaviour
        prompt = "\n".join(message["content"] for message in body["messages"])
        # The same fault whether the answer is streamed or not.
        asked = {name: value for name, value in body.items() if not name.startswith("stream")}
        content = json.dumps(asked, sort_keys=True)
        with self.owner.lock:
            seen.requests += 1
            number = seen.requests
            repeat = seen.repeats[content]
            seen.repeats[content] += 1
            if TRYING_OUT not in prompt:
                seen.questions += 1
                seen.prompts.append(prompt)
                seen.bodies.append(body)
            seen.under_way += 1
            seen.most_at_once = max(seen.most_at_once, seen.under_way)
        try:
            if behaviour.most_requests is not None and number > behaviour.most_requests:
                self._hang_up()
            elif not self._refused(body, prompt):
                with self.owner.slots:
                    self._answer(body, prompt, self.owner.answerer.fault(content, repeat))
        except OSError:
            with self.owner.lock:
                seen.dropped += 1
            self.close_connection = True
        finally:
            with self.owner.lock:
                seen.under_way -= 1

    def _let_in(self) -> bool:
        if self.owner.gone.is_set():
            self._hang_up()
            return False
        key = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        self.owner.seen.keys.add(key)
        self.owner.seen.headers |= {n.lower(): value for n, value in self.headers.items()}
        expected = self.owner.behaviour.key
        if expected is not None and key != expected:
            self.owner.seen.turned_away += 1
            # Some servers do repeat the key that they were sent.
            self._error(401, f"Incorrect API key provided: {key}.", code="invalid_api_key")
            return False
        return True

    def _refused(self, body: Mapping[str, Any], prompt: str) -> bool:
        behaviour = self.owner.behaviour
        if body["model"] != behaviour.model:
            self._error(404, f"The model `{body['model']}` does not exist.", "model_not_found")
            return True
        roles = {"system"} if any(m["role"] == "system" for m in body["messages"]) else set()
        used = set(body) | roles | {str(body.get("response_format", {}).get("type"))}
        if body.get("top_logprobs", 0) <= 5:
            used.discard("top_logprobs")
        for name in sorted(behaviour.refuses & used):
            said = behaviour.refusal
            self._error(400, said.format(name), param=name if "{}" in said else None)
            return True
        limit = behaviour.context
        if limit is not None and len(prompt) / 4 > limit:
            message = f"This model's maximum context length is {limit} tokens."
            self._error(400, message, "context_length_exceeded")
            return True
        return False

    def _answer(self, body: Mapping[str, Any], prompt: str, fault: str) -> None:
        behaviour = self.owner.behaviour
        if fault == "slow":
            self._due += 9 * behaviour.latency
        if fault.isdigit():
            self._wait()
            headers = {"Retry-After-Ms": "20"}  # nobody has to wait for repeats
            if fault == "429" and behaviour.retry_after is not None:
                headers = {"Retry-After": f"{behaviour.retry_after:g}"}
            self._error(int(fault), f"fault {fault}", headers=headers)
        elif fault == "timeout":
            self.owner.gone.wait(3600)
        elif fault == "malformed":
            self._wait()
            self.raw(200, b'{"choices": [{"message": {"content"', "application/json")
        elif fault == "html":
            self._wait()
            self.raw(200, b"<html><body>Welcome</body></html>", "text/html")
        else:
            completion = self._completion(body, prompt, fault)
            self._wait()
            if body.get("stream") and behaviour.streams:
                self._stream(completion, body, fault)
            elif fault == "cut":
                content = json.dumps(completion).encode()
                self.raw(200, content[: len(content) // 2], "application/json", CUT)
                self._hang_up()
            else:
                self._send(200, completion)

    def _wait(self) -> None:
        """Until the answer is due: what it takes to make one is part of the latency."""
        self.owner.gone.wait(max(0.0, self._due - time.monotonic()))

    def _stream(self, whole: Mapping[str, Any], body: Mapping[str, Any], fault: str) -> None:
        """The completion as server-sent events, a few words each."""
        [choice] = whole["choices"]
        behaviour = self.owner.behaviour
        words = re.findall(r"\S+\s*|\s+", choice["message"]["content"])
        shared = {"id": whole["id"], "object": "chat.completion.chunk", "model": whole["model"]}
        shared |= {"created": 0}
        starts = range(0, len(words), WORDS_PER_CHUNK)
        texts = ["".join(words[at : at + WORDS_PER_CHUNK]) for at in starts]
        if fault == "cut":
            texts = texts[: max(1, len(texts) // 2)]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        logprobs = choice["logprobs"]
        for text in texts:
            part = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            self._event({**shared, "choices": [{**part, "logprobs": logprobs}]})
            logprobs = None  # a completion of the tests has those of one token only
            self.owner.gone.wait(behaviour.pause)
        if fault == "stall":
            self.owner.gone.wait(3600)
        if fault in ("cut", "stall"):
            self._hang_up()
            return
        end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        self._event({**shared, "choices": [end]})
        if (body.get("stream_options") or {}).get("include_usage"):
            self._event({**shared, "choices": [], "usage": whole["usage"]})
        self._part(b"data: [DONE]\n\n")
        self._part(b"")

    def _event(self, value: Any) -> None:
        self._part(f"data: {json.dumps(value)}\n\n".encode())

    def _part(self, content: bytes) -> None:
        """A part of a response in chunked transfer encoding; the empty one ends it."""
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()

    def _completion(self, body: Mapping[str, Any], prompt: str, fault: str) -> dict[str, Any]:
        text, options = self.owner.answerer.answer(prompt, body)
        if fault == "empty":
            text = ""
        elif fault == "prose":
            text = f"I find that {text} is hard to tell from the rest."
        elif fault == "other-json":
            text = '{"something": "else"}'
        spoken = (
            f"<think>Could it be A or B? A.</think>\n{text}"
            if self.owner.behaviour.thinks
            else text
        )
        logprobs = None
        if body.get("logprobs") and self.owner.behaviour.logprobs and fault != "no-logprobs":
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
        self._send(status, {"error": error}, headers)

    def _send(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self.raw(status, json.dumps(value).encode(), "application/json", headers)

    def raw(
        self, status: int, content: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        if self.owner.gone.is_set():
            self._hang_up()
        else:
            super().raw(status, content, kind, headers)

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(2)


def _token(text: str, options: list[tuple[str, float]], most: int) -> dict[str, Any]:
    ranked = sorted(options, key=lambda option: -option[1])[:most]
    top = [{"token": t, "bytes": None, "logprob": math.log(max(p, 1e-9))} for t, p in ranked]
    logprob = top[0]["logprob"] if top else 0.0
    return {"token": text, "bytes": None, "logprob": logprob, "top_logprobs": top}


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


class ModelServer(Loopback):
    """The server, with what came in."""

    def __init__(
        self, knowledge: Knowledge, behaviour: Behaviour | None = None, port: int = 0
    ) -> None:
        super().__init__(ModelRequests, port)
        self.behaviour = behaviour or Behaviour()
        self.answerer = Answerer(knowledge, self.behaviour)
        self.seen = Seen()
        self.lock = threading.Lock()
        self.slots = threading.Semaphore(self.behaviour.at_once or sys.maxsize)
        self.url = f"{self.root}/v1"


def serving(knowledge: Knowledge, **behaviour: Any) -> ModelServer:
    """A server that runs while its block does."""
    return ModelServer(knowledge, Behaviour(**behaviour))


def _options(arguments: list[str] | None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--qrels", type=Path, required=True, help="folder of a test collection")
    add("--port", type=int, default=8000)
    add("--judge", choices=[c.name for c in CHARACTERS], help="of benchmarks/simulated_judges.py")
    add("--set", dest="fields", nargs="*", default=[], help="NAME=JSON, fields of Behaviour")
    return vars(parser.parse_args(arguments))


def main(arguments: list[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    options = _options(arguments)
    fields = {
        name: json.loads(value) for name, value in (f.split("=", 1) for f in options["fields"])
    }
    behaviour, knowledge = Behaviour(**fields), read_knowledge(options["qrels"])
    for character in CHARACTERS:
        if character.name == options["judge"]:
            behaviour.handlers = [simulated(character, knowledge)]
    with ModelServer(knowledge, behaviour, options["port"]) as server:
        environment = f"OPENAI_BASE_URL={server.url} SEEDLENS_LLM_MODEL={behaviour.model}"
        sys.stdout.write(f"export {environment}\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.gone.wait()
    sys.stderr.write(f"{server.seen.requests} requests, {server.seen.most_at_once} at once\n")


UNSURE = "I cannot tell."
"""Said twice, it is no answer."""


def simulated(character: Character, knowledge: Knowledge) -> Callable[..., Any]:
    """Answers pairs, single documents and lists as ``SimulatedJudge`` does, query by query."""

    @lru_cache(maxsize=256)
    def judge(seed: str, aspect: str) -> SimulatedJudge:
        return SimulatedJudge(character, f"{seed}_{aspect}", knowledge.grades(seed, aspect))

    def answer(prompt: str, _: Mapping[str, Any]) -> Any:
        seed, shown = knowledge.documents(prompt)
        if not seed or not shown:
            return None
        if "A or B" in prompt:
            return _said("A", "B", judge(seed, aspect_of(prompt)).pair(*shown[-2:]))
        if "yes or no" in prompt:
            return _said("yes", "no", judge(seed, aspect_of(prompt)).grade(shown[-1]))
        if "[2] > [1]" in prompt:
            order = judge(seed, aspect_of(prompt)).listing(shown) or []
            return " > ".join(f"[{shown.index(doc_id) + 1}]" for doc_id in order) or UNSURE
        return None

    return answer


def _said(first: str, second: str, probability: float | None) -> Any:
    if probability is None:
        return UNSURE
    options = [(first, probability), (second, 1 - probability)]
    likely = max(options, key=lambda option: option[1])[0]
    return likely, [(token, share) for token, share in options if share]


WORDS = {"method": "method", "procedure": "method", "finding": "result", "result": "result",
         "problem": "background", "background": "background"}  # fmt: skip


def obedient(answerer: Answerer) -> Callable[[str, Mapping[str, Any]], Any]:
    """A handler that takes the aspect from the wording; without one, whatever is alike counts."""

    def answer(prompt: str, body: Mapping[str, Any]) -> Any:
        wording = fenced_texts(prompt, "wording")
        if not wording or aspect_of(prompt):
            return None
        said = re.findall(r"\w+", wording[0].lower())
        aspect = next((WORDS[word] for word in said if word in WORDS), "")
        return answerer.answer(f"{prompt}\nAspect: {aspect}", body) if aspect else None

    return answer


if __name__ == "__main__":
    main()
