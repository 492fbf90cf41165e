"""An object store with a ledger, and apps that share them, each with a home of its own."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes import s3_server
from tests.fakes.s3_server import KEY, SECRET, S3Server
from tests.support import make_explorer


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What is no smoke test here is left to ``make nightly``."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("smoke"):
            item.add_marker("nightly")


@pytest.fixture(scope="session")
def s3():
    """A running server; skips where none can be."""
    if why := s3_server.missing():
        pytest.skip(why)
    with s3_server.running() as server:
        yield server


@dataclass
class Place:
    """What several apps share: an empty store, and a ledger without a corpus."""

    server: S3Server
    store: str
    ledger: str
    folder: Path
    patch: pytest.MonkeyPatch
    names: list[str] = field(default_factory=list)

    def environment(self, endpoint="", key=KEY, secret=SECRET):
        """Credentials and endpoint as people set them."""
        given = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        given |= {"AWS_ENDPOINT_URL": endpoint} if endpoint else {}
        for name, value in (self.server.environment() | given).items():
            self.patch.setenv(name, value)

    def app(self, name, endpoint="", key=KEY, secret=SECRET, **settings):
        """An app with the home of that name."""
        self.environment(endpoint, key, secret)
        given = {"ledger_url": self.ledger, "store": self.store, **settings}
        explorer = make_explorer(self.folder / name, **given)
        assert mirror_of(explorer).store.place  # made with the environment as it is now
        return explorer

    @property
    def keys(self):
        """What is in the store."""
        return self.server.keys(self.store)


def mirror_of(explorer):
    assert explorer.home.mirror is not None
    return explorer.home.mirror


@pytest.fixture
def place(s3, postgres, tmp_path, monkeypatch):
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    return Place(s3, s3.store(), postgres.database(), tmp_path, monkeypatch)


@pytest.fixture
def proxy(s3):
    """Before the store."""
    with s3_server.Proxy(s3) as found:
        yield found


def kill(pid):
    os.kill(pid, signal.SIGKILL)
