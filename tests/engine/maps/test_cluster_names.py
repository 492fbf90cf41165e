"""Names of clusters that a model words: what it is asked, what is taken, kept and taken back."""

import re

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.llm.endpoints import EndpointError, NoEndpointError
from tests.fakes.model_answers import ASKED_NAMES, fenced_texts, names
from tests.fakes.model_sessions import connection
from tests.fakes.small_corpus import DOCUMENTS


@pytest.fixture
def endpoint(server):
    return connection(server.url).endpoint


def layout(explorer, name="method"):
    return explorer.maps.view("small").layouts[name]


def all_names(explorer):
    return [name for level in layout(explorer).levels for name in level.names]


def test_one_question_names_all_clusters_until_the_names_are_taken_back(
    mapped_copy, server, endpoint
):
    own, server.behaviour.handlers = all_names(mapped_copy), [names()]
    assert mapped_copy.maps.estimate_names("small", "method", endpoint).calls == 1
    usage = mapped_copy.maps.word_names("small", "method", endpoint)
    assert server.seen.questions == 1
    assert all_names(mapped_copy) == [f"Group {n}" for n in range(1, len(own) + 1)]
    assert layout(mapped_copy).worded_by == usage.model
    assert not layout(mapped_copy, "result").worded_by, "the others keep theirs"
    by_cluster = mapped_copy.maps.values("small", "cluster", layout="method")
    assert by_cluster.names[0] == "Group 1"
    mapped_copy.maps.own_names("small", "method")
    assert all_names(mapped_copy) == own
    assert not layout(mapped_copy).worded_by
    again = mapped_copy.maps.word_names("small", "method", endpoint)
    assert (again.calls, again.cached) == (0, 1), "the answer was kept"


def test_it_is_asked_about_the_words_and_the_titles_in_the_middle_of_each_cluster(
    mapped_copy, server, endpoint
):
    server.behaviour.handlers = [names()]
    own, coarse = all_names(mapped_copy), len(layout(mapped_copy).levels[0].names)
    mapped_copy.maps.word_names("small", "method", endpoint)
    prompt = server.seen.prompts[-1]
    [respect] = fenced_texts(prompt, "respect")
    assert respect.startswith("Method: ")
    [groups] = fenced_texts(prompt, "groups")
    lines = groups.splitlines()
    assert len(lines) == len(own)
    titles = {one["title"] for one in DOCUMENTS if "title" in one}
    for number, (line, words) in enumerate(zip(lines, own, strict=True), start=1):
        begin, *shown = line.split(" | ")
        part = re.fullmatch(rf"{number}(?: \(part of (\d+)\))?: {re.escape(words)}", begin)
        assert part is not None, line
        assert (part[1] is None) == (number <= coarse)
        assert 1 <= len(shown) <= 3
        assert {*shown} <= titles


def test_new_documents_leave_the_names(mapped_copy, server, endpoint):
    server.behaviour.handlers = [names()]
    mapped_copy.maps.word_names("small", "method", endpoint)
    mapped_copy.library.add("small", [{"doc_id": "new", "text": "We count bees with sensors."}])
    mapped_copy.maps.build("small")
    assert all_names(mapped_copy)[0] == "Group 1"


def test_a_name_that_is_none_or_is_there_twice_leaves_a_cluster_its_own_words(
    mapped_copy, server, endpoint
):
    own = all_names(mapped_copy)
    odd = {1: " “Bees”\n ", 2: "bees", 3: "x" * 200, 4: "a\u202eb", 5: None}
    server.behaviour.handlers = [names(lambda n: odd.get(n, f"Group {n}"))]
    mapped_copy.maps.word_names("small", "method", endpoint)
    found = all_names(mapped_copy)
    assert len(layout(mapped_copy).levels[0].names) >= 2
    assert found[:5] == ["Bees", own[1], own[2], "ab", own[4]]
    assert found[5:] == [f"Group {n}" for n in range(6, len(own) + 1)]


def test_an_answer_without_names_changes_nothing(mapped_copy, server, endpoint):
    own = all_names(mapped_copy)
    for answer in ({"names": []}, {"names": [{"number": 99, "name": "Bees"}]}, "Bees"):
        server.behaviour.handlers = [lambda prompt, _: answer if ASKED_NAMES in prompt else None]  # noqa: B023
        with pytest.raises(EndpointError):
            mapped_copy.maps.word_names("small", "method", endpoint)
    assert all_names(mapped_copy) == own


def test_what_is_missing_is_named(small, mapped_copy, endpoint, server):
    with pytest.raises(BadInputError, match="no map yet"):
        small.maps.word_names("small", "method", endpoint)
    with pytest.raises(UnknownNameError, match="no layout 'taste'"):
        mapped_copy.maps.word_names("small", "taste", endpoint)
    with pytest.raises(NoEndpointError):
        mapped_copy.maps.word_names("small", "method")
    server.stop()
    with pytest.raises(EndpointError):
        mapped_copy.maps.word_names("small", "method", endpoint)
    assert not layout(mapped_copy).worded_by
