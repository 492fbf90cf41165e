"""Write ``home.tar.xz`` and ``expected.json`` with SeedLens as it was at commit c5d6635.

    git worktree add /tmp/old c5d6635
    PYTHONPATH=/tmp/old python tests/data/home_c5d6635/make_home.py

The home holds what a person leaves behind: a test collection of eight documents, judgments of three
annotators in a project, a grade from Explore, a trail with kept documents, a pasted text, an
evaluation, an uploaded run and uploaded judgments. ``expected.json`` holds what that version read
from it.
"""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENTS = 8
SEEDS = 2
CORPUS, PROJECT, TRAIL = "old", "relevance", "trail-of-ada"
EXPORTS = {"trec": False, "csv": False, "jsonl": True}
SYSTEMS = ("aspect", "bm25", "dense", "hybrid")
TEXT = "We train a network on recordings of birds and count the songs that it hears."


def write_collection(folder: Path) -> Path:
    """The first documents of the demo with their topics and judgments."""
    from engine.config import DEMO

    folder.mkdir(parents=True)
    lines = (DEMO / "corpus.jsonl").read_text("utf-8").splitlines()[:DOCUMENTS]
    ids = [json.loads(line)["doc_id"] for line in lines]
    seeds = sorted(ids)[:SEEDS]
    topics = [json.loads(t) for t in (DEMO / "topics.jsonl").read_text("utf-8").splitlines()]
    topics = [json.dumps(topic) for topic in topics if topic["seed"] in seeds]
    qrels = gzip.decompress((DEMO / "qrels.txt.gz").read_bytes()).decode().splitlines()
    qrels = [q for q in qrels if q.split("_")[0] in seeds and q.split()[2] in ids]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "topics.jsonl").write_text("\n".join(topics) + "\n", "utf-8")
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n", "utf-8")
    about = {"name": folder.name, "complete": True}
    (folder / "collection.json").write_text(json.dumps(about), "utf-8")
    return folder


def fill(home: Path) -> dict[str, object]:
    """Make the home; returns what was read from it afterwards."""
    from engine.importing import ImportRequest

    from engine.config import Settings
    from engine.explorer import Explorer
    from engine.queries import query_id
    from engine.types import EvaluationRequest, PoolRequest, Project, Query

    explorer = Explorer(Settings(home=home))
    source = write_collection(home.parent / "source" / CORPUS)
    explorer.library.import_documents(ImportRequest(source, CORPUS))

    method = Query(CORPUS, seed="demo-0001", aspect="method")
    own = Query(CORPUS, seed="demo-0002", instruction="What was measured in the same way")
    pasted = Query(CORPUS, text=TEXT, aspect="result", system="dense")

    notebook = explorer.notebook
    notebook.judge(method, "demo-0003", 3, rank=1, annotator="ada", note="the same network")
    notebook.judge(method, "demo-0004", 1, rank=2, annotator="ada")
    for query in (method, own, pasted):
        notebook.add_step(TRAIL, query)
    notebook.keep(TRAIL, CORPUS, "demo-0003")
    notebook.keep(TRAIL, CORPUS, "demo-0005")
    notebook.keep(TRAIL, CORPUS, "demo-0005", kept=False)
    notebook.keep(TRAIL, CORPUS, "demo-0006")
    text_id = notebook.put_text(TEXT)

    annotation = explorer.annotation
    project = annotation.save(
        Project(CORPUS, PROJECT, {"": "Read **all** of it."}, leads=("lead",), per_item=2), "lead"
    )
    ids = annotation.add_queries(project, [method, own])
    annotation.fill_pool(project, PoolRequest(("dense", "bm25"), 3))
    for number, item in enumerate(annotation.pool(project)):
        judge = annotation.judge
        judge(project, item.query_id, item.doc_id, "ada", number % 4, seconds=1.5)
        if number % 5 == 3:
            judge(project, item.query_id, item.doc_id, "bob B.", verdict="skip")
        elif number % 5 == 4:
            judge(project, item.query_id, item.doc_id, "bob B.", verdict="unsure", note="which?")
        else:
            judge(project, item.query_id, item.doc_id, "bob B.", (number + number % 2) % 4)
    first = annotation.pool(project)[0]
    note = 'He said "no",\nthen =1+1; <b>éß🐝</b>'
    annotation.judge(
        project, first.query_id, first.doc_id, "cleo", 2, note=note, marks=[(0, 5), (7, 9)]
    )
    last = annotation.pool(project)[-1]
    annotation.judge(project, last.query_id, last.doc_id, "cleo", 3)
    annotation.undo(project, "cleo")
    disputed = annotation.disagreements(project)[0]
    annotation.adjudicate(project, disputed.query_id, disputed.doc_id, 2, "between them", "lead")

    laboratory = explorer.laboratory
    ranked = [f"{i} Q0 {d} {n + 1} {9 - n} outsider" for i in explorer.laboratory.queries(CORPUS)
              for n, d in enumerate(("demo-0007", "demo-0003", "demo-0008"))]  # fmt: skip
    laboratory.add_run(CORPUS, "outsider.run", "\n".join(ranked).encode())
    theirs = f"{query_id(method)} 0 demo-0003 1\n{query_id(method)} 0 demo-0008 0\n"
    laboratory.add_qrels(CORPUS, "theirs", theirs.encode())
    request = EvaluationRequest(CORPUS, ("dense", "bm25"))
    laboratory.evaluate(request)

    explorer = Explorer(Settings(home=home))
    (corpus,) = explorer.library.corpora()
    searches = [
        {"seed": q.seed, "text": q.text, "aspect": q.aspect, "instruction": q.instruction,
         "system": system, "results": [
             [r.document.doc_id, r.score] for r in explorer.search(
                 Query(CORPUS, seed=q.seed, text=q.text, aspect=q.aspect,
                       instruction=q.instruction, system=system, k=DOCUMENTS)
             ).results]}
        for q in (method, own, pasted) for system in SYSTEMS
    ]  # fmt: skip
    evaluation = explorer.laboratory.evaluation(request)
    assert evaluation is not None
    exports = {
        kind: {name: "".join(parts) for name, parts in
               explorer.annotation.export(project, kind, per_annotator=own).files.items()}
        for kind, own in EXPORTS.items()
    }  # fmt: skip
    agreement = explorer.annotation.agreement(project)
    return {
        "corpora": [[corpus.name, corpus.documents, corpus.state, corpus.lens.key]],
        "searches": searches,
        "grades": explorer.notebook.grades(method, "ada"),
        "trail": [[q.seed, q.text, q.aspect, q.system] for q in explorer.notebook.trail(TRAIL)],
        "kept": [[c, d.doc_id] for c, d in explorer.notebook.kept(TRAIL)],
        "trail_files": {
            kind: explorer.notebook.export_trail(TRAIL, kind) for kind in ("bibtex", "jsonl")
        },
        "text": [text_id, explorer.notebook.text(text_id)],
        "query_ids": ids,
        "pool": [[i.query_id, i.doc_id] for i in explorer.annotation.pool(project)],
        "history": len(explorer.annotation.history(project)),
        "exports": exports,
        "agreement": {m.name: m.value for m in agreement.measures},
        "collections": sorted(c.key for c in explorer.laboratory.collections()),
        "runs": [[r.name, r.queries] for r in explorer.laboratory.runs(CORPUS)],
        "evaluation": {name: dict(s.metrics) for name, s in evaluation.systems.items()},
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        os.environ["SEEDLENS_HOME"] = str(home)
        expected = fill(home)
        (HERE / "expected.json").write_text(
            json.dumps(expected, indent=1, ensure_ascii=False) + "\n", "utf-8"
        )
        with tarfile.open(HERE / "home.tar.xz", "w:xz") as archive:
            archive.add(home, "home")
            archive.add(home.parent / "source", "source")


if __name__ == "__main__":
    main()
