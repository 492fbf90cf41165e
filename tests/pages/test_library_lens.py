"""Choosing, writing and changing a lens on the Library page."""

from __future__ import annotations

import pytest

from engine.lenses.definitions import POSTS
from tests.fakes.small_corpus import DOCUMENTS
from tests.pages.import_page import give_path, shown
from tests.pages.visits import run, visit
from tests.support import write_jsonl


@pytest.fixture
def form(fresh, serve, tmp_path):
    """The import form over a file whose sentences have roles."""
    source = write_jsonl(tmp_path / "papers.jsonl", DOCUMENTS[:3])
    serve(fresh)
    return give_path(visit("library"), source)


def start(page, fresh, monkeypatch):
    """Press Index; what would be imported, without a process."""
    requests: list[object] = []
    monkeypatch.setattr(fresh.library.jobs, "start", lambda asked, owner: requests.append(asked))
    page.button(key="library_index").click()
    run(page)
    return requests


def test_an_import_takes_the_lens_that_was_chosen(form, fresh, monkeypatch):
    form.selectbox(key="library_new_lens").set_value("posts")
    assert "A · Advice" in shown(run(form))
    (request,) = start(form, fresh, monkeypatch)
    assert request.lens == POSTS  # type: ignore[attr-defined]


def test_the_sources_roles_can_be_left_aside(form, fresh, monkeypatch):
    form.checkbox[0].set_value(False)
    run(form)
    (request,) = start(form, fresh, monkeypatch)
    assert request.mapping["roles"] == ""  # type: ignore[attr-defined]
