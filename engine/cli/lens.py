"""``seedlens lens``: which lenses there are, how they read, and another one for a corpus."""

from __future__ import annotations

from dataclasses import asdict

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.terminal import print_json, progress, stop_requested


@click.group("lens")
def lens() -> None:
    """Lenses: the sets of aspects that corpora are explored through.

    A lens of your own is a file: print one with show, change it, and give its path to
    import --lens or to lens set.
    """


@lens.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the lenses that come with SeedLens."""
    from engine.lenses.definitions import SHIPPED

    if as_json:
        print_json(
            [{"key": s.key, "name": s.name, "aspects": [a.key for a in s.aspects]} for s in SHIPPED]
        )
        return
    for shipped in SHIPPED:
        names = ", ".join(aspect.key for aspect in shipped.aspects)
        click.echo(f"{shipped.key:16} {shipped.name:24} {names}")


@lens.command()
@click.argument("key", metavar="KEY|FILE")
@json_option
def show(key: str, as_json: bool) -> None:
    """Print a lens as a file to start from: TOML, or JSON with --json.

    KEY is research, conversations or posts; a FILE is checked, and printed with all that
    was left out.
    """
    from engine.lenses.definitions import choose_lens, lens_to_toml

    chosen = choose_lens(key)
    if as_json:
        print_json(asdict(chosen))
    else:
        click.echo(lens_to_toml(chosen), nl=False)


@lens.command("set")
@click.argument("corpus")
@click.argument("key", metavar="KEY|FILE")
@json_option
def set_(corpus: str, key: str, as_json: bool) -> None:
    """Sort the sentences of CORPUS by another lens, without encoding it again.

    Roles that the source gave are kept for aspects that both lenses have; the others are
    estimated. Stopped in the middle, the corpus is as it was. Then its maps by aspect are made
    anew (seedlens map does it, where that was stopped).
    """
    from engine.lenses.definitions import choose_lens

    chosen = choose_lens(key)
    explorer = open_explorer()
    with progress() as tell:
        changed = explorer.library.set_lens(corpus, chosen, tell)
    if changed and explorer.settings.maps:
        with progress() as tell, stop_requested() as stopped:
            explorer.maps.build(corpus, tell, stopped)
    if as_json:
        aspects = [aspect.key for aspect in chosen.aspects]
        print_json({"corpus": corpus, "lens": chosen.key, "aspects": aspects, "changed": changed})
        return
    names = ", ".join(aspect.name for aspect in chosen.aspects)
    verdict = "is now seen through" if changed else "has already"
    click.echo(f"{corpus} {verdict} the lens '{chosen.name}': {names}.")
