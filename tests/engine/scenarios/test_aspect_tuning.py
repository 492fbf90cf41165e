"""An encoder learns from pairs that a model graded by aspect, and says whether that helped."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from engine.encode.loaders import load_encoder
from engine.errors import BadInputError
from engine.scenarios.aspect_training import CARD, FEWEST_GROUPS, check_tuning, split, train
from engine.scenarios.pair_grading import questions_for
from engine.types.corpora import ImportRequest
from engine.types.scenarios import AspectGroup, PairRequest, Tuning
from tests.fakes.model_answers import MODEL, grades_pairs, in_title
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge
from tests.fakes.small_corpus import METHODS, PROBLEMS
from tests.support import make_explorer

needs_extra = pytest.mark.skipif(find_spec("peft") is None, reason="needs the extra 'distill'")


@pytest.fixture(scope="module")
def judge():
    with serving(knowledge(), handlers=[grades_pairs(in_title)]) as running:
        yield running


@pytest.fixture
def tiny(home, small_source, tiny_model):
    """The small corpus, indexed by an encoder that knows nothing."""
    explorer = make_explorer(home)
    explorer.library.import_documents(ImportRequest(small_source, "tiny", encoder=str(tiny_model)))
    return explorer


def test_each_aspect_of_a_seed_is_compared_with_the_nearest_by_it_and_by_topic(small):
    corpus = small.library.open("small")
    questions = questions_for(corpus, PairRequest("small", 12, 6))
    assert len({q.seed for q in questions}) <= 12
    for question in questions:
        assert len(set(question.candidates)) == 6
        assert question.seed not in question.candidates
    everything = questions_for(corpus, PairRequest("small", 40, 6))
    assert not any(q.seed == "no-method" and q.aspect == 1 for q in everything)
    [method] = [q for q in everything if q.seed == "bread-survey" and q.aspect == 1]
    assert sum(doc_id.endswith("-survey") for doc_id in method.candidates) >= 3
    assert sum(doc_id.startswith("bread-") for doc_id in method.candidates) >= 3
    fewer = questions_for(corpus, PairRequest("small", 5, 6))
    assert fewer == questions[: len(fewer)], "answers to a smaller request are used again"


def test_pairs_are_estimated_graded_and_kept(small, judge):
    explorer = make_explorer(small.settings.home, openai_base_url=judge.url, llm_model=MODEL)
    request = PairRequest("small", 6, 4)
    estimate = explorer.pair_grading.estimate(request)
    asked = judge.seen.questions
    report = explorer.pair_grading.run(request)
    assert judge.seen.questions - asked == estimate.calls == estimate.items
    assert len(report.result) == estimate.items
    for group in report.result:
        title = explorer.document("small", group.seed).title
        for doc_id, grade in group.grades.items():
            other = explorer.document("small", doc_id).title
            assert grade == in_title(group.aspect.capitalize(), title, other)
    assert explorer.pair_grading.run(request).result == report.result


def _groups(alike):
    """Graded pairs about the method, of which some are alike: by "method", or by "problem"."""
    ids = [(problem, method) for problem in PROBLEMS for method in METHODS]
    place = 0 if alike == "problem" else 1
    return [
        AspectGroup(
            "-".join(seed),
            "method",
            {
                "-".join(o): 3 * (o[place] == seed[place])
                for o in ids
                if o != seed and sum(a == b for a, b in zip(o, seed, strict=True))
            },
        )
        for seed in ids
    ]


@pytest.mark.nightly
@needs_extra
def test_an_encoder_learns_what_the_grades_say_and_is_loaded_from_its_folder(tiny, tmp_path):
    corpus, out = tiny.library.open("tiny"), tmp_path / "tuned"
    told: list[tuple[int, int]] = []
    tuning = Tuning(epochs=1, learning_rate=3e-2, keep=0.0)
    done = train(corpus, _groups("problem"), out, tuning, lambda *t: told.append(t[:2]))
    assert told[-1] == (done.groups, done.groups)
    assert done.after > done.before + 0.1
    assert done.recommended
    assert done.kept < 0.99
    assert json.loads((out / CARD).read_text())["recommended"] is True

    loaded = load_encoder(str(out))
    assert loaded.spec.fingerprint != corpus.spec.fingerprint
    tiny.library.import_documents(
        ImportRequest([{"doc_id": "a", "title": "A", "text": "Bees."}], "new", encoder=str(out))
    )
    trained = tiny.library.open("new")
    assert trained.spec.source == str(out)
    with pytest.raises(BadInputError, match="own encoder"):
        check_tuning(trained, out)


def test_seeds_measured_by_are_nowhere_in_training():
    parts = split(_groups("method"))
    measured = {group.seed for group in parts.held_out}
    assert len(measured) == len(_groups("method")) // 4
    for group in parts.train:
        assert not measured & {group.seed, *group.grades}


def test_grades_that_say_nothing_are_too_few():
    with pytest.raises(BadInputError, match=f"few.*{FEWEST_GROUPS}") as refused:
        split([AspectGroup(str(n), "method", {"x": 1, "y": 1}) for n in range(30)])
    assert "--documents" in refused.value.remedy
