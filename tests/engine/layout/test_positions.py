"""Positions in the plane for vectors, whatever these are."""

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from engine.layout import positions as positions_module
from engine.layout.positions import CancelledLayoutError, find_positions, place
from engine.numeric import unit
from engine.types.callbacks import never


def groups(count, each, dimension=16):
    """Unit rows around ``count`` directions, ``each`` of them one after another."""
    draw = np.random.default_rng(1)
    centres = draw.normal(size=(count, dimension)).repeat(each, axis=0)
    return unit((centres + 0.4 * draw.normal(size=centres.shape)).astype(np.float32))


@pytest.fixture(scope="module")
def vectors():
    return groups(6, 25)


@pytest.fixture(scope="module")
def laid(vectors):
    return find_positions(vectors, None, never)[0]


def test_neighbours_stay_neighbours_within_the_square_every_time(vectors, laid):
    assert laid.dtype == np.float32
    assert ((laid >= 0) & (laid <= 1)).all()
    assert trustworthiness(vectors, laid, n_neighbors=15, metric="cosine") >= 0.9
    assert np.array_equal(laid, find_positions(vectors, None, never)[0])


def test_a_layout_that_starts_from_another_lies_as_near_to_it_as_it_can(vectors, laid):
    other = unit(vectors + 0.02 * np.random.default_rng(2).normal(size=vectors.shape))
    again, _ = find_positions(other.astype(np.float32), laid, never)
    apart = np.linalg.norm(again - laid, axis=1).mean()
    for mirrored in (1.0 - again, again[:, ::-1], again * (1, -1) + (0, 1)):
        assert apart < np.linalg.norm(mirrored - laid, axis=1).mean()


@pytest.mark.parametrize("count", [0, 1, 3, 31, 33])
def test_any_number_of_vectors_has_positions(count):
    vectors = groups(max(1, count), 1)[:count]
    found, computed = find_positions(vectors, None, never)
    assert found.shape == (count, 2)
    assert computed is None
    assert ((found >= 0) & (found <= 1)).all()
    assert len(np.unique(found, axis=0)) == count


@pytest.mark.parametrize("different", [1, 33])
def test_vectors_that_are_the_same_have_positions(different):
    some = groups(different, 1)
    found, _ = find_positions(np.concatenate([some, some[:1].repeat(100, axis=0)]), None, never)
    assert ((found >= 0) & (found <= 1)).all()


def test_zero_vectors_have_no_position_and_take_no_part(vectors):
    holes = vectors[:60].copy()
    holes[::3] = 0.0
    found, _ = find_positions(holes, None, never)
    assert np.isnan(found[::3]).all()
    assert not np.isnan(np.delete(found, np.s_[::3], axis=0)).any()
    assert np.isnan(find_positions(np.zeros_like(holes), None, never)[0]).all()


def test_of_many_vectors_a_sample_is_laid_out_and_the_rest_placed(vectors, monkeypatch):
    monkeypatch.setattr(positions_module, "MOST_COMPUTED", 60)
    found, computed = find_positions(vectors, None, never)
    assert computed == 60
    assert trustworthiness(vectors, found, n_neighbors=10, metric="cosine") >= 0.85


def test_a_new_vector_is_placed_among_its_nearest(vectors, laid):
    at = place(vectors[:1] * 0.999, vectors, laid, never)
    assert np.allclose(at, laid[:1], atol=1e-3)
    of_group = laid[25:50]
    new = unit(vectors[25:50].mean(axis=0, keepdims=True))
    (placed,) = place(new, vectors, laid, never)
    assert (of_group.min(axis=0) <= placed).all()
    assert (placed <= of_group.max(axis=0)).all()


def test_a_layout_ends_when_it_is_cancelled(vectors):
    asked = iter(range(100))
    with pytest.raises(CancelledLayoutError):
        find_positions(vectors, None, lambda: next(asked) > 2)
    assert next(asked) < 10, "soon"
