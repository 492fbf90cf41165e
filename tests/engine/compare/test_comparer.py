"""Wordings side by side: what each is read as, how far their rankings differ, and why."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import ir_measures
import pytest

from engine.compare.comparer import Comparer, Judgments, Profile, find_ratings, find_verdict
from engine.compare.sensitivity_table import sensitivity
from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import RESEARCH, SHIPPED
from engine.types.comparisons import ComparisonRequest, Variant, VariantRanking
from engine.types.corpora import ImportRequest
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.scenarios import ScenarioRequest
from engine.types.searches import Query, Ranking, Term, TermUse
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import write_jsonl

SEED, ASPECT = "demo-0232", "method"
BASE = Variant("base", RESEARCH.aspects[1].instruction)
GENERIC = Variant("generic", RESEARCH.generic)
SUBSET = replace(BASE, name="subset", subset=True)
DENSE = replace(BASE, name="dense", system="dense")
NEGATED = Variant("negated", "similar evaluation set-up, ignore the topic")
OTHER = Variant("other", RESEARCH.aspects[2].instruction)
VARIANTS = (BASE, GENERIC, SUBSET, DENSE, NEGATED, OTHER)


@pytest.fixture(scope="module")
def compared(explorer):
    """One judged seed of the demo under six variants."""
    return explorer.comparing.compare(ComparisonRequest("demo", SEED, None, ASPECT, VARIANTS))


def named(found, name):
    return next(v for v in found.variants if v.variant.name == name)


def pairs(found):
    return {(p.first, p.second): p for p in found.pairs}


def test_each_variant_is_read_from_its_words_alone(compared):
    assert [v.variant for v in compared.variants] == list(VARIANTS)
    assert named(compared, "base").understood == (("Method", 1.0),)
    assert named(compared, "other").understood == (("Result", 1.0),)
    assert named(compared, "negated").avoided == ("Background",)
    for name in ("generic", "dense"):
        assert (named(compared, name).understood, named(compared, name).weights) == ((), ())
    (note,) = named(compared, "generic").notes
    assert "none of the aspects" in note
    for variant in compared.variants:
        assert len(variant.ranking.doc_ids) == 479
        assert SEED not in variant.ranking.doc_ids
        assert math.isclose(sum(variant.weights), 1.0 if variant.weights else 0.0, abs_tol=1e-5)


def test_a_generic_wording_ranks_like_the_same_system_without_one(compared, explorer):
    plain = explorer.search(Query("demo", seed=SEED, k=20))
    generic = named(compared, "generic").ranking
    assert [r.doc_id for r in plain.results] == list(generic.doc_ids[:20])
    (verdict,) = (v for v in compared.verdicts if v.variant == "generic")
    assert verdict.kind == "nothing"
    assert "RBO 1.00" in verdict.numbers


def test_a_pair_is_compared_both_ways(compared):
    found = pairs(compared)
    names = [v.name for v in VARIANTS]
    assert list(found) == [(a, b) for a in names for b in names]
    for (first, second), pair in found.items():
        back = found[second, first]
        assert (pair.rbo, pair.tau, pair.overlap) == (back.rbo, back.tau, back.overlap)
        assert pair.rank_gain == pytest.approx(-back.rank_gain, abs=1e-12)
        if first == second:
            assert (pair.rbo, pair.tau, pair.overlap, pair.rank_gain) == (1.0, 1.0, 1.0, 0.0)
    assert found["base", "generic"].rank_gain > 0
    assert found["base", "generic"].rbo < 1


def test_verdicts_say_in_a_sentence_what_a_wording_did(compared):
    kinds = {v.variant: v.kind for v in compared.verdicts}
    assert kinds == {
        "base": "follows",
        "generic": "nothing",
        "subset": "follows",
        "dense": "nothing",
        "negated": "follows",
        "other": kinds["other"],
    }
    assert kinds["other"] != "follows", "it asks for results, and methods are meant"
    texts = {v.variant: v.text for v in compared.verdicts}
    assert "documents judged alike only in Method rose" in texts["base"]
    assert "does not read wordings" in texts["dense"]


def test_p_mrr_is_that_of_the_whole_collection_for_this_seed_and_aspect(
    compared, explorer, demo_collection
):
    topics = tuple(t for t in demo_collection.topics if t.seed == SEED)
    one = replace(demo_collection, topics=topics)
    (table,) = sensitivity(explorer.searcher("demo"), one, ["aspect"], ["base"]).systems
    assert (compared.judged, compared.unjudged_reason) == (True, "")
    assert {v.measures["Judged@20"] for v in compared.variants} == {1.0}
    ndcg = {v.variant.name: v.measures["nDCG@20 (CSFCube)"] for v in compared.variants}
    assert ndcg["base"] > ndcg["generic"]
    found = {v.variant.name: v.measures["p-MRR"] for v in compared.variants}
    assert found["base"] == pytest.approx(table.rows[0].by_aspect[ASPECT]["p-MRR"])
    assert found["base"] > found["generic"]
    assert found["dense"] == 0.0, "it ranks alike for every aspect"


def test_likeness_grows_in_the_aspect_that_is_asked_for(compared):
    base, other = (dict(named(compared, name).likeness) for name in ("base", "other"))
    assert list(base) == ["Background", "Method", "Result"]
    assert base["Method"] > 0
    assert other["Result"] > base["Result"]
    assert set(dict(named(compared, "generic").likeness).values()) == {0.0}


def test_movers_stand_where_the_rankings_say(compared):
    assert compared.movers
    for mover in compared.movers:
        places = [v.ranking.doc_ids.index(mover.doc_id) + 1 for v in compared.variants]
        assert list(mover.ranks) == places
        worth = [1 / math.log2(rank + 1) for rank in places]
        assert mover.change == pytest.approx(max(abs(w - worth[0]) for w in worth))
    changes = [mover.change for mover in compared.movers]
    assert changes == sorted(changes, reverse=True)


def test_a_movers_evidence_is_that_of_each_variant(compared, explorer):
    variants = (GENERIC, BASE, SUBSET)
    doc_id = compared.movers[0].doc_id
    found = explorer.comparing.evidence(
        ComparisonRequest("demo", SEED, None, ASPECT, tuple(variants)), doc_id
    )
    generic, base, subset = found.evidence
    assert generic
    assert base[0].seed_role == 1, "the method sentences count"
    assert {e.seed_role for e in subset} <= {1}, "the rest of the seed is left out"
    shown = {(e.seed_text, e.doc_text) for e in generic}
    assert found.gained[0] == ()
    assert found.gained[1] == tuple(e for e in base if (e.seed_text, e.doc_text) not in shown)
    text = found.document.text
    assert all(text[slice(*e.doc_span)] == e.doc_text for pairs in found.evidence for e in pairs)


def test_subset_uses_the_sentences_of_the_aspect_and_nothing_else(explorer):
    searcher = explorer.searcher("demo")
    seed = searcher.seed(Query("demo", seed=SEED))
    cut = searcher.subset(seed, ASPECT)
    assert cut is not None
    expected = [s.text for s in seed.document.sentences if s.role == 1]
    assert [s.text for s in cut.document.sentences] == expected
    assert (cut.document.title, cut.document.text) == ("", " ".join(expected))
    assert [cut.document.text[slice(*s.span)] for s in cut.document.sentences] == expected
    assert len(cut.sentences) == len(expected)


REFUSED: list[tuple[tuple[Variant, ...], str, str]] = [
    ((BASE, BASE), ASPECT, "Two variants are called 'base'"),
    ((), ASPECT, "no variant"),
    ((replace(BASE, instruction="x" * 2001),), ASPECT, "2,001 characters"),
    ((replace(BASE, steer=1.5),), ASPECT, "steer is 1.5"),
    ((replace(BASE, system="magic"),), ASPECT, "no system 'magic'"),
    ((BASE,), "taste", "no aspect 'taste'"),
]


def test_what_cannot_be_compared_is_refused(small):
    for variants, aspect, says in REFUSED:
        request = ComparisonRequest("small", "bees-network", None, aspect, variants)
        with pytest.raises((BadInputError, UnknownNameError), match=says):
            small.comparing.compare(request)


def test_without_judgments_the_verdict_is_an_estimate_and_says_so(explorer):
    query = Query("demo", seed=SEED)
    comparer = Comparer(explorer.searcher("demo"), query, ASPECT, judgments={})
    unjudged = comparer.compare((BASE, GENERIC, OTHER))
    assert not unjudged.judged
    assert "Nobody judged Method for this seed" in unjudged.unjudged_reason
    base, generic, other = unjudged.verdicts
    assert (base.kind, generic.kind, other.kind) == ("follows", "nothing", "wrong way")
    assert base.text.endswith("(estimate).")
    assert "more similar in Result (estimate)" in other.text
    assert {p.rank_gain for p in unjudged.pairs} == {None}
    assert all(v.measures == {} for v in unjudged.variants)


def test_ones_own_grades_are_judgments(small_copy):
    def compare():
        return small_copy.comparing.compare(
            ComparisonRequest("small", "bees-network", None, ASPECT, (BASE, GENERIC))
        )

    asked = Query("small", seed="bees-network", aspect=ASPECT)
    for doc_id, grade in (("tides-network", 3), ("bees-survey", 0)):
        small_copy.notebook.judge(asked, doc_id, grade)
    one = compare()
    assert one.judged
    assert "Only one aspect of this seed is judged" in one.unjudged_reason
    for doc_id, grade in (("tides-network", 0), ("bees-survey", 3)):
        small_copy.notebook.judge(replace(asked, aspect="background"), doc_id, grade)
    two = compare()
    assert (two.judged, two.unjudged_reason) == (True, "")
    assert pairs(two)["base", "generic"].rank_gain > 0
    assert two.verdicts[0].kind == "follows"


def test_a_comparison_is_stale_once_the_lens_or_the_judgments_change(fresh, tmp_path):
    source = tmp_path / "judged"
    source.mkdir()
    write_jsonl(source / "corpus.jsonl", DOCUMENTS[:3])
    topic = {"query_id": f"{DOCUMENTS[0]['doc_id']}_method", "seed": DOCUMENTS[0]["doc_id"]}
    write_jsonl(source / "topics.jsonl", [{**topic, "aspect": "method"}])
    (source / "qrels.txt").write_text(f"{topic['query_id']} 0 {DOCUMENTS[1]['doc_id']} 1\n")
    fresh.library.import_documents(ImportRequest(source, "judged"))
    comparing, version = fresh.comparing, fresh.library.open("judged").version
    stamps = [comparing.stamp("judged")]
    assert comparing.stamp("judged") == stamps[0]

    document = fresh.library.open("judged").doc_ids[-1]
    with (source / "qrels.txt").open("a", encoding="utf-8") as qrels:  # the folder stays as old
        qrels.write(f"{topic['query_id']} 0 {document} 3\n")
    stamps.append(comparing.stamp("judged"))
    assert comparing.collection("judged").qrels[topic["query_id"]][document] == 3

    fresh.scenarios.run(ScenarioRequest("judged", "extractive"))
    assert comparing.stamp("judged", ["dense"]) == stamps[1]
    stamps.append(comparing.stamp("judged", ["dense", "scenario"]))
    fresh.scenarios.set_weight("judged", 0.0)
    stamps.append(comparing.stamp("judged", ["dense", "scenario"]))

    fresh.library.set_lens("judged", SHIPPED[1])
    stamps.append(comparing.stamp("judged"))
    assert fresh.library.open("judged").version == version, "the numbers do not tell them apart"
    assert len(set(stamps)) == len(stamps)


def test_runs_are_read_by_other_tools(compared, explorer, tmp_path):
    (tmp_path / "all.run").write_text(explorer.comparing.runs(compared), encoding="utf-8")
    by_tag: defaultdict[str, list[str]] = defaultdict(list)
    for line in (tmp_path / "all.run").read_text("utf-8").splitlines():
        by_tag[line.split()[5]].append(line)
    assert list(by_tag) == [v.name for v in VARIANTS]
    for name, lines in by_tag.items():
        read = list(ir_measures.read_trec_run("\n".join(lines)))
        assert {r.query_id for r in read} == {f"{SEED}_{ASPECT}"}
        read.sort(key=lambda r: -r.score)
        assert tuple(r.doc_id for r in read) == named(compared, name).ranking.doc_ids


def test_the_frontier_begins_at_no_instruction_following(explorer, small):
    judged = explorer.comparing.frontier(ComparisonRequest("demo", SEED, None, ASPECT), BASE)
    estimated = small.comparing.frontier(
        ComparisonRequest("small", "bees-network", None, ASPECT), BASE
    )
    assert (judged.judged, estimated.judged) == (True, False)
    for found in (judged, estimated):
        assert [p.steer for p in found.points] == pytest.approx([i / 10 for i in range(11)])
        assert found.points[0].instruction_following == 0.0
        assert found.points[-1].instruction_following > 0.0
    assert judged.points[5].relevance > judged.points[0].relevance
    assert estimated.points[0].relevance > estimated.points[-1].relevance
    level = small.comparing.frontier(
        ComparisonRequest("small", "bees-network", None, ASPECT), DENSE
    )
    assert len({(p.relevance, p.instruction_following) for p in level.points}) == 1


# Verdicts say what the figures beside them say

# Ten documents are relevant to both aspects, two only to the method; thirty to nothing.
BOTH = [f"both-{i}" for i in range(10)]
ONLY = ["only-0", "only-1"]
REST = [f"rest-{i:02}" for i in range(30)]
METHOD = {**dict.fromkeys(BOTH, 3), **dict.fromkeys(ONLY, 1), **dict.fromkeys(REST, 0)}
JUDGED: Judgments = {"method": METHOD, "background": {**METHOD, **dict.fromkeys(ONLY, 0)}}
BLIND = [*BOTH, *REST[:10], *ONLY, *REST[10:]]


def verdict(ranked, judgments, gains=None, blind=BLIND):
    """Of one variant, for the method."""
    ranking = Ranking("mine", tuple(ranked), tuple(float(-i) for i in range(len(ranked))))
    likeness = tuple((gains or {"Background": 0.0, "Method": 0.0}).items())
    found = VariantRanking(Variant("mine", "words"), ranking, *[()] * 4, {}, likeness, 0.0)
    return find_verdict(Profile(found, blind, True, False, "Method", "method", judgments))


FOLLOWED, NOTHING = {"Background": 0.1, "Method": 0.8}, None
LOST = "nDCG@20 (CSFCube) 0.97 to 0."


@pytest.mark.parametrize(
    ("ranked", "gains", "kind", "says"),
    [
        ([*BOTH, *ONLY, *REST], FOLLOWED, "follows", "documents judged alike only in Method rose"),
        (
            [*ONLY, *REST, *BOTH],
            {"Background": -0.2, "Method": -1.44},
            "costly",
            f"follows, and loses most relevant documents ({LOST}",
        ),
        (
            [*ONLY, *REST[:4], *BOTH, *REST[4:]],
            NOTHING,
            "costly",
            f"follows, at the cost of relevance ({LOST}",
        ),
        ([*REST, *BOTH, *ONLY], NOTHING, "wrong way", f"lost ({LOST}"),
        ([*REST[:10], *BOTH, *ONLY, *REST[10:]], NOTHING, "little", f"lost ({LOST}"),
    ],
)
def test_with_judgments_the_verdict_says_what_rose_and_what_was_lost(ranked, gains, kind, says):
    found = verdict(ranked, JUDGED, gains)
    assert found.kind == kind
    assert says in found.text
    assert ("loses" in found.text) == ("loses" in says)
    if gains and gains["Method"] < 0:
        assert "became less similar in Method" in found.text
        for words in ("rank gain over no wording +", "Method -1.44", "of the top 20 in common"):
            assert words in found.numbers


def test_one_judged_aspect_tells_the_cost_of_what_is_estimated():
    found = verdict([*ONLY, *REST, *BOTH], {"method": METHOD}, FOLLOWED)
    assert found.kind == "costly"
    assert "loses most relevant documents" in found.text
    assert "(estimate)" in found.text


@pytest.mark.parametrize(
    ("gains", "kind", "says"),
    [
        ({"Background": 0.0, "Method": 0.9}, "follows", "more similar in Method"),
        ({"Background": 1.3, "Method": 0.9}, "follows", "and more so in Background"),
        ({"Background": 1.4, "Method": 0.3}, "wrong way", "more similar in Background"),
        ({"Background": 0.1, "Method": -1.44}, "wrong way", "less similar in Method"),
        (
            {"Background": -0.8, "Method": 0.227},
            "follows",
            "became slightly more similar in Method and became less so in Background",
        ),
        ({"Background": -0.8, "Method": 0.02}, "follows", "stayed as similar in Method"),
        (
            {"Background": -0.8, "Method": -0.1},
            "different",
            "without becoming clearly more similar",
        ),
        ({"Background": 0.1, "Method": 0.1}, "different", "without becoming clearly more similar"),
    ],
)
def test_without_judgments_the_verdict_goes_by_the_aspect_that_is_meant(gains, kind, says):
    found = verdict([*REST, *BOTH, *ONLY], {}, gains)
    assert found.kind == kind
    assert says in found.text
    assert "nDCG" not in found.text + found.numbers, "nobody judged anything"


def test_without_judgments_replacing_nearly_all_documents_is_told():
    found = verdict([*REST[10:], *BLIND[:20], *ONLY], {}, {"Background": 0.0, "Method": 0.9})
    assert found.kind == "follows"
    assert "0% of the top 20 stayed" in found.text


def test_a_winner_is_named_only_by_a_measure_that_every_variant_has():
    term = TermUse(Term("bees"), 5, 5, 5, 20)

    def ranking(name, ndcg, terms, likeness):
        measures = {} if ndcg is None else {CSFCUBE_NDCG: ndcg}
        like = (("Method", likeness),) if likeness else ()
        empty = Ranking("q", (), ())
        return VariantRanking(Variant(name, ""), empty, (), (), (), (), measures, like, 0.0, terms)

    plain, worded = ("plain", 0.8, (), 0.4), ("worded", 0.3, (term,), 0.2)

    def by(*given):
        words, values = find_ratings([ranking(*one) for one in given], "Method")
        return words.split()[0] if words else "", values

    assert by(plain, worded) == ("nDCG@20", {"plain": 0.8, "worded": 0.3})
    plain, worded = (("plain", None, *plain[2:]), ("worded", None, *worded[2:]))
    assert by(plain, worded) == ("similarity", {"plain": 0.4, "worded": 0.2})
    assert by(worded, ("other", *worded[1:])) == ("terms", {"worded": 1.0, "other": 1.0})
    assert by(("plain", None, (), None), worded) == ("", {})
