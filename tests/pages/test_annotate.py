"""The Annotate page: a project is made, filled and judged; what is wrong is said in words."""

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import BadInputError
from engine.types.annotating import GRADED, Judgment, Project
from engine.types.people import Person
from engine.types.searches import Query
from pages._annotate.judging import nodes
from pages._annotate.project import CHOSEN, read_scale, read_seeds, scale_lines
from tests.engine.annotate.grading_steps import project_with_pool
from tests.fakes.model_sessions import SEED
from tests.fakes.small_corpus import DOCUMENTS
from tests.pages.visits import address, click, judged_on, param, run, shown, visit
from tests.support import wait_until


@pytest.fixture
def home_page(small_copy, serve):
    return serve(small_copy)


def test_what_another_lead_saved_meanwhile_is_not_undone_by_saving_again(home_page):
    project = project_with_pool(home_page)
    page = visit("annotate", corpus="small", project="p", part="project")
    theirs = home_page.annotation.save(replace(project, guidelines={"": "Theirs."}), "Grace")
    page.text_input(key="annotate_annotators_small_p").set_value("Ada")
    for _ in range(2):
        click(page, "annotate_save_small_p")
        assert "was changed by somebody else" in shown(page)
        assert home_page.annotation.project("small", "p") == theirs
    assert "Edited by someone else" in shown(page)

    page = visit("annotate", corpus="small", project="p", part="project")
    assert page.text_area(key="annotate_guide__small_p").value == "Theirs."
    for annotators in ("Ada", "Ada, Grace"):  # what one saved oneself is known
        page.text_input(key="annotate_annotators_small_p").set_value(annotators)
        click(page, "annotate_save_small_p")
        assert "was changed" not in shown(page)
    assert home_page.annotation.project("small", "p") == replace(
        theirs, annotators=("Ada", "Grace")
    )


def test_a_project_is_made_filled_and_opened_for_judging(home_page):
    page = visit("annotate", corpus="small")
    assert "Create a project to start annotating" in shown(page)
    click(page, "annotate_make")
    page.text_input(key="annotate_name_new").set_value("")
    click(page, "annotate_save_new")
    assert "The project has no name." in shown(page)
    page.text_input(key="annotate_name_new").set_value(" bees and  mites")
    page.text_input(key="annotate_annotators_new").set_value("Ada, Grace")
    page.text_area(key="annotate_grades_new").set_value("0 No\n1 Somewhat: touches on it\n2 Yes")
    page.text_area(key="annotate_guide_method_new").set_value("Same *procedure*.")
    click(page, "annotate_save_new")
    project = home_page.annotation.project("small", "bees-and-mites")
    assert project.annotators == ("Ada", "Grace")
    assert project.guidelines == {"method": "Same *procedure*."}
    assert len(project.scale.grades) == 3
    assert "Next: add queries, then fill the pool." in shown(page)
    assert page.segmented_control(key="annotate_part").options == [
        *("Pool", "Export and import", "Project")
    ]

    assert page.button(key="annotate_fill").disabled
    page.text_area(key="annotate_seeds").set_value("nobody-knows-this")
    click(page, "annotate_add_queries")
    assert "nobody-knows-this" in shown(page)
    assert home_page.annotation.queries(project) == {}
    page.text_area(key="annotate_seeds").set_value(SEED)
    click(page, "annotate_add_queries")
    page.number_input(key="annotate_depth").set_value(4)
    click(page, "annotate_fill")
    filling = home_page.annotation.filling
    wait_until(
        lambda: (job := filling.jobs.latest(project.key)) is not None and not job.running,
        what="a filled pool",
    )
    run(page)
    assert "documents are new in the pool" in shown(page)
    click(page, "annotate_fill_dismiss")
    assert "documents are new in the pool" not in shown(page)
    page.text_input(key="annotate_name").set_value("Ada")
    click(page, "annotate_next_pool")
    assert judged_on(page)


def test_a_link_to_a_project_that_is_not_there_says_which_there_are(home_page):
    project_with_pool(home_page)
    page = visit("annotate", corpus="small", project="gone")
    assert "has no project" in shown(page)
    assert "It has p." in shown(page)
    page = visit("annotate", corpus="small", project="p", part="elsewhere", measure="raw")
    assert "is not one of judge" in shown(page)
    assert (param(page, "project"), param(page, "part")) == ("p", "")


def test_a_name_outside_the_list_is_told_so_and_only_leads_see_what_others_said(home_page):
    project_with_pool(home_page, annotators=("Ada",), leads=("Grace",))
    page = visit("annotate", corpus="small", project="p", part="agreement")
    assert "Only leads of this project can open" in shown(page)
    assert "Leads: Grace; you are &#x27;me&#x27;." in shown(page)
    assert "is not an annotator" in shown(page)
    click(page, "annotate_as_Ada")
    assert judged_on(page)
    page.text_input(key="annotate_name").set_value("Grace")
    run(page)
    assert page.segmented_control(key="annotate_part").value == "agreement", "what was asked for"
    assert "Set &#x27;First items for everybody&#x27;" in shown(page)


def test_an_empty_pool_says_what_to_do(home_page):
    home_page.annotation.save(Project("small", "empty", leads=("Grace",)), "Grace")
    page = visit("annotate", corpus="small", project="empty")
    assert "No items to judge yet. Ask the leads (Grace)" in shown(page)
    page.text_input(key="annotate_name").set_value("Grace")
    run(page)
    assert page.text_area(key="annotate_seeds"), "a lead can fill it"
    assert param(page, "part") == "pool"


def test_a_lead_is_led_from_the_first_judgment_to_the_export(home_page):
    annotation = home_page.annotation
    project = project_with_pool(home_page, annotators=("Ada", "Grace"), first=2)
    page = visit("annotate", corpus="small", project="p", part="progress")
    assert "2 items for everybody: 0 judged by both." in shown(page)
    page.toggle(key="annotate_recall_wanted").set_value(True)
    assert "No estimate yet. Judge at least 10 documents of a query." in shown(run(page))
    parts = page.segmented_control(key="annotate_part")
    assert [*parts.options] == [
        *("Judge", "Progress", "Pool", "Model", "Export and import", "Project")
    ]
    first = annotation.share(project, "Ada", "tab").next[:2]
    for item in annotation.pool(project):
        annotation.judge(project, Judgment(*item.item, "Ada", 1))
    for number, item in enumerate(first):
        annotation.judge(project, Judgment(*item, "Grace", 1 + number))
    run(page)
    page.segmented_control(key="annotate_part").set_value("judge")
    page.text_input(key="annotate_name").set_value("Ada")
    run(page)
    for part, words in (("judge", "see agreement"), ("agreement", "decide 1 disagreement")):
        assert page.button(key=f"annotate_next_{part}").label == f"Next: {words}"
        click(page, f"annotate_next_{part}")
    assert param(page, "part") == "disagreements"
    annotation.adjudicate(project, *first[1], 2, "so", "me")
    run(page)
    click(page, "annotate_next_disagreements")
    assert param(page, "part") == "files"


def test_queries_are_assigned_and_shared_out_in_the_pool(home_page):
    project = project_with_pool(home_page, annotators=("Ada", "Grace"))
    (query_id,) = home_page.annotation.queries(project)
    page = visit("annotate", corpus="small", project="p", part="pool")
    assert list(page.dataframe[0].value["Assigned to"]) == ["everybody"]
    page.multiselect(key="annotate_assign_people").set_value(["Grace"])
    click(page, "annotate_assign_button")
    assert home_page.annotation.project("small", "p").assigned == {query_id: ("Grace",)}
    assert list(page.dataframe[0].value["Assigned to"]) == ["Grace"]
    assert any("?corpus=small&project=p" in code.value for code in page.code)
    click(page, "annotate_share_out")
    assert home_page.annotation.project("small", "p").assigned == {query_id: ("Ada",)}


def test_a_project_is_renamed_copied_and_deleted_and_comes_back(home_page):
    project = project_with_pool(home_page, annotators=("Ada",))
    page = visit("annotate", corpus="small", project="p", part="project")
    for name, key in (("q", "annotate_rename"), ("second round", "annotate_copy")):
        page.text_input(key="annotate_other_name").set_value(name)
        click(page, key)
    assert param(page, "project") == "second-round"
    assert "Copied to second-round." in shown(page)
    assert {p.name: p.key for p in home_page.annotation.projects("small")}["q"] == project.key
    click(page, "annotate_copy")
    assert "has a project &#x27;second-round&#x27; already" in shown(page)
    page = visit("annotate", corpus="small", project="p", part="pool")
    assert param(page, "project") == "q", "a link with the former name"
    page = visit("annotate", corpus="small", project="q", part="project")
    click(page, "annotate_delete")
    click(page, "annotate_delete_confirm")
    assert [p.name for p in home_page.annotation.projects("small")] == ["second-round"]
    assert "q was deleted." in [text.value for text in page.text]
    click(page, "annotate_undelete_0")
    assert param(page, "project") == "q"


def test_a_file_is_shown_in_numbers_before_it_is_imported(home_page):
    annotation = home_page.annotation
    project = project_with_pool(home_page)
    one, two, *_ = (i.item for i in annotation.pool(project))
    for item, grade in ((one, 1), (two, 0)):
        annotation.judge(project, Judgment(*item, "Ada", grade))
    page = visit("annotate", corpus="small", project="p", part="files")
    assert "2 judgments by 1 person on 2 items (grades: 1 × 0, 1 × 1)." in shown(page)
    lines = [f"{q} 0 {d} {grade}" for (q, d), grade in ((one, 2), (two, 0))]
    page.text_input(key="annotate_import_who").set_value("Ada")
    page.file_uploader(key="annotate_upload_0").upload("a.qrels", "\n".join(lines).encode())
    run(page)
    assert "0 judgments to add, 1 already stored, 1 conflict, 0 new queries." in shown(page)
    assert page.button(key="annotate_import").disabled
    page.toggle(key="annotate_import_overwrite").set_value(True)
    run(page)
    assert page.button(key="annotate_import").label == "Import 1 judgment"
    assert annotation.judgments(project)[0].relevance == 1
    click(page, "annotate_import")
    assert "1 judgment is new; 1 already stored." in shown(page)
    assert {j.item: j.relevance for j in annotation.judgments(project)} == {one: 2, two: 0}


def test_a_project_of_decisions_alone_is_exported(home_page):
    project = project_with_pool(home_page)
    item = home_page.annotation.pool(project)[0].item
    home_page.annotation.adjudicate(project, *item, 1, "so", "me")
    page = visit("annotate", corpus="small", project="p", part="files")
    assert any(p.proto.label == "Download p\\.qrels" for p in page.get("download_button"))
    page.selectbox(key="annotate_as").set_value("hand-over")
    run(page)
    assert "1 judgment by 1 person on 1 item" in shown(page)


def test_what_is_judged_on_explore_has_agreement_and_files_but_no_queue(home_page):
    project_with_pool(home_page)
    page = visit("annotate", corpus="small", project="p")
    page.selectbox(key="annotate_project").set_value("")
    run(page)
    assert param(page, "part") == "files"
    assert "No judgments in this project yet." in shown(page)


def test_leads_see_agreement_decide_and_take_files_home(home_page):
    annotation = home_page.annotation
    project = project_with_pool(home_page, per_item=2)
    for number, item in enumerate(annotation.pool(project)):
        annotation.judge(project, Judgment(*item.item, "Ada", 1, note="<b>bold</b>"))
        annotation.judge(project, Judgment(*item.item, "Grace", 1 + (number == 0)))
    page = visit("annotate", corpus="small", project="p", part="agreement")
    assert "Rows: grades of Ada" in shown(page)
    own = page.dataframe[-1].value
    assert list(own["Annotator"]) == ["Ada", "Grace"]
    assert own["nDCG@20"].between(0, 1).all()
    page.segmented_control(key="annotate_part").set_value("disagreements")
    run(page)
    assert "1 to decide, 0 decided" in shown(page)
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown(page)
    button = next(b for b in page.button if str(b.key).startswith("annotate_decide_button"))
    place = str(button.key).removeprefix("annotate_decide_button_")
    for reason, says in (("2", "is no reason"), ("both count bees", "0 to decide, 1 decided")):
        page.segmented_control(key=f"annotate_grade_{place}").set_value(2)
        page.text_input(key=f"annotate_reason_{place}").set_value(reason)
        click(page, f"annotate_decide_button_{place}")
        assert says in shown(page)
    page.segmented_control(key="annotate_part").set_value("files")
    run(page)
    assert any(p.proto.label == "Download p\\.qrels" for p in page.get("download_button"))
    page.file_uploader(key="annotate_upload_0").upload("broken.qrels", b"one two\n")
    run(page)
    assert "line 1" in shown(page)


def test_seeds_are_chosen_by_title_and_asked_in_each_aspect(home_page):
    project = home_page.annotation.save(Project("small", "titles"), "lead")
    one, other = (d["doc_id"] for d in DOCUMENTS[:2])
    seed, pasted = Query("small", seed=one), Query("small", text="Bees dance to tell where.")
    page = address("annotate", corpus="small", project="titles", part="pool")
    page.session_state[f"{CHOSEN}_small_options"] = [*(seed, Query("small", seed=other), pasted)]
    run(page)
    chosen = page.multiselect(key=f"{CHOSEN}_small")
    assert chosen.options[0] == DOCUMENTS[0]["title"], "seeds go by their titles"
    chosen.set_value([seed, pasted])
    page.multiselect(key="annotate_aspects").set_value(["method", "result"])
    click(page, "annotate_add_queries")
    asked = home_page.annotation.queries(project).values()
    assert [(q.seed, q.text is not None, q.aspect) for q in asked] == [
        (one, False, "method"), (one, False, "result"), (None, True, "method"),
        (None, True, "result"),
    ]  # fmt: skip
    assert page.multiselect(key=f"{CHOSEN}_small").value == []
    click(page, "annotate_add_queries")
    assert "No seed chosen." in shown(page)


def test_a_template_for_guidelines_names_the_grades_and_keeps_what_was_written(home_page):
    page = visit("annotate", corpus="small", part="new")
    page.text_area(key="annotate_guide__new").set_value("Read *all* of it.")
    page.segmented_control(key="annotate_scale_new").set_value("binary")
    click(page, "annotate_template__new")
    text = page.text_area(key="annotate_guide__new").value
    assert text.startswith("Read *all* of it.\n\n# What is judged")
    assert "| 1 Relevant |" in text
    assert "3 Nearly" not in text
    click(page, "annotate_template_method_new")
    method = page.text_area(key="annotate_guide_method_new").value
    aspect = home_page.library.lens("small").aspects[1]
    assert aspect.definition in method
    assert [node["tag"] for node in nodes(method) if isinstance(node, dict)].count("table") == 1


def test_guidelines_are_nodes_without_html_images_or_odd_links():
    tree = nodes(
        "# Title\n<b>no</b> ![i](https://e.org/i.png) [go](javascript:go()) [ok](https://e.org)\n\n"
        "| Grade | Meaning |\n| --- | --- |\n| 1 | *same* \\| |\n"
    )
    heading, words, table = tree
    assert heading == {"tag": "h1", "children": ["Title"]}
    assert isinstance(words, dict)
    links = [c for c in words["children"] if isinstance(c, dict)]
    assert [link["href"] for link in links] == ["https://e.org/i.png", "https://e.org"]
    assert "<b>no</b> !" in words["children"], "HTML is text"
    assert isinstance(table, dict)
    (_, body) = table["children"]
    (_, cell) = body["children"][0]["children"]
    assert cell == {"tag": "td", "children": [{"tag": "em", "children": ["same"]}, " |"]}


def test_leads_see_who_did_how_much_and_how_agreement_came_about(home_page):
    annotation = home_page.annotation
    project = project_with_pool(home_page, per_item=2, annotators=("Ada", "<i>Ben</i>", "Grace"))
    items = annotation.pool(project)
    page = visit("annotate", corpus="small", project="p", part="progress")
    assert "No item has grades by two people yet" in shown(page)
    for number, item in enumerate(items[:4]):
        annotation.judge(project, Judgment(*item.item, "Ada", number % 2))
        verdict = {"verdict": "skip"} if number == 3 else {"relevance": 0 if number < 2 else 2}
        annotation.judge(project, Judgment(*item.item, "Grace", **verdict))
    people = {p.annotator: p for p in annotation.progress(project).people}
    assert people["Ada"].share == people["Grace"].share == 0.5
    assert (people["Grace"].graded, people["Grace"].queue.skipped) == (3, 1)
    assert people["<i>Ben</i>"].last is None
    run(page)
    text = shown(page)
    assert f"7 of {2 * len(items)} annotations" in text
    assert f"3 of {len(items)} items complete" in text
    assert list(page.dataframe[0].value["Annotator"]) == ["<i>Ben</i>", "Ada", "Grace"]
    assert list(page.dataframe[0].value["Graded"]) == [0, 4, 3]
    assert "<i>Ben" not in text
    assert "over 3 items with two or more grades." in text
    assert "undefined at n = 1" in text
    assert page.dataframe[1].value["low"].isna().all(), "too few for an interval"


# Their source runs as a script of its own, where only builtins have names.
def holes_page(explorer, key):
    from pages._evaluate.evaluate_results import unjudged_documents
    from pages._evaluate.evaluate_state import EvaluatePage, EvaluateView

    view = EvaluateView(collection=key, systems=("bm25",))
    unjudged_documents(EvaluatePage(explorer, view, [explorer.collections.info(key)]))


def decide_page(explorer, project):
    from pages._annotate.agreement import disagreements

    disagreements(explorer, project, "Ada")


@pytest.mark.parametrize("role", ["annotator", "lead"])
def test_only_leads_fill_holes_and_decide_whatever_the_project_says(home_page, monkeypatch, role):
    monkeypatch.setattr("pages._login.login.person", lambda: Person("ada@example.org", "Ada", role))
    project = project_with_pool(home_page)
    (query_id,) = home_page.annotation.queries(project)
    (first, *_) = home_page.annotation.pool(project)
    for who, relevance in (("Ada", 0), ("Grace", 3)):
        home_page.annotation.judge(project, Judgment(query_id, first.doc_id, who, relevance))
    page = run(AppTest.from_function(decide_page, args=(home_page, project)))
    assert bool(page.button) == (role == "lead")
    assert ("Leads decide." in shown(page)) == (role != "lead")

    home_page.annotation.adjudicate(project, query_id, first.doc_id, 3, "seen", "lead")
    pooled = {SEED, *(item.doc_id for item in home_page.annotation.pool(project))}
    other = next(d["doc_id"] for d in DOCUMENTS if d["doc_id"] not in pooled)
    ranked = f"{query_id} Q0 {other} 1 2 mine\n{query_id} Q0 elsewhere 2 1 mine\n"
    home_page.collections.add_run("small:p", "mine.run", ranked.encode())
    page = run(AppTest.from_function(holes_page, args=(home_page, "small:p")))
    assert "1 not in the corpus." in shown(page)
    assert [b.label for b in page.button] == ["Add 1 to the pool"] * (role == "lead")


def test_a_scale_reads_as_it_is_written_and_a_broken_line_is_named():
    assert read_scale(scale_lines(GRADED)).grades == GRADED.grades
    with pytest.raises(BadInputError, match="Line 2 of the scale"):
        read_scale("0 No\nyes\n")


def test_seeds_come_as_ids_or_as_links_of_explore():
    link = "http://127.0.0.1/?corpus=small&seed=b&aspect=result&q=Alike+here"
    found = read_seeds(f"a\n\n{link}\n", "small", ["method", "background"])
    assert [(q.seed, q.aspect, q.instruction) for q in found] == [
        ("a", "method", None), ("a", "background", None), ("b", "result", "Alike here"),
    ]  # fmt: skip
    assert read_seeds("a", "small", [])[0].aspect is None
    asked = Query("small", "b", aspect="result", focus=(0, 2), reading=("+result", "-method"))
    link = "http://127.0.0.1/?corpus=small&seed=b&aspect=result&focus=0,2&reading=%2Bresult,-method"
    assert read_seeds(link, "small", []) == [asked], "another need than the aspect's own"
    for wrong in ("", "http://127.0.0.1/?corpus=small", link.replace("small", "other")):
        with pytest.raises(BadInputError):
            read_seeds(wrong, "small", [])
