"""The ``seedlens`` command: one module per group of commands."""

from engine.cli.main import main

__all__ = ["main"]
