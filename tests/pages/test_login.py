"""The gate: nobody gets past it, what each role may open, and under whose name things are said."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    decode_signed_value,
)

from engine import people
from engine.config import ROOT
from engine.types.annotating import PoolRequest, Project
from engine.types.searches import Query
from pages._annotate.annotate_url import FOR_LEADS, NEW
from pages._common import visit_memory
from pages._login import login
from pages._login.guard import GuardSessions
from pages._login.requests import RETURN_COOKIE as COOKIE
from pages._login.requests import VISIT_COOKIE, returning_to
from tests.pages.visits import APP, address, param, run, shown

AUTH = f"""
[auth]
redirect_uri = "http://localhost:8501/oauth2callback"
cookie_secret = "{"0123456789abcdef" * 4}"
client_id = "seedlens"
client_secret = "keep-this-quiet"
server_metadata_url = "http://localhost:1/.well-known/openid-configuration"
"""
PEOPLE = """
[people]
"ada@example.org" = { name = "Ada", role = "annotator" }
"grace@example.org" = { name = "Grace", role = "lead" }
"""
PAGES = ("explore", "compare", "annotate", "evaluate", "build", "ask", "library")


@pytest.fixture
def app(small_copy, secrets, serve):
    """The whole app with login, on the corpus ``small``; nobody is logged in."""
    serve(small_copy)
    secrets.write_text(AUTH + PEOPLE)
    page = address(APP)
    page.user = {"is_logged_in": False}
    return page


def be(app, who, **claims):
    address = f"{who}@example.org"
    said = {"provider": "default", "email": address, "email_verified": True, "name": "Eve"}
    app.user = {"is_logged_in": True, **said, **claims}
    return run(app)


def test_before_login_there_is_a_button_and_nothing_of_any_page(app):
    run(app)
    assert "<h1>SeedLens</h1>" in shown(app)
    assert [button.label for button in app.button] == ["Log in"]
    for page in PAGES:
        app.switch_page(str(ROOT / "pages" / f"{page}.py"))
        run(app)
        assert [button.label for button in app.button] == ["Log in"], page
        assert {one.key for one in app.get("bidi_component")} <= {"menu"}
        assert not app.selectbox


def test_named_providers_have_a_button_each(app, secrets):
    secrets.write_text(AUTH.replace("client_id", "[auth.campus]\nclient_id") + PEOPLE)
    assert [button.label for button in run(app).button] == ["Log in with Campus"]


def test_who_is_not_on_the_list_reads_their_address_and_can_log_out(app):
    be(app, "<b>mallory")
    assert "&lt;b&gt;mallory@example.org" in shown(app)
    assert "not on the list" in shown(app)
    assert "ada" not in shown(app).lower()
    app.button(key="login_out").click()
    run(app)
    assert [button.label for button in run(app).button] == ["Log in"]


@pytest.mark.parametrize("text", [AUTH, AUTH + "= =", AUTH + '[people]\n"a@b.org" = 1'])
def test_a_login_that_is_set_up_badly_closes_the_app_and_is_logged(app, secrets, text, caplog):
    secrets.write_text(text)
    for _ in range(3):
        be(app, "grace")
    assert "SeedLens is closed" in shown(app)
    assert "a@b.org" not in shown(app)
    assert not app.button
    logged = [r.getMessage() for r in caplog.records if "Nobody can open" in r.getMessage()]
    assert len(logged) == 1
    assert "keep-this-quiet" not in caplog.text


def test_without_the_libraries_the_app_is_closed(app, monkeypatch, caplog):
    monkeypatch.setattr("engine.people.is_login_installed", lambda: False)
    assert "SeedLens is closed" in shown(be(app, "grace"))
    assert "pip install 'streamlit[auth]'" in caplog.text


def test_login_cannot_be_lost_while_the_app_runs(app, secrets):
    assert "Log out" in [button.label for button in be(app, "grace").button]
    for lost in ("", PEOPLE, 'OPENAI_API_KEY = "k"'):
        secrets.write_text(lost)
        assert "SeedLens is closed" in shown(run(app))
    secrets.unlink()
    assert "SeedLens is closed" in shown(run(app))
    secrets.write_text(AUTH + PEOPLE)
    assert "SeedLens is closed" not in shown(run(app))


def test_who_is_taken_off_the_list_is_out_on_the_next_run(app, secrets):
    be(app, "ada")
    assert app.selectbox
    secrets.write_text(AUTH + PEOPLE.replace("ada@", "ida@"))
    run(app)
    assert "not on the list" in shown(app)
    assert not app.selectbox


@pytest.mark.usefixtures("home", "fresh")
def test_what_was_open_before_somebody_got_another_role_ends_in_every_tab(secrets):
    """A button that was drawn for a lead would still do what leads may."""
    secrets.write_text(AUTH + PEOPLE)
    said = {"is_logged_in": True, "provider": "default", "email_verified": True}
    jar = cookies_of("grace@example.org", **said)
    claims = {**said, "email": "grace@example.org"}
    opened = []

    async def page(socket):
        opened.append(socket.headers["sec-websocket-protocol"])
        await socket.accept("streamlit")
        with suppress(WebSocketDisconnect):
            while True:
                await socket.send_bytes(await socket.receive_bytes())

    routes, layers = [WebSocketRoute("/", page)], [Middleware(GuardSessions)]
    client = TestClient(Starlette(routes=routes, middleware=layers), cookies=jar)

    def tab():
        return client.websocket_connect("/", subprotocols=["streamlit", "xsrf", "session"])

    def is_heard(tab):
        tab.send_bytes(BackMsg(app_heartbeat=True).SerializeToString())
        return tab.receive()["type"] == "websocket.send"

    def enter():
        """What the gate does in each run of a page."""
        person = login.would_admit(claims)
        assert person is not None
        login.let_in(jar, person, claims)
        return person

    with tab() as first:  # of a page that logged in, before the gate knew of it
        assert enter().is_lead
        with tab() as second:
            assert is_heard(first)
            assert is_heard(second)
            secrets.write_text(AUTH + PEOPLE.replace('"lead"', '"annotator"'))
            assert not enter().is_lead, "in a third tab"
            assert not is_heard(first)
            assert not is_heard(second)
    with tab() as third:
        assert is_heard(third)
        assert not enter().is_lead
        assert is_heard(third)
    assert ["session" in protocols for protocols in opened] == [False, True, False]


# -- logging out -----------------------------------------------------------------------------------


def cookies_of(who, groups=1, **claims):
    """What a browser holds after a login, as Streamlit writes it."""
    jar: dict[str, str] = {}
    secret = "0123456789abcdef" * 4

    def signed(name, value):
        return create_signed_value(secret, name, value)

    def put(name, value):
        jar[name] = signed(name, value).decode()

    in_groups = [hashlib.sha256(f"{who} {n}".encode()).hexdigest() for n in range(groups)]
    said = {"email": who, "groups": in_groups, **claims}
    for name, value in (("_streamlit_user", said), ("_streamlit_user_tokens", {})):
        set_cookie_with_chunks(put, signed, name, value, cookie_attr_size=60)
    assert decode_signed_value(secret, "_streamlit_user", jar["_streamlit_user"])
    return jar


def restart():
    """What a process knows by itself is gone."""
    people.ended_logins.cache_clear()
    login._admitted.clear()


@pytest.fixture
def fresh(monkeypatch):
    """A process that has just begun, on the home of this test."""
    restart()
    yield monkeypatch
    restart()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("groups", [1, 400], ids=["whole", "in pieces"])
def test_no_copy_of_a_cookie_logs_in_again_after_a_restart(home, groups):
    jar = cookies_of("ada@example.org", groups)
    assert len(jar) == 2 if groups == 1 else len(jar) > 4
    last = max((name for name in jar if "tokens" not in name), key=len)
    rewritten = jar[last][:-1] + chr(ord(jar[last][-1]) ^ 1)  # spare bits of the signature
    copies = [
        jar,
        {**jar, "_streamlit_user_x": "y", "_streamlit_user_99": "z", "other": "a"},
        {name: value for name, value in jar.items() if "tokens" not in name},
        {**jar, last: rewritten},
        {**jar, last: jar[last] + "!"},
    ]
    assert not any(map(login.has_ended, copies))
    login.end_login(jar)
    for _ in range(2):
        assert all(map(login.has_ended, copies))
        assert not login.has_ended(cookies_of("eve@example.org", groups))
        assert not login.has_ended({})
        restart()
    kept = b"".join(file.read_bytes() for file in home.glob("ledger.sqlite*"))
    assert kept
    assert not any(value[:40].encode() in kept for value in jar.values())


def test_who_logged_out_is_asked_to_log_in_also_after_a_restart(app, fresh):
    jar = cookies_of("ada@example.org")
    fresh.setattr(type(st.context), "cookies", property(lambda _: jar))
    be(app, "ada")
    app.button(key="login_out").click()
    app.run()
    restart()
    again = address(APP)
    be(again, "ada")
    assert [button.label for button in again.button] == ["Log in"]
    jar = cookies_of("ada@example.org, later")
    assert "Log out" in [button.label for button in be(again, "ada").button]


def test_a_visit_is_of_one_person_and_forgotten_when_they_log_out(app, fresh):
    fresh.setattr(visit_memory, "_VISITS", visit_memory.Visits())
    fresh.setattr(type(st.context), "cookies", property(lambda _: {VISIT_COOKIE: "v" * 43}))
    app.query_params["q"] = "trained without labels"
    be(app, "grace")
    assert param(be(address(APP), "grace"), "q") == "trained without labels"
    assert param(be(address(APP), "ada"), "q") == "", "another person in the same browser"
    app.button(key="login_out").click()
    app.run()
    assert param(be(address(APP), "grace"), "q") == ""


def test_pages_for_leads_are_closed_to_annotators(app):
    be(app, "ada")
    for page in ("evaluate", "build", "library"):
        app.switch_page(str(ROOT / "pages" / f"{page}.py"))
        run(app)
        assert f"{page.title()} requires the lead role." in shown(app)
        assert [button.label for button in app.button] == ["Log out"]
    be(app, "grace")
    assert "requires the lead role" not in shown(app)


def make_project(explorer, **settings):
    annotation = explorer.annotation
    project = annotation.save(Project("small", "p", **settings), "Grace")
    seed = explorer.starting_point("small")[0]
    annotation.add_queries(project, [Query("small", seed=seed, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("bm25",), 3))
    return project


def annotate(app, who, **params):
    for name, value in {"corpus": "small", "project": "p", **params}.items():
        app.query_params[name] = value
    app.switch_page(str(ROOT / "pages" / "annotate.py"))
    return be(app, who)


def parts_of(app):
    return [part for control in app.segmented_control for part in control.options]


def test_annotators_judge_and_nothing_else(app, small_copy):
    make_project(small_copy)
    for part in (*FOR_LEADS, NEW):
        annotate(app, "ada", part=part)
        assert "leads" in shown(app), part
        assert parts_of(app) == []
        assert not app.get("file_uploader")
        assert not [b for b in app.button if b.key in ("annotate_new", "annotate_fill")]
        assert app.get("bidi_component"), "the judging view is there instead"


def test_leads_have_all_parts_but_of_projects_that_name_other_leads(app, small_copy):
    make_project(small_copy)
    assert "Export and import" in parts_of(annotate(app, "grace", part="files"))
    make_project(small_copy, leads=("Ruth",))
    assert "Leads: Ruth." in shown(run(app))
    assert parts_of(app) == []


def test_a_projects_own_list_of_annotators_holds(app, small_copy):
    make_project(small_copy, annotators=("Ruth",))
    assert "&#x27;Ada&#x27; is not an annotator" in shown(annotate(app, "ada"))


def test_the_name_comes_from_the_list_and_from_nowhere_else(app, small_copy):
    make_project(small_copy)
    app.session_state["annotate_who"] = "Eve"
    annotate(app, "ada", annotator="Eve", annotate_who="Eve")
    assert not app.text_input
    sessions = app.session_state["annotate_sessions"].values()
    assert [session.who for session in sessions] == ["Ada"]


def test_without_auth_everything_is_open_and_names_are_given(app, secrets):
    secrets.unlink()
    app.user = {}
    run(app)
    assert app.selectbox
    app.switch_page(str(ROOT / "pages" / "annotate.py"))
    assert run(app).text_input(key="annotate_name")
    assert "Log out" not in [button.label for button in app.button]


@pytest.mark.parametrize(
    ("cookie", "address"),
    [
        ("L2Fubm90YXRlP2NvcnB1cz1kZW1v", "/annotate?corpus=demo"),
        ("", ""),
        ("Ly9ldmlsLmV4YW1wbGUub3Jn", ""),  # //evil.example.org
        ("L1xldmlsLmV4YW1wbGUub3Jn", ""),  # /\evil.example.org
        ("aHR0cHM6Ly9ldmlsLmV4YW1wbGUub3Jn", ""),  # https://evil.example.org
        ("L2ENClNldC1Db29raWU6IGE9Yg", ""),  # /a, a new line, another header
        ("%%%", ""),
    ],
)
def test_after_login_people_come_back_to_this_server_only(cookie, address):
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode())]
    assert returning_to({"type": "http", "headers": headers}) == address


def test_only_leads_find_a_form_to_connect_a_model(app):
    app.switch_page(str(ROOT / "pages" / "ask.py"))
    for who, may in (("ada", False), ("grace", True)):
        be(app, who)
        assert ("model_address" in [field.key for field in app.text_input]) is may
        assert ("Only leads can connect a model." in shown(app)) is not may


def test_a_model_that_a_lead_connected_is_not_in_the_way_of_the_annotator_they_become(
    app, secrets, fresh
):
    visits = visit_memory.Visits()
    fresh.setattr(visit_memory, "_VISITS", visits)
    fresh.setattr(type(st.context), "cookies", property(lambda _: {VISIT_COOKIE: "v" * 43}))
    own = {"OPENAI_BASE_URL": "https://models.example.org/v1", "SEEDLENS_LLM_MODEL": "own"}
    visits.memory("v" * 43, "grace@example.org")["model_connection"] = own
    app.switch_page(str(ROOT / "pages" / "ask.py"))
    assert "models.example.org" in shown(be(app, "grace"))
    secrets.write_text(AUTH + PEOPLE.replace('"lead"', '"annotator"'))
    assert "No language model is connected." in shown(run(app))
