"""Who may enter: ``[auth]`` and ``[people]`` of secrets.toml, and what a provider says."""

from __future__ import annotations

import os
import tomllib

import pytest
from click.testing import CliRunner

from engine.cli.doctor import examine
from engine.cli.main import app
from engine.config import ROOT, Settings
from engine.errors import LoginSetupError, NotLoggedInError, RefusedError
from engine.people import admit, read_login

SECRET = "0123456789abcdef" * 4
AUTH = f"""
[auth]
redirect_uri = "https://seedlens.example.org/oauth2callback"
cookie_secret = "{SECRET}"
client_id = "seedlens"
client_secret = "keep-this-quiet"
server_metadata_url = "https://login.example.org/.well-known/openid-configuration"
"""
PEOPLE = """
[people]
"Ada@Example.org" = { name = "Ada", role = "annotator" }
"grace@example.org" = { name = "Grace", role = "lead" }
"""
ELSEWHERE = "192.0.2.7"
CLAIMS = {"is_logged_in": True, "provider": "default", "email_verified": True}


def written(tmp_path, text):
    path = tmp_path / "secrets.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(tmp_path, text):
    found = read_login([tmp_path / "none.toml", written(tmp_path, text)])
    assert found is not None
    return found


def test_an_address_finds_its_person_whatever_its_case(tmp_path):
    login = read(tmp_path, AUTH + PEOPLE)
    person = admit(login, {**CLAIMS, "email": "ADA@example.ORG"})
    assert (person.name, person.address, person.is_lead) == ("Ada", "ada@example.org", False)
    assert admit(login, {**CLAIMS, "email": "grace@example.org"}).is_lead


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"email": "mallory@example.org"}, "not on the list"),
        ({"email": "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}da@example.org"}, "not on the list"),
        ({"email": "ada@example.org", "email_verified": False}, "never verified"),
        ({"email": "ada@example.org", "email_verified": "false"}, "never verified"),
        ({"email": "ada@example.org", "email_verified": None}, "whether"),
        ({"email": None}, "did not say your e-mail"),
        ({"name": "Ada", "preferred_username": "ada@example.org"}, "did not say your e-mail"),
    ],
)
def test_somebody_else_is_refused(tmp_path, claims, why):
    with pytest.raises(RefusedError, match=why) as refused:
        admit(read(tmp_path, AUTH + PEOPLE), {**CLAIMS, **claims})
    assert refused.value.address == (claims.get("email") or "")


def test_a_lookalike_of_another_alphabet_is_another_address(tmp_path):
    people = '[people]\n"kim@example.org" = { name = "Kim", role = "lead" }\n'
    login = read(tmp_path, AUTH + people)
    assert login.find("KIM@example.org") is not None
    assert login.find("\N{KELVIN SIGN}im@example.org") is None


def test_addresses_that_a_provider_says_nothing_of_count_only_where_it_is_trusted(tmp_path):
    named = AUTH.replace("client_id", "[auth.campus]\ntrust_emails = true\nclient_id")
    login = read(tmp_path, named + PEOPLE)
    said = {"is_logged_in": True, "provider": "campus", "email": "ada@example.org"}
    assert admit(login, said).name == "Ada"
    with pytest.raises(RefusedError):
        admit(login, {**said, "email_verified": False})
    for nobody in ({**said, "is_logged_in": "true"}, {**said, "provider": "default"}, {}):
        with pytest.raises(NotLoggedInError):
            admit(login, nobody)


def test_without_auth_nobody_has_to_log_in(tmp_path):
    assert read_login([tmp_path / "none.toml"]) is None
    assert read_login([written(tmp_path, 'OPENAI_API_KEY = "k"\n')]) is None
    assert read_login([written(tmp_path, "OPENAI_API_KEY = naked\n")]) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (AUTH, "no \\[people\\]"),
        (AUTH + "[people]\n", "no \\[people\\]"),
        (PEOPLE, "no \\[auth\\]"),
        (AUTH + 'people = ["ada@example.org"]', "no \\[people\\]|cannot be read"),
        (AUTH + '[people]\nada = { name = "Ada", role = "lead" }', "not an e-mail address"),
        (AUTH + '[people]\nada@example.org = { name = "Ada", role = "lead" }', "cannot be read"),
        (AUTH + '[people]\n"a@b.org" = "Ada"', "needs a name and a role"),
        (AUTH + '[people]\n"a@b.org" = { name = "Ada" }', "needs a name and a role"),
        (AUTH + '[people]\n"a@b.org" = { name = "", role = "lead" }', "name of 'a@b.org'"),
        (AUTH + '[people]\n"a@b.org" = { name = "adjudicated", role = "lead" }', "is the name of"),
        (AUTH + '[people]\n"a@b.org" = { name = "A\\u0000", role = "lead" }', "control characters"),
        (AUTH + '[people]\n"a@b.org" = { name = "Ada", role = "boss" }', "role of 'a@b.org'"),
        (AUTH + PEOPLE + '"ADA@example.org" = { name = "A", role = "lead" }', "is listed twice"),
        (AUTH + PEOPLE + '"c@d.org" = { name = "ADA", role = "lead" }', "have the same name"),
        (AUTH.replace(SECRET, "short") + PEOPLE, "cookie_secret"),
        (AUTH.replace("cookie_secret", "other") + PEOPLE, "cookie_secret"),
        (AUTH.replace("/oauth2callback", "/") + PEOPLE, "redirect_uri"),
        (AUTH.replace("client_secret", "other") + PEOPLE, "lacks client_secret"),
        (AUTH.split("client_id")[0] + PEOPLE, "names no provider"),
        (AUTH + "[auth.big_one]\n" + PEOPLE, "has a _ in its name"),
        (AUTH + 'trust_emails = "yes"\n' + PEOPLE, "trust_emails"),
        (AUTH + "= =\n" + PEOPLE, "cannot be read \\(at line"),
        ((AUTH + PEOPLE).encode("utf-16"), "cannot be read"),
    ],
)
def test_a_login_that_cannot_be_relied_on_is_an_error_that_quotes_no_secret(tmp_path, text, why):
    with pytest.raises(LoginSetupError, match=why) as wrong:
        read_login([written(tmp_path, text)])
    assert wrong.value.remedy
    assert SECRET not in str(wrong.value)
    assert "keep-this-quiet" not in str(wrong.value)


def test_a_file_that_cannot_be_opened_may_ask_for_login(tmp_path):
    (tmp_path / "secrets.toml").mkdir()
    with pytest.raises(LoginSetupError, match="cannot be opened"):
        read_login([tmp_path / "secrets.toml"])


@pytest.fixture
def secrets(tmp_path, monkeypatch):
    """The only secrets.toml that commands find."""
    path = tmp_path / "secrets.toml"
    path.touch(0o600)
    monkeypatch.setattr("engine.people.secrets_files", lambda: (path,))
    return path


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_secrets_that_others_can_read_are_warned_of(secrets, monkeypatch):
    monkeypatch.setattr("os.execv", lambda *_: None)
    monkeypatch.setattr("os.chdir", lambda _: None)
    monkeypatch.setattr("engine.cli.doctor._encoder", lambda _: "")
    secrets.write_text(AUTH + PEOPLE)

    def said():
        checks = {check.name: check for check in examine(Settings())}
        return CliRunner().invoke(app, []).stderr + checks["login"].detail

    assert "others can read" not in said()
    secrets.chmod(0o644)
    assert said().count("others can read") == 2


def test_serving_beyond_this_machine_without_login_is_warned_of(secrets, monkeypatch):
    started: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda _, command: started.append(command))
    monkeypatch.setattr("os.chdir", lambda _: None)

    def said(*arguments):
        return CliRunner().invoke(app, arguments).stderr

    assert said() == ""
    assert started[0][-2:] == ["--server.address", "127.0.0.1"]
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["server"]["address"] == "127.0.0.1"
    assert "everybody who opens it reads and deletes all corpora" in said("--address", ELSEWHERE)
    secrets.write_text(AUTH + PEOPLE)
    assert said() == ""
    with_login = said("--address", ELSEWHERE)
    assert "allowedHosts" in with_login
    assert "everybody who" not in with_login
    assert len(started) == 4

    secrets.write_text(AUTH)
    refused = CliRunner().invoke(app, [])
    assert isinstance(refused.exception, LoginSetupError)
    assert len(started) == 4, "nothing is served with a login that lets nobody, or anybody, in"


def test_the_doctor_says_who_may_enter_and_what_is_wrong(secrets, home):
    def verdict():
        check = next(c for c in examine(Settings(home=home)) if c.name == "login")
        return check.ok, check.optional, check.detail

    assert verdict()[:2] == (False, True)
    secrets.write_text(AUTH + PEOPLE)
    assert verdict() == (True, False, "2 people, 1 of them leads, by default")
    secrets.write_text(AUTH)
    ok, optional, words = verdict()
    assert (ok, optional) == (False, False)
    assert "[people]" in words
