"""The parts of building from a lens: clusters of labels, giveaway words, and a kill in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engine.build.build_records import Clustering
from engine.build.clustering import MOST_AT_ONCE, Draft, drafts, finished, grouped
from engine.build.opened_build import Vocabulary
from engine.build.steps import BATCH
from engine.config import ROOT
from engine.numeric import FloatArray
from engine.types.builds import Cluster
from engine.types.encoders import Passage
from tests.cli.command_line import clean_environment
from tests.fakes.build_answers import builds_collections, demo_methods
from tests.fakes.lens_builds import AUTHOR, LABELLING, LENS, NAME, questions
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import entered, knowledge, session
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, wait_until, write_jsonl

if TYPE_CHECKING:
    from engine.encode.one_pass import OnePassEncoder
    from engine.explorer import Explorer

KINDS = (
    "Mailed questionnaire", "Interview with practitioners", "Wireless sensor network",
    "Bayesian regression", "Finite element simulation", "Convolutional neural network",
    "Randomised controlled trial", "Archival records", "Satellite images", "Focus group",
)  # fmt: skip


# -- clusters ----------------------------------------------------------------------------------


@pytest.mark.nightly
def test_two_thousand_labels_collapse_in_seconds(encoder: OnePassEncoder) -> None:
    def embed(texts: Sequence[str]) -> FloatArray:
        return np.stack([e.vector for e in encoder.encode([Passage("", t, ()) for t in texts])])

    embed(["warm"])
    labels = {f"d{n}": f"{KINDS[n % 10]}, part {n // 10}" for n in range(2000)}
    started = time.perf_counter()
    found = drafts(labels, 0.5, embed)
    assert time.perf_counter() - started < 60, "some 5 s on two cores that do nothing else"
    assert sorted(d for draft in found for d in draft.doc_ids) == sorted(labels)
    for draft in found:
        assert len({labels[doc_id].partition(",")[0] for doc_id in draft.doc_ids}) == 1
    assert len(found) < 60


def test_beyond_what_fits_at_once_every_label_still_lands_in_one_cluster() -> None:
    random = np.random.default_rng(3)
    centres = np.eye(16, dtype=np.float32)
    rows = centres[np.arange(MOST_AT_ONCE + 600) % 16]
    rows = rows + random.normal(0, 0.02, rows.shape).astype(np.float32)
    groups = grouped(rows / np.linalg.norm(rows, axis=1, keepdims=True), 0.3)
    assert sorted(row for group in groups for row in group) == list(range(len(rows)))
    assert all(len({row % 16 for row in group}) == 1 for group in groups)
    assert len(groups) <= 3 * 16


def test_equal_labels_are_one_whatever_their_case_and_nothing_has_no_direction() -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "🐝": [0.0, 0.0]}

    def embed(texts: Sequence[str]) -> FloatArray:
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    found = drafts({"1": "A", "2": "a", "3": "b", "4": "a", "5": "🐝"}, 0.35, embed)
    assert ("a", ("1", "2", "4")) in [(d.name, d.doc_ids) for d in found]
    assert drafts({}, 0.35, embed) == []


def test_a_cluster_keeps_its_key_as_long_as_most_of_its_documents_stay() -> None:
    before = Clustering((Cluster("c1", "A", ("1", "2", "3")),), {}, used=4)
    labels = dict.fromkeys("12345", "x")
    after = finished(before, [Draft("B", ("4", "5"), {}), Draft("Z", ("1", "2"), {})], labels)
    assert {c.name: c.key for c in after.clusters} == {"Z": "c1", "B": "c5"}


# -- giveaway words ----------------------------------------------------------------------------


def test_overlap_counts_stems_that_tell_the_documents(small: Explorer) -> None:
    words = Vocabulary(small.library.open("small"))
    surveys = [d["doc_id"] for d in DOCUMENTS if d["doc_id"].endswith("-survey")]
    # "mailing" and "households" stand in all five, "bees" in one of five; "random" only as
    # another stem's form; "people" and "grandmother" in none; "the" and "of" are no content.
    found = words.overlap("The mailing of households, grandmother people", surveys)
    assert found.words == ("mailing", "households")
    assert found.share == pytest.approx(2 / 4)
    assert words.overlap("of the and", surveys).share == 0.0
    assert words.overlap("Grandmother's people", surveys).share == 0.0
    telling = words.telling(surveys, 6)
    assert {"questionnaire", "mailed", "households"} <= set(telling)


def test_a_word_by_chance_is_none_but_a_detail_is(home: Path, tmp_path: Path) -> None:
    from engine.types.corpora import ImportRequest

    common = [f"a{n}" for n in range(8)]
    documents = [
        {"doc_id": f"d{n}", "title": "", "text": f"Everybody says {common[n % 8]}."}
        for n in range(400)
    ]
    documents[3]["text"] += " Zyzzyva."
    explorer = make_explorer(home)
    source = write_jsonl(tmp_path / "many.jsonl", documents)
    explorer.library.import_documents(ImportRequest(source, "many"))
    words = Vocabulary(explorer.library.open("many"))
    ours = [f"d{n}" for n in (3, 8, 16, 24, 32, 40)]
    assert words.overlap("a3 zyzzyva everybody a0", ours).words == ("zyzzyva", "a0")


# -- a kill in the middle ----------------------------------------------------------------------


@pytest.fixture
def slow() -> Iterator[ModelServer]:
    """A model that knows the demo corpus and takes its time."""
    handler = builds_collections(demo_methods())
    with serving(knowledge(), handlers=[handler], latency=0.06) as running:
        yield running


@pytest.mark.nightly
def test_a_kill_in_the_middle_of_labelling_costs_a_batch_at_most(
    demo_home: Path, home: Path, slow: ModelServer
) -> None:
    import shutil

    shutil.copytree(demo_home, home)
    builds = make_explorer(home).builds
    builds.save(replace(LENS, corpus="demo"), AUTHOR)
    command = [sys.executable, "-m", "engine.cli", "build", "run", "demo", NAME, "--yes"]
    settings = {**os.environ, **clean_environment(home, **entered(slow))}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={key: value for key, value in settings.items() if value is not None},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def under_way() -> bool:
        assert process.poll() is None
        return len(builds.open("demo", NAME).labels()) >= 2 * BATCH

    try:
        wait_until(under_way, what="two batches of labels", seconds=120, pause=0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    stored = len(builds.open("demo", NAME).labels())
    assert stored >= 2 * BATCH
    state = builds.open("demo", NAME).state().steps[0]
    assert (state.done, state.is_complete) == (stored, False)

    asked = questions(slow, LABELLING)
    slow.behaviour.latency = 0.0
    report = builds.run("demo", NAME, "label", AUTHOR, endpoint=session(slow))
    assert report.failed == report.left == 0
    assert builds.open("demo", NAME).state().steps[0].is_complete
    again = questions(slow, LABELLING) - asked
    assert again <= 480 - stored + 1, "what is stored is not asked for again"
    assert asked <= stored + BATCH + 1, "and no more than a batch was on its way"
