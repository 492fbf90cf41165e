"""``seedlens import openalex:...`` and ``seedlens update``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.command_line import run_inside
from tests.fakes.service_server import Paper, ServiceServer, serving_papers


@pytest.fixture
def services() -> Iterator[ServiceServer]:
    with serving_papers(30) as server:
        yield server


def test_a_service_stands_in_place_of_a_file_and_is_asked_again_for_an_update(
    home: Path, services: ServiceServer, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    def run(*args: object) -> tuple[int, str, str]:
        said = run_inside(home, *args, **services.environment)
        return said.code, said.stdout, said.stderr

    model = ("--encoder", tiny_model("small"))
    code, said, _ = run("import", "openalex:Everything", "--limit", 20, *model)
    assert code == 0
    assert "'openalex-Everything' holds 20 documents: 20 added" in said
    code, said, warned = run("update", "openalex-Everything", "--json")
    assert code == 0
    assert '"unchanged": 20' in said
    assert "the limit of 20 leaves the rest out" in warned

    ids = tmp_path / "ids.txt"
    ids.write_text(f"{Paper(1).sha}\n{Paper(2).sha}, DOI:10.5555/none\n", encoding="utf-8")
    code, said, warned = run("import", f"s2:@{ids}", "--name", "two", *model)
    assert code == 0
    assert "'two' holds 2 documents" in said
    assert "1 id does not exist at Semantic Scholar: DOI:10.5555/none." in warned

    code, _, said = run("import", "openalex:everything else", "--name", "two", "--map", "id=x")
    assert code == 2
    assert "needs no --format and no --map" in said
    # Another query makes no corpus of the same name without being told to.
    code, _, said = run("import", "openalex:Everything!")
    assert code == 2
    assert "A corpus called openalex-Everything is there already" in said
    code, _, said = run("update", "nothing")
    assert code == 2
    assert "There is no corpus 'nothing'" in said
    code, said, _ = run("corpora", "--json")
    [_, two] = json.loads(said)
    [source] = two["services"]
    assert source["query"].startswith("s2:000")
    assert source["documents"] == 2
