"""Clusters of positions, and their names."""

import numpy as np
import pytest

from engine.layout.clusters import find_clusters, name_clusters

TOPICS = {"honey bees pollinate orchards": (0.1, 0.1), "steel bridges crack": (0.9, 0.9),
          "harbour tides turn": (0.1, 0.9)}  # fmt: skip


def scattered(each):
    draw = np.random.default_rng(0)
    places = np.array([*TOPICS.values()], dtype=np.float32).repeat(each, axis=0)
    texts = [f"The {topic} and the data" for topic in TOPICS for _ in range(each)]
    return places + draw.normal(0, 0.02, places.shape).astype(np.float32), texts


def test_clusters_are_named_by_the_words_that_tell_them_from_the_others():
    positions, texts = scattered(27)
    coarse, fine = find_clusters(positions)
    assert len(set(coarse.tolist())) == 3
    names = name_clusters(coarse, texts)
    for topic, label in zip(TOPICS, coarse[::27].tolist(), strict=True):
        assert set(names[label].split(", ")) <= set(topic.split())
        assert 2 <= len(names[label].split(", ")) <= 3
    assert names == name_clusters(*(find_clusters(positions)[:1]), texts), "every time"
    assert len(set(fine.tolist())) > 3


def test_fine_clusters_lie_within_coarse_ones():
    coarse, fine = find_clusters(np.random.default_rng(3).random((400, 2)).astype(np.float32))
    for one in set(fine.tolist()):
        assert len(set(coarse[fine == one].tolist())) == 1


def test_names_differ_even_where_the_words_do_not():
    labels = np.arange(9, dtype=np.int32)
    names = name_clusters(labels, ["alpha beta gamma"] * 9)
    assert len(set(names)) == 9
    assert len(set(name_clusters(labels, [""] * 9))) == 9
    assert len(set(name_clusters(labels, ["the and of 12"] * 9))) == 9


def test_forms_of_a_word_do_not_stand_beside_each_other():
    texts = ["embeddings embedding embedded vectors", "parsers parse parsed trees"] * 4
    for name in name_clusters(np.array([0, 1] * 4, dtype=np.int32), texts):
        assert len({word[:4] for word in name.split(", ")}) == len(name.split(", "))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_positions_and_none_have_clusters_and_one_place_is_one(count):
    positions = np.full((5, 2), np.nan, dtype=np.float32)
    positions[:count] = np.random.default_rng(0).random((count, 2))
    for labels in find_clusters(positions):
        assert (labels[:count] >= 0).all()
        assert (labels[count:] == -1).all()
        assert len(name_clusters(labels, ["bees"] * 5)) == labels.max() + 1
    for labels in find_clusters(np.full((50, 2), 0.5, dtype=np.float32)):
        assert set(labels.tolist()) == {0}
