"""``seedlens doctor`` checks what is there and what is wrong."""

from __future__ import annotations

from typing import ClassVar

import pytest

from engine.cli import doctor
from tests.cli.command_line import run_inside
from tests.fakes.loopback import Handler, Loopback


class Endpoint(Handler):
    """A language model endpoint that knows one key, and a path that redirects."""

    keys: ClassVar[list[str | None]] = []

    def do_GET(self):
        self.keys.append(self.headers["Authorization"])
        known = self.headers["Authorization"] == "Bearer sk-secret"
        moved = self.path == "/moved/models"
        found = known and self.path == "/v1/models"
        self.send_response(302 if moved else 200 if found else 401)
        if moved:
            self.send_header("Location", "/v1/models")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def endpoint():
    Endpoint.keys.clear()
    with Loopback(Endpoint) as server:
        yield server.root


def check(outcome, name):
    return next(one for one in outcome.json if one["name"] == name)


def test_the_doctor_names_home_packages_and_model_and_is_happy_without_an_endpoint(small_home):
    checked = run_inside(small_home, "doctor", "--json")
    assert (checked.code, checked.stderr) == (0, "")
    assert all(check(checked, name)["ok"] for name in doctor.PACKAGES)
    for name, detail in (("home", str(small_home)), ("embedded model", "all-MiniLM-L6-v2")):
        assert check(checked, name)["ok"]
        assert detail in check(checked, name)["detail"]
    assert not check(checked, "LLM endpoint")["ok"]
    assert "OPENAI_BASE_URL" in check(checked, "LLM endpoint")["detail"]
    printed = run_inside(small_home, "doctor")
    assert printed.code == 0
    assert len(printed.stdout.splitlines()) == len(checked.json)


@pytest.mark.parametrize(
    ("url", "key", "ok", "detail"),
    [
        ("{}/v1", "sk-secret", True, "{}/v1 answers 200"),
        ("{}/v1", "sk-wrong", False, "401"),
        ("{}/moved", "sk-secret", False, "redirects are not followed"),
        ("http://127.0.0.1:1/v1", "", False, "does not answer"),
        ("localhost", "", False, "not a web address"),
        ("ftp://example.invalid", "", False, "not a web address"),
    ],
)
def test_the_doctor_reaches_the_endpoint_and_never_shows_the_key(
    url, key, ok, detail, endpoint,
    monkeypatch
):  # fmt: skip
    monkeypatch.setenv("OPENAI_BASE_URL", url.format(endpoint))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    found = doctor._check("LLM endpoint", doctor._endpoint, optional=True)
    assert (found.ok, found.optional) == (ok, True)
    assert detail.format(endpoint) in found.detail
    assert not key or key not in found.detail
    assert len(Endpoint.keys) == ("{}" in url), "the key goes to no other address"


def test_the_doctor_finds_a_home_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    checked = run_inside(tmp_path / "file", "doctor", "--json")
    assert (checked.code, check(checked, "home")["ok"]) == (1, False)
    assert "SEEDLENS_HOME" in check(checked, "home")["detail"]
