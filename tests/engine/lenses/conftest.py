"""What reads wordings for each lens that ships."""

import pytest

from engine.lenses.definitions import SHIPPED
from engine.search.interpretation import lens_words


@pytest.fixture(scope="session")
def lenses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("read")
    return {lens.key: lens_words(lens, folder) for lens in SHIPPED}
