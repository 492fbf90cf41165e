"""Threads take turns at what is open, and it is never left open behind them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial

import pytest

from storage.turns import Turns
from tests.support import wait_until


class Door:
    """Counts how often it was opened, and whether it is open."""

    def __init__(self) -> None:
        self.opened, self.closed = 0, 0
        self.turns = Turns(self._open, seconds=30.0, pause=0.0)

    def _open(self, held: ExitStack, deadline: float) -> int:
        self.opened += 1
        held.callback(self._close)
        return self.opened

    def _close(self) -> None:
        self.closed += 1

    def take(self, inside: Callable[[], object], seconds: float = 30.0) -> None:
        with self.turns.take(time.monotonic() + seconds):
            assert self.opened == self.closed + 1
            inside()

    def waiting(self, count: int) -> Callable[[], bool]:
        return lambda: len(self.turns._waiting) == count


def start(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_it_stays_open_for_those_who_wait_and_is_closed_behind_the_last() -> None:
    door = Door()
    threads: list[threading.Thread] = []

    def let_others_come() -> None:
        threads.extend(start(lambda: door.take(lambda: None)) for _ in range(5))
        wait_until(door.waiting(5), what="five threads that wait")

    door.take(let_others_come)
    for thread in threads:
        thread.join()
    assert (door.opened, door.closed) == (1, 1)
    door.take(lambda: None)
    assert (door.opened, door.closed) == (2, 2)


def test_other_processes_get_their_turn_though_threads_wait() -> None:
    door = Door()
    door.turns = Turns(door._open, seconds=0.0, pause=0.0)
    threads: list[threading.Thread] = []

    def let_others_come() -> None:
        threads.extend(start(lambda: door.take(lambda: None)) for _ in range(3))
        wait_until(door.waiting(3), what="three threads that wait")

    door.take(let_others_come)
    for thread in threads:
        thread.join()
    assert (door.opened, door.closed) == (4, 4)


def test_an_error_closes_it_and_the_next_opens_it_anew() -> None:
    door = Door()
    threads: list[threading.Thread] = []

    def fail() -> None:
        threads.append(start(lambda: door.take(lambda: None)))
        wait_until(door.waiting(1), what="a thread that waits")
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        door.take(fail)
    threads[0].join()
    assert (door.opened, door.closed) == (2, 2)


def test_who_gives_up_waiting_leaves_nothing_open() -> None:
    door = Door()
    gave_up: list[bool] = []

    def wait_in_vain() -> None:
        try:
            door.take(lambda: None, seconds=0.01)
        except TimeoutError:
            gave_up.append(True)

    def outlast() -> None:
        start(wait_in_vain).join()

    door.take(outlast)
    assert gave_up == [True]
    assert (door.opened, door.closed) == (1, 1)


def test_many_threads_with_little_patience_never_leave_it_open() -> None:
    door = Door()

    def work() -> None:
        for _ in range(20):
            with suppress(TimeoutError):
                door.take(lambda: time.sleep(0.0005), seconds=0.001)

    threads = [start(work) for _ in range(8)]
    for thread in threads:
        thread.join()
    assert door.opened == door.closed > 0


def test_threads_have_it_in_the_order_in_which_they_came() -> None:
    door = Door()
    order: list[str] = []

    def come_again_at_once() -> None:
        def let_two_others_come() -> None:
            for count, name in enumerate(("second", "third"), start=1):
                others.append(start(partial(door.take, partial(order.append, name))))
                wait_until(door.waiting(count), what="a thread that waits")

        door.take(let_two_others_come)
        for _ in range(3):
            door.take(lambda: order.append("again"))

    others: list[threading.Thread] = []
    come_again_at_once()
    for thread in others:
        thread.join()
    assert order[:2] == ["second", "third"]
