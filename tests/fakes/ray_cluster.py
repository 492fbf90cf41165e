"""A Ray cluster on this machine, for as long as tests need one."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from engine.config import ROOT
from tests.support import wait_until

QUIET = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # which listens on the loopback interface alone
    # So long a client that is gone keeps its workers.
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "2",
    # A node that is gone is noticed after 10 s, not 15. Less, and one that is only slow counts as
    # gone, and with it whoever is connected to it.
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "10",
}


def missing() -> str:
    """Why there can be no cluster here; "" when there can."""
    for name, package in (("ray", "ray"), ("lance", "pylance")):
        if importlib.util.find_spec(name) is None:
            return f"{package} is not installed (pip install -e '.[cluster]')"
    return ""


class SmallCluster:
    """A head without cores, and nodes of one core each.

    Attributes:
        address: for programs on this machine.
        client_address: for programs anywhere.
    """

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        port = _free_port()
        own = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
        self.client_address = f"ray://127.0.0.1:{port}"
        self._cluster = Cluster(initialize_head=True, head_node_args=own)
        self.address: str = self._cluster.address
        self._nodes = [self._cluster.add_node(num_cpus=1) for _ in range(2)]

    def lose_node(self) -> None:
        """End all processes of a node at once; another one comes in its place."""
        self._cluster.remove_node(self._nodes.pop(0), allow_graceful=False)
        self._nodes.append(self._cluster.add_node(num_cpus=1))

    def forget_lost(self) -> None:
        """Wait until the cluster knows which nodes are gone: who connects might be sent there."""
        import ray

        def alive() -> int:
            return sum(node["Alive"] for node in ray.nodes())

        wait_until(lambda: alive() == 1 + len(self._nodes), what="the end of a node", seconds=60)

    def stop(self) -> None:
        self._cluster.shutdown()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def running() -> Iterator[SmallCluster]:
    """A cluster of two nodes that listens on this machine alone, and reports to nobody."""
    before = {name: os.environ.get(name) for name in (*QUIET, "PYTHONPATH", "RAY_TMPDIR")}
    os.environ.update(QUIET)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before["PYTHONPATH"]]))
    with tempfile.TemporaryDirectory(
        prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
    ) as folder:
        os.environ["RAY_TMPDIR"] = folder
        cluster = SmallCluster()
        try:
            yield cluster
        finally:
            import ray

            ray.shutdown()
            cluster.stop()
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def workers(doing: str, above: int | None = None) -> list[psutil.Process]:
    """Processes of Ray's, started by this one or by ``above``, that do one kind of work."""
    found = []
    for process in psutil.Process(above).children(recursive=True):
        try:
            if process.cmdline()[:1] == [f"ray::{doing}"]:
                found.append(process)
        except psutil.Error:
            continue
    return found


def kill_worker(doing: str = "index_shard", **where: Any) -> bool:
    """Kill a process that is at work; False where none is."""
    for process in workers(doing, **where):
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        return True
    return False
