"""The launcher: security headers, warm-up, and the router. Run with ``make run``."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route
from starlette.types import Message, Scope

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from engine.people import keep_files_private  # noqa: E402 - needs the path above
from pages._common.modules import base_path, modules, preload  # noqa: E402 - needs the path above
from pages._login.guard import GuardSessions  # noqa: E402 - needs the path above
from pages._login.requests import (  # noqa: E402 - needs the path above
    Change,
    Responses,
    SameOrigin,
    is_page,
    only_https,
    return_after_login,
    visit_cookie,
)

keep_files_private()


def content_security_policy() -> str:
    """Nothing but this server: no remote images, scripts, frames or forms.

    ``blob:`` is how Streamlit loads components; its one inline script is named by hash.
    """
    index = (Path(st.__file__).parent / "static" / "index.html").read_text("utf-8")
    inline = re.findall(r"<script>(.*?)</script>", index, re.DOTALL)
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in inline)
    scripts = " ".join(f"'sha256-{h}'" for h in hashes)
    return (
        "default-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
        f"script-src 'self' {scripts} blob:; worker-src 'self' blob:; "
        "frame-ancestors 'none'; form-action 'none'; base-uri 'self'"
    )


SECURITY = {
    "content-security-policy": content_security_policy(),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


def security_headers(scope: Scope) -> Change:
    """Adds the headers to every HTTP response, and to pages the modules that components share."""

    def add(_: Message, headers: MutableHeaders) -> None:
        headers.update(SECURITY)
        if is_page(headers):
            headers.append("link", preload(scope["path"].rpartition("/")[2]))

    return add


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Warm up beside the server, so that the first page need not wait for the models."""
    from pages._common.shared import tidy_daily, warm_up
    from pages._login.login import log_setup

    log_setup()
    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    threading.Thread(target=tidy_daily, name="tidy", daemon=True).start()
    yield


def figure_font(_: Request) -> FileResponse:
    """The letters of exported figures, which a page asks for when it makes one."""
    return FileResponse(ROOT / "assets" / "figures" / "font.json")


app = st.App(
    str(ROOT / "pages" / "_router.py"),
    lifespan=lifespan,
    routes=[Route(f"{base_path()}/figures/font.json", figure_font), modules()],
    middleware=[
        Middleware(Responses, security_headers),
        Middleware(SameOrigin),
        Middleware(Responses, only_https),
        Middleware(GuardSessions),
        Middleware(Responses, return_after_login),
        Middleware(Responses, visit_cookie),
    ],
)
