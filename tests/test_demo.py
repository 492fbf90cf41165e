"""The demo collection: what people who try SeedLens on it may rely on."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DEMO = Path(__file__).resolve().parents[1] / "assets" / "demo"
SCRIPT = DEMO / "make_demo.py"
ASPECTS = ("background", "method", "result")


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_demo", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


make_demo = _load()


def _read(name: str) -> list[dict[str, Any]]:
    lines = (DEMO / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def corpus() -> list[dict[str, Any]]:
    return _read("corpus.jsonl")


@pytest.fixture(scope="module")
def labels() -> dict[str, dict[str, str]]:
    return {record["doc_id"]: record for record in _read("labels.jsonl")}


@pytest.fixture(scope="module")
def families() -> dict[str, str]:
    """Value to family, read from the wordings without the script under test."""
    return {
        value["id"]: value["family"]
        for name in ("problems", "methods", "results")
        for value in json.loads((DEMO / "wordings" / f"{name}.json").read_text("utf-8"))["values"]
    }


def _texts(corpus: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for document in corpus:
        for text in (document["title"], *document["sentences"]):
            yield document["doc_id"], text


def test_the_script_gives_the_shipped_files(tmp_path: Path) -> None:
    """Running the script again gives what is shipped, byte for byte."""
    command = [sys.executable, str(SCRIPT), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(
        ["corpus.jsonl", "labels.jsonl", "topics.jsonl", "qrels.txt.gz", "collection.json"]
    )
    for name in made:
        fresh, shipped = (tmp_path / name).read_bytes(), (DEMO / name).read_bytes()
        if name.endswith(".gz"):  # zlib builds may compress the same bytes differently
            assert fresh[4:8] == shipped[4:8] == bytes(4), "a time stamp in the gzip header"
            fresh, shipped = gzip.decompress(fresh), gzip.decompress(shipped)
        assert fresh == shipped, name


def test_check_accepts_what_is_shipped_and_names_what_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check passes on the shipped folder, and fails on a changed or missing file by name."""
    assert make_demo.main(["--check"]) == 0
    for path in DEMO.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "corpus.jsonl").write_text("{}\n")
    capsys.readouterr()
    assert make_demo.main(["--check", "--out", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "corpus.jsonl is not" in told
    assert "qrels.txt.gz is missing" in told
    assert "topics.jsonl" not in told


def test_collection_json_counts_what_is_there(corpus: list[dict[str, Any]]) -> None:
    """The description says synthetic and complete, and its counts are those of the files."""
    about = json.loads((DEMO / "collection.json").read_text("utf-8"))
    assert about["synthetic"] is True
    assert about["complete"] is True
    assert about["documents"] == len(corpus) == len({d["doc_id"] for d in corpus}) >= 300
    assert about["queries"] == len(_read("topics.jsonl"))
    assert tuple(about["aspects"]) == ASPECTS


def test_every_document_is_whole(corpus: list[dict[str, Any]]) -> None:
    """Five to eight sentences, a role for each, every role present, and no other fields."""
    fields = {"doc_id", "title", "sentences", "roles", "year", "authors", "venue"}
    for document in corpus:
        assert set(document) == fields
        assert 5 <= len(document["sentences"]) <= 8, document["doc_id"]
        assert len(document["roles"]) == len(document["sentences"])
        assert set(document["roles"]) == set(ASPECTS)
        assert 2009 <= document["year"] <= 2025
        assert 2 <= len(set(document["authors"])) == len(document["authors"]) <= 4


def test_roles_name_the_part_a_sentence_was_made_of() -> None:
    """A sentence has the role of the file that its template comes from."""
    wordings = make_demo.load_wordings(DEMO / "wordings")
    framing = json.loads((DEMO / "wordings" / "framing.json").read_text("utf-8"))
    frames = {"background": "aims", "method": "bridges"}
    templates = {a: {s for v in wordings[a] for w in v for s in w.sentences} for a in ASPECTS}
    for role, kind in frames.items():
        templates[role] |= {s for pool in framing[kind].values() for s in pool}
    patterns = {role: [_pattern(t) for t in found] for role, found in templates.items()}
    for document in _read("corpus.jsonl"):
        for role, sentence in zip(document["roles"], document["sentences"], strict=True):
            assert any(p.search(sentence) for p in patterns[role]), (document["doc_id"], sentence)


def _pattern(template: str) -> re.Pattern[str]:
    """The template as a pattern for the end of a sentence (an opener may precede it)."""
    parts = re.split(r"(\[[^\]]*\]|\{[^}]*\})", template)
    made = "".join(
        f"(?:{'|'.join(map(re.escape, part[1:-1].split('|')))})" if part.startswith("[")
        else ".+" if part.startswith("{") else re.escape(part)
        for part in parts
    )  # fmt: skip
    return re.compile(made + "$", re.IGNORECASE)


def test_topics_ask_every_aspect_of_every_document(corpus: list[dict[str, Any]]) -> None:
    """One query per document and aspect, named <seed>_<aspect>."""
    wanted = [
        {"query_id": f"{d['doc_id']}_{a}", "seed": d["doc_id"], "aspect": a}
        for d in corpus
        for a in ASPECTS
    ]
    assert _read("topics.jsonl") == wanted


def test_judgments_follow_from_labels(
    labels: dict[str, dict[str, str]], families: dict[str, str]
) -> None:
    """Grade 3 for the same value, 1 for the same family, nothing else listed, never the seed."""
    expected = set()
    for seed, wanted in labels.items():
        for doc_id, offered in labels.items():
            for aspect in ASPECTS if doc_id != seed else ():
                one, other = wanted[aspect], offered[aspect]
                if families[one] == families[other]:
                    expected.add((f"{seed}_{aspect}", "0", doc_id, "3" if one == other else "1"))
    with gzip.open(DEMO / "qrels.txt.gz", "rt", encoding="utf-8") as file:
        listed = [tuple(line.split()) for line in file]
    assert len(listed) == len(set(listed))
    assert set(listed) == expected


def test_values_are_used_equally_and_no_combination_twice(
    labels: dict[str, dict[str, str]],
) -> None:
    """Every value of an aspect has the same number of documents; triples are unique."""
    for aspect in ASPECTS:
        assert len(set(Counter(r[aspect] for r in labels.values()).values())) == 1
    triples = Counter(tuple(r[a] for a in ASPECTS) for r in labels.values())
    assert max(triples.values()) == 1


def test_combinations_are_plausible() -> None:
    """No document joins a method with a result or a problem that the tables rule out."""
    wordings = make_demo.load_wordings(DEMO / "wordings")
    triples = make_demo.assign(wordings, make_demo.random.Random(make_demo.SEED))
    assert all(make_demo.fits(triple) for triple in triples)
    pairs = Counter((a.key, b.key) for t in triples for a in t for b in t if a is not b)
    assert max(pairs.values()) == 1, "two wordings meet twice"
    used = Counter(w.key for t in triples for w in t)
    assert len(used) == sum(len(v) for values in wordings.values() for v in values)


def test_wordings_of_one_value_share_no_content_word() -> None:
    """Lexical overlap cannot tell that two wordings of a value mean the same."""
    for values in make_demo.load_wordings(DEMO / "wordings").values():
        assert make_demo.faults(values) == []


def test_shared_words_and_broken_slots_are_reported() -> None:
    """The check of the wordings sees an inflected shared word and an unclosed slot."""
    one = make_demo.Wording("v", "f", 0, "Title", ("Graphs are trained.",), "post", "posts")
    other = make_demo.Wording("v", "f", 1, "Other", ("Training {items.",), "tweet", "tweets")
    told = make_demo.faults([[one, other]])
    assert len(told) == 2
    assert "['train']" in told[0]
    assert "unbalanced" in told[1]


def test_titles_are_unique_and_of_readable_length(corpus: list[dict[str, Any]]) -> None:
    """A title names one document."""
    titles = [document["title"] for document in corpus]
    assert len(set(map(str.lower, titles))) == len(titles)
    assert all(40 <= len(title) <= 140 for title in titles)


def test_no_trace_of_the_machinery_is_left(corpus: list[dict[str, Any]]) -> None:
    """No slots, alternatives or double spaces; capitals and full stops; a and an agree."""
    for doc_id, text in _texts(corpus):
        assert not re.search(r"[\[\]{}|\0]|  | ,| \.|\.\.|\bNone\b", text), (doc_id, text)
        assert text[0].isupper(), (doc_id, text)
        assert not re.search(r"\ba [aeio]|\ban [bcdfgjklmnpqrstvwxyz]", text), (doc_id, text)
    for document in corpus:
        for sentence in document["sentences"]:
            assert sentence[-1] in ".?", sentence
            assert not re.search(r"(, |that |: )(A|An|The|We|It) ", sentence), sentence


def test_no_document_contains_its_labels(
    corpus: list[dict[str, Any]], labels: dict[str, dict[str, str]]
) -> None:
    """Search cannot see the truth: no text or field holds the id of a value of the document."""
    for document in corpus:
        text = json.dumps(document, ensure_ascii=False).lower()
        for aspect in ASPECTS:
            assert labels[document["doc_id"]][aspect] not in text, document["doc_id"]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a {item} and {items}", "An essay and essays"),
        ("{Items} in {n:3-3} sites", "Essays in three sites"),
        ("rank-{n:4-4} and 0.{n:7-7}", "Rank-4 and 0.7"),
        ("{n:3-3} of {n:30-30}", "3 of 30"),
        ("of {n:2500-2500} or {n:8-8}%", "Of 2,500 or 8%"),
        ("an {n:9-9}-fold gain", "A nine-fold gain"),
    ],
)
def test_slots_become_good_english(template: str, expected: str) -> None:
    """Articles, plurals, small numbers as words unless they are figures."""
    wording = make_demo.Wording("v", "f", 0, "T", (), "essay", "essays")
    assert make_demo.fill(template, wording, make_demo.random.Random(1)) == expected
