"""The explorer's page in a browser: what a word selected by pointer or keyboard shows, and that nothing is fetched."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_explored import REFERENCES, TRANSLATIONS, explored

from context_nmt.explorer.page import Earlier, Selected, write_explorer
from context_nmt.report.tables import DASH

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PICTURES = os.environ.get("PICTURES")  # the folder for those of the guide
WIDE, NARROW = {"width": 1300, "height": 900}, {"width": 600, "height": 900}


@pytest.fixture
def opened(chromium, tmp_path):
    """Return a function that opens the page of an explored text, or an address, and watches errors and requests."""
    pages = []

    def open_page(shown=None, **options):
        url = shown
        if not isinstance(shown, str):
            write_explorer(tmp_path / "page.html", shown or explored())
            url = (tmp_path / "page.html").as_uri()
        page = chromium.new_page(**{"viewport": WIDE} | options)
        page.set_default_timeout(60_000)
        page.failures, page.requests = [], []
        page.on("pageerror", lambda error: page.failures.append(str(error)))
        page.on("console", lambda message: page.failures.append(message.text))
        page.on("request", lambda request: page.requests.append(request.url))
        pages.append(page)
        page.goto(url)
        return page

    yield open_page
    for page in pages:
        assert page.failures == []
        page.close()


def word(page, sentence, line, number):
    """A word of a line: 0 is the source, 1 the reference, then the systems."""
    return page.locator(f"#sentence-{sentence} .line").nth(line).locator(".word").nth(number)


def card(page, label):
    return page.locator("article", has=page.locator("h3", has_text=label))


def shown(page, label):
    """The text of a system's part of the panel, without differences in white space."""
    return " ".join(card(page, label).inner_text().split())


def test_a_word_under_the_pointer_shows_what_it_looks_at(opened):
    page = opened()
    word(page, 3, 0, 1).hover()
    page.wait_for_selector("article")
    assert "Plain: “sank” Encoder, self-attention itself 50% today 50%" in shown(page, "Plain")
    assert "local interaction today 50% itself 25% . 25%" in shown(page, "Aware")
    assert "global interaction itself 50% today 50%" in shown(page, "Aware")
    assert "mostly sentence 1 (80%), in it “boat” (90%)" in shown(page, "Aware")
    assert "sentence 2 20%" in shown(page, "Aware")
    assert "layer 1 layer 2" in shown(page, "Aware")
    assert "share of the context 14% 71%" in shown(page, "Aware")  # the second and the sixth of eight shares
    assert "does not show its attention" in shown(page, "Silent")
    page.select_option("#run", "1")  # the text has the means of both interactions
    page.locator("article:first-child h3", has_text="Aware").wait_for()
    assert [word(page, 3, 0, number).get_attribute("aria-label") for number in (1, 2)] == ["sank, 38%", "today, 50%"]
    page.select_option("#run", "0")
    page.select_option("#layer", "2")  # and layers and heads can be chosen
    page.select_option("#head", "2")
    card(page, "Plain").get_by_text("100%").wait_for()
    assert "local interaction . 100%" in shown(page, "Aware")
    assert "global interaction today 100%" in shown(page, "Aware")


def test_a_word_of_a_translation_leads_to_its_main_source_word(opened):
    page = opened()
    word(page, 3, 3, 0).hover()  # "es" of the second system
    page.wait_for_selector("article")
    assert page.locator("article h3").first.inner_text() == "Aware: “es”"  # the system of the word comes first
    text = shown(page, "Aware")
    assert "Cross-attention it 50% sank 50%" in text
    assert "its main source word “it” (50%)" in text
    assert "mostly sentence 1 (80%)" in text.split("main source word")[1]
    assert "Plain: “er”" in shown(page, "Plain")
    assert "window: 1 unit on each side of “it”" in shown(page, "Masked")
    assert "3 iterations, 2 with new words" in shown(page, "Masked")
    assert page.locator("#sentence-1 .share").inner_text() == "80%"
    boat = word(page, 1, 0, 3)
    assert "seen" in boat.get_attribute("class")
    assert boat.get_attribute("aria-label") == "boat, 72%"
    page.select_option("#run", "0")  # another system's attention in the text
    page.locator("article:first-child h3", has_text="Plain").wait_for()
    assert page.locator("#sentence-1 .share").inner_text() == ""
    word(page, 2, 3, 3).hover()  # "sehr", which only the second system has
    page.locator("article h3", has_text="Aware: “sehr”").wait_for()
    assert "has no such word" in shown(page, "Plain")


def test_a_system_that_joins_sentences_shows_those_before(opened):
    page = explored()
    run = page.runs[0]
    cross = run.sentences[2].views[1]
    before = [{"sentence": -1, "side": "source", "word": number} for number in range(5)]
    keys = [*before, {"text": "<break>"}, *cross.keys]
    weights = np.zeros((2, 2, 4, len(keys)))
    weights[..., 1], weights[..., 6] = 0.25, 0.75
    joined = replace(run.sentences[2], views=[replace(cross, keys=keys, weights=weights)])
    runs = [replace(run, sentences=[*run.sentences[:2], joined]), page.runs[1]]
    page = opened(replace(page, runs=runs))
    word(page, 3, 2, 1).hover()
    page.wait_for_selector("article")
    assert "it 75% cat (1 back) 25% 1 back, 25%: the cat is old . <break> it sank" in shown(page, "Plain")
    assert word(page, 2, 0, 1).get_attribute("aria-label") == "cat, 25%"


@pytest.mark.parametrize("line", [1, 3], ids=["reference", "translation"])
def test_a_decoder_that_looks_at_earlier_sentences_is_marked_in_what_it_saw(opened, line):
    """Rather than what the encoder looked at."""
    page = explored()
    run = page.runs[1]
    seen = [text.split() for text in (REFERENCES if line == 1 else TRANSLATIONS["aware-1"])]
    words = [np.tile([*[0] * (len(text) - 2), 1, 0], (len(seen[2]), 1)) * 1.0 for text in seen[:2]]
    shares = np.tile([0.1, 0.9], (len(seen[2]), 1))
    decoder = Earlier(title="After the decoder", own="target", seen="target", first=0, sentences=shares, words=words)
    sentences = [
        replace(one, seen_target=text if line == 1 else None) for one, text in zip(run.sentences, seen, strict=True)
    ]
    sentences[2] = replace(sentences[2], earlier=[*sentences[2].earlier, decoder])
    runs = [page.runs[0], replace(run, sentences=sentences)]
    page = opened(replace(page, runs=runs))
    word(page, 3, 3, 0).hover()
    page.wait_for_selector("article")
    assert page.locator(".share").all_inner_texts() == ["10%", "90%", ""]
    marked = page.locator("#sentence-1 .seen, #sentence-2 .seen")
    assert [one.get_attribute("aria-label") for one in marked.all()] == ["Boot, 10%", "alt, 90%"]
    assert word(page, 2, line, seen[1].index("alt")).get_attribute("aria-label") == "alt, 90%"


def test_a_word_that_is_predicted_again_is_not_new(opened):
    page = opened()
    word(page, 3, 4, 0).hover()
    page.wait_for_selector("article")
    steps = card(page, "Masked").locator(".iterations li").all()
    assert [step.text_content().split() for step in steps][1:] == [
        ["es", "sank", "heute", "␣"],
        ["␣", "sank", "heute", "."],
        ["es", "sank", "heute", "."],
    ]
    new = [step.locator("mark").all_text_contents() for step in steps]
    assert new == [[], ["es", "sank", "heute"], ["."], []]


def test_seeds_of_a_variant_have_names_of_their_own(opened):
    page = explored()
    runs = [replace(run, label="Same") for run in page.runs[:2]]
    labels = opened(replace(page, runs=runs)).locator("#sentence-1 .label").all_inner_texts()
    assert labels == ["source", "reference", "plain-1", "aware-1"]


def test_differences_and_outcomes_are_marked(opened):
    page = opened()
    assert page.locator("#sentence-3 .unlike-reference").all_inner_texts() == ["er", "sie"]
    assert page.locator("#sentence-3 .unlike-systems").all_inner_texts() == ["er", "es", "es", "sie"]
    assert word(page, 3, 2, 0).get_attribute("title") == "unlike the reference; the systems differ"
    assert page.locator("#sentence-3 .pronoun").all_inner_texts() == ["it", "es", "er", "es", "es", "sie"]
    labels = page.locator("#sentence-3 .label").all_inner_texts()
    assert labels == ["source", "reference", "✗ Plain", "✓ Aware", "✓ Masked", "Silent"]
    rows = page.locator("#sentence-3 .candidates tr").all_inner_texts()
    assert [row.split("\t") for row in rows[1:]] == [
        ["✓ es sank", "-4.50", "chosen -1.50", "chosen -1.00", DASH],
        ["✗ er sank", "chosen -3.25", "-2.75", "-2.00", DASH],
    ]


def test_a_tie_is_neither_right_nor_wrong(opened):
    page = explored()
    run = page.runs[0]
    tied = replace(run, sentences=[*run.sentences[:2], replace(run.sentences[2], scores=[-3.0, -3.0])])
    page = opened(replace(page, runs=[tied, page.runs[1]]))
    assert page.locator("#sentence-3 .translation .label").all_inner_texts() == ["= Plain", "✓ Aware"]
    rows = page.locator("#sentence-3 .candidates tr").all_inner_texts()
    assert [row.split("\t")[1] for row in rows[1:]] == ["tied -3.00", "tied -3.00"]


def test_a_pointer_that_rests_selects_nothing_when_the_text_scrolls(opened):
    page = opened(viewport={"width": 1300, "height": 300})
    page.keyboard.press("Tab")  # the help
    page.keyboard.press("Tab")
    pointer = word(page, 1, 0, 0).bounding_box()
    page.mouse.move(pointer["x"] + 5, pointer["y"] + 5)
    page.keyboard.press("ArrowRight")
    title = page.locator("#selected")
    assert "“bought”" in title.inner_text()
    page.evaluate(
        "document.addEventListener('pointerover', ({ target }) => (document.body.dataset.over = target.dataset.line))"
    )
    way = word(page, 1, 2, 0).bounding_box()["y"] - pointer["y"]
    page.evaluate(f"scrollBy(0, {way})")
    page.wait_for_selector("body[data-over='2']")  # the browser says that the pointer is over another word
    assert "“bought”" in title.inner_text()


def test_the_keyboard_selects_pins_and_lets_go(opened):
    page = opened()
    page.keyboard.press("Tab")  # the help
    page.keyboard.press("Tab")
    title = page.locator("#selected")
    assert "“Anna” source, sentence 1" in title.inner_text()
    for key, text in {
        "ArrowRight": "“bought” source",
        "ArrowDown": "“kaufte” reference",
        "ArrowUp": "“bought” source",
        "ArrowLeft": "“Anna” source",
        "Enter": "sentence 1, pinned",
    }.items():
        page.keyboard.press(key)
        assert text in title.inner_text()
    word(page, 3, 0, 1).hover()
    assert "“Anna”" in title.inner_text()
    page.keyboard.press("Escape")
    assert title.inner_text() == "“Anna” source, sentence 1"
    word(page, 3, 0, 2).hover()
    assert "“today”" in title.inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".selected").count() == 0
    assert page.locator("article").count() == 0
    word(page, 3, 0, 1).click()
    assert word(page, 3, 0, 1).get_attribute("aria-pressed") == "true"


def test_a_word_can_be_selected_from_the_start(opened):
    page = opened(explored(select=Selected(sentence=2, run=1, side="target", word=0)))
    page.wait_for_selector("article")
    assert "“es” Aware, sentence 3, pinned" in page.locator("#selected").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_page_fits_and_can_be_read(opened, viewport, scheme):
    page = opened(viewport=viewport, color_scheme=scheme)
    word(page, 3, 3, 0).hover()
    page.wait_for_selector("article")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    panel, selected = page.locator("#panel").bounding_box(), word(page, 3, 3, 0).bounding_box()
    assert panel["y"] + panel["height"] <= viewport["height"] + 1
    is_beside = selected["x"] + selected["width"] <= panel["x"]
    assert is_beside == (viewport is WIDE)
    lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((sum, one) => sum + +one, 0)"
    assert (page.evaluate(lightness) > 3 * 128) == (scheme == "light")


def test_text_stays_text_and_nothing_is_fetched(opened, tmp_path):
    page = opened()
    assert page.locator("h1").inner_text() == "A <b>boat</b> & </script>"
    word(page, 1, 0, 0).click()
    page.wait_for_selector("article")
    assert page.requests == [(tmp_path / "page.html").as_uri()]
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri")


taking_pictures = pytest.mark.skipif(not PICTURES, reason="`make pictures` takes them, from the default experiment")


def take(page, name):
    path = Path(PICTURES, f"{name}.png")
    page.screenshot(path=path)
    assert path.stat().st_size < 150_000


@taking_pictures
@pytest.mark.parametrize(
    ("name", "height", "arguments", "clicked"),
    [
        ("pronoun", 760, "transformer-1 han_encoder-1 --document 22", "#sentence-4 .translation >> nth=1 >> .pronoun"),
        (
            *("sense", 540, "transformer-1 dual_context_encoder-1 --test senses --sentence 1"),
            ".translation .aligned:not(.selected)",
        ),
        ("iterations", 760, "ccan-1 --document 3 --sentences 2", "#sentence-2 .line >> nth=2 >> .word >> nth=2"),
    ],
)
def test_pictures_of_pages(opened, tmp_path, name, height, arguments, clicked):
    command = [sys.executable, "-m", "context_nmt", "show", *arguments.split(), "--output", tmp_path / "page.html"]
    subprocess.run(command, cwd=ROOT, check=True)
    page = opened((tmp_path / "page.html").as_uri(), viewport=WIDE | {"height": height})
    page.locator(clicked).first.click()
    page.wait_for_selector("article")
    if name == "iterations":
        page.locator("details", has_text="iterations").last.locator("summary").click()
    take(page, f"explorer-{name}")


@taking_pictures
def test_pictures_of_a_typed_text(opened):
    command = [sys.executable, "-m", "context_nmt", "serve", "transformer-1", "han_encoder-1", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as served:
        page = opened(re.search(r"http://[\d.:]+", served.stderr.readline())[0], viewport=NARROW | {"height": 1040})
        page.fill("#typed", "The farmer sold the old boat.\nIt was beautiful.")
        page.click("button")
        page.locator("#sentence-2 .translation").nth(1).locator(".word").first.click()
        page.wait_for_selector("article")
        page.evaluate("scrollTo(0, 0)")
        take(page, "explorer-serve")
        served.terminate()


@taking_pictures
def test_pictures_of_plots(opened, tmp_path):
    subprocess.run(["dvc", "plots", "show", "--out", str(tmp_path)], cwd=ROOT, check=True)
    page = opened((tmp_path / "index.html").as_uri(), viewport={"width": 1000, "height": 780})
    page.locator("canvas").nth(3).wait_for()
    page.failures.clear()  # vega says its versions
    take(page, "plots")
