"""Services that are down, slow, too busy or wrong: a clear message, and nothing lost."""

from __future__ import annotations

import json
import logging
import time
from collections import deque

import pytest

from engine.errors import ServiceError
from engine.sources import client
from engine.sources import services as retrieving
from engine.sources.client import ATTEMPTS, Client
from engine.sources.services import warnings_of
from tests.engine.sources.asking_services import KEY, query_of

ALL = "openalex:everything"


def ids(home, name="retrieved"):
    """Of all documents that are committed, in their order."""
    state = json.loads((home / name / "state.json").read_text("utf-8"))
    content = (home / name / "documents.jsonl").read_bytes()[: state["bytes"]]
    return [json.loads(line)["doc_id"] for line in content.splitlines()]


WORKS = [f"W{n}" for n in range(1, 251)]


@pytest.mark.parametrize("fault", ["429 retry=0", "403", "503", "html", "broken", "odd", "hang up"])
def test_what_passes_is_waited_out(retrieve, services, home, fault):
    services.behaviour.faults = deque(["ok", fault, fault, "ok", fault])
    assert retrieve(ALL).documents == 250
    assert ids(home) == WORKS
    assert len(services.seen) == 4 + 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("429", "OpenAlex gets too many requests"),
        ("500", "OpenAlex has a problem of its own (status 500)"),
        ("html", "OpenAlex answered with a web page, not data"),
        ("broken", "OpenAlex answered with something that is no JSON"),
        ("odd", "in a form that SeedLens does not know"),
        ("hang up", "OpenAlex cannot be reached, or broke off its answer"),
        ("400", "OpenAlex does not accept the request (status 400): fault 400"),
        ("429 retry=86400", "OpenAlex wants no more requests for 24.0 hours"),
        ("429 retry=Wed, 21 Oct 2099 07:28:00 GMT", "OpenAlex wants no more requests for"),
    ],
)
def test_what_does_not_pass_is_said_and_the_same_query_goes_on_after_the_last_page(
    retrieve, services, home, fault, said
):
    services.behaviour.faults = deque(["ok", "ok", *[fault] * 20])
    with pytest.raises(ServiceError) as caught:
        retrieve(ALL)
    assert said in caught.value.message
    assert len(services.seen) <= 2 + ATTEMPTS
    assert ids(home) == WORKS[:200]
    services.behaviour.faults.clear()
    services.seen.clear()
    assert retrieve(ALL).documents == 250
    assert ids(home) == WORKS
    assert services.seen[0].params["cursor"] == "at-200", "what is there is not asked for again"


def test_a_service_that_is_silent_or_gone_is_given_up(retrieve, services, monkeypatch):
    monkeypatch.setattr(client, "ATTEMPTS", 2)
    services.behaviour.faults = deque(["silent", "silent"])
    with pytest.raises(ServiceError, match="did not answer in time"):
        retrieve(ALL, service_timeout_seconds=0.05)
    gone = {"openalex": "http://127.0.0.1:9"}
    with pytest.raises(ServiceError, match="cannot be reached") as caught:
        retrieve(ALL, service_addresses=gone)
    assert "Check the connection" in caught.value.remedy


@pytest.mark.parametrize(
    ("asked", "paging", "documents"),
    [
        (ALL, "same", 100),
        (ALL, "endless", 250),
        ("arxiv:everything", "same", 200),
    ],
)
def test_a_service_that_sends_the_same_page_again_has_no_more(
    retrieve, services, home, asked, paging, documents
):
    services.behaviour.paging = paging
    done = retrieve(asked)
    assert len(ids(home)) == len(set(ids(home))) == done.documents == documents
    assert done.done
    warnings = warnings_of(done, "It", query_of(asked))
    assert [("Ask it again" in one) for one in warnings] == [True] * (documents < 245)
    assert len(services.seen) <= 10


def test_a_limit_holds_and_a_larger_one_goes_on(retrieve, services, home):
    done = retrieve(ALL, 120)
    assert (done.documents, done.stopped) == (120, False)
    assert ids(home) == WORKS[:120]
    assert warnings_of(done, "OpenAlex", query_of(ALL, 120)) == (
        "OpenAlex has 250 documents; the limit of 120 leaves the rest out.",
    )
    asked = len(services.seen)
    retrieve(ALL, 120)
    assert len(services.seen) == asked, "there are enough"
    assert retrieve(ALL, 230).documents == 230
    assert ids(home) == WORKS[:230]
    assert retrieve(ALL, 40).documents == 40
    assert ids(home) == WORKS[:40]
    assert retrieve(ALL, 100).documents == 100
    assert retrieve(ALL).documents == 250, "though a page comes again"


def test_a_run_that_is_stopped_goes_on_also_while_it_waits(retrieve, services, home):
    done = retrieve(ALL, stopped=lambda: len(services.seen) >= 2)
    assert (done.stopped, done.done) == (True, False)
    services.behaviour.faults = deque(["429 retry=100"])
    began = time.monotonic()
    asked = len(services.seen)
    done = retrieve(ALL, stopped=lambda: len(services.seen) > asked, service_pace=1.0)
    assert done.stopped
    assert time.monotonic() - began < 20, "it does not wait to its end"
    assert retrieve(ALL).documents == 250
    assert ids(home) == WORKS


def test_a_page_that_was_written_and_not_committed_is_asked_for_again(
    retrieve, services, home, monkeypatch
):
    """A kill between the two: what stands behind the committed length does not count."""
    real, writes = retrieving.write_whole, []

    def fails(*args, **options):
        writes.append(1)
        if len(writes) == 2:
            raise OSError(28, "No space left on device")
        real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(retrieving, "write_whole", fails)
    with pytest.raises(Exception, match="cannot be stored: No space left"):
        retrieve(ALL)
    assert len((home / "retrieved/documents.jsonl").read_text().splitlines()) == 200
    assert ids(home) == WORKS[:100]
    with (home / "retrieved/documents.jsonl").open("a") as out:
        out.write('{"doc_id": "W20')  # and half a line of another
    assert retrieve(ALL).documents == 250
    lines = (home / "retrieved/documents.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["doc_id"] for line in lines] == WORKS


@pytest.mark.parametrize("damage", ["state", "documents", "old"])
def test_what_cannot_be_gone_on_with_begins_anew(retrieve, services, home, damage):
    retrieve(ALL, stopped=lambda: len(services.seen) >= 2)
    state = home / "retrieved/state.json"
    if damage == "state":
        state.write_text("{}")
    elif damage == "old":
        stored = json.loads(state.read_text())
        state.write_text(json.dumps(stored | {"updated_at": "2020-01-01T00:00:00+00:00"}))
    else:
        (home / "retrieved/documents.jsonl").unlink()
    assert retrieve(ALL).documents == 250
    assert ids(home) == WORKS


def test_a_cursor_that_expired_begins_anew(retrieve, services, home):
    services.behaviour.faults = deque(["ok", "ok", *["500"] * 20])
    with pytest.raises(ServiceError):
        retrieve(ALL)
    assert len(ids(home)) == 200
    services.behaviour.faults.clear()
    services.behaviour.refused_cursors = {"at-200"}
    services.papers = services.papers[:150]
    assert retrieve(ALL).documents == 150
    assert ids(home) == WORKS[:150]


def test_no_key_is_in_a_log_an_error_or_a_file(retrieve, services, home, caplog):
    caplog.set_level(logging.DEBUG)
    services.behaviour.faults = deque(["ok", "500", "hang up", "ok", "401"])
    with pytest.raises(ServiceError) as caught:
        retrieve(ALL)
    assert services.seen[0].params["api_key"] == KEY, "the service does get it"
    chain: list[BaseException | None] = [caught.value]
    while chain[-1] is not None:
        chain.append(chain[-1].__cause__ or chain[-1].__context__)
    shown = [caplog.text, *map(repr, chain), *(repr(vars(e)) for e in chain if e)]
    shown += [p.read_text("utf-8") for p in home.rglob("*") if p.is_file()]
    assert caplog.text
    assert not [text for text in shown if KEY in text]


def test_requests_are_as_far_apart_as_the_service_asks(retrieve, services, home, monkeypatch):
    """Also between clients, and Zotero's header postpones the next one."""
    slept: list[float] = []
    monkeypatch.setattr(Client, "_sleep", lambda self, seconds: slept.append(seconds))
    for name in ("a", "b"):
        retrieve("arxiv:keeper", name=name, service_pace=1.0)
    assert slept[0] == pytest.approx(0, abs=0.5)
    assert 0 < slept[1] <= 3.0
    slept.clear()
    services.behaviour.backoff = 30
    retrieve("zotero:users/7", name="c", service_pace=1.0)
    assert 10 < max(slept) <= 30
