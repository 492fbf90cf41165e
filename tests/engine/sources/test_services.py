"""Each service, asked as its documentation says, against a server of the documented shape."""

import json

import pytest

from engine.config import Settings
from engine.errors import BadInputError, ServiceError, UnknownNameError
from engine.sources.services import look_up
from storage.home import Home
from tests.engine.sources.asking_services import KEY, query_of
from tests.fakes.service_server import FORBIDDEN, Paper


def rows(home, name="retrieved"):
    """What was retrieved."""
    text = (home / name / "documents.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


FIRST = Paper(1)
SHARED = {
    "title": FIRST.name,
    "text": FIRST.text,
    "doi": FIRST.doi,
    "authors": ["Ada Keeper", "Ben Harbour"],
    "year": 1991,
}
LINK = f"https://doi.org/{FIRST.doi}"


@pytest.mark.parametrize(
    ("asked", "documents", "first"),
    [
        ("openalex:everything", 250, {"doc_id": "W1", "field": "Computer Science", "url": LINK}),
        (
            "arxiv:cat:cs.CL AND all:everything",
            250,
            {"doc_id": "2001.00001", "year": 2020, "url": "https://arxiv.org/abs/2001.00001"},
        ),
        ("s2:everything", 250, {"doc_id": FIRST.sha, "authors": ["Ada Keeper", "B. H."]}),
        (
            "acl:2024.acl",
            20,
            {
                "doc_id": "2024.acl-long.1",
                "title": f"{FIRST.name} with LSTMs",
                "text": f"{FIRST.text} It costs O(n).",
                "authors": ["Ada Keeper"],
                "year": 2024,
                "venue": "Proceedings (long)",
                "url": "https://aclanthology.org/2024.acl-long.1",
            },
        ),
        # Every fiftieth item is an attachment, which is no paper.
        (
            "zotero:groups/12/collections/ABCD2345",
            245,
            {"doc_id": FIRST.key, "authors": ["Ada Keeper"], "tags": "sea; light", "url": None},
        ),
        ("zotero:local", 245, {"doc_id": FIRST.key, "authors": ["Ada Keeper"]}),
    ],
)
def test_all_pages_of_a_query_become_documents(retrieve, home, asked, documents, first):
    done = retrieve(asked)
    found = rows(home)
    assert (done.documents, done.done) == (documents, True)
    assert len({row["doc_id"] for row in found}) == documents
    assert "" not in [value for name, value in found[0].items() if name != "text"]
    expected = SHARED | first
    assert {name: found[0][name] for name in expected} == expected
    names = {"openalex": "OpenAlex", "arxiv": "arXiv", "s2": "Semantic Scholar"}
    names |= {"acl": "ACL Anthology", "zotero": "Zotero"}
    assert {row["source"] for row in found} == {names[asked.partition(":")[0]]}


@pytest.mark.parametrize(
    ("asked", "ids", "missing"),
    [
        (
            f"openalex:W2, https://openalex.org/w3 {LINK},W9999, doi:10.5555/PAPER.4, 10.5555/no",
            {"W1", "W2", "W3", "W4"},
            ("W9999", "10.5555/no"),
        ),
        (
            "arxiv:2001.00002v3, arXiv:2001.00003 https://arxiv.org/pdf/2001.00004.pdf,2001.99999 "
            "math.GT/0309136",
            {"2001.00002", "2001.00003", "2001.00004"},
            ("2001.99999", "math.GT/0309136"),
        ),
        (
            f"s2:{Paper(2).sha}\nDOI:10.5555/paper.3 ACL:W12-3903 10.5555/paper.4",
            {Paper(n).sha for n in (2, 3, 4)},
            ("ACL:W12-3903",),
        ),
        (
            "acl:2024.acl-short, P18-1001 P18-2003, W18-2302, 2024.acl-long.99, 2031.acl "
            "https://aclanthology.org/2024.acl-long.3/",
            {
                *(f"2024.acl-short.{n}" for n in range(1, 11)),
                *("P18-1001", "P18-2003", "W18-2302", "2024.acl-long.3"),
            },
            ("2024.acl-long.99", "2031.acl"),
        ),
        ("acl:acl-2018, P18-1", {f"P18-{n}{m:03d}" for n in (1, 2) for m in range(1, 11)}, ()),
        ("acl:ws2018", {f"W18-{n}{m:02d}" for n in ("01", 23) for m in range(1, 11)}, ()),
        (
            f"zotero:users/7 {Paper(2).key},{Paper(3).key} ZZZZZZZZ",
            {Paper(2).key, Paper(3).key},
            ("ZZZZZZZZ",),
        ),
        ("s2:ACL:W12-3903", set(), ("ACL:W12-3903",)),
    ],
)
def test_ids_bring_their_documents_and_those_that_do_not_exist_are_listed(
    retrieve, home, asked, ids, missing
):
    done = retrieve(asked)
    assert {row["doc_id"] for row in rows(home)} == ids
    assert set(done.missing) == set(missing)


def test_hundreds_of_ids_are_asked_for_in_batches(retrieve, services):
    for asked, batches in (
        ("openalex:" + ",".join(f"W{n}" for n in range(1, 240)), 5),
        ("arxiv:" + " ".join(Paper(n).arxiv for n in range(1, 240)), 3),
        ("s2:" + " ".join(Paper(n).sha for n in range(1, 240)), 3),
    ):
        services.seen.clear()
        assert retrieve(asked, name=asked[:5]).documents == 239
        assert len(services.seen) == batches


def test_a_service_gets_its_key_and_an_address_to_write_to(retrieve, services):
    asked = {
        "openalex:keeper": ("openalex_key", lambda r: r.params["api_key"]),
        "s2:keeper": ("semantic_scholar_key", lambda r: r.headers["x-api-key"]),
        "zotero:users/7": ("zotero_key", lambda r: r.headers["zotero-api-key"]),
    }
    for text, (name, read) in asked.items():
        given = Settings(**{name: f"secret-of-{name}"})
        retrieve(
            text,
            name=name,
            contact_email="ada@example.org",
            **{name: getattr(given, name)},
        )
        last = services.seen[-1]
        assert read(last) == f"secret-of-{name}"
        assert "mailto:ada@example.org" in last.headers["user-agent"]
    retrieve("zotero:local", name="local")
    assert services.seen[-1].path.startswith("/zotero-local/users/0/")
    assert "zotero-api-key" not in services.seen[-1].headers
    assert services.seen[-1].headers["zotero-api-version"] == "3"


def test_without_a_key_openalex_is_paged_by_number(retrieve, services):
    assert retrieve("openalex:everything", openalex_key=Settings().openalex_key).documents == 250
    assert [r.params.get("page") for r in services.seen] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("negation scope", "all:negation AND all:scope"),
        ('"question answering" OR reading', 'all:"question answering" OR all:reading'),
        ("cat:cs.CL AND ti:negation", "cat:cs.CL AND ti:negation"),
    ],
)
def test_plain_words_become_a_query_of_arxiv(settings, home, services, typed, sent):
    services.papers = []
    look_up(query_of(f"arxiv:{typed}"), settings, Home(home))
    assert services.seen[-1].params["search_query"] == sent


def test_looking_up_says_how_many_there_are_and_the_first_titles(settings, home, services):
    services.papers = [Paper(n, abstract=n > 30) for n in range(1, 131)]
    found = look_up(query_of("openalex:everything"), settings, Home(home))
    assert (found.total, found.looked_at, found.without_abstract) == (130, 100, 30)
    assert found.titles == tuple(Paper(n).name for n in range(1, 6))
    assert look_up(query_of("acl:P18-1"), settings, Home(home)).total == 10
    nothing = look_up(query_of("s2:nothinglikeit"), settings, Home(home))
    assert (nothing.total, nothing.titles) == (0, ())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("acl:attention is all you need", "no id of the ACL Anthology"),
        ("zotero:my library", "'my' is no library of Zotero"),
        ("zotero:users/me", "no library of Zotero"),
        ("openalex:  ", "Nothing is asked for"),
        ("s2:10.5555/p.1, 10.5555/p.2, 10/3", "'10/3' is no id; the other 2 are"),
        ("s2:" + "w" * 60_000, "60,000 characters, more than the 50,000"),
        ("arxiv:" + ",".join(["2001.00001"] * 4_000), ""),
        ("arxiv:\u200b2001.00001\ufeff", ""),
    ],
)
def test_what_a_service_cannot_be_asked_is_refused_before_it_is(asked, said):
    if not said:  # the same id many times is one, and what is not seen is no part of it
        assert query_of(asked).ids == ("2001.00001",)
        return
    with pytest.raises(BadInputError, match=said):
        query_of(asked)


def test_limits_and_names_of_services_are_checked():
    with pytest.raises(UnknownNameError, match="openalex, arxiv, s2, acl, zotero"):
        query_of("scholar:words")
    for limit in (0, 100_001):
        with pytest.raises(BadInputError, match="from 1 to 100,000"):
            query_of("openalex:words", limit)


@pytest.mark.parametrize(
    ("asked", "key", "said", "remedy"),
    [
        ("openalex:x", "another", "OpenAlex refuses the request", "SEEDLENS_OPENALEX_KEY"),
        ("s2:x", "another", "Semantic Scholar refuses", "SEEDLENS_SEMANTIC_SCHOLAR_KEY"),
        ("zotero:users/7", "another", "Zotero refuses", "SEEDLENS_ZOTERO_KEY"),
        ("zotero:local", FORBIDDEN, "Zotero on this machine refuses", "allow other applications"),
        ("zotero:users/7/collections/ZZZZZZZZ", "", "nothing of that name", "the collection"),
        ("arxiv:ti:(broken", "", "arXiv cannot read the query", "Correct"),
    ],
)
def test_what_a_service_refuses_is_said_with_what_to_do(
    retrieve, services, settings, asked, key, said, remedy
):
    services.behaviour.key = key
    with pytest.raises((ServiceError, BadInputError), match=said) as caught:
        retrieve(asked, zotero_key=settings.openalex_key)
    assert remedy in caught.value.remedy
    assert KEY not in str(caught.value), "the service repeats the key; we do not"
    assert len(services.seen) == 1, "asking again is no use"
