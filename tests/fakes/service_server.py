"""Services that documents come from, as their documentation has them: a real HTTP server with a
route for each, over the same invented papers, which misbehaves on demand.
"""

from __future__ import annotations

import json
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from tests.fakes.loopback import Handler, Loopback

KEYS = ("openalex", "crossref", "arxiv", "s2", "acl", "zotero", "zotero-local")
WORDS = (
    *("keeper", "harbour", "signal", "cargo", "anchor", "compass", "lantern", "tide", "glacier"),
    *("meadow", "orchard", "violin", "parser", "corpus", "grammar", "token", "vector", "kernel"),
    *("proof", "lattice"),
)
FORBIDDEN = "local-forbidden"


@dataclass(frozen=True)
class Paper:
    """One invented paper."""

    number: int  # from 1; all its ids follow from it
    abstract: bool = True
    title: str = ""
    at_crossref: bool = False  # Crossref has its abstract, whoever else has it
    version: int = 3  # of the library of Zotero in which it was changed last

    @property
    def name(self) -> str:
        n = self.number
        return self.title or f"On the {WORDS[n % 20]} and the {WORDS[n // 20 % 20]}, part {n}"

    @property
    def text(self) -> str:
        if not self.abstract:
            return ""
        n = self.number
        return (
            f"We study {WORDS[n % 20]} number {n}. We propose a method of {WORDS[n * 7 % 20]}. "
            f"It finds {WORDS[n * 3 % 20]} in {n % 97} of 97 cases."
        )

    @property
    def doi(self) -> str:
        return f"10.5555/paper.{self.number}"

    @property
    def work(self) -> str:
        return f"W{self.number}"

    @property
    def arxiv(self) -> str:
        return f"{2001 + self.number // 90000:04d}.{self.number % 90000:05d}"

    @property
    def sha(self) -> str:
        return f"{self.number:040x}"

    @property
    def key(self) -> str:
        digits, n = "23456789ABCDEFGHIJKLMNPQRSTUVWXYZ", self.number
        out = ""
        for _ in range(8):
            n, rest = divmod(n, len(digits))
            out = digits[rest] + out
        return out


@dataclass
class Behaviour:
    """How the services answer."""

    # what the next requests meet, one each: a status (429, 429 retry=3, 500), html, broken (half of
    # a JSON value), silent (no answer), hang up, odd (JSON of another form), endless (blanks
    # without end); ok is none
    faults: deque[str] = field(default_factory=deque)
    # "" as documented; "same" sends the first page for every cursor; "endless" never says that it
    # was the last; "overlap" begins each page with the last of the one before; "shrinking" loses a
    # paper at the beginning with every page
    paging: str = ""
    key: str = ""  # the only key that is let in; "" for any
    backoff: float = 0.0  # of Zotero's header of that name, in seconds
    refused_cursors: set[str] = field(default_factory=set)  # until the first that comes back


@dataclass
class Request:
    """One that came in."""

    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: Any


class ServiceServer(Loopback):
    """The services, with what came in; ``papers`` may be replaced while it runs."""

    def __init__(self, papers: int | list[Paper] = 250, port: int = 0) -> None:
        super().__init__(_Requests, port)
        self.reset(papers)

    @property
    def addresses(self) -> dict[str, str]:
        """For ``Settings.service_addresses``."""
        return {key: f"{self.root}/{key}" for key in KEYS}

    @property
    def settings(self) -> dict[str, Any]:
        """For ``Settings``: its addresses, and no waiting."""
        return {"service_addresses": self.addresses, "service_pace": 0.0}

    @property
    def environment(self) -> dict[str, str]:
        """:attr:`settings` for a process."""
        pairs = ",".join(f"{key}={url}" for key, url in self.addresses.items())
        return {"SEEDLENS_SERVICE_ADDRESSES": pairs, "SEEDLENS_SERVICE_PACE": "0"}

    def reset(self, papers: int | list[Paper]) -> None:
        """As new, for another test."""
        numbers = range(1, papers + 1) if isinstance(papers, int) else ()
        self.papers = [Paper(n) for n in numbers] if isinstance(papers, int) else papers
        self.behaviour, self.seen = Behaviour(), list[Request]()


def serving_papers(papers: int | list[Paper] = 250) -> ServiceServer:
    """A server that runs while its block does."""
    return ServiceServer(papers)


class _Requests(Handler):
    owner: ServiceServer

    def do_POST(self) -> None:
        self._take(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def do_GET(self) -> None:
        self._take(None)

    def _take(self, body: Any) -> None:
        parts = urlsplit(self.path)
        params = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Request(parts.path, params, headers, body)
        self.owner.seen.append(asked)
        behaviour = self.owner.behaviour
        fault = behaviour.faults.popleft() if behaviour.faults else "ok"
        with suppress(OSError):
            if fault != "ok":
                self._misbehave(fault)
                return
            given = {params.get("api_key"), headers.get("x-api-key"), headers.get("zotero-api-key")}
            if behaviour.key and behaviour.key not in given:
                said = f"Invalid key {sorted(filter(None, given))}"
                self.send(403 if "/openalex" not in self.path else 401, {"message": said})
                return
            service, _, rest = parts.path[1:].partition("/")
            answer = getattr(self, f"_{service.replace('-', '_')}", None)
            if answer is None:
                self.send(404, {"error": "no such service"})
            else:
                answer(rest, asked)

    # -- faults ---------------------------------------------------------------------------

    def _misbehave(self, fault: str) -> None:
        status, _, retry = fault.partition(" retry=")
        if status.isdigit():
            headers = {"Retry-After": retry} if retry else {}
            self.send(int(status), {"message": f"fault {status}"}, headers)
        elif fault == "html":
            self.raw(200, b"<!DOCTYPE html><html><body>Welcome</body></html>", "text/html")
        elif fault == "broken":
            self.raw(200, b'{"results": [{"id": "https://op', "application/json")
        elif fault == "odd":
            self.send(200, {"message": "Internal error"})
        elif fault == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while not self.owner.gone.wait(0.01):
                self.wfile.write(b" ")
                self.wfile.flush()
        elif fault == "silent":
            self.owner.gone.wait(3600)
        else:  # hang up
            self.close_connection = True
            self.connection.close()

    def send(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self.raw(status, json.dumps(value).encode(), "application/json", headers)

    # -- paging ---------------------------------------------------------------------------

    def _found(self, query: str) -> list[Paper]:
        words = [
            w for w in re.findall(r"\w+", query.lower()) if w not in ("all", "and", "or", "cat")
        ]
        if not words or "everything" in words:
            return self.owner.papers
        return [
            paper
            for paper in self.owner.papers
            if all(word in f"{paper.name} {paper.text}".lower() for word in words)
        ]

    def _slice(self, papers: list[Paper], start: int, size: int) -> tuple[list[Paper], bool]:
        """A page, and whether more follow."""
        paging = self.owner.behaviour.paging
        if paging == "same":
            return papers[:size], True
        if paging == "overlap":
            return papers[max(0, start - 1) : start + size], start + size < len(papers)
        if paging == "shrinking" and start:
            self.owner.papers = papers = papers[1:]
        page = papers[start : start + size]
        return page or (papers[-1:] if paging == "endless" else []), (
            start + size < len(papers) or paging == "endless"
        )

    # -- the services ---------------------------------------------------------------------

    def _openalex(self, path: str, asked: Request) -> None:
        params = asked.params
        if path != "works" or int(params.get("per_page", 25)) > 100:
            self.send(400, {"error": "Invalid query", "message": "per_page is at most 100"})
            return
        if wanted := params.get("filter"):
            kind, _, ids = wanted.partition(":")
            names = ids.lower().split("|")
            found = [
                paper
                for paper in self.owner.papers
                if (paper.doi if kind == "doi" else paper.work.lower()) in names
            ]
            self.send(200, {"meta": {"count": len(found)}, "results": list(map(_work, found))})
            return
        found, size = self._found(params["search"]), int(params["per_page"])
        if "cursor" in params and "api_key" not in params:
            self.send(401, {"error": "Unauthorized", "message": "Cursor paging needs an API key"})
            return
        cursor = params.get("cursor", "*")
        if cursor in self.owner.behaviour.refused_cursors:
            self.owner.behaviour.refused_cursors.clear()
            self.send(400, {"error": "Invalid cursor", "message": "The cursor has expired"})
            return
        at = int(cursor.removeprefix("at-")) if cursor != "*" else 0
        start = at if "cursor" in params else (int(params.get("page", 1)) - 1) * size
        page, more = self._slice(found, start, size)
        meta: dict[str, Any] = {"count": len(found), "per_page": size, "db_response_time_ms": 3}
        # The cursor is null only behind an empty page, as documented.
        meta["next_cursor"] = f"at-{start + size}" if page or more else None
        self.send(200, {"meta": meta, "results": list(map(_work, page)), "group_by": []})

    def _crossref(self, path: str, asked: Request) -> None:
        params = asked.params
        if path != "works" or set(params["select"].split(",")) - {"DOI", "title", "abstract"}:
            self.send(400, {"status": "failed", "message-type": "validation-failure"})
            return
        names = [part.removeprefix("doi:") for part in params["filter"].lower().split(",")]
        found = [p for p in self.owner.papers if p.doi in names and p.at_crossref]
        items = list(map(_crossref_work, found[: int(params["rows"])]))
        message = {"total-results": len(found), "items": items, "items-per-page": 20}
        self.send(200, {"status": "ok", "message-type": "work-list", "message": message})

    def _arxiv(self, path: str, asked: Request) -> None:
        params = asked.params
        if path != "api/query":
            self.raw(404, b"<html>Not found</html>", "text/html")
            return
        if ids := params.get("id_list"):
            names = ids.split(",")
            if bad := [name for name in names if not re.match(r"[\d.]+|[a-z-]+/\d+", name)]:
                self._atom([], 1, f"incorrect id format for {bad[0]}")
                return
            found = [paper for paper in self.owner.papers if paper.arxiv in names]
            self._atom(found, len(found))
            return
        query = params["search_query"]
        if query.count("(") != query.count(")"):
            self._atom([], 1, "cannot parse the query")
            return
        query = re.sub(r"cat:\S+|\w+:|[\"()]", " ", query)
        found = self._found(query)
        page, _ = self._slice(found, int(params["start"]), int(params["max_results"]))
        self._atom(page, len(found))

    def _atom(self, papers: list[Paper], total: int, error: str = "") -> None:
        entries = "".join(map(_entry, papers))
        if error:
            entries = (
                f"<entry><id>http://arxiv.org/api/errors#{error.replace(' ', '_')}</id>"
                f"<title>Error</title><summary>{error}</summary></entry>"
            )
        text = (
            '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom" '
            'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" '
            'xmlns:arxiv="http://arxiv.org/schemas/atom"><title>arXiv Query</title>'
            f"<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"
        )
        self.raw(200, text.encode(), "application/atom+xml")

    def _s2(self, path: str, asked: Request) -> None:
        params = asked.params
        if path == "paper/batch":
            by_id = {p.sha: p for p in self.owner.papers}
            by_id |= {f"doi:{p.doi}": p for p in self.owner.papers}
            found = [by_id.get(id_ if len(id_) == 40 else id_.lower()) for id_ in asked.body["ids"]]
            if not any(found):
                self.send(400, {"error": "No valid paper ids given"})
                return
            self.send(200, [paper and _s2_paper(paper) for paper in found])
            return
        found_papers = self._found(params["query"])
        start = int(params.get("token", "T0")[1:])
        page, more = self._slice(found_papers, start, 1000)
        answer: dict[str, Any] = {"total": len(found_papers), "data": list(map(_s2_paper, page))}
        answer["token"] = f"T{start + 1000}" if more else None
        self.send(200, answer)

    def _acl(self, path: str, asked: Request) -> None:
        file = path.rpartition("/")[2].removesuffix(".xml")
        if path.rpartition("/")[0] != "acl-org/acl-anthology/master/data/xml" or file not in (
            "2024.acl",
            "2024.tacl",
            "P18",
            "W18",
        ):
            self.raw(404, b"404: Not Found", "text/plain")
            return
        volumes = {"2024.acl": ("long", "short"), "P18": ("1", "2"), "W18": ("1", "23")}
        text = "".join(
            _volume(file, name, self.owner.papers[at * 10 : at * 10 + 10])
            for at, name in enumerate(volumes.get(file, ("1",)))
        )
        content = f"<?xml version='1.0' encoding='UTF-8'?>\n<collection id=\"{file}\">{text}"
        self.raw(200, f"{content}</collection>".encode(), "text/plain; charset=utf-8")

    def _zotero(self, path: str, asked: Request) -> None:
        self._library(path, asked)

    def _zotero_local(self, path: str, asked: Request) -> None:
        if self.owner.behaviour.key == FORBIDDEN:
            self.raw(403, b"Local API is not enabled", "text/plain")
        else:
            self._library(path, asked)

    def _library(self, path: str, asked: Request) -> None:
        params = asked.params
        inside = re.fullmatch(r"(users|groups)/\d+(?:/collections/(\w{8}))?/items(/top)?", path)
        if inside is None or inside[2] == "ZZZZZZZZ":
            self.raw(404, b"Not found", "text/html")
            return
        if keys := params.get("itemKey"):
            found = [p for p in self.owner.papers if p.key in keys.split(",")]
            self.send(200, list(map(_item, found)), {"Total-Results": str(len(found))})
            return
        latest = max((17, *(paper.version for paper in self.owner.papers)))
        since = int(params.get("since", 0))
        found = [p for p in self._found(params.get("q", "")) if p.version > since]
        page, _ = self._slice(found, int(params.get("start", 0)), int(params["limit"]))
        headers = {"Total-Results": str(len(found)), "Last-Modified-Version": str(latest)}
        if self.owner.behaviour.backoff:
            headers["Backoff"] = f"{self.owner.behaviour.backoff:g}"
        items = [_item(p) if p.number % 50 else _attachment(p) for p in page]
        self.send(200, items, headers)


def _work(paper: Paper) -> dict[str, Any]:
    index: dict[str, list[int]] = {}
    for at, word in enumerate(paper.text.split()):
        index.setdefault(word, []).append(at)
    return {
        "id": f"https://openalex.org/{paper.work}",
        "doi": f"https://doi.org/{paper.doi}",
        "display_name": paper.name,
        "publication_year": 1990 + paper.number % 35,
        "type": "article",
        "language": "en",
        "authorships": [
            {"author_position": "first", "author": {"display_name": "Ada Keeper"}},
            {"author_position": "last", "author": {"display_name": "Ben Harbour"}},
        ],
        "primary_location": {"source": {"display_name": "Journal of Signals"}},
        "primary_topic": {"field": {"display_name": "Computer Science"}},
        "abstract_inverted_index": index or None,
    }


def _crossref_work(paper: Paper) -> dict[str, Any]:
    return {
        "DOI": paper.doi.upper(),
        "title": [paper.name],
        "abstract": "<jats:title>Abstract</jats:title><jats:sec><jats:title>Aims</jats:title>"
        f"<jats:p>{escape(Paper(paper.number).text)} It holds for <jats:italic>n</jats:italic> "
        "&amp;lt; 3.</jats:p></jats:sec>",
    }


def _entry(paper: Paper) -> str:
    return (
        f"<entry><id>http://arxiv.org/abs/{paper.arxiv}v2</id>"
        f"<updated>2021-05-05T00:00:00Z</updated><published>2020-03-04T00:00:00Z</published>"
        f"<title>{escape(paper.name)}</title><summary>\n  {escape(paper.text)}\n</summary>"
        "<author><name>Ada Keeper</name></author><author><name>Ben Harbour</name></author>"
        f"<arxiv:doi>{paper.doi}</arxiv:doi><arxiv:primary_category term='cs.CL' scheme='s'/>"
        "</entry>"
    )


def _s2_paper(paper: Paper) -> dict[str, Any]:
    return {
        "paperId": paper.sha,
        "externalIds": {"DOI": paper.doi, "CorpusId": paper.number},
        "url": f"https://www.semanticscholar.org/paper/{paper.sha}",
        "title": paper.name,
        "abstract": paper.text or None,
        "venue": "Journal of Signals",
        "year": 1990 + paper.number % 35,
        "publicationTypes": ["JournalArticle"],
        "fieldsOfStudy": ["Computer Science"],
        "authors": [{"authorId": "1", "name": "Ada Keeper"}, {"authorId": None, "name": "B. H."}],
    }


def _volume(file: str, name: str, papers: list[Paper]) -> str:
    entries = "".join(
        f'<paper id="{at}"><title>{escape(p.name)} with <fixed-case>LSTM</fixed-case>s</title>'
        "<author><first>Ada</first><last>Keeper</last></author>"
        f"<abstract>{escape(p.text)} It costs <tex-math>O(n)</tex-math>.</abstract>"
        f"<url hash='1'>{file}-{name}.{at}</url><doi>{p.doi}</doi></paper>"
        for at, p in enumerate(papers, start=1)
    )
    year = file[:4] if file[0].isdigit() else f"20{file[1:]}"
    return (
        f'<volume id="{name}"><meta><booktitle>Proceedings ({name})</booktitle><year>{year}</year>'
        f"</meta><frontmatter><title>Proceedings</title></frontmatter>{entries}</volume>"
    )


def _item(paper: Paper) -> dict[str, Any]:
    return {
        "key": paper.key,
        "version": paper.version,
        "library": {"type": "group", "id": 1},
        "data": {
            "key": paper.key,
            "itemType": "journalArticle",
            "title": paper.name,
            "abstractNote": paper.text,
            "date": f"March {1990 + paper.number % 35}",
            "DOI": paper.doi,
            "url": "",
            "publicationTitle": "Journal of Signals",
            "creators": [
                {"creatorType": "editor", "name": "The Editors"},
                {"creatorType": "author", "firstName": "Ada", "lastName": "Keeper"},
            ],
            "tags": [{"tag": "sea"}, {"tag": "light"}],
        },
    }


def _attachment(paper: Paper) -> dict[str, Any]:
    return {"key": paper.key, "data": {"key": paper.key, "itemType": "attachment", "title": "PDF"}}
