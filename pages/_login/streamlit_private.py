"""What SeedLens takes from Streamlit's private modules: an upgrade that moves it fails here alone.

``tests/pages/test_streamlit_private.py`` names what each of them must do.
"""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.message import DecodeError
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed as _is_host_allowed

USER_COOKIE = "_streamlit_user"
"""Streamlit's signed cookie. One that is too long is cut into NAME_1, NAME_2 ..., and it says into
how many."""


def message_of(data: bytes) -> BackMsg | None:
    """What a browser sent over its WebSocket; None for what Streamlit could not read."""
    try:
        message: BackMsg = BackMsg.FromString(data)
    except DecodeError:
        return None
    return message


def signed_login(cookies: Mapping[str, str]) -> bytes | str | None:
    """The claims in Streamlit's login cookie as JSON, put together and its signature checked; None
    without one that this server signed."""
    secret = get_cookie_secret()

    def piece(name: str) -> bytes | None:
        return decode_signed_value(secret, name, cookies.get(name, ""))

    return get_cookie_with_chunks(piece, USER_COOKIE)


def is_host_allowed(host: str | None) -> bool:
    """Whether the server has this name: this machine's, or one of ``server.allowedHosts``."""
    return _is_host_allowed(host)
