"""The retrieval systems, by name."""

from __future__ import annotations

from engine.errors import check_known
from engine.search.systems.aspect_system import AspectSystem
from engine.search.systems.baselines import (
    Bm25AspectSystem,
    Bm25System,
    DenseSystem,
    HybridSystem,
    InstructedSystem,
    System,
)
from engine.search.systems.facts_system import FactsSystem, WithFacts
from engine.search.systems.late_interaction import LateInteractionSystem
from engine.search.systems.optimal_transport import TransportSystem
from engine.search.systems.scenario_system import ScenarioSystem

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Bm25System(),
        DenseSystem(),
        LateInteractionSystem(),
        HybridSystem(Bm25System(), DenseSystem()),
        AspectSystem(),
        Bm25AspectSystem(),
        TransportSystem(),
        InstructedSystem(),
        FactsSystem(),
        WithFacts(HybridSystem(Bm25System(), DenseSystem())),
        WithFacts(AspectSystem()),
    )
}
PREPARED: dict[str, System] = {ScenarioSystem.name: ScenarioSystem()}
"""Systems that a corpus has only when something was made for it beforehand."""
SYSTEM_NAMES = (*SYSTEMS, *PREPARED)
READ_STEER = frozenset((AspectSystem.name, TransportSystem.name, f"{AspectSystem.name}+facts"))
"""Names of the systems whose ranking steer changes."""
READ_TERMS = frozenset(SYSTEMS) - {Bm25System.name, Bm25AspectSystem.name, DenseSystem.name}
"""Names of the systems whose ranking obeys the terms of a wording."""
GO_BY_FACTS = frozenset(
    name for name, system in SYSTEMS.items() if isinstance(system, FactsSystem | WithFacts)
)
"""Names of the systems in whose ranking dates, amounts and places have a say."""


def reads_wording(name: str) -> bool:
    """Whether the ranking of a system goes by aspects or terms."""
    return find_system(name).reads_aspect or name in READ_TERMS


def find_system(name: str) -> System:
    """The system called ``name``, or UnknownNameError that lists them."""
    check_known("system", name, SYSTEM_NAMES)
    return SYSTEMS[name] if name in SYSTEMS else PREPARED[name]
