"""The notebook and the examples in ``docs/`` do what they show."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys

import pytest

from engine.config import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    pytest.param(page, marks=() if page.name == "README.md" else pytest.mark.nightly, id=page.name)
    for page in PAGES
    if "```python\n" in page.read_text("utf-8")
]


def cells():
    return list(json.loads(NOTEBOOK.read_text("utf-8"))["cells"])


def run_in_order(blocks, home, folder):
    """What blocks print in an interpreter of their own, with the value of each last line."""
    shown = "\n".join(_showing(block) for block in blocks)
    # What a notebook and the examples call assets/ lies in the checkout.
    (folder / "assets").symlink_to(ROOT / "assets")
    process = subprocess.run(
        [sys.executable, "-c", shown],
        env={**os.environ, "SEEDLENS_HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def _showing(block):
    """The block with a last line that is an expression turned to what it displays."""
    last = ast.parse(block).body[-1]
    if isinstance(last, ast.Expr):
        lines = block.splitlines()
        before = lines[: last.lineno - 1]
        value = ast.unparse(last.value)
        return "\n".join([*before, f"print(repr({value})[:10_000])"])
    return block


@pytest.mark.nightly
def test_the_notebook_runs_from_top_to_bottom(home, tmp_path):
    code = ["".join(c["source"]) for c in cells() if c["cell_type"] == "code"]
    shown = run_in_order(code, home, tmp_path)
    assert "added=480" in shown
    assert "mine” on aspect follows" in shown
    for figure in ("Rank flow", "95 % intervals", "Relevance-adherence trade-off"):
        assert figure in shown


def test_the_notebook_is_stored_without_what_it_displayed():
    code = [c for c in cells() if c["cell_type"] == "code"]
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in code)


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_of_a_page_run_in_order(page, demo_home, home, tmp_path):
    shutil.copytree(demo_home, home)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert run_in_order(blocks, home, tmp_path)


def test_the_page_of_commands_and_settings_is_current():
    made = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"]()
    stored = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert stored == made, "write it with: python docs/make_cli.py"


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md")}), ids=lambda path: path.name)
def test_links_and_files_that_pages_name_are_there(page):
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, section = target.partition("#")
        there = page if not path else page.parent / path
        assert there.exists(), target
        if section and there.suffix == ".md":
            assert section in anchors(there), target
    folders = "engine|pages|storage|assets|tests|benchmarks|tools|docs"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def anchors(page):
    """The names that headings have in links, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
