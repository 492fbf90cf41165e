"""What a visit holds: known by a cookie, its person's alone, forgotten in time, never printed."""

import re

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pages._common.visit_memory import Visits
from pages._login.requests import VISIT, Responses, visit_cookie
from pages._login.requests import VISIT_COOKIE as COOKIE

KEY = "sk-Zq8vT3nR5wXy7Lm2"


def client(address="http://testserver"):
    routes = [
        Route("/", lambda _: HTMLResponse("<p>a page")),
        Route("/health", lambda _: JSONResponse({"well": True})),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(Responses, visit_cookie)])
    return TestClient(app, base_url=address)


def test_a_browser_gets_one_id_that_scripts_cannot_read_and_keeps_it():
    browser = client()
    said = browser.get("/").headers["set-cookie"]
    assert re.fullmatch(rf"{COOKIE}={VISIT.pattern}; Path=/; HttpOnly; SameSite=Lax", said), (
        "it ends with the browser, as it has no age"
    )
    assert "set-cookie" not in browser.get("/").headers
    assert client().get("/").headers["set-cookie"] != said, "another browser gets another"


@pytest.mark.parametrize("forged", ["x", "a" * 42, "../../etc/passwd"])
def test_an_id_that_was_not_given_out_is_replaced(forged):
    browser = client()
    browser.cookies.set(COOKIE, forged)
    assert VISIT.search(browser.get("/").headers["set-cookie"])


def test_a_visit_finds_what_it_left_and_nobody_else_does():
    visits = Visits()
    visits.memory("browser", "ada@example.org")["model"] = {"key": KEY}
    assert visits.memory("browser", "ada@example.org") == {"model": {"key": KEY}}
    assert visits.memory("browser", "ben@example.org") == {}, "another person in this browser"
    assert visits.memory("browser", "") == {}
    assert visits.memory("another", "ada@example.org") == {}


def test_who_logs_out_is_forgotten_also_where_a_page_still_runs():
    visits = Visits()
    running = visits.memory("browser", "ada@example.org")
    running["model"] = {"key": KEY}
    visits.memory("browser", "ben@example.org")["model"] = "kept"
    visits.forget("browser", "ada@example.org")
    visits.forget("browser", "ada@example.org")
    assert running == {}
    assert visits.memory("browser", "ada@example.org") == {}
    assert visits.memory("browser", "ben@example.org") == {"model": "kept"}


def test_a_visit_is_forgotten_when_it_was_not_used_for_long():
    now = 0.0
    visits = Visits(seconds=60, clock=lambda: now)
    visits.memory("old", "")["a"] = 1
    visits.memory("used", "")["b"] = 2
    now = 50.0
    assert visits.memory("used", "") == {"b": 2}
    now = 70.0
    assert visits.memory("used", "") == {"b": 2}
    assert visits.memory("old", "") == {}


def test_the_least_recently_used_visit_gives_way_when_there_are_too_many():
    visits = Visits(most=2)
    for name in ("first", "second"):
        visits.memory(name, "")["name"] = name
    visits.memory("first", "")
    visits.memory("third", "")
    assert visits.memory("first", "") == {"name": "first"}
    assert visits.memory("second", "") == {}


def test_what_is_printed_of_a_memory_shows_no_key():
    visits = Visits()
    memory = visits.memory("browser-id", "ada@example.org")
    memory["model_connection"] = {"OPENAI_API_KEY": KEY}
    for text in (repr(memory), str(memory), f"{memory}", repr(visits), repr(vars(visits))):
        assert KEY not in text
    assert "model_connection" in repr(memory)
