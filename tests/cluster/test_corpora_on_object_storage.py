"""Apps with homes of their own, whose corpora are in one object store."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from engine.config import ROOT
from engine.corpora import registry
from engine.corpora.uploads import save_upload
from engine.errors import CorpusMissingError, SeedLensError, StorageError, UnknownNameError
from engine.lenses.definitions import SHIPPED
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage import mirror as mirrors
from storage.files import COPY
from storage.object_store import MissingObjectError
from tests.cli.command_line import assert_refused, run_inside
from tests.cluster.conftest import mirror_of
from tests.fakes.s3_server import KEY, SECRET
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

SEED = DOCUMENTS[0]["doc_id"]


def import_to(explorer, source, name="small"):
    return explorer.library.import_documents(ImportRequest(source, name)).documents


def found(explorer, name="small"):
    results = explorer.search(Query(name, seed=SEED, aspect="method")).results
    return [(one.document.doc_id, one.score) for one in results]


@pytest.fixture
def more(tmp_path):
    """One document more than ``small`` has."""
    return write_jsonl(tmp_path / "more.jsonl", [{**DOCUMENTS[1], "doc_id": "more"}])


def another(tmp_path, name):
    return write_jsonl(tmp_path / f"{name}.jsonl", [{**DOCUMENTS[2], "doc_id": name}])


# -- sharing --------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_what_one_app_imports_changes_and_deletes_all_others_see_at_once(place, small_source, more):
    one, other = place.app("one"), place.app("other")
    assert import_to(one, small_source) == 40
    listed = other.library.corpus("small")
    assert (listed.documents, listed.state, listed.bytes > 100_000) == (40, "ready", True)
    assert not (other.home.corpus("small") / "documents.lance").exists(), "nobody opened it"
    assert found(other) == found(one)
    assert other.library.state("small") == one.library.state("small")
    assert import_to(other, more) == 41
    assert len(one.library.open("small")) == 41
    assert found(one) == found(other)
    by_time = next(lens for lens in SHIPPED if lens.key != "research")
    assert one.library.set_lens("small", by_time)
    assert other.library.open("small").lens == by_time
    assert other.library.open("small").identity == one.library.open("small").identity
    other.library.delete("small")
    with pytest.raises(UnknownNameError, match="no corpus 'small'"):
        one.library.open("small")
    assert one.library.deleted() == ["small"]
    one.library.restore("small")
    assert len(other.library.open("small")) == 41


def test_maps_selections_scenarios_and_sources_go_to_all_homes(place, small_source):
    one, other = place.app("one", maps=True), place.app("other")
    name = save_upload(one.home, "small.jsonl", small_source.read_bytes())
    import_to(one, name)
    assert Path(other.library.corpus("small").source).read_bytes() == small_source.read_bytes()
    seen = other.maps.view("small")
    assert seen is not None
    assert seen.missing == 0
    selected = one.select("small", [SEED])
    assert other.facets("small", [selected]).documents == 1
    one.maps.build("small", rebuild=True)
    other.scenarios.set_weight("small", 0.25)
    assert one.scenarios.status("small").weight == 0.25


def test_a_home_of_before_takes_its_corpora_into_the_store(place, small_home, small_source):
    shutil.copytree(small_home, place.folder / "one")
    moved = run_inside(
        place.folder / "one", "ledger", "copy", "server", SEEDLENS_LEDGER_URL=place.ledger
    )
    assert moved.code == 0
    one, other = place.app("one"), place.app("other")
    with pytest.raises(CorpusMissingError, match="no documents yet"):
        other.library.open("small")
    other.tidy()
    one.tidy()
    assert found(other) == found(one)
    alone = make_explorer(place.folder / "one", ledger_url=place.ledger)
    with pytest.raises(StorageError, match=r"in an object store.*SEEDLENS_STORE"):
        alone.library.open("small")
    with pytest.raises(StorageError, match=r"in an object store.*SEEDLENS_STORE"):
        import_to(alone, small_source)


@pytest.mark.smoke
def test_a_backup_of_a_store_is_a_home_like_any_other(place, small_source, tmp_path):
    import_to(place.app("one"), small_source)
    place.environment()
    settings = {"SEEDLENS_LEDGER_URL": place.ledger, "SEEDLENS_STORE": place.store}
    made = run_inside(tmp_path / "new", "backup", tmp_path / "backup.zip", **settings)
    assert (made.code, made.stderr) == (0, "")
    back = run_inside(tmp_path / "back", "restore", tmp_path / "backup.zip")
    assert back.code == 0
    assert not list((tmp_path / "back").rglob(COPY))
    assert len(make_explorer(tmp_path / "back").library.open("small")) == 40


def test_a_ledger_that_was_lost_gets_the_corpora_of_the_store_again(
    place, small_source, more, postgres, monkeypatch
):
    one = place.app("one")
    import_to(one, small_source)
    import_to(one, more)
    monkeypatch.setattr(mirrors, "UNUSED_KEPT", timedelta(seconds=-10))  # all of it is old
    new = place.app("new", ledger_url=postgres.database())
    new.tidy()  # which removes nothing
    assert new.library.rebuild() == (["small"], [])
    assert found(new) == found(one)


# -- room -----------------------------------------------------------------------------------------


def test_copies_used_longest_ago_give_way_and_what_has_no_room_is_read_in_the_store(
    place, small_source, more, monkeypatch
):
    one = place.app("one")
    import_to(one, small_source)
    import_to(one, small_source, "twin")
    monkeypatch.setattr(mirrors, "TOUCH_SECONDS", 0.0)
    size, tight = one.library.corpus("small").bytes, place.app("tight")
    monkeypatch.setattr(mirror_of(tight), "_most", int(size * 1.5))
    for name, other in (("small", "twin"), ("twin", "small"), ("small", "twin")):
        assert found(tight, name) == found(one)
        assert tight.home.corpus(name).exists()
        assert not (tight.home.corpus(other) / "documents.lance").exists()
    narrow = place.app("narrow", mirror_megabytes=0)
    monkeypatch.setattr(mirror_of(narrow), "_most", size // 2)
    assert found(narrow) == found(one)
    assert narrow.library.open("small").table.remote is not None
    assert not (narrow.home.corpus("small") / "documents.lance").exists()
    with pytest.raises(StorageError, match=r"has no room.*SEEDLENS_MIRROR_MEGABYTES"):
        import_to(narrow, more)
    narrow.maps.build("small")
    assert one.maps.view("small") is not None
    assert found(one) == found(narrow)


# -- settings -------------------------------------------------------------------------------------


def test_a_store_needs_a_ledger_that_others_share_and_an_address(place, small_home):
    place.environment()
    alone = run_inside(small_home, "corpora", SEEDLENS_STORE=place.store)
    assert_refused(alone, "SEEDLENS_LEDGER_URL")
    odd = run_inside(
        small_home,
        "corpora",
        SEEDLENS_STORE=f"https://{KEY}:{SECRET}@127.0.0.1/x",
        SEEDLENS_LEDGER_URL=place.ledger,
    )
    assert_refused(odd, "not the address of a bucket", "s3://BUCKET/PREFIX")
    assert SECRET not in odd.stderr


# -- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param(
            {"secret": "another"}, "it answers SignatureDoesNotMatch", marks=pytest.mark.smoke
        ),
        ({"key": "nobody"}, "it answers InvalidAccessKeyId"),
        ({"key": f"{KEY}-reader"}, "it answers AccessDenied"),
        ({"store": "s3://no-such-bucket/x"}, "it answers NoSuchBucket"),
    ],
)
def test_a_store_that_refuses_is_named_with_the_reason_and_the_import_goes_on_later(
    place, small_source, given, says
):
    with pytest.raises(StorageError) as error:
        import_to(place.app("one", **given), small_source)
    text = str(error.value)
    assert says in text
    assert SECRET not in text
    assert "The same command again goes on where it stopped." in text
    one, other = place.app("one"), place.app("other")
    with pytest.raises(CorpusMissingError):
        other.library.open("small")
    assert import_to(one, small_source) == 40
    assert found(other) == found(one)


def test_a_store_is_asked_only_where_something_is_new(place, proxy, small_source):
    one, other = place.app("one", proxy.endpoint), place.app("other", proxy.endpoint)
    import_to(one, small_source)
    sent = proxy.requests
    assert len(other.library.open("small")) == 40
    assert proxy.requests - sent < 40
    sent = proxy.requests
    assert found(other) == found(one)
    assert other.library.corpora()[0].documents == 40
    assert proxy.requests == sent, "what is here is asked for nowhere"


def test_a_store_that_fails_now_and_then_loses_nothing(place, proxy, small_source, more):
    kinds = itertools.cycle(["lost", "500", "cut", "reset", "503"])
    proxy.trouble = lambda _method, _path, number: next(kinds) if number % 3 == 1 else ""
    one, other = place.app("one", proxy.endpoint), place.app("other", proxy.endpoint)
    assert import_to(one, small_source) == 40
    assert found(other) == found(one)
    assert import_to(other, more) == 41
    assert found(one) == found(other)


def test_what_did_not_get_to_the_store_gets_there_with_the_doctor_and_when_the_app_starts(
    place, proxy, small_source, more, tmp_path
):
    one, other = place.app("one", proxy.endpoint), place.app("other")
    import_to(one, small_source)
    settings = {"SEEDLENS_LEDGER_URL": place.ledger, "SEEDLENS_STORE": place.store}

    def fail(source):
        proxy.trouble = lambda method, *_: "403" if method in ("PUT", "POST") else ""
        with pytest.raises(StorageError, match=r"no other server sees it yet.*seedlens doctor"):
            import_to(one, source)

    def seen():
        return len(one.library.open("small")), len(other.library.open("small"))

    def doctor():
        place.environment(proxy.endpoint)
        checks = run_inside(tmp_path / "one", "doctor", "--json", **settings).json
        store = next(one for one in checks if one["name"] == "store")
        return store["ok"], store["detail"]

    fail(more)
    assert seen() == (41, 40)
    ok, detail = doctor()
    assert not ok
    assert "it answers 403" in detail
    proxy.trouble = lambda *_: ""
    assert doctor()[0]
    assert seen() == (41, 41)
    fail(another(tmp_path, "later"))
    proxy.trouble = lambda *_: ""
    one.tidy()
    assert seen() == (42, 42)
    assert found(one) == found(other)


def test_an_object_that_is_cut_off_or_lost_is_named_and_nothing_half_is_opened(place, small_source):
    one, other = place.app("one"), place.app("other")
    import_to(one, small_source)
    key = next(key for key in place.keys if "/data/" in key)
    store = mirror_of(one).store
    content = store.get(key)
    store.put(key, content[:-1])
    with pytest.raises(StorageError, match="is not what was written"):
        other.library.open("small")
    store.remove([key])
    with pytest.raises(MissingObjectError, match="lacks an object"):
        other.library.open("small")
    store.put(key, content)
    assert found(other) == found(one)


_PUBLISH = """
from engine.config import Settings
from engine.corpora.registry import home_of, writing
from storage.ledger import Ledger
settings = Settings()
home = home_of(settings)
ledger = Ledger(home.ledger, url=settings.ledger_url.get_secret_value())
with writing(home, ledger, "small"):
    print("begun", flush=True)
"""


@pytest.mark.parametrize("at", ["tables", "generations"])
def test_who_is_killed_while_publishing_leaves_the_corpus_as_it_was(
    place, proxy, small_source, more, tmp_path, at
):
    one, other = place.app("one", proxy.endpoint), place.app("other")
    import_to(one, small_source)
    before = found(other)
    proxy.trouble = lambda method, *_: "403" if method in ("PUT", "POST") else ""
    with pytest.raises(StorageError):
        import_to(one, more)
    row = one.ledger.corpus("small")
    reached = threading.Event()

    def hang(method, path, _number):
        if method in ("PUT", "POST") and f"/{at}" in path:
            reached.set()
            time.sleep(5)
        return ""

    proxy.trouble = hang
    settings = {"HOME": tmp_path / "one", "LEDGER_URL": place.ledger, "STORE": place.store}
    environment = {f"SEEDLENS_{name}": str(value) for name, value in settings.items()}
    place.environment(proxy.endpoint)
    with subprocess.Popen(
        [sys.executable, "-c", _PUBLISH], cwd=ROOT, env={**os.environ, **environment}
    ) as process:
        assert reached.wait(60)
        process.kill()
    proxy.trouble = lambda *_: ""
    assert one.ledger.corpus("small") == row
    assert found(other) == found(place.app("third")) == before
    # Another server writes on; then the first one does, over what the killed one left in its home.
    assert import_to(other, another(tmp_path, "later")) == 41
    assert sorted(one.library.open("small").doc_ids) == sorted(other.library.open("small").doc_ids)
    assert import_to(one, more) == 42
    assert {"more", "later"} <= set(other.library.open("small").doc_ids)
    assert found(other) == found(one)


def test_of_two_who_write_because_a_lock_was_lost_one_is_refused(
    place, small_source, more, tmp_path
):
    one, other = place.app("one"), place.app("other")
    import_to(one, small_source)
    later = another(tmp_path, "later")
    with pytest.raises(StorageError, match="written by another program meanwhile"):
        _written_over(one, lambda: import_to(other, later), more)
    ids = set(other.library.open("small").doc_ids)
    assert "later" in ids
    assert "more" not in ids
    assert set(one.library.open("small").doc_ids) == ids
    assert import_to(one, more) == 42
    assert len(other.library.open("small")) == 42


def _written_over(explorer, others, source):
    """Import with a lock that another machine does not know of."""
    locks = explorer.ledger.locks

    def publish(*given):
        others()
        return published(*given)

    mirror = mirror_of(explorer)
    published = mirror.publish
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mirror, "publish", publish)
        patch.setattr(type(locks), "hold", lambda *_, **__: nullcontext())
        import_to(explorer, source)


def test_servers_that_delete_restore_import_and_search_at_once_end_with_one_corpus(
    place, small_source, tmp_path
):
    apps = [place.app("one"), place.app("other")]
    import_to(apps[0], small_source)
    begun, odd, searches = time.monotonic(), [], [0, 0]

    def goes_on():
        """For six seconds; where a busy machine searched too little by then, for up to 60."""
        return time.monotonic() < begun + (6 if min(searches) > 0 or odd else 60)

    def repeat(work):
        while goes_on():
            try:
                work()
            except (UnknownNameError, StorageError):
                time.sleep(0.05)  # it is deleted now, or somebody writes it
            except BaseException as error:
                odd.append(error)

    def search(at):
        assert len(found(apps[at])) == 20
        searches[at] += 1

    def delete(app):
        app.library.delete("small")
        time.sleep(0.2)
        app.library.restore("small")
        time.sleep(0.3)

    def add():
        rows = [*DOCUMENTS, {**DOCUMENTS[2], "doc_id": f"new{time.monotonic_ns()}"}]
        import_to(apps[1], write_jsonl(tmp_path / "new.jsonl", rows))

    work = [(search, 0), (search, 1), (delete, apps[0]), (delete, apps[1]), (add,)]
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda one: repeat(partial(*one)), work))
    assert odd == []
    assert min(searches) > 0
    for app in apps:
        if app.library.deleted():
            app.library.restore("small")
    ids = [sorted(app.library.open("small").doc_ids) for app in apps]
    assert ids[0] == ids[1]
    assert len(ids[0]) >= 40
    assert found(apps[0]) == found(apps[1]) == found(place.app("third"))


# -- deleting -------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_what_nothing_needs_any_more_leaves_the_store_after_a_day(
    place, small_source, more, tmp_path, monkeypatch
):
    one, other = place.app("one"), place.app("other")
    import_to(one, small_source)
    selected = one.select("small", [SEED])
    import_to(one, more)
    kept = set(place.keys)
    one.library.empty_trash()
    assert set(place.keys) == kept, "all of it is young"
    monkeypatch.setattr(mirrors, "UNUSED_KEPT", timedelta(seconds=-10))
    one.library.empty_trash()
    assert len([key for key in place.keys if "/generations/" in key]) == 1
    assert len(place.keys) < len(kept)
    assert other.facets("small", [selected]).documents == 1
    assert found(other) == found(one)
    one.library.delete("small")
    monkeypatch.undo()
    place.environment()
    one.library.empty_trash()
    assert other.library.deleted() == ["small"]
    monkeypatch.setattr(registry, "DELETED_KEPT", timedelta(0))
    other.library.empty_trash()
    assert place.keys == []
    assert other.library.deleted() == []
    with pytest.raises(SeedLensError):
        one.library.restore("small")
