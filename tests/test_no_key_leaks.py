"""The key of an endpoint goes to the endpoint and nowhere else."""

import json
import logging
import pickle
import traceback
from dataclasses import asdict

import pytest
from pydantic import SecretStr

from engine.config import Settings
from engine.explorer import Explorer
from engine.llm.client import complete
from engine.llm.endpoints import Budget, Endpoint
from engine.types.people import Person
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import (
    ALIKE,
    KEY,
    OTHERS,
    answers,
    compared,
    connection,
    judged,
    knowledge,
)

FAULTS = ["401", "404", "429", "500", "malformed", "html", "cut"]


def files_with(folder, text):
    return [p for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]


@pytest.mark.parametrize("fault", [*FAULTS, "wrong key"])
def test_no_error_log_or_file_holds_the_key_whatever_the_server_says(home, fault, caplog):
    caplog.set_level(logging.DEBUG)  # of all libraries too
    store = answers(home)
    texts = []
    with serving(knowledge()) as server:
        judged(server, store, lambda judge: judge.compare([(ALIKE[0], OTHERS[0])]))
        assert server.seen.keys == {KEY}, "the endpoint does get it"
        if fault == "wrong key":
            server.behaviour.key = "another"  # its error repeats the key that it was sent
        else:
            server.behaviour.faults = {fault: 1.0}

        async def ask(judge):  # type: ignore[no-untyped-def]
            return await judge.grade_each(ALIKE)

        try:
            outcome = judged(server, store, ask)
            texts += [repr(outcome), json.dumps(asdict(outcome.usage))]
        except Exception as error:
            texts += [str(error), repr(error), "".join(traceback.format_exception(error))]
            texts.append(_whole_chain(error))
        try:  # and at the first question of all, when nothing is known of the endpoint
            compared(server, answers(home / "fresh"))
        except Exception as error:
            texts += [str(error), "".join(traceback.format_exception(error)), _whole_chain(error)]
    texts += [caplog.text, *(repr(vars(record)) for record in caplog.records)]
    assert texts
    assert not [text for text in texts if KEY in text]
    assert files_with(home, KEY) == []
    assert files_with(home, '"text"') or files_with(home, "pairwise"), "the files were looked at"


def _whole_chain(error):
    """What loggers that show causes and attributes would show."""
    shown = []
    while error is not None:
        shown.append(f"{error!r} {vars(error)!r}")
        error = error.__cause__ or error.__context__
    return "\n".join(shown)


def test_nothing_that_can_be_printed_or_exported_shows_the_key(home, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = Settings(llm_max_calls=3)
    with serving(knowledge()) as server:
        conn = connection(server.url, budget=Budget(calls=3))

        async def work(client):  # type: ignore[no-untyped-def]
            return repr(client) + repr(client._transport) + repr(client._transport._client)

        outcome = complete(conn, answers(home), work)
        shown = [
            *(repr(settings), settings.model_dump_json(), str(settings.model_dump())),
            *(repr(conn), repr(outcome), outcome.value, str(conn.endpoint)),
            json.dumps(asdict(conn), default=str),
        ]
    assert not [text for text in shown if KEY in text]


def test_nothing_of_the_environment_is_sent_but_the_key_of_its_own_address(home, monkeypatch):
    """Else the operator's access would let in whoever enters an address."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: secret-1\nAuthorization: secret-1")
    for name in ("ORG_ID", "PROJECT_ID", "API_KEY", "ADMIN_KEY"):
        monkeypatch.setenv(f"OPENAI_{name}", "secret-2")
    lead = Person("grace@example.org", "Grace", "lead")
    with serving(knowledge()) as server:
        compared(server, answers(home), key="")
        verifier = Explorer(Settings(home=home)).acting_as(lead).verifier
        for key in ("", "their-own"):
            said = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": key}
            verifier.check(verifier.find_endpoint({**said, "SEEDLENS_LLM_MODEL": "dear"}, {}))
        assert server.seen.keys == {"none", "their-own"}
        assert "secret" not in str(server.seen.headers)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        verifier.check(verifier.find_endpoint({**said, "SEEDLENS_LLM_MODEL": "dear"}, {}))
        assert "secret" not in str(server.seen.headers), "also to the operator's address"
        own = Explorer(Settings(home=home, llm_model="dear")).verifier
        own.check(own.find_endpoint({}, {}))
        assert server.seen.headers["x-gateway"] == "secret-1"


def test_settings_that_cannot_be_read_do_not_show_the_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SEEDLENS_LLM_MAX_CALLS", KEY)  # pasted into the wrong variable
    with pytest.raises(ValueError, match="max_calls") as caught:
        Settings()
    assert KEY not in str(caught.value)


def test_an_endpoint_that_is_pickled_on_purpose_still_works():
    endpoint = Endpoint("http://host/v1", "m", SecretStr(KEY))
    assert pickle.loads(pickle.dumps(endpoint)) == endpoint  # noqa: S301 - our own
