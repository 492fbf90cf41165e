"""Rows in memory are read as rows of a file are, whatever holds them."""

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.ingest.source import check, content_hash, open_source, unique_documents
from engine.lenses.definitions import RESEARCH
from tests.engine.ingest.reading_files import MAX_CHARS
from tests.fakes.small_corpus import DOCUMENTS


def read(rows, **mapping):
    return list(open_source(rows, mapping=mapping, lens=RESEARCH))


@pytest.mark.parametrize(
    "holding",
    [
        list,
        lambda documents: (document for document in documents),
        pd.DataFrame,
        lambda documents: pd.DataFrame(documents).convert_dtypes(dtype_backend="pyarrow"),
        lambda documents: pa.table(pd.DataFrame(documents)),
        lambda documents: pa.table(pd.DataFrame(documents)).to_reader(max_chunksize=7),
    ],
    ids=["dicts", "generator", "frame", "frame of Arrow columns", "Arrow table", "Arrow reader"],
)
def test_the_same_documents_whatever_holds_them(holding, small_source):
    in_memory = open_source(holding(DOCUMENTS), lens=RESEARCH)
    of_file = open_source(small_source, lens=RESEARCH)
    expected = [content_hash(d) for d in unique_documents(of_file)]
    for _ in range(2):  # a source can be read as often as needed
        assert [content_hash(d) for d in unique_documents(in_memory)] == expected
    assert check(in_memory, MAX_CHARS) == check(of_file, MAX_CHARS)


def test_missing_values_and_the_types_of_numpy_and_pandas_are_no_part_of_a_document():
    frame = pd.DataFrame(
        {
            "id": [1.0, 2.0],
            "text": ["One.", "Two."],
            "year": pd.array([2011, None], dtype="Int64"),
            "authors": [np.array(["Ada Lovelace", "Grace Hopper"]), None],
            "read": pd.to_datetime(["2024-03-01", None]),
            "score": np.array([0.5, np.nan], dtype=np.float32),
            7: [np.int64(3), pd.NA],
        }
    )
    first, second = read(frame)
    assert (first.doc_id, first.year, first.authors) == (
        "1", 2011, ("Ada Lovelace", "Grace Hopper"),
    )  # fmt: skip
    assert first.metadata == {"read": "2024-03-01T00:00:00", "score": 0.5, "7": 3}
    assert (second.doc_id, second.year, second.authors, second.metadata) == ("2", None, (), {})


def test_scalars_of_numpy_may_stand_in_dicts():
    day = np.datetime64("2024-03-01T00:00:00", "ns")
    (document,) = read([{"id": np.int64(7), "text": np.str_("One."), "year": day}])
    assert (document.doc_id, document.text, document.year) == ("7", "One.", 2024)


def test_columns_are_mapped_as_those_of_a_file():
    rows = [{"PMID": 7, "Body": "One.", "when": date(2020, 5, 1), "metadata": {"venue": "ACL"}}]
    (document,) = read(rows, doc_id="PMID", text="Body", year="when")
    assert (document.doc_id, document.year, document.metadata) == ("7", 2020, {"venue": "ACL"})
    with pytest.raises(UnknownNameError, match="no column 'pmid'"):
        read(rows, doc_id="pmid")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame({"id": ["a", None], "text": ["One.", "Two."]}), "row 2: no id"),
        ([{"id": "a", "text": "One."}, "Two."], "row 2 is text, not a dict"),
        (pd.DataFrame({"id": [], "text": []}), "no documents in a table in memory"),
        ({"id": ["a"], "text": ["One."]}, "An object is not a table"),
        (7, "Of type int is not a table"),
    ],
)
def test_a_fault_names_its_row(rows, message):
    with pytest.raises(BadInputError, match=message):
        check(open_source(rows, lens=RESEARCH), MAX_CHARS)


def test_columns_of_one_name_are_told_apart_as_in_a_file():
    frame = pd.DataFrame([["a", "One.", "Two."]], columns=["id", "text", "text"])
    for rows in (frame, pa.table([["a"], ["One."], ["Two."]], names=["id", "text", "text"])):
        (document,) = read(rows)
        assert (document.text, document.metadata) == ("One.", {"text (2)": "Two."})
