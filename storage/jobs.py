"""Jobs that run in processes: what each does, how far it is, and whether it is to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select

from storage.database import LedgerTables
from storage.locks import is_alive
from storage.records import Packed
from storage.tables import columns_of, records, table, upsert


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job."""

    job_id: str
    about: str  # what it works on; one job at a time does
    state: str  # ``running``, or how it ended
    content: Packed  # JSON owned by the engine
    owner: str
    machine: str
    process: int  # 0 until it was started
    stop: bool  # it is to stop
    started: datetime
    renewed: datetime  # the last sign of life

    @property
    def is_alive(self) -> bool:
        """Whether it runs, as far as can be seen from this machine."""
        return self.state == "running" and is_alive(self.machine, self.process, self.renewed)


JOBS = table("jobs", JobRow, key=("job_id",))


class Jobs(LedgerTables):
    """The jobs of all machines that share a ledger."""

    def start(self, row: JobRow, check: Callable[[Sequence[JobRow]], object]) -> None:
        """Add a job, or replace it, unless ``check`` of those that run raises."""
        with self._database.write() as connection:
            rows = records(connection, JobRow, select(*columns_of(JOBS, JobRow)))
            check([one for one in rows if one.is_alive])
            upsert(connection, JOBS, [row])

    def all(self) -> list[JobRow]:
        """All jobs, the latest first."""
        query = select(*columns_of(JOBS, JobRow)).order_by(
            JOBS.c.started.desc(), JOBS.c.job_id.desc()
        )
        return self._database.records(JobRow, query)

    def find(self, id_: str) -> JobRow | None:
        """The job of that id; None when there is none."""
        query = select(*columns_of(JOBS, JobRow)).where(JOBS.c.job_id == id_)
        return self._database.first(JobRow, query)

    def change(self, id_: str, **values: object) -> bool:
        """Change columns of a job, which is a sign of life; returns whether it is to stop."""
        changed = JOBS.update().where(JOBS.c.job_id == id_)
        with self._database.write(durable=False) as connection:
            connection.execute(changed.values(renewed=datetime.now(UTC), **values))
            return bool(connection.scalar(select(JOBS.c.stop).where(JOBS.c.job_id == id_)))

    def stop(self, id_: str) -> None:
        """Ask a job to stop."""
        with self._database.write() as connection:
            connection.execute(JOBS.update().where(JOBS.c.job_id == id_).values(stop=True))

    def remove(self, id_: str) -> None:
        """Forget a job; one that is not there is none."""
        with self._database.write() as connection:
            connection.execute(JOBS.delete().where(JOBS.c.job_id == id_))
