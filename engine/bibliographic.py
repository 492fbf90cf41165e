"""Values of bibliographic records, in files and from services alike: DOIs, addresses, names, years,
texts with the markup of databases, and what stands for an abstract that is not there."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

_YEAR = re.compile(r"(?<!\d)([12]\d{3})(?!\d)")
_COMPACT_DATE = re.compile(r"([12]\d{3})\d{4}\Z")
_DOI = re.compile(r"10\.\d{4,9}/(?:[^\s\"<>]|<\d[^\s\"<>/]*>)+")
"""Older ones hold parts in angle brackets: ``10.1175/1520-0469(1963)020<0130:DNF>2.0.CO;2``."""
_WHOLE_DOI = re.compile(
    r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|doi\b:?\s*)*(10\.\d{4,9}/\S+?)(?:\s*\[doi\])?",
    re.IGNORECASE,
)
DOIS = ("doi", "di", "doi_url", "doi_link", "article_doi", "digital_object_identifier")
"""Names of fields in which a DOI is looked for, besides the link's."""
_LONGEST = 2_000
"""Characters of a value in which a DOI is looked for; decoding takes a hundred times their size."""
_SIGNS = {"less": "<", "greater": ">", "asciitilde": "~", "underscore": "_"}
_ESCAPED = re.compile(
    r"\{?\$?(?:\\|%5C)(?:([_%&#~$])|text(less|greater|asciitilde|underscore)(?![a-z]))"
    r" ?(?:\{\})?\$?\}?",
    re.IGNORECASE,
)
"""A sign as LaTeX writes it: ``\\_``, ``{\\_}``, ``$\\_$``, ``{\\textless}``, ``%5C_``."""
_LINK = re.compile(r"\\(?:url|href)\s*\{([^{}]*)\}(?:\{[^{}]*\})?")
_INDEXED = 8_000_000
"""Characters of an abstract that is made of an index of words."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_OWN_HEADING = re.compile(
    r"(?<!\s)\s*<(?:jats:)?title>\s*(?:abstract|summary)\s*+[.:]?\s*+</(?:jats:)?title>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?<![\s.:])[\s.:]*(?=</(?:jats:)?title>)", re.IGNORECASE)
_LABEL = re.compile(
    r"\s?<AbstractText\b[^<>]{0,200}?\bLabel\s?=\s?[\"']([^\"'<>]{1,100})[\"'][^<>]{0,200}>\s?",
    re.IGNORECASE,
)
_TWICE = re.compile(
    r"<jats:tex-math\b(?:[^<]++|<(?!/?jats:tex-math\b))*+</jats:tex-math>", re.IGNORECASE
)
"""A formula as TeX, which stands beside the same as MathML."""
_ATTRIBUTES = r"""(?:\s+[\w:-]{1,40}\s?=\s?(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'))*\s?/?>"""
_BLOCK = re.compile(
    rf"(?:\s?</?(?:(?:p|br|div|li|ul|ol|h[1-6]|AbstractText|abstract|title|sec){_ATTRIBUTES}|"
    r"jats:(?:p|sec|title|list|list-item|disp-formula|break|abstract)\b[^<>]*>))+\s?",
    re.IGNORECASE,
)
_INLINE = re.compile(
    rf"</?(?:(?:i|b|u|em|strong|sub|sup|small|span|scp|inf|sc|tt){_ATTRIBUTES}|"
    r"(?:jats|mml):[a-z-]++[^<>]*>)",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*[\[{]\s*[\"'\[{&]")
_NO_ABSTRACT = re.compile(
    r"""
    (?:no|without|kein|keine|ohne|pas\ de|pas\ d'|aucun|aucune|sans|sin|ningún|no\ hay)\ ?
    (?:an?\ )?(?:abstract|summary|zusammenfassung|kurzfassung|résumé|resume|resumen)
    (?:\ (?:is|ist|est|es|was))?
    (?:\ (?:available|provided|supplied|present|found|verfügbar|vorhanden|disponible))?
    (?:\ for\ this\ \w+)?
    | (?:(?:abstract|summary|zusammenfassung|kurzfassung|résumé|resume|resumen)\ )?
    (?:(?:is|ist|est|es|was)\ )?(?:not\ |un|nicht\ |non\ |no\ |in)
    (?:available|provided|supplied|present|found|verfügbar|vorhanden|disponible)
    | n/?a | n\.\ ?a | none | null | nan | k\.\ ?a | keine\ angaben?
    | [暂暫没沒]?[有]?[无無]?(?:中文|英文)?摘要(?:不可用|缺失|暂缺)? | [暂暫]?[无無]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_INITIALS = re.compile(r"[^\W\d_](?:[.-]{0,2}[^\W\d_]){0,3}\.?")
SUFFIXES = ("Jr", "Sr", "II", "III", "IV")
_ACCENTED = re.compile(r"\w[\u0300-\u036f]{1,4}")


def verbatim(text: str) -> str:
    r"""An identifier or address without what LaTeX and HTML put around its signs.

    >>> verbatim(r"{http://example.org/a{\_}b?x=1\&y=\%20}"), verbatim(r"10.1000/x%5C_{\textless}")
    ('http://example.org/a_b?x=1&y=%20', '10.1000/x_<')
    """
    text = _ESCAPED.sub(lambda found: found[1] or _SIGNS[found[2].lower()], unescaped(text))
    text = _LINK.sub(r"\1", text).strip()
    return text.strip("{} ") if text.startswith("{") and text.endswith("}") else text


def doi_of(value: Any) -> str | None:
    """The DOI that the whole of a value is, in its own case; None for anything else.

    >>> doi_of("DOI 10.1000/ABC.7"), doi_of("see 10.1000/abc.7")
    ('10.1000/ABC.7', None)
    """
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    found = _WHOLE_DOI.fullmatch(unquote(verbatim(value)))
    return found[1] if found else None


def doi_in(value: Any) -> str | None:
    """The DOI in a text or link, in lower case (DOIs ignore it); None when there is none.

    >>> doi_in("https://doi.org/10.1000/ABC.7"), doi_in("(see 10.1016/0167-2789(92)90242)")
    ('10.1000/abc.7', '10.1016/0167-2789(92)90242')
    """
    if not isinstance(value, str):
        return None
    match = _DOI.search(unquote(verbatim(value[:_LONGEST])))
    if match is None:
        return None
    found = match.group().removesuffix("[doi]")
    end, open_ = len(found), found.count("(") - found.count(")")
    while found[end - 1] in ".,;]}" or (found[end - 1] == ")" and open_ < 0):
        end -= 1
        open_ += found[end] == ")"
    return found[:end].lower()


LINK_CHARS = 2_000  # in every list of results; browsers take little more
_UNSAFE = re.compile(r"[\s\x00-\x1f\x7f\\]")
"""What browsers drop or turn into something else before they read the scheme or the host."""


def web_address(text: str) -> str | None:
    """A text as an address that a page may link to; None for anything else.

    A DOI becomes ``https://doi.org/...``. Otherwise ``http`` and ``https`` with a host pass; no
    spaces, control characters or user name, at most `LINK_CHARS` characters. The host is in ASCII
    form, so that look-alikes of other alphabets show.

    >>> web_address("10.1000/182")
    'https://doi.org/10.1000/182'
    >>> web_address("javascript:alert(1)")
    """
    text = text.strip()
    if len(text) > LINK_CHARS:
        return None
    if doi := doi_of(text):
        return "https://doi.org/" + quote(doi, safe="/:;()._-~+,=@!*'%")
    if _UNSAFE.search(text):
        return None
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("idna").decode("ascii")
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:  # UnicodeError is one: no such host or port
        return None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return None
    if ":" in host:
        host = f"[{host}]"
    return urlunsplit((parts.scheme, host + port, parts.path, parts.query, parts.fragment))


def year_in(value: Any) -> int | None:
    """The four-digit year in a number, date or text (1000 to 2999); None when there is none."""
    if isinstance(value, date):
        return value.year
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    match = _YEAR.search(text) or _COMPACT_DATE.match(text)
    return int(match.group(1)) if match else None


def abstract_of(index: Any) -> str:
    """The text that an index of words stands for, as OpenAlex has it; "" where there is none.

    >>> abstract_of({"the": [0, 2], "more": [1], "better": [3]})
    'the more the better'
    """
    if not isinstance(index, Mapping):
        return ""
    lists = [(word, places) for word, places in index.items() if isinstance(places, list)]
    if sum((len(word) + 1) * len(places) for word, places in lists) > _INDEXED:
        return ""  # a short answer can stand for a text that fills the memory
    placed = [
        (place, str(word)) for word, places in lists for place in places if isinstance(place, int)
    ]
    placed.sort(key=lambda pair: pair[0])
    return " ".join(word for _, word in placed)


def at(value: Any, *path: str) -> Any:
    """What is under a path of names in JSON objects; None where one of them is missing.

    >>> at({"source": {"name": "Ponds"}}, "source", "name"), at({"source": None}, "source", "name")
    ('Ponds', None)
    """
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def unescaped(text: str) -> str:
    """A text in which character references of HTML have become characters.

    >>> unescaped("K. M&uuml;ller &lt; 5 &#x2030;")
    'K. Müller < 5 ‰'
    """
    return _ENTITY.sub(lambda found: html.unescape(found.group()), text)


def without_markup(value: Any, corrected: set[str]) -> Any:
    """A text without the HTML or JATS that exports of databases leave in it; all else as it is.

    Character references become characters, tags that only format are taken out, labels of parts
    stay as words; other tags stay.

    Args:
        corrected: receives ``markup`` when there was any.

    >>> without_markup("<i>E. coli</i> &amp; K. M&uuml;ller, a < b, AT&T", set())
    'E. coli & K. Müller, a < b, AT&T'
    >>> without_markup('<p>One.</p><AbstractText Label="AIMS">Two (p<0.1).</AbstractText>', set())
    'One. AIMS: Two (p<0.1).'
    """
    if not isinstance(value, str) or not ("<" in value or "&" in value) or _LIST.match(value):
        return value  # a list or object as JSON has quotes of its own
    plain = _TWICE.sub("", unescaped(unescaped(value)))  # some publishers escape twice
    plain = _HEADING.sub(":", _OWN_HEADING.sub("", _LABEL.sub(r" \1: ", plain)))
    plain = _INLINE.sub("", _BLOCK.sub(" ", plain))
    if plain == value:
        return value
    corrected.add("markup")
    return plain.strip(" ")


def states_absence(text: str) -> bool:
    """Whether a text only says that there is none: in English, German, French, Spanish, Chinese.

    >>> states_absence("[No abstract available]"), states_absence("N/A"), states_absence("No.")
    (True, True, False)
    """
    words = " ".join(text[:200].strip(" \t\r\n[](){}<>.,;:!*-\u2013\u2014\u3002").split())
    return not words or (len(text) < 200 and _NO_ABSTRACT.fullmatch(words) is not None)


def composed(text: str) -> str:
    """A text whose letters with accents are one character each."""
    # One by one: to sort the marks of a whole text takes the square of their number.
    return _ACCENTED.sub(lambda found: unicodedata.normalize("NFC", found[0]), text)


def first_last(name: str) -> str:
    """A name as "First Last", with accents in one character each.

    Also where initials stand behind the family's name, as databases write them.

    >>> first_last("Lee, Ann"), first_last("van der Berg JP"), first_last("Sa-Ambo J.-M.")
    ('Ann Lee', 'J. P. van der Berg', 'J.-M. Sa-Ambo')
    """
    return " ".join(filter(None, name_parts(name)))


def name_parts(name: str) -> tuple[str, str]:
    """Given names and the name of the family; the whole name and "" where they are unknown.

    >>> name_parts("Garcia Lopez M."), name_parts("Ann Lee")
    (('M.', 'Garcia Lopez'), ('Ann Lee', ''))
    """
    name = composed(name)
    last, comma, first = (part.strip() for part in name.partition(","))
    if comma:
        return (first, last) if first and last and "," not in first else (name, "")
    family, _, initials = name.rpartition(" ")
    letters = re.sub(r"[.-]", "", initials)
    if (
        not _INITIALS.fullmatch(initials)
        or not letters.isupper()
        or len(letters) > 3 + ("." in initials)
        or (" " in family and initials in SUFFIXES)
        or any(len(word.strip(".")) < 2 or "." in word for word in family.split())
        or not ("." in initials or any(map(str.islower, family)))
    ):
        return name, ""
    dotted = re.sub(r"([^\W\d_])\.?", r"\1. ", initials).replace(". -", ".-")
    return dotted.strip(), family
