"""``seedlens lens`` and the lens of an import."""

import json

from tests.cli.command_line import run_inside, write_lines
from tests.support import make_explorer

POST = "The pump leaks. I replaced the seal twice. You should buy a new one. It is a bad design."


def test_the_shipped_lenses_are_listed(home):
    listed = run_inside(home, "lens", "list", "--json")
    assert [entry["key"] for entry in listed.json] == ["research", "conversations", "posts"]
    assert "situation, request, plan, feeling" in run_inside(home, "lens", "list").stdout


def test_a_printed_lens_is_a_file_to_start_from(home, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(run_inside(home, "lens", "show", "posts").stdout.replace("Stance", "View"))
    shown = run_inside(home, "lens", "show", path, "--json").json
    assert [a["name"] for a in shown["aspects"]] == ["Problem", "Experience", "Advice", "View"]
    as_json = tmp_path / "mine.json"
    as_json.write_text(json.dumps(shown))
    assert run_inside(home, "lens", "show", as_json, "--json").json == shown


def test_a_corpus_is_imported_with_a_lens_searched_and_given_another(home, tmp_path):
    source = write_lines(
        tmp_path / "posts.jsonl", [{"doc_id": f"p{n}", "text": f"{POST} {n}."} for n in range(3)]
    )
    imported = run_inside(home, "import", source, "--name", "pumps", "--lens", "posts")
    assert imported.code == 0, imported.stderr
    found = run_inside(home, "search", "pumps", "--seed", "p0", "--aspect", "advice", "--json")
    assert found.code == 0, found.stderr
    assert len(found.json["results"]) == 2

    again = run_inside(home, "import", source, "--name", "pumps", "--json")
    assert again.json["unchanged"] == 3, "without --lens the corpus keeps its own"

    changed = run_inside(home, "lens", "set", "pumps", "conversations", "--json")
    assert changed.json["changed"] is True
    assert run_inside(home, "corpora", "--json").json[0]["aspects"] == changed.json["aspects"]
    plan = run_inside(home, "search", "pumps", "--seed", "p0", "--aspect", "plan")
    assert plan.code == 0, plan.stderr
    same = run_inside(home, "lens", "set", "pumps", "conversations")
    assert "already has" in same.stdout


def test_labels_are_ignored_on_request(home, tmp_path):
    row = {"doc_id": "1", "sentences": ["Frogs sing.", "We listened."], "roles": ["R", "R"]}
    source = write_lines(tmp_path / "frogs.jsonl", [row])
    for name, options in (("with", []), ("without", ["--ignore-labels"])):
        assert run_inside(home, "import", source, "--name", name, *options).code == 0
    found = make_explorer(home)
    labelled, estimated = (found.document(name, "1").sentences for name in ("with", "without"))
    assert [s.roles for s in labelled] == [(0, 0, 1), (0, 0, 1)]
    assert all(0 < p < 1 for s in estimated for p in s.roles)
