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
from measured import assert_golden

from context_nmt.explorer.page import Earlier, Selection, write_explorer

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


STATE = """async () => {
  await showPanel();
  const squeezed = (text) => text.replace(/\\s+/g, " ").trim();
  const all = (from, query, text) => [...from.querySelectorAll(query)].map(text);
  const word = ({ textContent, ariaLabel, ariaPressed, classList }) => {
    const label = ariaLabel !== textContent && `“${ariaLabel}”`;
    return [textContent, ...[...classList].slice(1), ariaPressed && "pressed", label].filter(Boolean).join("/");
  };
  return [
    ...all(document, "section", (section) => [
      squeezed(section.querySelector("h2").innerText),
      ...all(section, ".line", (line) => `${line.innerText.split("\\n")[0]}: ${all(line, ".word", word).join(" ")}`),
      ...all(section, "tr", (row) => squeezed(row.innerText)),
    ]),
    `${squeezed(document.querySelector("#selected").innerText)} (${all(document, "article", () => 1).length} systems)`,
    ...all(document, "article", (card) => [
      squeezed(card.innerText),
      ...all(card, ".iterations li", (step) => squeezed(step.innerHTML)),
    ]),
    squeezed(document.querySelector("#said").textContent),
  ].flat().join("\\n");
}"""


def with_run(number, **changes):
    """The made-up page with changes of the last sentence of one run."""
    page = explored()
    run = page.runs[number]
    runs = list(page.runs)
    runs[number] = replace(run, sentences=[*run.sentences[:2], replace(run.sentences[2], **changes)])
    return replace(page, runs=runs)


def joined():
    """The first system attends to the sentence before, too."""
    cross = explored().runs[0].sentences[2].views[1]
    before = [{"sentence": -1, "side": "source", "word": number} for number in range(5)]
    keys = [*before, {"text": "<break>"}, *cross.keys]
    weights = np.zeros((2, 2, 4, len(keys)))
    weights[..., 1], weights[..., 6] = 0.25, 0.75
    return with_run(0, views=[replace(cross, keys=keys, weights=weights)])


def decoder(*, sees_references):
    """The decoder of the second system looks at earlier sentences, too, which is shown rather than the encoder's."""
    page = explored()
    run = page.runs[1]
    seen = [text.split() for text in (REFERENCES if sees_references else TRANSLATIONS["aware-1"])]
    words = [np.tile([*[0] * (len(text) - 2), 1, 0], (len(seen[2]), 1)) * 1.0 for text in seen[:2]]
    shares = np.tile([0.1, 0.9], (len(seen[2]), 1))
    earlier = Earlier(title="After the decoder", own="target", seen="target", first=0, sentences=shares, words=words)
    given = seen if sees_references else [None] * 3
    sentences = [replace(one, seen_target=text) for one, text in zip(run.sentences, given, strict=True)]
    sentences[2] = replace(sentences[2], earlier=[*sentences[2].earlier, earlier])
    return replace(page, runs=[page.runs[0], replace(run, sentences=sentences)])


SOURCE, TRANSLATION, MASKED = ("hover", 3, 0, 1), ("hover", 3, 3, 0), ("hover", 3, 4, 0)
CASES = {  # a page and what a reader does
    "source": (explored, [SOURCE, ("run", "1"), ("run", "0"), ("layer", "2"), ("head", "2")]),
    "translation": (explored, [TRANSLATION, ("run", "0"), ("hover", 2, 3, 3)]),  # "sehr", which only one system has
    "iterations": (explored, [MASKED]),  # a word that is predicted again is not new
    "joined": (joined, [("hover", 3, 2, 1)]),
    "references": (lambda: decoder(sees_references=True), [TRANSLATION]),
    "translations": (lambda: decoder(sees_references=False), [TRANSLATION]),
    "seeds": (lambda: replace(explored(), runs=[replace(run, label="Same") for run in explored().runs[:2]]), []),
    "tie": (lambda: with_run(0, scores=[-3.0, -3.0]), []),
    "start": (lambda: explored(select=Selection(sentence=2, run=1, side="target", word=0)), []),
    "keyboard": (
        explored,
        [("press", key) for key in ("Tab", "Tab", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "Enter")]
        + [SOURCE, ("press", "Escape"), ("hover", 3, 0, 2), ("press", "Escape"), ("click", 3, 0, 1)]
        + [("click", 2, 3, 4), ("press", "ArrowUp")],  # to the same word in another place
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_page_shows_what_a_word_looks_at(opened, name):
    """The text with its marks, what is selected, and each system's part of the panel; then what each step changes."""
    shown, steps = CASES[name]
    page = opened(shown())
    before = page.evaluate(STATE).split("\n")
    found = list(before)
    for action, *arguments in steps:
        if action in ("hover", "click"):
            getattr(word(page, *arguments), action)()
        elif action == "press":
            page.keyboard.press(*arguments)
        else:
            page.select_option(f"#{action}", *arguments)
        after = page.evaluate(STATE).split("\n")
        found += ["", f"{action} {', '.join(map(str, arguments))}:", *(line for line in after if line not in before)]
        before = after
    assert_golden("\n".join(found) + "\n", f"explorer-{name}.txt")


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
