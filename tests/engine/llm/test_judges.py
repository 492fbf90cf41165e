"""A model as judge: right answers, from whatever an endpoint accepts and gives."""

import pytest

from tests.fakes.model_sessions import ALIKE, OTHERS, PAIRS, SEED, TEXTS, compared, judged


def test_pairs_lists_and_single_documents_are_judged_by_the_criterion(server, store):
    async def ask(judge):
        assert all((p or 0) > 0.9 for p in await judge.compare(PAIRS))
        assert all((p or 1) < 0.1 for p in await judge.compare([(b, a) for a, b in PAIRS]))
        grades = await judge.grade_each([*ALIKE, *OTHERS])
        assert [(g or 0) > 0.5 for g in grades] == [True] * len(ALIKE) + [False] * len(OTHERS)
        shuffled = [OTHERS[0], ALIKE[0], OTHERS[1], ALIKE[1]]
        (order,) = await judge.order([shuffled])
        assert order is not None
        assert set(order[:2]) == {ALIKE[0], ALIKE[1]}
        assert sorted(order) == sorted(shuffled)

    outcome = judged(server, store, ask)
    report, usage = outcome.value[1], outcome.usage
    assert report.first_share == pytest.approx(0.5)
    assert usage.rounds == 4
    asked = sum(len(prompt) // 4 for prompt in server.seen.prompts)
    assert asked < usage.input_tokens < asked + 100, "trying it out counts as well"


def test_requests_go_out_together_but_never_more_than_allowed(server, store):
    server.behaviour.latency = 0.05
    compared(server, store, concurrency=6)
    assert server.seen.most_at_once == 6


def test_a_preference_for_the_first_place_is_reported(server, store):
    server.behaviour.bias = 9.0
    both = [*PAIRS, *((b, a) for a, b in PAIRS)]
    report = judged(server, store, lambda judge: judge.compare(both)).value[1]
    assert report.comparisons == 2 * len(PAIRS)
    assert report.first_share > 0.95


def test_equal_texts_are_a_tie_and_empty_ones_no_answer_without_a_question(server, store):
    texts = {**TEXTS, "blank": " \n", "nothing": ""}
    pairs = [("twin-a", "twin-b"), ("blank", SEED), ("blank", "nothing"), (ALIKE[0], ALIKE[0])]

    async def ask(judge):
        assert await judge.grade_each(["blank"]) == [None]
        assert await judge.order([["blank", ALIKE[0]], []]) == [None, None]
        return await judge.compare(pairs)

    found, report = judged(server, store, ask, texts=texts).value
    assert found == [0.5, None, None, 0.5]
    assert report.empty == ("blank", "nothing")
    assert server.seen.questions == 0


def test_a_candidate_longer_than_the_context_is_cut_and_named(server, store):
    server.behaviour.context = 1200
    texts = {**TEXTS, ALIKE[0]: TEXTS[ALIKE[0]] + " More was said about it." * 20_000}
    pair = [(ALIKE[0], OTHERS[0])]
    found, report = judged(server, store, lambda j: j.compare(pair), texts=texts).value
    assert found[0] > 0.9
    assert report.cut == (ALIKE[0],)
    assert len(server.seen.prompts[0]) < 4 * 1200


def test_a_context_that_the_endpoint_kept_to_itself_is_met_with_shorter_texts(server, store):
    compared(server, store)  # tried out while it had no limit
    server.behaviour.context = 700
    texts = {d: t + " More was said about it." * 500 for d, t in TEXTS.items()}
    pair = [(ALIKE[0], OTHERS[0])]
    outcome = judged(server, store, lambda j: j.compare(pair), texts=texts)
    assert outcome.value[0][0] > 0.9
    assert outcome.usage.shortened == 1
    assert not outcome.usage.stopped

    again = judged(server, store, lambda j: j.compare(pair), texts=texts)
    assert (again.value[0], again.usage.cached) == (outcome.value[0], 1)
    assert again.usage.calls == again.usage.shortened == 1, "only the whole texts are tried"
    server.behaviour.context = None
    whole = judged(server, store, lambda j: j.compare(pair), texts=texts)
    assert (whole.usage.cached, whole.usage.answered, whole.usage.shortened) == (0, 1, 0)


@pytest.mark.parametrize(
    "refuses",
    [
        {"top_logprobs"},
        {"logprobs", "temperature", "system", "response_format", "max_tokens"},
        {"max_tokens", "max_completion_tokens", "logprobs"},
    ],
    ids=lambda names: "+".join(sorted(names)),
)
def test_what_an_endpoint_does_not_accept_is_left_out_for_good(server, store, refuses):
    server.behaviour.refuses = frozenset(refuses)
    assert all((p or 0) > 0.9 for p in compared(server, store).value[0])
    assert server.seen.questions == len(PAIRS)
    tried_out = server.seen.requests - server.seen.questions
    assert tried_out <= 10
    pair = [(OTHERS[0], OTHERS[1])]
    again = judged(server, store, lambda judge: judge.compare(pair))
    assert again.usage.calls == 1


def test_a_model_that_thinks_first_is_given_room_and_understood(server, store):
    server.behaviour.thinks = True
    outcome = compared(server, store)
    assert outcome.value[0] == [1.0] * len(PAIRS)
    assert "logprobs" not in server.seen.bodies[0]
    assert server.seen.bodies[0]["max_tokens"] > 1000


def test_log_probabilities_dropped_without_a_word_leave_plain_answers(server, store):
    server.behaviour.logprobs = False
    assert compared(server, store).value[0] == [1.0] * len(PAIRS)
    assert "logprobs" not in server.seen.bodies[0]


def test_an_answer_by_another_model_is_noted(server, store):
    server.behaviour.faults = {"wrong-model": 1.0}
    assert "another" in compared(server, store).usage.notes[0]
