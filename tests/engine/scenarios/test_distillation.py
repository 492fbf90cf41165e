"""A small model learns from a large one's scenarios, and then writes for the corpus itself."""

from importlib.util import find_spec

import pytest

from engine.errors import BadInputError
from engine.scenarios.distillation import distill, question, read_answer, split
from engine.types.corpora import ImportRequest
from engine.types.scenarios import ScenarioRequest, Training
from tests.fakes.model_answers import MODEL, shown_document
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge
from tests.support import make_explorer, write_jsonl

needs_extra = pytest.mark.skipif(
    not all(map(find_spec, ("peft", "trl"))), reason="the extra 'distill' is not installed"
)

THINGS = {
    "bees": "Bees dance to tell where flowers are.",
    "tides": "The tide turns twice a day.",
    "bread": "Dough rises in the warmth.",
    "maps": "Old maps name fields.",
    "hedges": "Hedges vanish from farms.",
    "glaze": "Glaze melts in the kiln.",
}


def briefly(prompt, _):
    """A teacher of few words, so that a tiny model can learn them by heart."""
    title, _text = shown_document(prompt)
    entry = {"key_aspect": "use", "information_need": f"Use of {title}?", "explanation": "It says."}
    return {"main_topic": title, "scenarios": [entry]} if title else None


@pytest.fixture(scope="module")
def teacher():
    with serving(knowledge(), handlers=[briefly]) as running:
        yield running


@pytest.fixture
def taught(home, tmp_path, teacher):
    """Six short documents, for which a model has written scenarios."""
    rows = [{"doc_id": k, "title": k.title(), "text": text} for k, text in THINGS.items()]
    explorer = make_explorer(home, openai_base_url=teacher.url, llm_model=MODEL)
    source = write_jsonl(tmp_path / "things.jsonl", rows)
    explorer.library.import_documents(ImportRequest(source, "things"))
    explorer.scenarios.run(ScenarioRequest("things"))
    return explorer


def test_lessons_hold_the_document_and_the_teachers_answer(taught):
    found = taught.scenarios.lessons("things")
    assert [lesson.doc_id for lesson in found] == list(THINGS)
    for lesson in found:
        assert lesson.prompt == question(taught.document("things", lesson.doc_id))
        assert THINGS[lesson.doc_id] in lesson.prompt
        written = read_answer(lesson.completion + " and so on")
        assert written is not None
        assert written.scenarios[0].information_need == f"Use of {lesson.doc_id.title()}?"
    train, held_out = split(found)
    assert {x.doc_id for x in train} | {x.doc_id for x in held_out} == set(THINGS)


@needs_extra
def test_distilling_refuses_what_it_cannot_use(taught, small, tmp_path):
    with pytest.raises(BadInputError, match="seedlens scenarios small"):
        small.scenarios.lessons("small")
    found = taught.scenarios.lessons("things")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInputError, match="holds no distilled model"):
        distill(found, "any", tmp_path / "taken")
    with pytest.raises(ValueError, match="epochs"):
        Training(epochs=0)
    request = ScenarioRequest("things", "distilled", folder=str(tmp_path / "taken"))
    with pytest.raises(BadInputError, match="holds no distilled model"):
        taught.scenarios.run(request)
