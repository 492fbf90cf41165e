"""Where the endpoint is set, and where its key may go."""

import httpx2
import openai
import pytest
from pydantic import SecretStr

from engine.config import Settings
from engine.errors import BadInputError
from engine.llm.client import connect
from engine.llm.endpoints import (
    Endpoint,
    NoEndpointError,
    TooLongError,
    UnsupportedError,
    find_endpoint,
    scrub,
)
from engine.llm.transport import refusal

ADDRESS, KEY, MODEL = "OPENAI_BASE_URL", "OPENAI_API_KEY", "SEEDLENS_LLM_MODEL"


def test_the_environment_names_endpoint_key_and_model(monkeypatch):
    monkeypatch.setenv(ADDRESS, "http://localhost:11434/v1/")
    monkeypatch.setenv(KEY, "sk-environment")
    monkeypatch.setenv(MODEL, "small")
    found = find_endpoint(Settings())
    assert found is not None
    assert (found.address, found.model) == ("http://localhost:11434/v1", "small")
    assert found.key.get_secret_value() == "sk-environment"
    assert "sk-environment" not in repr(Settings()) + repr(found) + str(found)


def test_nothing_set_is_no_endpoint_and_the_error_says_how_to_connect_one():
    assert find_endpoint(Settings()) is None
    with pytest.raises(NoEndpointError, match=r"OPENAI_BASE_URL.*SEEDLENS_LLM_MODEL"):
        connect(Settings(), None)


def test_a_key_alone_means_the_usual_address():
    found = find_endpoint(Settings(), secrets={KEY: "sk-1", MODEL: "m"})
    assert found is not None
    assert found.address == "https://api.openai.com/v1"


def test_the_servers_key_is_not_sent_to_an_address_that_a_visitor_entered(monkeypatch):
    monkeypatch.setenv(ADDRESS, "https://good.example/v1")
    monkeypatch.setenv(KEY, "sk-environment")
    monkeypatch.setenv(MODEL, "small")
    elsewhere = find_endpoint(Settings(), session={ADDRESS: "http://elsewhere.example/v1"})
    assert elsewhere is not None
    assert elsewhere.key.get_secret_value() == ""
    own_key = find_endpoint(Settings(), session={KEY: "sk-own"})
    assert own_key is not None
    assert own_key.address == "https://good.example/v1"
    assert own_key.key.get_secret_value() == "sk-own"


@pytest.mark.parametrize(
    "address", ["localhost:8000", "ftp://x/v1", "sk-secret", "http://", "http://[::1"]
)
def test_an_address_that_is_none_is_refused_without_repeating_it(address):
    with pytest.raises(NoEndpointError, match="not a web address") as caught:
        Endpoint(address, "m")
    assert "sk-secret" not in str(caught.value)


def test_user_and_password_in_an_address_are_left_out():
    assert Endpoint("http://me:secret@host:1/v1?token=x", "m").address == "http://host:1/v1"


@pytest.mark.parametrize("key", ["sk-a b", "sk-ü", "sk-a\nb"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key):
    with pytest.raises(NoEndpointError, match="The key for") as caught:
        Endpoint("http://host/v1", "m", SecretStr(key))
    assert key not in str(caught.value)


def test_an_endpoint_without_a_model_is_refused():
    with pytest.raises(NoEndpointError, match=MODEL):
        find_endpoint(Settings(), session={ADDRESS: "http://host/v1"})


def test_limits_and_prices_come_from_the_settings():
    endpoint = Endpoint("http://host/v1", "m")
    settings = Settings(llm_max_calls=9, llm_max_cost=0.5, llm_input_price=2, llm_output_price=8)
    budget = connect(settings, endpoint).budget
    assert (budget.calls, budget.cost) == (9, 0.5)
    assert budget.price is not None
    with pytest.raises(BadInputError, match="price"):
        connect(Settings(llm_max_cost=0.5), endpoint)
    for name in ("llm_max_cost", "llm_daily_cost", "llm_input_price", "llm_output_price"):
        with pytest.raises(ValueError, match=name):
            Settings(**{name: "nan"})


@pytest.mark.parametrize(
    ("allowed", "entered", "most"), [(9, 50, 9), (9, 5, 5), (9, None, 9), (None, 50, 50), (0, 1, 0)]
)
def test_who_enters_a_limit_of_calls_cannot_raise_that_of_the_settings(allowed, entered, most):
    found = connect(Settings(llm_max_calls=allowed), Endpoint("http://host/v1", "m"), entered)
    assert found.budget.calls == most


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Input validation error: `inputs` must have less than 4096 tokens. Given: 5120", None),
        ("Please reduce the length of the messages or completion.", None),
        ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", None),
        ("Unsupported parameter: 'max_tokens'.", UnsupportedError),
        ("max_tokens must be at least 16.", UnsupportedError),
    ],
)
def test_servers_have_many_words_for_a_question_that_is_too_long(said, kind):
    request = httpx2.Request("POST", "http://host/v1/chat/completions")
    error = openai.UnprocessableEntityError(
        said, response=httpx2.Response(422, request=request), body={"message": said}
    )
    assert type(refusal(Endpoint("http://host/v1", "m"), error)) is (kind or TooLongError)


def test_a_servers_words_lose_the_key_and_their_length():
    said = f"Bad key sk-12345 in Authorization: Bearer sk-12345\n{'x' * 900}"
    assert scrub(said, "sk-12345").startswith("Bad key *** in Authorization: Bearer ***")
    assert len(scrub(said, "sk-12345")) == 300
