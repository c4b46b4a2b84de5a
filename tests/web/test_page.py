"""The page of `latree serve`, in a browser."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from latree.experiments.ranking import rank_sentences
from latree.kinds.registry import load
from latree.text.partial_trees import Bracket, PartialTree
from latree.text.tree import Tree
from tests.command import model
from tests.server import running
from tests.web.browser import Page

WALKS = "the teachers walk if Tom paints the lamp ."
GIVE = "the teachers give John the picture ."
TAB, ENTER, ESCAPE, SHIFT = "\ue004", "\ue007", "\ue00c", "\ue008"
UP, DOWN, LEFT, RIGHT = "\ue013", "\ue015", "\ue012", "\ue014"


def spans(tree: Tree | None) -> list[str]:
    """Phrases without the root, as the page has them."""
    assert tree is not None
    words = tree.words()
    return [f"{label}: {' '.join(words[start:end])}" for label, start, end in list(tree.spans())[1:]]


def test_a_tree_is_drawn_as_one_types(page: Page) -> None:
    page.type(WALKS)
    assert page.labels() == spans(load(model("pcfg")).parse(WALKS.split()).tree)
    assert len(page.all("#figures .unsure .percent")) > 0
    nodes = load(model("pcfg")).parse(WALKS.split()).tree.subtrees()  # type: ignore[union-attr]
    assert page.run("return document.querySelectorAll('#list li').length") == len(nodes) - 1


def test_sentences_are_chosen(page: Page) -> None:
    page.type(f"{WALKS}\n{GIVE}")
    page.click("#sentences li:nth-child(2) button")
    page.until(lambda: page.words() == GIVE.split())
    assert page.focused() == GIVE


def test_other_readings_and_what_sets_them_apart(page: Page) -> None:
    page.type(WALKS)
    best = page.labels()
    readings = page.until(lambda: page.all("#readings button"))
    assert readings[0].get_attribute("aria-pressed") == "true"
    page.click("#readings li:nth-child(2) button")
    page.until(lambda: page.labels() != best)
    other = load(model("pcfg")).kbest(WALKS.split(), 2)[1].tree
    assert page.labels() == spans(other)
    assert set(page.labels(".marked")) == set(spans(other)) - set(best)


def test_a_phrase_is_forbidden_and_that_is_undone(page: Page) -> None:
    page.type(WALKS)
    before = page.labels()
    unlikely = page.labels(".unsure")[0]
    page.choose(unlikely)
    assert unlikely.split(": ")[1] in page.text("#inspected")
    page.click("#forbid")
    page.until(lambda: page.labels() != before)
    start, end = place_of(unlikely)
    known = PartialTree(tuple(WALKS.split()), (Bracket(unlikely.split(":")[0], start, end, forbidden=True),))
    assert page.labels() == spans(load(model("pcfg")).parse(known).tree)
    assert "not" in page.text("#known li")
    page.click("#undo")
    page.until(lambda: page.labels() == before)


def place_of(phrase: str) -> tuple[int, int]:
    before, words, _ = f" {WALKS} ".partition(f" {phrase.split(': ')[1]} ")
    return len(before.split()), len(before.split()) + len(words.split())


def test_a_phrase_is_kept_and_relabelled(page: Page) -> None:
    page.type(WALKS)
    wanted = page.labels(".unsure")[0]
    page.choose(wanted)
    page.click("#keep")
    page.until(lambda: page.labels(".kept") == [wanted])
    page.choose("NP: the lamp")
    page.one("#label").send_keys("XX", ENTER)
    notice = page.until(lambda: page.text("#notice"))
    assert "no tree of this grammar has" in notice
    page.click("#undo")
    page.until(lambda: not page.text("#notice"))


def test_a_tree_is_saved(page: Page) -> None:
    page.type(GIVE)
    page.click("#save")
    page.until(lambda: page.text("#status").startswith("Saved"))
    assert page.server.service.folder is not None
    saved = (page.server.service.folder / "saved.mrg").read_text().splitlines()
    assert spans(Tree.read(saved[-1])) == page.labels()


def test_two_models_stand_beside_each_other(page: Page) -> None:
    page.type(WALKS)
    page.click("#beside option[value=small]")
    page.until(lambda: len(page.all("#figures figure")) == 2)
    captions = [one.text.split()[0] for one in page.all("figcaption")]
    assert captions == ["pcfg", "small"]


def test_a_link_holds_text_and_model(page: Page) -> None:
    page.type(GIVE)
    page.click("#model option[value=small]")
    link = page.until(lambda: "model=small" in page.driver.current_url and page.driver.current_url)
    page.open(link.partition("/#")[2] and "#" + link.partition("/#")[2])
    page.until(lambda: page.words() == GIVE.split())
    assert page.one("#model").get_attribute("value") == "small"


def test_a_link_holds_what_is_decided(page: Page) -> None:
    page.type(f"{GIVE}\n{WALKS}")
    page.click("#sentences li:nth-child(2) button")
    page.until(lambda: page.words() == WALKS.split() and page.labels(".unsure") and page.all(".tree .nats"))
    before, (kept, *_) = page.labels(), page.labels(".unsure")
    page.choose(kept)
    page.click("#keep")
    page.until(lambda: page.labels(".kept") == [kept])
    page.choose("NP: the lamp")
    page.click("#forbid")
    page.until(lambda: len(page.all("#known li")) == 2 and page.labels() != before)
    decided, listed = page.labels(), [one.text for one in page.all("#known li")]
    link = page.driver.current_url
    page.open("#" + link.partition("/#")[2])
    page.until(lambda: page.labels() == decided)
    assert [one.text for one in page.all("#known li")] == listed
    assert page.driver.current_url == link
    page.click("#known .drop")
    page.until(lambda: len(page.all("#known li")) == 1)
    assert page.driver.current_url.count("known=") == 1


def test_a_link_that_is_damaged_does_no_harm(page: Page) -> None:
    page.open(f"#text={GIVE.replace(' ', '+')}&known=1.0.99.keep.NP&known=7.0.1.not.NP&known=x&sentence=9")
    page.until(lambda: page.words() == GIVE.split())
    assert not page.one("#known").is_displayed()


def test_what_is_taken_away(page: Page) -> None:
    page.type(GIVE)
    for kind in ("svg", "png", "tex", "mrg", "json"):
        page.click(f"[data-away={kind}]")
        check_file(page.until(partial(written, page.downloads / f"tree.{kind}")), page.labels())


def written(file: Path) -> Path | None:
    return file if file.exists() and file.stat().st_size else None


def check_file(file: Path, phrases: list[str]) -> None:
    if file.suffix == ".png":
        assert file.read_bytes().startswith(b"\x89PNG")
    elif file.suffix == ".mrg":
        assert spans(Tree.read(file.read_text())) == phrases
    elif file.suffix == ".json":
        assert json.loads(file.read_text())["tokens"] == GIVE.split()
    elif file.suffix == ".tex":
        assert "\\begin{forest}" in file.read_text()
    else:
        text = file.read_text()
        assert text.startswith("<svg")
        assert "class=" not in text
        assert "fill=" in text


def test_without_a_mouse(page: Page) -> None:
    page.type(WALKS)
    before = page.labels()
    page.one("#stage").send_keys(TAB)
    page.until(lambda: page.focused().startswith("S, "))
    page.press(DOWN)
    assert page.focused().startswith("NP, the teachers")
    assert page.text("#told").startswith("NP: the teachers · probability 1.000")
    page.press(RIGHT)
    assert page.focused().startswith("VP")
    page.press(ENTER)
    page.until(lambda: page.focused() == "keep")
    page.press(ESCAPE)
    page.until(lambda: page.focused().startswith("VP"))
    page.press(ENTER)
    page.press(TAB)
    assert page.focused() == "forbid"
    page.press(ENTER)
    page.until(lambda: page.labels() != before)
    page.until(lambda: "," in page.focused())  # the tree has the focus again


def test_a_new_phrase_by_keys(page: Page) -> None:
    page.type(WALKS)
    page.until(lambda: page.all("#figures .node[tabindex='0']"))
    page.run("document.querySelector('#figures .node[tabindex=\"0\"]').focus()")
    page.press(DOWN, DOWN, RIGHT, RIGHT)  # the, teachers, walk
    page.press(SHIFT, RIGHT)
    page.until(lambda: "walk if" in page.text("#inspected"))
    page.click("#name")
    page.until(lambda: page.all("#known li") or page.text("#status"))


def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page) -> None:
    page.open(width=360, height=740)
    page.type(WALKS)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.choose("NP: the lamp")
    box = page.run("return document.getElementById('inspector').getBoundingClientRect().toJSON()")
    assert box["left"] >= 0
    assert box["right"] <= 360
    assert box["bottom"] <= 740


def test_scripts_that_run_leftwards_are_drawn_so(page: Page) -> None:
    box = page.one("#text")
    box.send_keys("שלום עולם")
    page.until(lambda: len(page.words()) == 2)
    script = "return [...document.querySelectorAll('#figures .word')].map((one) => one.getBoundingClientRect().left)"
    first, second = page.run(script)
    assert first > second


def test_parentheses_turn_with_the_words_around_them(page: Page) -> None:
    page.one("#text").send_keys("שלום ( עולם ) abc")
    page.until(lambda: len(page.words()) == 5)
    script = "return [...document.querySelectorAll('#figures .word')].map((one) => one.getAttribute('direction'))"
    assert page.run(script) == ["rtl", "rtl", "rtl", "rtl", None]


def test_sentences_are_listed_as_they_were_written(page: Page) -> None:
    page.one("#text").send_keys("\N{OGHAM LETTER BEITH} the lamp(s) .\n" + GIVE.replace(" .", "."))
    listed = page.until(lambda: page.all("#sentences button"))
    assert [one.text for one in listed] == ["\N{OGHAM LETTER BEITH} the lamp(s) .", GIVE.replace(" .", ".")]


def test_a_node_tells_its_subtype_and_leads_to_it(page: Page) -> None:
    page.type(WALKS)
    page.choose("NP: the lamp")
    assert not page.one("#subtype").is_displayed()  # a pcfg has none
    page.press(ESCAPE)
    page.click("#model option[value=split]")
    page.until(lambda: page.run("document.querySelector('#figures .phrase').focus()") or "sure" in page.text("#told"))
    page.choose("NP: the lamp")
    told = page.until(lambda: page.text("#subtype"))
    assert "of 2 subtypes" in told
    link = page.one("#subtype a").get_attribute("href")
    address, _, place = link.partition("#")
    assert address == page.one("#explore").get_attribute("href")
    page.driver.get(link)
    card = page.until(lambda: page.one(f"#{place} h3"))
    assert card.text.startswith(told.partition(" ")[0])
    assert page.run("return getComputedStyle(document.querySelector('article')).borderTopStyle") == "solid"
    assert page.run("return document.querySelector('main .bar').getBoundingClientRect().width") > 1


def has_words(page: Page, words: list[str]) -> bool:
    return page.words() == words


def test_saving_leads_to_the_next_sentence(driver: Any, tmp_path: Path) -> None:
    sentences = [WALKS.split(), GIVE.split(), ["the", "teacher", "sleeps", "."]]
    ranked = [" ".join(one.tokens) for one in rank_sentences(load(model("pcfg")), sentences)]
    with running(model("pcfg"), folder=tmp_path) as server:
        server.service.offer(sentences)
        page = Page(driver, server, tmp_path)
        page.open()
        page.until(lambda: page.words() == ranked[0].split())
        page.click("#next")  # passed over, and offered again at the end
        for sentence, left in ((ranked[1], 3), (ranked[2], 2), (ranked[0], 1)):
            page.until(partial(has_words, page, sentence.split()))
            assert page.text("#queued").startswith(f"{left} of 3")
            page.click("#save")
        page.until(lambda: page.text("#queued") == "All sentences are annotated.")
        assert page.console() == []
    saved = [Tree.read(line).words() for line in (tmp_path / "saved.mrg").read_text().splitlines()]
    assert [" ".join(words) for words in saved] == [*ranked[1:], ranked[0]]


def test_what_the_server_refuses_is_told(page: Page) -> None:
    page.run("document.getElementById('text').value = 'a '.repeat(200)")
    page.one("#text").send_keys("b")
    page.until(lambda: "the limit is 150" in page.text("#status"))
    page.driver.get_log("browser")  # a refusal is a line on the console, of the browser's own
