"""What the engine refuses to whoever is logged in, whichever page or program asks."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from engine.cli.main import main
from engine.config import Settings
from engine.errors import NotAllowedError
from engine.explorer import Explorer
from engine.jobs.runner import JobRunner
from engine.llm.addresses import is_public
from engine.permissions import check_source
from engine.types.annotating import Judgment
from engine.types.corpora import ImportRequest
from engine.types.people import OPERATOR, Person, acting_as
from engine.types.searches import Query
from tests.model_server import ModelServer
from tests.model_sessions import SEED, entered

ADA = Person("ada@example.org", "Ada", "annotator")
EVE = Person("eve@example.org", "Eve", "annotator")
GRACE = Person("grace@example.org", "Grace", "lead")


# -- roles ---------------------------------------------------------------------------------


def test_annotators_change_no_corpus_and_start_nothing_that_is_for_leads(small: Explorer) -> None:
    ada, project = small.acting_as(ADA), small.annotation.project("small")
    for refused in (
        lambda: ada.library.delete("small"),
        lambda: ada.library.set_lens("small", ada.library.lens("small")),
        lambda: ada.library.save_upload("a.csv", b""),
        lambda: ada.library.preview(Path("/etc/hostname")),
        lambda: ada.library.start_import(Path("a.csv"), "a"),
        lambda: ada.scenarios.remove("small"),
        lambda: ada.builds.open("small", "any"),
        lambda: ada.collections.remove_qrels("any"),
        lambda: ada.annotation.agreement(project),
        lambda: ada.annotation.save(project, "Ada"),
        lambda: ada.annotation.exchange.export(project),
        lambda: ada.annotation.filling.start(project, None, []),  # type: ignore[arg-type]
    ):
        with pytest.raises(NotAllowedError):
            refused()
    assert "small" in small.library.names()


def test_nobody_judges_or_undoes_under_the_name_of_another(small_copy: Explorer) -> None:
    ada = small_copy.acting_as(ADA)
    query, doc_id = Query("small", seed=SEED, aspect="method"), _other(small_copy)
    with pytest.raises(NotAllowedError, match="logged in as Ada"):
        ada.notebook.judge(query, doc_id, 3, annotator="Eve")
    stored = ada.notebook.judge(query, doc_id, 3, annotator="Ada")
    assert small_copy.notebook.grades(query, "Ada") == {doc_id: 3}
    project = small_copy.annotation.project("small")
    with pytest.raises(NotAllowedError):
        small_copy.acting_as(EVE).annotation.undo(project, "Ada")
    decision = replace(stored, origin="adjudication", event="")
    with pytest.raises(NotAllowedError, match="for leads"):
        ada.annotation.judge(project, Judgment(**_plain(decision)))


def _other(explorer: Explorer) -> str:
    return next(i for i in explorer.library.open("small").doc_ids if i != SEED)


def _plain(judgment: Judgment) -> dict[str, Any]:
    return {name: getattr(judgment, name) for name in Judgment.__dataclass_fields__}


def test_an_explorer_for_somebody_shares_what_is_there_and_is_the_same_when_asked_again(
    small: Explorer,
) -> None:
    ada = small.acting_as(ADA)
    assert small.acting_as(ADA) is ada
    assert small.acting_as(OPERATOR) is small
    assert ada.library.open("small") is small.library.open("small")
    assert ada.annotation.filling.jobs.person == ADA
    assert small.annotation.filling.jobs.person == OPERATOR


# -- paths ---------------------------------------------------------------------------------


def test_with_login_documents_come_from_uploads_and_import_roots_alone(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots, secret = tmp_path / "papers", tmp_path / "secrets.toml"
    roots.mkdir()
    secret.write_text("cookie_secret\tforge\na\tb\n")
    (roots / "good.tsv").write_text("doc_id\ttext\na\tSome text.\n")
    (roots / "link.tsv").symlink_to(secret)
    monkeypatch.setenv("SEEDLENS_IMPORT_ROOTS", f"{roots}{os.pathsep}{tmp_path / 'more'}")
    operator = Explorer(Settings(home=home))
    library = operator.acting_as(GRACE).library
    for path in (secret, roots / "link.tsv", roots / ".." / "secrets.toml", Path("/proc/self")):
        for refused in (library.preview, library.examine):
            with pytest.raises(NotAllowedError, match="SEEDLENS_IMPORT_ROOTS"):
                refused(path)
        with pytest.raises(NotAllowedError):
            library.start_import(path, "taken")
    assert not operator.library.jobs.list()
    assert library.preview(roots / "good.tsv").documents
    assert library.preview(library.save_upload("own.tsv", b"doc_id\ttext\na\tMine.\n")).documents
    assert operator.library.preview(secret, "tsv").columns, "the operator reads what they can read"


def test_a_folder_with_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "beir"
    folder.mkdir(parents=True)
    (folder / "own.jsonl").symlink_to(folder / "corpus.jsonl")
    assert check_source(GRACE, folder, (tmp_path / "papers",)) == folder
    (folder / "queries.jsonl").symlink_to(tmp_path / "secrets.toml")
    with pytest.raises(NotAllowedError, match=r"link.*queries\.jsonl"):
        check_source(GRACE, folder, (tmp_path / "papers",))


# -- jobs ----------------------------------------------------------------------------------


def test_only_who_started_a_job_and_leads_end_it() -> None:
    runner = JobRunner()
    ada, eve, grace = (acting_as(runner, person) for person in (ADA, EVE, GRACE))

    def work(_: object, cancelled: Any) -> SimpleNamespace:
        while not cancelled():
            pass
        return SimpleNamespace(stopped="cancelled")

    for ends in (ada, grace):
        job_id = ada.start("key", work, None, owner="Eve")
        assert runner.job(job_id).owner == "Ada", "the login says who it was"
        with pytest.raises(NotAllowedError, match="Ada started it"):
            eve.cancel(job_id)
        assert not runner.job(job_id).stopping
        ends.cancel(job_id)
        runner.result(job_id)
        with pytest.raises(NotAllowedError):
            eve.dismiss(job_id)
        ends.dismiss(job_id)


def test_only_who_started_an_import_and_leads_cancel_it(fresh: Explorer) -> None:
    jobs = fresh.acting_as(GRACE).library.jobs
    with jobs.here(ImportRequest(Path("a.csv"), "a"), "Grace", lambda _: None, bool) as (_, ask):
        (job,) = jobs.list()
        with pytest.raises(NotAllowedError):
            fresh.acting_as(ADA).library.jobs.cancel(job.id)
        assert not ask()
        jobs.cancel(job.id)
        assert ask()


# -- trails --------------------------------------------------------------------------------


def test_reading_a_trail_by_its_link_does_not_let_one_write_it(small_copy: Explorer) -> None:
    query = Query("small", seed=SEED)
    adas, eves = small_copy.acting_as(ADA).notebook, small_copy.acting_as(EVE).notebook
    trail = adas.own_trail("", "Ada")
    adas.add_step(trail, query)
    doc_id = _other(small_copy)
    for write in (
        lambda: eves.add_step(trail, query),
        lambda: eves.keep(trail, "small", doc_id),
        lambda: eves.annotate(trail, "small", doc_id, "mine"),
        lambda: eves.move(trail, "small", doc_id, 1),
        lambda: eves.name_trail(trail, "Eve's", "Eve"),
        lambda: eves.delete_trail(trail, "Eve"),
    ):
        with pytest.raises(NotAllowedError, match="another person's"):
            write()
    assert eves.trail(trail) == [query]
    assert eves.own_trail(trail, "Eve") != trail
    small_copy.notebook.add_step("before-login", query)
    assert eves.own_trail("before-login", "Eve") != "before-login", "nobody's is not taken over"


# -- models --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "::1", "fd00::1", "fe80::1",
     "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "0.0.0.1", "224.0.0.1"],
)  # fmt: skip
def test_loopback_private_and_link_local_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_with_login_only_leads_enter_the_address_of_a_model(
    small: Explorer, server: ModelServer
) -> None:
    with pytest.raises(NotAllowedError):
        small.acting_as(ADA).verifier.find_endpoint(entered(server), {})
    operators = small.acting_as(ADA).verifier.find_endpoint({}, entered(server))
    assert operators is not None
    assert not operators.public_only, "what the operator set up is for everybody"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "models.example.org"])
def test_with_login_no_address_inside_is_asked_unless_the_operator_allows_it(
    home: Path, server: ModelServer, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(server.url.split(":")[2].split("/")[0])
    inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
    monkeypatch.setattr("asyncio.BaseEventLoop.getaddrinfo", _answering(inside))
    values = entered(server, OPENAI_BASE_URL=f"http://{host}:{port}/v1")

    def problem(**settings: Any) -> str:
        verifier = Explorer(Settings(home=home, **settings)).acting_as(GRACE).verifier
        return verifier.check(verifier.find_endpoint(values, {})).problem

    assert "SEEDLENS_LLM_ALLOWED_HOSTS" in problem()
    assert "SEEDLENS_LLM_ALLOWED_HOSTS" in problem(llm_allowed_hosts=(f"{host}:1",))
    assert not server.seen.requests
    if host != "models.example.org":
        assert problem(llm_allowed_hosts=(host,)) == ""
        assert problem(llm_allowed_hosts=(f"{host}:{port}",)) == ""


def test_the_address_that_was_checked_is_the_one_that_is_asked(
    home: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(server.url.split(":")[2].split("/")[0])
    asked: list[str] = []

    async def resolve(_: object, host: str, port: int, **__: object) -> list[Any]:
        asked.append(str(host))
        # A name server that answers otherwise the second time would be asked a second time.
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr("asyncio.BaseEventLoop.getaddrinfo", resolve)
    monkeypatch.setattr("engine.llm.addresses.is_public", lambda _: True)
    verifier = Explorer(Settings(home=home)).acting_as(GRACE).verifier
    values = entered(server, OPENAI_BASE_URL=f"http://models.example.org:{port}/v1")
    assert verifier.check(verifier.find_endpoint(values, {})).problem == ""
    assert set(asked) <= {"models.example.org", "127.0.0.1"}
    assert server.seen.requests


def _answering(addresses: list[Any]) -> Any:
    async def resolve(*_: object, **__: object) -> list[Any]:
        return addresses

    return resolve


def test_a_person_has_a_budget_for_the_day_that_holds_for_all_their_runs(
    home: Path, server: ModelServer
) -> None:
    def ask(person: Person, **settings: Any) -> str:
        explorer = Explorer(Settings(home=home, **settings)).acting_as(person)
        return explorer.verifier.check(explorer.verifier.find_endpoint({}, entered(server))).problem

    assert ask(ADA, llm_daily_calls=200) == ""
    spent = server.seen.requests
    assert spent
    assert f"budget of {spent:,} calls a day" in ask(ADA, llm_daily_calls=spent)
    assert "tokens a day" in ask(ADA, llm_daily_tokens=1)
    assert "cost of 1e-09 a day" in ask(ADA, llm_daily_cost=1e-9, llm_input_price=1.0)
    assert server.seen.requests == spent, "nothing more was sent"
    assert ask(EVE, llm_daily_calls=200) == "", "others have their own"
    assert ask(OPERATOR, llm_daily_calls=0) == "", "without login there is none"


# -- files ---------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_the_home_is_for_its_user_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    program = "import os, sys; os.umask(0o022); from engine.cli.main import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, "lens", "list"], check=True, capture_output=True,
        env={**os.environ, "SEEDLENS_HOME": str(home)},
    )  # fmt: skip
    Explorer(Settings(home=home))
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_commands_write_is_for_their_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o022)
    try:
        home = tmp_path / "home"
        monkeypatch.setenv("SEEDLENS_HOME", str(home))
        CliRunner().invoke(main, ["project", "list", "none"])
        Explorer(Settings()).notebook.put_text("a text")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*"))}
    finally:
        os.umask(before)
    assert modes <= {0o700, 0o600}
