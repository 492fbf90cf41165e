"""Texts are taken apart into what was written by whom and when."""

from datetime import datetime

import pytest

from engine.facts.message_headers import messages

WHEN = datetime(2024, 2, 29, 9, 1)


@pytest.mark.parametrize(
    ("text", "author", "body"),
    [
        ("2024-02-29 09:01, Henry: Hi", "Henry", "Hi"),
        ("[29/02/2024, 09:01] Henry Ash: Hi", "Henry Ash", "Hi"),
        ("29/02/2024, 09:01 - Henry: Hi", "Henry", "Hi"),
        ("2/29/24, 9:01 AM - Henry: Hi", "Henry", "Hi"),
        ("[29.02.24, 09:01] Henry: Hi", "Henry", "Hi"),
        ("[9:01 AM, 2/29/2024] Henry: Hi", "Henry", "Hi"),
        ("[2024-02-29 09:01] <henry> Hi", "henry", "Hi"),
        ("2024-02-29T09:01Z web-1 nginx[312]: Hi", "web-1", "Hi"),
        ("Henry (2024-02-29 09:01): Hi", "Henry", "Hi"),
        ("Henry — 02/29/2024 9:01 AM\nHi", "Henry", "Hi"),
        ("Posted by Henry on 29 February 2024 at 09:01\nHi", "Henry", "Hi"),
        ("Note by Henry, 2024-02-29, 09:01\n\nHi", "Henry", "Hi"),
        ("From: Al Ash <h@x.org>\nDate: Thu, 29 Feb 2024 09:01 +0100\n\nHi", "Al Ash", "Hi"),
        ("From: Henry\nSent: Thursday, February 29, 2024 9:01 AM\nTo: Bo\n\nHi", "Henry", "Hi"),
        ("On Thu, 29 Feb 2024 at 09:01, Henry <h@x.org> wrote:\nHi", "Henry", "Hi"),
        ("Minutes of the board, 29 February 2024 09:01\nHi", "", "Hi"),
        ("29 February 2024 09:01\n\nHi", "", "Hi"),
    ],
)  # fmt: skip
def test_heads_of_many_styles_are_read(text, author, body):
    (message,) = messages(text)
    assert (message.author, message.time, text[slice(*message.body)]) == (author, WHEN, body)
    assert message.span == (0, len(text))
    assert message.time_span is not None
    assert "29" in text[slice(*message.time_span)]


@pytest.mark.parametrize("head", ["Berlin, {}\n\n", "PARIS, {} (AFP) — ", "{}\n\n", "# {}: "])
def test_a_dateline_gives_the_day(head):
    text = head.format("29 February 2024") + "Hi"
    (message,) = messages(text)
    assert (message.author, message.time) == ("", datetime(2024, 2, 29))
    assert text[slice(*message.body)] == "Hi"


def test_a_chat_is_taken_apart_and_every_character_belongs_to_one_message():
    text = "Our chat\n2024-02-29 09:01, Ann: Hi\nstill me\n\n2024-03-01 10:00, Bo: Yes: 12:30\n"
    title, ann, bo = messages(text)
    assert (title.author, title.time) == ("", None)
    assert text[slice(*ann.body)].split() == ["Hi", "still", "me"]
    assert (bo.author, bo.time) == ("Bo", datetime(2024, 3, 1, 10))
    assert (title.span[0], title.span[1], ann.span[1], bo.span[1]) == (
        0,
        ann.span[0],
        bo.span[0],
        len(text),
    )


def test_below_a_quotation_its_reader_goes_on_writing():
    text = (
        "From: Bo\nDate: 9 Jan 2024\n\nHi\n\n"
        "On Mon, 8 Jan 2024 at 10:11, Ann <a@x.org> wrote:\n> Yes\n\nThanks"
    )
    found = [
        (m.author, m.time and m.time.day, text[slice(*m.body)].strip()) for m in messages(text)
    ]
    assert found == [("Bo", 9, "Hi"), ("Ann", 8, "> Yes"), ("Bo", 9, "Thanks")]


def test_a_day_line_dates_the_clock_times_below_it():
    text = (
        "--- Day changed Thu Feb 29 2024\n09:01 <ann> Hi\n"
        "--- Day changed Fri Mar 01 2024\n00:10 <bo> Ho"
    )
    times = [message.time for message in messages(text) if message.author]
    assert times == [WHEN, datetime(2024, 3, 1, 0, 10)]


def test_an_ambiguous_stamp_is_settled_by_the_others_or_gives_no_time():
    (alone,) = messages("02/03/2024, 09:01 - Ted: Hi")
    assert alone.time is None
    assert alone.time_span == (0, 17)
    first, _ = messages("02/03/2024, 09:01 - Ted: Hi\n14/03/2024, 09:03 - Ulf: Hi")
    assert first.time == datetime(2024, 3, 2, 9, 1)


@pytest.mark.parametrize(
    "text",
    ["", "Plain words.", "We met on 12 March 2024 with him: it was fun.", "Note: call 555-2024.",
     "We arrived in Rome on 3 May 2024\nand left again.", "From: here to there"],
)  # fmt: skip
def test_a_text_without_a_head_is_one_message(text):
    (message,) = messages(text)
    assert (message.span, message.body) == ((0, len(text)), (0, len(text)))
    assert (message.author, message.time, message.time_span) == ("", None, None)
