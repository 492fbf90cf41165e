"""The scripts of components as ES modules, which the app serves from ``assets/components``."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "components"
_SHOWN = {
    "": ["menu", "skip", "trail", "help", "seed", "reading", "results"],
    "map": ["menu", "map", "map_part"],
    "compare": ["menu", "compare_variants", "compare_flow", "compare_papers", "save_chart"],
    "annotate": ["menu", "annotate"],
    "other": ["menu"],
}
"""Components that pages show at once."""


def _version() -> str:
    content = b"".join(file.read_bytes() for file in sorted(FOLDER.rglob("*.js")))
    return hashlib.sha256(content).hexdigest()[:16]


ADDRESS = f"components/{_version()}"
"""Where the modules are, relative to a page; after a change of any of them, elsewhere."""


def _with_imports(name: str) -> set[str]:
    """A module and all that it imports."""
    imported = re.findall(r'from "\./([\w/-]+\.js)"', (FOLDER / name).read_text("utf-8"))
    return {name}.union(*map(_with_imports, imported))


def _link(components: list[str]) -> str:
    names = set().union(*(_with_imports(f"{name}.js") for name in components))
    return ", ".join(f"<{ADDRESS}/{name}>; rel=modulepreload" for name in sorted(names))


_LINKS = {page: _link(components) for page, components in _SHOWN.items()}


def preload(page: str) -> str:
    """The ``Link`` header of a page: its modules load while Streamlit's scripts do.

    Args:
        page: the last part of its path, "" for Explore.
    """
    return _LINKS.get(page, _LINKS["other"])


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
