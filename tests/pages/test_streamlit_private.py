"""What each private function of Streamlit must do for SeedLens: an upgrade fails here first."""

import json

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from pages._login import streamlit_private


def test_a_message_of_a_page_names_its_kind_and_what_is_no_message_is_none():
    said = streamlit_private.message_of(BackMsg(app_heartbeat=True).SerializeToString())
    assert said is not None
    assert said.WhichOneof("type") == "app_heartbeat"
    assert streamlit_private.message_of(b"\xff\xff") is None


def test_a_login_is_read_from_its_cookie_only_if_this_server_signed_it():
    claims = json.dumps({"email": "ada@example.org"})
    name = streamlit_private.USER_COOKIE
    signed = create_signed_value(get_cookie_secret(), name, claims).decode()
    read = streamlit_private.signed_login({name: signed})
    assert read is not None
    assert json.loads(read) == {"email": "ada@example.org"}
    assert streamlit_private.signed_login({name: f"{signed[:-4]}0000"}) is None
    assert streamlit_private.signed_login({}) is None


@pytest.mark.parametrize(
    ("host", "known"), [("localhost:8501", True), ("127.0.0.1", True), ("evil.example", False)]
)
def test_only_names_of_this_server_are_allowed(monkeypatch, host, known):
    monkeypatch.setattr("streamlit.config.get_option", lambda _: ["localhost", "127.0.0.1"])
    assert streamlit_private.is_host_allowed(host) is known
