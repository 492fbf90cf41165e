"""Chats, e-mails, minutes and logs split into messages with author and time.

A message begins where a line begins like a header; what comes before the first header is one too.
Times are as written: the zone is dropped, for "yesterday" is the writer's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from engine.facts.periods import Candidate
from engine.facts.stated_dates import MONTH, WEEKDAY, find_days
from engine.types.documents import Span

DATE = (
    rf"(?:{WEEKDAY},?\s)?(?:\d{{4}}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.](?:\d{{4}}|\d\d)\b"
    rf"|\d\d?(?:st|nd|rd|th)?[\s-]{MONTH}(?:,?\s|-)\d{{4}}"
    rf"|{MONTH}\s\d\d?(?:st|nd|rd|th)?,?\s\d{{4}})"
)
CLOCK = (
    r"\d\d?[:.]\d\d(?:[:.]\d\d(?:[.,]\d+)?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
    r"(?:\s?(?:Z\b|UTC|GMT|[+-]\d\d:?\d\d))?(?!\d)"
)
STAMP = rf"(?P<stamp>(?:{CLOCK},?\s)?{DATE}(?:(?:,?\s(?:at\s)?|T){CLOCK})?)"
NAME = r"(?P<author>[^\W\d_][^:\n<>\[\]]{0,60}?)"

HEADS = tuple(
    re.compile(head)
    for head in (
        # 2024-02-29 09:01, Henry: ...   [29/02/2024, 09:01:22] Henry: ...
        rf"[\[(]?{STAMP}[\])]?(?:\s?[-–—,|])?\s*{NAME}:(?=\s|$)",
        # [2024-02-29 09:01] <henry> ...
        rf"[\[(]?{STAMP}[\])]?\s*<[@+~&%\s]?(?P<author>[^<>\n]{{1,40}})>",
        # 2024-02-29T09:01:22Z web-1 nginx[312]: ...   2024-02-29 09:01:22,123 - INFO - ...
        rf"[\[(]?{STAMP}[\])]?(?<=[\d\])ZzMmCT])\s+(?:[-|]\s)?\[?(?:DEBUG|INFO|NOTICE|WARN(?:ING)?"
        r"|ERROR|FATAL|CRITICAL|TRACE)?\]?:?\s?(?P<author>[a-z][\w.-]*\d[\w.-]*|)"
        r"(?=\s|$)(?:\s[\w./-]+(?:\[\d+\])?:)?",
        # On Mon, 26 Feb 2024 at 10:11, Henry <henry@example.org> wrote:
        rf"[>\s]*On\s{STAMP},?\s(?P<author>[^\n<]{{1,60}}?)(?:\s<[^>\n]*>)?\swrote:",
        # Minutes of the board meeting, 12 March 2024   Meeting notes (2024-03-12)
        r"[#*\s]*(?P<author>)(?:[\w'’]+\s){0,4}(?:[Mm]inutes|[Nn]otes|[Mm]eeting|[Pp]rotocol"
        r"|[Ss]tandup|[Aa]genda|[Rr]eport|[Dd]iary|[Ll]og)\b"
        rf"[^\n.;]{{0,60}}?{STAMP}[)\s*]*(?:\n|$|\.\s|:\s)",
        # 29 February 2024   --- Day changed Thu 29 Feb 2024   2024-02-29: ...
        rf"[-–—=*#\s]*(?:Day changed (?:to )?)?{STAMP}(?P<author>)"
        r"\s*(?:[-–—=*#\s]*(?:\n|$)|:\s|\s?[–—]\s)",
        # Berlin, 12 March 2024   PARIS, March 3, 2024 (AFP) — ...
        rf"[A-Z][\w .'-]{{1,30}},\s(?P<stamp>{DATE})(?P<author>)(?:\s\([A-Z][\w ]+\))?"
        r"\s*(?:\n|$|\s?[-–—]\s)",
    )
)
BYLINE = re.compile(
    # Henry (2024-02-29 09:01): ...   Henry, 29 Feb 2024 at 9:01 AM: ...   Henry — 02/29/2024
    rf"(?:(?P<by>(?:Posted|Written|Sent|Note|Message|Comment|Entry|Reply)\sby\s))?{NAME}(?:\s?[,(|]\s?|\s[\[(–—-]\s?|\son\s)"
    rf"{STAMP}[\])]?\s?(?::|\n|$)"
)
CLOCK_HEAD = re.compile(
    rf"\[?(?P<clock>{CLOCK})\]?\s*(?:[-–—,|]\s)?(?:<[@+]?(?P<nick>[^<>\n]{{1,40}})>|{NAME}:(?=\s|$))"
    rf"|(?P<name>[^\W\d_][^:\n<>\[\]]{{0,40}}?)\s+\[?(?P<late>{CLOCK})\]?\s*(?:\n|$)"
)
FIELD = re.compile(
    r"[>*\s]*(?P<name>From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-ID|Received|Author"
    r"|Present|Attendees|Apologies|Location|Venue|Chair|Time|When)\**:\**[ \t]*(?P<value>[^\n]*)\n?"
)
MOST_FIELDS = 30  # Lines of fields that one head may have; an e-mail with more is cut into several
DATED_FIELDS = frozenset({"Date", "Sent"})
AUTHOR_FIELDS = frozenset({"From", "Author"})
FIRST_STAMP = re.compile(STAMP)
FIRST_CLOCK = re.compile(r"(?<!\d)(\d\d?)[:.](\d\d)(?:[:.](\d\d))?(?:[.,]\d+)?\s?([AaPp]\.?[Mm])?")
ADDRESS = re.compile(r"\s*[<(\[].*|[\"']")


@dataclass(frozen=True, slots=True)
class Message:
    """A part of a text with one author ("" for none) and one time."""

    span: Span  # all of it; the spans of a text's messages cover the text
    body: Span  # what follows the header
    author: str
    # midnight where only the day is given; None where none is, or it has two readings
    time: datetime | None
    time_span: Span | None


Days = Mapping[int, Candidate]  # Where a date begins -> the date


def messages(text: str, days: Sequence[Candidate] | None = None) -> tuple[Message, ...]:
    """The messages of a text, at least one, in order.

    `days`: the text's dates, by `find_days`, where they are known already.

    >>> [(m.author, m.time.hour) for m in messages("[29/02/2024, 09:01] Ann: Hi\\n"
    ...                                            "[29/02/2024, 10:20] Bo: Hello")]
    [('Ann', 9), ('Bo', 10)]
    """
    heads = list(_heads(text, days))
    if not heads:
        return (Message((0, len(text)), (0, len(text)), "", None, None),)
    start = heads[0].span[0]
    if text[:start].strip():
        heads.insert(0, Message((0, start), (0, start), "", None, None))
    else:
        heads[0] = replace(heads[0], span=(0, heads[0].span[1]))
    ends = [head.span[0] for head in heads[1:]] + [len(text)]
    return tuple(
        replace(head, span=(head.span[0], end), body=(head.body[0], end))
        for head, end in zip(heads, ends, strict=True)
    )


def _heads(text: str, days: Sequence[Candidate] | None) -> Iterator[Message]:
    """Messages that end with their headers; lines of one header are taken together."""
    stated = None if days is None else {day.span[0]: day for day in days}
    today: date | None = None
    outer, quoting = Message((0, 0), (0, 0), "", None, None), False
    start = 0
    while 0 <= start < len(text):
        head = None
        stop = text.find("\n", start)
        line = text[start : stop if stop >= 0 else len(text)]
        if any(map(str.isdigit, line[:200])) or line.lstrip("> *")[:1].isupper():
            if stated is None:
                stated = {day.span[0]: day for day in find_days(text)}
            head = _fields(text, start, stated) or _head(text, start, stop, stated)
            if head is None and today is not None:
                head = _clock_head(text, start, stop, today)
        if head is None and quoting and line.strip() and not line.lstrip().startswith(">"):
            quoting = False  # below a quotation its reader goes on writing
            yield replace(outer, span=(start, start), body=(start, start))
        if head is not None:
            yield head
            quoting = text.startswith(">", head.body[0])
            outer = outer if quoting else head
            today = head.time.date() if head.time else today
            end = head.body[0]
            stop = end - 1 if text[end - 1 : end] == "\n" else text.find("\n", end)
        start = stop + 1 if stop >= 0 else -1


def _head(text: str, start: int, stop: int, stated: Days) -> Message | None:
    end = len(text) if stop < 0 else stop + 1
    found = (match for pattern in HEADS if (match := pattern.match(text, start, end)))
    match = next((match for match in found if len(match["author"].split()) <= 6), None)
    if match is None and (line := BYLINE.match(text, start, end)):
        match = line if line["by"] or _is_name(line["author"]) else None
    if match is None:
        return None
    span = match.span("stamp")
    when = _time(text, span, stated)
    return _head_to(text, start, match.end(), match["author"], when, span)


def _is_name(words: str) -> bool:
    """Whether words look like a person's name or nickname, not like a sentence."""
    parts = words.split()
    return len(parts) == 1 or (len(parts) <= 4 and not any(part[0].islower() for part in parts))


def _clock_head(text: str, start: int, stop: int, today: date) -> Message | None:
    match = CLOCK_HEAD.match(text, start, len(text) if stop < 0 else stop + 1)
    if match is None:
        return None
    group = "clock" if match["clock"] else "late"
    clock = _clock(match[group])
    author = match["nick"] or match["author"] or match["name"] or ""
    if clock is None or len(author.split()) > 4:
        return None
    when = datetime.combine(today, clock)
    return _head_to(text, start, match.end(), author, when, match.span(group))


def _fields(text: str, start: int, stated: Days) -> Message | None:
    """Lines of the form "Name: value" as one header, where they say who or when."""
    author, when, span = "", None, None
    position = start
    names: list[str] = []
    while len(names) < MOST_FIELDS and (match := FIELD.match(text, position)):
        names.append(match["name"])
        if match["name"] in AUTHOR_FIELDS:
            author = author or _name(ADDRESS.sub("", match["value"]) or match["value"])
        if match["name"] in DATED_FIELDS and (
            stamp := FIRST_STAMP.search(text, match.start("value"), match.end("value"))
        ):
            span = stamp.span("stamp")
            when = _time(text, span, stated)
        position = match.end()
    if not names or (span is None and not (len(names) > 1 and author)):
        return None
    return _head_to(text, start, position, author, when, span)


def _head_to(
    text: str, start: int, end: int, author: str, when: datetime | None, time_span: Span | None
) -> Message:
    """A message that ends where the first word behind its header begins."""
    while text[end : end + 1].isspace():
        end += 1
    return Message((start, end), (end, end), _name(author), when, time_span)


def _name(words: str | None) -> str:
    return (words or "").strip(" \t-–—,*>")


def _time(text: str, span: Span, stated: Days) -> datetime | None:
    """The time at ``span``, where it has one reading."""
    for day in (stated[at] for at in range(*span) if at in stated):
        if day.span[1] <= span[1] and day.days and day.days.low == day.days.high:
            clock = _clock(text[day.span[1] : span[1]]) or _clock(text[span[0] : day.span[0]])
            return datetime.combine(day.days.low, clock or time())
    return None


def _clock(words: str) -> time | None:
    match = FIRST_CLOCK.search(words)
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if match[4] and hour <= 12:
        hour = hour % 12 + (12 if match[4][0] in "Pp" else 0)
    try:
        return time(hour, minute, min(second, 59))
    except ValueError:
        return None
