"""The Build page on the small corpus: nothing built, labelled by hand, clustered, or complete."""

import pytest

from engine.types.builds import StepRequest
from tests.pages.build.build_steps import LENS, METHODS, opened


@pytest.fixture
def explorer(small_copy):
    """An explorer over this test's home, which the page opens too; no model is connected."""
    return small_copy


@pytest.fixture
def labelled(explorer):
    """With a build whose documents a person labelled."""
    explorer.builds.save(LENS, "ada")
    opened(explorer).set_labels(hand_labels(explorer), "ada")
    return explorer


@pytest.fixture
def clustered(labelled):
    """With its clusters, made without a model."""
    labelled.builds.run(StepRequest("small", "methods", "collapse", "ada"))
    return labelled


def hand_labels(explorer):
    return {
        doc_id: METHODS.get(doc_id.rpartition("-")[2], "")
        for doc_id in explorer.library.open("small").doc_ids
    }
