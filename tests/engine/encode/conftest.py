"""Encoders, which are tested without what keeps their encodings for other tests."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _encoded_anew(encoded_once):
    encoded_once.keeps = False
    yield
    encoded_once.keeps = True
