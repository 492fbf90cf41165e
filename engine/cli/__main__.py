"""``python -m engine.cli``."""

from engine.cli import main

main()
