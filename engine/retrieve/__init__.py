"""The retrieval systems, by name."""

from __future__ import annotations

from engine.errors import UnknownNameError
from engine.retrieve.aspect import AspectSystem
from engine.retrieve.base import System
from engine.retrieve.bm25 import Bm25System
from engine.retrieve.dense import DenseSystem
from engine.retrieve.facts import FactsSystem, WithFacts
from engine.retrieve.hybrid import HybridSystem
from engine.retrieve.instructed import InstructedSystem
from engine.retrieve.late_interaction import LateInteractionSystem
from engine.retrieve.scenario import ScenarioSystem
from engine.retrieve.transport import TransportSystem

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Bm25System(),
        DenseSystem(),
        LateInteractionSystem(),
        HybridSystem(Bm25System(), DenseSystem()),
        AspectSystem(),
        TransportSystem(),
        InstructedSystem(),
        FactsSystem(),
        WithFacts(HybridSystem(Bm25System(), DenseSystem())),
        WithFacts(AspectSystem()),
    )
}
PREPARED: dict[str, System] = {ScenarioSystem.name: ScenarioSystem()}
"""Systems that a corpus has only when something was made for it beforehand."""
READ_STEER = frozenset((AspectSystem.name, TransportSystem.name, f"{AspectSystem.name}+facts"))
"""Names of the systems whose ranking steer changes."""
GO_BY_FACTS = frozenset(
    name for name, system in SYSTEMS.items() if isinstance(system, FactsSystem | WithFacts)
)
"""Names of the systems in whose ranking dates, amounts and places have a say."""


def find_system(name: str) -> System:
    """The system called ``name``, or UnknownNameError that lists them."""
    found = SYSTEMS.get(name) or PREPARED.get(name)
    if found is None:
        known = ", ".join([*SYSTEMS, *PREPARED])
        raise UnknownNameError(f"There is no system '{name}'.", f"Use one of {known}.")
    return found
