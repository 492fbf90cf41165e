"""The Build page under AppTest: its steps, and the tables in them."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from engine.build.opened_build import OpenBuild
from engine.explorer import Explorer
from engine.types.builds import BuildSpec, Cluster
from tests.pages import visits
from tests.pages.visits import run

LENS = BuildSpec("small", "methods", "How they went about it.", smallest=2, largest=9)
METHODS = {"survey": "asking by post", "sensor": "devices left in place"}
HOSTILE = '<img src="http://192.0.2.1/x.png"> **bold** $x$'


def visit(**params: str) -> AppTest:
    """The page on the small corpus, at a link with these parameters."""
    return visits.visit("build", **{"corpus": "small", **params})


def step(name: str) -> AppTest:
    """The page at a step of the build ``methods``."""
    return visit(build="methods", step=name)


def table(page: AppTest, place: str) -> tuple[str, list[dict[str, Any]]]:
    """The widget's key and the rows of the table of this name."""
    found = next(e for e in page.dataframe if (e.key or "").startswith(f"{place}_"))
    return str(found.key), found.value.to_dict("records")


def open_row(page: AppTest, place: str, key: str) -> AppTest:
    """The page after a click on the row of this key."""
    page.session_state[f"{place}_open"] = key
    return run(page)


def tick(page: AppTest, place: str, rows: list[int]) -> AppTest:
    """The page after rows of a table were ticked, by their numbers."""
    key, _ = table(page, place)
    page.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    return run(page)


def opened(explorer: Explorer) -> OpenBuild:
    """The build ``methods``."""
    return explorer.builds.open("small", "methods")


def named(explorer: Explorer, name: str) -> Cluster:
    """The cluster of this name."""
    return next(cluster for cluster in opened(explorer).clusters() if cluster.name == name)
