"""The scripts of components as ES modules, which the app serves from ``assets/components``."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "components"
_SHOWN = {
    "": ["menu", "skip", "trail", "help", "seed", "reading", "results"],
    "map": ["menu", "map", "map_part"],
    "compare": ["menu", "compare_variants", "compare_flow", "compare_papers", "save_chart"],
    "annotate": ["menu", "annotate"],
}
"""Components that pages show at once."""
_FILES = {
    file.relative_to(FOLDER).as_posix(): file.read_bytes() for file in sorted(FOLDER.rglob("*.js"))
}
"""Name -> content, as they are when the app starts: an upgrade changes the files before it."""
VERSION = hashlib.sha256(repr(_FILES).encode()).hexdigest()[:16]
ADDRESS = f"components/{VERSION}"
"""Where the modules are, relative to a page; after a change of any of them, elsewhere."""


def _with_imports(name: str) -> set[str]:
    """A module and all that it imports."""
    imported = re.findall(r'from "\./([\w/-]+\.js)"', _FILES[name].decode())
    return {name}.union(*map(_with_imports, imported))


@lru_cache(maxsize=64)
def preload(page: str) -> str:
    """The ``Link`` header of a page: its modules load while Streamlit's scripts do.

    Args:
        page: the last part of its path, "" for Explore.
    """
    shown = _SHOWN.get(page, ["menu"])
    names = set().union(*(_with_imports(f"{name}.js") for name in shown))
    return ", ".join(f"<{ADDRESS}/{name}>; rel=modulepreload" for name in sorted(names))


def _module(request: Request) -> Response:
    """A module; also for an address of another version, which another server may have given."""
    content = _FILES.get(request.path_params["name"])
    if content is None:
        return Response(status_code=404)
    kept = request.path_params["version"] == VERSION
    cache = "public, max-age=31536000, immutable" if kept else "no-store"
    return Response(content, media_type="text/javascript", headers={"cache-control": cache})


def base_path() -> str:
    """``server.baseUrlPath`` as the beginning of a path, "" for none."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def modules() -> Route:
    """The route of the modules."""
    return Route(f"{base_path()}/components/{{version}}/{{name:path}}", _module)
