"""Encoders, which are tested without what keeps their encodings for other tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.encoded_once import EncodedOnce


@pytest.fixture(scope="module", autouse=True)
def _encoded_anew(encoded_once: EncodedOnce) -> Iterator[None]:
    encoded_once.keeps = False
    yield
    encoded_once.keeps = True
