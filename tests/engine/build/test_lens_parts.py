"""The parts of building from a lens: clusters of labels, and giveaway words."""

import numpy as np
import pytest

from engine.build.build_records import Clustering
from engine.build.clustering import MOST_AT_ONCE, drafts, finished, grouped
from engine.build.opened_build import Vocabulary
from engine.types.builds import Cluster
from engine.types.corpora import ImportRequest
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

# -- clusters ----------------------------------------------------------------------------------


def test_beyond_what_fits_at_once_every_label_still_lands_in_one_cluster():
    random = np.random.default_rng(3)
    centres = np.eye(16, dtype=np.float32)
    rows = centres[np.arange(MOST_AT_ONCE + 600) % 16]
    rows = rows + random.normal(0, 0.02, rows.shape).astype(np.float32)
    groups = grouped(rows / np.linalg.norm(rows, axis=1, keepdims=True), 0.3)
    assert sorted(row for group in groups for row in group) == list(range(len(rows)))
    assert all(len({row % 16 for row in group}) == 1 for group in groups)
    assert len(groups) <= 3 * 16


def test_equal_labels_are_one_whatever_their_case_and_nothing_has_no_direction():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "🐝": [0.0, 0.0]}

    def embed(texts):
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    found = drafts({"1": "A", "2": "a", "3": "b", "4": "a", "5": "🐝"}, 0.35, embed)
    assert ("a", ("1", "2", "4")) in [(d.name, d.doc_ids) for d in found]
    assert drafts({}, 0.35, embed) == []


def test_a_cluster_keeps_its_key_as_long_as_most_of_its_documents_stay():
    before = Clustering((Cluster("c1", "A", ("1", "2", "3")),), {}, used=4)
    labels = dict.fromkeys("12345", "x")
    made = [Cluster("", "B", ("4", "5")), Cluster("", "Z", ("1", "2"))]
    after = finished(before, made, labels, ())
    assert {c.name: c.key for c in after.clusters} == {"Z": "c1", "B": "c5"}


# -- giveaway words ----------------------------------------------------------------------------


def test_overlap_counts_stems_that_tell_the_documents(small):
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


def test_a_word_by_chance_is_none_but_a_detail_is(home, tmp_path):
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
