"""The scripts of components as ES modules, which the app serves from ``assets/components``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "components"
_SHARED = ("base.js", "vendor/lit-html.js")


def _version() -> str:
    content = b"".join(file.read_bytes() for file in sorted(FOLDER.rglob("*.js")))
    return hashlib.sha256(content).hexdigest()[:16]


ADDRESS = f"components/{_version()}"
"""Where the modules are, relative to a page; after a change of any of them, elsewhere."""
PRELOAD = ", ".join(f"<{ADDRESS}/{name}>; rel=modulepreload" for name in _SHARED)
"""The ``Link`` header of a page: what all components import is there before the first of them."""


class _Modules(StaticFiles):
    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


def base_path() -> str:
    """``server.baseUrlPath`` as the beginning of a path, "" for none."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def modules() -> Mount:
    """The route of the modules."""
    return Mount(f"{base_path()}/{ADDRESS}", _Modules(directory=FOLDER))
