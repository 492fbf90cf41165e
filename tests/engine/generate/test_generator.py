"""What is written: the same bytes every time, a collection that reads, and no file of others."""

import hashlib
import json
import os
import subprocess
import sys
from itertools import product

import pytest

from engine.collections.readers import read_collection
from engine.config import ROOT, Settings
from engine.errors import BadInputError
from engine.generate.generator import GenerateCollection, GenerationRequest
from engine.generate.implicit_records import CATEGORIES, STYLES, ImplicitRequest
from engine.ingest.formats import detect_format
from engine.ingest.source import open_source
from engine.lenses.definitions import RESEARCH
from engine.llm.tasks import TaskRunner
from tests.support import ended, wait_until

KINDS = [(category, style) for category in CATEGORIES for style in STYLES]
SMALL = ImplicitRequest("temporal", "multi", 2, 7, 6)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def made(store, folder, request=SMALL, *, overwrite=False):
    asked = GenerateCollection(GenerationRequest(request, folder, overwrite))
    return TaskRunner(Settings(), store).run(asked).result


CODE = """
import sys
from pathlib import Path
from engine.config import Settings
from engine.generate.generator import GenerateCollection, GenerationRequest
from engine.generate.implicit_records import CATEGORIES, STYLES, ImplicitRequest
from engine.llm.tasks import TaskRunner
for category in CATEGORIES:
    for style in STYLES:
        request = ImplicitRequest(category, style, 2, 7, 15)
        out = Path(sys.argv[1]) / f"{category}-{style}"
        TaskRunner(Settings(), None).run(GenerateCollection(GenerationRequest(request, out)))
"""


def test_the_same_seed_gives_the_same_bytes_in_another_process(store, tmp_path):
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    command = [sys.executable, "-c", CODE, str(tmp_path / "there")]
    subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=60)
    for category, style in product(CATEGORIES, STYLES):
        here, there, other = (
            tmp_path / folder / f"{category}-{style}" for folder in ("here", "there", "other")
        )
        made(store, here, ImplicitRequest(category, style, 2, 7, 15))
        made(store, other, ImplicitRequest(category, style, 2, 8, 15))
        assert contents(here) == contents(there)
        assert contents(here)["corpus.jsonl"] != contents(other)["corpus.jsonl"]


def test_folder_and_table_are_the_same_collection(store, tmp_path):
    found = made(store, tmp_path / "out")
    assert found.folder is not None
    assert found.table is not None
    folder, table = read_collection(found.folder), read_collection(found.table)
    assert folder.name == table.name == found.name
    assert folder.complete
    assert folder.topics == table.topics
    assert folder.qrels == table.qrels
    assert len(folder.topics) == found.documents == 12
    assert detect_format(found.table) == "impliret"
    header, *_ = found.table.read_text(encoding="utf-8").splitlines()
    assert header == "id,tuple_set_id,forum_question,pos_document,question,answer,explicit_hint"
    of_folder, of_table = (
        {
            document.doc_id: document.text
            for document in open_source(path, source_format, lens=RESEARCH)
        }
        for path, source_format in ((found.folder, "auto"), (found.table, "auto"))
    )
    assert of_folder == of_table
    assert set(of_folder) == set(folder.qrels)


def test_about_says_where_it_is_from(store, tmp_path):
    found = made(store, tmp_path / "out")
    about = json.loads((tmp_path / "out" / "about.json").read_text("utf-8"))
    assert about["name"] == found.name
    assert about["synthetic"] is True
    expected = {"category": "temporal", "style": "multi", "sets": 2, "seed": 7, "documents": 12}
    assert {key: about[key] for key in expected} == expected
    assert about["written_by"] == {"templates": 12}
    assert set(about["constraints"]) == set(found.constraints)
    written = {n: hashlib.sha256(c).hexdigest() for n, c in contents(tmp_path / "out").items()}
    del written["about.json"]
    assert about["files"] == written


# -- folders that are there already ----------------------------------------------------------


def test_overwriting_replaces_what_was_generated_and_nothing_else(store, tmp_path):
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    made(store, out)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    other = ImplicitRequest("world", "uni", 1, 1, 4)
    before = contents(out)
    with pytest.raises(BadInputError, match=r"out is not empty.*--overwrite"):
        made(store, out, other)
    assert contents(out) == before
    made(store, out, other, overwrite=True)
    made(store, fresh, other)
    assert contents(out) == {**contents(fresh), "notes.txt": b"mine"}


def test_files_of_a_person_are_never_overwritten(store, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "corpus.jsonl").write_text("mine", encoding="utf-8")
    for about in (None, "[]", '{"files": 3}'):
        if about is not None:
            (out / "about.json").write_text(about, encoding="utf-8")
        before = contents(out)
        with pytest.raises(BadInputError, match="were not generated here"):
            made(store, out, overwrite=True)
        assert contents(out) == before
    with pytest.raises(BadInputError, match=r"corpus\.jsonl is a file"):
        made(store, out / "corpus.jsonl")


def test_what_is_cancelled_writes_nothing(store, tmp_path):
    generation = TaskRunner(Settings(), store)
    many = ImplicitRequest("arithmetic", "multi", 500)
    job_id = generation.start(GenerateCollection(GenerationRequest(many, tmp_path / "out")))
    wait_until(lambda: generation.jobs.job(job_id).progress.done > 0, what="the first set")
    generation.jobs.cancel(job_id)
    job = ended(lambda: generation.jobs.job(job_id))
    assert (job.state, job.report.result.folder) == ("cancelled", None)
    assert not (tmp_path / "out").exists()
