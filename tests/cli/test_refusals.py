"""What commands refuse: exit code 2, one line with place and remedy, and nothing has changed."""

from __future__ import annotations

import shlex
import shutil
import sqlite3

import pytest

from tests.cli.command_line import assert_refused, run_inside, write_files

GOOD = b'{"id": "a", "text": "Frogs sing at dusk."}\n'
TOPIC = b'{"query_id": "a_method", "seed": "a", "aspect": "method"}\n'
PAIR = {
    "corpus.jsonl": GOOD + b'{"id": "b", "text": "Toads listen."}\n',
    "topics.jsonl": TOPIC,
    "qrels.txt": b"a_method 0 b 1\n",
}
FILES: dict[str, bytes] = {
    "good.jsonl": GOOD,
    "empty.jsonl": b"",
    "latin.jsonl": GOOD + b'{"id": "b", "text": "caf\xe9"}\n',
    "cut.jsonl": GOOD + b'\n{"id": "b", "text"\n',
    "no-column.jsonl": b'{"text": "y"}\n',
    "twice.jsonl": GOOD + b'{"id": "b", "text": "y"}\n{"id": "a", "text": "z"}\n',
    "no-rows.csv": b"id,text\n",
    "word.docx": b"PK\x03\x04",
    "elsewhere/notes.txt": b"",
    "no-model/notes.txt": b"",
    "strange.txt": b"bees-network_method\nwhat_ever\n",
    "queries.txt": b"bees-network_method\n",
    "wrong.run": b"broken\n",
    "ids.txt": b"bees-sensor\nnowhere\nelse\n",
    "blank.txt": b"\n\n",
    "bad.toml": b'name = "Bad"\n[[aspects]]\nname = "One"\ndefinition = "Two."\n',
    "halves.json": b'[[0.9, "No"], [2, "Yes"]]',
    "qrels.txt": b"bees-network_method 0 bread-network 1\n",
    "cut.qrels": b"one two\nbees-network_method 0 nobody 1\n",
    **{f"pair/{name}": content for name, content in PAIR.items()},
    **{f"no-qrels/{name}": PAIR[name] for name in ("corpus.jsonl", "topics.jsonl")},
    **{f"no-documents/{name}": PAIR[name] for name in ("topics.jsonl", "qrels.txt")},
    "questions/topics.jsonl": b'{"query_id": "q", "text": "Who sings at dusk?"}\n',
    "questions/qrels.txt": b"q 0 bees-network 1\n",
    "full/mine.txt": b"kept",
    "not-json/topics.jsonl": b"{\n",
    "columns/qrels.txt": b"a_method 0 b\n",
}
BROKEN = ("not-json", "columns")
for folder in BROKEN:
    for name, content in PAIR.items():
        FILES.setdefault(f"{folder}/{name}", content)
WORDS = {
    "item": "--query bees-network_method --doc bread-network",
    "seed": "--seed bees-network",
    "long": "x" * 100_000,
    "wording": "x" * 2001,
    "surrogate": "a\udcff",
    "line": "'one\ntwo\r\nthree'",
}
TABLE = """
import {files}/empty.jsonl --name n -> empty.jsonl; is empty; Choose a file
import {files}/latin.jsonl --name n --encoding utf-8 -> latin.jsonl; line 2; UTF-8; --encoding
import {files}/cut.jsonl --name n -> cut.jsonl; row 3; JSON object per line
import {files}/no-column.jsonl --name n -> row 1; 'doc_id'
import {files}/twice.jsonl --name n -> row 3; 'a'; row 1; a different id
import {files}/no-rows.csv --name n -> no-rows.csv; 0 rows; at least one row
import {files}/word.docx --name n -> word.docx; .docx; jsonl
import {files}/nowhere.jsonl --name n -> nowhere.jsonl; does not exist
import {files}/elsewhere --name n -> unknown layout; corpus.jsonl
import {files}/good.jsonl --name a/b -> 'a/b'; letters, digits
import {files}/good.jsonl --name '' -> letters, digits
import {files}/good.jsonl --name n --format docx -> 'docx'; jsonl; beir
import {files}/good.jsonl --name n --map doc_id -> --map doc_id; doc_id=
import {files}/good.jsonl --name n --map flavour=id -> 'flavour'; doc_id, title, text
import {files}/good.jsonl --name n --map text=body -> 'body'; id, text
import {files}/good.jsonl --name n --encoder {files}/gone -> {files}/gone; does not exist
import {files}/good.jsonl --name n --encoder {files}/no-model -> {files}/no-model
import {files}/good.jsonl --name n --lens {files}/bad.toml -> aspect 1 (One): examples
import {files}/good.jsonl --name n --lens x -> no lens 'x'
import {files}/good.jsonl --name n --limit 5 -> --limit is for services
import --undo gone -> 'gone'
import 'acl:some words' --name n -> no id of the ACL Anthology
import zotero:mine --name n -> 'mine' is no library of Zotero
import s2: --name n -> Nothing is asked for
import s2:@nowhere.txt --name n -> nowhere.txt cannot be read
import openalex:x --name n --map id=x -> needs no --format and no --map
import google:x --name n -> google:x does not exist, and is no service that SeedLens knows. Services
update nothing -> There is no corpus 'nothing'
lens set gone posts -> 'gone'
search nope {seed} -> 'nope'; small
search small --seed nope -> 'nope'; 'small'; doc_id
search small --seed {line} -> one two three
search small {seed} --aspect taste -> 'taste'; background, method, result
search small {seed} --system magic -> 'magic'; bm25
search small {seed} --system scenario -> seedlens scenarios small
search small {seed} --k 0 -> k is 0; at least 1
search small {seed} --steer 1.5 -> 1.5; 0 to 1
search small -> one seed; doc_id or a text
search small {seed} --text x -> one seed
search small --text ' ' --json -> text is empty; Paste
search small {seed} --filter 2010 -> '2010'; field=value
search small {seed} --filter 'year>=new' -> 'new'; year>=
search small {seed} --filter 'has.date>=soon' -> 'soon' is not a date; has.date>=2010-05
search small {seed} --instruction {wording} -> 2,001; 2,000; Shorten
search small {seed} --within {files}/ids.txt -> ids.txt; 2 documents; 'nowhere', 'else'
search small {seed} --within {files}/blank.txt -> blank.txt; no document
search small {seed} --rerank pairwise -> OPENAI_BASE_URL; SEEDLENS_LLM_MODEL
search small {seed} --system multi-hop -> OPENAI_BASE_URL; SEEDLENS_LLM_MODEL
search small {seed} --instruction a --model-reading -> OPENAI_BASE_URL
search small {seed} --model-reading -> Give one with --instruction
search small {seed} --instruction a --model-reading --reading any -> Leave out
search small {seed} --depth 10 -> --rerank
trail show nobody -> seedlens trail list
export small --ids {files}/ids.txt -> no document 'nowhere'
map small --output map.png -> Use .json or .csv
map small --model-names --own-names -> exclude each other
sql small "select * from read_csv('/etc/passwd')" -> refused; /etc/passwd; documents
sql nowhere 'select 1' -> There is no corpus 'nowhere'
sql small 'selct 1' -> syntax error at or near "selct"; LINE 1
judge small {item} --grade 4 -> grade is 4; 0, 1, 2, 3
judge small {item} --grade 1 --skip -> one of --grade
judge small {item} -> one of --grade
judge small --query bees-network_method --grade 1 -> Give --query and --doc
judge small --query bees-network_method --undo -> Give --query and --doc
judge small --undo --adjudicate -> Give --query and --doc
judge small --undo --note oh -> no note
judge small {item} --skip --adjudicate -> decision is a grade
judge small {item} --grade 1 --annotator ' ' -> no name
judge small {item} --grade 1 --annotator adjudicated -> name of your own
judge small {item} --grade 1 --annotator model:judge -> the name of a language model
judge small {item} --grade 1 --note {long} -> 100,000 characters; 10,000
judge small {item} --grade 1 --project none -> no project 'none'
judge small {item} --grade 1 --adjudicate -> no reason
judge small --query x_method --doc emoji --grade 1 -> 'x_method'; SEED_ASPECT
judge small --query bees-network_method --doc nobody --grade 1 -> 'nobody'
judge small --query bees-network_method --doc bees-network --grade 1 -> is the seed
judge small {item} --grade 1 --annotator {surrogate} -> control characters or broken
pool small --project p -> no queries yet; --queries
pool small --queries {files}/strange.txt -> line 2 ('what_ever')
pool small --queries {files}/queries.txt --depth 0 -> depth of the pool is 0
pool small --queries {files}/queries.txt --holes -> --unjudged changes nothing
pool small --queries {files}/queries.txt --systems '' -> names no system
pool small --run {files}/wrong.run -> wrong.run, line 1
project create small p -> has a project 'p'
project change small p --lead '' --lead ann -> no name
project change small p --scale {files}/halves.json -> halves.json; as a scale
project list nosuch -> nosuch
qrels export small -> no grades to export
qrels export small --per-annotator --spreadsheet -> --spreadsheet is for CSV
qrels import small {files}/qrels.txt -> no name
qrels import small {files}/cut.qrels --annotator eve -> 2 lines; line 1; line 2; 'nobody'
qrels import small -> did not come from CSFCube
qrels import small {files}/none -> does not exist
grade small -> Name a project
grade small --project gone -> has no project 'gone'
grade small --project p --anchors 99 -> number of anchors is 99
grade small --project p --query gone_method -> not in this project
evaluate {files}/good.jsonl -> good.jsonl; not a test collection; BEIR
evaluate {files}/no -> {files}/no; does not exist
evaluate {files}/pair --systems dense,magic -> 'magic'; bm25
evaluate {files}/pair --systems ' , ' -> --systems; bm25
evaluate {files}/pair --steer 2 -> 2.0; 0 to 1
evaluate {files}/pair --corpus nope -> 'nope'
evaluate {files}/pair --systems dense --run-out {files}/good.jsonl -> good.jsonl
evaluate {files}/pair --human -> 'pair'; single annotators; --human
evaluate {files}/pair --systems dense --rerank best -> pairwise-lite
evaluate {files}/pair --systems dense --rerank pairwise -> OPENAI_BASE_URL; SEEDLENS_LLM_MODEL
evaluate {files}/pair --systems rewrite -> OPENAI_BASE_URL
evaluate {files}/pair --depth 10 -> --rerank
evaluate {files}/pair --corpus small -> 'a'; 'a_method'; 'small'; --corpus
evaluate {files}/no-documents -> 'no-documents'; --corpus
evaluate {files}/no-qrels -> no-qrels; qrels
evaluate {files}/not-json -> topics.jsonl; line 1
evaluate {files}/columns -> qrels.txt; line 1; 3 columns
sensitivity {files}/pair --variants base,rhymes -> 'rhymes'; base, generic, definition
sensitivity {files}/pair --variants ' , ' -> No variant is named; base, generic
sensitivity {files}/pair --systems dense,magic -> 'magic'; bm25
sensitivity {files}/pair --corpus nope -> 'nope'; small
sensitivity {files}/questions --corpus small -> has a seed and an aspect; CSFCube
gap {files}/pair -> OPENAI_BASE_URL; SEEDLENS_LLM_MODEL
read {files}/pair -> OPENAI_BASE_URL
build new nothing x --attribute a -> no corpus 'nothing'
build new small x --attribute ' ' -> no attribute
build new small a/b --attribute a -> 'a/b'
build new small x --attribute a --distance 3 -> distance is 3.0
build new small x --attribute a --aspect hue -> no aspect 'hue'
build new small x --attribute a --systems bm26 -> bm26
build new small methods --attribute a -> build change
build show small nothing -> It has methods
build show small methods --csv -> --step
build run small methods --step label --all -> exclude each other
build export small methods --out {files}/early -> 'expand'
generate implicit --category temporal --style uni --documents 20 --out {files}/out -> 20 activities
generate implicit --category world --model --out {files}/out -> needs a language model
generate implicit --category world --out {files}/full -> is not empty
scenarios nothing --extractive -> no corpus 'nothing'
scenarios small --extractive --weight 2 -> weight is 2
scenarios small --extractive --distilled x -> exclude each other
scenarios small --distilled /nowhere -> seedlens distill
facts small -> --doc DOC_ID
facts --text x --date 2023-02-29 -> '2023-02-29' is not a day
facts --text x --yes -> Add --model
facts --model -> facts NAME --model
facts small --model --kinds hue -> 'hue' is no kind of fact
verify {files}/good.jsonl -> not a backup of SeedLens
ledger copy server -> SEEDLENS_LEDGER_URL
"""
NO_MODEL = (
    "grade small --project p",
    "build run small methods",
    "scenarios small",
    "facts small --model",
)
ROWS: dict[str, list[tuple[str, str]]] = {}
"""Command and what is said of it, by the first word of the command."""
for row in TABLE.strip().splitlines():
    command, _, says = row.partition(" -> ")
    ROWS.setdefault(command.split()[0], []).append((command, says))
PARSING = """
search -> Missing argument
search small --k many -> 'many' is not a valid integer
search small --x -> No such option
nonsense -> No such command
import x --limit 0 -> 0 is not in the range
import x --duplicates drop -> 'drop' is not one of
evaluate x --sample 0 -> 0 is not in the range
scenarios small --component K -> 'K'
generate implicit --category world --out o --sets 0 -> 0 is not in the range 1<=x<=2000
generate implicit --category world --out o --sets many -> 'many' is not a valid integer
generate implicit --category world --out o --documents 61 -> 61 is not in the range 1<=x<=60
generate implicit --category world --out o --tries 0 -> 0 is not in the range
generate implicit --category spatial --out o -> 'spatial' is not one of
generate implicit --category world --style duo --out o -> 'duo' is not one of
distill aspects small --out o --documents 0 -> not in the range x>=1
distill aspects small --out o --candidates 99 -> not in the range 2<=x<=20
distill aspects small --out o --learning-rate 0 -> not in the range x>0
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("files"), FILES)


@pytest.fixture(scope="module")
def home(small_home, tmp_path_factory):  # type: ignore[override]
    """A home with a corpus, a project and a build, which nothing here changes."""
    home = tmp_path_factory.mktemp("refusals") / "home"
    shutil.copytree(small_home, home)
    assert run_inside(home, "project", "create", "small", "p").code == 0
    assert run_inside(home, "build", "new", "small", "methods", "--attribute", "how").code == 0
    queries = tmp_path_factory.mktemp("queries") / "queries.txt"
    queries.write_text("bees-network_method\n")
    assert run_inside(home, "pool", "small", "--queries", queries).code == 0
    return home


def state(home, files):
    """All rows of the ledger, and all files with their sizes."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        rows = [*ledger.iterdump()]
    paths = [path for folder in (home, files) for path in folder.rglob("*") if path.is_file()]
    kept = [p for p in paths if p.suffix != ".lock" and "ledger" not in p.name]
    return [*rows, *(f"{path} {path.stat().st_size}" for path in kept)]


@pytest.mark.parametrize("name", ROWS)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(home, files, name, subtests):
    words = {**WORDS, "files": files}
    before = state(home, files)
    for command, says in ROWS[name]:
        with subtests.test(command[:60]):
            outcome = run_inside(home, *shlex.split(command.format(**words)))
            assert_refused(outcome, *says.format(**words).split("; "))
    assert sorted({*state(home, files)} ^ {*before}) == []


def test_without_a_model_the_estimate_is_printed_and_how_to_connect_one(home, files):
    before = state(home, files)
    for command in NO_MODEL:
        outcome = run_inside(home, *command.split())
        assert (outcome.code, outcome.stdout) == (2, ""), command
        assert outcome.stderr.splitlines()[1].startswith("Error: This needs a language model")
        assert "OPENAI_BASE_URL" in outcome.stderr
    assert state(home, files) == before


def test_a_command_line_that_cannot_be_parsed_exits_2(tmp_path, subtests):
    for row in PARSING.strip().splitlines():
        command, _, says = row.partition(" -> ")
        with subtests.test(command):
            outcome = run_inside(tmp_path / "home", *shlex.split(command))
            assert (outcome.code, outcome.stdout) == (2, "")
            assert says in outcome.stderr
    assert not list(tmp_path.iterdir())
