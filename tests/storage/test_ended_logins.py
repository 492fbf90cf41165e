"""Ended logins: known after a restart and to other processes, until they are harmless."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from storage.ended_logins import DAY, SECONDS, EndedLogins
from storage.errors import StorageError

ONE, TWO, THREE, FOUR = ("1" * 64, "2" * 64, "3" * 64, "4" * 64)
NOW = 1_800_000_000.0


def test_an_ended_login_is_known_after_a_restart_and_to_programs_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "home" / "ended-logins"
    beside = EndedLogins(file)
    assert not beside.has_any([ONE])
    EndedLogins(file).add([ONE], NOW)
    assert beside.has_any([TWO, ONE])
    assert not beside.has_any([TWO])
    assert not beside.has_any([])
    beside.add([TWO], NOW)
    restarted = EndedLogins(file)
    assert restarted.has_any([ONE])
    assert restarted.has_any([TWO])
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, "nobody else's business"


def test_logins_whose_cookies_expired_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "ended-logins"
    EndedLogins(file).add([ONE], NOW)
    EndedLogins(file).add([TWO], NOW + SECONDS - 1)
    assert len(file.read_text().splitlines()) == 2
    EndedLogins(file).add([THREE], NOW + SECONDS + DAY + 1)
    EndedLogins(file).add([FOUR], NOW + SECONDS + 3 * DAY)
    assert [line.split()[1] for line in file.read_text().splitlines()] == [TWO, THREE, FOUR]


def test_a_clock_that_jumps_ahead_makes_no_ended_login_valid_again(tmp_path: Path) -> None:
    file = tmp_path / "ended-logins"
    EndedLogins(file).add([ONE], NOW)
    for digest, at in ((TWO, NOW + 2 * SECONDS), (THREE, NOW + 2 * SECONDS + 60), (FOUR, NOW)):
        EndedLogins(file).add([digest], at)
    assert EndedLogins(file).has_any([ONE])
    EndedLogins(file).add([ONE], NOW)
    assert len(file.read_text().splitlines()) == 4


def test_logging_out_at_the_same_time_loses_none(tmp_path: Path) -> None:
    file = tmp_path / "ended-logins"
    digests = [f"{number:064x}" for number in range(24)]
    threads = [threading.Thread(target=EndedLogins(file).add, args=([d],)) for d in digests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(EndedLogins(file).has_any([digest]) for digest in digests)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ended-logins", "ended-logins.lock"]


@pytest.mark.parametrize("content", [b"1800000000 abc\n", b"\xff\xfe", b"1800000000 " + b"1" * 63])
def test_a_damaged_file_says_so_rather_than_that_nobody_logged_out(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "ended-logins"
    file.write_bytes(content)
    logins = EndedLogins(file)
    with pytest.raises(StorageError, match=r"ended-logins.*Change cookie_secret"):
        logins.has_any([ONE])
    with pytest.raises(StorageError, match="cannot be read"):
        logins.add([TWO])
    assert logins.has_any([TWO]), "here and now it counts"
    assert file.read_bytes() == content


def test_a_login_that_cannot_be_written_down_is_ended_until_the_restart(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    logins = EndedLogins(tmp_path / "home" / "ended-logins")
    with pytest.raises(StorageError, match="Until SeedLens is restarted they count"):
        logins.add([ONE])
    assert logins.has_any([ONE])
