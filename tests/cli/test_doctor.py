"""``seedlens doctor`` says what is there and what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from engine.cli import doctor
from tests.cli.command_line import run_inside


class Endpoint(BaseHTTPRequestHandler):
    """A language model endpoint that knows one key."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Bearer sk-secret"
        self.send_response(200 if known and self.path == "/v1/models" else 401)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_doctor_names_home_packages_and_model_and_is_happy_without_an_endpoint(
    demo_home: Path,
) -> None:
    checked = run_inside(demo_home, "doctor", "--json")
    assert (checked.code, checked.stderr) == (0, "")
    by_name = {check["name"]: check for check in checked.json}
    assert by_name["home"]["ok"]
    assert str(demo_home) in by_name["home"]["detail"]
    assert by_name["embedded model"]["ok"]
    assert "all-MiniLM-L6-v2" in by_name["embedded model"]["detail"]
    assert by_name["lancedb"]["ok"]
    assert not by_name["LLM endpoint"]["ok"]
    assert "OPENAI_BASE_URL" in by_name["LLM endpoint"]["detail"]
    printed = run_inside(demo_home, "doctor")
    assert printed.code == 0
    assert len(printed.stdout.splitlines()) == len(checked.json)


def test_the_doctor_reaches_the_endpoint_and_never_shows_the_key(
    demo_home: Path, endpoint: str
) -> None:
    keys = {"OPENAI_BASE_URL": endpoint, "OPENAI_API_KEY": "sk-secret"}
    checked = run_inside(demo_home, "doctor", "--json", **keys)
    (check,) = (c for c in checked.json if c["name"] == "LLM endpoint")
    assert check["ok"]
    assert endpoint in check["detail"]
    assert "sk-secret" not in checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        (None, "sk-wrong", "401"),
        ("http://127.0.0.1:1/v1", "", "does not answer"),
        ("localhost", "", "not a web address"),
        ("ftp://example.invalid", "", "not a web address"),
    ],
)
def test_the_doctor_says_what_is_wrong_with_an_endpoint(
    url: str | None, key: str, said: str, demo_home: Path, endpoint: str
) -> None:
    keys = {"OPENAI_BASE_URL": url or endpoint, "OPENAI_API_KEY": key}
    checked = run_inside(demo_home, "doctor", "--json", **keys)
    (check,) = (c for c in checked.json if c["name"] == "LLM endpoint")
    assert not check["ok"]
    assert said in check["detail"]
    assert checked.code == 0


def test_the_doctor_sends_the_key_to_no_other_address() -> None:
    asked: list[str | None] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    class Redirecting(Elsewhere):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{elsewhere.server_port}/v1/models")
            self.end_headers()

    elsewhere = HTTPServer(("127.0.0.1", 0), Elsewhere)
    redirecting = HTTPServer(("127.0.0.1", 0), Redirecting)
    for server in (elsewhere, redirecting):
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{redirecting.server_port}/v1")
        patch.setenv("OPENAI_API_KEY", "sk-secret")
        check = doctor._endpoint()
    for server in (elsewhere, redirecting):
        server.shutdown()
        server.server_close()
    assert asked == []
    assert not check.ok
    assert "redirects are not followed" in check.detail


def test_the_doctor_finds_a_home_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    checked = run_inside(tmp_path / "file", "doctor", "--json")
    (home,) = (c for c in checked.json if c["name"] == "home")
    assert (checked.code, home["ok"]) == (1, False)
    assert "SEEDLENS_HOME" in home["detail"]
