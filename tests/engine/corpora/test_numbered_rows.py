"""Rows without id are called by their file and number: no import makes other documents of them."""

import pytest

from engine.errors import BadInputError
from engine.types.corpora import ImportRequest, Repairs
from tests.support import make_explorer, write_jsonl

BREAD = [{"title": f"Bread {n}", "text": f"We bake bread number {n}."} for n in range(5)]
WHALES = [{"title": f"Whale {n}", "text": f"We count whale number {n}."} for n in range(3)]


@pytest.fixture
def explorer(home):
    return make_explorer(home, maps=False)


def imported(explorer, file, rows):
    file.parent.mkdir(exist_ok=True)
    request = ImportRequest(write_jsonl(file, rows), "mine", repairs=Repairs(number_ids=True))
    return explorer.library.import_documents(request)


def titles(explorer):
    corpus = explorer.library.open("mine")
    return {one.doc_id: one.title for one in corpus.documents(corpus.doc_ids)}


@pytest.mark.parametrize(
    ("rows", "named"),
    [(WHALES, "export-1"), ([*BREAD[:3], BREAD[4]], "export-4")],
    ids=["another file", "a row taken out"],
)
def test_rows_take_the_place_of_no_other(explorer, tmp_path, rows, named):
    imported(explorer, tmp_path / "first" / "export.jsonl", BREAD)
    before = titles(explorer), explorer.library.corpus("mine")
    with pytest.raises(BadInputError, match=f"'{named}', are those of other documents in 'mine'"):
        imported(explorer, tmp_path / "second" / "export.jsonl", rows)
    assert (titles(explorer), explorer.library.corpus("mine")) == before
    assert imported(explorer, tmp_path / "second" / "whales.jsonl", WHALES).added == 3


def test_rows_in_their_places_are_corrected_and_added_to(explorer, tmp_path):
    imported(explorer, tmp_path / "export.jsonl", BREAD)
    other = [{**row, "text": f"{row['text']} It rises."} for row in BREAD[:3]]
    other += [{**BREAD[3], "title": "Rye"}, BREAD[4], WHALES[1]]
    report = imported(explorer, tmp_path / "later" / "export.jsonl", other)
    assert (report.added, report.updated, report.documents) == (1, 4, 6)
    assert titles(explorer)["export-4"] == "Rye"
