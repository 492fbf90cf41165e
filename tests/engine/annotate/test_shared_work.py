"""Who judges what in a project, and projects that are copied, renamed and deleted."""

from collections import Counter
from dataclasses import replace

import pytest

from engine.annotate.pool import first_items, shared_out
from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import FirstItems, Judgment, Project
from engine.types.searches import Query
from tests.engine.annotate.grading_steps import project_with_pool

SEEDS = ("bees-network", "bread-network", "maps-survey")


def next_of(explorer, project, who):
    return [*explorer.annotation.share(project, who, "tab").next]


def judge(explorer, project, who, *items):
    for item in items:
        explorer.annotation.judge(project, Judgment(*item, who, 1))


def test_everybody_begins_with_the_same_items_whatever_is_pooled_later(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy, SEEDS[:1], annotators=("Ada", "Grace"), first=3)
    ada = next_of(small_copy, project, "Ada")[:3]
    assert next_of(small_copy, project, "Grace")[:3] == ada
    judge(small_copy, project, "Ada", *ada)
    project_with_pool(small_copy, SEEDS, annotators=("Ada", "Grace"), first=3)
    assert next_of(small_copy, project, "Grace")[:3] == ada, "others were pooled since"
    assert not {*ada} & {*next_of(small_copy, project, "Ada")}

    judge(small_copy, project, "Grace", *ada[:2])
    found = annotation.progress(project)
    assert found.first == FirstItems(3, 2, ("Ada", "Grace"))
    of_all = annotation.save(replace(project, annotators=()), "lead")
    annotation.judge(of_all, Judgment(*ada[0], "Eve", 1, origin="import"))
    assert annotation.progress(of_all).first == found.first, "Eve was not here"
    annotation.judge(of_all, Judgment(*ada[0], "Eve", None, "withdrawn"))
    annotation.save(project, "lead")
    assert (found.needed, found.annotations) == (found.items + 3, 5), "others are judged by one"
    more = replace(project, first=5)
    assert {*ada} < {*next_of(small_copy, more, "Ben")[:5]}, "five are for everybody, even Ben"
    for who in ("Ada", "Ben"):
        annotation.leave(project, who, "tab")
    while left := next_of(small_copy, project, "Grace"):
        judge(small_copy, project, "Grace", *left)
    found = annotation.progress(project)
    assert found.is_done
    assert found.people[0].queue.left == 0
    assert annotation.agreement(project).measures[0].items == 3


def test_the_first_items_are_those_chosen_before_then_others_of_the_pool(small_copy):
    pool = small_copy.annotation.pooled(project_with_pool(small_copy, SEEDS))
    chosen = first_items(pool, [("gone", "d"), *list(pool)[:2]], 4)
    assert chosen[:2] == list(pool)[:2]
    assert len({*chosen}) == 4
    assert first_items(pool, chosen, 2) == chosen[:2]
    assert len(first_items(pool, (), 10_000)) == len(pool)
    with pytest.raises(BadInputError, match="first items is -1"):
        small_copy.annotation.save(Project("small", "q", first=-1), "lead")


def test_assigned_queries_are_asked_of_those_people_only(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy, SEEDS, annotators=("Ada", "Grace"), per_item=2)
    bees, bread, maps = annotation.queries(project)
    project = annotation.assign(project, {bees: ["Ada"], bread: ["Grace", "Ada"]}, "lead")
    asked = {who: {q for q, _ in next_of(small_copy, project, who)} for who in ("Ada", "Grace")}
    assert asked == {"Ada": {bees, bread, maps}, "Grace": {bread, maps}}
    sizes = Counter(query_id for query_id, _ in annotation.pooled(project))
    found = annotation.progress(project)
    assert found.needed == sizes[bees] + 2 * (sizes[bread] + sizes[maps])
    assert [person.queue.total for person in found.people] == [
        found.items,
        sizes[bread] + sizes[maps],
    ]
    with_first = replace(project, first=found.items)
    assert {q for q, _ in next_of(small_copy, with_first, "Grace")} == {bees, bread, maps}

    project = annotation.assign(project, {bees: []}, "lead")
    assert project.assigned == {bread: ("Grace", "Ada")}, "for everybody again"
    with pytest.raises(BadInputError, match="'Eve' is not among the annotators"):
        annotation.assign(project, {bees: ["Eve"]}, "lead")
    with pytest.raises(UnknownNameError, match="no query 'none'"):
        annotation.assign(project, {"none": ["Ada"]}, "lead")
    left = annotation.save(replace(project, annotators=("Ada",)), "lead")
    assert left.assigned == {bread: ("Ada",)}, "Grace left"


def test_queries_are_shared_out_evenly_to_as_many_as_an_item_needs(small_copy):
    people = Project("c", "p", annotators=("Ada", "Ben", "Grace"), per_item=2)
    assigned = shared_out(people, {"a": 6, "b": 3, "c": 3, "d": 3, "e": 3})
    loads = Counter(who for own in assigned.values() for who in own)
    assert {len(own) for own in assigned.values()} == {2}
    assert sorted(loads.values()) == [3, 3, 4]
    project = project_with_pool(small_copy, SEEDS)
    with pytest.raises(BadInputError, match="has 0 annotators"):
        small_copy.annotation.share_out(project, "lead")
    project = small_copy.annotation.save(replace(project, annotators=("Ada", "Grace")), "lead")
    shared = small_copy.annotation.share_out(project, "lead").assigned
    assert sorted(Counter(shared.values()).values()) == [1, 2]


def test_a_renamed_project_keeps_all_that_refers_to_it(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy, SEEDS, first=2)
    item = next_of(small_copy, project, "Ada")[0]
    judge(small_copy, project, "Ada", item)
    renamed = annotation.rename(project, "named", "lead")
    assert [p.name for p in annotation.projects("small")] == ["named"]
    assert annotation.project("small", "p") == renamed, "links have the former name"
    judge(small_copy, renamed, "Grace", item)
    assert [j.annotator for j in annotation.judgments(renamed)] == ["Ada", "Grace"]
    assert small_copy.collections.info("small:p").name == "named"
    names = small_copy.sql("small", "select distinct project from judgments").to_pylist()
    assert names == [{"project": "named"}]
    for taken in ("p", "named"):
        with pytest.raises(BadInputError, match=f"has a project '{taken}' already"):
            annotation.create(Project("small", taken), "lead")
    with pytest.raises(BadInputError, match="already, now called 'named'"):
        annotation.save(project, "lead", None)
    third = annotation.rename(renamed, "third", "lead")
    for former in ("p", "named"):
        assert annotation.project("small", former) == third
    assert annotation.rename(third, "p", "lead").key == project.key


def test_a_copy_has_queries_pool_and_settings_and_nothing_that_was_judged(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy, SEEDS, annotators=("Ada",), guidelines={"": "Mind."})
    annotation.retire(project, ["maps-survey_method"], "lead")
    judge(small_copy, project, "Ada", next_of(small_copy, project, "Ada")[0])
    made = annotation.copy(project, "second", "lead")
    assert (made.annotators, made.guidelines) == (("Ada",), {"": "Mind."})
    assert annotation.pool(made) == annotation.pool(project)
    assert annotation.queries(made) == annotation.queries(project)
    assert annotation.retired(made) == {"maps-survey_method"}
    assert annotation.judgments(made) == []
    for one in (project, made):
        annotation.add_queries(one, [Query("small", seed="maps-survey", aspect="method")])
    assert annotation.pool(made) == annotation.pool(project), "of retired queries too"


def test_a_deleted_project_comes_back_with_its_judgments_and_its_name_is_free(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy, SEEDS, leads=("lead",))
    judge(small_copy, project, "Ada", next_of(small_copy, project, "Ada")[0])
    with pytest.raises(BadInputError, match="'Ada' cannot change"):
        annotation.delete(project, "Ada")
    annotation.delete(project, "lead")
    assert [p.name for p in annotation.deleted("small")] == ["p"]
    with pytest.raises(UnknownNameError, match="no project 'p'"):
        annotation.project("small", "p")
    new = annotation.create(Project("small", "p"), "lead")
    assert annotation.judgments(new) == [] == annotation.pool(new)
    with pytest.raises(UnknownNameError, match="'p' of corpus 'small' was deleted"):
        annotation.at(*project.key)
    (gone,) = annotation.deleted("small")
    with pytest.raises(BadInputError, match="has a project 'p' already"):
        annotation.restore(gone, "lead")
    annotation.delete(new, "lead")
    assert [p.key[1] for p in annotation.deleted("small")] == [new.key[1], "p"]
    newer, older = annotation.deleted("small")
    assert annotation.restore(newer, "lead").key == new.key
    back = annotation.restore(older, "lead", "older")
    assert [j.annotator for j in annotation.judgments(back)] == ["Ada"]
    assert (annotation.at(*project.key), annotation.deleted("small")) == (back, [])
    assert annotation.save(annotation.project("small", "p"), "lead").key == new.key


def test_a_version_that_is_not_current_is_refused(small_copy):
    annotation = small_copy.annotation
    project = project_with_pool(small_copy, SEEDS)
    annotation.save(replace(project, per_item=2), "lead")
    for change in (annotation.delete, lambda *now: annotation.rename(now[0], "new", now[1])):
        with pytest.raises(BadInputError, match="was changed by somebody else in the meantime"):
            change(project, "lead")
    drawn = annotation.project("small", "p")
    named = annotation.rename(drawn, "new", "lead")
    with pytest.raises(BadInputError, match="was renamed to 'new' in the meantime"):
        annotation.assign(drawn, {}, "lead")
    annotation.delete(named, "lead")
    with pytest.raises(BadInputError, match="was deleted in the meantime"):
        annotation.assign(named, {}, "lead")
    own = annotation.project("small")
    for names in ((own, "named"), (drawn, "")):
        with pytest.raises(BadInputError, match="The project has no name"):
            annotation.rename(*names, "lead")


def test_an_import_is_counted_before_anything_is_stored(small_copy, tmp_path):
    annotation, io = small_copy.annotation, small_copy.annotation.exchange
    project = project_with_pool(small_copy, SEEDS)
    one, two = next_of(small_copy, project, "Ada")[:2]
    judge(small_copy, project, "Ada", one, two)
    judge(small_copy, project, "Grace", one)
    exported = io.export(project, "hand-over", annotator="Ada")
    assert str(exported.counts) == "2 judgments by 1 person on 2 items (grades: 2 × 1)"
    assert io.export(project).counts.people == {"Ada": 2, "Grace": 1}
    assert io.export(project, per_annotator=True).counts.judgments == 3
    exported.write(file := tmp_path / "ada.jsonl")

    annotation.delete(project, "lead")
    tried = io.import_("small", file, dry_run=True)
    assert (tried.added, tried.known, tried.project) == (2, 0, "p")
    assert (tried.queries, tried.counts.people) == (2 - (one[0] == two[0]), {"Ada": 2})
    assert annotation.projects("small") == []
    assert io.import_("small", file) == tried, "into a project of its own"
    made = annotation.project("small", "p")
    annotation.judge(made, Judgment(*one, "Ada", 3))
    tried = io.import_("small", file, dry_run=True, overwrite=True)
    assert (tried.added, tried.known, len(tried.conflicts)) == (1, 1, 1)
    assert annotation.judgments(made)[-1].relevance == 3
