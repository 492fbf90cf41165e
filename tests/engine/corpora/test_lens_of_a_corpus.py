"""A lens at work: labels and prototypes, and another lens for what is indexed already."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engine.config import DEMO
from engine.corpora.indexing import role_probabilities
from engine.errors import BadInputError
from engine.ingest.documents import role, role_labels
from engine.lenses.definitions import CONVERSATIONS, POSTS, RESEARCH
from engine.types.corpora import ImportRequest
from engine.types.documents import SourceDocument
from engine.types.encoders import Passage
from engine.types.lenses import Aspect, Lens
from engine.types.searches import Query
from storage import removal
from tests.fakes.small_corpus import DOCUMENTS, OWN
from tests.support import make_explorer, write_jsonl

# Labels and prototypes


def test_labels_are_those_of_the_lens():
    posts, research = role_labels(POSTS), role_labels(RESEARCH)
    found: set[str] = set()
    read = [role(value, found, posts) for value in ("Advice", "a", "stance_label", "other")]
    assert (read, found) == (["advice", "advice", "stance", None], set())
    assert role("objective", found, posts) is None
    assert found == {"roles"}
    assert role("objective", found, research) == "background"


def sentences_of(encoder, text, spans):
    return encoder.encode([Passage("", text, spans)])[0].sentences


def test_roles_of_a_lens_without_a_classifier_follow_its_aspects(encoder):
    turns = [
        "We are stuck in the lift between two floors.",
        "Could you please call the caretaker for us?",
        "He will be there at ten past four on Monday.",
        "I am so frightened, I hate this.",
    ]
    text = " ".join(turns)
    starts = [text.index(turn) for turn in turns]
    spans = tuple((s, s + len(t)) for s, t in zip(starts, turns, strict=True))
    document = SourceDocument("lift", "", text, "test", sentences=spans)
    roles = role_probabilities(
        document, spans, CONVERSATIONS, sentences_of(encoder, text, spans), encoder
    )
    assert roles.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert roles.sum(axis=1) == pytest.approx(1.0)


# Another lens for an indexed corpus


def row(explorer, doc_id):
    rows = explorer.library.open("small").table
    return dict(rows.rows([doc_id], rows.schema.names).to_pylist()[0])


def test_a_corpus_gets_another_lens_and_keeps_its_vectors(small_copy):
    before = row(small_copy, "bees-network")
    told: list[int] = []
    assert small_copy.library.set_lens("small", POSTS, lambda p: told.append(p.done))
    after = row(small_copy, "bees-network")
    assert told[-1] == len(DOCUMENTS)
    for name in ("text", "vector", "sentence_vectors", "token_vectors", "content_hash", "year"):
        assert after[name] == before[name], name
    assert {n for n in after if n.startswith("aspect_")} == {
        f"aspect_{a.key}" for a in POSTS.aspects
    }
    roles = np.array(after["roles"]).reshape(-1, 4)
    assert roles.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert small_copy.library.lens("small") == POSTS
    assert not small_copy.library.set_lens("small", POSTS), "nothing to do the second time"


def test_everything_works_on_a_corpus_of_another_lens(small_copy, home):
    onlooker = make_explorer(home)
    under_way = onlooker.searcher("small")
    small_copy.library.set_lens("small", POSTS)
    seed, _ = small_copy.starting_point("small")
    for system, key in zip(onlooker.systems, itertools.cycle(a.key for a in POSTS.aspects)):
        query = Query("small", seed=seed, aspect=key, system=system, k=5)
        assert len(onlooker.search(query).results) == 5
    # The search that began before still reads the corpus as it was.
    assert under_way.search(Query("small", seed=seed, aspect="method")).total == 39
    pasted = Query("small", text="My bees died. What should I do?", aspect="advice")
    assert small_copy.search(pasted).total == len(DOCUMENTS)


def test_roles_that_the_source_gave_survive_where_both_lenses_have_the_aspect(small_copy):
    given = row(small_copy, "bees-network")["roles"]
    assert given == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    two = Lens("two", "Two", (RESEARCH.aspects[1], replace(POSTS.aspects[0], letter="Q")))
    small_copy.library.set_lens("small", two)
    assert row(small_copy, "bees-network")["roles"] == [0, 0, 1, 0, 0, 0]
    estimated = row(small_copy, "plain")["roles"]
    assert all(0 < p < 1 for p in estimated), "a document without labels is estimated"
    small_copy.library.set_lens("small", RESEARCH)
    assert row(small_copy, "bees-network")["roles"] == [0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_documents_are_added_and_deleted_and_come_back_under_the_new_lens(
    small_copy, small_source, home
):
    library = small_copy.library
    library.set_lens("small", CONVERSATIONS)
    extra = {"doc_id": "new", "title": "New", "text": "Will you come on Friday? I am so glad."}
    source = write_jsonl(home / "more.jsonl", [extra])
    with pytest.raises(BadInputError, match="other aspects"):
        library.import_documents(ImportRequest(source, "small", lens=RESEARCH))
    own = library.lens_for("small")
    assert library.import_documents(ImportRequest(source, "small", lens=own)).added == 1
    library.delete("small")
    assert library.deleted() == ["small"]
    library.restore("small")
    found = small_copy.search(Query("small", seed="new", aspect="feeling"))
    assert found.total == len(DOCUMENTS)
    library.delete("small")
    assert library.import_documents(ImportRequest(small_source, "small")).added == len(DOCUMENTS)
    assert library.lens("small") == RESEARCH


def test_a_change_that_fails_or_is_stopped_leaves_the_corpus_as_it_was(small_copy):
    library, folder = small_copy.library, small_copy.home.corpora
    before = small_copy.search(Query("small", seed="bees-network", aspect="method")).results

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.set_lens("small", POSTS, stop)
    assert [p.name for p in folder.iterdir() if p.is_dir()] == ["small"]
    assert small_copy.search(Query("small", seed="bees-network", aspect="method")).results == before


def test_what_a_change_left_is_kept_for_readers_for_a_while_and_then_removed(
    small_copy, monkeypatch
):
    small_copy.library.set_lens("small", POSTS)
    former = small_copy.home.corpus("small")
    for hours, kept in ((0, True), (0.9, True), (1.1, False)):
        later = datetime.now(UTC) + timedelta(hours=hours)
        monkeypatch.setattr(removal, "now", lambda later=later: later)
        small_copy.library.empty_trash()
        assert former.is_dir() == kept
    assert small_copy.search(Query("small", seed="bees-network", aspect="advice")).total == 39


def test_labels_can_be_left_aside_at_import(fresh, tmp_path):
    lines = (DEMO / "corpus.jsonl").read_text("utf-8").splitlines()[:3]
    source = write_jsonl(tmp_path / "few.jsonl", map(json.loads, lines))
    fresh.library.import_documents(ImportRequest(source, "few", mapping={"roles": ""}))
    document = fresh.document("few", "demo-0001")
    given = json.loads(lines[0])
    assert [s.text for s in document.sentences] == given["sentences"], "the splits are used"
    assert all(0 < p < 1 for s in document.sentences for p in s.roles), "the roles are not"


def test_an_import_reads_the_labels_that_its_lens_knows(fresh, tmp_path):
    lens = fresh.library.own_lens(OWN)
    rows = [
        {
            "doc_id": "known",
            "sentences": ["It hurts.", "It was cut."],
            "roles": ["C", "care & cure"],
        },
        {"doc_id": "foreign", "sentences": ["It hurts.", "It was cut."], "roles": ["M", "R"]},
    ]
    source = write_jsonl(tmp_path / "letters.jsonl", rows)
    report = fresh.library.import_documents(ImportRequest(source, "letters", lens=lens))
    assert "1 document has sentence roles that name no aspect" in " ".join(report.warnings)
    known, foreign = (fresh.document("letters", i).sentences for i in ("known", "foreign"))
    assert [s.roles for s in known] == [(1, 0), (0, 1)]
    assert all(0 < p < 1 for s in foreign for p in s.roles), "labels of another lens say nothing"


def test_a_corpus_keeps_the_words_that_its_lens_had(fresh, tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", DOCUMENTS[:2])
    lens = fresh.library.own_lens(OWN)
    fresh.library.import_documents(ImportRequest(source, "letters", lens=lens))
    assert fresh.library.lens("letters") == lens
    assert fresh.library.import_documents(ImportRequest(source, "letters", lens=lens)).added == 0
    other = replace(lens, aspects=(replace(lens.aspects[0], definition="X."), *lens.aspects[1:]))
    with pytest.raises(BadInputError, match="other words for these aspects"):
        fresh.library.import_documents(ImportRequest(source, "letters", lens=other))
    assert isinstance(lens.aspects[0], Aspect)
